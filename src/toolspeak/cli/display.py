"""What a run says of itself, as text for a person. No text of a model or a tool can move the cursor or hide itself."""

import re
from typing import Any

from toolspeak.dialects.python_notation import format_call
from toolspeak.messages import ToolCall, ToolResult
from toolspeak.run import Agent
from toolspeak.tools import output_text

CALL_LETTERS = 300
RESULT_LETTERS = 600
RESULT_LINES = 8

_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, and those that turn the direction of writing: `\\t` and line ends are none of them."""


def visible(text: str) -> str:
    """The text with every character written out that a terminal would obey."""
    return _UNSEEN.sub(_written_out, text)


def _written_out(match: re.Match[str]) -> str:
    if match[0] == "\r":
        return ""
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def shortened(text: str, letters: int, lines: int | None = None) -> str:
    """The text, or its beginning and how much more there is."""
    kept = text if lines is None else "\n".join(text.split("\n")[:lines])
    kept = kept[:letters]
    return text if len(kept) == len(text) else f"{kept}… ({len(text) - len(kept):,} letters more)"


def call_line(call: ToolCall) -> str:
    """A call on one line, cut if it is long."""
    return visible(shortened(format_call(call).replace("\n", " "), CALL_LETTERS))


def call_in_full(call: ToolCall) -> str:
    """All that a call says, for whoever is asked about it: texts of several lines as they would be written."""
    lines: list[str] = []
    for name, value in call.arguments.items():
        if isinstance(value, str) and "\n" in value:
            lines += [f"{name}:", *(f"  {line}" for line in value.split("\n"))]
        else:
            lines.append(f"{name}: {output_text(_plain(value))}")
    return visible("\n".join(lines))


def _plain(value: Any) -> Any:
    from toolspeak.codec import encode_argument

    return value if isinstance(value, str) else encode_argument(value)


def result_text(result: ToolResult) -> str:
    """What came of a call, cut if it is long."""
    if result.error is not None:
        return visible(shortened(result.error, RESULT_LETTERS, RESULT_LINES))
    media = ", ".join(each.mime for each in result.media)
    if media and result.output is None:
        return visible(media)
    text = shortened(output_text(result.output), RESULT_LETTERS, RESULT_LINES)
    return visible(f"{text} ({media})" if media else text)


def seconds(time: float) -> str:
    """A duration: short ones exactly, long ones not."""
    return f"{time:.2f} s" if time < 10 else f"{time:.0f} s"


def introduction(agent: Agent) -> str:
    """Who answers, how it is spoken to, and what it may call."""
    count = len(agent.toolbox)
    tools = f"{count} tool{'' if count == 1 else 's'}" if count else "no tools"
    return f"{visible(agent.model.name)} · {agent.dialect.name} dialect · {tools}"
