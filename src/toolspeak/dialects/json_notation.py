"""JSON: calls as objects in tags, and the example of such a call in the prompt.

Also raw texts: a call of a tool that takes one is a fenced block with the name of the tool, in every text dialect.
`toolspeak.reading.raw_calls` has the rules of that form, `toolspeak.reading.names` says which tools have it.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import groupby
from typing import Any, cast

from toolspeak.dialects.notation import parameters_of, referenced_calls
from toolspeak.reading.names import find_raw_parameters, has_raw_form
from toolspeak.values.codec import encode_argument
from toolspeak.values.messages import ToolCall
from toolspeak.values.spec import Schema, ToolSpec

FENCE = "```"
CALL_CLOSER = "</tool_call>"

_TOOLS_BLOCK = re.compile(r"```(\w+\n\{tools\}\n)```")


def format_instructions(specs: Sequence[ToolSpec]) -> str:
    """Write how tools with a raw text are called; "" if there are none among the tools."""
    names = list(find_raw_parameters(specs))
    if not names:
        return ""
    listed = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
    return fill_prompt("raw", names=listed, name=names[0])


@cache
def read_prompt(name: str) -> str:
    """Return a text of `prompts/`, in which names in braces stand for what is filled in."""
    from importlib.resources import files  # imported with the first prompt of a text dialect

    return (files("toolspeak.dialects") / "prompts" / f"{name}.txt").read_text(encoding="utf-8").strip()


def fill_prompt(prompt: str, **values: str) -> str:
    """Return a text of `prompts/` with its names in braces replaced. What is filled in stays as it is.

    The fence around the tools is longer than any in their texts: a description cannot end the block that it is in.
    """
    parts = _split_prompt(prompt, fence_around(values.get("tools", "")))
    return "".join(values[part] if place % 2 else part for place, part in enumerate(parts))


@lru_cache(maxsize=32)
def _split_prompt(prompt: str, fence: str) -> list[str]:
    """Return a text of `prompts/` with a fence around its tools, in pieces: each second one is a name in braces."""
    text = _TOOLS_BLOCK.sub(lambda block: f"{fence}{block[1]}{fence}", read_prompt(prompt))
    return re.split(r"\{(tools|example|names|name)\}", text)


def fence_around(text: str) -> str:
    """Return a fence that is longer than every run of backticks in a text."""
    return FENCE if FENCE not in text else "`" * max(len(run) + 1 for run in re.findall("`+", text))


def find_raw_text(call: ToolCall, parameters: Mapping[str, str]) -> str | None:
    """Return the raw text of a call that can be written as a block, with nothing but that text.

    Args:
        call: The call.
        parameters: The parameter for the raw text of each tool that takes one, by the name of the tool.
    """
    parameter = parameters.get(call.name)
    text = call.arguments.get(parameter) if parameter else None
    return text if isinstance(text, str) and len(call.arguments) == 1 else None


def format_mixed_calls(
    calls: Sequence[ToolCall], parameters: Mapping[str, str], format_calls: Callable[[Sequence[ToolCall]], str]
) -> str:
    """Write the calls of one message in their order: raw texts as blocks, all others by `format_calls`.

    Calls of which one refers to the result of another are all written by `format_calls`: a block has no name that
    another could refer to.
    """
    if not parameters or any(referenced_calls(call.arguments) for call in calls):
        return format_calls(calls)
    parts: list[str] = []
    for is_raw, group in groupby(calls, lambda call: find_raw_text(call, parameters) is not None):
        if not is_raw:
            parts.append(format_calls(list(group)))
            continue
        for call in group:
            text = find_raw_text(call, parameters) or ""
            fence = fence_around(text)
            parts.append(f"{fence}{call.name}\n{text}\n{fence}")
    return "\n".join(parts)


def format_example(specs: Sequence[ToolSpec]) -> str:
    """Write an example of a call with values: shown no values, small models copy the types as arguments."""
    if not specs:
        return _format_object("name", {"key": "value"})
    # A tool with a raw text is called in another way, so it is the example only where there is no other tool.
    spec = min(specs, key=lambda spec: (has_raw_form(spec), not spec.parameters.get("properties")))
    given = list(parameters_of(spec.parameters))
    shown = [each for each in given if not each[2]] if spec.parameters.get("required") else given[:1]
    text = _format_object(spec.name, {name: sample_value(sub) for name, sub, _ in shown})
    return text.replace(CALL_CLOSER, CALL_CLOSER.replace("/", "\\/"))  # the same JSON, which closes no tag


def sample_value(schema: Any) -> Any:
    """Return a value that fits a schema and is plainly a sample."""
    if not isinstance(schema, Mapping):
        return "some text"
    schema = cast("Schema", schema)
    for key in ("default", "const"):
        if schema.get(key) is not None:
            return schema[key]
    if schema.get("enum"):
        return schema["enum"][0]
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return sample_value(options[0])
    kind = schema.get("type")
    match cast("list[Any]", kind)[0] if isinstance(kind, list) else kind:
        case "integer" | "number":
            return schema.get("minimum", 3)
        case "boolean":
            return True
        case "array":
            return [sample_value(schema["items"])] if schema.get("items") else []
        case "object":
            return {name: sample_value(sub) for name, sub, optional in parameters_of(schema) if not optional}
        case "null":
            return None
        case _:
            return "some text"


def format_call(call: ToolCall) -> str:
    """Write one call on one line."""
    return _format_object(call.name, call.arguments)


def format_calls(calls: Sequence[ToolCall]) -> str:
    """Write the calls of one message, each in a tag."""
    return "\n".join(f"<tool_call>\n{format_call(call)}\n{CALL_CLOSER}" for call in calls)


def _format_object(name: str, arguments: dict[str, Any]) -> str:
    return json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False, default=encode_argument)
