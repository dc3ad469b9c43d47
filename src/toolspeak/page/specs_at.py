"""The tools that a model had at some point of a run."""

from toolspeak.events import HandedOver, NestedFact, RunStarted
from toolspeak.page.document import RunDocument
from toolspeak.page.rows import Path
from toolspeak.spec import ToolSpec


def find_specs(document: RunDocument, number: int, path: Path) -> dict[str, ToolSpec]:
    """Return the tools by name that a run offered when it came to the fact of this number."""
    for timed in reversed(document.facts[: number + 1]):
        fact = timed.fact
        fact_path = fact.path if isinstance(fact, NestedFact) else ()
        event = fact.event if isinstance(fact, NestedFact) else fact
        if fact_path == path and isinstance(event, RunStarted | HandedOver):
            return {spec.name: spec for spec in event.tools}
    return {}
