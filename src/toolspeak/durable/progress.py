"""Whether facts bring a run further, so that earlier deaths of its workers count no more.

A message that is still arriving when its worker dies is asked for again, with all that happened during it. So the end
of a message brings the run further, and a result only if no message is open: neither in its own run nor in a run
around that one.

If a worker died during calls, each of them may be to blame, and the next messages may ask for the same again. So
nothing brings the run further until each of these calls has a result, or until so many messages have ended since that
the run has plainly left them behind. A result of another call shows nothing: it may have been beside the guilty one.
"""

from collections.abc import Iterable
from typing import TypeAlias

from toolspeak.events import Fact, NestedFact, RunResumed, ToolFinished, ToolStarted, TurnEnded, TurnStarted

MESSAGES_WITHOUT_BLAME = 3
"""After how many messages calls are no longer to blame that were cut off before these and have no result."""

CallPlace: TypeAlias = tuple[tuple[str, ...], str]
"""The calls around a call, from the outermost on, and its id."""


class RunProgress:
    """Follows the facts of a run.

    Args:
        earlier: The facts that other workers wrote before.
    """

    def __init__(self, earlier: Iterable[Fact] = ()) -> None:
        self._open_paths: set[tuple[str, ...]] = set()  # of the runs whose message is arriving; () is the outermost
        self._running: set[CallPlace] = set()
        self._suspects: set[CallPlace] = set()  # were running when a worker died, and have no result
        self._messages = 0  # that have ended since then
        self.add(earlier)
        self._resume()  # whatever was under way has stopped

    def add(self, facts: Iterable[Fact]) -> bool:
        """Follow the next facts, and return whether one of them brings the run further."""
        found = [self._add(fact) for fact in facts]
        return any(found)

    def _add(self, fact: Fact) -> bool:
        path, event = (fact.path, fact.event) if isinstance(fact, NestedFact) else ((), fact)
        if isinstance(event, RunResumed) and not path:
            self._resume()
        elif isinstance(event, TurnStarted):
            self._open_paths.add(path)
        elif isinstance(event, ToolStarted):
            self._running.add((path, event.call_id))
        elif isinstance(event, TurnEnded):
            self._open_paths.discard(path)
            return self._counts(path) and self._has_left_suspects()
        elif isinstance(event, ToolFinished):
            call = (path, event.result.call_id)
            self._running.discard(call)
            if event.result.ran:
                self._suspects.discard(call)
            return self._counts(path) and not self._suspects
        return False

    def _resume(self) -> None:
        """Begin as another worker does: no message arrives, and no call is running."""
        self._open_paths.clear()
        if self._running:
            self._suspects |= self._running
            self._running.clear()
            self._messages = 0

    def _counts(self, path: tuple[str, ...]) -> bool:
        """Whether no message is open, in the run of this path or around it."""
        return not any(path[:length] in self._open_paths for length in range(len(path) + 1))

    def _has_left_suspects(self) -> bool:
        """Whether no call is to blame any more, now that another message has ended."""
        self._messages += 1
        if self._messages >= MESSAGES_WITHOUT_BLAME:
            self._suspects.clear()
        return not self._suspects
