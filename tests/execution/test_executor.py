"""The executor: a call's arguments are resolved and checked, its function runs, and it has exactly one result."""

import asyncio
import gc
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, Field

from tests.run.playing import Clock, run_coroutine, until
from toolspeak.execution import Executor, ThreadPool
from toolspeak.testing import FakeClock
from toolspeak.tools import Context, Toolbox, tool
from toolspeak.values.messages import Concat, Ref, ToolCall, ToolResult


def run_call(
    function: Any,
    arguments: dict[str, Any] | None = None,
    results: dict[str, ToolResult] | None = None,
    *,
    cancel_after: float | None = None,
    run: Callable[[Any], Any] = run_coroutine,
    **options: Any,
) -> ToolResult:
    """Run one call and return its result; `done` must be called once."""

    async def main() -> ToolResult:
        results_given: list[ToolResult] = []
        executor = Executor(Toolbox([function]), **options)
        name = executor.toolbox.names[0]
        running = executor.start(
            ToolCall(id="c", name=name, arguments=arguments or {}), results or {}, 1, results_given.append
        )
        if cancel_after is not None:
            await asyncio.sleep(cancel_after)
            running.cancel()
            running.cancel()
        while not results_given:
            await asyncio.sleep(0.005)
        while executor.tasks:
            await asyncio.sleep(0.005)
        assert len(results_given) == 1
        assert running.ended
        return results_given[0]

    return run(main())


def shout(text: str) -> str:
    "Shout."
    return text.upper()


async def shout_later(text: str) -> str:
    "Shout."
    await asyncio.sleep(0)
    return text.upper()


@pytest.mark.parametrize("function", [shout, shout_later])
def test_a_call(function: Callable[..., Any]):
    assert run_call(function, {"text": "hi"}) == ToolResult(call_id="c", output="HI")


@pytest.mark.parametrize("function", [shout, shout_later])
def test_references_are_resolved_before_the_check(function: Callable[..., Any]):
    results = {"w": ToolResult(call_id="w", output={"days": [{"sky": "blue"}]})}
    sky = Ref(call="w", path=("days", 0, "sky"))
    assert run_call(function, {"text": sky}, results).output == "BLUE"
    assert run_call(function, {"text": Concat(parts=("so ", sky))}, results).output == "SO BLUE"
    bad = run_call(function, {"text": Ref(call="w", path=("days",))}, results)
    assert not bad.ran
    assert "text" in (bad.error or "")
    nowhere = run_call(function, {"text": Ref(call="x")}, results)
    assert (nowhere.ran, nowhere.error) == (False, "it needs the result of a call that was not made")


def refuse(value: str) -> str:
    raise ZeroDivisionError("not this")


def odd_default() -> str:
    raise OSError("no default today")


def checked(text: Annotated[str, AfterValidator(refuse)]) -> str:
    "Checked."
    return text


def defaulted(text: Annotated[str, Field(default_factory=odd_default)]) -> str:
    "With a default that is made on the spot."
    return text


def test_what_is_wrong_with_the_arguments_is_reported():
    assert run_call(shout, {}).error == "The arguments of shout are not valid:\n- text: missing; needs string"
    assert "not this" in (run_call(checked, {"text": "x"}).error or "")
    for result in (run_call(shout, {}), run_call(checked, {"text": "x"})):
        assert not result.ran


def test_a_default_that_cannot_be_made_is_reported():
    result = run_call(defaulted, {})
    assert "no default today" in (result.error or "")


def test_an_unknown_tool_suggests_the_nearest():
    async def main() -> ToolResult:
        results_given: list[ToolResult] = []
        Executor(Toolbox([shout])).start(ToolCall(id="c", name="shoot", arguments={}), {}, 1, results_given.append)
        return results_given[0]

    assert "did you mean shout?" in (run_coroutine(main()).error or "")


def test_arguments_nested_too_deeply_to_follow_are_reported():
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]

    def anything(value: Any) -> str:
        "Take anything."
        return "taken"

    assert "RecursionError" in (run_call(anything, {"value": deep}).error or "")


# Timeouts and cancellation


HANG_SECONDS = 80
SOON_SECONDS = 40
"""Far less than a function hangs, and far more than a busy machine needs."""

LET_GO = threading.Event()


@pytest.fixture(autouse=True)
def _let_go() -> Iterator[None]:
    LET_GO.clear()
    yield
    LET_GO.set()


def hang() -> None:
    "Hang."
    LET_GO.wait(HANG_SECONDS)


async def hang_later() -> None:
    "Hang."
    await asyncio.sleep(HANG_SECONDS)


async def hang_on() -> None:
    "Hang, and will not be cancelled."
    while True:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(HANG_SECONDS)


HANGING = [hang, hang_later, hang_on]


@pytest.mark.parametrize("function", HANGING)
def test_a_timeout(function: Callable[..., Any]):
    clock = Clock()
    assert run_call(tool(function, timeout=0.1)).error == (
        "it did not come back within 0.1 s and was given up; it may still take effect"
    )
    assert run_call(function, timeout=0.1).error
    assert run_call(tool(function, timeout=0.1), timeout=9).error
    assert clock() < SOON_SECONDS


@pytest.mark.parametrize("function", HANGING)
def test_a_cancellation(function: Callable[..., Any]):
    clock = Clock()
    result = run_call(function, cancel_after=0.05)
    assert clock() < SOON_SECONDS
    assert "cancelled before it was done" in (result.error or "")


def test_each_call_has_its_own_timeout():
    clock = FakeClock()  # so that it is no matter when the event loop gets to it

    async def main() -> list[str]:
        ended: list[str] = []
        timeouts = {"a": 0.3, "b": 0.05, "c": 0.15, "d": 0.3, "e": 0.05}
        executor = Executor(Toolbox([tool(hang_later, name=name, timeout=each) for name, each in timeouts.items()]))
        for name in timeouts:
            call = ToolCall(id=name, name=name, arguments={})
            executor.start(call, {}, 1, lambda result: ended.append(f"{result.call_id} {result.error}"))
        while len(ended) < len(timeouts) or executor.tasks:
            await asyncio.sleep(0.005)
        return [each.removesuffix(" s and was given up; it may still take effect") for each in ended]

    late = "it did not come back within"
    assert clock.run(main()) == [
        f"b {late} 0.05",
        f"e {late} 0.05",
        f"c {late} 0.15",
        f"a {late} 0.3",
        f"d {late} 0.3",
    ]
    assert clock.seconds < 1


def test_a_timeout_goes_on_when_another_call_has_ended():
    async def main() -> list[ToolResult]:
        ended: list[ToolResult] = []
        executor = Executor(Toolbox([tool(shout_later, timeout=0.05), tool(hang_later, timeout=0.1)]))
        executor.start(ToolCall(id="a", name="hang_later", arguments={}), {}, 1, ended.append)
        executor.start(ToolCall(id="b", name="shout_later", arguments={"text": "x"}), {}, 1, ended.append)
        while len(ended) < 2 or executor.tasks:
            await asyncio.sleep(0.005)
            executor.rest()
        return ended

    assert [(each.call_id, each.output) for each in FakeClock().run(main())] == [("b", "X"), ("a", None)]


# Functions that come back at once


def test_quick_functions_that_now_wait_for_each_other_run_at_the_same_time():
    met = threading.Barrier(3)

    def meet() -> bool:
        "Waits for the other two."
        return met.wait(HANG_SECONDS) >= 0

    async def main() -> list[ToolResult]:
        ended: list[ToolResult] = []
        meeting = tool(meet)
        meeting.is_quick = True
        executor = Executor(Toolbox([meeting]))
        for name in "abc":
            executor.prepare(ToolCall(id=name, name="meet", arguments={}), {}, 1, ended.append)
        executor.start_quick_calls()
        while len(ended) < 3:
            await asyncio.sleep(0.005)
        return ended

    clock = Clock()
    assert {(each.call_id, each.output) for each in run_coroutine(main())} == {("a", True), ("b", True), ("c", True)}
    assert clock() < SOON_SECONDS


def test_a_function_is_quick_as_long_as_it_comes_back_at_once():
    pauses = [0.0, 0.0, 0.02, 0.0]

    def doze() -> float:
        "Sleeps now and then."
        time.sleep(pauses[0])
        return pauses.pop(0)

    dozing, known = tool(doze), []
    for _ in range(3):
        run_call(dozing)
        known.append(dozing.is_quick)
    assert known[2] is False
    assert run_call(dozing).output == 0.0


def test_a_quick_function_that_is_refused_is_not_run():
    threads = ThreadPool(max_stuck=1)
    assert "did not come back" in (run_call(tool(hang, timeout=0.05), pool=threads).error or "")
    quick = tool(shout)
    quick.is_quick = True
    result = run_call(quick, {"text": "x"}, pool=threads)
    assert (result.ran, "1 earlier calls hang" in (result.error or "")) == (False, True)


@pytest.mark.parametrize("when", ["it was to begin", "the event loop was closed"])
def test_a_coroutine_that_a_function_hands_out_too_late_is_closed(when: str):
    """Python would warn of one that is dropped before it was awaited, at any later moment."""
    let_go, pool, given = threading.Event(), ThreadPool(), list[ToolResult]()

    def hand_out() -> Any:
        "Hand out a coroutine."
        let_go.wait(60)
        return asyncio.sleep(60)

    async def main() -> None:
        executor = Executor(Toolbox([hand_out]), pool=pool)
        running = executor.start(ToolCall(id="c", name="hand_out", arguments={}), {}, 1, given.append)
        if when == "it was to begin":
            let_go.set()
            until(lambda: pool.running == 0)  # which blocks the event loop
            await asyncio.sleep(0)  # the coroutine is taken, and its task begins next
        running.cancel()

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        asyncio.run(main())
        let_go.set()
        until(lambda: pool.running == 0)
        gc.collect()
    assert [str(each.message) for each in warned if "sleep" in str(each.message)] == []
    assert "cancelled before it was done" in (given[0].error or "")


def test_a_coroutine_may_tidy_up_when_it_is_cancelled():
    tidied: list[str] = []

    async def careful() -> None:
        "Tidies up."
        try:
            await asyncio.sleep(HANG_SECONDS)
        finally:
            await asyncio.sleep(0)
            tidied.append("tidy")

    run_call(tool(careful, timeout=0.05), run=FakeClock().run)
    assert tidied == ["tidy"]


def test_stuck_threads_are_capped():
    threads = ThreadPool(max_stuck=2)
    for _ in range(2):
        assert "did not come back" in (run_call(tool(hang, timeout=0.05), pool=threads).error or "")
    assert threads.stuck == 2
    result = run_call(hang, pool=threads)
    assert (result.ran, "2 earlier calls hang" in (result.error or "")) == (False, True)
    assert run_call(shout_later, {"text": "coroutines still run"}, pool=threads).output
    LET_GO.set()
    until(lambda: threads.stuck == 0)
    assert run_call(shout, {"text": "again"}, pool=threads).output == "AGAIN"


def test_a_result_that_comes_when_the_event_loop_is_gone_hurts_nobody():
    threads = ThreadPool()

    async def main() -> None:
        Executor(Toolbox([hang]), pool=threads).start(
            ToolCall(id="c", name="hang", arguments={}), {}, 1, lambda result: None
        )

    asyncio.run(main())
    LET_GO.set()
    until(lambda: bool(threads._idle))


def test_a_coroutine_that_comes_too_late_is_closed():
    threads, returned = ThreadPool(), []
    timed_out = threading.Event()

    def slow() -> Any:
        "Returns a coroutine, after the call has timed out."
        timed_out.wait(HANG_SECONDS)
        returned.append(shout_later("late"))
        return returned[0]

    async def main() -> None:
        results_given: list[ToolResult] = []
        executor = Executor(Toolbox([tool(slow, timeout=0.05)]), pool=threads)
        executor.start(ToolCall(id="c", name="slow", arguments={}), {}, 1, results_given.append)
        while not results_given:
            await asyncio.sleep(0.005)
        assert "within 0.05" in (results_given[0].error or "")
        timed_out.set()
        clock = Clock()
        while not returned or returned[0].cr_frame is not None:
            assert clock() < SOON_SECONDS
            await asyncio.sleep(0.005)

    run_coroutine(main())


# Context


def test_the_context_is_filled():
    def who(context: Context[str]) -> list[Any]:
        "Who asks."
        return [context.deps, context.run_id, context.call_id, context.turn]

    assert run_call(who, deps="Ann", run_id="r").output == ["Ann", "r", "c", 1]


# Memory

MEASURED = """
import resource, sys
from toolspeak.run import Agent
from toolspeak.testing import ScriptedModel, calls, says
from toolspeak.tools import tool

def pages():
    "A gigabyte."
    for _ in range(1000):
        yield "x" * 1_000_000

async def pages_later():
    "A gigabyte."
    for _ in range(1000):
        yield "x" * 1_000_000

def blobs():
    "A gigabyte."
    for _ in range(1000):
        yield b"\\xff" * 1_000_000

def page():
    "Thirty megabytes at once."
    return "x" * 30_000_000

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 if sys.platform != "darwin" else 1024 * 1024)

agent = Agent(ScriptedModel([says("Hello.")]), [pages])
agent.run("Warm up.")
before = peak()
script = [calls((name, {})) for name in sys.argv[1:]]
outcome = Agent(ScriptedModel([*script, says("Done.")]), [pages, pages_later, blobs, page]).run("Go.")
assert outcome.text == "Done.", outcome
assert len(outcome.calls) == len(script)
print(peak() - before)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no getrusage")
@pytest.mark.parametrize(
    "names",
    [pytest.param("pages blobs", marks=pytest.mark.slow), "pages_later", pytest.param("page", marks=pytest.mark.slow)],
)
def test_a_gigabyte_does_not_fill_the_memory(names: str):
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *names.split()], capture_output=True, text=True, timeout=80, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 100, f"{done.stdout} MB"


# Ctrl-C

INTERRUPTED = """
import asyncio, os, signal, sys, threading, time
from toolspeak.run import Agent
from toolspeak.testing import ScriptedModel, calls, says

# A shell starts a program in the background with SIGINT ignored, and children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

def hang():
    "Hang."
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    time.sleep(60)

async def hang_later():
    "Hang."
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    await asyncio.sleep(60)

face, name = sys.argv[1:]
facts = []
agent = Agent(ScriptedModel([calls((name, {})), says("Never.")]), [hang, hang_later])
try:
    if face == "run":
        agent.run("Go.", record=facts.append)
    elif face == "stream":
        list(agent.stream("Go.", record=facts.append))
    else:
        asyncio.run(agent.arun("Go.", record=facts.append))
except KeyboardInterrupt:
    print(facts[-1].kind, facts[-1].reason)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are others there")
@pytest.mark.parametrize(
    ("face", "name"),
    [
        ("run", "hang"),
        pytest.param("run", "hang_later", marks=pytest.mark.slow),
        pytest.param("stream", "hang", marks=pytest.mark.slow),
        ("arun", "hang_later"),
    ],
)
def test_ctrl_c_still_stops(face: str, name: str):
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, face, name], capture_output=True, text=True, timeout=80, check=False
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "run_ended cancelled", "")
