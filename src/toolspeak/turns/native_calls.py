"""Calls that an API itself marks as calls, assembled from their pieces and read."""

import json
import math
import re
from collections.abc import Container, Iterable, Mapping
from typing import Any, NoReturn, cast

from toolspeak.reading.names import index_names
from toolspeak.reading.reader import Reader
from toolspeak.reading.source import Budget
from toolspeak.reading.values import MAX_VALUE_NESTING
from toolspeak.values.coercion import coerce_arguments
from toolspeak.values.events import ENDED_WELL, ArgsDelta, CallMalformed, CallReady, CallStarted, Event, FinishReason
from toolspeak.values.messages import ToolCall
from toolspeak.values.pieces import ApiCall, CallPiece
from toolspeak.values.spec import ToolSpec
from toolspeak.values.validation import nearest

MAX_ID_CHARS = 200
"""Characters of an id beyond which an API would not accept it in a later request."""

JSON_BLANKS = " \t\n\r"
MARKS = re.compile(r'["\\{}\[\]]')
MARKS_IN_STRING = re.compile(r'["\\]')


class NativeCalls:
    """The API's own calls of one answer, by their index in the answer.

    An id begins with `prefix` where the API gave none that can be used. `taken` are the ids of earlier calls. `budget`
    counts the work of repairing and coercing arguments, in all calls of the answer.
    """

    def __init__(self, specs: Mapping[str, ToolSpec], *, prefix: str, taken: Container[str], budget: Budget) -> None:
        self._specs = specs
        self._budget = budget
        self._prefix = prefix
        self._taken = taken
        self._given: set[str] = set()  # the ids of calls of this answer
        self._calls: dict[int, _CallBuffer] = {}

    def __len__(self) -> int:
        return len(self._calls)

    @property
    def chars(self) -> int:
        return sum(call.chars for call in self._calls.values())

    def feed(self, piece: CallPiece, events: list[Event]) -> None:
        """Add a piece, and the new events to `events`. A call is ready once its arguments are complete."""
        call = self._call(piece.index)
        call.api_id = call.api_id or piece.id
        call.name += piece.name
        if call.last_event is not None:  # the arguments were complete already
            call.chars += len(piece.arguments)
        elif piece.arguments:
            self._start(call, events)
            events.append(ArgsDelta(call_id=call.id, text=piece.arguments))
            call.hold(piece.arguments)
            if call.find_end(piece.arguments) and (event := self._read_json(call)) is not None:
                call.last_event = event
                events.append(event)

    def end(self, whole: ApiCall, finish: FinishReason, events: list[Event]) -> None:
        """End a call with the message, and add the events that are still missing to `events`."""
        call = self._call(whole.index)
        if call.last_event is not None:
            return
        call.api_id, call.name = call.api_id or whole.id, whole.name or call.name
        self._start(call, events)
        is_whole = not call.chars and call.tool is not None  # nearly always JSON: its end need not be looked for
        if rest := whole.arguments[call.chars :]:
            call.hold(rest)
            if not is_whole:
                call.find_end(rest)
            events.append(ArgsDelta(call_id=call.id, text=rest))
        # Missing arguments are an empty object, but not if the message was cut before they came.
        event = None
        if finish in ENDED_WELL or call.text.strip() or call.tool is None:
            event = self._read_json(call)
            if event is None and is_whole and call.find_end(rest):
                event = self._read_json(call)
        call.last_event = event or _repair(call, self._specs[call.tool or ""], finish, self._budget)
        events.append(call.last_event)

    def last_event(self, index: int) -> CallReady | CallMalformed | None:
        """Return the event that completed a call, None before that."""
        return self._calls[index].last_event

    def api_calls(self) -> list[ApiCall]:
        """Return all calls as far as they have arrived."""
        return [
            ApiCall(index=index, id=call.api_id, name=call.name, arguments=call.text)
            for index, call in sorted(self._calls.items())
        ]

    def _call(self, index: int) -> "_CallBuffer":
        return self._calls.get(index) or self._calls.setdefault(index, _CallBuffer())

    def _start(self, call: "_CallBuffer", events: list[Event]) -> None:
        """Give a call its id and its tool, and add `CallStarted` to `events`, unless the call was started before."""
        if call.id:
            return
        call.id = self._choose_id(call.api_id)
        call.tool = call.name if call.name in self._specs else index_names(tuple(self._specs)).resolve(call.name)
        events.append(CallStarted(call_id=call.id, name=call.tool or call.name))

    def _choose_id(self, api_id: str) -> str:
        """Return the id that the API gave, if no other call has it; else an id of our own."""
        number = len(self._calls)
        chosen = api_id if len(api_id) <= MAX_ID_CHARS else ""
        while not chosen or chosen in self._taken or chosen in self._given:
            chosen = f"{self._prefix}_{number}"
            number += 1
        self._given.add(chosen)
        return chosen

    def _read_json(self, call: "_CallBuffer") -> CallReady | CallMalformed | None:
        """Read a call whose arguments begin with one JSON object; text after the object is ignored.

        Returns:
            None if the arguments are not JSON, or are nested too deeply.
        """
        text = call.object
        if call.tool is None:
            similar = nearest(call.name, tuple(self._specs))
            hint = f"Did you mean {similar}?" if similar else f"The tools are: {', '.join(self._specs) or 'none'}."
            reason = f"there is no tool {call.name[:80]!r}"
            return CallMalformed(call_id=call.id, name=call.name, raw=text, reason=reason, hint=hint)
        spec = self._specs[call.tool]
        try:
            given = _decode(text) if text.strip() else None
            budget = self._budget.coercion.include(given)
            arguments: Any = coerce_arguments({} if given is None else given, spec.parameters, budget)
        except (ValueError, RecursionError):  # not JSON
            return None
        if not isinstance(arguments, dict) or _is_deep(text, arguments):
            return None
        written = "" if given is None or arguments is given or arguments == given else text
        ready = ToolCall(id=call.id, name=spec.name, arguments=cast("dict[str, Any]", arguments))
        return CallReady(call=ready, written=written)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _finite_float(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse(text)


_decode_first = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite_float).raw_decode


def _decode(text: str) -> Any:
    """Return the value of a JSON text."""
    text = text.strip(JSON_BLANKS)
    value, end = _decode_first(text)
    return value if end == len(text) else _refuse(text)


def _is_deep(text: str, arguments: Any) -> bool:
    """Whether arguments are nested more deeply than the code that handles them later can follow."""
    if text.count("[") + text.count("{") <= MAX_VALUE_NESTING:
        return False
    level: list[Any] = [arguments]
    for _ in range(MAX_VALUE_NESTING + 1):
        level = [value for each in level for value in _children(each)]
    return bool(level)


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return cast("dict[str, Any]", value).values()
    return cast("list[Any]", value) if isinstance(value, list) else ()


class _CallBuffer:
    """One call while it arrives. Follows strings and brackets to know when the arguments are complete.

    Attributes:
        api_id: The id that the API gave.
        id: The id that the call has here, once it has been started.
        name: The name as it was written.
        tool: The tool of that name, None if there is no such tool.
        last_event: The event that completed the call.
        chars: The length of the arguments so far.
    """

    __slots__ = (
        "_depth", "_end", "_escaped", "_in_string", "_pieces", "api_id", "chars", "id", "last_event", "name", "tool",
    )  # fmt: skip

    def __init__(self) -> None:
        self.api_id = ""
        self.id = ""
        self.name = ""
        self.tool: str | None = None
        self.last_event: CallReady | CallMalformed | None = None
        self.chars = 0
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
        """The first object or list of the arguments, if it is complete; else all of their text."""
        return self.text[: self._end]

    def hold(self, text: str) -> None:
        """Add more of the arguments, without looking for their end."""
        self._pieces.append(text)
        self.chars += len(text)

    def find_end(self, text: str) -> bool:
        """Look for the end of the arguments in the text that was added last; whether they end in it."""
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
                    self._end = self.chars - len(text) + place
                    return True
        return False


def _repair(call: _CallBuffer, spec: ToolSpec, finish: FinishReason, budget: Budget) -> CallReady | CallMalformed:
    """Read arguments that are not quite JSON as generously as a call in text is read."""
    text = call.text
    reader = Reader([spec], budget=budget)
    events = [*reader.feed(f'{{"name": {json.dumps(spec.name)}, "arguments": {text}}}'), *reader.close(finish)]
    ready = [event for event in events if isinstance(event, CallReady)]
    if len(ready) == 1 and finish in ENDED_WELL:
        repaired = ToolCall(id=call.id, name=spec.name, arguments=ready[0].call.arguments)
        repair = "syntax" if ready[0].repair == "none" else ready[0].repair
        return CallReady(call=repaired, repair=repair, written=text)
    reason = "its arguments are not complete" if finish == "length" else "its arguments are not a JSON object"
    hint = "Make the call again, with its arguments as one complete JSON object."
    return CallMalformed(call_id=call.id, name=spec.name, raw=text, reason=reason, hint=hint)
