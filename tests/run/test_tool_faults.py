"""Whatever a tool does, nothing is lost, nothing hangs, and the run comes to a clear end."""

import asyncio
import itertools
import json
import math
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import pytest

from tests.cases import each_case, sample
from toolspeak.execution import THREAD_POOL
from toolspeak.run import Agent, Outcome
from toolspeak.testing import ScriptedModel, calls, says
from toolspeak.tools import Tool, tool
from toolspeak.values.errors import ToolError, UsageError
from toolspeak.values.events import Fact, ToolFinished
from toolspeak.values.limits import Limits
from toolspeak.values.messages import Media, Text

from .playing import FACES, Clock, SkippedClock, check, collect_notes, play, until

RELEASED = threading.Event()
"""Lets go of the threads that hang, at the end of a test."""


@pytest.fixture(autouse=True)
def _let_go() -> Iterator[None]:
    RELEASED.clear()
    before = THREAD_POOL.stuck  # threads of other tests may be stuck, too
    yield
    RELEASED.set()
    until(lambda: THREAD_POOL.stuck <= before)


@tool(timeout=60)
def sibling() -> str:
    "Does as it is told."
    return "fine"


@tool(name="sibling", timeout=60)
async def quick_sibling() -> str:
    "Does as it is told, in the event loop: it has done so before any timeout is noticed."
    return "fine"


def run_with(
    bad: Callable[..., Any] | Tool[..., Any], face: str = "run", good: Tool[..., Any] = sibling, **options: Any
) -> Outcome:
    """A run that calls a bad tool between two good calls, then answers."""
    bad = bad if isinstance(bad, Tool) else tool(bad, name="bad")
    script = [calls(("sibling", {}), (bad.name, {}), ("sibling", {})), says("Done.")]
    model = ScriptedModel(script, on_tool_error="tell")
    clock = Clock()
    outcome = play(Agent(model, [good, bad], **options), face)
    assert clock() < 15
    assert (outcome.text, outcome.stop_reason, len(outcome.calls)) == ("Done.", "answered", 3)
    assert [outcome.calls[0].output, outcome.calls[2].output] == ["fine", "fine"]
    return outcome


def both_ways(function: Callable[[], Any]) -> list[Callable[[], Any]]:
    """A function as it is, and as a coroutine."""

    def plain() -> Any:
        "Misbehaves."
        return function()

    async def coroutine() -> Any:
        "Misbehaves."
        await asyncio.sleep(0)
        return function()

    return [plain, coroutine]


# What it raises


def raises(error: BaseException) -> Callable[[], Any]:
    def function() -> Any:
        raise error

    return function


def recurses() -> Any:
    return recurses()


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise SystemExit("not even this")


RAISED: dict[str, tuple[Callable[[], Any], str]] = {
    "ValueError": (raises(ValueError("no such thing")), "ValueError: no such thing"),
    "an empty error": (raises(ValueError()), "ValueError"),
    "SystemExit": (raises(SystemExit(3)), "SystemExit: 3"),
    "KeyboardInterrupt": (raises(KeyboardInterrupt()), "KeyboardInterrupt"),
    "CancelledError": (raises(asyncio.CancelledError()), "CancelledError"),
    "StopIteration": (raises(StopIteration(1)), "StopIteration"),
    "StopAsyncIteration": (raises(StopAsyncIteration()), "StopAsyncIteration"),
    "GeneratorExit": (raises(GeneratorExit()), "GeneratorExit"),
    "MemoryError": (raises(MemoryError()), "MemoryError"),
    "RecursionError": (recurses, "RecursionError"),
    "a group": (raises(BaseExceptionGroup("several", [SystemExit(1), ValueError("x")])), "BaseExceptionGroup: several"),
    "an error that cannot be told": (raises(Unspeakable()), "Unspeakable: (which cannot be shown)"),
    "an error of a megabyte": (raises(ValueError("x" * 1_000_000)), "ValueError: xxx"),
}


@each_case("fault, sort, face", sample(itertools.product(RAISED, ["plain", "coroutine"], FACES), 52))
def test_a_tool_that_raises(fault: str, sort: str, face: str):
    function, told = RAISED[fault]
    outcome = run_with(both_ways(function)[sort == "coroutine"], face)
    error = outcome.calls[1].error or ""
    if fault == "StopIteration" and sort == "coroutine":  # Python itself turns one that leaves a coroutine into this
        told = "RuntimeError: coroutine raised StopIteration"
    assert told in error
    assert len(error) < 5000
    assert outcome.calls[1].result.ran


# What it returns


class Plain:
    pass


class Hostile:
    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __repr__(self) -> str:
        raise self.error

    __str__ = __repr__


@dataclass
class Point:
    x: float
    inside: Any = None


def cycle() -> Any:
    items: list[Any] = [1]
    items.append(items)
    return {"items": items}


def endless() -> Iterator[int]:
    number = 0
    while True:
        yield number
        number += 1


def breaking() -> Iterator[int]:
    yield 1
    raise ValueError("half way")


def quitting() -> Iterator[int]:
    yield 1
    raise SystemExit("half way")


RETURNED: dict[str, tuple[Callable[[], Any], str]] = {
    "nothing": (lambda: None, "null"),
    "an empty text": (lambda: "", ""),
    "bytes that are text": (lambda: b"plain", "plain"),
    "bytes that are not": (lambda: b"\xff\x00", "<2 bytes of binary data>"),
    "a generator": (lambda: (number for number in range(3)), "[0, 1, 2]"),
    "a generator without end": (endless, "cut after 10000 items"),
    "a generator that breaks": (breaking, "half way"),
    "a generator that exits": (quitting, "SystemExit"),
    "not a number": (lambda: math.nan, "NaN"),
    "not a number, inside": (lambda: [1.0, {"x": math.inf}], "Infinity"),
    "a cycle": (cycle, "refers to itself"),
    "an object without a form": (Plain, "Plain object"),
    "a hostile repr": (lambda: Hostile(ValueError("no")), "Hostile"),
    "a hostile repr that exits": (lambda: Hostile(SystemExit("no")), "SystemExit"),
    "a hostile repr, inside": (lambda: [1, Hostile(KeyboardInterrupt())], "KeyboardInterrupt"),
    "an object of its own": (lambda: Point(math.nan, b"\xff"), "NaN"),
    "a huge number": (lambda: 10**5000, "digits"),
    "a lone surrogate": (lambda: "\ud800", "\ud800"),
    "a class": (lambda: Plain, "Plain"),
    "a text of 5 MB": (
        lambda: "x" * 5_000_000,
        "of 5,000,000 characters. The whole is a text of 5,000,000 characters.)",
    ),
    "deeply nested": (lambda: json.loads("[" * 900 + "]" * 900), "["),
}


@each_case("fault, sort", itertools.product(RETURNED, ["plain", "coroutine"]))
def test_a_tool_that_returns_something_odd(fault: str, sort: str):
    function, told = RETURNED[fault]
    outcome = run_with(both_ways(function)[sort == "coroutine"], "arun")
    assert told in collect_notes(outcome)
    assert len(collect_notes(outcome)) < 70_000


def test_a_generator_function_is_read_to_its_end():
    def counted() -> Iterator[int]:
        "Counts."
        yield from range(3)

    async def counted_later() -> AsyncIterator[int]:
        "Counts."
        for number in range(3):
            await asyncio.sleep(0)
            yield number

    def hands_out() -> Any:
        "A plain function that hands out a coroutine."
        return asyncio.sleep(0, [0, 1, 2])

    for function in (counted, counted_later, hands_out):
        for face in FACES:
            assert run_with(function, face).calls[1].output == [0, 1, 2]


def test_a_coroutine_that_hands_out_a_generator_keeps_its_context():
    word = ContextVar("word", default="")

    async def hands_out() -> Iterator[str]:
        "Hands out a generator."
        word.set("here")

        def items() -> Iterator[str]:
            yield word.get()

        return items()

    for _ in range(30):  # it is a race whether the thread is faster than the coroutine
        assert run_with(hands_out, "arun").calls[1].output == ["here"]


def test_an_async_generator_without_end_is_cut_and_closed():
    closed: list[bool] = []

    async def counted() -> AsyncIterator[str]:
        "Counts for ever."
        try:
            while True:
                yield "x"
        finally:
            closed.append(True)

    outcome = run_with(counted, "arun")
    assert closed == [True]
    assert outcome.calls[1].output[-1] == "… (cut after 10000 items)"


@pytest.mark.parametrize("page", ["x" * 1_000_000, {"text": "x" * 1_000_000}], ids=["texts", "objects"])
def test_an_async_generator_of_large_items_is_cut(page: Any):
    taken = 0

    async def pages() -> AsyncIterator[Any]:
        "Pages for ever."
        nonlocal taken
        while True:
            taken += 1
            yield page

    outcome = run_with(pages, "arun")
    assert taken < 20
    assert "cut after" in outcome.calls[1].output[-1]


def test_the_model_is_shown_a_part_and_references_read_the_whole():
    @tool(max_output=50)
    def page() -> dict[str, str]:
        "A long page."
        return {"head": "x" * 500, "last": "the end"}

    def count(text: str) -> int:
        "Count letters."
        return len(text)

    model = ScriptedModel([says('```python\np = page()\ncount(p["head"])\ncount(p["last"])\n```'), says("Done.")])
    outcome = play(Agent(model, [page, count], dialect="python"))
    assert [each.output for each in outcome.calls][1:] == [500, 7]
    shown = collect_notes(outcome).split("\n")
    assert len(shown[0]) == 50
    assert shown[1].startswith("… (cut: 50 of ")


def test_media_go_beside_the_value():
    picture = Media(mime="image/png", data=b"\x89PNG")

    def draw() -> Any:
        "A picture."
        return picture

    def draw_and_say() -> Any:
        "A picture and a word."
        return ["a cat", picture]

    model = ScriptedModel([calls(("draw", {}), ("draw_and_say", {})), says("Nice.")])
    outcome = play(Agent(model, [draw, draw_and_say]))
    results = outcome.messages[-2].parts
    assert results[0].content == (picture,)
    assert results[1].content == (Text(text="a cat"), picture)


# How it hangs


def hangs() -> None:
    "Hangs until it is let go."
    RELEASED.wait(20)


async def sleeps() -> None:
    "Hangs."
    await asyncio.sleep(20)


async def ignores_once() -> None:
    "Hangs, and swallows its cancellation."
    try:
        await asyncio.sleep(20)
    except asyncio.CancelledError:
        await asyncio.sleep(20)


async def ignores_always() -> None:
    "Hangs, whatever happens."
    while True:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(20)


async def ignores_everything() -> None:
    "Hangs, whatever happens at all."
    for _ in range(20):
        with suppress(BaseException):
            await asyncio.sleep(20)


async def never_ends() -> None:
    "Hangs, whatever happens, for ever."
    while True:
        with suppress(BaseException):
            await asyncio.sleep(20)


async def stalls() -> AsyncIterator[int]:
    "Hangs half way."
    yield 1
    await asyncio.sleep(20)


def endless_slowly() -> Iterator[int]:
    "Hangs half way."
    yield 1
    RELEASED.wait(20)


def hands_out_a_sleeper() -> Any:
    "Hands out what hangs."
    return asyncio.sleep(20)


HANGING = [
    hangs,
    sleeps,
    ignores_once,
    ignores_always,
    ignores_everything,
    never_ends,
    stalls,
    endless_slowly,
    hands_out_a_sleeper,
]


# A coroutine that ignores even its being closed is left to Python, which tells of it when it is collected.
left_to_python = pytest.mark.filterwarnings("ignore:.*never_ends:pytest.PytestUnraisableExceptionWarning")


@left_to_python
@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("function", HANGING, ids=lambda function: function.__name__)
def test_a_tool_that_hangs_is_given_up_in_time(function: Callable[[], Any], face: str):
    clock = Clock()
    outcome = run_with(tool(function, name="bad", timeout=0.15), face, quick_sibling)
    assert clock() < 15  # less than the 20 seconds for which it hangs
    assert "within 0.15 s " in (outcome.calls[1].error or "")
    finished = [fact.result.call_id for fact in outcome.facts if fact.kind == "tool_finished"]
    assert finished[-1] == outcome.calls[1].call.id  # the others did not wait for it


@left_to_python
@pytest.mark.parametrize("function", HANGING, ids=lambda function: function.__name__)
def test_a_deadline_ends_a_run_whose_tool_hangs(function: Callable[[], Any]):
    clock, waited = SkippedClock(), Clock()

    def record(fact: Fact) -> None:
        if isinstance(fact, ToolFinished):  # of the sibling: now the time is over
            clock.skip(10)

    model = ScriptedModel([calls(("sibling", {}), (function.__name__, {})), says("Done.")])
    agent = Agent(model, [sibling, function], limits=Limits(seconds=10))
    outcome = check(clock.run(agent.arun("Go on.", record=record)), agent.toolbox)
    assert waited() < 15
    assert (outcome.stop_reason, outcome.detail) == ("limit", "the run may take 10 s, and the time is over")
    assert outcome.calls[0].output == "fine"
    assert "cancelled before it was done" in (outcome.calls[1].error or "")


def test_the_timeout_of_the_agent_holds_where_a_tool_says_nothing():
    outcome = run_with(hangs, tool_timeout=0.1)
    assert "within 0.1 s " in (outcome.calls[1].error or "")


def test_a_sync_tool_that_takes_its_time_holds_up_nobody():
    ticks = 0

    async def main() -> Outcome:
        nonlocal ticks

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.01)

        ticking = asyncio.create_task(tick())
        try:
            return await Agent(model, [slow]).arun("Go.")
        finally:
            ticking.cancel()

    def slow() -> str:
        "Waits until the event loop has done something else."
        until(lambda: ticks > 10, 20)
        return "done"

    model = ScriptedModel([calls(("slow", {})), says("Done.")])
    assert check(asyncio.run(main())).calls[0].output == "done"


# How many


def test_a_thousand_calls_run_eight_at_a_time():
    lock = threading.Lock()
    now = most = total = 0

    def work(number: int) -> int:
        "Work."
        nonlocal now, most, total
        with lock:
            now, total = now + 1, total + 1
            most = max(most, now)
        time.sleep(0.001)
        with lock:
            now -= 1
        return number

    model = ScriptedModel([calls(*[("work", {"number": number}) for number in range(1000)]), says("Done.")])
    clock = Clock()
    outcome = play(Agent(model, [work]))
    assert clock() < 25
    assert 2 <= most <= 8
    assert total == 1000
    assert [each.output for each in outcome.calls] == list(range(1000))


def test_a_thousand_coroutines_run_eight_at_a_time():
    now = most = 0

    async def work(number: int) -> int:
        "Work."
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.001)
        now -= 1
        return number

    model = ScriptedModel([calls(*[("work", {"number": number}) for number in range(1000)]), says("Done.")])
    outcome = play(Agent(model, [work], limits=Limits(concurrent=5)), "arun")
    assert most == 5
    assert [each.output for each in outcome.calls] == list(range(1000))


def test_an_endless_loop_of_calls_ends():
    counted = iter(range(1000))

    def more() -> int:
        "There is always more."
        return next(counted)

    outcome = play(Agent(ScriptedModel([calls(("more", {}))] * 50), [more]))
    assert (outcome.stop_reason, len(outcome.calls)) == ("limit", 10)


# One at a time


def test_a_sequential_call_runs_alone():
    log: list[str] = []

    async def together(name: str) -> None:
        "Beside others."
        log.append(f"+{name}")
        await asyncio.sleep(0.02)
        log.append(f"-{name}")

    @tool(sequential=True)
    async def alone(name: str) -> None:
        "Alone."
        await together(name)

    made = [("together", "a"), ("together", "b"), ("alone", "C"), ("together", "d"), ("alone", "E"), ("alone", "F")]
    model = ScriptedModel([calls(*[(which, {"name": name}) for which, name in made]), says("Done.")])
    play(Agent(model, [together, alone]), "arun")
    assert log[:2] == ["+a", "+b"]
    assert sorted(log[2:4]) == ["-a", "-b"]
    assert log[4:] == ["+C", "-C", "+d", "-d", "+E", "-E", "+F", "-F"]


# A mistake in a tool that should be seen


def divide(x: int) -> float:
    """Divide by a number."""
    return 1 / x


async def divide_later(x: int) -> float:
    """Divide by a number."""
    return 1 / x


def refuse(x: int) -> float:
    """Divide by a number."""
    raise ToolError("not by zero")


@pytest.mark.parametrize("function", [divide, divide_later])
@pytest.mark.parametrize("face", FACES)
def test_a_mistake_in_a_tool_ends_a_scripted_run(function: Callable[..., Any], face: str):
    script = [calls((function.__name__, {"x": 0})), says("Never.")]
    with pytest.raises(ZeroDivisionError):
        play(Agent(ScriptedModel(script), [function]), face)
    outcome = play(Agent(ScriptedModel(script), [function], on_tool_error="tell"), face)
    assert (outcome.text, outcome.errors) == ("Never.", 1)
    with pytest.raises(ZeroDivisionError):
        play(Agent(ScriptedModel(script, on_tool_error="tell"), [function], on_tool_error="raise"), face)


def test_what_is_meant_for_the_model_ends_no_run():
    script = [calls(("refuse", {"x": 0}), ("refuse", {"x": "?"})), says("So be it.")]
    outcome = Agent(ScriptedModel(script), [refuse]).run("Go.")
    assert (outcome.text, outcome.errors) == ("So be it.", 0)
    assert outcome.calls[0].error == "not by zero"


def test_a_mistake_in_a_tool_of_an_inner_agent_ends_the_outer_run():
    inner = Agent(ScriptedModel([calls(("divide", {"x": 0})), says("Never.")]), [divide])
    outer = Agent(ScriptedModel([calls(("ask", {"prompt": "?"})), says("Never.")]), [inner.as_tool("ask")])
    with pytest.raises(ZeroDivisionError):
        outer.run("Go.")


def test_another_choice_is_refused():
    with pytest.raises(UsageError, match="on_tool_error is 'tell' or 'raise', not 'ignore'"):
        Agent(ScriptedModel([]), on_tool_error="ignore")  # type: ignore[arg-type]  # wrong on purpose


def rows_until(error: Exception) -> Callable[[], Iterator[int]]:
    def rows() -> Iterator[int]:
        """List the rows."""
        yield 1
        raise error

    return rows


def test_what_a_generator_function_raises_is_how_its_call_ended():
    script = [calls(("rows", {})), says("That is all.")]
    told = Agent(ScriptedModel(script, on_tool_error="tell"), tools=[rows_until(ValueError("no row 2"))]).run("Go.")
    assert (told.calls[0].error, told.errors) == ("ValueError: no row 2", 1)
    refused = Agent(ScriptedModel(script), tools=[rows_until(ToolError("no more rows"))]).run("Go.")
    assert (refused.calls[0].error, refused.errors) == ("no more rows", 0)
    with pytest.raises(ValueError, match="no row 2"):
        Agent(ScriptedModel(script), tools=[rows_until(ValueError("no row 2"))]).run("Go.")
