"""`PieceBuffer`: joins neighbouring pieces of one read from the network, so that they are handed on as one."""

from typing import Literal

from toolspeak.events import TextDelta, ThinkingDelta
from toolspeak.pieces import CallPiece, Piece


class PieceBuffer:
    """Collects pieces, and joins neighbours of the same kind."""

    def __init__(self) -> None:
        self._pieces: list[Piece] = []
        self._kind: Literal["text", "thinking", "call", ""] = ""  # of the piece that is being joined
        self._texts: list[str] = []
        self._call = (0, "", "")

    def add_text(self, text: str) -> None:
        """Add text of the answer."""
        if self._kind != "text":
            self._flush()
            self._kind = "text"
        self._texts.append(text)

    def add_thinking(self, text: str) -> None:
        """Add reasoning."""
        if self._kind != "thinking":
            self._flush()
            self._kind = "thinking"
        self._texts.append(text)

    def add_call(self, index: int, call_id: str, name: str, arguments: str) -> None:
        """Add a piece of a call. Only its first piece has the id and the name."""
        if self._kind != "call" or self._call[0] != index or call_id or name:
            self._flush()
            self._kind = "call"
            self._call = (index, call_id, name)
        self._texts.append(arguments)

    def take(self) -> list[Piece]:
        """Return the pieces that were added since the last call."""
        self._flush()
        pieces, self._pieces = self._pieces, []
        return pieces

    def _flush(self) -> None:
        if not self._kind:
            return
        text = "".join(self._texts)
        self._texts.clear()
        if self._kind == "text":
            self._pieces.append(TextDelta(text=text))
        elif self._kind == "thinking":
            self._pieces.append(ThinkingDelta(text=text))
        else:
            index, call_id, name = self._call
            self._pieces.append(CallPiece(index=index, id=call_id, name=name, arguments=text))
        self._kind = ""
