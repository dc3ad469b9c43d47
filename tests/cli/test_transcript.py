"""Events as the transcript draws them."""

import threading
from io import StringIO

import pyte
import pytest

from toolspeak.cli.format import SafeConsole, shorten
from toolspeak.cli.log import replay
from toolspeak.cli.record import CallTimer
from toolspeak.cli.transcript import Transcript, create_console
from toolspeak.run import Agent
from toolspeak.testing import ScriptedModel, breaks, calls, says
from toolspeak.values import events
from toolspeak.values.errors import EndpointDown
from toolspeak.values.messages import ToolCall, ToolResult


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("", "assistant: Noon.\n"),
        (
            "It is",
            "assistant: It is\n(the answer of first broke off and does not count; asking second)\nassistant: Noon.\n",
        ),
    ],
    ids=["before the first word", "after it"],
)
def test_an_answer_that_broke_off_does_not_count(text: str, drawn: str):
    down = ScriptedModel([breaks(EndpointDown("gone"), text=text)], name="first")
    file = StringIO()
    transcript = Transcript(create_console(file), CallTimer())
    stream = Agent([down, ScriptedModel([says("Noon.")], name="second")]).stream("What time is it?")
    for event in stream:
        transcript.show(event)
    assert file.getvalue() == drawn
    again = StringIO()
    transcript = Transcript(create_console(again), CallTimer())
    for event in replay(stream.outcome.facts):  # the log has no deltas, and so nothing of the broken answer
        transcript.show(event)
    assert again.getvalue() == "assistant: Noon.\n"


class Drawing:
    """A transcript in a terminal, without a process around it."""

    def __init__(self, *, columns: int = 60, lines: int = 12) -> None:
        self._file = StringIO()
        self._screen = pyte.Screen(columns, lines)
        size = {"width": columns, "height": lines, "legacy_windows": False}
        self._console = SafeConsole(file=self._file, force_terminal=True, _environ={"TERM": "xterm"}, **size)
        self.transcript = Transcript(self._console, CallTimer())

    def show(self, *shown: events.Event) -> list[str]:
        """Draw events, and return the lines of the screen."""
        for event in shown:
            self.transcript.show(event)
        self.transcript._status.stop()  # pyright: ignore[reportPrivateUsage] (its line is not of interest here)
        pyte.Stream(self._screen).feed(self._file.getvalue().replace("\n", "\r\n"))
        self._file.seek(0)
        self._file.truncate()
        return [line.rstrip() for line in self._screen.display if line.strip()]


def begin(name: str) -> events.CallStarted:
    return events.CallStarted(call_id=name, name=name)


def call(name: str) -> events.CallReady:
    return events.CallReady(call=ToolCall(id=name, name=name, arguments={}), repair="none")


def result(name: str, output: str) -> events.ToolFinished:
    return events.ToolFinished(result=ToolResult(call_id=name, output=output))


def test_calls_side_by_side_have_one_line_each():
    drawing = Drawing(columns=30)
    assert drawing.show(begin("a"), call("a"), begin("b"), call("b"), begin("c"))[-1] == "tool: c"
    long = ["tool: b() → two two two two", "    two two two two two two"]
    assert drawing.show(result("b", "two " * 10)) == ["tool: a()", *long, "tool: c"]
    drawing.show(call("c"))
    drawing.transcript.write_printed("printed")
    shown = drawing.show(result("a", "one"), result("c", "three"))
    assert shown == ["tool: a() → one", *long, "tool: c() → three", "printed"]


def test_one_call_has_its_result_below():
    assert Drawing().show(begin("a"), call("a"), result("a", "one")) == ["tool: a()", "  → one"]


@pytest.mark.parametrize(
    "between",
    [
        events.TextDelta(text="Wait."),
        events.CallMalformed(call_id="x", raw="x", name="x", reason="it is none"),
        events.ApprovalNeeded(call=ToolCall(id="b", name="b", arguments={})),
    ],
    ids=["a text", "a line", "a question"],
)
def test_lines_that_are_no_longer_the_last_are_not_drawn_again(between: events.Event):
    drawing = Drawing()
    drawing.show(call("a"), call("b"), between)
    first, *_, last = drawing.show(result("a", "one"))
    assert (first, last) == ("tool: a()", "  a() → one")


def test_more_calls_than_the_screen_has_lines_are_not_drawn_again():
    drawing = Drawing(lines=5)
    names = "abcdef"
    assert drawing.show(*map(call, names))[-1] == "tool: f()"
    assert drawing.show(result("a", "one"))[-1] == "  a() → one"


@pytest.mark.parametrize(("columns", "is_redrawn"), [(60, True), (50, False)])
def test_after_the_width_of_the_terminal_changed_nothing_is_drawn_again(columns: int, is_redrawn: bool):
    drawing = Drawing()
    drawing.show(call("a"), call("b"))
    drawing._console.width = columns  # pyright: ignore[reportPrivateUsage] (as rich finds it out)
    assert (drawing.show(result("a", "one"))[0] == "tool: a() → one") is is_redrawn


class Notice(StringIO):
    """A file that says when a text has been written to it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text
        self.is_written = threading.Event()

    def write(self, text: str, /) -> int:
        if self._text in text:
            self.is_written.set()
        return super().write(text)


def test_the_line_of_a_wait_says_how_much_of_the_prompt_was_read():
    file = Notice("reading the prompt, 512 of 1,832 tokens, ")
    transcript = Transcript(SafeConsole(file=file, force_terminal=True, width=80), CallTimer())
    transcript.show_reading(1, 2)  # nobody waits for an answer
    transcript.show(events.TurnStarted(turn=1))
    transcript.show_reading(512, 1832)
    assert file.is_written.wait(60)
    transcript.show_reading(1832, 1832)
    transcript.show(events.TextDelta(text="Here."))
    transcript.end_line()
    assert "1,832 of 1,832" not in file.getvalue()
    assert file.getvalue().endswith("Here.\n")


def test_a_model_that_is_lost_is_seen_to_be_helped():
    def look() -> str:
        "Look."
        return "nothing"

    facts = Agent(ScriptedModel([*[calls(("look", {}))] * 4, says("I see nothing.")]), [look]).run("Look.").facts
    file = StringIO()
    transcript = Transcript(create_console(file), CallTimer())
    for event in replay(facts):
        transcript.show(event)
    told = [line for line in file.getvalue().splitlines() if line.startswith("(")]
    assert told == [
        "(the model repeated look and was told so)",
        "(the model repeated look and may not call it in the next message)",
        "(the model repeated look and is asked for an answer without calls)",
    ]


def test_what_is_left_out_is_counted():
    assert [shorten("abcd", size) for size in (4, 3, 2)] == [
        "abcd",
        "abc… (1 more character)",
        "ab… (2 more characters)",
    ]
