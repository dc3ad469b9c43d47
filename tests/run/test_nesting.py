"""Agents inside tools inside agents, from any thread and inside any event loop: nothing waits for itself."""

import asyncio
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from toolspeak.run import Agent, Outcome
from toolspeak.run.run import MAX_AGENT_DEPTH
from toolspeak.testing import ScriptedModel, ScriptedReply, calls, says

from .playing import FACES, Clock, check, play, run_coroutine


def answering(text: str) -> Agent:
    return Agent(ScriptedModel([says(text)]))


def calling(*tools: Any) -> Agent:
    return Agent(ScriptedModel([calls(*[(each.__name__, {}) for each in tools]), says("Done.")]), list(tools))


# Ways for a tool to run an agent


def in_thread(inner: Agent) -> Any:
    def tool() -> str:
        "Run an agent, in a thread."
        return inner.run("Go.").text

    return tool


def in_loop(inner: Agent) -> Any:
    async def tool() -> str:
        "Run an agent, and hold up the event loop."
        return inner.run("Go.").text

    return tool


def awaiting(inner: Agent) -> Any:
    async def tool() -> str:
        "Run an agent as one should."
        return (await inner.arun("Go.")).text

    return tool


def streaming(inner: Agent) -> Any:
    async def tool() -> str:
        "Go through an agent's events, and hold up the event loop."
        stream = inner.stream("Go.")
        assert len(list(stream)) > 2
        return stream.outcome.text

    return tool


def pooled(inner: Agent) -> Any:
    async def tool() -> str:
        "Run an agent in threads that know nothing of us, and hold up the event loop."
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(inner.run, "Go.").result().text

    return tool


WAYS = [in_thread, in_loop, awaiting, streaming, pooled]


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_tool_may_run_an_agent(way: Any, face: str):
    clock = Clock()
    outcome = play(calling(way(answering("Inside."))), face)
    assert [each.output for each in outcome.calls] == ["Inside."]
    assert clock() < 15


@pytest.mark.parametrize("second", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("first", WAYS, ids=lambda way: way.__name__)
def test_in_any_order_and_deeper(first: Any, second: Any):
    innermost = calling(first(answering("Inside.")))
    outcome = play(calling(first(calling(second(innermost)))))
    assert [each.output for each in outcome.calls] == ["Done."]


@pytest.mark.parametrize("sort", ["plain", "coroutine"])
def test_an_agent_that_calls_itself_ends(sort: str):
    entered = 0
    told: list[str | None] = []

    def again() -> str:
        "Ask again."
        nonlocal entered
        entered += 1
        outcome = agent.run("Again.")
        told.append(outcome.calls[0].error)
        return outcome.text

    async def again_later() -> str:
        "Ask again."
        nonlocal entered
        entered += 1
        outcome = await agent.arun("Again.")
        told.append(outcome.calls[0].error)
        return outcome.text

    tool = again if sort == "plain" else again_later
    agent = calling(tool)
    outcome = play(agent)
    assert outcome.text == "Done."
    assert entered == MAX_AGENT_DEPTH
    assert sum("agents call agents" in (error or "") for error in told) == 1


def test_inside_a_running_event_loop():
    async def main() -> list[Any]:
        stream = answering("Streamed.").stream("Go.")
        return [answering("Here.").run("Go.").text, len(list(stream)) > 2, stream.outcome.text]

    assert run_coroutine(main()) == ["Here.", True, "Streamed."]


def test_from_many_threads_at_once():
    def line(request: Any) -> ScriptedReply:
        return says(request.shown.messages[-1].parts[0].content[0].text)

    def name(of: int) -> str:
        "Which thread this is."
        return f"thread {of}"

    def one(number: int) -> str:
        model = ScriptedModel([calls(("name", {"of": number})), line], chunk=3)
        return check(Agent(model, [name]).run("Go.")).text

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(one, range(64))) == [f"thread {number}" for number in range(64)]


def test_a_coroutine_that_blocks_holds_up_its_own_run_only():
    async def block() -> str:
        "Blocks, as a coroutine should not."
        began.set()
        let_go.wait(80)
        return "done"

    began, let_go = threading.Event(), threading.Event()
    blocking = threading.Thread(target=calling(block).run, args=("Go.",))
    blocking.start()
    assert began.wait(60)
    assert [answering("Here.").run("Go.").text for _ in range(3)] == ["Here."] * 3
    assert blocking.is_alive()
    let_go.set()
    blocking.join()


def test_one_agent_serves_many_runs_at_once():
    async def double(x: int) -> int:
        "Double."
        await asyncio.sleep(0.01)
        return 2 * x

    agent = Agent(ScriptedModel([calls(("double", {"x": 2})), says("4.")], chunk=2), [double])

    async def main() -> list[Outcome]:
        return await asyncio.gather(*[agent.arun("Go.") for _ in range(50)])

    clock = Clock()
    assert all(check(outcome).calls[0].output == 4 for outcome in run_coroutine(main()))
    assert clock() < 15


FORKS = """
import os
from tests.run.test_nesting import answering, calling, in_thread

agent = calling(in_thread(answering("Inside.")))
assert agent.run("Go.").text == "Done."
child = os.fork()
assert agent.run("Go.").calls[0].output == "Inside."
os._exit(0 if child == 0 else os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_runs_on_its_own():
    """In a process of its own: here other tests have threads, which may hold any lock at the moment of the fork."""
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=80, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_event_loops_may_come_and_go():
    agent = calling(in_thread(answering("Inside.")))
    for _ in range(5):
        assert run_coroutine(agent.arun("Go.")).text == "Done."
