"""Explains how a message is read: every part of it, with the rule that read it; and that as JSON."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from toolspeak.reading.emitter import MessageContent, encode_value, fold
from toolspeak.reading.reader import Reader
from toolspeak.reading.trace import MessageSpan, Trace
from toolspeak.values.coercion import coerce_arguments
from toolspeak.values.events import FinishReason
from toolspeak.values.frozen import frozen
from toolspeak.values.messages import ToolCall
from toolspeak.values.spec import ToolSpec
from toolspeak.values.validation import find_problems, nearest

MAX_PROBLEMS = 8
"""Problems of a call that are named."""


@frozen
class Explanation:
    """How a message was parsed.

    Attributes:
        text: The message.
        spans: The parts of the message. They follow each other without gaps, from its beginning to its end.
        content: The content of the message, as `read` returns it.
    """

    text: str
    spans: tuple[MessageSpan, ...]
    content: MessageContent


def explain(
    text: str, specs: Sequence[ToolSpec], *, strict: bool = False, finish: FinishReason = "stop"
) -> Explanation:
    r"""Parse a whole message as the text dialects do, and explain what each part of it was parsed as, and why.

    Args:
        text: The text of the message.
        specs: The tools on offer.
        strict: Refuse calls that had to be repaired.
        finish: How the message ended. A call that is cut off at the end is completed only if the message ended well.

    Examples:
        >>> schema = {"type": "object", "properties": {}}
        >>> spec = ToolSpec(name="now", description="The time.", parameters=schema)
        >>> spans = explain("Let me see.\n<tool_call>now()</tool_call>", [spec]).spans
        >>> [(span.kind, span.rule, span.start, span.end) for span in spans]
        [('prose', None, 0, 12), ('skipped', None, 12, 23), ('call', 'token', 23, 28), ('skipped', None, 28, 40)]
    """
    trace = Trace()
    reader = Reader(specs, strict=strict, trace=trace)
    content = fold([*reader.feed(text), *reader.close(finish)])
    by_name = {spec.name: spec for spec in specs}
    spans = tuple(_check_span(span, by_name) for span in trace.spans(text))
    return Explanation(text=text, spans=spans, content=content)


def _check_span(span: MessageSpan, specs: Mapping[str, ToolSpec]) -> MessageSpan:
    """Return a span with the tools that may have been meant, and with the problems of its arguments."""
    near = dict.fromkeys(tool for name in span.unknown_tools if (tool := nearest(name, specs)))
    problems = tuple(f"{call.name}: {line}" for call in span.calls for line in _check_arguments(call, specs[call.name]))
    return replace(span, near_tools=tuple(near), problems=problems) if near or problems else span


def _check_arguments(call: ToolCall, spec: ToolSpec) -> Iterator[str]:
    schema = {"additionalProperties": False, **spec.parameters}  # a schema that does not say so allows any other key
    arguments = coerce_arguments(dict(call.arguments), schema)  # as before the tool runs
    return islice(find_problems(arguments, schema, schema), MAX_PROBLEMS)


def encode_explanation(explanation: Explanation) -> dict[str, Any]:
    """Return an explanation as JSON data. A field that is empty is left out of its span."""
    ids = [ready.call.id for ready in explanation.content.calls]
    places = {call_id: place for place, call_id in enumerate(ids)}
    return {"text": explanation.text, "spans": [_encode_span(span, places) for span in explanation.spans]}


def _encode_span(span: MessageSpan, places: dict[str, int]) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "rule": span.rule,
        "detail": span.detail,
        "family": span.family,
        "calls": [
            {"place": places[call.id], "name": call.name, "arguments": encode_value(call.arguments, places)}
            for call in span.calls
        ],
        "refusals": [{"name": each.name, "reason": each.reason, "hint": each.hint} for each in span.refusals],
        "repairs": [{"repair": each.repair, "at": each.at} for each in span.repairs],
        "unknown_tools": list(span.unknown_tools),
        "near_tools": list(span.near_tools),
        "problems": list(span.problems),
    }
    kept = {key: value for key, value in fields.items() if value}
    return {"start": span.start, "end": span.end, "kind": span.kind, **kept}
