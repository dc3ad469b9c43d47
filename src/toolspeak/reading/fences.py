"""Fenced blocks: where one opens, what its label is, and where it ends.

A fence opens with three or more marks (backticks, mostly) and a label on the same line. It ends at the next run of as
many marks, wherever in a line that run stands: models do not always put it on a line of its own.
"""

import re
from collections.abc import Callable

from toolspeak._frozen import frozen
from toolspeak.reading.source import Reading, Source

BLANKS_IN_LINE = re.compile(r"[ \t]*")
LABEL = re.compile(r"[\w+#-]*")
BRACED_LABEL = re.compile(r"\{\.?(\w+)\}")
ATTRIBUTE_START = re.compile(r"[\w-]+=")


@frozen
class Fence:
    """An opened fence.

    Attributes:
        marks: The marks that open the fence; as many of them close it.
        label: The label in lower case, "" without one.
        opening: All that was read of the opening line.
    """

    marks: str
    label: str
    opening: str


class FenceScanner:
    """Reads the opening, the content and the closing of a fenced block, one after the other."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def read_opening(self) -> Reading[Fence]:
        """Read the marks that come next, and their label with its attributes."""
        source = self._source
        start = source.mark()
        char = yield from source.peek(1)
        marks = yield from source.read_while(re.compile(f"{char}*"))
        label = yield from self._read_label()
        opening = source.since(start)
        source.unmark()
        return Fence(marks=marks, label=label, opening=opening)

    def _read_label(self) -> Reading[str]:
        source = self._source
        yield from source.read_while(BLANKS_IN_LINE)
        start = source.mark()
        braced = None
        if (yield from source.peek(1)) == "{":
            braced = BRACED_LABEL.match((yield from source.peek(24)))
        if braced:
            source.pos += braced.end()
            label = braced[1]
        else:
            label = yield from source.read_while(LABEL)
            if (yield from source.peek(1)) in ("(", ".", "=", ":"):
                source.rewind(start)  # code on the line of the fence
                label = ""
        source.unmark()
        if label:
            yield from source.read_while(BLANKS_IN_LINE)
            if (yield from source.peek(1)).isalpha() and ATTRIBUTE_START.match((yield from source.peek(40))):
                yield from source.read_line()
        return label.lower()

    def read_content(self, marks: str, advance: Callable[[int], None]) -> Reading[bool]:
        """Read up to the marks that close the block.

        Args:
            marks: The marks that opened the block.
            advance: Moves the source on by a number of characters, and does with them what the caller wants.

        Returns:
            Whether the block is closed; False at the end of the text.
        """
        source = self._source
        while True:
            found = source.text.find(marks[0], source.pos)
            advance((found if found >= 0 else len(source.text)) - source.pos)
            if found < 0:
                if source.ended:
                    return False
                yield
            elif (yield from source.peek(len(marks))) == marks:
                return True
            else:
                advance(1)

    def read_closing(self, marks: str) -> Reading[str]:
        """Read the run of marks that closes the block."""
        return (yield from self._source.read_while(re.compile(f"{marks[0]}*")))


@frozen
class FencedBlock:
    """A fenced block of a text.

    Attributes:
        label: The label in lower case, "" without one.
        content: What stands between the opening line and the closing marks, without the last line end.
        start: Where the opening marks begin in the text.
        end: Where the closing marks end in the text.
    """

    label: str
    content: str
    start: int
    end: int


def find_fenced_blocks(text: str) -> list[FencedBlock]:
    """Return the blocks of a whole text that are fenced with backticks and closed, in their order."""
    if "```" not in text:
        return []
    reading = _scan(text)
    while True:
        try:
            next(reading)
        except StopIteration as stop:
            return stop.value


def _scan(text: str) -> Reading[list[FencedBlock]]:
    source = Source()
    source.feed(text)
    source.ended = True
    scanner = FenceScanner(source)

    def advance(count: int) -> None:
        source.pos += count

    blocks: list[FencedBlock] = []
    while (start := text.find("```", source.pos)) >= 0:
        source.pos = start
        fence = yield from scanner.read_opening()
        if (yield from source.peek(1)) != "\n":
            # Code within a line, which other marks in the same line close.
            line_end = text.find("\n", source.pos)
            closing = text.find(fence.marks, source.pos, line_end if line_end >= 0 else len(text))
            source.pos = closing + len(fence.marks) if closing >= 0 else source.pos
            continue
        source.pos += 1
        content_start = source.pos
        if not (yield from scanner.read_content(fence.marks, advance)):
            break
        content = text[content_start : source.pos].removesuffix("\n")
        yield from scanner.read_closing(fence.marks)
        blocks.append(FencedBlock(label=fence.label, content=content, start=start, end=source.pos))
    return blocks
