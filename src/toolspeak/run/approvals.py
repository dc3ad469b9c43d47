"""Asking somebody whether calls may run."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from toolspeak.errors import RunPaused
from toolspeak.events import ApprovalGiven, Fact
from toolspeak.messages import ToolCall
from toolspeak.run.callbacks import call_function

Approver: TypeAlias = Callable[[ToolCall], bool | str | Awaitable[bool | str]]
"""A function, sync or async, that decides whether a call may run: returns True, False, or a text that says why not."""


async def collect_approvals(calls: Sequence[ToolCall], approve: Approver, put: Callable[[ApprovalGiven], None]) -> None:
    """Ask about one call after the other, since a person may be asked, and put each answer into the inbox of a run."""
    for call in calls:
        answer = await call_function(approve, call)
        reason = answer if isinstance(answer, str) else ""
        put(ApprovalGiven(call_id=call.id, approved=answer is True, reason=reason))


def build_pause(calls: tuple[ToolCall, ...], facts: Sequence[Fact]) -> RunPaused:
    """Return the error that pauses a run because nobody can be asked."""
    names = ", ".join(call.name for call in calls)
    return RunPaused(
        f"the run waits for somebody to allow {names}; give the agent approve=…, or save the facts of this error "
        "and go on with agent.resume(facts, approvals={…})",
        calls,
        tuple(facts),
    )
