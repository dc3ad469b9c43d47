"""Sends spans to a collector: OTLP in JSON over HTTP, the body of a request to `/v1/traces`.

Written with the standard library: OpenTelemetry's exporter takes spans of its SDK, which ours are not, and would bring
the SDK, protobuf and requests for what is one object and one POST. Headers, such as a key, are read from the variable
of OpenTelemetry for them, so that a key is on no command line.
"""

import json
import queue
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from http.client import HTTPException
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from toolspeak.telemetry.spans import AttributeValue, TraceSpan
from toolspeak.values.address import hide_secrets
from toolspeak.values.errors import SpansNotSent, UsageError
from toolspeak.values.log import LOG
from toolspeak.values.package import __version__

KINDS = {"internal": 1, "server": 2, "client": 3}
STATUS_ERROR = 2
SERVICE_NAME = "toolspeak"


def encode_spans(spans: Sequence[TraceSpan], service: str = SERVICE_NAME) -> dict[str, Any]:
    """Return the body of a request with spans that have ended, of a service of that name."""
    scope = {"name": "toolspeak", "version": __version__}
    resource = {"attributes": _encode_attributes({"service.name": service})}
    scoped = {"scope": scope, "spans": [_encode_span(each) for each in spans]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [scoped]}]}


def _encode_span(span: TraceSpan) -> dict[str, Any]:
    # 64-bit numbers are texts in the JSON of protobuf; ids are hexadecimal, which is an exception of OTLP.
    data: dict[str, Any] = {
        "traceId": span.trace_id,
        "spanId": span.id,
        "name": span.name,
        "kind": KINDS[span.kind],
        "startTimeUnixNano": str(span.start),
        "endTimeUnixNano": str(span.start if span.end is None else span.end),
        "attributes": _encode_attributes(span.attributes),
        "events": [
            {"timeUnixNano": str(each.at), "name": each.name, "attributes": _encode_attributes(each.attributes)}
            for each in span.events
        ],
    }
    if span.parent_id is not None:
        data["parentSpanId"] = span.parent_id
    if span.is_error:
        data["status"] = {"code": STATUS_ERROR, "message": span.description}
    return data


def _encode_attributes(attributes: Mapping[str, AttributeValue]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _encode_value(value)} for name, value in attributes.items()]


def _encode_value(value: AttributeValue) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case str():
            return {"stringValue": value}
        case _:
            return {"arrayValue": {"values": [{"stringValue": each} for each in value]}}


TRACES_PATH = "/v1/traces"
HEADERS_VARIABLE = "OTEL_EXPORTER_OTLP_HEADERS"
SERVICE_VARIABLE = "OTEL_SERVICE_NAME"

MAX_SPANS_PER_REQUEST = 1_000
TIMEOUT_SECONDS = 10.0

MAX_WAITING_TRACES = 1_000
"""How many lists of spans wait to be sent. Further ones are dropped, so that a collector that is away costs little."""

CLOSE_TIMEOUT_SECONDS = 5.0
"""How long the last spans may take when the exporter is closed."""


class SpanSender:
    """Sends spans to one address."""

    def __init__(self, url: str, environment: Mapping[str, str]) -> None:
        """Prepare to send spans to a collector; headers and the name of the service are in the environment.

        Raises:
            UsageError: The address or a header cannot be used.
        """
        self.url = complete_url(url)
        self.shown_url = hide_secrets(self.url)
        self._headers = read_headers(environment.get(HEADERS_VARIABLE, ""))
        self._service = environment.get(SERVICE_VARIABLE) or SERVICE_NAME
        is_local = urlsplit(self.url).hostname in ("127.0.0.1", "::1", "localhost")
        proxies = [urllib.request.ProxyHandler({})] if is_local else []
        self._opener = urllib.request.build_opener(_NoRedirects, *proxies)

    def send(self, spans: Sequence[TraceSpan]) -> None:
        """Send spans, and wait until the collector has them.

        Raises:
            SpansNotSent: The collector cannot be reached, or refuses the spans.
        """
        for first in range(0, len(spans), MAX_SPANS_PER_REQUEST):
            self._post(encode_spans(spans[first : first + MAX_SPANS_PER_REQUEST], self._service))

    def _post(self, body: Mapping[str, Any]) -> None:
        data = json.dumps(body, separators=(",", ":")).encode()
        headers = {"User-Agent": "toolspeak", **self._headers, "Content-Type": "application/json"}
        request = urllib.request.Request(self.url, data, headers)  # noqa: S310 (the scheme is checked)
        try:
            with self._opener.open(request, timeout=TIMEOUT_SECONDS) as response:
                answer: bytes = response.read(100_000)
        except urllib.error.HTTPError as error:
            with error:
                said = error.read(300).decode("utf-8", "replace").strip()
            raise SpansNotSent(
                f"{self.shown_url} refused the spans: {error.code} {error.reason} {said}".strip()
            ) from None
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            raise SpansNotSent(f"the spans could not be sent to {self.shown_url}: {reason}") from None
        if rejected := _read_rejection(answer):
            raise SpansNotSent(f"{self.shown_url} refused {rejected}")


class SpanExporter:
    """Sends spans from a separate thread, so that nothing waits for the collector.

    Attributes:
        content: Whether spans include the texts of models, tools and users.
    """

    def __init__(self, sender: SpanSender, *, content: bool = False) -> None:
        self._sender = sender
        self.content = content
        self._queue: queue.Queue[Sequence[TraceSpan] | None] = queue.Queue(MAX_WAITING_TRACES)
        self._has_warned = False
        self._thread = threading.Thread(target=self._work, name="toolspeak spans", daemon=True)
        self._thread.start()

    def export(self, spans: Sequence[TraceSpan]) -> None:
        """Queue spans to be sent. If the queue is full, they are dropped."""
        try:
            self._queue.put_nowait(spans)
        except queue.Full:
            self._warn("too many spans wait to be sent, and some are dropped")

    def __enter__(self) -> "SpanExporter":
        return self

    def __exit__(self, *_: object) -> None:
        """Send what waits, but do not wait long for it."""
        try:
            self._queue.put(None, timeout=CLOSE_TIMEOUT_SECONDS)
        except queue.Full:
            return
        self._thread.join(CLOSE_TIMEOUT_SECONDS)

    def _work(self) -> None:
        while (spans := self._queue.get()) is not None:
            batch, is_last = self._collect(spans)
            try:
                self._sender.send(batch)
                self._has_warned = False
            except SpansNotSent as error:
                self._warn(str(error))
            if is_last:
                return

    def _collect(self, first: Sequence[TraceSpan]) -> tuple[list[TraceSpan], bool]:
        """Return spans for one request, the first ones and those that wait, and whether they are the last ones."""
        batch = list(first)
        while len(batch) < MAX_SPANS_PER_REQUEST:
            try:
                more = self._queue.get_nowait()
            except queue.Empty:
                break
            if more is None:
                return batch, True
            batch += more
        return batch, False

    def _warn(self, problem: str) -> None:
        """Log a problem, once until spans are sent again."""
        if not self._has_warned:
            LOG.warning("%s", problem)
        self._has_warned = True


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: headers may hold a key, which is for the address that the user gave."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> None:
        """Return no further request."""


def complete_url(url: str) -> str:
    """Return the address to which spans are sent.

    Examples:
        >>> complete_url("http://127.0.0.1:4318")
        'http://127.0.0.1:4318/v1/traces'
        >>> complete_url("https://collector.example/otlp/v1/traces")
        'https://collector.example/otlp/v1/traces'
    """
    try:
        parts = urlsplit(url)
        has_host = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        parts, has_host = None, False
    if parts is None or not has_host:
        raise UsageError(f"{hide_secrets(url)!r} is not the address of a collector; write http://HOST:4318")
    if "@" in parts.netloc:
        raise UsageError(
            f"the address of the collector {hide_secrets(url)} holds a user; give what the collector wants in "
            f"{HEADERS_VARIABLE}, such as authorization=Basic%20…"
        )
    path = parts.path.rstrip("/")
    return urlunsplit(parts._replace(path=path if path.endswith(TRACES_PATH) else path + TRACES_PATH))


def read_headers(text: str) -> dict[str, str]:
    """Read headers as OpenTelemetry writes them in a variable: `name=value,name=value`, with `%20` for a space."""
    headers: dict[str, str] = {}
    for pair in filter(None, (each.strip() for each in text.split(","))):
        name, equals, value = pair.partition("=")
        name, value = name.strip(), unquote(value.strip())
        if not equals or not name or not value.isprintable():
            raise UsageError(f"{HEADERS_VARIABLE}: write name=value pairs with commas between them")
        headers[name] = value
    return headers


def _read_rejection(answer: bytes) -> str:
    """Return what a collector says that it has not taken; "" if it has taken all spans."""
    try:
        partial: Any = json.loads(answer or b"{}").get("partialSuccess") or {}
        count = int(partial.get("rejectedSpans") or 0)
    except (ValueError, AttributeError, TypeError, RecursionError):  # whoever answers something else has taken them
        return ""
    return f"{count} span{'s' * (count != 1)}: {partial.get('errorMessage', '')}" if count else ""
