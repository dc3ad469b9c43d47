"""Runs and exchanges as spans of OpenTelemetry, and figures in the text format of Prometheus.

    facts ─► SpanFold ─► spans ─► a tracer of OpenTelemetry, while the run goes on
                              └─► OTLP over HTTP, or a drawn tree, afterwards

Nothing here needs OpenTelemetry but `tracing.py`, which imports it when the first run is traced.
"""

from toolspeak.telemetry.exporter import SpanExporter, SpanSender
from toolspeak.telemetry.run_spans import SpanFold, build_spans
from toolspeak.telemetry.spans import SpanEvent, TraceSpan
from toolspeak.telemetry.tracing import Tracer, Tracing

__all__ = ["SpanEvent", "SpanExporter", "SpanFold", "SpanSender", "TraceSpan", "Tracer", "Tracing", "build_spans"]
