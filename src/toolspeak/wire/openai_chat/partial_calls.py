"""Puts the calls of a streamed answer together from pieces, which servers number and name in different ways."""

import json
from typing import Any

from toolspeak.messages import Extra
from toolspeak.pieces import ApiCall
from toolspeak.wire.json_data import arguments_as_text, as_object, as_text
from toolspeak.wire.piece_buffer import PieceBuffer

_KNOWN_FIELDS = frozenset({"index", "id", "type", "function"})


class PartialCall:
    """A call of which pieces are still arriving. `is_emitted` once its id and name have been handed on."""

    __slots__ = ("arguments", "extra", "id", "index", "is_emitted", "name")

    def __init__(self, index: int) -> None:
        self.index = index
        self.id = ""
        self.name = ""
        self.arguments: list[str] = []
        self.extra: dict[str, Any] = {}
        self.is_emitted = False

    @property
    def is_complete(self) -> bool:
        """Whether the arguments are complete JSON."""
        if not self.arguments or not self.arguments[-1].rstrip().endswith("}"):
            return False
        try:
            json.loads("".join(self.arguments))
        except (ValueError, RecursionError):
            return False
        return True


_NO_CALL = PartialCall(-1)


class PartialCalls:
    """The calls of a message.

    A piece belongs to the call with the same `index`; without an index, to the call with the same id; without both, to
    the last call. But where a server numbers every call 0 or gives no ids, a piece starts a new call if it brings a
    name that does not fit the call that was found. A name may arrive in pieces, or be repeated in each piece. So a call
    is emitted with its first arguments, when its name is complete.
    """

    def __init__(self, out: PieceBuffer) -> None:
        self._out = out
        self._calls: list[PartialCall] = []
        self._by_index: dict[int, PartialCall] = {}
        self._last = _NO_CALL

    def read(self, piece: dict[str, Any]) -> str:
        """Read one piece of a call, and emit it. If it has nothing but arguments, return them; else an empty text."""
        given, function = piece.get("id"), as_object(piece.get("function"))
        call_id = as_text(given) if given else ""
        name = as_text(function["name"]) if "name" in function else ""
        call = self._find_call(piece.get("index"), call_id, name)
        call.id = call.id or call_id
        if name != call.name:
            call.name += name
        if has_extra := not piece.keys() <= _KNOWN_FIELDS:
            call.extra |= _find_extra(piece)
        self._last = call
        if arguments := arguments_as_text(function.get("arguments")):
            self.add_arguments(arguments)
        return "" if call_id or name or has_extra else arguments

    def add_arguments(self, arguments: str) -> None:
        """Add arguments to the call that was read last, and emit them."""
        call = self._last
        call.arguments.append(arguments)
        if call.is_emitted:
            self._out.add_call(call.index, "", "", arguments)
        else:
            self._emit(call, arguments)

    def end(self) -> None:
        """End the message: emit the calls that have no arguments."""
        for call in self._calls:
            if not call.is_emitted:
                self._emit(call, "")

    def build(self, vendor: str) -> list[ApiCall]:
        """Return the calls, as far as they arrived."""
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

    def _emit(self, call: PartialCall, arguments: str) -> None:
        call.is_emitted = True
        self._out.add_call(call.index, call.id, call.name, arguments)

    def _find_call(self, index: Any, call_id: str, name: str) -> PartialCall:
        if isinstance(index, int):
            call = self._by_index.get(index)
            if call is None or (name and self._is_other_call(call, call_id, name)):
                call = self._by_index[index] = self._add_call()
            return call
        if call_id:
            known = next((call for call in self._calls if call.id == call_id), None)
            return known or self._add_call()
        if not self._calls:
            return self._add_call()
        last = self._calls[-1]
        return self._add_call() if name and (self._is_other_call(last, "", name) or last.is_complete) else last

    def _is_other_call(self, call: PartialCall, call_id: str, name: str) -> bool:
        """Whether a piece with this id and name cannot belong to `call`."""
        if call_id and call.id and call_id != call.id:
            return True
        return bool(call.arguments) and name != call.name

    def _add_call(self) -> PartialCall:
        call = PartialCall(len(self._calls))
        self._calls.append(call)
        return call


def read_whole_call(call: dict[str, Any], index: int, vendor: str) -> ApiCall:
    """Read a call of a whole answer. Its place in the list of calls is its index."""
    function = as_object(call.get("function"))
    extra = {} if call.keys() <= _KNOWN_FIELDS else _find_extra(call)
    return ApiCall(
        index=index,
        id=as_text(call.get("id")),
        name=as_text(function.get("name")),
        arguments=arguments_as_text(function.get("arguments")),
        extra=Extra(vendor=vendor, data=extra) if extra else None,
    )


def _find_extra(call: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a call that are kept for the vendor."""
    return {key: value for key, value in call.items() if key not in _KNOWN_FIELDS and value is not None}
