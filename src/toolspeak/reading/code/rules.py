"""The rules of code: what may follow a string, and where a comma may be missing."""

import re

from toolspeak.reading.cursor import Cursor, ReadError
from toolspeak.reading.strings import QUOTES

KEYWORD_AFTER_STRING = re.compile(r"(?:if|else|for|in|as|and|or|is|not)\b|[rbuf]{0,2}[\"'`]")

UNSUPPORTED = "it uses code that is not supported"
HINT = "Write plain calls with literal values, one per line."


class CodeRules:
    """The rules of Python and TypeScript.

    Attributes:
        python: Whether the code is Python, where `//` divides. Set anew for each piece of code.
    """

    in_code = True

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self.python = False

    def can_follow_outside_brackets(self, char: str, gap: str) -> bool:
        return "\n" in gap or char in ";+-*%,.)[]}`~<#/\\=:" or bool(gap)

    def can_follow_in_brackets(self, char: str, gap: str, at: int) -> bool:
        text = self._cursor.source.text
        if char in "+%.[*-" and (gap or char in ".["):
            return True
        if gap and (char in "=!<>&|?") and not text.startswith("=>", at):
            return True
        if char == ":" and self._cursor.open[-1] == "}":
            return True
        return bool(gap) and (KEYWORD_AFTER_STRING.match(text, at) is not None or char in QUOTES)

    def check_missing_comma(self, char: str) -> None:
        # An operator that is not read would otherwise pass for the next item.
        if not (char in QUOTES or char.isalnum() or char in "_[{*"):
            raise ReadError(UNSUPPORTED, HINT)
        self._cursor.note_repair("syntax")
        self._cursor.note_doubt("comma")
