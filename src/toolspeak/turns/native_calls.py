"""Calls that an API itself marks as such, put together from their pieces and understood."""

import json
import math
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, cast

from toolspeak.coercion import coerce_arguments
from toolspeak.events import ENDED_WELL, ArgsDelta, CallMalformed, CallReady, CallStarted, Event, FinishReason
from toolspeak.messages import ToolCall
from toolspeak.pieces import ApiCall, CallPiece
from toolspeak.reading.names import Names
from toolspeak.reading.reader import Reader
from toolspeak.reading.values import DEPTH
from toolspeak.spec import ToolSpec
from toolspeak.validation import nearest

LONGEST_ID = 200
"""Characters of an id beyond which it is none that an API would take back."""

MARKS = re.compile(r'["\\{}\[\]]')
MARKS_IN_STRING = re.compile(r'["\\]')


class NativeCalls:
    """The calls of one answer, by their index in it. Ids in `taken` are those of earlier calls."""

    def __init__(self, specs: Mapping[str, ToolSpec], *, prefix: str, taken: Collection[str]) -> None:
        self._specs = specs
        self._prefix = prefix
        self._taken = set(taken)
        self._calls: dict[int, _Call] = {}

    def __len__(self) -> int:
        return len(self._calls)

    @property
    def letters(self) -> int:
        return sum(call.letters for call in self._calls.values())

    def feed(self, piece: CallPiece) -> list[Event]:
        """One more piece. A call is told as complete when its arguments are, not when the message is."""
        call = self._call(piece.index)
        call.said_id = call.said_id or piece.id
        call.name += piece.name
        if call.told is not None:  # it was complete already
            call.letters += len(piece.arguments)
            return []
        if not piece.arguments:
            return []
        events = self._started(call)
        events.append(ArgsDelta(call_id=call.id, text=piece.arguments))
        if call.add(piece.arguments) and (told := self._plainly(call)) is not None:
            call.told = told
            events.append(told)
        return events

    def end(self, spoken: ApiCall, finish: FinishReason) -> list[Event]:
        """The whole call, when the message has ended; what has not been told of it is told now."""
        call = self._call(spoken.index)
        call.said_id, call.name = call.said_id or spoken.id, spoken.name or call.name
        events = self._started(call)
        if call.told is None:
            if rest := spoken.arguments[call.letters :]:
                call.add(rest)
                events.append(ArgsDelta(call_id=call.id, text=rest))
            call.told = self._plainly(call) or _mended(call.id, self._specs[call.tool or ""], call.text, finish)
            events.append(call.told)
        return events

    def told(self, index: int) -> CallReady | CallMalformed | None:
        """What was told of a call, once it is complete."""
        return self._calls[index].told

    def spoken(self) -> list[ApiCall]:
        """All calls as far as they were heard."""
        return [
            ApiCall(index=index, id=call.said_id, name=call.name, arguments=call.text)
            for index, call in sorted(self._calls.items())
        ]

    def _call(self, index: int) -> "_Call":
        if index not in self._calls:
            self._calls[index] = _Call()
        return self._calls[index]

    def _started(self, call: "_Call") -> list[Event]:
        if call.id:
            return []
        call.id = self._own_id(call.said_id)
        call.tool = call.name if call.name in self._specs else Names(self._specs).resolve(call.name)
        return [CallStarted(call_id=call.id, name=call.tool or call.name)]

    def _own_id(self, said: str) -> str:
        """The id that the API gave, if it can be told from all others; else one of our own."""
        number = len(self._calls)
        fresh = said if len(said) <= LONGEST_ID else ""
        while not fresh or fresh in self._taken:
            fresh = f"{self._prefix}_{number}"
            number += 1
        self._taken.add(fresh)
        return fresh

    def _plainly(self, call: "_Call") -> CallReady | CallMalformed | None:
        """The call, if its arguments begin with one JSON object; what follows that object does not count."""
        text = call.object
        if call.tool is None:
            similar = nearest(call.name, tuple(self._specs))
            hint = f"Did you mean {similar}?" if similar else f"The tools are: {', '.join(self._specs) or 'none'}."
            reason = f"there is no tool {call.name[:80]!r}"
            return CallMalformed(call_id=call.id, name=call.name, raw=text, reason=reason, hint=hint)
        spec = self._specs[call.tool]
        try:
            said = _decoded(text) if text.strip() else None
            arguments: Any = coerce_arguments({} if said is None else said, spec.parameters)
        except (ValueError, RecursionError):  # not JSON
            return None
        if not isinstance(arguments, dict) or _is_deep(text, arguments):
            return None
        return CallReady(call=ToolCall(id=call.id, name=spec.name, arguments=cast("dict[str, Any]", arguments)))


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refused(text) or number


_decoded = json.JSONDecoder(parse_constant=_refused, parse_float=_finite).decode


def _is_deep(text: str, arguments: Any) -> bool:
    """Whether it is nested more deeply than whoever handles it later could follow."""
    if text.count("[") + text.count("{") <= DEPTH:
        return False
    level: list[Any] = [arguments]
    for _ in range(DEPTH + 1):
        level = [value for each in level for value in _inside(each)]
    return bool(level)


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return cast("dict[str, Any]", value).values()
    return cast("list[Any]", value) if isinstance(value, list) else ()


class _Call:
    """One call as it is being said. Watches strings and brackets to know when its arguments are complete."""

    def __init__(self) -> None:
        self.said_id = ""
        self.id = ""
        self.name = ""
        self.tool: str | None = None
        self.told: CallReady | CallMalformed | None = None
        self.letters = 0
        self._pieces: list[str] = []
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self._end: int | None = None

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    @property
    def object(self) -> str:
        """The first object or list of its arguments, if it is complete; else all there is."""
        return self.text[: self._end]

    def add(self, text: str) -> bool:
        """More of its arguments; whether they are complete with it, and were not before."""
        self._pieces.append(text)
        self.letters += len(text)
        if self._end is not None:
            return False
        place = 1 if self._escaped else 0
        self._escaped = False
        while mark := (MARKS_IN_STRING if self._in_string else MARKS).search(text, place):
            place = mark.end()
            sign = mark[0]
            if sign == '"':
                self._in_string = not self._in_string
            elif sign == "\\":
                self._escaped = place == len(text)
                place += 1
            else:
                self._depth += 1 if sign in "{[" else -1
                if self._depth <= 0:
                    self._end = self.letters - len(text) + place
                    return True
        return False


def _mended(call_id: str, spec: ToolSpec, text: str, finish: FinishReason) -> CallReady | CallMalformed:
    """Arguments that are nearly JSON, read as generously as a call in prose is; the call, or why it cannot be one."""
    reader = Reader([spec])
    events = [*reader.feed(f'{{"name": {json.dumps(spec.name)}, "arguments": {text}}}'), *reader.close(finish)]
    ready = [event for event in events if isinstance(event, CallReady)]
    if len(ready) == 1 and finish in ENDED_WELL:
        call = ToolCall(id=call_id, name=spec.name, arguments=ready[0].call.arguments)
        return CallReady(call=call, repair="syntax" if ready[0].repair == "none" else ready[0].repair)
    reason = "its arguments are not complete" if finish == "length" else "its arguments are not a JSON object"
    hint = "Make the call again, with its arguments as one complete JSON object."
    return CallMalformed(call_id=call_id, name=spec.name, raw=text, reason=reason, hint=hint)
