"""A run as a person sees it: what is thought, called, found and said, in the order in which it happens.

Everything is written once, where the cursor stands. In a terminal text is drawn as it is said, with its markdown;
elsewhere it is plain lines.
"""

import sys
import threading
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, redirect_stdout
from io import TextIOBase
from typing import TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from toolspeak.cli.clock import Clock
from toolspeak.cli.display import call_line, result_text, seconds, visible
from toolspeak.cli.markdown import Column, Span, WrappedMarkdown
from toolspeak.cli.ticker import Ticker
from toolspeak.events import (
    ApprovalGiven,
    ArgsDelta,
    CallMalformed,
    CallReady,
    CallStarted,
    Event,
    RunEnded,
    SaidInThought,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from toolspeak.messages import ToolCall

YOU, ASSISTANT, TOOL = "bold bright_blue", "bold yellow", "bold green"
LABEL = len("tool: ")

BEHIND = 0.3
"""Seconds that what is printed waits for what happened before it to be drawn."""


def console_on(file: TextIO) -> Console:
    """A console that draws where somebody looks, and writes plain lines elsewhere, whatever the environment says."""
    return Console(file=file, force_terminal=file.isatty(), highlight=False)


class Transcript:
    """Draws events.

    Args:
        console: Where it is drawn.
        answer: Where the answer goes, whole and without a word beside it, instead of being drawn.
        clock: Who knows how long calls took.
    """

    def __init__(self, console: Console, clock: Clock, answer: TextIO | None = None) -> None:
        self._console = console
        self._clock = clock
        self._answer = answer
        self._ticker = Ticker(console)
        self._lock = threading.RLock()  # tools that print do so in threads of theirs
        self._saying: _Saying | None = None
        self._opened: str | None = None  # the call whose name stands at the end of an open line
        self._calls: dict[str, ToolCall] = {}
        self._running: list[str] = []
        self._latest: str | None = None  # the call that the last line is about
        self._waiting = ""
        self._shown = 0

    def show(self, event: Event) -> None:
        """Draw one event."""
        with self._lock:
            self._show(event)
            self._shown += not isinstance(event, TextDelta | ThinkingDelta | ArgsDelta)

    def _show(self, event: Event) -> None:
        self._ticker.stop()
        match event:
            case TurnStarted():
                self._waiting = "waiting for the model"
            case TextDelta(text=text) if self._answer is None:
                self._say(text, "assistant", ASSISTANT)
            case ThinkingDelta(text=text):
                self._say(text, "thinking", "dim")
            case CallStarted():
                self._call_started(event)
            case CallReady():
                self._call_ready(event)
            case CallMalformed():
                self.line(f"{visible(event.name or 'a call')} could not be read: {visible(event.reason)}", "yellow")
            case SaidInThought():
                self.line("(what was said so far was reasoning)", "dim")
            case TurnEnded():
                self._turn_ended(event)
            case ApprovalGiven(approved=False, call_id=call_id, reason=reason):
                self._refused(call_id, reason)
            case ToolStarted(call_id=call_id):
                self._running.append(call_id)
            case ToolFinished():
                self._tool_finished(event)
            case RunEnded():
                self._run_ended(event)
            case _:
                pass
        self._tick()

    def line(self, text: str, style: str = "") -> None:
        """A line of its own."""
        with self._lock:
            self.pause()
            self._latest = None
            self._print(Text(text, style))

    def pause(self) -> None:
        """Stand at the beginning of an empty line: somebody else is about to write."""
        with self._lock:
            self._ticker.stop()
            self._end_text()
            if self._opened is not None:
                self._console.print()
                self._opened = None

    def printed(self, line: str) -> None:
        """A line that somebody printed, after what had happened before it."""
        patience = time.monotonic() + BEHIND
        while self._shown < self._clock.noted and time.monotonic() < patience:
            time.sleep(0.002)
        self.line(visible(line), "dim")

    @contextmanager
    def with_prints(self) -> Generator[None]:
        """Draw what is printed meanwhile, by tools say, in lines of its own."""
        with closing(_PrintCapture(self)) as printed, redirect_stdout(printed):
            yield

    def wait_for(self, what: str) -> None:
        """Say what is being waited for, until something is drawn."""
        self.pause()
        self._ticker.start(what)

    # What is said

    def _say(self, text: str, who: str, style: str) -> None:
        self._waiting = ""
        if self._saying is None or self._saying.who != who:
            if not text.strip():
                return
            self.pause()
            text = text.lstrip()
            apart = self._console.is_terminal and text[0] in "#-`|>~"  # a block begins a line of its own
            self._console.print(Text.assemble((f"{who}:", style), "\n" if apart else " "), end="", soft_wrap=True)
            self._saying = _Saying(self._console, who, at=0 if apart else len(who) + 2)
        self._latest = None
        self._saying.feed(visible(text))

    def _end_text(self) -> None:
        if self._saying is not None:
            self._saying.close()
            self._saying = None

    def _turn_ended(self, event: TurnEnded) -> None:
        self._waiting = ""
        self.pause()
        if self._answer is None or not (text := event.message.text.strip()):
            return
        if event.message.calls:
            self.line(f"assistant: {visible(text)}")
        else:
            self._answer.write(text + "\n")
            self._answer.flush()

    # What is called

    def _call_started(self, event: CallStarted) -> None:
        self._waiting = ""
        self.pause()
        name = visible(event.name)
        if self._console.is_terminal and LABEL + cell_len(name) < self._console.width:
            # The name is shown while the arguments are still being said.
            self._console.print(Text.assemble(("tool:", TOOL), f" {name}"), end="", soft_wrap=True, highlight=False)
            self._opened = event.call_id

    def _call_ready(self, event: CallReady) -> None:
        self._waiting = ""
        call = self._calls[event.call.id] = event.call
        shown = call_line(call)
        if self._opened == call.id:
            name = visible(call.name)
            at, shown = LABEL + cell_len(name), shown.removeprefix(name)
        else:
            self.pause()
            self._console.print(Text.assemble(("tool:", TOOL), " "), end="", soft_wrap=True)
            at = LABEL
        self._opened = None
        spans = [Span(shown)]
        if event.repair != "none":
            spans.append(Span(f"  (repaired: {event.repair})", "yellow"))
        self._write(spans, at)
        self._latest = call.id

    def _write(self, spans: Sequence[Span], at: int, indent: int = 0) -> None:
        """The rest of a line, from the column where the cursor stands. Its further lines are indented."""
        pieces = [piece for span in spans for piece in _lines(span, indent)]
        if self._console.is_terminal:
            column = Column(self._console.width, at)
            for piece in pieces:
                _put(self._console, column.feed(piece, indent=indent))
            _put(self._console, column.close(indent=indent))
        else:
            _put(self._console, pieces)
        self._console.print()

    def _tool_finished(self, event: ToolFinished) -> None:
        result = event.result
        call_id = result.call_id
        if call_id in self._running:
            self._running.remove(call_id)
        self.pause()
        sign, style = ("→ ", "green") if result.error is None else ("✗ ", "red")
        spans = [Span("  ")]
        if self._latest != call_id and call_id in self._calls:  # others have been written about since
            spans.append(Span(f"{call_line(self._calls[call_id])} ", "dim"))
        spans += [Span(sign, style), Span(result_text(result), "" if result.error is None else "red")]
        if (took := self._clock.took(call_id)) is not None:
            spans.append(Span(f"  {seconds(took)}", "dim"))
        self._write(spans, 0, indent=4)
        self._latest = None

    def _refused(self, call_id: str, reason: str) -> None:
        name = self._calls[call_id].name if call_id in self._calls else "the call"
        self.line(f"  {visible(name)} was refused" + (f": {visible(reason)}" if reason else ""), "yellow")

    # The end

    def _run_ended(self, event: RunEnded) -> None:
        self._waiting = ""
        self._running.clear()
        self.pause()
        if event.reason == "cancelled":
            self.line("stopped", "yellow")
        elif event.reason not in ("answered", "error"):
            self.line(f"stopped ({event.reason}): {visible(event.detail)}".removesuffix(": "), "yellow")

    def _print(self, text: Text) -> None:
        if self._console.is_terminal:
            self._console.print(text, overflow="fold", highlight=False)
        else:
            self._console.print(text, soft_wrap=True, highlight=False)

    def _tick(self) -> None:
        if self._saying is not None or self._opened is not None:
            return
        if self._running:
            names = dict.fromkeys(self._calls[each].name for each in self._running if each in self._calls)
            self._ticker.start(f"running {visible(', '.join(names))}")
        elif self._waiting:
            self._ticker.start(self._waiting)


class _PrintCapture(TextIOBase):
    """Takes what is printed, and has it drawn line by line."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._rest = ""

    @property
    def encoding(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride] (it does not change)
        return "utf-8"

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return sys.stderr.fileno()  # for children, which cannot print into this

    def write(self, text: str, /) -> int:
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            self._transcript.printed(line)
        return len(text)

    def close(self) -> None:
        if self._rest:
            self.write("\n")
        super().close()


class _Saying:
    """Text that is being said by somebody: with its markdown in a terminal, as it stands elsewhere."""

    def __init__(self, console: Console, who: str, at: int) -> None:
        self.who = who
        self._console = console
        self._style = "dim" if who == "thinking" else ""
        self._prose = WrappedMarkdown(console.width, at) if console.is_terminal else None
        self._space = ""

    def feed(self, text: str) -> None:
        if self._prose is not None:
            _put(self._console, self._prose.feed(text), self._style)
            return
        said = self._space + text
        shown = said.rstrip()  # what stands at the end is written if something follows
        self._space = said[len(shown) :]
        self._console.file.write(shown)
        self._console.file.flush()

    def close(self) -> None:
        if self._prose is not None:
            _put(self._console, self._prose.close(), self._style)
        self._console.file.write("\n")
        self._console.file.flush()


def _put(console: Console, spans: Iterable[Span], style: str = "") -> None:
    for span in spans:
        console.print(Text(span.text, f"{style} {span.style}".strip()), end="", soft_wrap=True, highlight=False)


def _lines(span: Span, indent: int) -> Iterator[Span]:
    first, *others = span.text.split("\n")
    yield Span(first, span.style)
    for line in others:
        yield Span("\n")
        yield Span(f"{' ' * indent}{line}", span.style)
