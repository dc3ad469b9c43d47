"""Tools: plain functions, decorated ones, and those that get a context. A decorated function keeps its types."""

from dataclasses import dataclass
from typing import assert_type

from toolspeak import Agent, Context, Tool, Toolbox, tool
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
