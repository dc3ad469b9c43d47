"""Draws the events of a run for a person: reasoning, text, calls and results, in the order in which they happen.

Everything is written once, where the cursor stands, except for calls that run side by side: in a terminal their lines
are drawn again when one of them ends, with its result behind it. In a terminal, text is drawn as it arrives, with its
markdown; elsewhere it is written as plain lines. The facts of an inner run, of an agent that is a tool, are whole
lines, indented by depth: inner runs may happen at the same time, so their texts are shown when they are complete. A
line that shows what the program waits for, and for how long, is drawn by terminals only, and leaves no trace.

To change how an event looks: `Transcript._draw`, and `_format_fact` for inner runs.
"""

import sys
import threading
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, redirect_stderr, redirect_stdout
from io import TextIOBase
from typing import TextIO

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from toolspeak.cli.format import (
    SafeConsole,
    format_call_line,
    format_compaction,
    format_quotation,
    format_result,
    format_seconds,
)
from toolspeak.cli.markdown import LineWrapper, Span, WrappedMarkdown
from toolspeak.cli.record import CallTimer
from toolspeak.cli.safe_text import ProseEscaper, escape_controls, escape_line, escape_prose, print_error
from toolspeak.values import events
from toolspeak.values.messages import ToolCall

START_DELAY_SECONDS, REFRESH_SECONDS = 0.4, 0.2
"""How long a wait must last before its line is drawn, and how often the line is drawn again."""


class StatusLine:
    """Shows `label, 3 s` on an empty line, with the cursor at its beginning, until it is stopped."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._label = ""
        self._stop: threading.Event | None = None
        self._thread: threading.Thread | None = None

    def start(self, label: str) -> None:
        """Show a label from now on. If the line is shown already, its label changes, and its seconds keep counting."""
        self._label = escape_line(label)
        if not self._console.is_terminal or self._console.is_dumb_terminal or self._thread is not None:
            return
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._draw, args=(self._stop,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Clear the line."""
        if self._thread is not None and self._stop is not None:
            self._stop.set()
            self._thread.join()
            self._thread = None

    def _draw(self, stop: threading.Event) -> None:
        started, is_drawn, file = time.monotonic(), False, self._console.file
        delay = START_DELAY_SECONDS
        while not stop.wait(delay):
            delay, label = REFRESH_SECONDS, self._label
            line = f"{label}, {time.monotonic() - started:.0f} s"
            room = self._console.width - 1  # a full line would move the cursor to the next one
            line = line if cell_len(line) <= room else set_cell_size(label, room)
            file.write(f"\r\x1b[2m{line}\x1b[0m\x1b[K")
            file.flush()
            is_drawn = True
        if is_drawn:
            file.write("\r\x1b[K")
            file.flush()


def _format_fact(fact: events.OwnFact) -> Iterator[str]:
    """Yield the lines that show a fact of an inner run; most facts have none."""
    match fact:
        case events.CallReady(call=call):
            yield f"tool: {format_call_line(call)}"
        case events.CallMalformed(name=name, reason=reason):
            yield escape_controls(f"{name or 'a call'} could not be read: {reason}")
        case events.ToolFinished(result=result):
            sign = "→" if result.error is None else "✗"
            yield from f"  {sign} {format_result(result)}".split("\n")
        case events.TurnEnded(message=message) if text := message.text.strip():
            yield from f"assistant: {escape_prose(text)}".split("\n")
        case events.ApprovalGiven() if answer := _format_answer(fact, "the call"):
            yield answer
        case events.ToolSuspended(summary=summary) | events.WaitOver(summary=summary):
            yield escape_controls(f"  {summary}")
        case events.Compacted():
            yield format_compaction(fact)
        case events.Guided():
            yield escape_controls(f"({fact.summary})")
        case events.HandedOver(agent=agent):
            yield escape_controls(f"  handed over to {agent}")
        case events.TurnRestarted(failed=failed, model=model):
            yield escape_controls(f"(the answer of {failed} broke off and does not count; asking {model})")
        case events.RunEnded(reason=reason, detail=detail) if reason != "answered":
            yield escape_controls(f"stopped ({reason}): {detail}".removesuffix(": "))
        case _:
            pass


def _format_answer(given: events.ApprovalGiven, name: str) -> str:
    """Return the line that shows an answer to the question whether a call may run; "" for a yes of whoever looks on."""
    if given.approved and given.by in ("", events.BY_RULE):
        return ""
    by, why = f" by {given.by}" if given.by else "", f": {given.reason}" if given.reason else ""
    return escape_controls(f"  {name} was {'approved' if given.approved else 'refused'}{by}{why}")


ASSISTANT_STYLE, TOOL_STYLE = "bold yellow", "bold green"
TOOL_LABEL_WIDTH = len("tool: ")
WAITING = "waiting for the model"


def create_console(file: TextIO) -> Console:
    """Create a console that draws in a terminal and writes plain lines elsewhere, whatever the environment says."""
    return SafeConsole(file=file, force_terminal=file.isatty())


class _CallBlock:
    """The last lines that were drawn, if they are those of calls, and of what tools have printed since.

    Attributes:
        width: The width of the terminal when they were drawn.
        rows: How many rows of the terminal they take.
        lines: The lines.
        calls: Which line is that of a call, by the ids of calls.
    """

    def __init__(self, width: int = 0) -> None:
        self.width = width
        self.rows = 0
        self.lines: list[list[Span]] = []
        self.calls: dict[str, int] = {}


class Transcript:
    """Draws the events of a run.

    Args:
        console: Where the events are drawn.
        timer: Knows how long calls took.
        answer: A file for the text of the final answer alone. With None, the answer is drawn like everything else.
    """

    def __init__(self, console: Console, timer: CallTimer, answer: TextIO | None = None) -> None:
        self._console = console
        self._timer = timer
        self._answer = answer
        self._status = StatusLine(console)
        self._lock = threading.RLock()  # tools print in threads of their own
        self._text: _TextWriter | None = None  # the text that is arriving
        self._open_call: events.CallStarted | None = None  # the call whose name stands on an unfinished line
        self._calls: dict[str, ToolCall] = {}
        self._running: dict[str, str] = {}  # how far each call is that runs
        self._last_call: str | None = None  # the call on the last line, if that line is a call
        self._block = _CallBlock()
        self._waiting = ""
        self._shown_facts = 0
        self._has_drawn_turn = False  # whether anything of the message that is arriving has been drawn
        self._stderr = sys.stderr  # before what tools print is captured

    def show(self, event: events.Event) -> None:
        """Draw one event."""
        with self._lock:
            if not isinstance(event, events.ToolProgress):
                self._draw(event)
                self._shown_facts += not isinstance(event, events.Delta)
            elif event.call_id in self._running:  # the line that says that the call runs goes on
                self._running[event.call_id] = f" ({event.summary})"
                self._update_status()

    def _draw(self, event: events.Event) -> None:
        self._status.stop()
        match event:
            case events.TurnStarted():
                self._block = _CallBlock()
                self._waiting = WAITING
            case events.ApprovalNeeded(call=call):
                self._block = _CallBlock()  # the user is asked on the lines below
                self._calls.setdefault(call.id, call)  # of a run that was resumed, the call itself is not shown
            case events.TurnRestarted(failed=failed, model=model):
                if self._has_drawn_turn:  # the message so far does not count
                    text = f"(the answer of {failed} broke off and does not count; asking {model})"
                    self.write_line(escape_controls(text), "yellow")
                self._has_drawn_turn = False
            case events.TextDelta(text=text) if self._answer is None:
                self._draw_text(text, "assistant", ASSISTANT_STYLE)
            case events.ThinkingDelta(text=text):
                self._draw_text(text, "thinking", "dim")
            case events.CallStarted():
                self._draw_call_start(event)
            case events.CallReady():
                self._draw_call(event)
            case events.CallQuoted():
                self.write_line(f"  {format_quotation(event)}", "yellow")
            case events.CallMalformed():
                self.write_line(
                    f"{escape_controls(event.name or 'a call')} could not be read: {escape_controls(event.reason)}",
                    "yellow",
                )
            case events.SaidInThought():
                self.write_line("(the text so far was reasoning)", "dim")
            case events.TurnEnded():
                self._end_turn(event)
            case events.ApprovalGiven(call_id=call_id, approved=approved):
                name = self._calls[call_id].name if call_id in self._calls else "the call"
                if answer := _format_answer(event, name):
                    self.write_line(answer, "dim" if approved else "yellow")
            case events.ToolStarted(call_id=call_id):
                self._running[call_id] = ""
            case (
                events.ToolSuspended(call_id=call_id, summary=summary)
                | events.WaitOver(call_id=call_id, summary=summary)
            ):
                self._running.pop(call_id, None)
                name = self._calls[call_id].name if call_id in self._calls else "the call"
                self.write_line(escape_controls(f"  {name}: {summary}"), "dim")
            case events.ToolFinished():
                self._draw_result(event)
            case events.Compacted():
                self.write_line(format_compaction(event), "dim")
            case events.Guided():
                self.write_line(escape_controls(f"({event.summary})"), "yellow")
            case events.HandedOver(agent=agent):
                self.write_line(f"  handed over to {escape_controls(agent)}", "dim")
            case events.NestedFact():
                self._block = _CallBlock()
                for line in _format_fact(event.event):
                    self.write_line(f"{'  ' * len(event.path)}│ {line}", "dim")
            case events.RunEnded():
                self._end_run(event)
            case _:
                pass
        self._update_status()

    def write_line(self, text: str, style: str = "") -> None:
        """Write a line of its own."""
        with self._lock:
            self.end_line()
            self._last_call, self._block = None, _CallBlock()
            if self._console.is_terminal:
                self._console.print(Text(text, style), overflow="fold")
            else:
                self._console.print(Text(text, style), soft_wrap=True)

    def end_line(self) -> None:
        """Move the cursor to the beginning of an empty line, so that others can write there."""
        with self._lock:
            self._status.stop()
            if self._text is not None:
                self._text.close()
                self._text = None
            if self._open_call is not None:
                self._console.print()
                self._open_call = None

    def write_error(self, message: str) -> None:
        """Print a message on standard error, on a line of its own there and between the lines that are drawn."""
        with self._lock:
            self.end_line()
            self._last_call, self._block = None, _CallBlock()  # that line is below theirs
            self._console.file.flush()
            print_error(message, stream=self._stderr)
            self._stderr.flush()
            self._update_status()

    def write_printed(self, line: str) -> None:
        """Write a line that a tool printed, after the events that happened before it."""
        deadline = time.monotonic() + 0.3  # the line is not held back for longer
        while self._shown_facts < self._timer.fact_count and time.monotonic() < deadline:
            time.sleep(0.002)
        with self._lock:
            if self._can_redraw() and self._open_call is None:
                self._status.stop()
                self._block.rows += self._write([Span(escape_controls(line), "dim")], 0)
                self._block.lines.append([Span(escape_controls(line), "dim")])
                self._update_status()
            else:
                self.write_line(escape_controls(line), "dim")

    @contextmanager
    def capture_prints(self) -> Generator[None]:
        """Draw what tools print within this context, each line on its own."""
        with closing(_PrintCapture(self, sys.stderr)) as capture, redirect_stdout(capture), redirect_stderr(capture):
            yield

    def show_wait(self, label: str) -> None:
        """Show what the program waits for, until something is drawn."""
        self.end_line()
        self._status.start(label)

    def show_reading(self, done: int, total: int) -> None:
        """Show how many tokens of the prompt the model has read, if it is waited for. Any thread may call this."""
        with self._lock:
            if self._waiting:
                self._waiting = f"reading the prompt, {done:,} of {total:,} tokens" if done < total else WAITING
                self._update_status()

    def _draw_text(self, text: str, label: str, style: str) -> None:
        self._waiting = ""
        self._has_drawn_turn = True
        if self._text is None or self._text.label != label:
            if not text.strip():
                return
            self.end_line()
            text = text.lstrip()
            on_own_line = self._console.is_terminal and text[0] in "#-`|>~"  # a markdown block begins a line
            self._console.print(
                Text.assemble((f"{label}:", style), "\n" if on_own_line else " "), end="", soft_wrap=True
            )
            self._text = _TextWriter(self._console, label, column=0 if on_own_line else len(label) + 2)
        self._last_call, self._block = None, _CallBlock()
        self._text.feed(text)

    def _end_turn(self, event: events.TurnEnded) -> None:
        self._has_drawn_turn = False
        self._waiting = ""
        self.end_line()
        if self._answer is None or not (text := event.message.text.strip()):
            return
        if event.message.calls:
            self.write_line(f"assistant: {escape_prose(text)}")
        else:
            self._answer.write(text + "\n")
            self._answer.flush()

    def _draw_call_start(self, event: events.CallStarted) -> None:
        self._waiting = ""
        self._has_drawn_turn = True
        self.end_line()
        name = escape_controls(event.name)
        if self._console.is_terminal and TOOL_LABEL_WIDTH + cell_len(name) < self._console.width:
            self._begin_call_line(event)

    def _begin_call_line(self, event: events.CallStarted) -> None:
        """Draw the name of a call while its arguments are still arriving."""
        line = Text.assemble(("tool:", TOOL_STYLE), f" {escape_controls(event.name)}")
        self._console.print(line, end="", soft_wrap=True)
        self._open_call = event

    def _draw_call(self, event: events.CallReady) -> None:
        self._waiting = ""
        call = self._calls[event.call.id] = event.call
        text = format_call_line(call)
        if self._open_call is not None and self._open_call.call_id == call.id:
            name = escape_controls(call.name)
            column, text = TOOL_LABEL_WIDTH + cell_len(name), text.removeprefix(name)
        else:
            self.end_line()
            self._console.print(Text.assemble(("tool:", TOOL_STYLE), " "), end="", soft_wrap=True)
            column = TOOL_LABEL_WIDTH
        self._open_call = None
        repair = [] if event.repair == "none" else [Span(f"  (repaired: {event.repair})", "yellow")]
        if self._block.width != self._console.width:
            self._block = _CallBlock(self._console.width)
        self._block.rows += self._write([Span(text), *repair], column)
        self._block.calls[call.id] = len(self._block.lines)
        self._block.lines.append([Span("tool:", TOOL_STYLE), Span(f" {format_call_line(call)}"), *repair])
        self._last_call = call.id

    def _write(self, spans: Sequence[Span], column: int, indent: int = 0) -> int:
        """Write the rest of a line from the column where the cursor stands, and return how many rows that took.

        Further lines are indented.
        """
        pieces = self._lay_out(spans, column, indent)
        _put(self._console, pieces)
        return sum(piece.text.count("\n") for piece in pieces)

    def _lay_out(self, spans: Sequence[Span], column: int, indent: int) -> list[Span]:
        pieces = [piece for span in spans for piece in _split_lines(span, indent)]
        if self._console.is_terminal:
            wrapper = LineWrapper(self._console.width, column)
            wrapped = [each for piece in pieces for each in wrapper.feed(piece, indent=indent)]
            pieces = [*wrapped, *wrapper.close(indent=indent)]
        return [*pieces, Span("\n")]

    def _draw_result(self, event: events.ToolFinished) -> None:
        result = event.result
        call_id = result.call_id
        self._running.pop(call_id, None)
        sign, style = ("→ ", "green") if result.error is None else ("✗ ", "red")
        shown = [Span(sign, style), Span(format_result(result), "" if result.error is None else "red")]
        if (duration := self._timer.duration(call_id)) is not None:
            shown.append(Span(f"  {format_seconds(duration)}", "dim"))
        if call_id in self._block.calls and self._can_redraw():
            self._redraw_block(call_id, shown)
            return
        self.end_line()
        spans = [Span("  ")]
        if self._last_call != call_id and call_id in self._calls:  # other lines have been written since
            spans.append(Span(f"{format_call_line(self._calls[call_id])} ", "dim"))
        self._write([*spans, *shown], 0, indent=4)
        self._last_call, self._block = None, _CallBlock()

    def _can_redraw(self) -> bool:
        """Whether the last lines are those of several calls, which are all on the screen as they were drawn."""
        console, block = self._console, self._block
        is_screen = console.is_terminal and not console.is_dumb_terminal
        return is_screen and len(block.calls) > 1 and block.width == console.width and block.rows < console.height - 1

    def _redraw_block(self, call_id: str, result: Sequence[Span]) -> None:
        """Draw the lines of the calls again, with one more result."""
        block, self._last_call = self._block, None
        block.lines[block.calls[call_id]] += [Span(" "), *result]
        pieces = [piece for line in block.lines for piece in self._lay_out(line, 0, indent=4)]
        self._console.file.write(f"\r\x1b[{block.rows}A\x1b[J")
        _put(self._console, pieces)
        block.rows = sum(piece.text.count("\n") for piece in pieces)
        if self._open_call is not None:
            self._begin_call_line(self._open_call)

    def _end_run(self, event: events.RunEnded) -> None:
        self._waiting = ""
        self._running.clear()
        self.end_line()
        if event.reason == "cancelled":
            self.write_line("stopped", "yellow")
        elif event.reason not in ("answered", "error"):
            self.write_line(f"stopped ({event.reason}): {escape_controls(event.detail)}".removesuffix(": "), "yellow")

    def explain_error(self, event: events.Event) -> None:
        """Say why a run ended with an error, if that is the event: nobody raises it for those who look at the run."""
        if isinstance(event, events.RunEnded) and event.reason == "error":
            self.write_line(f"stopped (error): {escape_line(event.detail)}", "red")

    def _update_status(self) -> None:
        if self._text is not None or self._open_call is not None:
            return
        if self._running:
            names = dict.fromkeys(
                f"{self._calls[each].name}{progress}" for each, progress in self._running.items() if each in self._calls
            )
            self._status.start(f"running {escape_controls(', '.join(names))}")
        elif self._waiting:
            self._status.start(self._waiting)


class _PrintCapture(TextIOBase):
    """A file for what tools print, on either stream, whose lines are drawn in the transcript."""

    def __init__(self, transcript: Transcript, stderr: TextIO) -> None:
        self._transcript = transcript
        self._stderr = stderr
        self._rest = ""

    @property
    def encoding(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride] (a constant)
        return "utf-8"

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._stderr.fileno()  # child processes need a real file

    def write(self, text: str, /) -> int:
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            self._transcript.write_printed(line)
        return len(text)

    def close(self) -> None:
        if self._rest:
            self.write("\n")
        super().close()


class _TextWriter:
    """Writes the text under one label as it arrives: with its markdown in a terminal, unchanged elsewhere."""

    def __init__(self, console: Console, label: str, column: int) -> None:
        self.label = label
        self._console = console
        self._style = "dim" if label == "thinking" else ""
        self._markdown = WrappedMarkdown(console.width, column) if console.is_terminal else None
        self._trailing_space = ""
        self._escaper = ProseEscaper()

    def feed(self, text: str) -> None:
        text = self._escaper.escape(text)
        if self._markdown is not None:
            _put(self._console, self._markdown.feed(text), self._style)
            return
        text = self._trailing_space + text
        stripped = text.rstrip()  # space at the end is written when something follows it
        self._trailing_space = text[len(stripped) :]
        self._console.file.write(stripped)
        self._console.file.flush()

    def close(self) -> None:
        if self._markdown is not None:
            _put(self._console, self._markdown.close(), self._style)
        self._console.file.write("\n")
        self._console.file.flush()


def _put(console: Console, spans: Iterable[Span], style: str = "") -> None:
    text = Text.assemble(*((span.text, f"{style} {span.style}".strip()) for span in spans))
    if text:
        console.print(text, end="", soft_wrap=True)


def _split_lines(span: Span, indent: int) -> Iterator[Span]:
    first, *others = span.text.split("\n")
    yield Span(first, span.style)
    for line in others:
        yield Span("\n")
        yield Span(f"{' ' * indent}{line}", span.style)
