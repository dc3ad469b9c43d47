"""`AnswerSchema`: the schema of an answer, with every keyword of it checked.

`values/validation.py` checks what decides the meaning of a call and leaves bounds and patterns to the tool. Behind an
answer in a format there is no tool: what is not checked here is checked by nobody. So a schema with a keyword that
cannot be checked is refused with the request. `format` is only checked for dates, times and UUIDs: for all others it is
a note, as JSON Schema has it.

The two share helpers, but not one walker, because they disagree on more than their keywords. A call is checked against
`enum` alone where there is one, a `$ref` is merged with what stands beside it, `oneOf` is `anyOf`, a list of types is a
union, and a `Ref` fits everywhere; here all keywords of a schema hold at once, and `1.0` equals `1`. The check of a
call is also on the path of every call, and stops at the first doubt without building any text.
"""

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from itertools import islice
from typing import Any, cast
from uuid import UUID

from pydantic_core import SchemaError, SchemaValidator, core_schema

from toolspeak.values.spec import (
    NULLABLE_KEYWORDS,
    SUBSCHEMA_LISTS,
    SUBSCHEMA_MAPS,
    SUBSCHEMAS,
    Schema,
    map_subschemas,
    resolve_reference,
)
from toolspeak.values.validation import (
    TOO_MANY_COMBINATIONS,
    describe,
    format_key,
    format_value,
    get_item_schema,
    is_of_type,
)
from toolspeak.values.work_budget import FREE_STEPS, STEPS_PER_NODE, TooManySteps, count_nodes
from toolspeak.wire.fields import FieldError

ANSWER = "answer"
"""How a problem names the whole answer."""

MAX_PROBLEMS = 8
"""Problems of an answer that a model or a client is sent."""

MAX_SCHEMA_VALUES = 50_000
"""The most JSON values in a schema."""

NESTED = SUBSCHEMAS | {"if", "then", "else"}

UNCHECKABLE = frozenset(
    "$dynamicRef $recursiveRef unevaluatedItems unevaluatedProperties dependencies additionalItems".split()
)
"""Keywords of JSON Schema that are not implemented."""

TYPES = ("object", "array", "string", "integer", "number", "boolean", "null")

_SIZES = [f"{bound}{noun}" for bound in ("min", "max") for noun in ("Length", "Items", "Properties", "Contains")]
_BOUNDS = "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf".split()
KEYWORD_TYPES: Mapping[str, Any] = {
    **dict.fromkeys((*_SIZES, *_BOUNDS), (int, float)),
    **dict.fromkeys(("enum", "required"), list),
    **dict.fromkeys(("properties", "patternProperties", "dependentRequired", "dependentSchemas"), Mapping),
    "type": (str, list),
}
"""The types of the values of keywords, for those whose values are no schemas."""

DATE_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")
TIME = re.compile(r"\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)?")
DATE = re.compile(r"\d{4}-\d\d-\d\d")
HEX_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")

FORMATS: Mapping[str, tuple[re.Pattern[str], Callable[[str], Any]]] = {
    "date-time": (DATE_TIME, lambda text: datetime.fromisoformat(text.upper())),
    "date": (DATE, date.fromisoformat),
    "time": (TIME, lambda text: time.fromisoformat(text.upper())),
    "uuid": (HEX_UUID, UUID),
}

_Problems = Iterator[str]


class AnswerSchema:
    """A schema that an answer is checked against.

    Attributes:
        root: The schema.
    """

    def __init__(self, root: Schema, path: str) -> None:
        """Prepare to check.

        Args:
            root: The schema.
            path: The field of the request that holds it, for errors.

        Raises:
            FieldError: The schema cannot be checked.
        """
        if count_nodes(root) > MAX_SCHEMA_VALUES:
            raise FieldError(path, f"holds more than {MAX_SCHEMA_VALUES:,} values")
        self.root = _drop_nulls(root)
        self.patterns: dict[str, SchemaValidator] = {}
        self._targets: dict[str, Schema] = {}
        self._prepare(self.root, path)

    def find_problems(self, value: Any) -> list[str]:
        """Return the first problems of an answer, as lines for the model; empty if it is valid."""
        try:
            return list(islice(_Check(self, value).find_problems(value, self.root, ANSWER), MAX_PROBLEMS))
        except (TooManySteps, RecursionError):
            return [f"{ANSWER}: {TOO_MANY_COMBINATIONS}"]

    def is_valid(self, value: Any, schema: Any) -> bool:
        """Whether a part of an answer is valid under a schema within the root."""
        try:
            return _Check(self, value).is_valid(value, schema)
        except (TooManySteps, RecursionError):
            return False

    def resolve(self, schema: Any) -> Any:
        """Return a schema with a `$ref` at its top replaced."""
        return resolve_reference(cast("Schema", schema), self.root) if isinstance(schema, Mapping) else schema

    def get_target(self, reference: str) -> Schema:
        """Return the definition that a `$ref` points to, always as the same object."""
        found = self._targets.get(reference)
        if found is None:
            found = self._targets[reference] = resolve_reference({"$ref": reference}, self.root)
        return found

    def _prepare(self, schema: Any, path: str) -> None:
        if not isinstance(schema, Mapping):
            if not isinstance(schema, bool):
                raise FieldError(path, "is no schema")
            return
        given = cast("Schema", schema)
        if unknown := UNCHECKABLE & given.keys():
            raise FieldError(f"{path}.{min(unknown)}", "cannot be checked; describe the answer without it")
        for keyword in KEYWORD_TYPES.keys() & given.keys():
            if not isinstance(given[keyword], KEYWORD_TYPES[keyword]) or isinstance(given[keyword], bool):
                raise FieldError(f"{path}.{keyword}", f"{format_value(given[keyword])} is no value of this keyword")
        if not all(kind in TYPES for kind in _as_list(given.get("type", []))):
            raise FieldError(f"{path}.type", f"{format_value(given['type'])} is none of {', '.join(TYPES)}")
        if "$ref" in given:
            self._check_reference(given, path)
        for pattern in (given.get("pattern"), *cast("Mapping[str, Any]", given.get("patternProperties") or {})):
            if pattern is not None:
                self._add_pattern(pattern, path)
        for keyword, value in given.items():
            if keyword in NESTED:
                self._prepare(value, f"{path}.{keyword}")
            elif keyword in SUBSCHEMA_LISTS:
                for index, each in enumerate(_expect(value, list, f"{path}.{keyword}")):
                    self._prepare(each, f"{path}.{keyword}[{index}]")
            elif keyword in SUBSCHEMA_MAPS or keyword == "definitions":
                for name, each in _expect(value, Mapping, f"{path}.{keyword}").items():
                    self._prepare(each, f"{path}.{keyword}.{format_key(str(name))}")

    def _check_reference(self, schema: Schema, path: str) -> None:
        reference = schema["$ref"]
        target: Any = resolve_reference({"$ref": reference}, self.root)
        is_pointer = isinstance(reference, str) and (reference == "#" or reference.startswith("#/"))
        if not is_pointer or not target or "$ref" in target:
            raise FieldError(f"{path}.$ref", f"{format_value(reference)} is not a definition within the schema")

    def _add_pattern(self, pattern: Any, path: str) -> None:
        try:  # the engine of pydantic takes linear time, whatever the pattern and the text
            self.patterns[pattern] = SchemaValidator(core_schema.str_schema(pattern=pattern))
        except (SchemaError, TypeError):
            raise FieldError(
                f"{path}.pattern", f"{format_value(pattern)} cannot be checked; write it without look-around"
            ) from None


def _drop_nulls(schema: Schema) -> Schema:
    """Return a schema without the keywords that are null, which clients write for those that they do not use."""
    used = {key: value for key, value in schema.items() if value is not None or key in NULLABLE_KEYWORDS}
    return map_subschemas(used, _drop_nulls)


def _expect(value: Any, kind: Any, path: str) -> Any:
    if not isinstance(value, kind):
        raise FieldError(path, "is no schema")
    return value


class _Check:
    """The check of one value."""

    def __init__(self, schema: AnswerSchema, value: Any) -> None:
        self._schema = schema
        self._root = schema.root
        self._patterns = schema.patterns
        self._steps_left = FREE_STEPS + STEPS_PER_NODE * count_nodes(value)
        # By the ids of a part of the value and of a schema, both of which live as long as the check: each level of a
        # recursive union tries each alternative on all below it.
        self._known: dict[tuple[int, int], bool] = {}

    def is_valid(self, value: Any, schema: Any) -> bool:
        key = id(value), id(schema)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = next(self.find_problems(value, schema, ""), None) is None
        return known

    def find_problems(self, value: Any, schema: Any, path: str) -> _Problems:
        """Yield each problem of a part of the value, as a line for the model."""
        self._steps_left -= 1
        if self._steps_left < 0:
            raise TooManySteps
        if schema is True:
            return
        if not isinstance(schema, Mapping):
            yield f"{path}: not allowed"
            return
        given = cast("Schema", schema)
        if "$ref" in given:
            yield from self.find_problems(value, self._schema.get_target(given["$ref"]), path)
        kinds = given.get("type")
        if kinds is not None and not any(is_of_type(value, kind) for kind in _as_list(kinds)):
            yield self._describe_mismatch(value, given, path)
            return
        if not _is_listed(value, given):
            yield self._describe_mismatch(value, given, path)
        yield from self._find_combined_problems(value, given, path)
        if isinstance(value, str):
            yield from self._find_text_problems(value, given, path)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield from _find_number_problems(value, given, path)
        elif isinstance(value, list):
            yield from self._find_list_problems(cast("list[Any]", value), given, path)
        elif isinstance(value, dict):
            yield from self._find_object_problems(cast("dict[str, Any]", value), given, path)

    def _find_combined_problems(self, value: Any, schema: Schema, path: str) -> _Problems:
        for part in schema.get("allOf", ()):
            yield from self.find_problems(value, part, path)
        if options := schema.get("anyOf"):
            yield from self._find_union_problems(value, schema, options, path)
        if options := schema.get("oneOf"):
            count = sum(self.is_valid(value, option) for option in options)
            if count == 0:
                yield from self._find_union_problems(value, schema, options, path)
            elif count > 1:
                yield f"{path}: got {format_value(value)}; fits several alternatives, and must fit only one"
        if "not" in schema and self.is_valid(value, schema["not"]):
            yield f"{path}: got {format_value(value)}; not allowed"
        if "if" in schema:
            branch = "then" if self.is_valid(value, schema["if"]) else "else"
            yield from self.find_problems(value, schema.get(branch, True), path)

    def _find_union_problems(self, value: Any, schema: Schema, options: Sequence[Any], path: str) -> _Problems:
        if any(self.is_valid(value, option) for option in options):
            return
        # When only one alternative has the type of the value, its problems are the ones worth naming.
        same_type = [option for option in options if self._has_type_of(value, option)]
        if len(same_type) == 1:
            yield from self.find_problems(value, same_type[0], path)
        else:
            yield self._describe_mismatch(value, schema, path)

    def _has_type_of(self, value: Any, schema: Any) -> bool:
        if not isinstance(schema, Mapping) or not isinstance(value, dict | list):
            return False
        kinds = resolve_reference(cast("Schema", schema), self._root).get("type")
        return kinds is None or any(is_of_type(cast("Any", value), kind) for kind in _as_list(kinds))

    def _find_text_problems(self, value: str, schema: Schema, path: str) -> _Problems:
        yield from _find_size_problems(len(value), schema, path, "Length", "characters")
        pattern = schema.get("pattern")
        if pattern is not None and not self._matches(pattern, value):
            yield f"{path}: got {format_value(value)}; must match the pattern {pattern}"
        form = str(schema.get("format"))
        if form in FORMATS and not _is_of_format(value, form):
            yield f"{path}: got {format_value(value)}; needs a {form}"

    def _matches(self, pattern: str, text: str) -> bool:
        return self._patterns[pattern].isinstance_python(text)

    def _find_list_problems(self, value: list[Any], schema: Schema, path: str) -> _Problems:
        yield from _find_size_problems(len(value), schema, path, "Items", "items")
        for index, item in enumerate(value):
            yield from self.find_problems(item, get_item_schema(schema, index), f"{path}[{index}]")
        if schema.get("uniqueItems") is True and len({format_identity(item) for item in value}) < len(value):
            yield f"{path}: has an item twice"
        if "contains" in schema:
            count = sum(self.is_valid(item, schema["contains"]) for item in value)
            least, most = schema.get("minContains", 1), schema.get("maxContains", math.inf)
            if not least <= count <= most:
                yield f"{path}: {count} items are {describe(schema['contains'], self._root)}; needs {least} to {most}"

    def _find_object_problems(self, value: dict[str, Any], schema: Schema, path: str) -> _Problems:
        properties: Mapping[str, Any] = schema.get("properties", {})
        patterns: Mapping[str, Any] = schema.get("patternProperties", {})
        yield from _find_size_problems(len(value), schema, path, "Properties", "keys")
        for name in schema.get("required", ()):
            if name not in value:
                yield f"{path}.{format_key(name)}: missing; needs {describe(properties.get(name, {}), self._root)}"
        for name, item in value.items():
            inner = f"{path}.{format_key(name)}"
            subschemas = [properties[name]] if name in properties else []
            subschemas += [sub for pattern, sub in patterns.items() if self._matches(pattern, name)]
            if not subschemas:
                if (rest := schema.get("additionalProperties", True)) is False:
                    yield f"{inner}: no such key; the keys are: {', '.join(properties) or 'none'}"
                    continue
                subschemas = [rest]
            for sub in subschemas:
                yield from self.find_problems(item, sub, inner)
            if "propertyNames" in schema:
                yield from self.find_problems(name, schema["propertyNames"], f"the key {inner}")
        for name, needed in schema.get("dependentRequired", {}).items():
            if name in value:
                yield from (f"{path}.{each}: missing; needed beside {name}" for each in needed if each not in value)
        for name, sub in schema.get("dependentSchemas", {}).items():
            if name in value:
                yield from self.find_problems(value, sub, path)

    def _describe_mismatch(self, value: Any, schema: Schema, path: str) -> str:
        return f"{path}: got {format_value(value)}; needs {describe(schema, self._root)}"


def format_identity(value: Any) -> str:
    """Return a text that two JSON values share only if they are equal."""
    match value:
        case dict():
            pairs = sorted(cast("dict[str, Any]", value).items())
            return f"{{{','.join(f'{name!r}:{format_identity(item)}' for name, item in pairs)}}}"
        case list():
            return f"[{','.join(map(format_identity, cast('list[Any]', value)))}]"
        case int() | float() if not isinstance(value, bool):
            return repr(int(value)) if value == value // 1 else repr(value)
        case _:
            return repr(value)


def _as_list(kinds: Any) -> list[Any]:
    return cast("list[Any]", kinds) if isinstance(kinds, list) else [kinds]


def _is_listed(value: Any, schema: Schema) -> bool:
    listed: list[Any] = [schema["const"]] if "const" in schema else []
    if "enum" in schema and not any(format_identity(value) == format_identity(each) for each in schema["enum"]):
        return False
    return all(format_identity(value) == format_identity(each) for each in listed)


def _find_size_problems(size: int, schema: Schema, path: str, noun: str, unit: str) -> _Problems:
    """Yield what is wrong with the size of a text, a list or an object; `noun` ends the names of the keywords."""
    if size < schema.get(f"min{noun}", 0):
        yield f"{path}: has {size} {unit}; needs at least {schema[f'min{noun}']}"
    if size > schema.get(f"max{noun}", math.inf):
        yield f"{path}: has {size} {unit}; at most {schema[f'max{noun}']} are allowed"


_BOUND_CHECKS = (
    ("minimum", operator.lt, "at least"),
    ("maximum", operator.gt, "at most"),
    ("exclusiveMinimum", operator.le, "more than"),
    ("exclusiveMaximum", operator.ge, "less than"),
)


def _find_number_problems(value: float, schema: Schema, path: str) -> _Problems:
    for keyword, is_outside, words in _BOUND_CHECKS:
        if keyword in schema and is_outside(value, schema[keyword]):
            yield f"{path}: got {format_value(value)}; needs {words} {schema[keyword]}"
    factor = schema.get("multipleOf")
    if factor and not _is_multiple(value, factor):
        yield f"{path}: got {format_value(value)}; needs a multiple of {factor}"


def _is_multiple(value: float, factor: float) -> bool:
    if isinstance(value, int) and isinstance(factor, int):
        return value % factor == 0
    quotient = value / factor
    return math.isfinite(quotient) and math.isclose(quotient, round(quotient), rel_tol=1e-9, abs_tol=1e-9)


def _is_of_format(text: str, form: str) -> bool:
    pattern, parse = FORMATS[form]
    try:
        return pattern.fullmatch(text) is not None and parse(text) is not None
    except ValueError:
        return False
