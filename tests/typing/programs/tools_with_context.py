"""Tools: plain functions, decorated ones, and those that get a context. A decorated function keeps its types."""

from dataclasses import dataclass
from typing import Any, assert_type

from toolspeak import Agent, Chat, Context, Outcome, Tool, Toolbox, ToolCall, tool
from toolspeak.testing import ScriptedModel, calls, says


@dataclass
class Store:
    values: dict[str, int]


def read(key: str, context: Context[Store]) -> int:
    """Read a value."""
    assert_type(context.deps, Store)
    return context.deps.values[key]


@tool(effect="read", timeout=5)
async def count(context: Context[Store]) -> int:
    """Count the values."""
    return len(context.deps.values)


@tool
def double(x: int, *, times: int = 1) -> int:
    """Double a number, once or more often."""
    return int(x * 2**times)


assert_type(double(3, times=2), int)
assert double(3, times=2) == 12
assert_type(Tool(read).name, str)

store = Store({"a": 1})
model = ScriptedModel([calls(("read", {"key": "a"}), ("count", {}), ("double", {"x": 2})), says("Done.")])
agent = Agent(model, tools=[read, count, double], deps=store)
assert [call.output for call in agent.run("Go.").calls] == [1, 1, 4]
assert agent.run("Go.", deps=Store({"a": 5})).calls[0].output == 5
assert Agent(model, Toolbox([read, count, double]), deps=store).toolbox.names == ("read", "count", "double")

# A list of tools

TOOLS = [count, double]
assert Agent(model, tools=TOOLS).toolbox.names == Toolbox(TOOLS).names == ("count", "double")
assert [each.name for each in TOOLS] == ["count", "double"]

# The deps of an agent have a type, which is that of `deps`


def write_system(context: Context[Store]) -> str:
    return f"There are {len(context.deps.values)} values."


def allow_all(call: ToolCall, context: Context[Store]) -> bool:
    return len(context.deps.values) > 0


def keep_all(context: Context[Store], tools: Toolbox) -> Toolbox:
    return tools


class SmallStore(Store):
    pass


assert_type(agent, Agent[None, Store])
assert_type(agent.chat(), Chat[None, Store])
assert_type(Chat.load(agent, None), Chat[None, Store])
assert_type(agent.replace(system=write_system), Agent[None, Store])
assert_type(Agent(model, [read], approve=allow_all, choose_tools=keep_all, deps=store), Agent[None, Store])
assert agent.run("Go.", deps=SmallStore({"a": 5}), approve=allow_all).calls[0].output == 5
later: Agent[None, Store] = Agent(model, tools=[read, count, double])
assert later.run("Go.", deps=store).calls[0].output == 1
assert_type(Agent(model, output=int, deps=store), Agent[int, Store])

# Without them, deps are anything

anything = Agent(model, tools=[read, count, double])
assert_type(anything, Agent[None, Any])
assert anything.run("Go.", deps=Store({"a": 7})).calls[0].output == 7


def ask(any_agent: Agent) -> Outcome[None]:
    """An agent of any deps."""
    return any_agent.run("Go.")


assert ask(agent).calls[0].output == 1
