"""`AnswerSchema`: the schema of an answer, with every keyword of it checked.

`values/validation.py` checks what decides the meaning of a call and leaves bounds and patterns to the tool. Behind an
answer in a format there is no tool: what is not checked here is checked by nobody. So a schema with a keyword that
cannot be checked is refused with the request. `format` is only checked for dates, times and UUIDs: for all others it is
a note, as JSON Schema has it.

The two share helpers, but not one walker, because they disagree on more than their keywords. A call is checked against
`enum` alone where there is one, a `$ref` is merged with what stands beside it, `oneOf` is `anyOf`, a list of types is a
union, and a `Ref` fits everywhere; here all keywords of a schema hold at once, and `1.0` equals `1`. The check of a
call is also on the path of every call, and stops at the first doubt without building any text.

A schema is prepared in one walk, and what it holds is bounded; its patterns are too (`answer_patterns.py`). All checks
of one answer, of its parts while they arrive and of the whole, are one `AnswerCheck` with one budget.
"""

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from itertools import islice
from typing import Any, cast
from uuid import UUID

from toolspeak.gateway.answer_patterns import AnswerPatterns
from toolspeak.values.spec import (
    NULLABLE_KEYWORDS,
    SUBSCHEMA_LISTS,
    SUBSCHEMA_MAPS,
    SUBSCHEMAS,
    Schema,
    find_definition,
    find_size_problem,
    map_subschemas,
    resolve_reference,
)
from toolspeak.values.validation import (
    TOO_MANY_COMBINATIONS,
    describe,
    format_key,
    format_value,
    get_item_schema,
    is_container,
    is_of_type,
    join_names,
)
from toolspeak.values.work_budget import TooManySteps, WorkBudget
from toolspeak.wire.fields import FieldError

ANSWER = "answer"
"""How a problem names the whole answer."""

MAX_PROBLEMS = 8
"""Problems of an answer that a model or a client is sent."""

MAX_PATTERN_CHARS = 200
"""Characters of a pattern that an error quotes."""

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
        if (problem := find_size_problem(root)) is not None:
            raise FieldError(path, problem)
        self.root = _clean(root)
        self.patterns = AnswerPatterns()
        self._targets: dict[str, Schema] = {}
        self._listed: dict[int, frozenset[str]] = {}
        self._resolved: dict[int, Schema] = {}
        self._prepare(self.root, path)
        self.patterns.compile()

    def find_problems(self, value: Any) -> list[str]:
        """Return the first problems of an answer, as lines for the model; empty if it is valid."""
        return AnswerCheck(self, WorkBudget(value)).find_problems(value)

    def is_valid(self, value: Any, schema: Any) -> bool:
        """Whether a part of an answer is valid under a schema within the root."""
        return AnswerCheck(self, WorkBudget(value)).is_valid(value, schema)

    def resolve(self, schema: Any) -> Any:
        """Return a schema with a `$ref` at its top replaced, always as the same object."""
        if not isinstance(schema, Mapping) or "$ref" not in schema:
            return cast("Any", schema)
        found = self._resolved.get(id(cast("Any", schema)))
        if found is None:
            found = self._resolved[id(cast("Any", schema))] = resolve_reference(cast("Schema", schema), self.root)
        return cast("Any", found)

    def get_listed(self, schema: Schema, keyword: str) -> frozenset[str]:
        """Return the identities of the values that `enum` or `const` of a schema within the root allows."""
        values: Any = schema[keyword]
        key = id(values) if keyword == "enum" else id(schema)
        found = self._listed.get(key)
        if found is None:
            listed: list[Any] = values if keyword == "enum" else [values]
            found = self._listed[key] = frozenset(map(format_identity, listed))
        return found

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
        for names in (given.get("required", ()), *given.get("dependentRequired", {}).values()):
            if not isinstance(names, list | tuple) or not all(isinstance(each, str) for each in cast("Any", names)):
                raise FieldError(f"{path}.required", f"{format_value(names)} is no list of names")
        if not all(kind in TYPES for kind in _as_list(given.get("type", []))):
            raise FieldError(f"{path}.type", f"{format_value(given['type'])} is none of {', '.join(TYPES)}")
        if "$ref" in given:
            self._check_reference(given, path)
        for pattern in (given.get("pattern"), *cast("Mapping[str, Any]", given.get("patternProperties") or {})):
            if pattern is not None:
                self.patterns.add(pattern, f"{path}.pattern")
        for keyword, value in given.items():
            if keyword in NESTED:
                self._prepare(value, f"{path}.{keyword}")
            elif keyword in SUBSCHEMA_LISTS:
                for index, each in enumerate(_expect(value, list, f"{path}.{keyword}")):
                    self._prepare(each, f"{path}.{keyword}[{index}]")
            elif keyword in SUBSCHEMA_MAPS:
                for name, each in _expect(value, Mapping, f"{path}.{keyword}").items():
                    self._prepare(each, f"{path}.{keyword}.{format_key(str(name))}")

    def _check_reference(self, schema: Schema, path: str) -> None:
        reference = schema["$ref"]
        is_schema = isinstance(reference, str) and _points_to_schema(reference)
        target: Any = self.get_target(reference) if is_schema and find_definition(reference, self.root) else None
        if not target or "$ref" in target:
            raise FieldError(f"{path}.$ref", f"{format_value(reference)} is not a definition within the schema")


def _points_to_schema(reference: str) -> bool:
    """Whether a reference leads through keywords that hold schemas: what is elsewhere is data, and was not prepared."""
    mark, *steps = reference.split("/")
    place = 0
    while place < len(steps):
        if steps[place] in SUBSCHEMA_MAPS and place + 1 < len(steps):
            place += 2
        elif steps[place] in NESTED:
            place += 1
        else:
            return False
    return mark == "#"


def _clean(schema: Schema) -> Schema:
    """Return a schema without the keywords that are null, which clients write for those that they do not use.

    A list of types has each of them once.
    """
    used = {key: value for key, value in schema.items() if value is not None or key in NULLABLE_KEYWORDS}
    if isinstance(kinds := used.get("type"), list) and all(isinstance(kind, str) for kind in cast("list[Any]", kinds)):
        used["type"] = list(dict.fromkeys(cast("list[str]", kinds)))
    return map_subschemas(used, _clean)


def _expect(value: Any, kind: Any, path: str) -> Any:
    if not isinstance(value, kind):
        raise FieldError(path, "is no schema")
    return value


class AnswerCheck:
    """The check of one answer: of its parts while they arrive, and of the whole.

    A part that is valid is not checked again with the part around it, if both are checked here.

    Attributes:
        budget: The steps that all checks of the answer may take together.
    """

    def __init__(self, schema: AnswerSchema, budget: WorkBudget) -> None:
        self.budget = budget
        self._schema = schema
        self._root = schema.root
        # By the ids of a part of the value and of a schema: each level of a recursive union tries each alternative on
        # all below it. The part is kept beside the answer, so that no other object gets its `id`.
        self._known: dict[tuple[int, int], tuple[Any, bool]] = {}
        self._identities: dict[int, tuple[Any, str]] = {}

    def find_problems(self, value: Any) -> list[str]:
        """Return the first problems of the whole answer, as lines for the model; empty if it is valid."""
        try:
            return list(islice(self._find_problems(value, self._root, ANSWER), MAX_PROBLEMS))
        except (TooManySteps, RecursionError):
            return [f"{ANSWER}: {TOO_MANY_COMBINATIONS}"]

    def is_valid(self, value: Any, schema: Any) -> bool:
        """Whether a part of the answer is valid under a schema within the root."""
        try:
            return self._is_valid(value, schema)
        except (TooManySteps, RecursionError):
            return False

    def _is_valid(self, value: Any, schema: Any) -> bool:
        key = id(value), id(schema)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = value, next(self._find_problems(value, schema, ""), None) is None
        return known[1]

    def _is_known(self, value: Any, schema: Any) -> bool:
        """Whether a part was found to be valid before."""
        known = self._known.get((id(value), id(schema)))
        return known is not None and known[1]

    def _identify(self, value: Any) -> str:
        if not is_container(value):
            return format_identity(value)
        known = self._identities.get(id(value))
        if known is None:
            known = self._identities[id(value)] = value, format_identity(value)
        return known[1]

    def _find_problems(self, value: Any, schema: Any, path: str) -> _Problems:
        """Yield each problem of a part of the value, as a line for the model."""
        self.budget.spend()
        if schema is True:
            return
        if not isinstance(schema, Mapping):
            yield f"{path}: not allowed"
            return
        given = cast("Schema", schema)
        if "$ref" in given:
            yield from self._find_problems(value, self._schema.get_target(given["$ref"]), path)
        kinds = given.get("type")
        if kinds is not None and not any(is_of_type(value, kind) for kind in _as_list(kinds)):
            yield self._describe_mismatch(value, given, path)
            return
        listed = [self._schema.get_listed(given, keyword) for keyword in ("enum", "const") if keyword in given]
        if listed and not all(self._identify(value) in each for each in listed):
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
            yield from self._find_problems(value, part, path)
        if options := schema.get("anyOf"):
            yield from self._find_union_problems(value, schema, options, path)
        if options := schema.get("oneOf"):
            count = sum(self._is_valid(value, option) for option in options)
            if count == 0:
                yield from self._find_union_problems(value, schema, options, path)
            elif count > 1:
                yield f"{path}: got {format_value(value)}; fits several alternatives, and must fit only one"
        if "not" in schema and self._is_valid(value, schema["not"]):
            yield f"{path}: got {format_value(value)}; not allowed"
        if "if" in schema:
            branch = "then" if self._is_valid(value, schema["if"]) else "else"
            yield from self._find_problems(value, schema.get(branch, True), path)

    def _find_union_problems(self, value: Any, schema: Schema, options: Sequence[Any], path: str) -> _Problems:
        if any(self._is_valid(value, option) for option in options):
            return
        # When only one alternative has the type of the value, its problems are the ones worth naming.
        same_type = [option for option in options if self._has_type_of(value, option)]
        if len(same_type) == 1:
            yield from self._find_problems(value, same_type[0], path)
        else:
            yield self._describe_mismatch(value, schema, path)

    def _has_type_of(self, value: Any, schema: Any) -> bool:
        if not isinstance(schema, Mapping) or not isinstance(value, dict | list):
            return False
        kinds = self._schema.resolve(schema).get("type")
        return kinds is None or any(is_of_type(cast("Any", value), kind) for kind in _as_list(kinds))

    def _find_text_problems(self, value: str, schema: Schema, path: str) -> _Problems:
        yield from _find_size_problems(len(value), schema, path, "Length", "characters")
        pattern = schema.get("pattern")
        if pattern is not None and not self._matches(pattern, value):
            yield f"{path}: got {format_value(value)}; must match the pattern {pattern[:MAX_PATTERN_CHARS]}"
        form = str(schema.get("format"))
        if form in FORMATS and not _is_of_format(value, form):
            yield f"{path}: got {format_value(value)}; needs a {form}"

    def _matches(self, pattern: str, text: str) -> bool:
        return self._schema.patterns.matches(pattern, text, self.budget)

    def _find_list_problems(self, value: list[Any], schema: Schema, path: str) -> _Problems:
        yield from _find_size_problems(len(value), schema, path, "Items", "items")
        self.budget.spend(len(value))
        for index, item in enumerate(value):
            sub = get_item_schema(schema, index)
            if not self._is_known(item, sub):
                yield from self._find_problems(item, sub, f"{path}[{index}]")
        if schema.get("uniqueItems") is True and len({self._identify(item) for item in value}) < len(value):
            yield f"{path}: has an item twice"
        if "contains" in schema:
            count = sum(self._is_valid(item, schema["contains"]) for item in value)
            least, most = schema.get("minContains", 1), schema.get("maxContains", math.inf)
            if not least <= count <= most:
                yield f"{path}: items that are {self._describe(schema['contains'])}: {count}; needs {least} to {most}"

    def _find_object_problems(self, value: dict[str, Any], schema: Schema, path: str) -> _Problems:
        properties: Mapping[str, Any] = schema.get("properties", {})
        patterns: Mapping[str, Any] = schema.get("patternProperties", {})
        yield from _find_size_problems(len(value), schema, path, "Properties", "keys")
        self.budget.spend(len(value) + len(schema.get("required", ())))
        for name in schema.get("required", ()):
            if name not in value:
                yield f"{path}.{format_key(name)}: missing; needs {self._describe(properties.get(name, {}))}"
        for name, item in value.items():
            inner = f"{path}.{format_key(name)}"
            subschemas = [properties[name]] if name in properties else []
            subschemas += [sub for pattern, sub in patterns.items() if self._matches(pattern, name)]
            if not subschemas:
                if (rest := schema.get("additionalProperties", True)) is False:
                    yield f"{inner}: no such key; the keys are: {join_names(properties) or 'none'}"
                    continue
                subschemas = [rest]
            for sub in subschemas:
                if not self._is_known(item, sub):
                    yield from self._find_problems(item, sub, inner)
            if "propertyNames" in schema:
                yield from self._find_problems(name, schema["propertyNames"], f"the key {inner}")
        for name, needed in schema.get("dependentRequired", {}).items():
            self.budget.spend()
            if name in value:
                self.budget.spend(len(needed))
                beside = f"missing; needed beside {format_key(name)}"
                yield from (f"{path}.{format_key(each)}: {beside}" for each in needed if each not in value)
        for name, sub in schema.get("dependentSchemas", {}).items():
            self.budget.spend()
            if name in value:
                yield from self._find_problems(value, sub, path)

    def _describe_mismatch(self, value: Any, schema: Schema, path: str) -> str:
        return f"{path}: got {format_value(value)}; needs {self._describe(schema)}"

    def _describe(self, schema: Any) -> str:
        return describe(schema, self._root, self.budget)


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
    try:
        quotient = value / factor
    except OverflowError:  # hundreds of digits
        return False
    return math.isfinite(quotient) and math.isclose(quotient, round(quotient), rel_tol=1e-9, abs_tol=1e-9)


def _is_of_format(text: str, form: str) -> bool:
    pattern, parse = FORMATS[form]
    try:
        return pattern.fullmatch(text) is not None and parse(text) is not None
    except ValueError:
        return False
