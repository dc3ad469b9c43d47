"""The functions that a user gives to an agent, how they are called, and how somebody is asked whether calls may run.

An answer is bound to the tool that would run: in a durable run it may come after a deploy.
"""

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

from toolspeak.execution import THREAD_POOL
from toolspeak.execution.outcome import CallOutcome, Raised
from toolspeak.loop.state import State, Turn
from toolspeak.tools import Context, Tool, Toolbox
from toolspeak.values.codec import encode_argument
from toolspeak.values.errors import InvalidArguments, RunPaused, UsageError
from toolspeak.values.events import ApprovalGiven, ApprovalNeeded, Fact
from toolspeak.values.log import LOG
from toolspeak.values.messages import Message, ToolCall

Recorder: TypeAlias = Callable[[Fact], None]
"""A function that keeps the facts of a run. It is called with each fact before the run acts on it."""


Answer: TypeAlias = bool | str | Awaitable[bool | str]

Approver: TypeAlias = Callable[[ToolCall], Answer] | Callable[[ToolCall, Context[Any]], Answer]
"""A function, sync or async, that decides whether a call may run: returns True, False, or a text that says why not.

If it has a second parameter, that is the `Context` of the call, with the deps and the id of the run.
"""

Summarizer: TypeAlias = Callable[[tuple[Message, ...]], str | Awaitable[str]]
"""A function, sync or async, that is called with the messages that are dropped and returns their summary. The summary
of what was dropped before is the first of them."""


async def call_function(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of the user's and return its value. A plain function may block, so it runs in a thread."""
    if inspect.iscoroutinefunction(function):
        return await function(*arguments)
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[CallOutcome] = loop.create_future()

    def finish(outcome: CallOutcome) -> None:
        def settle() -> None:
            if not answer.done():
                answer.set_result(outcome)

        with suppress(RuntimeError):  # the event loop is closed
            loop.call_soon_threadsafe(settle)

    job = THREAD_POOL.start(lambda: function(*arguments), finish)
    try:
        outcome = await answer
    finally:
        job.abandon()
    if isinstance(outcome, Raised):
        raise outcome.error
    return await outcome.value if inspect.isawaitable(outcome.value) else outcome.value


async def ask_function(function: Callable[..., Any], call: ToolCall, context: Context[Any]) -> Any:
    """Call a function that decides about a call, with the `Context` if it has a parameter for it."""
    arguments = (call, context) if _takes_context(function) else (call,)
    return await call_function(function, *arguments)


def _takes_context(function: Callable[..., Any]) -> bool:
    """Whether a function has a second parameter that must be given, or one named `context`."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # a built-in function without a signature
        return False
    by_place = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    return len(by_place) > 1 and (by_place[1].default is by_place[1].empty or by_place[1].name == "context")


async def needs_approval(tool: Tool[..., Any], call: ToolCall, context: Context[Any]) -> bool:
    """Ask the rule of a tool whether somebody must allow a call. A call with wrong arguments fails without that."""
    if tool.approval_rule is None:
        return True
    try:
        completed = ToolCall(id=call.id, name=call.name, arguments=tool.complete(call.arguments))
    except InvalidArguments:
        return False
    answer = await ask_function(tool.approval_rule, completed, context)
    if not isinstance(answer, bool):
        raise UsageError(
            f"{call.name}: the function of approve= returned {answer!r}; return True to ask somebody, or False"
        )
    return answer


async def collect_approvals(
    calls: Sequence[ToolCall],
    approve: Approver,
    build_context: Callable[[str], Context[Any]],
    put: Callable[[ApprovalGiven], None],
) -> None:
    """Ask about one call after the other, since a person may be asked, and put each answer into the inbox of a run."""
    for call in calls:
        answer = await ask_function(approve, call, build_context(call.id))
        reason = answer if isinstance(answer, str) else ""
        put(ApprovalGiven(call_id=call.id, approved=answer is True, reason=reason))


class UnansweredCalls:
    """The calls of a paused run: nobody can be asked about them now.

    Attributes:
        calls: The calls that wait; the run pauses when there are some.
        inside: The calls of inner runs that wait, by the ids of the calls that made these runs.
    """

    def __init__(self) -> None:
        self.calls: tuple[ToolCall, ...] = ()
        self.inside: dict[str, tuple[ToolCall, ...]] = {}

    def has_paused(self, turn: Turn) -> bool:
        """Whether the run waits: for its own calls, or because nothing goes on but inner runs that wait.

        A call that the rule of its tool has let run may still be running: a pause would cut it off.
        """
        is_running = bool(set(turn.running_ids) - self.inside.keys())
        if not self.calls and self.inside and not turn.is_open and not is_running:
            self.calls = tuple(call for calls in self.inside.values() for call in calls)
        return bool(self.calls) and not is_running

    def build_pause(self, facts: Sequence[Fact]) -> RunPaused:
        """Return the error that pauses the run, which has these facts."""
        names = ", ".join(call.name for call in self.calls)
        return RunPaused(
            f"the run waits for somebody to allow {names}; give the agent approve=…, or save the facts of this error "
            "and go on with agent.resume(facts, approvals={…})",
            self.calls,
            tuple(facts),
        )


def build_questions(calls: Sequence[ToolCall], toolbox: Toolbox | None) -> list[ApprovalNeeded]:
    """Return the facts that somebody must be asked about calls. An answer is bound to the tools that are given."""
    return [ApprovalNeeded(call=call, digest="" if toolbox is None else _digest(call, toolbox)) for call in calls]


def withdraw_approvals(state: State, facts: Sequence[Fact], toolbox: Toolbox) -> None:
    """Withdraw, in the state of a resumed run, the approvals that were given for tools that have changed since.

    The call of such a tool waits again, so that `decide` asks somebody about it again.
    """
    asked = {fact.call.id: fact for fact in facts if isinstance(fact, ApprovalNeeded)}
    changed = {
        each.id: each.move_to("waiting")
        for each in state.turn.calls.values()
        if each.stage == "approved"
        and ((fact := asked.get(each.id)) is None or fact.digest != _digest(fact.call, toolbox))
    }
    for call_id in changed.keys() & asked.keys():  # the others were let run by the rule of their tool
        name = asked[call_id].call.name
        LOG.warning(
            "run %s: somebody is asked again, since %s has changed after its call was allowed", state.run_id, name
        )
    state.turn.calls |= changed


def _digest(call: ToolCall, toolbox: Toolbox) -> str:
    """Return what an approval is bound to: a digest of the name, the arguments and the schema of the tool."""
    import hashlib  # imported with the first approval

    schema = toolbox[call.name].spec.parameters if call.name in toolbox else None
    data = [call.name, encode_argument(call.arguments), schema]
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:32]
