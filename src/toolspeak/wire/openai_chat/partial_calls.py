"""The calls of an answer, put together from what servers make of the API."""

import json
from typing import Any

from toolspeak.messages import Extra
from toolspeak.pieces import ApiCall
from toolspeak.wire.json_data import arguments_text, object_in, text_in
from toolspeak.wire.piece_buffer import PieceBuffer

_KNOWN = frozenset({"index", "id", "type", "function"})


class PartialCall:
    """A call that is being said."""

    __slots__ = ("arguments", "extra", "id", "index", "name", "told")

    def __init__(self, index: int) -> None:
        self.index = index
        self.id = ""
        self.name = ""
        self.arguments: list[str] = []
        self.extra: dict[str, Any] = {}
        self.told = False

    @property
    def is_whole(self) -> bool:
        if not self.arguments or not self.arguments[-1].rstrip().endswith("}"):
            return False
        try:
            json.loads("".join(self.arguments))
        except (ValueError, RecursionError):
            return False
        return True


class PartialCalls:
    """The calls of a message.

    A piece belongs to the call with its `index`; without one, to the call with its id; without either, to the last one.
    It begins a new call all the same where a server numbers every call 0 or gives no ids: if it brings a name that the
    call found cannot have any more. A name may come in pieces or be said again in each: it is told with the first
    arguments, when it can grow no more.
    """

    def __init__(self, out: PieceBuffer) -> None:
        self._out = out
        self._calls: list[PartialCall] = []
        self._by_index: dict[int, PartialCall] = {}

    def read(self, piece: dict[str, Any]) -> None:
        function = object_in(piece.get("function"))
        call_id, name = text_in(piece.get("id")), text_in(function.get("name"))
        call = self._find(piece.get("index"), call_id, name)
        call.id = call.id or call_id
        if name != call.name:
            call.name += name
        if not piece.keys() <= _KNOWN:
            call.extra |= {key: value for key, value in piece.items() if key not in _KNOWN and value is not None}
        if arguments := arguments_text(function.get("arguments")):
            call.arguments.append(arguments)
            if call.told:
                self._out.call(call.index, "", "", arguments)
            else:
                self._tell(call, arguments)

    def end(self) -> None:
        """No more will come: tell the calls that have no arguments."""
        for call in self._calls:
            if not call.told:
                self._tell(call, "")

    def spoken(self, vendor: str) -> list[ApiCall]:
        return [
            ApiCall(
                index=call.index,
                id=call.id,
                name=call.name,
                arguments="".join(call.arguments),
                extra=Extra(vendor=vendor, data=call.extra) if call.extra else None,
            )
            for call in self._calls
        ]

    def _tell(self, call: PartialCall, arguments: str) -> None:
        call.told = True
        self._out.call(call.index, call.id, call.name, arguments)

    def _find(self, index: Any, call_id: str, name: str) -> PartialCall:
        if isinstance(index, int):
            call = self._by_index.get(index)
            if call is None or (name and self._is_another(call, call_id, name)):
                call = self._by_index[index] = self._new()
            return call
        if call_id:
            known = next((call for call in self._calls if call.id == call_id), None)
            return known or self._new()
        if not self._calls:
            return self._new()
        last = self._calls[-1]
        return self._new() if name and (self._is_another(last, "", name) or last.is_whole) else last

    def _is_another(self, call: PartialCall, call_id: str, name: str) -> bool:
        """Whether a piece with a name cannot be of `call`."""
        if call_id and call.id and call_id != call.id:
            return True
        return bool(call.arguments) and name != call.name

    def _new(self) -> PartialCall:
        call = PartialCall(len(self._calls))
        self._calls.append(call)
        return call
