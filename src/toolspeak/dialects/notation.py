"""What the notations of TypeScript and Python share: names, literals, and what a schema says beside its types.

Schemas may come from strangers. Whatever stands in one is written on the line of its field, as text or as a literal: it
begins no line of its own, which could look like another tool. Each schema in it is written once, and each is a step of
the budget for all tools that are written together (`WorkBudget`).
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast

from toolspeak.values.errors import UsageError
from toolspeak.values.messages import Concat, Ref
from toolspeak.values.spec import Schema, ToolSpec
from toolspeak.values.work_budget import TooManySteps, WorkBudget

PLAIN_NAME = re.compile(r"""[^\s"'`(){}\[\]<>:;,=/*#\\]+""")
"""A name that needs no quotes among others: an identifier, or one such as `page-size`."""

BOUNDS = {
    "minimum": "at least {}", "maximum": "at most {}", "exclusiveMinimum": "above {}", "exclusiveMaximum": "below {}",
    "multipleOf": "a multiple of {}", "minLength": "at least {} characters", "maxLength": "at most {} characters",
    "minItems": "at least {} items", "maxItems": "at most {} items", "pattern": "matching {}", "format": "format {}",
}  # fmt: skip
"""Keywords that no type expresses, in words for the model."""

_LINE_BREAKS = re.compile(r"[\x7f-\x9f\u2028\u2029]")  # which JSON leaves as they are


T = TypeVar("T")


def write_tools(specs: Sequence[ToolSpec], write: Callable[[ToolSpec, WorkBudget], T]) -> list[T]:
    """Write each tool by `write`, all within one budget.

    Raises:
        UsageError: The schema of a tool takes too much work. The message names the tool.
    """
    budget = WorkBudget(*(spec.parameters for spec in specs), *(spec.returns for spec in specs))
    written: list[T] = []
    for spec in specs:
        try:
            written.append(write(spec, budget))
        except TooManySteps:
            raise UsageError(f"{spec.name}: its schema takes too much work to write; describe less in it") from None
    return written


def note(schema: Schema) -> str:
    """Return what a schema says beside its type: its description, and its bounds in words."""
    words = _list_bounds(schema)
    for option in schema.get("anyOf", ()):
        words += _list_bounds(cast("Schema", option)) if isinstance(option, Mapping) else []
    about = " ".join(str(schema.get("description", "")).split())
    bounds = ", ".join(words)
    if not bounds:
        return about
    return f"{about.rstrip('.')} ({bounds})" if about else bounds


def one_line(value: Any) -> str:
    """Return a value as text that ends no line: a schema may be a stranger's, and each line is a tool's."""
    text = " ".join(str(value).split())
    return text if text.isprintable() else json.dumps(text)[1:-1]


def _list_bounds(schema: Schema) -> list[str]:
    return [text.format(one_line(schema[key])) for key, text in BOUNDS.items() if key in schema]


def default_of(schema: Schema) -> str | None:
    """Return the default as JSON; None without one, or if it is null, which leaving the value out means anyway."""
    if schema.get("default") is None:
        return None
    return literal(schema["default"])


def literal(value: Any) -> str:
    """Return a value as JSON, on one line."""
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isprintable() else _LINE_BREAKS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def plain_name(name: str) -> str:
    """Return a name as it is, or in quotes if it could be taken for something else than a name."""
    return name if name.isidentifier() or (PLAIN_NAME.fullmatch(name) and name.isprintable()) else literal(name)


def parameters_of(schema: Schema) -> Iterator[tuple[str, Schema, bool]]:
    """Return the properties of an object schema, each with its own schema and whether it may be left out."""
    required = frozenset[str](schema.get("required", ()))
    for name, sub in cast("Mapping[str, Any]", schema.get("properties", {})).items():
        yield name, sub if isinstance(sub, dict) else {}, name not in required


def definition_name(ref: str) -> str:
    """Return the name of the definition that a `$ref` points to."""
    return plain_name(ref.rpartition("/")[2])


def without_null(schema: Schema) -> Schema:
    """Return a schema without null among its types: what may be left out need not be shown as nullable."""
    options: list[Any] = [option for option in schema.get("anyOf", ()) if option != {"type": "null"}]
    if len(options) == 1 and len(schema["anyOf"]) == 2 and isinstance(options[0], dict):
        return {**options[0], **{key: value for key, value in schema.items() if key != "anyOf"}}
    types = schema.get("type")
    if isinstance(types, list):
        others = [each for each in cast("list[str]", types) if each != "null"]
        return {**schema, "type": others[0] if len(others) == 1 else others}
    return schema


def identifier(name: str) -> str:
    """Return the name of a tool as an identifier of code. The reader resolves it to the tool."""
    plain = "".join(char if char.isalnum() or char in "_." else "_" for char in name)
    return f"_{plain}" if plain[:1].isdigit() else plain


def referenced_calls(value: Any) -> set[str]:
    """Return the ids of the calls whose results a value refers to."""
    match value:
        case Ref(call=call):
            return {call}
        case Concat(parts=parts):
            return {part.call for part in parts if isinstance(part, Ref)}
        case dict():
            return {ref for item in cast("dict[str, Any]", value).values() for ref in referenced_calls(item)}
        case list():
            return {ref for item in cast("list[Any]", value) for ref in referenced_calls(item)}
        case _:
            return set()
