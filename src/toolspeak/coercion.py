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
import re
from collections.abc import Mapping
from typing import Any, cast

from toolspeak.messages import Concat, Ref
from toolspeak.spec import Schema, resolve_reference
from toolspeak.validation import get_alternatives, get_enum_values, get_item_schema, get_type, is_valid

ENUM_NAMES = "x-enum-names"
"""Schema keyword of toolspeak's own: the members of an enum, name to value. Never shown to a model."""

WRAPPERS = frozenset({"arguments", "args", "kwargs", "parameters", "params", "input", "tool_input"})
"""Keys under which models put all arguments, where the arguments themselves belong."""

REFERENCES = (Ref, Concat)

MAX_LITERAL_CHARS = 100_000
"""Characters of a text that is tried as a Python literal."""

TRUE = frozenset({"true", "yes", "on", "1", "y", "t"})
FALSE = frozenset({"false", "no", "off", "0", "n", "f"})
NULL = frozenset({"null", "none", ""})

NUMBER = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:(?<=\d)\.\d*|\.\d+)?(?:[eE][+-]?\d+)?")
BAD_ESCAPE = re.compile(r"\\[^\\'\"abfnrtvxuUN0-7\n]")


def coerce_arguments(arguments: Any, schema: Schema) -> Any:
    """Return the arguments of a call in the form that `schema`, the `parameters` of a `ToolSpec`, asks for.

    Arguments that cannot be read as an object are returned unchanged.
    """
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
    return coerce(cast("Any", arguments), schema, schema)


def _is_null_word(value: Any) -> bool:
    return isinstance(value, str) and value.strip().casefold() in NULL


def coerce(value: Any, schema: Any, root: Schema) -> Any:
    """Return `value` in the form that `schema` asks for, or unchanged. `$ref`s point into `root`."""
    if not isinstance(schema, Mapping) or isinstance(value, REFERENCES):
        return value
    schema = cast("Schema", schema)
    if "$ref" in schema:
        schema = resolve_reference(schema, root)
    if (allowed := get_enum_values(schema)) is not None:
        return _coerce_enum(value, allowed, schema.get(ENUM_NAMES, {}))
    for part in schema.get("allOf", ()):
        value = coerce(value, part, root)
    if options := get_alternatives(schema):
        return _coerce_union(value, options, root)
    match get_type(schema):
        case "integer":
            number = _parse_number(value)
            return int(number) if number is not None and number == int(number) else value
        case "number":
            number = _parse_number(value)
            return value if number is None else number
        case "boolean":
            return _coerce_boolean(value)
        case "null":
            return None if isinstance(value, str) and value.strip().casefold() in NULL else value
        case "string":
            # An unquoted number where text is asked for; a float is left, since "3.10" has already become 3.1.
            return _format_integer(value) if type(value) is int and "format" not in schema else value
        case "array":
            return _coerce_array(value, schema, root)
        case "object":
            return _coerce_object(value, schema, root)
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


def _coerce_union(value: Any, options: list[Any], root: Schema) -> Any:
    if any(is_valid(value, option, root) for option in options):
        return value
    if (
        isinstance(value, str)
        and value.strip().casefold() in NULL
        and any(is_valid(None, option, root) for option in options)
    ):
        return None
    candidates = [(option, coerce(value, option, root)) for option in options]
    for option, candidate in candidates:
        if is_valid(candidate, option, root):
            return candidate
    # No alternative is met in full. If only one is not null, coerce to it as far as possible: the error names the rest.
    real = [candidate for option, candidate in candidates if resolve_reference(option, root).get("type") != "null"]
    return real[0] if len(real) == 1 else value


def _coerce_enum(value: Any, allowed: list[Any], names: Mapping[str, Any]) -> Any:
    if any(value == option and type(value) is type(option) for option in allowed):
        return value
    if not isinstance(value, str):
        same = [option for option in allowed if value == option and not isinstance(value, bool)]
        return same[0] if same else value
    if value in names:
        return names[value]
    for index in ({_fold_name(option): option for option in allowed if isinstance(option, str)}, _index_names(names)):
        if _fold_name(value) in index:
            return index[_fold_name(value)]
    number = _parse_number(value)
    same = [option for option in allowed if number is not None and option == number and not isinstance(option, bool)]
    return same[0] if same else value


def _index_names(names: Mapping[str, Any]) -> dict[str, Any]:
    return {_fold_name(name): value for name, value in names.items()}


def _fold_name(text: str) -> str:
    return re.sub(r"[\s_-]+", "_", text.strip()).casefold()


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


def _coerce_boolean(value: Any) -> Any:
    if isinstance(value, str):
        word = value.strip().casefold()
        return True if word in TRUE else False if word in FALSE else value
    return bool(value) if type(value) is int and value in (0, 1) else value


def _coerce_array(value: Any, schema: Schema, root: Schema) -> Any:
    if isinstance(value, str):
        opened = decode_text(value)
        if isinstance(opened, list):
            value = cast("Any", opened)
    if isinstance(value, list | tuple):
        items = cast("list[Any]", value)
        return [coerce(item, get_item_schema(schema, index), root) for index, item in enumerate(items)]
    if value is None or value == "" or "prefixItems" in schema:
        return value
    item = coerce(value, schema.get("items", True), root)
    return [item] if is_valid(item, schema.get("items", True), root) else value


def _coerce_object(value: Any, schema: Schema, root: Schema) -> Any:
    if isinstance(value, str):
        opened = decode_text(value)
        if isinstance(opened, dict):
            value = cast("Any", opened)
    if not isinstance(value, dict):
        return value
    properties: Mapping[str, Any] = schema.get("properties", {})
    required = schema.get("required", ())
    rest = schema.get("additionalProperties", True)
    result: dict[str, Any] = {}
    for key, item in cast("dict[str, Any]", value).items():
        sub = properties.get(key, rest)
        item = coerce(item, sub, root)
        # A null for an optional key that does not allow null stands for the default: the key is left out.
        if item is None and key in properties and key not in required and not is_valid(None, sub, root):
            continue
        result[key] = item
    return result
