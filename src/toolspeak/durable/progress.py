"""Whether facts bring a run further, so that earlier deaths of its workers count no more.

A message that is still arriving when its worker dies is asked for again, with all that happened during it. So the end
of a message brings the run further, and a result only if no message is open: neither in its own run nor in a run
around that one.
"""

from collections.abc import Iterable

from toolspeak.events import Fact, NestedFact, ToolFinished, TurnEnded, TurnStarted


class RunProgress:
    """Follows the new facts of a run while one worker drives it."""

    def __init__(self) -> None:
        self._open_paths: set[tuple[str, ...]] = set()  # of the runs whose message is arriving; () is the outermost

    def add(self, facts: Iterable[Fact]) -> bool:
        """Follow the next facts, and return whether one of them brings the run further."""
        found = [self._add(fact) for fact in facts]
        return any(found)

    def _add(self, fact: Fact) -> bool:
        path, event = (fact.path, fact.event) if isinstance(fact, NestedFact) else ((), fact)
        if isinstance(event, TurnStarted):
            self._open_paths.add(path)
        elif isinstance(event, TurnEnded):
            self._open_paths.discard(path)
        if not isinstance(event, TurnEnded | ToolFinished):
            return False
        return not any(path[:length] in self._open_paths for length in range(len(path) + 1))
