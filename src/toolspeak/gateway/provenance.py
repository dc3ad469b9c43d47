"""Values in doubt of calls that a gateway passes on.

The tools run elsewhere, so nothing is asked or blocked here. A client that says in headers whose words the results of
its tools are learns which values of a call neither the user nor the program nor its own data said
(`loop/provenance.py`): in the header of an answer that is not streamed. The report of the exchange has them, too, and
`/metrics` counts such calls.

    x-toolspeak-foreign     the tools whose results anybody may have written; `*` for all that are not named as own
    x-toolspeak-own         the tools whose results are the user's or the program's own data
    x-toolspeak-free        what is not looked at: a tool, or a parameter as `send_mail.text`
"""

import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from toolspeak.loop import fold, initial_state
from toolspeak.loop.doubts import find_doubts
from toolspeak.values.events import CallReady, Doubt, Event, RunStarted, TurnEnded, TurnStarted
from toolspeak.values.frozen import frozen
from toolspeak.values.messages import Message, Result, ToolCall
from toolspeak.values.origin import Origin
from toolspeak.values.spec import ResultOwner, ToolSpec

FOREIGN_HEADER, OWN_HEADER, FREE_HEADER = "x-toolspeak-foreign", "x-toolspeak-own", "x-toolspeak-free"

DOUBTS_HEADER = "x-toolspeak-doubts"

MAX_HEADER_CHARS = 4_000
"""Characters of the header of an answer; values that do not fit are left out, the last ones first."""


@frozen
class ToolLabels:
    """What a client says of its tools.

    Attributes:
        foreign: The tools whose results are foreign; `*` stands for all others.
        own: The tools whose results are own.
        free: Tools and parameters that are not looked at.
    """

    foreign: frozenset[str]
    own: frozenset[str] = frozenset()
    free: frozenset[str] = frozenset()

    def find_owner(self, tool: str) -> ResultOwner:
        """Return whose words the results of a tool are."""
        return "own" if tool in self.own else "foreign" if not self.foreign.isdisjoint(("*", tool)) else ""

    def label(self, spec: ToolSpec) -> ToolSpec:
        """Return a tool with its labels."""
        if spec.name in self.free:
            return replace(spec, result=self.find_owner(spec.name), decisive=())
        free = tuple(name for name in spec.parameters["properties"] if f"{spec.name}.{name}" in self.free)
        return replace(spec, result=self.find_owner(spec.name), free=free)


def read_labels(headers: Mapping[str, str]) -> ToolLabels | None:
    """Return what a client says of its tools; None if it names none whose results are foreign."""
    foreign, own, free = (_read_names(headers.get(name, "")) for name in (FOREIGN_HEADER, OWN_HEADER, FREE_HEADER))
    return ToolLabels(foreign=foreign, own=own, free=free) if foreign else None


def _read_names(text: str) -> frozenset[str]:
    return frozenset(name for each in text.split(",") if (name := each.strip()))


def find_answer_doubts(
    labels: ToolLabels, messages: Sequence[Message], tools: Sequence[ToolSpec], calls: Sequence[ToolCall]
) -> list[tuple[ToolCall, tuple[Doubt, ...]]]:
    """Return the calls of an answer with values in doubt, with these values."""
    names = {call.id: call.name for message in messages for call in message.calls}
    origins: dict[ResultOwner, Origin | None] = {"": None, "own": Origin.OWN_RESULT, "foreign": Origin.FOREIGN_RESULT}

    def label_part(part: Any) -> Any:
        if not isinstance(part, Result):
            return part
        return replace(part, origin=origins[labels.find_owner(names.get(part.call_id, ""))])

    shown = tuple(replace(each, parts=tuple(map(label_part, each.parts))) for each in messages)
    state = initial_state([labels.label(spec) for spec in tools])
    fold(state, RunStarted(run_id="", model="", dialect="", messages=shown, provenance="ask"))
    fold(state, TurnStarted(turn=1))
    found: list[tuple[ToolCall, tuple[Doubt, ...]]] = []
    for call in calls:
        spec = state.specs.get(call.name)
        fold(state, CallReady(call=call))
        doubts = () if spec is None else find_doubts(state, state.turn.calls[call.id], spec)
        if doubts:
            found.append((call, doubts))
    return found


def describe_doubts(found: Sequence[tuple[ToolCall, tuple[Doubt, ...]]]) -> list[dict[str, Any]]:
    """Return calls with values in doubt as JSON."""
    return [
        {
            "call_id": call.id,
            "tool": call.name,
            "parameter": each.parameter,
            "value": each.value,
            "reason": each.summary,
        }
        for call, doubts in found
        for each in doubts
    ]


def write_header(described: Sequence[dict[str, Any]]) -> str:
    """Return calls with values in doubt as the value of a header, as many of them as fit."""
    kept = list(described)
    while len(text := json.dumps(kept, separators=(",", ":"))) > MAX_HEADER_CHARS and kept:
        kept.pop()
    return text


async def watch_values(
    events: AsyncGenerator[list[Event]], find: Callable[[TurnEnded], None]
) -> AsyncGenerator[list[Event]]:
    """Yield the events of an answer; `find` is called with its end, before that is passed on."""
    async with aclosing(events):
        async for batch in events:
            if batch and isinstance(end := batch[-1], TurnEnded):
                find(end)
            yield batch
