"""Agents with an output of their own, or with functions that cannot be called."""

from dataclasses import dataclass
from typing import Literal

from toolspeak import Agent, Context, Toolbox
from toolspeak.testing import ScriptedModel


@dataclass
class City:
    name: str


def count(context: Context[int]) -> int:
    return context.deps


def choose(context: Context[int]) -> Toolbox:
    return Toolbox()


agent = Agent(ScriptedModel([]), output=City)
agent.run("Which city?").output.town  # error:
number: int = agent.run("Which city?").output  # error:
agent.run("Which city?", output_optional=True).output.name  # error:
agent.chat().run("Which city?").output.town  # error:
agent.resume([]).output.town  # error:
numbers: Agent[int] = agent  # error:
Agent(ScriptedModel([]), system=count)  # error:
Agent(ScriptedModel([]), choose_tools=choose)  # error:
Agent(ScriptedModel([]), sistem="Be brief.")  # error:
Agent(ScriptedModel([]), output=City | None).run("Which city?").output.name  # error:
word: Literal["small"] = Agent(ScriptedModel([]), output=Literal["small", "large"]).run("How large?").output  # error:
print(number, numbers, word)
