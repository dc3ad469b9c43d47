"""Code mode: one tool runs a program in which all other tools are functions (`Agent(code=True)`).

A program is an inner run, as that of an agent that is a tool (`sub_agents.py`), with the program in the place of the
model (`program_model.py`). So its calls are facts of the outer run, in `NestedFact`; they are approved and limited as
any call is; and when a run is resumed, the program goes on behind the last call that has a result.

Calls of a program count for `Limits.calls` of the run. Tools that hand the conversation over stay outside: a program
cannot hand over.
"""

import builtins
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from keyword import iskeyword
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from toolspeak.dialects import PYTHON
from toolspeak.dialects.notation import identifier
from toolspeak.dialects.python_notation import format_tools
from toolspeak.dialects.slim_tools import find_free_name
from toolspeak.dialects.tool_selection import select_tools
from toolspeak.execution.sandbox import SandboxLimits
from toolspeak.loop import find_words_origin
from toolspeak.run.calling_run import OuterCall, find_outer_call
from toolspeak.run.handoffs import Handoff
from toolspeak.run.run import AgentRun
from toolspeak.run.runnable import BaseAgent, ResumeOptions, RunOptions
from toolspeak.run.search_tools import add_program_search_tools, add_search_tools, rename_tools
from toolspeak.run.sub_agents import SUB_AGENT_TIMEOUT_SECONDS, finish_inner_run
from toolspeak.tools import Context, Tool, Toolbox
from toolspeak.values.errors import ToolError
from toolspeak.values.events import Fact, HandedOver, NestedFact, RunStarted, ToolStarted
from toolspeak.values.limits import Limits
from toolspeak.values.messages import Message, assume_origin, user
from toolspeak.values.origin import Origin, Stretch, join_stretches
from toolspeak.values.outcome import Outcome
from toolspeak.values.spec import ToolSpec

if TYPE_CHECKING:
    from toolspeak.run.program_model import ProgramModel

AgentMaker: TypeAlias = "Callable[[ProgramModel, Toolbox], BaseAgent[Any]]"

RUN_PROGRAM = "run_program"

PROGRAM_LIMITS = SandboxLimits(memory=64 * 2**20)
"""What a program may use by default. Its memory is less than that of other code, because the host gets a copy of each
value that the program passes to it, whatever its size."""

DESCRIPTION = """\
Run a Python program that calls functions, in loops and conditions if that is needed. The result is what the program \
prints and the value of its last expression; what it does not print is lost. Results of functions are plain values: \
objects are dicts, such as order["total"]. A function that fails raises RuntimeError. Functions need no import and no \
await. Not available: packages, files, network. Each program starts fresh. The functions are:

"""


def offer_tools(
    agent: BaseAgent[Any],
    toolbox: Toolbox,
    messages: Sequence[Message],
    recorded: RunStarted | HandedOver | None = None,
) -> Toolbox:
    """Return the tools of a run as its model can call them: one by one, or from programs.

    If there is a budget for tools, the conversation says what tools are described. `recorded` is what was recorded when
    the agent began, if the run is resumed.
    """
    if not agent.code:
        budget, names = (agent.tool_budget, ()) if recorded is None else (recorded.tool_budget, recorded.search_tools)
        return toolbox if budget is None else add_search_tools(toolbox, names)
    inner = Toolbox([each for each in toolbox if not isinstance(each.function, Handoff)])
    outside = [each for each in toolbox if isinstance(each.function, Handoff)]
    if not len(inner):
        return toolbox
    name = find_free_name([each.spec for each in outside], RUN_PROGRAM)
    made_like = {"tool_timeout": agent.tool_timeout, "provenance": agent.provenance}
    make_agent = cast("AgentMaker", partial(cast("Any", type(agent)), **made_like))
    searched = inner if agent.tool_budget is None else add_program_search_tools(inner, name_functions(inner.specs))
    limits = agent.code if isinstance(agent.code, SandboxLimits) else PROGRAM_LIMITS
    functions = rename_tools(name_functions(searched.specs))
    help_tool, find_tool = functions[len(inner) :] or (None, None)
    selection = select_tools(
        functions[: len(inner)], PYTHON, agent.tool_budget, messages, help_tool=help_tool, find_tool=find_tool
    )
    described = (*selection.listed, *selection.own_tools)
    return Toolbox([*outside, _build_tool(name, searched, described, limits, make_agent)])


def _build_tool(
    name: str, inner: Toolbox, described: Sequence[ToolSpec], limits: SandboxLimits, make_agent: AgentMaker
) -> Tool[..., Any]:
    names = name_functions(inner.specs)
    description, origin, spans = join_stretches(_describe(described))

    async def run_program(code: str, run_context: Context[Any]) -> Any:
        from toolspeak.run.program_model import ProgramModel  # imported with the first program

        outer = find_outer_call(run_context, run_program)
        if outer is None:
            raise ToolError(f"only the model of a run can call {name}")
        facts = outer.collect_facts()
        program = ProgramModel(names, limits, facts)
        try:
            prepare = partial(_prepare, make_agent(program, inner), code, run_context, outer, facts, program)
            return _read_outcome(name, program, await finish_inner_run(outer, name, prepare))
        finally:
            program.close()

    made = Tool(
        run_program,
        name=name,
        description=description,
        effect="idempotent",  # a program that is run again does not repeat its calls
        sequential=True,  # so that two programs do not both use what is left of the limits
        timeout=SUB_AGENT_TIMEOUT_SECONDS,
        raw="code",
        decisive=False,  # the calls of the program are looked at themselves
    )
    made.spec = replace(made.spec, origin=origin or Origin.PROGRAM, spans=spans)
    return made


def _describe(functions: Sequence[ToolSpec]) -> Iterator[Stretch]:
    """Yield the description of the tool that runs programs, and of the functions in them, each with its origin."""
    for place, spec in enumerate(functions):
        yield Stretch("\n\n" if place else DESCRIPTION, Origin.PROGRAM)
        yield Stretch(format_tools([spec]), spec.origin)


def name_functions(specs: Sequence[ToolSpec]) -> dict[str, ToolSpec]:
    """Return tools by the names that they have in a program: no name of Python's own, and each its own."""
    named: dict[str, ToolSpec] = {}
    for spec in specs:
        name = identifier(spec.name).replace(".", "_")
        name = f"{name}_tool" if name in vars(builtins) or iskeyword(name) else name
        while name in named:
            name += "_"
        named[name] = spec
    return named


def _prepare(
    agent: BaseAgent[Any],
    code: str,
    context: Context[Any],
    outer: OuterCall,
    facts: Sequence[Fact],
    program: "ProgramModel",
) -> AgentRun[Any]:
    """Build the run of a program, from its facts if there are some."""
    record = program.note
    if facts:
        resume: ResumeOptions = {"deps": context.deps, "data": context.data, "record": record}
        return agent.prepare_resume(facts, resume, watched=False, outer=outer)
    state = outer.run.state
    given = state.run.limits if state.run is not None else Limits()
    limits = replace(
        outer.restrict(Limits(turns=None, repeats=None)),
        calls=_count_calls_left(outer, given),
        concurrent=given.concurrent,
        depth=given.depth,
    )
    program_text = assume_origin(user(code), find_words_origin(state.history, state.all_specs))
    options: RunOptions = {"deps": context.deps, "data": context.data, "limits": limits, "record": record}
    return agent.prepare(program_text, options, watched=False, outer=outer)


def _count_calls_left(outer: OuterCall, limits: Limits) -> int | None:
    """Return the calls that a run may still make; those of its programs count."""
    if limits.calls is None:
        return None
    inner = sum(
        isinstance(fact, NestedFact) and len(fact.path) == 1 and isinstance(fact.event, ToolStarted)
        for fact in outer.run.facts
    )
    return max(limits.calls - outer.run.state.started_calls - inner, 0)


def _read_outcome(name: str, program: "ProgramModel", outcome: Outcome[Any]) -> Any:
    """Return what a program resulted in, or raise the error that tells the model why it failed."""
    from toolspeak.run.program_model import format_result

    result = program.result
    if outcome.stop_reason != "answered":
        printed = f" {outcome.detail}" if outcome.detail else ""
        raise ToolError(f"{name} was stopped ({outcome.stop_reason}):{printed}")
    text = outcome.text if result is None else format_result(result)
    if result is not None and result.error is not None:
        raise ToolError(text)
    return [text, *program.media] if program.media else text
