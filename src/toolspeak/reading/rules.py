"""Where data (JSON and nearly JSON) and code differ, for the readers that read both.

Strings and brackets are read by the same classes in data and in code. What differs between the two is asked of a
`SyntaxRules` object: `DataRules` here, `CodeRules` in `code/rules.py`.
"""

import re
from typing import Protocol

from toolspeak.reading.cursor import Cursor

AFTER_VALUE = re.compile(r"</?[\w|｜:▁]|\\[nrt\r\n]|(?:```|~~~)|<!--|//|/\*|#")
"""A tag, an escaped blank, a fence or a comment: each can follow a value without a comma."""


class SyntaxRules(Protocol):
    """What may stand where.

    Attributes:
        in_code: Whether code is read: comments, trailing commas and single quotes are sound there.
        python: Whether `//` divides and does not begin a comment.
    """

    in_code: bool
    python: bool

    def can_follow_outside_brackets(self, char: str, gap: str) -> bool:
        """Whether `char`, after the blanks `gap`, can follow a string where no bracket is open."""
        ...

    def can_follow_in_brackets(self, char: str, gap: str, at: int) -> bool:
        """Whether `char`, at index `at` of the source's text, can follow a string in sound code, inside brackets."""
        ...

    def check_missing_comma(self, char: str) -> None:
        """Note, or refuse, an item that begins with `char` and has no comma before it."""
        ...


class DataRules:
    """The rules of JSON and nearly JSON."""

    in_code = False
    python = False

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor

    def can_follow_outside_brackets(self, char: str, gap: str) -> bool:
        return True

    def can_follow_in_brackets(self, char: str, gap: str, at: int) -> bool:
        return False

    def check_missing_comma(self, char: str) -> None:
        self._cursor.note_repair("syntax")
        self._cursor.note_doubt("comma")


def can_follow_after_repair(text: str, char: str, gap: str, at: int) -> bool:
    """Whether `text[at:]` can follow a value if a repair is made: a `+`, a closing tag, a fence, a comment."""
    if char == "+":
        return True
    found = AFTER_VALUE.match(text, at)
    if found is None:
        return False
    return found[0][0] not in "/#" or bool(gap)
