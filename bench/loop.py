"""What the loop itself costs: `python bench/loop.py` prints microseconds of CPU a turn and a delta, and the bars.

A turn is all facts of one message with one call: `fold` and `decide` after each of them, as a driver does. A delta
never reaches the loop; what is timed is how a driver tells a delta from a fact and passes it on.
The least of several passes counts: other work on the machine only ever adds time.

Two rows are about traces. A run without a tracer stands beside the same run with calls that know nothing of tracers:
that is what the possibility of a tracer costs. And a run with a tracer stands beside one without.
"""

import asyncio
import gc
import sys
from functools import partial
from time import process_time

from harness.environments import versions_here
from harness.figures import Figure, compare, measure_in_turn
from harness.report import parse_options, report

from toolspeak.execution import Executor
from toolspeak.loop import decide, fold, initial_state
from toolspeak.models.request_size import TokenRates
from toolspeak.run import Agent, driver
from toolspeak.run.calling_run import CALLING_RUN, Speaker
from toolspeak.run.compaction import Compactor
from toolspeak.run.driver import Driver
from toolspeak.run.fallback import ModelRotation
from toolspeak.run.running_calls import RunningCalls
from toolspeak.testing import ScriptedModel, calls, says
from toolspeak.tools import Toolbox
from toolspeak.values.events import (
    CallReady,
    CallStarted,
    RunStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from toolspeak.values.limits import Limits
from toolspeak.values.messages import Call, Message, ToolCall, ToolResult, user
from toolspeak.values.spec import ToolSpec

TURNS = 2_000
DELTAS = 100_000
MAX_TURN_SECONDS = 35e-6
MAX_DELTA_SECONDS = 1e-6
TRACED_CALLS = 40
MAX_UNUSED_TRACER = 1.05

SPEC = ToolSpec(
    name="get_weather",
    description="The weather in a city.",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)


def facts_of(turn):
    call = ToolCall(id=f"call_{turn}", name="get_weather", arguments={"city": f"Oslo {turn}"})
    message = Message(role="assistant", parts=(Call(call=call),))
    return [
        TurnStarted(turn=turn),
        CallStarted(call_id=call.id, name=call.name),
        CallReady(call=call),
        TurnEnded(message=message, finish="tool_calls"),
        ToolStarted(call_id=call.id),
        ToolFinished(result=ToolResult(call_id=call.id, output={"temp": turn})),
    ]


def time_turn(length):
    """Return the seconds of one turn, in runs of `length` turns."""
    started = RunStarted(run_id="r", model="m", dialect="native", messages=(user("?"),))
    prepared = [facts_of(turn) for turn in range(1, length + 1)]
    spent = 0.0
    for _ in range(TURNS // length):
        state = initial_state([SPEC])
        fold(state, started)
        start = process_time()
        for turn in prepared:
            for fact in turn:
                fold(state, fact)
                decide(state)
        spent += process_time() - start
    return spent / TURNS


def time_delta():
    bare = Driver(Speaker(ModelRotation([]), Executor(Toolbox()), Compactor(TokenRates()), None, streams=True))
    deltas = [TextDelta(text="word ")] * DELTAS
    start = process_time()
    bare._emit(deltas)
    return (process_time() - start) / DELTAS


class CallsWithoutTracer(RunningCalls):
    """Starts calls as they would be started if there were no tracers."""

    def _start(self, calls, results, turn, in_doubt):
        executor, outside = self._run.speaker.executor, CALLING_RUN.set(self._run)
        for call in calls:
            executor.takes_context(call.name)  # as the calls with tracers do
            running = executor.prepare(call, results, turn, self._finish, in_doubt=call.id in in_doubt)
            if not running.ended:
                self._running[call.id] = running
        CALLING_RUN.reset(outside)
        executor.start_quick_calls()


async def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"mild in {city}"


def time_run(tracer=None, starter=RunningCalls):
    """Return the seconds of a call in a run of many, with its turn."""
    script = [calls(("get_weather", {"city": f"Oslo {number}"})) for number in range(TRACED_CALLS)]
    limits = Limits(turns=None)
    agent = Agent(ScriptedModel([*script, says("Mild.")]), [get_weather], tracer=tracer, limits=limits)
    driver.RunningCalls = starter
    gc.collect()
    start = process_time()
    asyncio.run(agent.arun("Go."))
    spent = process_time() - start
    driver.RunningCalls = RunningCalls
    return spent / TRACED_CALLS


def compare_traces(reps):
    from opentelemetry.sdk.trace import TracerProvider

    provider = TracerProvider()
    time_run(), time_run(provider)
    unused = measure_in_turn({"with": time_run, "without": partial(time_run, starter=CallsWithoutTracer)}, 4 * reps)
    used = measure_in_turn({"with": partial(time_run, provider), "without": time_run}, reps)
    unused_pairs, used_pairs = ([(each["with"], each["without"]) for each in taken] for taken in (unused, used))
    return [
        compare("a call in a run, without a tracer", unused_pairs, "no code for one", MAX_UNUSED_TRACER),
        compare("a call in a run, with a tracer", used_pairs, "without", None),
    ]


def main() -> int:
    options = parse_options("Measure the loop alone.", full=15, short=7)
    rows = [
        ("a turn with one call, runs of 10", lambda: time_turn(10), MAX_TURN_SECONDS),
        ("a turn with one call, runs of 100", lambda: time_turn(100), MAX_TURN_SECONDS),
        ("a delta", time_delta, MAX_DELTA_SECONDS),
    ]
    figures = [
        Figure(title=title, ours=min(measure() for _ in range(options.reps)), bar=bar, times=options.reps)
        for title, measure, bar in rows
    ]
    figures += compare_traces(options.reps)
    return report(figures, versions_here("toolspeak", "opentelemetry-sdk"), options.json)


if __name__ == "__main__":
    sys.exit(main())
