"""An exchange of the gateway as spans: a pure function of its report (`gateway/exchange_report.py` has its keys).

POST {route}            the exchange, from the request of the client on
    chat {model}        each message that the model was asked for
"""

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple, cast

from toolspeak.telemetry import names
from toolspeak.telemetry.names import encode_message, format_json
from toolspeak.telemetry.spans import (
    AttributeValue,
    SpanEvent,
    TraceSpan,
    clean_attributes,
    clean_text,
    make_span_id,
    make_trace_id,
)
from toolspeak.values import codec
from toolspeak.values.events import Usage
from toolspeak.values.messages import Message

CLIENT_LEFT = 499
"""The status of an exchange whose client disconnected."""

_TRACE_PARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(?:-.*)?")


class TraceParent(NamedTuple):
    """The span of a client, of which an exchange is a part."""

    trace_id: str
    span_id: str


def read_trace_parent(header: str) -> TraceParent | None:
    """Read the header `traceparent`; None if it is not as W3C defines it.

    Examples:
        >>> read_trace_parent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
        TraceParent(trace_id='0af7651916cd43dd8448eb211c80319c', span_id='b7ad6b7169203331')
    """
    match = _TRACE_PARENT.fullmatch(header)
    return None if match is None else TraceParent(match[1], match[2])


def _hide_model(path: str) -> str:
    """Return a path without the model in it: `/v1beta/models/{model}:generateContent`."""
    before, models, rest = path.partition("/models/")
    model, _, method = rest.rpartition(":")
    return f"{before}{models}{{model}}:{method}" if model and method.isidentifier() else path


def build_exchange_spans(
    report: Mapping[str, Any], parent: TraceParent | None = None, *, content: bool = False
) -> list[TraceSpan]:
    """Return the spans of an exchange that has ended, below the span of the client.

    `content`: they hold what was asked and answered.
    """
    request_id: str = report["id"]
    trace_id = make_trace_id(request_id) if parent is None else parent.trace_id
    start = 1000 * round(datetime.fromisoformat(report["time"]).timestamp() * 1e6)
    route = _hide_model(report["path"])
    status: int = report["status"]
    root = TraceSpan(
        id=make_span_id(request_id, 0),
        trace_id=trace_id,
        parent_id=None if parent is None else parent.span_id,
        name=f"POST {route}",
        kind="server",
        start=start,
        end=start + _count_nanoseconds(report["seconds"]),
        attributes=clean_attributes(
            {
                "http.request.method": "POST",
                "http.route": route,
                "http.response.status_code": status,
                "toolspeak.request.id": request_id,
                "toolspeak.api": report["api"],
                "toolspeak.model": report["model"],
                "toolspeak.stream": report["stream"],
                names.DIALECT: report["dialect"],
                "toolspeak.first_seconds": report["first_seconds"],
                "toolspeak.notices": report["notices"],
            }
        ),
    )
    if report["error"] is not None and (status >= 500 or status == 200):
        root.fail("broke_off" if status == 200 else str(status))
    elif status == CLIENT_LEFT:
        root.attributes[names.UNFINISHED] = True
    turns: list[dict[str, Any]] = report["turns"]
    return [root, *(_build_turn(root, number, turn, report, content) for number, turn in enumerate(turns, 1))]


def _build_turn(
    root: TraceSpan, number: int, turn: Mapping[str, Any], report: Mapping[str, Any], content: bool
) -> TraceSpan:
    model = names.split_model_name(turn.get("model") or report["model"] or "")
    start = root.start + _count_nanoseconds(turn.get("start") or 0.0)
    read = cast("dict[str, Any]", turn["read"] or {})
    parts: list[dict[str, Any]] = read.get("parts", [])
    attributes: dict[str, AttributeValue | None] = {
        **names.describe_chat(model),
        names.TURN: number,
        names.DIALECT: report["dialect"],
        names.FIRST_CHUNK_SECONDS: turn.get("first_seconds"),
        names.CALLS: sum(part.get("kind") == "call" for part in parts),
    }
    if turn["finish"] is not None:
        attributes[names.FINISH_REASONS] = (str(names.FINISHES.get(turn["finish"], turn["finish"])),)
    if turn["usage"] is not None:
        attributes |= names.describe_usage(Usage(**turn["usage"]), None)
    if content:
        attributes[names.INPUT_MESSAGES] = format_json(_decode_messages(turn["shown"]["messages"]))
        attributes[names.OUTPUT_MESSAGES] = format_json(_decode_messages([read] if read else []))
    span = TraceSpan(
        id=make_span_id(report["id"], number),
        trace_id=root.trace_id,
        parent_id=root.id,
        name=clean_text(f"chat {model.model}"),
        kind="client",
        start=start,
        end=start + _count_nanoseconds(turn["seconds"] or 0.0),
        attributes=clean_attributes(attributes),
    )
    if turn["problem"]:
        why = {names.REASON: turn["problem"]} if content else {}
        at = span.end or start
        span.events.append(SpanEvent(name="toolspeak.message_rejected", at=at, attributes=clean_attributes(why)))
    if turn["read"] is None:
        span.fail("broke_off")
    return span


def _decode_messages(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    decoded = (codec.decode({"v": codec.FORMAT, **each}) for each in messages)
    return [encode_message(each) for each in decoded if isinstance(each, Message)]


def _count_nanoseconds(seconds: float) -> int:
    return 1000 * round(seconds * 1e6)


def is_exchange(line: str) -> bool:
    """Whether a line of a file is the report of an exchange, and not a fact."""
    try:
        data: Any = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(data, dict) and "turns" in data and "api" in data
