"""Tools by which a model learns what it is not shown: `help` and `find_tools` for tools, `recall` for the conversation.

The names of `help` and `find_tools` are recorded with the run, since a tool of the user's may have the names or even
the descriptions of these. A tool that is not shown can still be called.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from toolspeak.dialects import PYTHON, Dialect
from toolspeak.dialects.slim_tools import HELP, HELP_DESCRIPTION, find_free_name
from toolspeak.dialects.tool_selection import FIND, describe_find_tool, explain_tool, find_names, say_found
from toolspeak.loop.big_results import Query
from toolspeak.loop.recall import RECALL, read_earlier
from toolspeak.run.calling_run import CALLING_RUN, CallingRun
from toolspeak.tools import Tool, Toolbox
from toolspeak.values.errors import ToolError
from toolspeak.values.spec import ToolSpec


def recall(
    handle: str,
    start: int = 0,
    lines: str = "",
    find: str = "",
    path: str = "",
    where: str = "",
    head: int = 0,
    count: bool = False,
) -> str:
    """Return a part of the conversation of the run that makes this call. It runs in a thread: a result may be long."""
    run = CALLING_RUN.get()
    if run is None or not run.state.has_recall:
        raise ToolError("there is nothing to recall: the whole conversation is shown")
    state = run.state
    before = state.history[: state.turn.history_start]
    through = 0 if state.compacted is None else state.compacted.through
    query = Query(path=path, where=where, find=find, lines=lines, head=head, count=count, start=start)
    return read_earlier(before, through, handle, query, run.recalled_chars)


OWN_TOOLS = Toolbox([Tool(recall, name=RECALL.name, description=RECALL.description, effect=RECALL.effect)])
"""Tools that a run may offer its model beside those of the agent."""

SearchFunction: TypeAlias = Callable[[str], Awaitable[str]]


def add_search_tools(toolbox: Toolbox, recorded: Sequence[str] = ()) -> Toolbox:
    """Return the tools of a run with those that help to find them.

    These have the names that the model knows from the part of the run that is resumed, or else free ones.

    Raises:
        UsageError: One of the tools has a recorded name.
    """
    return _add(toolbox, _help, _find_tools, recorded)


def add_program_search_tools(toolbox: Toolbox, functions: Mapping[str, ToolSpec]) -> Toolbox:
    """Return the tools of a program with those that help to find them, by the names that they have in the program."""
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
    run = _find_run()
    return _explain(tool, {spec.name: spec for spec in run.state.searched_specs}, run.speaker.dialect)


async def _find_tools(query: str) -> str:
    """Find tools of the run that makes this call."""
    return say_found(find_names(_find_run().state.searched_specs, query))


def _explain(name: str, tools: Mapping[str, ToolSpec], dialect: Dialect) -> str:
    text = explain_tool(name, tools, dialect)
    if name not in tools:
        raise ToolError(text)
    return text


def _find_run() -> CallingRun:
    run = CALLING_RUN.get()
    if run is None:
        raise ToolError("only the model of a run can ask about its tools")
    return run
