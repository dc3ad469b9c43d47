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
from toolspeak.tools import Toolbox
from toolspeak.values.codec import encode_argument
from toolspeak.values.errors import RunPaused
from toolspeak.values.events import ApprovalGiven, ApprovalNeeded, Fact
from toolspeak.values.log import LOG
from toolspeak.values.messages import Message, ToolCall

Recorder: TypeAlias = Callable[[Fact], None]
"""A function that keeps the facts of a run. It is called with each fact before the run acts on it."""


Approver: TypeAlias = Callable[[ToolCall], bool | str | Awaitable[bool | str]]
"""A function, sync or async, that decides whether a call may run: returns True, False, or a text that says why not."""

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


async def collect_approvals(calls: Sequence[ToolCall], approve: Approver, put: Callable[[ApprovalGiven], None]) -> None:
    """Ask about one call after the other, since a person may be asked, and put each answer into the inbox of a run."""
    for call in calls:
        answer = await call_function(approve, call)
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
        """Whether the run waits: for its own calls, or because nothing goes on but inner runs that wait."""
        if not self.calls and self.inside and not turn.is_open and not set(turn.running_ids) - self.inside.keys():
            self.calls = tuple(call for calls in self.inside.values() for call in calls)
        return bool(self.calls)

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
        if each.stage == "approved" and (fact := asked.get(each.id)) and fact.digest != _digest(fact.call, toolbox)
    }
    for call_id in changed:
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
