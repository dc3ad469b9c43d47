"""What functions report of their progress, as events of a run."""

import asyncio
import threading
import time
from typing import Any

import pytest

from toolspeak import codec
from toolspeak.run import Agent
from toolspeak.run.running_calls import MAX_TEXT_CHARS, CallProgress
from toolspeak.testing import FakeClock, ScriptedModel, calls, says
from toolspeak.tools import Context, tool
from toolspeak.values.events import Delta, Event, NestedDelta, ToolFinished, ToolProgress

from .playing import SkippedClock


def stream(function: Any, arguments: dict[str, Any] | None = None, **options: Any) -> list[Event]:
    model = ScriptedModel([calls((function.__name__, arguments or {})), says("done")])
    return list(Agent(model, [function], **options).stream("go"))


def list_told(events: list[Event]) -> list[tuple[float, float | None, str] | str]:
    """Return the reports, and the place of the result among them."""
    told: list[tuple[float, float | None, str] | str] = []
    for event in events:
        if isinstance(event, ToolProgress):
            told.append((event.done, event.total, event.text))
        elif isinstance(event, ToolFinished):
            told.append(str(event.result.output or event.result.error))
    return told


def convert(pages: int, context: Context[None]) -> str:
    """Convert pages."""
    for page in range(pages):
        context.report_progress(page + 1, pages, f"page {page + 1}")
    return "converted"


async def aconvert(pages: int, context: Context[None]) -> str:
    """Convert pages."""
    for page in range(pages):
        await context.report_progress(page + 1, pages, f"page {page + 1}")
    return "converted"


@pytest.mark.parametrize("function", [convert, aconvert])
def test_the_last_report_comes_before_the_result(function: Any):
    assert list_told(stream(function, {"pages": 1})) == [(1, 1, "page 1"), "converted"]
    told = list_told(stream(function, {"pages": 5}))
    assert told[-2:] == [(5, 5, "page 5"), "converted"]
    assert told[:-1] == sorted(told[:-1])


def test_a_function_may_report_as_often_as_it_likes():
    events = stream(convert, {"pages": 20_000})
    told = list_told(events)
    assert told[-2:] == [(20_000, 20_000, "page 20000"), "converted"]
    assert len(told) < 200


def test_reports_are_no_facts_and_survive_as_json():
    model = ScriptedModel([calls(("convert", {"pages": 1})), says("done")])
    run = Agent(model, [convert]).stream("go")
    [progress] = [event for event in run if isinstance(event, ToolProgress)]
    assert isinstance(progress, Delta)
    assert "tool_progress" not in {fact.kind for fact in run.outcome.facts}
    assert codec.decode_delta(codec.encode_event(progress)) == progress


def test_a_call_that_was_given_up_reports_no_more():
    may_go, has_reported, clock = threading.Event(), threading.Event(), SkippedClock()

    def hang(context: Context[None]) -> str:
        """Report late."""
        context.report_progress(1)
        clock.skip(10)  # the call is given up when its first report is there
        may_go.wait(60)
        context.report_progress(2)
        has_reported.set()
        return "late"

    def wait(context: Context[None]) -> str:
        """Wait for the late report."""
        may_go.set()
        assert has_reported.wait(60)
        time.sleep(0.2)
        return "waited"

    async def list_events() -> list[Event]:
        return [event async for event in Agent(model, [tool(hang, timeout=10), wait]).astream("go")]

    model = ScriptedModel([calls(("hang", {})), calls(("wait", {})), says("done")])
    told = list_told(clock.run(list_events()))
    assert told[0] == (1, None, "")
    assert "did not come back within 10 s" in str(told[1])
    assert "waited" in told[2:]
    assert (2, None, "") not in told


def test_an_agent_that_is_a_tool_passes_reports_on():
    inner = Agent(ScriptedModel([calls(("convert", {"pages": 1})), says("inside")]), [convert])
    outer = Agent(
        ScriptedModel([calls(("helper", {"prompt": "go"})), says("done")]), [inner.as_tool("helper", "Helps.")]
    )
    [nested] = [
        event.event
        for event in outer.stream("go")
        if isinstance(event, NestedDelta)
        if event.event.kind == "tool_progress"
    ]
    assert isinstance(nested, ToolProgress)
    assert (nested.done, nested.text) == (1, "page 1")


def test_between_the_first_report_and_the_last_one_few_are_passed_on():
    async def run() -> list[float]:
        told: list[ToolProgress] = []
        progress = CallProgress("a", told.append)
        for done in range(300):
            progress.report(done, None, "")
            await asyncio.sleep(0.001)
        progress.report(float("nan"), None, "")
        progress.report(300, float("inf"), "")
        progress.report(300, 300, "x" * 5_000)
        progress.finish()
        progress.report(301, None, "")
        await asyncio.sleep(0.2)
        assert len(told[-1].text) == MAX_TEXT_CHARS
        return [each.done for each in told]

    told = FakeClock().run(run())
    assert (told[0], told[-1]) == (0, 300)
    assert 3 <= len(told) < 30
    assert told == sorted(set(told))
