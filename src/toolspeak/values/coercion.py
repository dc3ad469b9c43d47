"""Coercion: arguments brought into the form that their JSON schema asks for, where the meaning is beyond doubt.

Shared by tools, readers and the gateway, so it knows nothing but the schema. The rules:

1. Coercion goes *by* the schema, never against it: where a string is allowed, a string stays unchanged.
2. Only forms are changed, never meanings: `"3"` may become `3`, and `"1,500"` `1500`, but `3.5` is not rounded and
   `"15 km"` stays. A value that is not understood is left alone, for validation to name.
3. An encoded value is decoded one level at a time, and only where the schema asks for the type of the decoded value.
"""

import ast
import json
import math
import operator
import re
from collections.abc import Mapping
from typing import Any, cast

from toolspeak.values.messages import Concat, Ref
from toolspeak.values.spec import ENUM_NAMES, Schema
from toolspeak.values.validation import (
    DECIDING_KEYWORDS,
    Validation,
    get_enum_values,
    get_item_schema,
    get_type,
    has_possible_keys,
    is_combined,
    is_plain_scalar,
)
from toolspeak.values.work_budget import TooManySteps, WorkBudget

WRAPPERS = frozenset({"properties", "arguments", "args", "kwargs", "parameters", "params", "input", "tool_input"})
"""Keys under which models put all arguments, where the arguments themselves belong."""

REFERENCES = (Ref, Concat)

PLAIN_KINDS: dict[type, tuple[str, ...]] = {
    str: ("string",),
    int: ("integer", "number"),
    float: ("number",),
    bool: ("boolean",),
}
"""The types of a schema by which a value of a Python type is never changed."""

MAX_LITERAL_CHARS = 100_000
"""Characters of a text that is tried as a Python literal."""

TRUE = frozenset({"true", "yes", "on", "1", "y", "t"})
FALSE = frozenset({"false", "no", "off", "0", "n", "f"})
NULL = frozenset({"null", "none", ""})

NUMBER = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:(?<=\d)\.\d*|\.\d+)?(?:[eE][+-]?\d+)?")
SEPARATORS = re.compile(r"[\s_-]+")
BAD_ESCAPE = re.compile(r"\\[^\\'\"abfnrtvxuUN0-7\n]")


def coerce_arguments(arguments: Any, schema: Schema, budget: WorkBudget | None = None) -> Any:
    """Return the arguments of a call in the form that `schema`, the `parameters` of a `ToolSpec`, asks for.

    Arguments that cannot be read as an object are returned unchanged. `budget` is as for `coerce`.
    """
    if type(arguments) is dict and _fits_plainly(cast("dict[str, Any]", arguments), schema):
        return cast("Any", arguments)
    properties: Mapping[str, Any] = schema.get("properties", {})
    for _ in range(3):
        if arguments is None or arguments == [] or _is_null_word(arguments):
            return {}
        if isinstance(arguments, str):
            arguments = decode_text(arguments)
        elif isinstance(arguments, list) and len(items := cast("list[Any]", arguments)) == 1:
            arguments = items[0]
        elif (wrapped := _unwrap(arguments, properties)) is not None:
            arguments = wrapped
        else:
            break
    return coerce(cast("Any", arguments), schema, schema, budget)


def _fits_plainly(arguments: dict[str, Any], schema: Schema) -> bool:
    """Whether each argument has the one plain type that its schema asks for, as most have: then nothing is coerced."""
    if schema.get("type") != "object" or not DECIDING_KEYWORDS.isdisjoint(schema):
        return False
    properties: Mapping[str, Any] = schema.get("properties", {})
    for name, value in arguments.items():
        part: Schema | None = properties.get(name)
        if part.__class__ is not dict or part is None or not DECIDING_KEYWORDS.isdisjoint(part):
            return False
        if part.get("type") not in PLAIN_KINDS.get(value.__class__, ()):
            return False
    return True


def _is_null_word(value: Any) -> bool:
    return isinstance(value, str) and value.strip().casefold() in NULL


def coerce(value: Any, schema: Any, root: Schema, budget: WorkBudget | None = None) -> Any:
    """Return `value` in the form that `schema` asks for, or unchanged. `$ref`s point into `root`.

    A value that would take more than the allowed steps to coerce is returned unchanged. They are those of `budget`, if
    the value is a part of something larger.
    """
    if is_plain_scalar(schema):  # most arguments: nothing is worth keeping in a memo
        return value if isinstance(value, REFERENCES) else _coerce_scalar(value, schema["type"], schema)
    try:
        return Coercion(value, root, budget).coerce(value, schema)
    except (TooManySteps, RecursionError):  # definitions may refer to each other in a chain of thousands
        return value


class Coercion(Validation):
    """The coercion of one value. Each part of the value is coerced once by each schema, and each coercion is a step."""

    __slots__ = ("_coerced", "_decoded", "_folded")

    def __init__(self, value: Any, root: Schema, budget: WorkBudget | None = None) -> None:
        super().__init__(value, root, budget)
        # The part of the value is kept beside the result, so that no other object gets its `id`.
        self._coerced: dict[tuple[int, int], tuple[Any, Any]] = {}
        self._decoded: dict[int, tuple[str, Any]] = {}
        self._folded: dict[int, _EnumIndex] = {}

    def coerce(self, value: Any, schema: Any, in_union: bool = False) -> Any:
        """Return a part of the value in the form that `schema` asks for, or unchanged.

        `in_union`: other alternatives may coerce the same part again, so that the result is worth keeping.
        """
        budget = self.budget
        budget.steps += 1
        if budget.steps > budget.limit:
            budget.extend()
        if (schema.__class__ is not dict and not isinstance(schema, Mapping)) or isinstance(value, REFERENCES):
            return value
        schema = self.resolve(cast("Schema", schema))
        if (allowed := get_enum_values(schema)) is not None:
            return self._coerce_enum(value, allowed, schema)
        kind = get_type(schema)
        is_plain = not is_combined(schema)
        if is_plain and kind not in ("array", "object"):
            return _coerce_scalar(value, kind, schema)
        key = id(value), id(schema)
        if in_union:
            if key in self._coerced:
                return self._coerced[key][1]
            self._coerced[key] = value, value  # for a schema that is an alternative of itself, or an item
        result = value
        for part in schema.get("allOf", ()):
            result = self.coerce(result, part, True)
        if options := self.get_alternatives(schema):
            result = self._coerce_union(result, options)
        elif kind == "array":
            result = self._coerce_array(result, schema, in_union)
        elif kind == "object":
            result = self._coerce_object(result, schema, in_union)
        elif not is_plain:
            result = _coerce_scalar(result, kind, schema)
        if in_union:
            self._coerced[key] = value, result
        return result

    def _coerce_union(self, value: Any, options: list[Any]) -> Any:
        for option in options:
            if self.is_valid(value, option, True):
                return value
        if _is_null_word(value) and any(self.is_valid(None, option, True) for option in options):
            return None
        for option in options:
            if self._can_become_valid(value, option):
                candidate = self.coerce(value, option, True)
                if self.is_valid(candidate, option, True):
                    return candidate
        # No alternative is met in full. If only one is not null, coerce to it as far as possible, and the error names
        # the rest.
        schemas = [cast("Schema", option) for option in options if isinstance(option, Mapping)]
        real = [option for option in schemas if self.resolve(option).get("type") != "null"]
        return self.coerce(value, real[0], True) if len(real) == 1 else value

    def _can_become_valid(self, value: Any, option: Any) -> bool:
        """Whether coercion may bring an object into the form of an alternative: its keys and constants decide."""
        if not isinstance(option, Mapping):
            return False
        schema = self.resolve(cast("Schema", option))
        if get_type(schema) != "object" or is_combined(schema) or get_enum_values(schema) is not None:
            return True
        given = self._decode(value) if isinstance(value, str) else value
        if not isinstance(given, dict):
            return False
        arguments = cast("dict[str, Any]", given)
        if not has_possible_keys(arguments, schema):
            return False
        properties: Mapping[str, Any] = schema.get("properties", {})
        for name, item in arguments.items():
            sub = properties.get(name)
            if item is None or isinstance(item, REFERENCES) or not isinstance(sub, Mapping):
                continue
            sub = self.resolve(cast("Schema", sub))
            if ("const" in sub or "enum" in sub) and not self.is_valid(self.coerce(item, sub), sub):
                return False
        return True

    def _coerce_enum(self, value: Any, allowed: list[Any], schema: Schema) -> Any:
        if self.is_listed(value, allowed):
            return value
        index = self._folded.get(id(schema))
        if index is None:
            names: Mapping[str, Any] = schema.get(ENUM_NAMES, {})
            self.budget.spend(len(allowed) + len(names))
            index = self._folded[id(schema)] = _EnumIndex(allowed, names)
        return index.find(value)

    def _decode(self, text: str) -> Any:
        known = self._decoded.get(id(text))
        if known is None:
            known = self._decoded[id(text)] = text, decode_text(text)
        return known[1]

    def _coerce_array(self, value: Any, schema: Schema, in_union: bool) -> Any:
        if isinstance(value, str):
            opened = self._decode(value)
            if isinstance(opened, list):
                value = cast("Any", opened)
        if isinstance(value, list | tuple):
            items = cast("list[Any] | tuple[Any, ...]", value)
            result: list[Any] = []
            for index, item in enumerate(items):
                result.append(self.coerce(item, get_item_schema(schema, index), in_union))
            # In a union, an unchanged part stays the same object, so that what is known of it is found again.
            is_same = in_union and type(items) is list and all(map(operator.is_, items, result))
            return items if is_same else result
        if value is None or value == "" or "prefixItems" in schema:
            return value
        item_schema = schema.get("items", True)
        item = self.coerce(value, item_schema, True)
        return [item] if self.is_valid(item, item_schema, True) else value

    def _coerce_object(self, value: Any, schema: Schema, in_union: bool) -> Any:
        if isinstance(value, str):
            opened = self._decode(value)
            if isinstance(opened, dict):
                value = cast("Any", opened)
        if not isinstance(value, dict):
            return value
        properties: Mapping[str, Any] = schema.get("properties", {})
        required = schema.get("required", ())
        self.budget.steps += len(cast("dict[str, Any]", value))
        rest = schema.get("additionalProperties", True)
        result: dict[str, Any] = {}
        given = cast("dict[str, Any]", value)
        for key, item in given.items():
            sub = properties.get(key, rest)
            item = self.coerce(item, sub, in_union)
            # A null for an optional key that does not allow null stands for the default: the key is left out.
            if item is None and key in properties and not self.is_valid(None, sub, in_union):
                self.budget.spend(len(required))
                if key not in required:
                    continue
            result[key] = item
        is_same = in_union and len(result) == len(given) and all(map(operator.is_, given.values(), result.values()))
        return given if is_same else result


def _coerce_scalar(value: Any, kind: Any, schema: Schema) -> Any:
    match kind:
        case "integer":
            number = _parse_number(value)
            return int(number) if number is not None and number == int(number) else value
        case "number":
            number = _parse_number(value)
            return value if number is None else number
        case "boolean":
            if isinstance(value, str):
                word = value.strip().casefold()
                return True if word in TRUE else False if word in FALSE else value
            return bool(value) if type(value) is int and value in (0, 1) else value
        case "null":
            return None if _is_null_word(value) else value
        case "string":
            # An unquoted number where text is asked for; a float is left, since "3.10" has already become 3.1.
            return _format_integer(value) if type(value) is int and "format" not in schema else value
        case _:
            return value


def decode_text(text: str) -> Any:
    """Decode a JSON array, object or string, or the Python literal of one; return any other text unchanged."""
    stripped = text.strip()
    if stripped[:1] not in ("[", "{", '"'):
        return text
    try:
        return json.loads(stripped, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        pass
    if len(stripped) > MAX_LITERAL_CHARS or BAD_ESCAPE.search(stripped):
        return text
    try:
        return _to_json(ast.literal_eval(stripped))
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return text


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _to_json(value: Any) -> Any:
    match value:
        case dict():
            return {str(key): _to_json(item) for key, item in cast("dict[Any, Any]", value).items()}
        case list() | tuple():
            return [_to_json(item) for item in cast("list[Any]", value)]
        case str() | bool() | int() | float() | None:
            return value
        case _:
            raise ValueError(f"{type(value).__name__} has no JSON form")


def _unwrap(arguments: Any, properties: Mapping[str, Any]) -> dict[str, Any] | None:
    if not isinstance(arguments, dict) or len(cast("dict[str, Any]", arguments)) != 1:
        return None
    [(key, value)] = cast("dict[str, Any]", arguments).items()
    if key not in WRAPPERS or key in properties:
        return None
    inner: Any = decode_text(value) if isinstance(value, str) else {} if value is None else value
    return cast("dict[str, Any]", inner) if isinstance(inner, dict) else None


_NUMBERS = (int, float)


class _EnumIndex:
    """The values that a schema lists, by what models write for them. It is made once for many values."""

    __slots__ = ("_equal", "_names", "_numbers", "_texts")

    def __init__(self, allowed: list[Any], names: Mapping[str, Any]) -> None:
        self._names = names
        self._texts = {_fold_name(name): meant for name, meant in names.items()}
        self._texts |= {_fold_name(each): each for each in allowed if isinstance(each, str)}
        # The first of equal numbers counts: `true` is one for a number, but not for a text.
        equal = [each for each in reversed(allowed) if isinstance(each, _NUMBERS)]
        self._equal: dict[float, Any] = {each: each for each in equal}
        self._numbers: dict[float, Any] = {each: each for each in equal if not isinstance(each, bool)} if equal else {}

    def find(self, value: Any) -> Any:
        """Return the value of the list that a value stands for; the value itself if it stands for none."""
        if not isinstance(value, str):
            is_number = isinstance(value, _NUMBERS) and not isinstance(value, bool)
            return self._equal.get(value, value) if is_number else value
        if value in self._names:
            return self._names[value]
        folded = _fold_name(value)
        if folded in self._texts:
            return self._texts[folded]
        number = _parse_number(value)
        return value if number is None else self._numbers.get(number, value)


def _fold_name(text: str) -> str:
    return SEPARATORS.sub("_", text.strip()).casefold()


def _parse_number(value: Any) -> int | float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        text = value.strip()
        if not text or not any(map(str.isdecimal, text)) or not text.isascii() or not NUMBER.fullmatch(text):
            return None
        text = text.replace(",", "")
        try:
            value = int(text) if text.lstrip("+-").isdecimal() else float(text)
        except ValueError:  # thousands of digits
            return None
    if isinstance(value, int):
        return value
    return value if isinstance(value, float) and math.isfinite(value) else None


def _format_integer(value: int) -> Any:
    try:
        return str(value)
    except ValueError:  # thousands of digits
        return value
