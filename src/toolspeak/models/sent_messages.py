"""`SentMessages`: the messages of a conversation as they were written for its last request.

A conversation only grows, and a request repeats all of it. So each message is written as JSON once, and not once more
for each request after it.
"""

from collections.abc import Callable

from toolspeak.messages import Message


class SentMessages:
    """The JSON of the messages in the last request of a run.

    A message is recognized by its identity at the same place: messages never change, and those of the last request are
    kept here.
    """

    def __init__(self) -> None:
        self._write: Callable[[Message], str] | None = None
        self._messages: tuple[Message, ...] = ()
        self._texts: list[str] = []

    def write(self, messages: tuple[Message, ...], write: Callable[[Message], str]) -> list[str]:
        """Return the JSON of each message. What the last request had with the same `write` is not written again."""
        known = zip(self._messages, self._texts, strict=True) if write is self._write else ()
        texts = [text if old is new else write(new) for new, (old, text) in zip(messages, known, strict=False)]
        texts += map(write, messages[len(texts) :])
        self._write, self._messages, self._texts = write, messages, texts
        return texts
