"""A recorded run as a sequence diagram: the user, the model and the tools, and the arrows between them.

This module turns facts into a diagram; `graph.py` and `svg.py` draw diagrams and know nothing of facts. A record may
end early: what is missing is not drawn. An agent that is a tool is one participant, and its own tools are further ones,
named `agent/tool`.
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
    Fact,
    HandedOver,
    NestedFact,
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
    """Collects the participants and the arrows of a run and of its inner runs."""

    def __init__(self, started: RunStarted) -> None:
        self.participants = ["you", escape_controls(started.model)]
        self.arrows: list[Arrow] = []
        self._runs: dict[tuple[str, ...], _RunDrawer] = {(): _RunDrawer(self, MODEL)}

    def add_fact(self, timed: TimedFact) -> None:
        if isinstance(timed.fact, NestedFact):
            if (drawer := self._find_inner(timed.fact.path)) is not None:
                drawer.add_fact(timed.fact.event, timed.at)
        else:
            self._runs[()].add_fact(timed.fact, timed.at)

    def _find_inner(self, path: tuple[str, ...]) -> "_RunDrawer | None":
        """Return what draws the inner run of a call; None if the record lacks the call."""
        if path not in self._runs:
            outer = self._runs.get(path[:-1])
            agent = None if outer is None else outer.find_tool(path[-1])
            if agent is None:
                return None
            self._runs[path] = _RunDrawer(self, agent, prefix=f"{self.participants[agent]}/")
        return self._runs[path]

    def find_participant(self, name: str) -> int:
        """Return the index of a participant, and add it if it is new."""
        if name not in self.participants[MODEL + 1 :]:
            self.participants.append(name)
        return self.participants.index(name, MODEL + 1)


class _RunDrawer:
    """Draws the facts of one run: of the recorded one, or of an agent that one of its calls asks."""

    def __init__(self, builder: _DiagramBuilder, model: int, *, prefix: str = "") -> None:
        """Begin to draw a run.

        Args:
            builder: Takes the arrows.
            model: The index of the participant that makes the calls of this run.
            prefix: What stands before the names of the tools; empty for the recorded run.
        """
        self._builder = builder
        self._model = model
        self._prefix = prefix
        self._calls: dict[str, int] = {}  # the index of a tool among the participants, by the id of a call
        self._call_started: dict[str, float] = {}
        self._turn_started: float | None = None

    def find_tool(self, call_id: str) -> int | None:
        """Return the index of the tool of a call; None if there was no such call."""
        return self._calls.get(call_id)

    def add_fact(self, fact: Fact, at: float | None) -> None:
        model = self._model
        match fact:
            case RunStarted():
                self._start_run(fact)
            case TurnStarted():
                self._turn_started = at
            case TurnRestarted(failed=failed, model=name, reason=reason):
                self._add_arrow(model, model, f"asking {name}, since {failed} failed: {reason}", "note")
            case Compacted():
                self._add_arrow(model, model, format_compaction(fact), "note")
            case CallReady(call=call):
                tool = self._builder.find_participant(f"{self._prefix}{escape_controls(call.name)}")
                self._calls[call.id] = tool
                self._add_arrow(model, tool, format_call_line(call))
            case CallQuoted():
                self._add_arrow(model, model, format_quotation(fact), "note")
            case CallMalformed(name=name, reason=reason):
                self._add_arrow(model, model, f"{name or 'a call'} could not be read: {reason}", "note")
            case TurnEnded():
                self._end_turn(fact, at)
            case ApprovalNeeded(call=call):
                self._add_arrow(model, USER, f"may I call {call.name}?")
            case ApprovalGiven(approved=approved, reason=reason):
                text = "yes" if approved else f"no: {reason}" if reason else "no"
                self._add_arrow(USER, model, text, "response")
            case ToolStarted(call_id=call_id):
                if at is not None:
                    self._call_started[call_id] = at
            case ToolFinished(result=result):
                duration = _duration(self._call_started.get(result.call_id), at)
                text = format_result(result) if result.error is None else f"error: {format_result(result)}"
                if result.call_id in self._calls:
                    self._add_arrow(self._calls[result.call_id], model, text, "response", duration)
            case HandedOver(agent=agent):
                self._add_arrow(model, model, f"handed over to {agent}", "note")
            case RunEnded(reason=reason, detail=detail) if reason != "answered":
                self._add_arrow(model, model, f"stopped ({reason}): {detail}".removesuffix(": "), "note")
            case _:
                pass

    def _start_run(self, started: RunStarted) -> None:
        if self._model == MODEL:
            self._add_arrow(USER, MODEL, _last_prompt(started.messages))
        else:  # the prompt is the argument of the call
            self._add_arrow(self._model, self._model, f"asks {started.model}", "note")

    def _end_turn(self, fact: TurnEnded, at: float | None) -> None:
        text = fact.message.text.strip()
        duration = _duration(self._turn_started, at)
        if fact.message.calls:
            tokens = f"{fact.usage.input_tokens} + {fact.usage.output_tokens} tokens"
            self._add_arrow(self._model, self._model, f"turn: {tokens}", "note", duration)
        elif text and self._model == MODEL:  # the answer of an inner run is the result of its call
            self._add_arrow(MODEL, USER, text, "response", duration)

    def _add_arrow(
        self, source: int, target: int, text: str, kind: ArrowKind = "request", duration: float | None = None
    ) -> None:
        line = " ".join(escape_controls(text).split())
        label = line if len(line) <= MAX_LABEL_CHARS else f"{line[: MAX_LABEL_CHARS - 1]}…"
        if duration is not None:
            label = f"{label} ({format_seconds(duration)})"
        self._builder.arrows.append(Arrow(source=source, target=target, text=label, kind=kind))


def _last_prompt(messages: tuple[Message, ...]) -> str:
    return next((message.text for message in reversed(messages) if message.role == "user"), "")


def _duration(start: float | None, end: float | None) -> float | None:
    return None if start is None or end is None else max(end - start, 0.0)
