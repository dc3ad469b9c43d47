"""`ReportKeeper`: writes reports of exchanges as JSON, keeps the last ones for two routes, and traces them."""

import json
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

from toolspeak.gateway.exchange import ServedModel
from toolspeak.gateway.exchange_report import ExchangeReport
from toolspeak.log import LOG
from toolspeak.models import HttpModel
from toolspeak.models.cassettes.redaction import Redactor, collect_secrets
from toolspeak.telemetry import SpanExporter, Tracing
from toolspeak.telemetry.exchange_spans import build_exchange_spans, read_trace_parent

MAX_KEPT_EXCHANGES = 100
MAX_KEPT_BYTES = 32_000_000
"""Bytes of all reports that are kept. The oldest are dropped first; a larger one is kept without its contents."""

SUMMARY_KEYS = ("id", "time", "api", "model", "dialect", "stream", "status", "usage", "notices", "seconds")


class ExchangeHistory:
    """The last exchanges, as lines of JSON."""

    def __init__(self, max_exchanges: int = MAX_KEPT_EXCHANGES, max_bytes: int = MAX_KEPT_BYTES) -> None:
        self._max_exchanges = max_exchanges
        self._max_bytes = max_bytes
        self._bytes = 0
        self._kept: OrderedDict[str, tuple[dict[str, Any], str]] = OrderedDict()

    def add(self, summary: dict[str, Any], line: str) -> None:
        """Keep an exchange, and drop the oldest ones for it."""
        if len(line) > self._max_bytes:
            line = json.dumps({**summary, "left_out": f"the report has {len(line)} bytes, too many to be kept"})
        self._kept[summary["id"]] = summary, line
        self._bytes += len(line)
        while len(self._kept) > self._max_exchanges or (self._bytes > self._max_bytes and len(self._kept) > 1):
            _, (_, dropped) = self._kept.popitem(last=False)
            self._bytes -= len(dropped)

    def list_summaries(self) -> list[dict[str, Any]]:
        """Return a summary of each exchange, the latest first."""
        return [summary for summary, _ in reversed(self._kept.values())]

    def find(self, exchange_id: str) -> str | None:
        """Return the report of an exchange as JSON; None if it is not kept."""
        found = self._kept.get(exchange_id)
        return found[1] if found is not None else None


class ReportKeeper:
    """Gives reports, without keys, to those who want them."""

    def __init__(
        self,
        served: Iterable[ServedModel],
        key: str | None,
        write_line: Callable[[str], None] | None = None,
        history: ExchangeHistory | None = None,
        tracer: Tracing | SpanExporter | None = None,
    ) -> None:
        """Prepare for reports.

        Args:
            served: The models, whose keys are removed from reports.
            key: The key of the gateway, which is removed as well.
            write_line: Is called with each report, as JSON in one line without its end.
            history: Keeps the last reports.
            tracer: Gets the spans of each exchange.
        """
        secrets = {key} if key else set[str]()
        for each in served:
            if isinstance(each.model, HttpModel):
                secrets |= collect_secrets(each.model.endpoint)
        self._redactor = Redactor(secrets)
        self._write_line = write_line
        self._history = history
        self._tracer = tracer

    def finish(self, report: ExchangeReport) -> None:
        """Take the report of an exchange that has ended, once."""
        if report.is_finished:
            return
        report.is_finished = True
        data = report.build()
        line = self._redactor.redact(json.dumps(data, separators=(",", ":"), default=str))
        if self._write_line is not None:
            self._write_line(line)
        if self._history is not None:
            summary = json.loads(self._redactor.redact(json.dumps({key: data[key] for key in SUMMARY_KEYS})))
            turns = {"turns": len(data["turns"]), "error": data["error"] is not None}
            self._history.add({**summary, **turns}, line)
        if self._tracer is not None:
            self._trace(self._tracer, json.loads(line), report.trace_parent)

    def _trace(self, tracer: Tracing | SpanExporter, report: dict[str, Any], trace_parent: str) -> None:
        """Pass the spans of an exchange on. A tracer that fails does not end the answer."""
        try:
            parent = read_trace_parent(trace_parent)
            tracer.export(build_exchange_spans(report, parent, content=tracer.content))
        except Exception as error:
            LOG.warning("the tracer failed", exc_info=error)
