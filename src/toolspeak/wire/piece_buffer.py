"""Pieces of one read from the network, neighbours joined: what came together is told together."""

from typing import Literal

from toolspeak.events import TextDelta, ThinkingDelta
from toolspeak.pieces import CallPiece, Piece


class PieceBuffer:
    """Takes pieces one by one and hands them out joined."""

    def __init__(self) -> None:
        self._pieces: list[Piece] = []
        self._sort: Literal["text", "thinking", "call", ""] = ""
        self._texts: list[str] = []
        self._call = (0, "", "")

    def text(self, text: str) -> None:
        """More text."""
        if self._sort != "text":
            self._settle()
            self._sort = "text"
        self._texts.append(text)

    def thinking(self, text: str) -> None:
        """More reasoning."""
        if self._sort != "thinking":
            self._settle()
            self._sort = "thinking"
        self._texts.append(text)

    def call(self, index: int, call_id: str, name: str, arguments: str) -> None:
        """More of a call; its id and name are told once."""
        if self._sort != "call" or self._call[0] != index or call_id or name:
            self._settle()
            self._sort = "call"
            self._call = (index, call_id, name)
        self._texts.append(arguments)

    def take(self) -> list[Piece]:
        """All that was gathered since the last time."""
        self._settle()
        pieces, self._pieces = self._pieces, []
        return pieces

    def _settle(self) -> None:
        if not self._sort:
            return
        text = "".join(self._texts)
        self._texts.clear()
        if self._sort == "text":
            self._pieces.append(TextDelta(text=text))
        elif self._sort == "thinking":
            self._pieces.append(ThinkingDelta(text=text))
        else:
            index, call_id, name = self._call
            self._pieces.append(CallPiece(index=index, id=call_id, name=name, arguments=text))
        self._sort = ""
