"""The ids of all calls of a conversation, kept while it grows, so that no two calls get the same id."""

import re
from collections.abc import Iterable, Sequence

from toolspeak.messages import Call, Message

OWN_ID = re.compile(r"call_(\d+)_")
"""The beginning of an id that was given here: it has the number of its turn."""


class CallIds:
    """The ids of the calls of one conversation. Each message is looked at once, however long the run is.

    Examples:
        >>> ids = CallIds()
        >>> ids.add(["call_1_1", "call_2_1"])
        >>> "call_1_1" in ids, ids.find_prefix(2), ids.find_prefix(4)
        (True, 'call_3', 'call_4')
    """

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._turns: set[str] = set()
        self._history: Sequence[Message] = ()

    def __contains__(self, call_id: object) -> bool:
        return call_id in self._ids

    def follow(self, history: Sequence[Message]) -> None:
        """Set the conversation so far. Ids of messages that it no longer has are forgotten."""
        count = len(self._history)
        if count > len(history) or (count and history[count - 1] is not self._history[-1]):
            self._ids, self._turns, count = set(), set(), 0
        self._history = history
        self.add(part.call.id for message in history[count:] for part in message.parts if isinstance(part, Call))

    def add(self, ids: Iterable[str]) -> None:
        """Add ids that no other call may get."""
        for call_id in ids:
            self._ids.add(call_id)
            if found := OWN_ID.match(call_id):
                self._turns.add(found[1])

    def find_prefix(self, turn: int) -> str:
        """Return a prefix for the ids of calls in a turn that no id so far begins with."""
        while str(turn) in self._turns:
            turn += 1
        return f"call_{turn}"
