"""Fenced blocks: where one opens, what its label is, and where it ends.

A fence opens with three or more marks (backticks, mostly) and a label on the same line. It ends at the next run of as
many marks, wherever in a line that run stands: models do not always put it on a line of its own. Every block may
hold calls, unless its label says that it is text. A block that is labelled with the name of a tool for raw texts is
itself a call (`raw_calls.py`).
"""

import re
from collections.abc import Callable

from toolspeak.reading.calls import CallReader
from toolspeak.reading.forms import CODE_LABELS, DATA_LABELS, RESULT_LABELS
from toolspeak.reading.prose import ProseEmitter
from toolspeak.reading.source import Reading, Source, run_to_end
from toolspeak.reading.strings import BLANKS, FULL_WIDTH
from toolspeak.values.frozen import frozen

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
    return run_to_end(_scan(text))


def _scan(text: str) -> Reading[list[FencedBlock]]:
    source = Source.hold_whole(text)
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


class FencedCallReader:
    """Reads the calls of fenced blocks, and passes blocks without calls on as prose."""

    def __init__(self, prose: ProseEmitter, calls: CallReader) -> None:
        self._source = prose.source
        self._emitter = prose.emitter
        self._prose = prose
        self._calls = calls
        self._fences = FenceScanner(prose.source)

    def read_block(self) -> Reading[None]:
        """Read the fenced block that opens here. Its fence is shown only if the block holds no call."""
        if (yield from self._calls.raw.read_block()):
            self._prose.after_call = True
            self._prose.start_line()
            return
        fence = yield from self._fences.read_opening()
        if fence.label in RESULT_LABELS and self._emitter.has_call:
            self._emitter.muted = True
        if fence.label and fence.label not in CODE_LABELS and fence.label not in DATA_LABELS:
            self._prose.show(fence.opening)
            yield from self.read_rest(fence.marks, shown=True)
            return
        self._emitter.hold(fence.opening)
        self._emitter.enter("fence", fence.label)
        self._calls.cursor.block_end = fence.marks
        count = yield from self._read_content(fence.label)
        self._calls.cursor.block_end = ""
        self._emitter.release()
        yield from self.read_rest(fence.marks, shown=not count or self._emitter.held_was_shown)
        self._prose.after_call = bool(count)

    def _read_content(self, label: str) -> Reading[int]:
        """Read the calls at the beginning of a block; their number."""
        source = self._source
        mark = source.mark()
        yield from source.read_while(BLANKS)
        char = yield from source.peek(1)
        count = 0
        has_comment = char in ("/", "#", "\\") and label in DATA_LABELS
        may_be_data = has_comment or FULL_WIDTH.get(char, char) in ("{", "[", '"', "<", "(")
        if may_be_data and source.may_rewind:
            count = yield from self._calls.read_sequence(explicit=False)
        if not count:
            source.return_to(mark)
        if not count and not label.startswith("json"):
            count = yield from self._calls.code.read_block(python=label.startswith(("py", "ipy", "tool_code")))
        return count

    def read_code(self, *, python: bool) -> Reading[None]:
        """Read code that a tag encloses, up to its end."""
        self._calls.cursor.block_end = "</code>"
        count = yield from self._calls.code.read_block(python=python)
        self._calls.cursor.block_end = ""
        self._prose.after_call = bool(count)
        self._prose.start_line()

    def read_rest(self, marks: str, *, shown: bool) -> Reading[None]:
        """Read the rest of a block with its closing fence, as prose or, if not `shown`, as nothing."""
        advance = self._prose.show_next if shown else self._prose.skip_next
        if (yield from self._fences.read_content(marks, advance)):
            closing = yield from self._fences.read_closing(marks)
            self._prose.show(closing if shown else "")
            self._prose.start_line()
