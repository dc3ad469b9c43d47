"""`SentText`: the text that a client has got of the answer to one request.

A model that is asked again writes its message anew, and often begins with the same words. The client keeps what was
sent of the message before, so these words are not sent again.
"""


class SentText:
    """The text that was sent, over all messages of a model to one request."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._earlier = ""  # what was sent of earlier messages, if this one is expected to begin with it
        self._repeated_chars = 0  # how much of it this message has repeated
        self._gap = ""  # what separates the next text from the one before it

    def __str__(self) -> str:
        return "".join(self._pieces)

    def __bool__(self) -> bool:
        return bool(self._pieces)

    @property
    def is_repeated(self) -> bool:
        """Whether the message has repeated all that was sent before it."""
        return self._repeated_chars == len(self._earlier)

    def start_message(self) -> None:
        """Begin another message: it is expected to begin with the text that was sent."""
        self._earlier, self._repeated_chars = str(self), 0

    def continue_message(self) -> None:
        """Begin another message, which goes on after what was sent, in a paragraph of its own."""
        self.stop_comparing()
        self._gap = "\n\n" if self._pieces else ""

    def extend(self, text: str) -> str | None:
        """Return what is to be sent of the next text of the message; None if the message is not what was sent."""
        if not self.is_repeated:
            if self._earlier.startswith(text, self._repeated_chars):
                self._repeated_chars += len(text)
                return ""
            unrepeated = self._earlier[self._repeated_chars :]
            if not text.startswith(unrepeated):
                return None
            text = text.removeprefix(unrepeated)
            self.stop_comparing()
        if text and self._gap:
            text = text.lstrip()
        if text:
            text, self._gap = self._gap + text, ""
            self._pieces.append(text)
        return text

    def stop_comparing(self) -> None:
        """Send all further text of the message, whatever was sent before."""
        self._earlier, self._repeated_chars = "", 0

    def append(self, text: str) -> None:
        """Add text that is sent without a comparison."""
        self._earlier, self._repeated_chars = "", 0
        self._pieces.append(text)
