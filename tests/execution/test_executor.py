"""One call: its arguments resolved and checked, its function run, its one result handed back, whatever happens."""

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, Field

from tests.run.playing import Clock, awaited, until
from toolspeak.execution import Executor, ThreadPool
from toolspeak.messages import Concat, Ref, ToolCall, ToolResult
from toolspeak.tools import Context, Toolbox, tool


def ran(
    function: Any,
    arguments: dict[str, Any] | None = None,
    results: dict[str, ToolResult] | None = None,
    *,
    cancel_after: float | None = None,
    **options: Any,
) -> ToolResult:
    """The result of one call; `done` must be told once."""

    async def main() -> ToolResult:
        told: list[ToolResult] = []
        executor = Executor(Toolbox([function]), **options)
        name = executor._toolbox.names[0]
        running = executor.start(ToolCall(id="c", name=name, arguments=arguments or {}), results or {}, 1, told.append)
        if cancel_after is not None:
            await asyncio.sleep(cancel_after)
            running.cancel()
            running.cancel()
        while not told:
            await asyncio.sleep(0.005)
        while executor.tasks:
            await asyncio.sleep(0.005)
        assert len(told) == 1
        assert running.ended
        return told[0]

    return awaited(main())


def shout(text: str) -> str:
    "Shout."
    return text.upper()


async def shout_later(text: str) -> str:
    "Shout."
    await asyncio.sleep(0)
    return text.upper()


@pytest.mark.parametrize("function", [shout, shout_later])
def test_a_call(function: Callable[..., Any]):
    assert ran(function, {"text": "hi"}) == ToolResult(call_id="c", output="HI")


@pytest.mark.parametrize("function", [shout, shout_later])
def test_references_are_resolved_before_the_check(function: Callable[..., Any]):
    results = {"w": ToolResult(call_id="w", output={"days": [{"sky": "blue"}]})}
    sky = Ref(call="w", path=("days", 0, "sky"))
    assert ran(function, {"text": sky}, results).output == "BLUE"
    assert ran(function, {"text": Concat(parts=("so ", sky))}, results).output == "SO BLUE"
    bad = ran(function, {"text": Ref(call="w", path=("days",))}, results)
    assert not bad.ran
    assert "text" in (bad.error or "")
    nowhere = ran(function, {"text": Ref(call="x")}, results)
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


def test_what_is_wrong_with_the_arguments_is_told():
    assert ran(shout, {}).error == "The arguments of shout are not valid:\n- text: missing; needs string"
    assert "not this" in (ran(checked, {"text": "x"}).error or "")
    for result in (ran(shout, {}), ran(checked, {"text": "x"})):
        assert not result.ran


def test_a_default_that_cannot_be_made_is_told():
    result = ran(defaulted, {})
    assert "no default today" in (result.error or "")


def test_an_unknown_tool_is_told_the_nearest():
    async def main() -> ToolResult:
        told: list[ToolResult] = []
        Executor(Toolbox([shout])).start(ToolCall(id="c", name="shoot", arguments={}), {}, 1, told.append)
        return told[0]

    assert "did you mean shout?" in (awaited(main()).error or "")


def test_arguments_nested_too_deeply_to_follow_are_told():
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]

    def anything(value: Any) -> str:
        "Take anything."
        return "taken"

    assert "RecursionError" in (ran(anything, {"value": deep}).error or "")


# Timeouts and cancellation


LET_GO = threading.Event()


@pytest.fixture(autouse=True)
def _let_go() -> Iterator[None]:
    LET_GO.clear()
    yield
    LET_GO.set()


def hang() -> None:
    "Hang."
    LET_GO.wait(10)


async def hang_later() -> None:
    "Hang."
    await asyncio.sleep(10)


async def hang_on() -> None:
    "Hang, and will not be cancelled."
    while True:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(10)


HANGING = [hang, hang_later, hang_on]


@pytest.mark.parametrize("function", HANGING)
def test_a_timeout(function: Callable[..., Any]):
    clock = Clock()
    assert ran(tool(function, timeout=0.1)).error == (
        "it did not come back within 0.1 seconds and was given up; it may still take effect"
    )
    assert ran(function, timeout=0.1).error
    assert ran(tool(function, timeout=0.1), timeout=9).error
    assert clock() < 3 * (0.1 + 0.5)


@pytest.mark.parametrize("function", HANGING)
def test_a_cancellation(function: Callable[..., Any]):
    clock = Clock()
    result = ran(function, cancel_after=0.05)
    assert clock() < 0.75
    assert "cancelled before it was done" in (result.error or "")


def test_a_coroutine_may_tidy_up_when_it_is_cancelled():
    tidied: list[str] = []

    async def careful() -> None:
        "Tidies up."
        try:
            await asyncio.sleep(10)
        finally:
            await asyncio.sleep(0.01)
            tidied.append("tidy")

    ran(tool(careful, timeout=0.05))
    assert tidied == ["tidy"]


def test_stuck_threads_are_capped():
    threads = ThreadPool(max_stuck=2)
    for _ in range(2):
        assert "did not come back" in (ran(tool(hang, timeout=0.05), pool=threads).error or "")
    assert threads.stuck == 2
    result = ran(hang, pool=threads)
    assert (result.ran, "2 earlier calls hang" in (result.error or "")) == (False, True)
    assert ran(shout_later, {"text": "coroutines still run"}, pool=threads).output
    LET_GO.set()
    until(lambda: threads.stuck == 0)
    assert ran(shout, {"text": "again"}, pool=threads).output == "AGAIN"


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
    threads, handed = ThreadPool(), []

    def slow() -> Any:
        "Hands out a coroutine, late."
        time.sleep(0.15)
        handed.append(shout_later("late"))
        return handed[0]

    async def main() -> None:
        told: list[ToolResult] = []
        executor = Executor(Toolbox([tool(slow, timeout=0.05)]), pool=threads)
        executor.start(ToolCall(id="c", name="slow", arguments={}), {}, 1, told.append)
        await asyncio.sleep(0.3)
        assert "within 0.05" in (told[0].error or "")

    awaited(main())
    assert handed[0].cr_frame is None


# Context


def test_the_context_is_filled():
    def who(context: Context[str]) -> list[Any]:
        "Who asks."
        return [context.deps, context.run_id, context.call_id, context.turn]

    assert ran(who, deps="Ann", run_id="r").output == ["Ann", "r", "c", 1]


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
@pytest.mark.parametrize("names", ["pages blobs", "pages_later", "page"])
def test_a_gigabyte_does_not_fill_the_memory(names: str):
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *names.split()], capture_output=True, text=True, timeout=25, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 100, f"{done.stdout} MB"


# Ctrl-C

INTERRUPTED = """
import asyncio, os, signal, sys, threading, time
from toolspeak.run import Agent
from toolspeak.testing import ScriptedModel, calls, says

def hang():
    "Hang."
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    time.sleep(20)

async def hang_later():
    "Hang."
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    await asyncio.sleep(20)

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
    ("face", "name"), [("run", "hang"), ("run", "hang_later"), ("stream", "hang"), ("arun", "hang_later")]
)
def test_ctrl_c_still_stops(face: str, name: str):
    clock = Clock()
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, face, name], capture_output=True, text=True, timeout=20, check=False
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "run_ended cancelled", "")
    assert clock() < 8
