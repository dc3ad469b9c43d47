"""Spans sent as OTLP, to a collector on the loopback that reads them by OpenTelemetry's own definitions."""

import socket
from typing import Any

import pytest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from toolspeak.telemetry import SpanEvent, TraceSpan, build_spans
from toolspeak.telemetry.exporter import MAX_SPANS_PER_REQUEST, SpanExporter, SpanSender, complete_url, read_headers
from toolspeak.values.errors import SpansNotSent, UsageError

from .receiver import Receiver, receive_spans
from .test_tracing import play
from .traced import Shown, show_spans

KINDS = {1: "internal", 2: "server", 3: "client"}


def read_value(value: AnyValue) -> Any:
    found = value.WhichOneof("value")
    if found == "array_value":
        return tuple(each.string_value for each in value.array_value.values)
    return getattr(value, str(found))


def read_attributes(attributes: Any) -> dict[str, Any]:
    pairs: list[KeyValue] = list(attributes)
    return {each.key: read_value(each.value) for each in pairs}


def show_received(receiver: Receiver) -> list[Shown]:
    """Return what a collector got, in the common form."""
    known = {span.span_id: span for span in receiver.spans}

    def path(span: Any) -> tuple[str, ...]:
        outer = known.get(span.parent_span_id)
        return (*(path(outer) if outer is not None else ()), span.name)

    shown = (
        Shown(
            path(span),
            KINDS[span.kind],
            read_attributes(span.attributes),
            [(event.name, read_attributes(event.attributes)) for event in span.events],
            span.status.code == 2,
            span.status.message,
        )
        for span in receiver.spans
    )
    return sorted(shown, key=repr)


def make_span(number: int = 1, **more: Any) -> TraceSpan:
    return TraceSpan(
        id=f"{number:016x}", trace_id="1" * 32, parent_id=None, name="s", kind="server", start=1, end=2, **more
    )


@pytest.mark.parametrize("case", ["nested", "calls that fail", "left", "paused"])
def test_a_collector_gets_the_spans_of_the_facts(case: str):
    spans = build_spans(play(case)[1].facts, content=True)
    with receive_spans() as receiver:
        SpanSender(receiver.url, {"OTEL_SERVICE_NAME": "desk"}).send(spans)
    assert show_received(receiver) == show_spans(spans)
    received = {span.span_id.hex(): span for span in receiver.spans}
    assert all(received[span.id].start_time_unix_nano == span.start for span in spans)
    assert all(received[span.id].end_time_unix_nano == span.end for span in spans)
    assert {span.trace_id.hex() for span in receiver.spans} == {spans[0].trace_id}
    [resource] = receiver.requests[0].resource_spans
    assert read_attributes(resource.resource.attributes) == {"service.name": "desk"}


def test_values_of_all_sorts_arrive():
    attributes: dict[str, Any] = {"text": "ü\n", "yes": True, "count": 2**60, "share": 0.5, "names": ("a", "b")}
    span = make_span(attributes=attributes, events=[SpanEvent(name="e", at=2, attributes={"n": -1})])
    with receive_spans() as receiver:
        SpanSender(f"{receiver.url}/", {}).send([span])
    [received] = receiver.spans
    assert read_attributes(received.attributes) == attributes
    assert read_attributes(received.events[0].attributes) == {"n": -1}


def test_many_spans_are_sent_in_several_requests():
    count = 2 * MAX_SPANS_PER_REQUEST + 1
    with receive_spans() as receiver:
        SpanSender(receiver.url, {}).send([make_span(number) for number in range(count)])
    assert (len(receiver.requests), len(receiver.spans)) == (3, count)


def test_headers_come_from_the_variable_of_opentelemetry():
    with receive_spans() as receiver:
        environment = {"OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Basic%20c2VjcmV0, x-team = blue"}
        SpanSender(receiver.url, environment).send([make_span()])
    [headers] = receiver.headers
    assert (headers["authorization"], headers["x-team"]) == ("Basic c2VjcmV0", "blue")


@pytest.mark.parametrize("text", ["name", "=value", "a=b%0Ac"])
def test_a_wrong_header_is_refused(text: str):
    with pytest.raises(UsageError, match="name=value pairs"):
        read_headers(text)


@pytest.mark.parametrize("url", ["", "127.0.0.1:4318", "ftp://host", "http://", "http://host:x"])
def test_a_wrong_address_is_refused(url: str):
    with pytest.raises(UsageError, match="not the address of a collector"):
        complete_url(url)


@pytest.mark.parametrize("user", ["ann:S3CRET", "S3CRET", "ann:S3CRET#x", "ann:S3CRET?x", "ann:S3CRET/x"])
def test_an_address_with_a_password_is_refused_without_it(user: str):
    with pytest.raises(UsageError, match=r"address of (?:a|the) collector") as raised:
        complete_url(f"http://{user}@127.0.0.1:9")
    assert "S3CRET" not in str(raised.value)


def test_a_key_in_the_query_is_sent_and_not_shown():
    with receive_spans() as receiver:
        receiver.status = 500
        sender = SpanSender(f"{receiver.url}?key=S3CRET", {})
        assert sender.url.endswith("?key=S3CRET")
        with pytest.raises(SpansNotSent, match="/v1/traces refused the spans: 500") as raised:
            sender.send([make_span()])
    assert "S3CRET" not in str(raised.value)


@pytest.mark.parametrize(
    ("status", "answer", "problem"),
    [
        (500, b"no disk", "500 Internal Server Error no disk"),
        (307, b"", "307 Temporary Redirect"),
        (200, b'{"partialSuccess": {"rejectedSpans": "3", "errorMessage": "too old"}}', "3 spans: too old"),
    ],
)
def test_a_collector_that_refuses_spans_is_an_error(status: int, answer: bytes, problem: str):
    with receive_spans() as receiver:
        receiver.status, receiver.answer = status, answer
        with pytest.raises(SpansNotSent, match=problem):
            SpanSender(receiver.url, {}).send([make_span()])


@pytest.mark.parametrize("answer", [b"", b"{}", b"ok", b"[]", b'{"partialSuccess": {}}'])
def test_any_other_answer_is_no_error(answer: bytes):
    with receive_spans() as receiver:
        receiver.answer = answer
        SpanSender(receiver.url, {}).send([make_span()])


def test_a_collector_that_is_away_is_an_error():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        with pytest.raises(SpansNotSent, match="could not be sent"):
            SpanSender(f"http://127.0.0.1:{listener.getsockname()[1]}", {}).send([make_span()])


def test_an_exporter_sends_what_waits_before_it_is_closed():
    with receive_spans() as receiver, SpanExporter(SpanSender(receiver.url, {})) as exporter:
        for number in range(20):
            exporter.export([make_span(number)])
    assert sorted(int(span.span_id.hex(), 16) for span in receiver.spans) == list(range(20))


def test_an_exporter_goes_on_when_a_collector_fails_and_says_so_once(caplog: pytest.LogCaptureFixture):
    with receive_spans() as receiver, SpanExporter(SpanSender(receiver.url, {})) as exporter:
        receiver.status = 503
        for number in range(3):
            receiver.has_request.clear()
            exporter.export([make_span(number)])
            assert receiver.has_request.wait(20)
        receiver.status = 200
    assert len([record for record in caplog.records if "503" in record.message]) == 1
