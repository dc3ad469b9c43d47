"""Arguments brought to the form their JSON schema asks for, where what was meant is beyond doubt.

Shared by tools, parsers and the gateway, so it knows nothing but the schema. The rules:

1. Coercion goes *by* the schema, never against it: where a string is allowed, a string stays what it is.
2. Only forms are changed, never meanings: `"3"` may become `3`, and `"1,500"` `1500`, but `3.5` is not rounded and
   `"15 km"` stays. What is not understood is left alone, for validation to name.
3. An encoded value is decoded one level at a time, and only where the schema asks for what it would decode to.
"""

import ast
import json
import math
import re
from collections.abc import Mapping
from typing import Any, cast

from toolspeak.messages import Concat, Ref
from toolspeak.spec import Schema, resolve_reference
from toolspeak.validation import alternatives, enumerated, fits, item_schema, schema_type

ENUM_NAMES = "x-enum-names"
"""Schema keyword of our own: the names of an enum's members, with their values. Never shown to a model."""

WRAPPERS = frozenset({"arguments", "args", "kwargs", "parameters", "params", "input", "tool_input"})
"""Keys in which models wrap all arguments once too often."""

REFERENCES = (Ref, Concat)

TRUE = frozenset({"true", "yes", "on", "1", "y", "t"})
FALSE = frozenset({"false", "no", "off", "0", "n", "f"})
NULL = frozenset({"null", "none", ""})

NUMBER = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:(?<=\d)\.\d*|\.\d+)?(?:[eE][+-]?\d+)?")
BAD_ESCAPE = re.compile(r"\\[^\\'\"abfnrtvxuUN0-7\n]")


def coerce_arguments(arguments: Any, schema: Schema) -> Any:
    """The arguments of a call, by the schema of its parameters. What cannot be an object is returned as it came."""
    properties: Mapping[str, Any] = schema.get("properties", {})
    for _ in range(3):
        if arguments is None or arguments == [] or _is_null_word(arguments):
            return {}
        if isinstance(arguments, str):
            arguments = decoded(arguments)
        elif isinstance(arguments, list) and len(items := cast("list[Any]", arguments)) == 1:
            arguments = items[0]
        elif (wrapped := _wrapped(arguments, properties)) is not None:
            arguments = wrapped
        else:
            break
    return coerce(cast("Any", arguments), schema, schema)


def _is_null_word(value: Any) -> bool:
    return isinstance(value, str) and value.strip().casefold() in NULL


def coerce(value: Any, schema: Any, root: Schema) -> Any:
    """`value` in the form that `schema` asks for, or as it came. `$ref`s point into `root`."""
    if not isinstance(schema, Mapping) or isinstance(value, REFERENCES):
        return value
    schema = cast("Schema", schema)
    if "$ref" in schema:
        schema = resolve_reference(schema, root)
    if (allowed := enumerated(schema)) is not None:
        return _enum_value(value, allowed, schema.get(ENUM_NAMES, {}))
    for part in schema.get("allOf", ()):
        value = coerce(value, part, root)
    if options := alternatives(schema):
        return _union_value(value, options, root)
    match schema_type(schema):
        case "integer":
            number = _number(value)
            return int(number) if number is not None and number == int(number) else value
        case "number":
            number = _number(value)
            return value if number is None else number
        case "boolean":
            return _boolean(value)
        case "null":
            return None if isinstance(value, str) and value.strip().casefold() in NULL else value
        case "string":
            # An unquoted number where text is asked for; a float is left, since "3.10" has already become 3.1.
            return _text(value) if type(value) is int and "format" not in schema else value
        case "array":
            return _array(value, schema, root)
        case "object":
            return _object(value, schema, root)
        case _:
            return value


def decoded(text: str) -> Any:
    """A JSON array, object or string (or a Python literal of such) from `text`; `text` itself if it is none."""
    stripped = text.strip()
    if stripped[:1] not in ("[", "{", '"'):
        return text
    try:
        return json.loads(stripped, parse_constant=_refuse)
    except (ValueError, RecursionError):
        pass
    if len(stripped) > 100_000 or BAD_ESCAPE.search(stripped):
        return text
    try:
        return _as_json(ast.literal_eval(stripped))
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return text


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _as_json(value: Any) -> Any:
    match value:
        case dict():
            return {str(key): _as_json(item) for key, item in cast("dict[Any, Any]", value).items()}
        case list() | tuple():
            return [_as_json(item) for item in cast("list[Any]", value)]
        case str() | bool() | int() | float() | None:
            return value
        case _:
            raise ValueError(f"{type(value).__name__} has no JSON form")


def _wrapped(arguments: Any, properties: Mapping[str, Any]) -> dict[str, Any] | None:
    if not isinstance(arguments, dict) or len(cast("dict[str, Any]", arguments)) != 1:
        return None
    [(key, value)] = cast("dict[str, Any]", arguments).items()
    if key not in WRAPPERS or key in properties:
        return None
    inner: Any = decoded(value) if isinstance(value, str) else {} if value is None else value
    return cast("dict[str, Any]", inner) if isinstance(inner, dict) else None


def _union_value(value: Any, options: list[Any], root: Schema) -> Any:
    if any(fits(value, option, root) for option in options):
        return value
    if (
        isinstance(value, str)
        and value.strip().casefold() in NULL
        and any(fits(None, option, root) for option in options)
    ):
        return None
    candidates = [(option, coerce(value, option, root)) for option in options]
    for option, candidate in candidates:
        if fits(candidate, option, root):
            return candidate
    # Nothing fits wholly. With one real alternative, go as far as it goes, so that the error names what is left.
    real = [candidate for option, candidate in candidates if resolve_reference(option, root).get("type") != "null"]
    return real[0] if len(real) == 1 else value


def _enum_value(value: Any, allowed: list[Any], names: Mapping[str, Any]) -> Any:
    if any(value == option and type(value) is type(option) for option in allowed):
        return value
    if not isinstance(value, str):
        same = [option for option in allowed if value == option and not isinstance(value, bool)]
        return same[0] if same else value
    if value in names:
        return names[value]
    for spoken in ({_loose(option): option for option in allowed if isinstance(option, str)}, _by_loose(names)):
        if _loose(value) in spoken:
            return spoken[_loose(value)]
    number = _number(value)
    same = [option for option in allowed if number is not None and option == number and not isinstance(option, bool)]
    return same[0] if same else value


def _by_loose(names: Mapping[str, Any]) -> dict[str, Any]:
    return {_loose(name): value for name, value in names.items()}


def _loose(text: str) -> str:
    return re.sub(r"[\s_-]+", "_", text.strip()).casefold()


def _number(value: Any) -> int | float | None:
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


def _text(value: int) -> Any:
    try:
        return str(value)
    except ValueError:  # thousands of digits
        return value


def _boolean(value: Any) -> Any:
    if isinstance(value, str):
        word = value.strip().casefold()
        return True if word in TRUE else False if word in FALSE else value
    return bool(value) if type(value) is int and value in (0, 1) else value


def _array(value: Any, schema: Schema, root: Schema) -> Any:
    if isinstance(value, str):
        opened = decoded(value)
        if isinstance(opened, list):
            value = cast("Any", opened)
    if isinstance(value, list | tuple):
        items = cast("list[Any]", value)
        return [coerce(item, item_schema(schema, index), root) for index, item in enumerate(items)]
    if value is None or value == "" or "prefixItems" in schema:
        return value
    item = coerce(value, schema.get("items", True), root)
    return [item] if fits(item, schema.get("items", True), root) else value


def _object(value: Any, schema: Schema, root: Schema) -> Any:
    if isinstance(value, str):
        opened = decoded(value)
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
        # A null for something optional that cannot be null means: leave it at its default.
        if item is None and key in properties and key not in required and not fits(None, sub, root):
            continue
        result[key] = item
    return result
