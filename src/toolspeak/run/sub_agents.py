"""An agent as a tool of another agent: `Agent.as_tool`.

The call of such a tool is a run, the *inner* run, in the event loop of the *outer* run that made the call. What is
shared between the two:

- Events of the inner run are events of the outer run, as `NestedDelta` and `NestedFact`, and facts are recorded there.
- Tokens of the inner run and their cost count for the outer run, and it may use no more of both than that has left.
- If the outer run ends, at its deadline or by a cancellation, the call is cancelled, and with it the inner run.
- Calls of the inner run are approved by the outer agent's `approve`, unless the inner agent has one. If nobody can be
  asked, both runs pause.
- An error of the program in the inner run (an exception of `approve` or `summarize`, a `UsageError` such as
  `ReplayMiss`) ends both runs. Every other failure of the inner run is the error of the call, for the outer model.
- The prompt is what the outer model wrote, and stays that: no user has said it to the inner model.
- When the outer run is resumed, a call that was under way resumes its inner run from the nested facts, so that calls
  of the inner run are not repeated either. Hence such a tool is idempotent.
"""

import asyncio
import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, get_type_hints

from toolspeak.execution.outcome import format_error
from toolspeak.loop import find_words_origin
from toolspeak.run.barrier import ModelUnavailable
from toolspeak.run.calling_run import OuterCall, find_outer_call
from toolspeak.run.inputs import AGENT_ATTRIBUTE
from toolspeak.run.run import AgentRun
from toolspeak.run.runnable import BaseAgent, ResumeOptions, RunOptions
from toolspeak.tools import Context, Tool
from toolspeak.tools.function_tool import ApprovalRule
from toolspeak.tools.signature import read_signature
from toolspeak.values.errors import RunPaused, ToolError, UsageError
from toolspeak.values.events import Fact
from toolspeak.values.messages import Message, assume_origin, user
from toolspeak.values.origin import Origin
from toolspeak.values.outcome import Outcome
from toolspeak.values.spec import Effect

if TYPE_CHECKING:
    from toolspeak.telemetry import Tracing
    from toolspeak.telemetry.tracing import AnyTrace

SUB_AGENT_TIMEOUT_SECONDS = 3600.0
"""After how long an agent that is a tool is given up, if nothing else is asked for."""

CONTEXT_NAME = "run_context"
"""The parameter through which the function of the tool gets the `Context` of its call."""


def build_agent_tool(
    agent: BaseAgent[Any],
    name: str,
    description: str,
    *,
    prompt: Callable[..., Any] | None,
    effect: Effect,
    approve: bool | ApprovalRule,
    timeout: float | None,
) -> Tool[..., Any]:
    """Build the tool whose calls are runs of an agent; see `Agent.as_tool`."""

    def take_prompt(prompt: str) -> str:
        return prompt

    write = take_prompt if prompt is None else prompt
    signature = read_signature(write, name)
    if isinstance(signature.context, int):
        raise UsageError(f"{name}: the Context of the prompt function is positional-only; remove the / after it")
    own_context = signature.context

    async def ask(*args: Any, **values: Any) -> Any:
        context = values.get(own_context) if own_context else values.pop(CONTEXT_NAME, None)
        written = write(*args, **values)
        text = await written if inspect.isawaitable(written) else written
        if not isinstance(text, str | Message):
            raise UsageError(f"{name}: the prompt function returned {type(text).__name__}, not a text or a message")
        outer = find_outer_call(context, ask)
        if context is None or outer is None:  # the tool was called from Python, or by a client of an MCP server
            asked = agent.approve if context is None else agent.approve or context.approve
            return _read_answer(name, await agent.arun(text, output_optional=True, approve=asked))
        prepare = partial(_prepare_inner_run, agent, name, text, context, outer)
        return _read_answer(name, await finish_inner_run(outer, name, prepare))

    _copy_signature(write, ask, None if own_context else _find_context_type(agent))
    setattr(ask, AGENT_ATTRIBUTE, agent)
    ask.__annotations__["return"] = str if agent.output is None else agent.output
    # The calls of the inner run are looked at themselves.
    return Tool(
        ask, name=name, description=description, effect=effect, approve=approve, timeout=timeout, decisive=False
    )


def _find_context_type(agent: BaseAgent[Any]) -> Any:
    """Return the type of the `Context` that the tool of an agent takes, with the deps that the agent's tools need."""
    needed = next((each.deps_type for each in agent.own_tools if each.deps_type is not None), None)
    return Context if needed is None or agent.deps is not None else Context[needed]


def _copy_signature(source: Callable[..., Any], target: Callable[..., Any], context_type: Any) -> None:
    """Give `target` the signature of `source`, with a parameter more for the `Context` if a type for it is given."""
    signature = inspect.signature(source)
    parameters = list(signature.parameters.values())
    hints = get_type_hints(source, include_extras=True)
    if context_type is not None:
        parameters.append(inspect.Parameter(CONTEXT_NAME, inspect.Parameter.KEYWORD_ONLY, default=None))
        hints[CONTEXT_NAME] = context_type
    target.__signature__ = signature.replace(parameters=parameters)  # pyright: ignore[reportFunctionMemberAccess] (any function has it)
    target.__annotations__ = hints
    target.__doc__ = source.__doc__


async def finish_inner_run(outer: OuterCall, name: str, prepare: Callable[[], AgentRun[Any]]) -> Outcome[Any]:
    """Drive an inner run to its end. If it pauses or is put down, or the program is at fault, so does the outer run."""
    run: AgentRun[Any] | None = None
    try:
        run = prepare()
        return await run.finish()
    except RunPaused as paused:
        outer.run.pause_inside(outer.call_id, tuple(outer.rename(call) for call in paused.calls))
    except ModelUnavailable as outage:
        outer.run.put_down_inside(outer.call_id, outage)
    except BaseException as error:  # a function of the user's may exit the program
        if not isinstance(error, UsageError) and (run is None or not run.failed_by_fault):
            raise
        outer.run.end_with_fault(error, f"{name} failed: {format_error(error)}")
    return await asyncio.get_running_loop().create_future()  # the outer run pauses or ends, and cancels this call


def _prepare_inner_run(
    agent: BaseAgent[Any], name: str, prompt: str | Message, context: Context[Any], outer: OuterCall
) -> AgentRun[Any]:
    """Build the run of an agent as a part of the run that made the call, from its nested facts if there are some."""
    streams = outer.run.speaker.streams
    deps = context.deps if agent.deps is None else agent.deps
    if facts := outer.collect_facts():
        resume: ResumeOptions = {"deps": deps, "data": context.data}
        return agent.prepare_resume(facts, resume, output_optional=True, watched=streams, outer=outer)
    limits = outer.restrict(agent.limits)
    if limits.depth is not None and limits.depth < 0:
        raise ToolError(f"{name} was not asked: agents ask agents too deeply here (Limits.depth); go on without {name}")
    asked = _mark_prompt(prompt, outer)
    options: RunOptions = {"deps": deps, "limits": limits, "data": context.data}
    return agent.prepare(asked, options, output_optional=True, watched=streams, outer=outer)


def _mark_prompt(prompt: str | Message, outer: OuterCall) -> Message:
    """Return the prompt of an inner run as words of the outer model, or of a result that its arguments refer to."""
    state = outer.run.state
    entry = state.turn.calls.get(outer.call_id)
    refers = entry is not None and entry.depends_on
    origin = Origin.FOREIGN_RESULT if refers else find_words_origin(state.history, state.all_specs)
    return assume_origin(user(prompt) if isinstance(prompt, str) else prompt, origin)


def _read_answer(name: str, outcome: Outcome[Any]) -> Any:
    """Return the answer of an inner run, or raise the error that tells the outer model why there is none."""
    if outcome.stop_reason != "answered":
        reason = f"{outcome.stop_reason}: {outcome.detail}" if outcome.detail else outcome.stop_reason
        raise ToolError(f"{name} gave no answer ({reason})")
    return outcome.text if outcome.output is None else outcome.output


def begin_trace(tracing: "Tracing | None", outer: OuterCall | None, facts: Sequence[Fact]) -> "AnyTrace | None":
    """Return what traces a run; None if nothing does. An inner run is traced below the call that made it."""
    if outer is not None and outer.run.trace is not None:
        return outer.run.trace.inner(outer.call_id)
    return None if tracing is None else tracing.begin_run(facts)
