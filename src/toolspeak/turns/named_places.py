"""Where a text names a tool, however the name is spelt there.

A text is folded as the reader of answers folds names (`reading/names.py`), and the name is looked for in the folded
text. So no spelling is read as the name of a tool and missed here. Of what stands around the name, only letters and
digits are looked at, which make it another name.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from toolspeak.reading.names import fold_name


class Place(NamedTuple):
    """Where a text names a tool. `start` and `end` are those of the name as it is written there."""

    start: int
    end: int


class ToolName(NamedTuple):
    """The name of a tool.

    Attributes:
        name: The name.
        forms: The name and the last part of it, folded: a text that names the tool holds one of them when it is folded.
    """

    name: str
    forms: tuple[str, ...]


class FoldedText:
    """A text in which the names of tools are searched for, whatever their spelling."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._folded = fold_name(text)
        self._found: dict[ToolName, list[Place]] = {}

    def find(self, tool: ToolName) -> list[Place]:
        """Return where the text names a tool, in order. A longer name that only contains it is passed over."""
        if tool not in self._found:
            places = (place for form in tool.forms for place in self._find_form(form))
            self._found[tool] = sorted(set(places))
        return self._found[tool]

    def respell(self, tool: ToolName) -> str:
        """Return the text with the name of a tool in its own spelling: a model that quotes may correct it."""
        pieces: list[str] = []
        done = 0
        for start, end in self.find(tool):
            if start >= done:
                pieces += [self._text[done:start], tool.name]
                done = end
        return "".join([*pieces, self._text[done:]])

    def _find_form(self, form: str) -> Iterator[Place]:
        text, found = self._text, self._folded.find(form)
        while found >= 0:
            start, end = self._find_source(found), self._find_source(found + len(form) - 1) + 1
            while end < len(text) and not fold_name(text[end]):  # separators behind the name belong to it
                end += 1
            if not (_is_plain(text[start - 1 : start]) or _is_plain(text[end : end + 1])):
                yield Place(start, end)
            found = self._folded.find(form, found + 1)

    def _find_source(self, place: int) -> int:
        """Return the place of the character from which one of the folded text was made."""
        folded, sources, lengths = self._irregular
        number = bisect_right(folded, place) - 1
        if number < 0:
            return place
        beyond = place - folded[number] - lengths[number]
        return sources[number] + (1 + beyond if beyond >= 0 else 0)

    @cached_property
    def _irregular(self) -> tuple[list[int], list[int], list[int]]:
        """The characters that are folded into none or several: where they stand folded, where in the text, how many."""
        folded: list[int] = []
        sources: list[int] = []
        lengths: list[int] = []
        added = 0
        irregular = {char: len(form) for char in set(self._text) if len(form := fold_name(char)) != 1}
        for found in re.finditer(f"[{re.escape(''.join(irregular))}]", self._text) if irregular else ():
            place, length = found.start(), irregular[found[0]]
            folded.append(place + added)
            sources.append(place)
            lengths.append(length)
            added += length - 1
        return folded, sources, lengths


def _is_plain(char: str) -> bool:
    """Whether a character continues a name. Other letters may be those of a sentence without spaces."""
    return char.isascii() and char.isalnum()


def fold_tool(tool: str) -> ToolName:
    """Return the name of a tool with the forms by which it is found."""
    forms = dict.fromkeys((fold_name(tool), fold_name(tool.rpartition(".")[2])))
    return ToolName(tool, tuple(form for form in forms if form) or (tool,))
