"""The tools `help` and `find_tools`, by which a model learns more of tools than its budget lets it see."""

from toolspeak.dialects.slim_tools import HELP, HELP_DESCRIPTION, find_free_name
from toolspeak.dialects.tool_selection import FIND, describe_find_tool, explain_tool, find_names, say_found
from toolspeak.errors import ToolError
from toolspeak.run.driver import Driver
from toolspeak.run.running_calls import CALLING_RUN
from toolspeak.run.shown_tools import is_search_tool
from toolspeak.spec import ToolSpec
from toolspeak.tools import Tool, Toolbox


def add_search_tools(toolbox: Toolbox, tool_budget: int | None) -> Toolbox:
    """Return the tools of a run, with those that help to find them if it has a budget for them."""
    if tool_budget is None or not len(toolbox):
        return toolbox
    specs = toolbox.specs
    help_name, find_name = find_free_name(specs, HELP, f"tool_{HELP}"), find_free_name(specs, FIND, "search_tools")
    return Toolbox(
        [
            *toolbox,
            Tool(_help, name=help_name, description=HELP_DESCRIPTION, effect="read"),
            Tool(_find_tools, name=find_name, description=describe_find_tool(toolbox.names), effect="read"),
        ]
    )


async def _help(tool: str) -> str:
    """Return the whole description of a tool of the run that makes this call."""
    driver = _find_driver()
    tools = {spec.name: spec for spec in _list_tools(driver)}
    if tool not in tools:
        raise ToolError(explain_tool(tool, tools, driver.dialect))
    return explain_tool(tool, tools, driver.dialect)


async def _find_tools(query: str) -> str:
    """Find tools of the run that makes this call."""
    return say_found(find_names(_list_tools(_find_driver()), query))


def _find_driver() -> Driver:
    driver = CALLING_RUN.get()
    if driver is None:
        raise ToolError("only the model of a run can ask about its tools")
    return driver


def _list_tools(driver: Driver) -> list[ToolSpec]:
    """Return the tools that a model may be shown, in the order in which they are ranked when it is shown them."""
    return [spec for spec in driver.state.specs.values() if not is_search_tool(spec)]
