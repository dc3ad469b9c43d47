"""Raw texts: a call of a tool that takes one is a fenced block with the name of the tool, in every text dialect.

`toolspeak.reading.raw_calls` has the rules of the form.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import groupby

from toolspeak.dialects.notation import referenced_calls
from toolspeak.messages import ToolCall
from toolspeak.reading.raw_tools import find_raw_parameters
from toolspeak.spec import ToolSpec


def format_instructions(specs: Sequence[ToolSpec]) -> str:
    """Write how tools with a raw text are called; "" if there are none among the tools."""
    names = list(find_raw_parameters(specs))
    if not names:
        return ""
    listed = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
    return _template().replace("{names}", listed).replace("{name}", names[0])


@cache
def _template() -> str:
    from importlib.resources import files  # imported with the first tool that takes a raw text

    return (files("toolspeak.dialects") / "prompts" / "raw.txt").read_text(encoding="utf-8").strip()


def fence_around(text: str) -> str:
    """Return a fence that is longer than every run of backticks in a text."""
    return "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text)), 0)


def format_block(call: ToolCall, text: str) -> str:
    """Write a call whose raw text is `text`."""
    fence = fence_around(text)
    return f"{fence}{call.name}\n{text}\n{fence}"


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
        if is_raw:
            parts += [format_block(call, find_raw_text(call, parameters) or "") for call in group]
        else:
            parts.append(format_calls(list(group)))
    return "\n".join(parts)
