"""Deps of another type than the functions of an agent need."""

from toolspeak import Agent, Context, ToolCall
from toolspeak.testing import ScriptedModel


class Books:
    titles: list[str]


def find(title: str, context: Context[Books]) -> bool:
    """Find a book."""
    return title in context.deps.titles


def write_system(context: Context[Books]) -> str:
    return ", ".join(context.deps.titles)


def allow(call: ToolCall, context: Context[Books]) -> bool:
    return bool(context.deps.titles)


model = ScriptedModel([])
agent: Agent[None, Books] = Agent(model, tools=[find])
agent.run("Go.", deps=42)  # error:
agent.stream("Go.", deps=42)  # error:
agent.chat().run("Go.", deps=42)  # error:
agent.resume([], deps=42)  # error:
agent.replace(deps=42)  # error:
Agent(model, tools=[find], deps=Books()).run("Go.", deps=42)  # error:
wrong: Agent[None, Books] = Agent(model, tools=[find], deps=42)  # error:
Agent(model, system=write_system, deps=42)  # error:
Agent(model, approve=allow, deps=42)  # error:
