"""What the loop itself costs: `python bench/loop.py` prints microseconds of CPU a turn and a delta, and the bars.

A turn is all facts of one message with one call: `reduce` and `decide` after each of them, as a driver does. A delta
never reaches the loop; what is timed is what a driver does to tell one from a fact and pass it on.
The least of several passes counts: neighbours on a shared machine only ever add.
"""

import sys
from time import process_time

from environments import versions_here
from figures import Figure, asked, told

from toolspeak.events import (
    CallReady,
    CallStarted,
    RunStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from toolspeak.loop import begin, decide, reduce
from toolspeak.messages import Call, Message, ToolCall, ToolResult, user
from toolspeak.run.driver import Driver
from toolspeak.spec import ToolSpec

TURNS = 2_000
DELTAS = 100_000
A_TURN = 50e-6
A_DELTA = 1e-6

SPEC = ToolSpec(
    name="get_weather",
    description="The weather in a city.",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)


def facts(turn):
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


def a_turn(length):
    """Seconds a turn, in runs of `length` turns."""
    started = RunStarted(run_id="r", model="m", dialect="native", messages=(user("?"),))
    prepared = [facts(turn) for turn in range(1, length + 1)]
    spent = 0.0
    for _ in range(TURNS // length):
        state = reduce(begin([SPEC]), started)
        start = process_time()
        for turn in prepared:
            for fact in turn:
                state = reduce(state, fact)
                decide(state)
        spent += process_time() - start
    return spent / TURNS


def a_delta():
    driver = Driver.__new__(Driver)
    driver._events = []
    deltas = [TextDelta(text="word ")] * DELTAS
    start = process_time()
    driver._tell(deltas)
    return (process_time() - start) / DELTAS


def main() -> int:
    options = asked("Measure the loop alone.", full=15, short=7)
    rows = [
        ("a turn with one call, runs of 10", lambda: a_turn(10), A_TURN),
        ("a turn with one call, runs of 100", lambda: a_turn(100), A_TURN),
        ("a delta", a_delta, A_DELTA),
    ]
    figures = [
        Figure(title=title, ours=min(measure() for _ in range(options.reps)), bar=bar, times=options.reps)
        for title, measure, bar in rows
    ]
    return told(figures, versions_here("toolspeak"), options.json)


if __name__ == "__main__":
    sys.exit(main())
