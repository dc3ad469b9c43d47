"""Words for an explanation: which rule found a call, what was repaired, why a call was refused.

The command line and the page show the same words.
"""

from collections.abc import Iterator

from toolspeak.dialects.python_notation import format_call
from toolspeak.reading.trace import MessageSpan, ReadingRule, SpanKind
from toolspeak.values.events import Repair

RULES: dict[ReadingRule, str] = {
    "line": "at the beginning of a line",
    "sentence": "right after a sentence or a call",
    "label": "after a label",
    "backticks": "in backticks after a label",
    "fence": "in a fenced block",
    "token": "after the token",
    "escaped_token": "after the escaped token",
    "tool_tag": "in a tag named like the tool,",
    "code_tag": "in a tag for code",
    "recipient": "after >>>",
    "react": "after Action:",
    "harmony": "in a message with a recipient",
}

KIND_NOTES: dict[SpanKind, str] = {
    "made_up": "a result that the model made up: no call after it counts",
    "retraction": "all text before this turned out to be reasoning",
}

REPAIRS: dict[Repair, str] = {
    "none": "read as it stands",
    "syntax": "syntax errors were repaired",
    "quotes": "quotes that do not pair were repaired",
    "closers": "missing brackets at the end were added",
    "shape": "recognized by its shape alone",
}


def describe_span(span: MessageSpan) -> Iterator[str]:
    """Yield what was read in a span, in words: its calls with the rule, repairs, refusals, names that are no tools."""
    for call in span.calls:
        yield f"{format_call(call)}, {_describe_rule(span)}"
    tiers: list[Repair] = [each.repair for each in span.repairs]
    for repair in dict.fromkeys(tiers):
        yield f"repaired: {REPAIRS[repair]}"
    for refusal in span.refusals:
        yield f"{refusal.name or 'a call'}, {_describe_rule(span)}: {refusal.reason}"
        if refusal.hint:
            yield f"hint to the model: {refusal.hint}"
    if span.kind in KIND_NOTES:
        yield KIND_NOTES[span.kind]
    if not span.refusals:
        yield from (f"there is no tool {name!r}" for name in span.unknown_tools)
    if span.near_tools:
        yield f"did you mean {' or '.join(span.near_tools)}?"
    yield from (f"not valid: {problem}" for problem in span.problems)


def _describe_rule(span: MessageSpan) -> str:
    if span.rule is None:
        return "found by no rule"
    words = RULES[span.rule]
    if span.rule == "fence" and span.detail:
        return f"{words} labelled {span.detail}"
    words = f"{words} {span.detail}" if span.detail else words
    return f"{words.rstrip()} of {span.family}" if span.family else words
