"""Runs and exchanges as spans of OpenTelemetry, and figures in the text format of Prometheus.

    facts ─► SpanFold ─► spans ─► a tracer of OpenTelemetry, while the run goes on
                              └─► OTLP over HTTP, or a drawn tree, afterwards

This room imports `values/` and nothing else of toolspeak. Only `tracing.py` needs OpenTelemetry, and imports it when
the first run is traced. Begin with `run_spans.py` (runs) or `exchange_spans.py` (exchanges of the gateway). `spans.py`
has the span itself, `names.py` the names of attributes and what they hold.

To show a new fact: a case in `RunSpans.add` (`run_spans.py`). To add an attribute: its name to `names.py`; what models,
tools and users wrote only if content is asked for. To add a figure: `gateway/figures.py`, written by `prometheus.py`.
"""

from toolspeak.telemetry.exporter import SpanExporter, SpanSender
from toolspeak.telemetry.run_spans import SpanFold, build_spans
from toolspeak.telemetry.spans import SpanEvent, TraceSpan
from toolspeak.telemetry.tracing import Tracer, Tracing

__all__ = ["SpanEvent", "SpanExporter", "SpanFold", "SpanSender", "TraceSpan", "Tracer", "Tracing", "build_spans"]
