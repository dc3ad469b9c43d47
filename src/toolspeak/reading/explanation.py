"""Explains how a message is read: every part of it, with the rule that read it; and that as JSON."""

from collections.abc import Sequence
from typing import Any

from toolspeak._frozen import frozen
from toolspeak.events import FinishReason
from toolspeak.reading.content import MessageContent, encode_value, fold
from toolspeak.reading.reader import Reader
from toolspeak.reading.trace import MessageSpan, Trace
from toolspeak.spec import ToolSpec


@frozen
class Explanation:
    """How a message was read.

    Attributes:
        text: The message.
        spans: The parts of the message. They follow each other without gaps, from its beginning to its end.
        content: What the message contains, as `read` gives it.
    """

    text: str
    spans: tuple[MessageSpan, ...]
    content: MessageContent


def explain(
    text: str, specs: Sequence[ToolSpec], *, strict: bool = False, finish: FinishReason = "stop"
) -> Explanation:
    r"""Read a whole message as the text dialects do, and say what each part of it was read as, and why.

    Args:
        text: The text of the message.
        specs: The tools on offer.
        strict: Refuse calls that had to be repaired.
        finish: How the message ended. A call that the end cuts off is completed only if the message ended well.

    Examples:
        >>> spec = ToolSpec(name="now", description="The time.", parameters={"type": "object", "properties": {}})
        >>> spans = explain("Let me see.\n<tool_call>now()</tool_call>", [spec]).spans
        >>> [(span.kind, span.rule, span.start, span.end) for span in spans]
        [('prose', None, 0, 12), ('skipped', None, 12, 23), ('call', 'token', 23, 28), ('skipped', None, 28, 40)]
    """
    trace = Trace()
    reader = Reader(specs, strict=strict, trace=trace)
    content = fold([*reader.feed(text), *reader.close(finish)])
    return Explanation(text=text, spans=trace.spans(text), content=content)


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
    }
    kept = {key: value for key, value in fields.items() if value}
    return {"start": span.start, "end": span.end, "kind": span.kind, **kept}
