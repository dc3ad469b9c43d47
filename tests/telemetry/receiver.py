"""A collector of OpenTelemetry for tests: takes OTLP in JSON on the loopback, and reads it as protobuf."""

import base64
import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

ID_FIELDS = ("traceId", "spanId", "parentSpanId")


class Receiver:
    """What a collector got, and what it answers.

    Attributes:
        url: Its address.
        requests: The requests, parsed.
        headers: The headers of each request, by their names in lower case.
        status: The status of its answers.
        answer: The body of its answers.
    """

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[ExportTraceServiceRequest] = []
        self.headers: list[dict[str, str]] = []
        self.status = 200
        self.answer = b"{}"
        self.has_request = threading.Event()

    @property
    def spans(self) -> list[Span]:
        """All spans that came."""
        return [
            span
            for request in self.requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]


def parse_otlp(body: bytes) -> ExportTraceServiceRequest:
    """Read OTLP in JSON strictly. Ids are hexadecimal there, and base64 in the JSON of protobuf otherwise."""
    data: Any = json.loads(body)
    for resource in data["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for field in ID_FIELDS:
                    if field in span:
                        span[field] = base64.b64encode(bytes.fromhex(span[field])).decode()
    return json_format.ParseDict(data, ExportTraceServiceRequest())


@contextmanager
def receive_spans() -> Generator[Receiver]:
    """Run a collector."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.path.endswith("/v1/traces") and self.headers["content-type"] == "application/json":
                receiver.requests.append(parse_otlp(body))
                receiver.headers.append({name.lower(): value for name, value in self.headers.items()})
            self.send_response(receiver.status)
            self.send_header("content-length", str(len(receiver.answer)))
            self.end_headers()
            self.wfile.write(receiver.answer)
            receiver.has_request.set()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        receiver.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()
