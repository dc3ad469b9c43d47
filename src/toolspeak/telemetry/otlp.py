"""Spans as OTLP, in JSON: the body of a request to `/v1/traces` of any collector of OpenTelemetry."""

from collections.abc import Mapping, Sequence
from typing import Any

from toolspeak._version import __version__
from toolspeak.telemetry.spans import AttributeValue, TraceSpan

KINDS = {"internal": 1, "server": 2, "client": 3}
STATUS_ERROR = 2
SERVICE_NAME = "toolspeak"


def encode_spans(spans: Sequence[TraceSpan], service: str = SERVICE_NAME) -> dict[str, Any]:
    """Return the body of a request with spans that have ended.

    Args:
        spans: The spans.
        service: The name of the service that they belong to.
    """
    scope = {"name": "toolspeak", "version": __version__}
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": _encode_attributes({"service.name": service})},
                "scopeSpans": [{"scope": scope, "spans": [_encode_span(each) for each in spans]}],
            }
        ]
    }


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
