"""The type of `outcome.output` follows from `output` and `output_optional`, however a run is started."""

import asyncio
from dataclasses import dataclass
from typing import Literal, assert_type

from pydantic import BaseModel

from toolspeak import Agent, AsyncStream, Outcome, OutputMissing, Stream
from toolspeak.run import Partial
from toolspeak.testing import ScriptedModel, calls, says


class Answer(BaseModel):
    city: str
    people: int


@dataclass
class Point:
    x: int
    y: int = 0


answer = calls(("final_answer", {"city": "Oslo", "people": 709_000}))
agent = Agent(ScriptedModel([answer]))
plain = Agent(ScriptedModel([says("Oslo.")] * 9))

# Without an output

nothing = plain.run("Which city?")
assert_type(nothing, Outcome[None])
assert_type(nothing.output, None)
assert_type(plain.run("Which city?", output=None), Outcome[None])
assert nothing.output is None

# A class

outcome = agent.run("Which city?", output=Answer)
assert_type(outcome, Outcome[Answer])
assert_type(outcome.output, Answer)
assert_type(outcome.output.people, int)
assert outcome.output.people == 709_000

point = Agent(ScriptedModel([calls(("final_answer", {"x": 3}))])).run("Where?", output=Point)
assert_type(point.output, Point)
assert point.output == Point(3)

number = Agent(ScriptedModel([calls(("final_answer", {"answer": 42}))])).run("How many?", output=int)
assert_type(number.output, int)
assert number.output + 1 == 43

# A class, and a run that may end without it

optional = plain.run("Which city?", output=Answer, output_optional=True, limits=None)
assert_type(optional, Outcome[Answer | None])
assert_type(optional.output, Answer | None)
assert optional.output is None

try:
    plain.run("Which city?", output=Answer, output_optional=False)
except OutputMissing as error:
    assert_type(error.outcome, Outcome[None])
    assert error.stop_reason == "limit"
    assert error.outcome.text == "Oslo."

# A type that is no class

several = Agent(ScriptedModel([calls(("final_answer", {"answer": 1}))])).run("Which?", output=int | str)
assert_type(several, Outcome[int | str])
assert several.output == 1
maybe = Agent(ScriptedModel([calls(("final_answer", {"answer": None}))])).run("Where?", output=Point | None)
assert_type(maybe.output, Point | None)
assert maybe.output is None
word = Agent(ScriptedModel([calls(("final_answer", {"answer": "no"}))])).run("Well?", output=Literal["yes", "no"])
assert_type(word.output, Literal["yes", "no"])
assert word.output == "no"

# Streams

stream = agent.stream("Which city?", output=Answer)
assert_type(stream, Stream[Outcome[Answer]])
for event in stream:
    kind: str = event.kind
    assert kind
assert_type(stream.outcome.output, Answer)
assert stream.outcome.output.city == "Oslo"

assert_type(plain.stream("Which city?"), Stream[Outcome[None]])
assert_type(plain.stream("Which city?", output=Answer, output_optional=True), Stream[Outcome[Answer | None]])

# Conversations

chat = agent.chat()
assert_type(chat.run("Which city?", output=Answer, deps=3, record=None), Outcome[Answer])
assert_type(plain.chat().stream("Which city?"), Stream[Outcome[None]])


async def main() -> None:
    assert_type(await plain.arun("Which city?"), Outcome[None])
    assert_type(await agent.arun("Which city?", output=Answer), Outcome[Answer])
    assert_type(await plain.arun("Which city?", output=Answer, output_optional=True), Outcome[Answer | None])
    async with agent.astream("Which city?", output=Answer) as events:
        assert_type(events, AsyncStream[Outcome[Answer]])
        async for event in events:
            assert event.kind
    assert_type(events.outcome.output, Answer)
    assert_type(await agent.chat().arun("Which city?", output=Answer), Outcome[Answer])
    async for _ in (remembered := agent.chat().astream("Which city?", output=Answer)):
        pass
    assert_type(remembered.outcome, Outcome[Answer])


asyncio.run(main())


def report(finished: Outcome[object]) -> str:
    """An outcome of any output can be given where its output does not matter."""
    return f"{finished.stop_reason}: {finished.text}"


assert report(outcome) == "answered: "
assert report(nothing) == "answered: Oslo."

# As it streams: the value of a prefix has fields missing, so it is not an `Answer`

growing = agent.stream("Which city?", output=Answer)
for partial in growing.partials():
    assert_type(partial, Partial)
    assert_type(partial.attempt, int)
assert_type(growing.partial, Partial | None)
assert growing.partial is not None
assert growing.partial.value == {"city": "Oslo", "people": 709_000}
