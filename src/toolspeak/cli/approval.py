"""Approval of calls by the user.

The run waits for approval in its event loop; the user is asked in the main thread, where events are drawn. The
`ApprovalBridge` carries the answer from the one to the other.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import TypeAlias

from toolspeak.cli.options import ApproveChoice
from toolspeak.messages import ToolCall
from toolspeak.run import Approver

AskUser: TypeAlias = Callable[[ToolCall], "bool | str"]
"""Asks the user about a call. Returns whether it is approved, or the reason why it is not."""

REFUSED_BY_POLICY = "calls of this tool are refused here, by the settings or by --approve never"
REFUSED_WITHOUT_USER = "nobody is here to allow it"


class ApprovalBridge:
    """Carries the user's answers from the thread that draws a run to the event loop that waits for them."""

    def __init__(self, ask_user: AskUser) -> None:
        self._ask_user = ask_user
        self._answers: dict[str, Future[bool | str]] = {}

    def clear(self) -> None:
        """Drop all answers before another run starts: its calls may have the ids of earlier ones."""
        self._answers = {}

    async def wait(self, call: ToolCall) -> bool | str:
        """Wait for the answer about a call. This is the run's `approve` function."""
        return await asyncio.wrap_future(self._answer(call))

    def ask(self, call: ToolCall) -> None:
        """Ask the user about a call. The thread that draws the run calls this when it meets `ApprovalNeeded`."""
        answer = self._ask_user(call)
        with suppress(InvalidStateError):  # the run no longer waits, for example because its time is up
            self._answer(call).set_result(answer)

    def _answer(self, call: ToolCall) -> "Future[bool | str]":
        return self._answers.setdefault(call.id, Future())


def build_approver(choice: ApproveChoice, approvals: ApprovalBridge | None) -> Approver | None:
    """Return the `approve` function of an agent, or None if the run is to pause because there is no user to ask."""
    if choice == ApproveChoice.always:
        return lambda call: True
    if choice == ApproveChoice.never:
        return lambda call: REFUSED_BY_POLICY
    return approvals.wait if approvals is not None else None
