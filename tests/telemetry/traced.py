"""What the tests of spans share: a tracer that keeps its spans, and spans in one form wherever they come from."""

import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from toolspeak.telemetry import TraceSpan
from toolspeak.values.events import Fact


class Collected:
    """A provider of OpenTelemetry, and the spans that have ended in it."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))

    @property
    def spans(self) -> list[ReadableSpan]:
        """The spans, in the order of their starts."""
        return sorted(self._exporter.get_finished_spans(), key=lambda span: span.start_time or 0)


class Recorded:
    """Facts with their times, as a record keeps them."""

    def __init__(self) -> None:
        self.facts: list[tuple[Fact, int]] = []

    def record(self, fact: Fact) -> None:
        self.facts.append((fact, time.time_ns()))


class Shown(NamedTuple):
    """A span without its times and ids, with the names of the spans that it is in."""

    path: tuple[str, ...]
    kind: str
    attributes: dict[str, Any]
    events: list[tuple[str, dict[str, Any]]]
    is_error: bool
    description: str


def show_spans(spans: Iterable[TraceSpan]) -> list[Shown]:
    """Return our spans in the common form."""
    known = {span.id: span for span in spans}

    def path(span: TraceSpan) -> tuple[str, ...]:
        outer = known.get(span.parent_id or "")
        return (*(path(outer) if outer is not None else ()), span.name)

    return _sorted(
        Shown(
            path(span),
            span.kind,
            span.attributes,
            [(event.name, dict(event.attributes)) for event in span.events],
            span.is_error,
            span.description,
        )
        for span in known.values()
    )


def show_live(spans: Sequence[ReadableSpan]) -> list[Shown]:
    """Return spans of the SDK in the common form."""
    known = {span.context.span_id: span for span in spans if span.context is not None}

    def path(span: ReadableSpan) -> tuple[str, ...]:
        outer = known.get(span.parent.span_id) if span.parent is not None else None
        return (*(path(outer) if outer is not None else ()), span.name)

    return _sorted(
        Shown(
            path(span),
            span.kind.name.lower(),
            dict(span.attributes or {}),
            [(event.name, dict(event.attributes or {})) for event in span.events],
            not span.status.is_unset,
            span.status.description or "",
        )
        for span in spans
    )


def _sorted(shown: Iterable[Shown]) -> list[Shown]:
    return sorted(shown, key=repr)
