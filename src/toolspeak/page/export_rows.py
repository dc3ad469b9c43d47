"""The short texts of a row in an exported run: the same that `row.js` draws in the page."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from toolspeak.page.rows import OutlineRow

ROLES = {"system": "System", "user": "You", "assistant": "Model", "tool": "Results"}

STOP_WORDS = {
    "answered": "Answered",
    "empty": "No answer",
    "length": "Cut off",
    "refused": "Refused",
    "limit": "Limit reached",
    "loop": "Going in circles",
    "cancelled": "Cancelled",
    "error": "Failed",
}

STAGES = {
    "writing": "not finished",
    "ready": "not run here",
    "asking": "needs approval",
    "approved": "approved",
    "refused": "refused",
    "running": "not finished",
    "done": "",
    "failed": "error",
    "malformed": "not readable",
}

SPAN_KINDS = {
    "thinking": "reasoning",
    "malformed": "refused",
    "made_up": "made up",
    "dropped": "does not count",
    "retraction": "end of reasoning",
}
"""What a part of a model's text was read as, where the word differs from that of the reader."""

USUAL_ENDS = frozenset({"stop", "tool_calls", "closed"})


class RowHead(NamedTuple):
    """What stands in the one line of a row.

    Attributes:
        label: What the row is.
        text: The beginning of its text.
        meta: Its tokens, cost and time.
        tone: Whether it is good or bad news; "" for neither.
        badges: What is remarkable, each with its tone.
    """

    label: str
    text: str
    meta: str = ""
    tone: str = ""
    badges: tuple[tuple[str, str], ...] = ()


def describe_row_head(row: OutlineRow) -> RowHead:
    """Return what stands in the one line of a row."""
    fields = row.fields
    match row.kind:
        case "message":
            role: str = fields["role"]
            return RowHead(ROLES.get(role, role), fields["text"])
        case "turn":
            label, text = f"Turn {fields['turn']}", fields.get("text", "")
            return RowHead(label, text, _describe_turn(row), badges=tuple(_list_turn_badges(row)))
        case "call":
            outcome = fields.get("error", fields.get("result"))
            arguments = f"({fields.get('arguments', '')})"
            text = arguments if outcome is None else f"{arguments}  →  {outcome}"
            is_bad = fields["stage"] in ("failed", "malformed", "refused")
            badges = tuple(_list_call_badges(row, is_bad=is_bad))
            return RowHead(fields["name"] or "a call", text, _describe_duration(row), "bad" if is_bad else "", badges)
        case "end":
            tone = "good" if fields["reason"] == "answered" else "bad"
            at = fields.get("at")
            return RowHead(
                describe_end(fields["reason"]), fields.get("text", ""), "" if at is None else describe_seconds(at), tone
            )
        case "note":
            return RowHead("Note", fields.get("text", ""))


def describe_end(reason: str) -> str:
    """Return why a run ended, in words."""
    return STOP_WORDS.get(reason, reason)


def describe_seconds(seconds: float) -> str:
    """Return a time in words."""
    if seconds < 0.1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 60 else f"{seconds // 60:.0f} min {seconds % 60:.0f} s"


def describe_tokens(read: int, written: int) -> str:
    """Return what a model has read and written. Some endpoints do not count what was read."""
    return f"{read:,} → {written:,}" if read else f"→ {written:,}"


def describe_cost(dollars: float) -> str:
    """Return a price in words."""
    if dollars < 0.00001:
        return "<$0.00001"
    return f"${dollars:.2f}" if dollars >= 0.01 else f"${dollars:.5f}".rstrip("0")


def find_duration(rows: Iterable[OutlineRow]) -> float:
    """Return the last time in an outline; 0 if times are not known."""
    times = (row.fields.get(name) for row in rows for name in ("at", "start", "ready", "end", "answered"))
    return max((time for time in times if time is not None), default=0.0)


def _describe_turn(row: OutlineRow) -> str:
    fields = row.fields
    parts: list[str] = []
    if fields.get("input_tokens") or fields.get("output_tokens"):
        parts.append(f"{describe_tokens(fields['input_tokens'], fields['output_tokens'])} tokens")
    if fields.get("cost"):
        parts.append(describe_cost(fields["cost"]))
    return " · ".join((*parts, *filter(None, [_describe_duration(row)])))


def _describe_duration(row: OutlineRow) -> str:
    start, end = row.fields.get("start", row.fields.get("ready")), row.fields.get("end")
    return "" if start is None or end is None else describe_seconds(end - start)


def _list_turn_badges(row: OutlineRow) -> Iterator[tuple[str, str]]:
    finish = row.fields.get("finish")
    if row.fields.get("void"):
        yield "void", "plain"
    elif finish is not None and finish not in USUAL_ENDS:
        yield finish, "bad"


def _list_call_badges(row: OutlineRow, *, is_bad: bool) -> Iterator[tuple[str, str]]:
    fields = row.fields
    if fields.get("repair"):
        yield "repaired", "warn"
    if fields.get("quoted"):
        yield "quoted", "warn"
    if stage := STAGES.get(fields["stage"], fields["stage"]):
        yield stage, "bad" if is_bad else "plain"
    if fields.get("void"):
        yield "void", "plain"
