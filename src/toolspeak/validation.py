"""Checks a value against a JSON schema, and describes each problem in words for a model.

A problem is one line that names the field, the value and what is allowed. Only what decides the meaning of a call is
checked (types, enums, required and unknown keys); bounds and patterns are left to the tool's own validator, which knows
more than a schema can express.
"""

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from toolspeak.messages import Concat, Ref
from toolspeak.spec import Schema, resolve_reference

MAX_VALUE_CHARS = 60
"""Characters of a value that an error quotes."""

MAX_NAME_CHARS = 200
"""Characters of the longest name for which a similar name is looked for."""


MAX_OPTIONS = 12
"""Alternatives that a description names; the last stands for the rest where there are more."""


def is_valid(value: Any, schema: Any, root: Schema) -> bool:
    """Whether `value` is valid under `schema`, whose `$ref`s point into `root`."""
    return next(find_problems(value, schema, root), None) is None


def find_problems(value: Any, schema: Any, root: Schema, path: str = "") -> Iterator[str]:
    """Yield each problem of `value` under `schema`, as a line for the model. A `Ref` is valid everywhere."""
    if schema is True or isinstance(value, Ref):
        return
    if not isinstance(schema, Mapping):
        yield f"{path}: not allowed"
        return
    schema = resolve_reference(cast("Schema", schema), root)
    if (allowed := get_enum_values(schema)) is not None:
        if not any(value == option and type(value) is type(option) for option in allowed):
            yield _describe_mismatch(path, value, schema, root)
        return
    for part in schema.get("allOf", ()):
        yield from find_problems(value, part, root, path)
    if options := get_alternatives(schema):
        yield from _find_union_problems(value, schema, options, root, path)
        return
    kind = get_type(schema)
    if kind is not None and not is_of_type(value, kind):
        yield _describe_mismatch(path, value, schema, root)
    elif isinstance(value, dict):
        yield from _find_object_problems(cast("dict[str, Any]", value), schema, root, path)
    elif isinstance(value, list):
        for index, item in enumerate(cast("list[Any]", value)):
            yield from find_problems(item, get_item_schema(schema, index), root, f"{path}[{index}]")


def get_enum_values(schema: Schema) -> list[Any] | None:
    """Return the values that a schema lists (`enum` or `const`); None if it lists no values."""
    if "const" in schema:
        return [schema["const"]]
    return schema.get("enum")


def get_alternatives(schema: Schema) -> list[Any]:
    """Return the alternatives of a union (`anyOf`, `oneOf` or a list of types); empty for any other schema."""
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return list(options)
    kind = schema.get("type")
    if isinstance(kind, list):
        return [{**schema, "type": each} for each in cast("list[str]", kind)]
    return []


def get_type(schema: Schema) -> Any:
    """Return the `type` of a schema; `"object"` for a schema that has properties and leaves its type out."""
    return "object" if "type" not in schema and "properties" in schema else schema.get("type")


def get_item_schema(schema: Schema, index: int) -> Any:
    """Return the schema of the item at `index` of an array."""
    prefix: list[Any] = schema.get("prefixItems", [])
    return prefix[index] if index < len(prefix) else schema.get("items", True)


def is_of_type(value: Any, kind: Any) -> bool:
    """Whether `value` is of the JSON schema type `kind`."""
    match kind:
        case "string":
            return isinstance(value, str | Concat)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case "null":
            return value is None
        case _:
            return True


def nearest(name: str, options: Iterable[str], *, likeness: float = 0.5) -> str | None:
    """Return the option that is most like `name`, or None. Case, underscores and hyphens do not count.

    Args:
        name: The name that was not found.
        options: The names that there are.
        likeness: How much alike the two must be, from 0 to 1.
    """
    if len(name) > MAX_NAME_CHARS:
        return None
    plain = {_fold_name(option): option for option in options}
    found = difflib.get_close_matches(_fold_name(name), plain, n=1, cutoff=likeness)
    return plain[found[0]] if found else None


def _fold_name(name: str) -> str:
    return name.replace("_", "").replace("-", "").casefold()


def _find_object_problems(value: dict[str, Any], schema: Schema, root: Schema, path: str) -> Iterator[str]:
    properties: Mapping[str, Any] = schema.get("properties", {})
    rest = schema.get("additionalProperties", True)
    dot = f"{path}." if path else ""
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{dot}{name}: missing; needs {describe(properties.get(name, {}), root)}"
    for name, item in value.items():
        if name in properties:
            yield from find_problems(item, properties[name], root, f"{dot}{name}")
        elif rest is not False:
            yield from find_problems(item, rest, root, f"{dot}{format_key(name)}")
        elif similar := nearest(name, properties.keys() - value.keys()):
            yield f"{dot}{format_key(name)}: no such key; did you mean {similar}?"
        else:
            known = ", ".join(properties) or "none, it takes no arguments"
            yield f"{dot}{format_key(name)}: no such key; the keys are: {known}"


def _find_union_problems(value: Any, schema: Schema, options: list[Any], root: Schema, path: str) -> Iterator[str]:
    if any(is_valid(value, option, root) for option in options):
        return
    # When only one alternative has the type of the value, its problems are the ones worth naming.
    types = [(option, get_type(resolve_reference(option, root))) for option in options if is_container(value)]
    same_type = [option for option, kind in types if is_of_type(value, kind)]
    if len(same_type) == 1:
        yield from find_problems(value, same_type[0], root, path)
    else:
        yield _describe_mismatch(path, value, schema, root)


def is_container(value: Any) -> bool:
    return isinstance(value, dict | list)


def _describe_mismatch(path: str, value: Any, schema: Schema, root: Schema) -> str:
    return f"{path or 'arguments'}: got {format_value(value)}; needs {describe(schema, root)}"


def format_value(value: Any) -> str:
    """Format a value for an error: as JSON on one line, cut to `MAX_VALUE_CHARS`."""
    if isinstance(value, str):
        value = value[:MAX_VALUE_CHARS]  # cut before it is written out: it may be megabytes
    try:
        text = json.dumps(value, ensure_ascii=False, default=lambda each: type(each).__name__)
        if not text.isprintable():  # line breaks that JSON leaves as they are, halves of surrogate pairs
            text = json.dumps(value, default=lambda each: type(each).__name__)
    except (ValueError, TypeError, RecursionError):
        text = type(value).__name__
    return text if len(text) <= MAX_VALUE_CHARS else f"{text[: MAX_VALUE_CHARS - 1]}…"


def format_key(key: str) -> str:
    """Format a key for an error: unchanged, unless it is too long or cannot stand on one line."""
    return key if len(key) <= MAX_VALUE_CHARS and key.isprintable() else format_value(key)


def describe(schema: Any, root: Schema, depth: int = 0) -> str:
    """Describe in a few words what a schema allows."""
    if not isinstance(schema, Mapping):
        return "any value"
    schema = resolve_reference(cast("Schema", schema), root)
    if (allowed := get_enum_values(schema)) is not None:
        return _join_options([format_value(option) for option in allowed])
    if options := get_alternatives(schema):
        return _join_options(list(dict.fromkeys(describe(option, root, depth + 1) for option in options)))
    kind = get_type(schema)
    if kind == "array" and "items" in schema and depth < 3:
        return f"array of {describe(schema['items'], root, depth + 1)}"
    if kind == "object" and schema.get("properties") and depth < 3:
        return f"object with keys {', '.join(schema['properties'])}"
    if kind is None:
        return "any value"
    return f"{kind} ({schema['format']})" if "format" in schema else str(kind)


def _join_options(words: list[str]) -> str:
    if len(words) > MAX_OPTIONS:
        words = [*words[: MAX_OPTIONS - 1], f"one of {len(words) - MAX_OPTIONS + 1} more"]
    return " or ".join((", ".join(words[:-1]), words[-1])) if len(words) > 1 else "".join(words)
