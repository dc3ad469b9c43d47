"""The tools `help` and `find_tools`, by which a model learns more of tools than its budget lets it see."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from toolspeak.dialects import PYTHON, Dialect
from toolspeak.dialects.slim_tools import HELP, HELP_DESCRIPTION, find_free_name
from toolspeak.dialects.tool_selection import FIND, describe_find_tool, explain_tool, find_names, say_found
from toolspeak.loop.recall import RECALL, read_earlier
from toolspeak.run.running_calls import CALLING_RUN
from toolspeak.run.turn_request import list_searched
from toolspeak.tools import Tool, Toolbox
from toolspeak.values.errors import ToolError
from toolspeak.values.spec import ToolSpec

if TYPE_CHECKING:
    from toolspeak.run.driver import Driver

# The function behind `recall`, the tool that returns what a model is no longer shown of its conversation.


async def recall(handle: str, start: int = 0) -> str:
    """Return an earlier part of the conversation of the run that makes this call."""
    driver = CALLING_RUN.get()
    if driver is None or driver.state.compacted is None:
        raise ToolError("there is nothing to recall: the whole conversation is shown")
    state = driver.state
    before = state.history[: state.turn.history_start]
    return read_earlier(before, driver.state.compacted.through, handle, start, driver.recalled_chars)


RECALL_TOOL = Tool(recall, name=RECALL.name, description=RECALL.description, effect=RECALL.effect)

OWN_TOOLS = Toolbox([RECALL_TOOL])
"""Tools that a run may offer its model beside those of the agent."""


SearchFunction: TypeAlias = Callable[[str], Awaitable[str]]


def add_search_tools(toolbox: Toolbox, recorded: Sequence[str] = ()) -> Toolbox:
    """Return the tools of a run with those that help to find them.

    Args:
        toolbox: The tools.
        recorded: The names that the model knows from the part of the run that is resumed; without them, free ones.

    Raises:
        UsageError: One of the tools has a recorded name.
    """
    return _add(toolbox, _help, _find_tools, recorded)


def add_program_search_tools(toolbox: Toolbox, functions: Mapping[str, ToolSpec]) -> Toolbox:
    """Return the tools of a program with those that help to find them, which name and show them as functions.

    Args:
        toolbox: The tools.
        functions: The tools by the names that they have in a program.
    """
    specs = {spec.name: spec for spec in rename_tools(functions)}
    function_names = {spec.name: name for name, spec in functions.items()}

    async def explain_function(tool: str) -> str:
        return _explain(tool if tool in specs else function_names.get(tool, tool), specs, PYTHON)

    async def find_functions(query: str) -> str:
        return say_found(find_names(tuple(specs.values()), query))

    return _add(toolbox, explain_function, find_functions)


def rename_tools(functions: Mapping[str, ToolSpec]) -> tuple[ToolSpec, ...]:
    """Return tools with the names that they have in a program."""
    return tuple(replace(spec, name=name) for name, spec in functions.items())


def name_search_tools(toolbox: Toolbox) -> tuple[str, ...]:
    """Return the names that `help` and `find_tools` have among the tools of a run; none if the run has no budget."""
    return tuple(each.name for function in (_help, _find_tools) for each in toolbox if each.function is function)


def _add(toolbox: Toolbox, explain: SearchFunction, find: SearchFunction, recorded: Sequence[str] = ()) -> Toolbox:
    if not len(toolbox):
        return toolbox
    specs = toolbox.specs
    help_name, find_name = recorded or (
        find_free_name(specs, HELP, f"tool_{HELP}"),
        find_free_name(specs, FIND, "search_tools"),
    )
    return Toolbox(
        [
            *toolbox,
            Tool(explain, name=help_name, description=HELP_DESCRIPTION, effect="read"),
            Tool(find, name=find_name, description=describe_find_tool(toolbox.names), effect="read"),
        ]
    )


async def _help(tool: str) -> str:
    """Return the whole description of a tool of the run that makes this call."""
    driver = _find_driver()
    return _explain(tool, {spec.name: spec for spec in list_searched(driver.state)}, driver.dialect)


async def _find_tools(query: str) -> str:
    """Find tools of the run that makes this call."""
    return say_found(find_names(list_searched(_find_driver().state), query))


def _explain(name: str, tools: Mapping[str, ToolSpec], dialect: Dialect) -> str:
    text = explain_tool(name, tools, dialect)
    if name not in tools:
        raise ToolError(text)
    return text


def _find_driver() -> "Driver":
    driver = CALLING_RUN.get()
    if driver is None:
        raise ToolError("only the model of a run can ask about its tools")
    return driver
