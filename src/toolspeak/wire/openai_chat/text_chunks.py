"""`TextChunks`: reads a chunk of a stream that differs from an earlier chunk only in one text.

Servers write a chunk for each token, of the answer or of the arguments of a call, and repeat everything else in it: id,
time, model, empty fields. So the JSON before the text and the JSON after it are compared as they stand, and only the
text between them is decoded.
"""

import json

_raw_decode = json.JSONDecoder().raw_decode


class TextChunks:
    """Knows how the last chunk that had only a text in a certain field was written."""

    def __init__(self, field: str) -> None:
        self._key = f'"{field}"'
        self._head = ""  # up to the quote before the text
        self._tail = ""  # from behind the quote after it

    def learn(self, data: str, text: str) -> None:
        """Remember how a chunk was written that had this text and nothing else to read."""
        if data.count(self._key) != 1:
            return
        quote = data.find('"', data.find(self._key) + len(self._key))
        found, end = _raw_decode(data, quote)
        if found == text:
            self._head, self._tail = data[: quote + 1], data[end:]

    def forget(self) -> None:
        """Forget how a chunk was written."""
        self._head = ""

    def read(self, data: str) -> str | None:
        """Return the text of a chunk that is written in the same way; None if it is not."""
        if not self._head or not data.startswith(self._head) or not data.endswith(self._tail):
            return None
        try:
            text, end = _raw_decode(data, len(self._head) - 1)
        except ValueError:
            return None
        return text if end + len(self._tail) == len(data) else None
