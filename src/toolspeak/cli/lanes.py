"""A finished run as arrows between lanes: you, the model, and each tool. What draws it knows nothing of facts.

Facts may come from a file that was cut: what is missing is not drawn.
"""

from collections.abc import Sequence
from typing import Literal

from toolspeak._frozen import frozen
from toolspeak.cli.display import call_line, result_text, seconds, visible
from toolspeak.cli.record import Moment
from toolspeak.errors import UsageError
from toolspeak.events import (
    ApprovalGiven,
    ApprovalNeeded,
    CallMalformed,
    CallReady,
    RunEnded,
    RunStarted,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from toolspeak.messages import Message

LABEL = 80
"""Letters of a label."""

YOU, MODEL = 0, 1


@frozen
class Arrow:
    """Something that passes from one lane to another, or a note where it stays in its own."""

    source: int
    target: int
    text: str
    sort: Literal["asks", "answers", "note"] = "asks"


@frozen
class Lanes:
    """A run: who takes part, and what passes between them, in order."""

    names: tuple[str, ...]
    arrows: tuple[Arrow, ...]


def lanes_of(moments: Sequence[Moment]) -> Lanes:
    """The run that facts tell of."""
    started = next((moment.fact for moment in moments if isinstance(moment.fact, RunStarted)), None)
    if started is None:
        raise UsageError("these facts hold no beginning of a run: there is nothing to draw")
    reading = _Reading(started)
    for moment in moments:
        reading.read(moment)
    return Lanes(names=tuple(reading.names), arrows=tuple(reading.arrows))


class _Reading:
    def __init__(self, started: RunStarted) -> None:
        self.names = ["you", visible(started.model)]
        self.arrows: list[Arrow] = []
        self._lanes: dict[str, int] = {}  # by the name of the tool
        self._calls: dict[str, int] = {}  # by the id of the call
        self._begun: dict[str, float] = {}
        self._turn_begun: float | None = None

    def read(self, moment: Moment) -> None:
        at = moment.at
        match moment.fact:
            case RunStarted(messages=messages):
                self._add(YOU, MODEL, _asked(messages))
            case TurnStarted():
                self._turn_begun = at
            case CallReady(call=call):
                lane = self._calls[call.id] = self._lane(visible(call.name))
                self._add(MODEL, lane, call_line(call))
            case CallMalformed(name=name, reason=reason):
                self._add(MODEL, MODEL, f"{name or 'a call'} could not be read: {reason}", "note")
            case TurnEnded():
                self._turn_ended(moment.fact, at)
            case ApprovalNeeded(call=call):
                self._add(MODEL, YOU, f"may I call {call.name}?")
            case ApprovalGiven(approved=approved, reason=reason):
                self._add(YOU, MODEL, "yes" if approved else f"no: {reason}" if reason else "no", "answers")
            case ToolStarted(call_id=call_id):
                if at is not None:
                    self._begun[call_id] = at
            case ToolFinished(result=result):
                took = _since(self._begun.get(result.call_id), at)
                text = result_text(result) if result.error is None else f"error: {result_text(result)}"
                if result.call_id in self._calls:
                    self._add(self._calls[result.call_id], MODEL, text, "answers", took)
            case RunEnded(reason=reason, detail=detail) if reason != "answered":
                self._add(MODEL, MODEL, f"stopped ({reason}): {detail}".removesuffix(": "), "note")
            case _:
                pass

    def _turn_ended(self, fact: TurnEnded, at: float | None) -> None:
        text = fact.message.text.strip()
        took = _since(self._turn_begun, at)
        if fact.message.calls:
            used = f"{fact.usage.input_tokens} + {fact.usage.output_tokens} tokens"
            self._add(MODEL, MODEL, f"turn: {used}", "note", took)
        elif text:
            self._add(MODEL, YOU, text, "answers", took)

    def _lane(self, name: str) -> int:
        if name not in self._lanes:
            self._lanes[name] = len(self.names)
            self.names.append(name)
        return self._lanes[name]

    def _add(
        self,
        source: int,
        target: int,
        text: str,
        sort: Literal["asks", "answers", "note"] = "asks",
        took: float | None = None,
    ) -> None:
        line = " ".join(visible(text).split())
        short = line if len(line) <= LABEL else f"{line[: LABEL - 1]}…"
        label = short if took is None else f"{short} ({seconds(took)})"
        self.arrows.append(Arrow(source=source, target=target, text=label, sort=sort))


def _asked(messages: tuple[Message, ...]) -> str:
    return next((message.text for message in reversed(messages) if message.role == "user"), "")


def _since(begun: float | None, at: float | None) -> float | None:
    return None if begun is None or at is None else max(at - begun, 0.0)
