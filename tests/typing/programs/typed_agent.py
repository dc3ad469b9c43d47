"""An agent with an output of its own: its runs, conversations and resumed runs have that type, unless they ask for another."""

import asyncio
from dataclasses import dataclass
from typing import Any, Literal, assert_type

from toolspeak import Agent, AsyncStream, Context, Outcome, Stream, Tool, Toolbox
from toolspeak.testing import ScriptedModel, calls, says


@dataclass
class City:
    name: str
    people: int


model = ScriptedModel([calls(("final_answer", {"name": "Oslo", "people": 709_000}))])
agent = Agent(model, output=City)
assert_type(agent, Agent[City])

outcome = agent.run("Which city?")
assert_type(outcome, Outcome[City])
assert outcome.output.people == 709_000
assert_type(agent.run("Which city?", output=None), Outcome[City])
assert_type(agent.run("Which city?", output_optional=True), Outcome[City | None])
assert_type(agent.stream("Which city?"), Stream[Outcome[City]])
assert_type(agent.chat().run("Which city?"), Outcome[City])
assert_type(agent.resume(outcome.facts), Outcome[City])
assert agent.resume(outcome.facts).output == City("Oslo", 709_000)

# Another type for one run

number = Agent(ScriptedModel([calls(("final_answer", {"answer": 3}))]), output=City).run("How many?", output=int)
assert_type(number, Outcome[int])
assert number.output == 3

# A type that is no class, and none at all

assert_type(Agent(model, output=City | int), Agent[City | int])
assert_type(Agent(model, output=City | None), Agent[City | None])
assert_type(Agent(model, output=list[City]), Agent[list[City]])
size = Agent(ScriptedModel([calls(("final_answer", {"answer": "large"}))]), output=Literal["small", "large"])
assert_type(size, Agent[Literal["small", "large"]])
assert size.run("How large is Oslo?").output == "large"
assert_type(Agent(model), Agent[None])


def ask(any_agent: Agent) -> str:
    """An agent without an output needs no parameter in an annotation."""
    return any_agent.run("Hello?").text


assert ask(Agent(ScriptedModel([says("Hello.")]))) == "Hello."


def report(any_agent: Agent[object]) -> object:
    """An agent of any output can be given where its output does not matter."""
    return any_agent.run("Which city?").output


assert report(agent) == City("Oslo", 709_000)


# Parts that are known when a run begins


def write_system(context: Context[str]) -> str:
    return f"You work for {context.deps}."


async def write_system_later(context: Context[Any]) -> str | None:
    return None


def choose(context: Context[Any], tools: Toolbox) -> list[Tool[..., Any]]:
    return [tool for tool in tools if tool.spec.effect == "read"]


async def main() -> None:
    busy = Agent(model, output=City, system=write_system, choose_tools=choose, deps="a museum")
    assert_type(await busy.arun("Which city?"), Outcome[City])
    later = Agent(model, [], output=City, system=write_system_later, choose_tools=lambda context, tools: [])
    async with later.astream("Which city?") as stream:
        assert_type(stream, AsyncStream[Outcome[City]])
        async for _ in stream:
            pass
    assert_type(stream.outcome.output, City)


asyncio.run(main())
