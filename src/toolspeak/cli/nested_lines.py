"""How the facts of an inner run, of an agent that is a tool, look in the transcript: whole lines, indented by depth.

Inner runs may happen at the same time, so their texts are shown when they are complete.
"""

from collections.abc import Iterator

from toolspeak.cli.format import format_call_line, format_compaction, format_result
from toolspeak.cli.safe_text import escape_controls, escape_prose
from toolspeak.events import (
    ApprovalGiven,
    CallMalformed,
    CallReady,
    Compacted,
    HandedOver,
    NestedFact,
    OwnFact,
    RunEnded,
    ToolFinished,
    TurnEnded,
    TurnRestarted,
)

INDENT = "  "


def format_nested(nested: NestedFact) -> Iterator[str]:
    """Yield the lines that show a fact of an inner run; most facts have none."""
    indent = INDENT * len(nested.path)
    for line in _format_fact(nested.event):
        yield f"{indent}│ {line}"


def _format_fact(fact: OwnFact) -> Iterator[str]:
    match fact:
        case CallReady(call=call):
            yield f"tool: {format_call_line(call)}"
        case CallMalformed(name=name, reason=reason):
            yield escape_controls(f"{name or 'a call'} could not be read: {reason}")
        case ToolFinished(result=result):
            sign = "→" if result.error is None else "✗"
            yield from f"  {sign} {format_result(result)}".split("\n")
        case TurnEnded(message=message) if text := message.text.strip():
            yield from f"assistant: {escape_prose(text)}".split("\n")
        case ApprovalGiven(approved=False, reason=reason):
            yield escape_controls(f"  the call was refused: {reason}".removesuffix(": "))
        case Compacted():
            yield format_compaction(fact)
        case HandedOver(agent=agent):
            yield escape_controls(f"  handed over to {agent}")
        case TurnRestarted(failed=failed, model=model):
            yield escape_controls(f"(the answer of {failed} broke off and does not count; asking {model})")
        case RunEnded(reason=reason, detail=detail) if reason != "answered":
            yield escape_controls(f"stopped ({reason}): {detail}".removesuffix(": "))
        case _:
            pass
