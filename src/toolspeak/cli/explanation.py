"""`toolspeak parse --why`: a message with marks that say what each part of it was read as, and why.

    prose      │ Sure.
    skipped    │ <tool_call>
    call       │ {'name': "get_weather", "arguments": {"city": "Oslo"}}
               │   ^ syntax
               └ get_weather(city="Oslo"), after the token <tool_call> of hermes, qwen
               └ repaired: syntax errors were repaired
    skipped    │ </tool_call>

The margin says the same as the colours, so nothing is lost where there are none. Parts of blanks alone are left out.
"""

from collections.abc import Iterator

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.text import Text

from toolspeak.cli.safe_text import escape_line
from toolspeak.dialects import Explanation, MessageSpan, RepairPlace
from toolspeak.dialects.explanation_notes import describe_span
from toolspeak.reading.trace import SpanKind

COLORS: dict[SpanKind, str] = {
    "prose": "",
    "thinking": "cyan",
    "call": "green",
    "malformed": "red",
    "made_up": "magenta",
    "dropped": "yellow",
    "retraction": "cyan",
    "skipped": "dim",
}

MARGIN_CELLS = max(map(len, COLORS)) + 1
"""Width of the names of kinds in the margin."""


def render_explanation(explanation: Explanation) -> RenderableType:
    """Lay out a message with its marks for a terminal."""
    rows = [row for span in explanation.spans for row in _render_span(span, explanation.text[span.start : span.end])]
    return Group(*(rows or [Text("the text is empty", style="dim")]))


def _render_span(span: MessageSpan, text: str) -> Iterator[Text]:
    if not text.strip() and span.rule is None:
        return
    color = COLORS[span.kind]
    margin = span.kind.replace("_", " ")
    shown = text.lstrip("\n")
    start = span.start + len(text) - len(shown)
    lines = shown.rstrip("\n").split("\n")
    for number, line in enumerate(lines):
        yield Text.assemble((f"{margin:<{MARGIN_CELLS}}│ ", color), (escape_line(line), color))
        margin = ""
        end = start + len(line)
        is_last = number == len(lines) - 1
        here = [each for each in span.repairs if each.at is not None and start <= each.at]
        yield from _render_carets([each for each in here if is_last or (each.at or 0) <= end], line, start)
        start = end + 1
    for note in describe_span(span):
        yield Text.assemble((f"{'':<{MARGIN_CELLS}}└ ", color), escape_line(note))


def _render_carets(repairs: list[RepairPlace], line: str, start: int) -> Iterator[Text]:
    """Mark the repaired places of a line, each with a caret on a line of its own below it."""
    for repair in repairs:
        column = cell_len(escape_line(line[: (repair.at or 0) - start]))
        yield Text(f"{'':<{MARGIN_CELLS}}│ {' ' * column}^ {repair.repair}", style="yellow")
