"""A recorded run as a sequence diagram: the user, the model and the tools, and the arrows between them.

This module turns facts into a diagram; `graph.py` and `svg.py` draw diagrams and know nothing of facts. A record may
end early: what is missing is not drawn.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from toolspeak._frozen import frozen
from toolspeak.cli.format import format_call_line, format_compaction, format_quotation, format_result, format_seconds
from toolspeak.cli.record import TimedFact
from toolspeak.cli.safe_text import escape_controls
from toolspeak.errors import UsageError
from toolspeak.events import (
    ApprovalGiven,
    ApprovalNeeded,
    CallMalformed,
    CallQuoted,
    CallReady,
    Compacted,
    RunEnded,
    RunStarted,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    TurnRestarted,
    TurnStarted,
)
from toolspeak.messages import Message

MAX_LABEL_CHARS = 80

USER, MODEL = 0, 1
"""The indexes of the first two participants."""

ArrowKind: TypeAlias = Literal["request", "response", "note"]


@frozen
class Arrow:
    """An arrow from one participant to another, or a note at one of them.

    Attributes:
        source: The index of the participant at which the arrow starts.
        target: The index of the participant at which it ends; of a note, the same as `source`.
        text: The label.
        kind: A request, a response, or a note.
    """

    source: int
    target: int
    text: str
    kind: ArrowKind = "request"


@frozen
class SequenceDiagram:
    """The participants of a run, and the arrows between them in order."""

    participants: tuple[str, ...]
    arrows: tuple[Arrow, ...]


def build_diagram(facts: Sequence[TimedFact]) -> SequenceDiagram:
    """Build the diagram of a recorded run.

    Raises:
        UsageError: The facts do not contain the start of a run.
    """
    started = next((timed.fact for timed in facts if isinstance(timed.fact, RunStarted)), None)
    if started is None:
        raise UsageError("these facts do not contain the start of a run: there is nothing to draw")
    builder = _DiagramBuilder(started)
    for timed in facts:
        builder.add_fact(timed)
    return SequenceDiagram(participants=tuple(builder.participants), arrows=tuple(builder.arrows))


class _DiagramBuilder:
    def __init__(self, started: RunStarted) -> None:
        self.participants = ["you", escape_controls(started.model)]
        self.arrows: list[Arrow] = []
        self._tools: dict[str, int] = {}  # a tool's index among the participants, by the tool's name
        self._calls: dict[str, int] = {}  # the same, by the id of a call
        self._call_started: dict[str, float] = {}
        self._turn_started: float | None = None

    def add_fact(self, timed: TimedFact) -> None:
        at = timed.at
        match timed.fact:
            case RunStarted(messages=messages):
                self._add_arrow(USER, MODEL, _last_prompt(messages))
            case TurnStarted():
                self._turn_started = at
            case TurnRestarted(failed=failed, model=model, reason=reason):
                self._add_arrow(MODEL, MODEL, f"asking {model}, since {failed} failed: {reason}", "note")
            case Compacted():
                self._add_arrow(MODEL, MODEL, format_compaction(timed.fact), "note")
            case CallReady(call=call):
                tool = self._calls[call.id] = self._participant(escape_controls(call.name))
                self._add_arrow(MODEL, tool, format_call_line(call))
            case CallQuoted():
                self._add_arrow(MODEL, MODEL, format_quotation(timed.fact), "note")
            case CallMalformed(name=name, reason=reason):
                self._add_arrow(MODEL, MODEL, f"{name or 'a call'} could not be read: {reason}", "note")
            case TurnEnded():
                self._end_turn(timed.fact, at)
            case ApprovalNeeded(call=call):
                self._add_arrow(MODEL, USER, f"may I call {call.name}?")
            case ApprovalGiven(approved=approved, reason=reason):
                text = "yes" if approved else f"no: {reason}" if reason else "no"
                self._add_arrow(USER, MODEL, text, "response")
            case ToolStarted(call_id=call_id):
                if at is not None:
                    self._call_started[call_id] = at
            case ToolFinished(result=result):
                duration = _duration(self._call_started.get(result.call_id), at)
                text = format_result(result) if result.error is None else f"error: {format_result(result)}"
                if result.call_id in self._calls:
                    self._add_arrow(self._calls[result.call_id], MODEL, text, "response", duration)
            case RunEnded(reason=reason, detail=detail) if reason != "answered":
                self._add_arrow(MODEL, MODEL, f"stopped ({reason}): {detail}".removesuffix(": "), "note")
            case _:
                pass

    def _end_turn(self, fact: TurnEnded, at: float | None) -> None:
        text = fact.message.text.strip()
        duration = _duration(self._turn_started, at)
        if fact.message.calls:
            tokens = f"{fact.usage.input_tokens} + {fact.usage.output_tokens} tokens"
            self._add_arrow(MODEL, MODEL, f"turn: {tokens}", "note", duration)
        elif text:
            self._add_arrow(MODEL, USER, text, "response", duration)

    def _participant(self, tool: str) -> int:
        """Return the index of a tool among the participants, and add it if it is new."""
        if tool not in self._tools:
            self._tools[tool] = len(self.participants)
            self.participants.append(tool)
        return self._tools[tool]

    def _add_arrow(
        self, source: int, target: int, text: str, kind: ArrowKind = "request", duration: float | None = None
    ) -> None:
        line = " ".join(escape_controls(text).split())
        label = line if len(line) <= MAX_LABEL_CHARS else f"{line[: MAX_LABEL_CHARS - 1]}…"
        if duration is not None:
            label = f"{label} ({format_seconds(duration)})"
        self.arrows.append(Arrow(source=source, target=target, text=label, kind=kind))


def _last_prompt(messages: tuple[Message, ...]) -> str:
    return next((message.text for message in reversed(messages) if message.role == "user"), "")


def _duration(start: float | None, end: float | None) -> float | None:
    return None if start is None or end is None else max(end - start, 0.0)
