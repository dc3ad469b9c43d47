"""`FakeClock`: waiting takes no time, and ends in the order in which it would."""

import asyncio
import time
from typing import Any

from toolspeak import Agent, Limits, tool
from toolspeak.testing import FakeClock, ScriptedModel, ScriptedReply, calls, says

HOUR = 3600.0


def test_pauses_of_a_script_are_skipped():
    clock = FakeClock()
    script = [ScriptedReply(text="a", after=HOUR), ScriptedReply(text="b", lingers=HOUR)]
    assert clock.run(Agent(ScriptedModel(script, pace=60)).arun("?")).text == "a"
    assert HOUR <= clock.seconds < HOUR + 120


def test_a_limit_of_seconds_is_reached():
    clock = FakeClock()
    model = ScriptedModel([ScriptedReply(text="late", after=2 * HOUR)])
    outcome = clock.run(Agent(model, limits=Limits(seconds=HOUR)).arun("?"))
    assert outcome.stop_reason == "limit"
    assert HOUR <= clock.seconds < HOUR + 60


def test_a_tool_times_out():
    @tool(timeout=HOUR)
    async def sleep() -> str:
        """Sleep."""
        await asyncio.sleep(2 * HOUR)
        return "slept"

    clock = FakeClock()
    outcome = clock.run(Agent(ScriptedModel([calls(("sleep", {})), says("Well.")]), tools=[sleep]).arun("?"))
    assert outcome.calls[0].error is not None
    assert HOUR <= clock.seconds < HOUR + 60


def test_a_function_in_a_thread_is_waited_for():
    @tool(timeout=HOUR)
    def work() -> str:
        """Work."""
        time.sleep(0.05)
        return "done"

    clock = FakeClock()
    outcome = clock.run(Agent(ScriptedModel([calls(("work", {})), says("Well.")]), tools=[work]).arun("?"))
    assert outcome.calls[0].output == "done"
    assert clock.seconds < HOUR


def test_waits_end_in_their_order_and_work_of_an_executor_is_waited_for():
    ended: list[Any] = []

    async def wait(seconds: float) -> None:
        await asyncio.sleep(seconds)
        ended.append(seconds)

    async def main() -> None:
        await asyncio.gather(wait(300), wait(100), wait(200))
        ended.append(await asyncio.to_thread(lambda: time.sleep(0.02) or "thread"))

    clock = FakeClock()
    clock.run(main())
    assert ended == [100, 200, 300, "thread"]
    assert 300 <= clock.seconds < 301 + HOUR


def test_a_clock_goes_on_in_the_next_run():
    clock = FakeClock()
    for _ in range(2):
        clock.run(asyncio.sleep(50))
    assert round(clock.seconds) == 100
