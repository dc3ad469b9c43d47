"""Prose that is recognised by a look at it, so that no reader need be built for it.

Most messages that hold no call are such prose: their first line begins with a word that another word or a punctuation
mark follows, and nothing in them looks like a token. Only a reader that looks for announced calls may be left out from
there on: calls that no token announces can follow prose.
"""

import re

from toolspeak.reading.bare_calls import BINDERS, INDENT, WORD
from toolspeak.reading.prose import MAX_LABEL_CHARS
from toolspeak.reading.reader import TOKEN_STARTS

FIRST_WORD = rf"[ \t\n]*([^\W\d_]{WORD.pattern})"
OPENING = re.compile(rf"{FIRST_WORD}(?:[ \t]+[^\W_]|[,!?;'’-])")
"""The beginning of a message that is prose, unless its first word is one of `CODE_WORDS`."""

UNCERTAIN_OPENING = re.compile(rf"(?:{FIRST_WORD}[ \t]*|[ \t\n]*)")
"""A beginning after which the message may or may not be prose. It is prose if the message ends there."""

CODE_WORDS = BINDERS | {"commentary"}
"""Words that another word follows in code or in a header."""

MARKS = re.compile(rf"[`{{{re.escape(''.join(sorted(TOKEN_STARTS)))}]|\n{INDENT.pattern}t")
"""Where more than prose may begin for a reader of announced calls; a line with a `t` may be a header (`to=…`)."""

HEADER_START = re.compile(rf"{INDENT.pattern}t")


class PlainProse:
    """Follows a message for as long as it is plain prose, and does not have to be read.

    Attributes:
        has_begun: Whether the message has begun with prose, so that it is not a message of nothing but calls.
        held: The text that has not been shown.
        line: The beginning of the line in which the message is, as far as it has been shown.
        shown_chars: The number of characters that have been shown.
    """

    __slots__ = ("has_begun", "held", "line", "shown_chars")

    def __init__(self) -> None:
        self.has_begun = False
        self.held = ""
        self.line = ""
        self.shown_chars = 0

    def feed(self, text: str) -> str | None:
        """Take text that has arrived; return what can be shown, or None if a reader must read `held` and what follows.

        The text that can be shown is "" while it is not certain that the message begins with prose.
        """
        text = self.held + text
        self.held = text
        if not self.has_begun:
            opening = OPENING.match(text)
            if opening is None or opening[1] in CODE_WORDS:
                return "" if UNCERTAIN_OPENING.fullmatch(text) else None
            self.has_begun = True
        if MARKS.search(text) or (HEADER_START.match(text) and INDENT.fullmatch(self.line)):
            return None
        self.held = ""
        _, line_end, rest = text.rpartition("\n")
        if line_end:
            self.line = ""
        if len(self.line) <= MAX_LABEL_CHARS:
            self.line += rest
        self.shown_chars += len(text)
        return text
