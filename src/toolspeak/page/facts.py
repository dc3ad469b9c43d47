"""Facts of a document: found by run and number, without the paths of inner runs."""

from toolspeak.events import Fact, HandedOver, NestedFact, OwnFact, RunStarted
from toolspeak.page.document import RunDocument
from toolspeak.page.rows import Path
from toolspeak.spec import ToolSpec


def unwrap_fact(fact: Fact) -> OwnFact:
    """Return a fact without the path that leads to its run."""
    return fact.event if isinstance(fact, NestedFact) else fact


def get_path(fact: Fact) -> Path:
    """Return the ids of the calls that lead to the run of a fact."""
    return fact.path if isinstance(fact, NestedFact) else ()


def list_facts(document: RunDocument, path: Path, before: int) -> list[Fact]:
    """Return the facts of one run before a number, as that run has them: inner runs of it stay nested."""
    depth = len(path)
    found: list[Fact] = []
    for timed in document.facts[:before]:
        fact = timed.fact
        own_path = get_path(fact)
        if own_path[:depth] != path:
            continue
        inner = own_path[depth:]
        event = unwrap_fact(fact)
        found.append(NestedFact(path=inner, event=event) if inner else event)
    return found


def find_specs(document: RunDocument, number: int, path: Path) -> dict[str, ToolSpec]:
    """Return the tools by name that a run offered when it came to the fact of this number."""
    for place in reversed(document.tool_facts):
        fact = document.facts[place].fact
        event = unwrap_fact(fact)
        if place <= number and isinstance(event, RunStarted | HandedOver) and get_path(fact) == path:
            return {spec.name: spec for spec in event.tools}
    return {}
