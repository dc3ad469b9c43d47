"""Whether facts bring a run further, so that earlier deaths of its workers count no more.

A message that is still arriving when its worker dies is asked for again, with all that happened during it. So the end
of a message brings the run further, and a result only if no message is open: neither in its own run nor in a run
around that one. If the last worker died during a call, the call may be to blame, and the next message may ask for it
again: then only a result shows that the run gets further.
"""

from collections.abc import Iterable

from toolspeak.events import Fact, NestedFact, RunResumed, ToolFinished, ToolStarted, TurnEnded, TurnStarted


class RunProgress:
    """Follows the new facts of a run while one worker drives it.

    Args:
        earlier: The facts of the run before.
    """

    def __init__(self, earlier: Iterable[Fact] = ()) -> None:
        self._open_paths: set[tuple[str, ...]] = set()  # of the runs whose message is arriving; () is the outermost
        self._needs_result = _has_unfinished_call(earlier)

    def add(self, facts: Iterable[Fact]) -> bool:
        """Follow the next facts, and return whether one of them brings the run further."""
        found = [self._add(fact) for fact in facts]
        return any(found)

    def _add(self, fact: Fact) -> bool:
        path, event = _unwrap(fact)
        if isinstance(event, TurnStarted):
            self._open_paths.add(path)
        elif isinstance(event, TurnEnded):
            self._open_paths.discard(path)
        if not isinstance(event, TurnEnded | ToolFinished):
            return False
        if any(path[:length] in self._open_paths for length in range(len(path) + 1)):
            return False
        if isinstance(event, ToolFinished) and event.result.ran:
            self._needs_result = False
        return not self._needs_result


def _unwrap(fact: Fact) -> tuple[tuple[str, ...], Fact]:
    return (fact.path, fact.event) if isinstance(fact, NestedFact) else ((), fact)


def _has_unfinished_call(facts: Iterable[Fact]) -> bool:
    """Whether the worker that wrote the last facts had started a call without a result."""
    running: set[tuple[tuple[str, ...], str]] = set()
    for path, event in map(_unwrap, facts):
        if isinstance(event, RunResumed) and not path:
            running.clear()
        elif isinstance(event, ToolStarted):
            running.add((path, event.call_id))
        elif isinstance(event, ToolFinished):
            running.discard((path, event.result.call_id))
    return bool(running)
