"""`Mentions`: whether a value stands in some texts."""

import re
from typing import Any, NamedTuple

AROUND_CHARS = 60
"""Characters that are shown on both sides of a value that was found."""


class Mention(NamedTuple):
    """Where a value stands: the number of the text, in the order in which texts were added, and the words around it."""

    text: int
    around: str


class Mentions:
    """An index over texts."""

    def __init__(self) -> None:
        self._texts: list[tuple[str, str]] = []

    def add(self, text: str) -> None:
        """Add a text."""
        self._texts.append((text, _fold(text)))

    def has(self, value: Any) -> bool:
        """Whether a scalar stands in one of the texts."""
        return self.find(value) is not None

    def find(self, value: Any) -> Mention | None:
        """Return where a scalar stands; None if it stands nowhere."""
        sought = _fold(value if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else str(value))
        if not sought:
            return None
        for number, (text, folded) in enumerate(self._texts):
            place = folded.find(sought)
            while place >= 0:
                end = place + len(sought)
                begins = not sought[0].isalnum() or place == 0 or not folded[place - 1].isalnum()
                ends = not sought[-1].isalnum() or end == len(folded) or not folded[end].isalnum()
                if begins and ends:
                    found = text.casefold().find(sought.split(" ")[0])
                    start = max(found - AROUND_CHARS, 0)
                    return Mention(number, " ".join(text[start : found + len(sought) + AROUND_CHARS].split()))
                place = folded.find(sought, place + 1)
        return None


def _fold(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip().casefold()
