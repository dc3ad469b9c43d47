"""The console that commands print styled text on, and how calls, results and durations look on it."""

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from traceback import walk_tb
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from toolspeak.cli.safe_text import escape_controls, escape_line, escape_prose
from toolspeak.dialects.python_notation import format_call
from toolspeak.execution.outcome import format_error
from toolspeak.lab import summary as tables
from toolspeak.loop import words
from toolspeak.run import Agent, Outcome
from toolspeak.tools import output_text
from toolspeak.values.codec import encode_argument
from toolspeak.values.escaping import reveal
from toolspeak.values.events import CallQuoted, Compacted
from toolspeak.values.messages import ToolCall, ToolResult


class SafeConsole(Console):
    """A console that escapes whatever unsafe text reaches it. Markup in texts is not interpreted.

    Code that formats text escapes it before, so that its width is right; this is the net below.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render an object as safe segments."""
        for segment in super().render(renderable, options):
            if segment.control or (segment.text.isascii() and segment.text.isprintable()):
                yield segment
            else:
                yield Segment(escape_prose(segment.text), segment.style)


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """Print a table, whose first row is the header and whose first column holds names; elsewhere lines with tabs."""
    console, rows = SafeConsole(), [[escape_line(cell) for cell in row] for row in rows]
    if not console.is_terminal:
        sys.stdout.write(tables.format_lines(rows) + "\n")
        return
    table = Table(box=None, header_style="dim", pad_edge=False)
    for number, title in enumerate(rows[0]):
        table.add_column(title, justify="right" if number else "left", style="" if number else "cyan", no_wrap=True)
    for row in rows[1:]:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)


_PACKAGE = str(Path(__file__).parents[1])

MAX_CALL_CHARS = 300
MAX_RESULT_CHARS = 600
MAX_RESULT_LINES = 8


def shorten(text: str, max_chars: int, max_lines: int | None = None) -> str:
    """Return the text, or its beginning and the number of characters left out."""
    start = text if max_lines is None else "\n".join(text.split("\n")[:max_lines])
    start = start[:max_chars]
    left = len(text) - len(start)
    return f"{start}… ({left:,} more character{'s' * (left != 1)})" if left else text


def format_call_line(call: ToolCall) -> str:
    """Format a call on one line, shortened if it is long."""
    return shorten(reveal(format_call(call).replace("\n", " ")), MAX_CALL_CHARS)


def format_arguments(call: ToolCall) -> str:
    """Format all arguments of a call in full, texts of several lines as such, for a user who is to approve it."""
    lines: list[str] = []
    for key, value in call.arguments.items():
        name = key if key.isidentifier() else json.dumps(key, ensure_ascii=False)  # a name makes no line of its own
        if isinstance(value, str) and "\n" in value:
            lines += [f"{name}:", *(f"  {line}" for line in value.split("\n"))]
        else:
            plain = value if isinstance(value, str) else encode_argument(value)
            lines.append(f"{name}: {output_text(plain)}")
    return reveal("\n".join(lines))


def format_tool_bug(tool: str, error: BaseException) -> str:
    """Say which tool failed by a mistake in it, with which exception, and where that was raised."""
    text = f"{tool} failed: {shorten(format_error(error), MAX_CALL_CHARS)}"
    places = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    own = next((file for file, _ in places if not file.startswith(_PACKAGE)), None)  # that of the function
    if not places:
        return text
    where = [_format_place(*places[-1])]
    if own is not None and places[-1][0] != own:
        where.append(f"called in {_format_place(*next(each for each in reversed(places) if each[0] == own))}")
    return f"{text} ({', '.join(where)})"


def _format_place(file: str, line: int) -> str:
    path, folder = Path(file), Path.cwd()
    return f"{path.relative_to(folder) if path.is_relative_to(folder) else path}, line {line}"


def format_quotation(fact: CallQuoted) -> str:
    """Say where a quoted call stands, for a user who may be asked to approve it."""
    place = escape_line(words.name_quoted_place(fact))
    return f"this call is quoted, and runs only if you approve it: it stands word for word in {place}"


def format_result(result: ToolResult) -> str:
    """Format the output or the error of a call, shortened if it is long."""
    if result.error is not None:
        return escape_controls(shorten(result.error, MAX_RESULT_CHARS, MAX_RESULT_LINES))
    media = ", ".join(each.mime for each in result.media)
    if media and result.output is None:
        return escape_controls(media)
    text = shorten(output_text(result.output), MAX_RESULT_CHARS, MAX_RESULT_LINES)
    return escape_controls(f"{text} ({media})" if media else text)


def format_seconds(seconds: float) -> str:
    """Format a duration, with decimals below ten seconds."""
    return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.0f} s"


def format_duration(seconds: float) -> str:
    """Format the time that a command took: `3.1 s`, `42 s`, `3 min 10 s`, `2 h 5 min`."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest} s"
    hours, minutes_left = divmod(minutes, 60)
    return f"{hours} h {minutes_left} min" if hours else f"{minutes} min {rest} s"


def describe_agent(agent: Agent) -> str:
    """Describe an agent on one line: its model, its dialect, with a remark if that is a guess, and its tools."""
    count = len(agent.toolbox)
    tools = f"{count} tool{'' if count == 1 else 's'}" if count else "no tools"
    choice = agent.dialect_choice
    is_guess = count and choice.is_guess  # without tools, it makes no difference
    guess = " (a guess for an unknown model; --dialect or toolspeak calibrate settles it)" if is_guess else ""
    return f"{escape_controls(agent.model.name)} · {choice.name} dialect{guess} · {tools}"


def format_cost(dollars: float) -> str:
    """Format what answers have cost, to a hundredth of a cent, and a large sum to the cent."""
    if 0 < dollars < 0.0001:
        return "less than $0.0001"
    return f"${dollars:,.2f}" if dollars >= 1 else f"${dollars:.4f}"


def format_totals(outcome: Outcome[Any], seconds: float) -> str:
    """Format what an answer took, on one line: its tokens, its time, and its cost if the price is known and not 0."""
    usage = outcome.usage
    read = f"{usage.input_tokens:,} tokens read, " if usage.input_tokens else ""
    written = f"{'about ' if usage.estimated else ''}{usage.output_tokens:,} {'' if read else 'tokens '}written"
    cost = f" · {format_cost(outcome.cost)}" if outcome.cost else ""
    return f"{read}{written} · {format_duration(seconds)}{cost}"


def format_compaction(fact: Compacted) -> str:
    """Format what the model is no longer shown of the conversation, on one line."""
    parts = [
        f"{count} {noun}{'' if count == 1 else 's'} {verb}"
        for count, noun, verb in ((fact.dropped, "message", "summarized"), (fact.shortened, "result", "shortened"))
        if count
    ]
    failure = f"; the summary is only a list ({fact.failure})" if fact.failure else ""
    return escape_controls(f"({', '.join(parts) or 'nothing left out'}, to fit the context{failure})")
