"""Whether a value fits a JSON schema, and in what words it does not.

The words are for a model: each problem names the field, what came and what is allowed, on one line. Only what decides
the meaning of a call is checked (types, enums, required and unknown keys); bounds and patterns are left to the tool's
own validator, which knows more than a schema can say.
"""

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from toolspeak.messages import Concat, Ref
from toolspeak.spec import Schema, resolve_reference

SHOWN = 60
"""Characters of a value that an error repeats."""

LONGEST_NAME = 200
"""Characters of a name for which it is still worth looking for a similar one."""


def fits(value: Any, schema: Any, root: Schema) -> bool:
    """Whether `value` fits `schema`, whose `$ref`s point into `root`."""
    return next(problems(value, schema, root), None) is None


def problems(value: Any, schema: Any, root: Schema, path: str = "") -> Iterator[str]:
    """Each way in which `value` does not fit `schema`, as a line for the model. References fit everywhere."""
    if schema is True or isinstance(value, Ref):
        return
    if not isinstance(schema, Mapping):
        yield f"{path}: not allowed"
        return
    schema = resolve_reference(cast("Schema", schema), root)
    if (allowed := enumerated(schema)) is not None:
        if not any(value == option and type(value) is type(option) for option in allowed):
            yield _mismatch(path, value, schema, root)
        return
    for part in schema.get("allOf", ()):
        yield from problems(value, part, root, path)
    if options := alternatives(schema):
        yield from _union_problems(value, schema, options, root, path)
        return
    kind = schema_type(schema)
    if kind is not None and not is_kind(value, kind):
        yield _mismatch(path, value, schema, root)
    elif isinstance(value, dict):
        yield from _object_problems(cast("dict[str, Any]", value), schema, root, path)
    elif isinstance(value, list):
        for index, item in enumerate(cast("list[Any]", value)):
            yield from problems(item, item_schema(schema, index), root, f"{path}[{index}]")


def enumerated(schema: Schema) -> list[Any] | None:
    """The values a schema lists, if it lists them."""
    if "const" in schema:
        return [schema["const"]]
    return schema.get("enum")


def alternatives(schema: Schema) -> list[Any]:
    """The alternatives of a union, whichever way it is said; empty for a schema that is none."""
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return list(options)
    kind = schema.get("type")
    if isinstance(kind, list):
        return [{**schema, "type": each} for each in cast("list[str]", kind)]
    return []


def schema_type(schema: Schema) -> Any:
    """Return the `type` of a schema; `"object"` for a schema that has properties and leaves its type out."""
    return "object" if "type" not in schema and "properties" in schema else schema.get("type")


def item_schema(schema: Schema, index: int) -> Any:
    """The schema of the item at `index` of an array."""
    prefix: list[Any] = schema.get("prefixItems", [])
    return prefix[index] if index < len(prefix) else schema.get("items", True)


def is_kind(value: Any, kind: Any) -> bool:
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
    """The option most like `name`, if any is like it at all; letter case and underscores do not count.

    `likeness`, from 0 to 1, is how much alike they must be.
    """
    if len(name) > LONGEST_NAME:
        return None
    plain = {_plain(option): option for option in options}
    found = difflib.get_close_matches(_plain(name), plain, n=1, cutoff=likeness)
    return plain[found[0]] if found else None


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").casefold()


def _object_problems(value: dict[str, Any], schema: Schema, root: Schema, path: str) -> Iterator[str]:
    properties: Mapping[str, Any] = schema.get("properties", {})
    rest = schema.get("additionalProperties", True)
    dot = f"{path}." if path else ""
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{dot}{name}: missing; needs {describe(properties.get(name, {}), root)}"
    for name, item in value.items():
        if name in properties:
            yield from problems(item, properties[name], root, f"{dot}{name}")
        elif rest is not False:
            yield from problems(item, rest, root, f"{dot}{spelled(name)}")
        elif similar := nearest(name, properties.keys() - value.keys()):
            yield f"{dot}{spelled(name)}: no such key; did you mean {similar}?"
        else:
            known = ", ".join(properties) or "none, it takes no arguments"
            yield f"{dot}{spelled(name)}: no such key; the keys are: {known}"


def _union_problems(value: Any, schema: Schema, options: list[Any], root: Schema, path: str) -> Iterator[str]:
    if any(fits(value, option, root) for option in options):
        return
    # When only one alternative is of the value's own kind, its problems are the ones worth telling.
    types = [(option, schema_type(resolve_reference(option, root))) for option in options if is_container(value)]
    kin = [option for option, kind in types if is_kind(value, kind)]
    if len(kin) == 1:
        yield from problems(value, kin[0], root, path)
    else:
        yield _mismatch(path, value, schema, root)


def is_container(value: Any) -> bool:
    return isinstance(value, dict | list)


def _mismatch(path: str, value: Any, schema: Schema, root: Schema) -> str:
    return f"{path or 'arguments'}: got {shown(value)}; needs {describe(schema, root)}"


def shown(value: Any) -> str:
    """A value as an error repeats it: as JSON on one line, cut short."""
    if isinstance(value, str):
        value = value[:SHOWN]  # cut before it is written out: it may be megabytes
    try:
        text = json.dumps(value, ensure_ascii=False, default=lambda each: type(each).__name__)
        if not text.isprintable():  # line breaks that JSON leaves as they are, halves of surrogate pairs
            text = json.dumps(value, default=lambda each: type(each).__name__)
    except (ValueError, TypeError, RecursionError):
        text = type(value).__name__
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def spelled(key: str) -> str:
    """A key as an error repeats it: as it is, unless it is too long or cannot stand on one line."""
    return key if len(key) <= SHOWN and key.isprintable() else shown(key)


def describe(schema: Any, root: Schema, depth: int = 0) -> str:
    """What a schema allows, in a few words."""
    if not isinstance(schema, Mapping):
        return "any value"
    schema = resolve_reference(cast("Schema", schema), root)
    if (allowed := enumerated(schema)) is not None:
        return _listed([shown(option) for option in allowed])
    if options := alternatives(schema):
        return _listed(list(dict.fromkeys(describe(option, root, depth + 1) for option in options)))
    kind = schema_type(schema)
    if kind == "array" and "items" in schema and depth < 3:
        return f"array of {describe(schema['items'], root, depth + 1)}"
    if kind == "object" and schema.get("properties") and depth < 3:
        return f"object with keys {', '.join(schema['properties'])}"
    if kind is None:
        return "any value"
    return f"{kind} ({schema['format']})" if "format" in schema else str(kind)


def _listed(words: list[str]) -> str:
    if len(words) > 12:
        words = [*words[:11], f"one of {len(words) - 11} more"]
    return " or ".join((", ".join(words[:-1]), words[-1])) if len(words) > 1 else "".join(words)
