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
from toolspeak.cli.why import REPAIRS
from toolspeak.dialects import Explanation, MessageSpan, RepairPlace
from toolspeak.dialects.python_notation import format_call
from toolspeak.events import Repair
from toolspeak.reading.trace import ReadingRule, SpanKind

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

RULES: dict[ReadingRule, str] = {
    "line": "at the beginning of a line",
    "sentence": "right after a sentence or a call",
    "label": "after a label",
    "backticks": "in backticks after a label",
    "fence": "in a fenced block",
    "token": "after the token",
    "escaped_token": "after the escaped token",
    "tool_tag": "in a tag named like the tool,",
    "code_tag": "in a tag for code",
    "recipient": "after >>>",
    "react": "after Action:",
    "harmony": "in a message with a recipient",
}

KIND_NOTES: dict[SpanKind, str] = {
    "made_up": "a result that the model made up: no call after it counts",
    "retraction": "all text before this turned out to be reasoning",
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
    for note in _notes(span):
        yield Text.assemble((f"{'':<{MARGIN_CELLS}}└ ", color), escape_line(note))


def _render_carets(repairs: list[RepairPlace], line: str, start: int) -> Iterator[Text]:
    """Mark the repaired places of a line, each with a caret on a line of its own below it."""
    for repair in repairs:
        column = cell_len(escape_line(line[: (repair.at or 0) - start]))
        yield Text(f"{'':<{MARGIN_CELLS}}│ {' ' * column}^ {repair.repair}", style="yellow")


def _notes(span: MessageSpan) -> Iterator[str]:
    """Say in words what was read in a span."""
    for call in span.calls:
        yield f"{format_call(call)}, {_describe_rule(span)}"
    tiers: list[Repair] = [each.repair for each in span.repairs]
    for repair in dict.fromkeys(tiers):
        yield f"repaired: {REPAIRS[repair]}"
    for refusal in span.refusals:
        yield f"{refusal.name or 'a call'}, {_describe_rule(span)}: {refusal.reason}"
        if refusal.hint:
            yield f"hint to the model: {refusal.hint}"
    if span.kind in KIND_NOTES:
        yield KIND_NOTES[span.kind]
    if not span.refusals:
        yield from (f"there is no tool {name!r}" for name in span.unknown_tools)
    if span.near_tools:
        yield f"did you mean {' or '.join(span.near_tools)}?"
    yield from (f"not valid: {problem}" for problem in span.problems)


def _describe_rule(span: MessageSpan) -> str:
    if span.rule is None:
        return "found by no rule"
    words = RULES[span.rule]
    if span.rule == "fence" and span.detail:
        return f"{words} labelled {span.detail}"
    words = f"{words} {span.detail}" if span.detail else words
    return f"{words.rstrip()} of {span.family}" if span.family else words
