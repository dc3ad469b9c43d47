"""Calls that need a yes, and the person who is asked.

The run waits in the event loop; the person is asked in the main thread, where events are drawn. What was answered
passes from one to the other here.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import TypeAlias

from toolspeak.cli.options import Approve
from toolspeak.messages import ToolCall
from toolspeak.run import Approver

Ask: TypeAlias = Callable[[ToolCall], "bool | str"]
"""Asks the person: a yes, a no, or a text that says why not."""

NEVER = "calls of this tool are refused here, by the settings or by --approve never"
NOBODY = "nobody is here to allow it"


class Desk:
    """Where the run leaves its questions, and whoever draws it the answers."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._answers: dict[str, Future[bool | str]] = {}

    def clear(self) -> None:
        """Another run begins, whose calls may have the ids of earlier ones: no answer is left over for them."""
        self._answers = {}

    async def approve(self, call: ToolCall) -> bool | str:
        """Wait for the answer; called by the run."""
        return await asyncio.wrap_future(self._answer(call))

    def answer(self, call: ToolCall) -> None:
        """Ask the person; called by whoever draws the run, when it meets the question."""
        said = self._ask(call)
        with suppress(InvalidStateError):  # the run did not wait: its time was over, say
            self._answer(call).set_result(said)

    def _answer(self, call: ToolCall) -> "Future[bool | str]":
        return self._answers.setdefault(call.id, Future())


def approver(approve: Approve, desk: Desk | None) -> Approver | None:
    """Who the run asks. Without a desk there is nobody, and the run pauses."""
    if approve == Approve.always:
        return lambda call: True
    if approve == Approve.never:
        return lambda call: NEVER
    return desk.approve if desk is not None else None
