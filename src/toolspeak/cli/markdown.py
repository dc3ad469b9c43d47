"""Renders markdown as it arrives: chunks of text go in, spans with a style come out, and no span is ever taken back.

So nothing flickers, and no text is lost in a narrow window. A line is held until its kind is known (heading, list item,
…); within it, a word is held until it ends, and emphasis or a link until it is closed. A table is held until its last
line has arrived, since the widths of its columns depend on every row. How the text is cut into chunks makes no
difference. Markup that is not understood stays as it is.

The text is a model's, which may repeat what a stranger wrote, so the work for it is linear whatever it is. Nothing is
searched for beyond a fixed number of characters (the limits below), what was drawn is not looked at again, and a link
is followed by a machine that takes each character once. `Work` counts the characters that were looked at.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from itertools import groupby
from typing import Literal, NamedTuple

from rich import box
from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.table import Table
from rich.text import Text

MAX_START_CHARS = 200  # A line whose kind is not known after so many characters is plain text
MAX_EMPHASIS_CHARS = 200  # emphasis that is not closed within so many characters is plain text
MAX_LINK_CHARS = 2_000  # A link that is not closed within so many characters is plain text
MAX_TABLE_LINES = 500  # A longer table is drawn in parts, of which only the first has a header
MAX_TABLE_CHARS = 50_000  # The same; a longer row is plain text
MAX_WORD_CHARS = 10_000  # A longer word is broken even where the window is wider
MIN_COLUMN_CELLS = 6  # A table with less room for each column is not drawn

CODE_STYLE = "cyan"

TAB = "    "  # what a tab is drawn as, in every column: the next tab stop would depend on how the text was cut

_UNDECIDED_START = re.compile(r"[ \t\u3000]*(?:(?:[#`~*+>_-]+|[•・]|\d{1,9}[.)．）、]?)[ \t\u3000]*)?")
_RULE_START = re.compile(r"[ \t]*([-*_])(?:[ \t]|\1)*")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]+")
_BULLET = re.compile(r"([ \t]*)[-*+]([ \t]+)")
_WIDE_BULLET = re.compile(r"([ \t\u3000]*)[•・][ \t\u3000]*")  # Chinese and Japanese have no space after it
_NUMBER = re.compile(r"[ \t]*\d{1,9}[.)][ \t]+|[ \t\u3000]*\d{1,9}[．）、][ \t\u3000]*")
_QUOTED = re.compile(r"[ \t]*>+[ \t]*")
_TABLE_START = re.compile(r"[ \t]*\|")
_TABLE_RULE = re.compile(r"[ \t]*:?-+:?[ \t]*")

_PLAIN = re.compile(r"[^*_`\\\[!]+")
_TICKS = re.compile(r"`+")
_MARK = re.compile(r"[*_]")
_WORD = re.compile(r"[*_0-9A-Za-z]")
_ADDRESS_END = re.compile(r"[\s>]")
_ESCAPED = frozenset("\\`*_{}[]()#+-.!<>|~")


class Span(NamedTuple):
    """Text in one style, to be written where the cursor stands."""

    text: str
    style: str = ""


class Work:
    """Counts the characters that were looked at, those that were looked at again included."""

    def __init__(self) -> None:
        self.chars = 0


def draw_table(lines: Sequence[str], width: int, work: Work) -> list[list[Span]] | None:
    """Draw the lines of a table for a window of this width; None if they are no table or do not fit the width."""
    if len(lines) < 2:
        return None
    rows = [_split_cells(line) for line in lines]
    if len(rows[0]) != len(rows[1]) or not all(map(_TABLE_RULE.fullmatch, rows[1])):
        return None
    if width < len(rows[0]) * MIN_COLUMN_CELLS:
        return None
    table = Table(box=box.MINIMAL, show_edge=False, pad_edge=False, header_style="bold")
    for title, separator in zip(rows[0], rows[1], strict=True):
        left, right = separator.startswith(":"), separator.endswith(":")
        justify = "center" if left and right else "right" if right else "left"
        table.add_column(Text.assemble(*read_spans(title, "", work)), justify=justify, overflow="fold")
    for row in rows[2:]:
        padded = [*row, *[""] * len(rows[0])][: len(rows[0])]
        table.add_row(*(Text.assemble(*read_spans(cell, "", work)) for cell in padded))
    return list(_render(table, width))


def _split_cells(line: str) -> list[str]:
    cells = re.split(r"(?<!\\)\|", line.strip().removeprefix("|"))
    if not cells[-1].strip() and len(cells) > 1:  # the pipe at the end of the line
        cells.pop()
    return [cell.strip().replace("\\|", "|") for cell in cells]


def _render(table: Table, width: int) -> Iterator[list[Span]]:
    console = Console(file=StringIO(), width=width, color_system=None, markup=False, emoji=False, highlight=False)
    for line in console.render_lines(table, pad=False):
        spans = [(segment.text, str(segment.style or "")) for segment in line]
        while spans and not spans[-1][0].strip():
            spans.pop()
        if spans:
            spans[-1] = (spans[-1][0].rstrip(), spans[-1][1])
        yield [Span(text, "" if style == "none" else style) for text, style in spans]


class MarkdownParser:
    """Parses markdown line by line into spans. The end of a line is a span of its own.

    Attributes:
        indent: The columns by which wrapped lines of the present paragraph are indented.
        is_code: Whether the present line is code, whose spaces are kept.
        work: The work that was done for the text.
    """

    def __init__(self, width: int) -> None:
        self.indent = 0
        self.is_code = False
        self.work = Work()
        self._width = width
        self._table: list[str] = []  # lines that may be a table and are not yet returned
        self._table_chars = 0
        self._row: list[str] | None = None  # the chunks of this line, if it belongs to a table
        self._start = ""  # the part of this line that has arrived, while its kind is not known
        self._inline: InlineReader | None = None  # what reads this line, once its kind is known
        self._is_skipped = False  # whether the rest of this line is not drawn
        self._style = ""
        self._fence = ""

    def feed(self, text: str) -> Iterator[Span]:
        """Parse the next chunk of text."""
        *whole, rest = text.replace("\r\n", "\n").split("\n")
        for line in whole:
            yield from self._read_line(line, ended=True)
        yield from self._read_line(rest, ended=False)

    def close(self) -> Iterator[Span]:
        """Parse the end of the text."""
        if self._start or self._row is not None or self._inline is not None:
            yield from self._read_line("", ended=True, last=True)
        yield from self._flush_table()
        self._start, self._row, self._inline, self._is_skipped, self._fence = "", None, None, False, ""

    def _read_line(self, chunk: str, *, ended: bool, last: bool = False) -> Iterator[Span]:
        """Read the next chunk of a line, which is the last one of this line if the line has `ended`."""
        if self._row is not None:
            self._row.append(chunk)
        elif self._inline is not None:
            yield from self._inline.feed(chunk, ended=ended)
        elif not self._is_skipped:
            line, self._start = self._start + chunk, ""
            self.work.chars += len(line)
            if not ended and self._needs_more(line):
                self._start = line
                return
            yield from self._begin_line(line, ended=ended)
        if not ended:
            return
        if self._row is not None:
            yield from self._end_row("".join(self._row))
        elif self._inline is not None and not last:
            yield Span("\n")
        self._row, self._inline, self._is_skipped = None, None, False

    def _needs_more(self, line: str) -> bool:
        """Whether the kind of this line depends on text that has not arrived."""
        if len(line) > MAX_START_CHARS:
            return False
        if self._fence:
            return not line.strip().strip(self._fence[0])
        return bool(_UNDECIDED_START.fullmatch(line) or _RULE_START.fullmatch(line))

    def _begin_line(self, line: str, *, ended: bool) -> Iterator[Span]:
        """Recognize the kind of this line by its beginning, and return what can be drawn of it."""
        if not self._fence and _TABLE_START.match(line, 0, MAX_START_CHARS):
            self._row = [line]
            return
        yield from self._flush_table()
        before = self._read_start(line, ended=ended)
        if before is None:
            self._is_skipped = True
            return
        spans, size = before
        yield from spans
        self._inline = InlineReader(self._style, self.work, is_code=self.is_code)
        yield from self._inline.feed(line[size:], ended=ended)

    def _read_start(self, line: str, *, ended: bool) -> tuple[list[Span], int] | None:
        """Return the spans before the text of a line and where the text begins; None if the line is a fence."""
        self.indent, self._style = 0, ""
        start = line[:MAX_START_CHARS]
        is_whole = ended and start == line
        if self._fence:
            if is_whole and line.strip().startswith(self._fence) and not line.strip().strip(self._fence[0]):
                self._fence, self.is_code = "", False
                return None
            self.is_code, self._style = True, CODE_STYLE
            return ([Span("  ")] if line else []), 0
        if fence := _FENCE.match(start):
            self._fence = fence[1]
            return None
        self.is_code = False
        if is_whole and (rule := _RULE_START.fullmatch(line)) and line.count(rule[1]) >= 3:
            return [Span("───", "dim")], len(line)
        if heading := _HEADING.match(start):
            self._style = "bold"
            return [], heading.end()
        if bullet := _BULLET.match(start):
            self.indent = len(bullet[0].expandtabs(4))
            return [Span(f"{bullet[1].expandtabs(4)}•{bullet[2].expandtabs(4)}")], bullet.end()
        if bullet := _WIDE_BULLET.match(start):
            self.indent = cell_len(bullet[1].expandtabs(4)) + 2
            return [Span(f"{bullet[1].expandtabs(4)}• ")], bullet.end()
        if number := _NUMBER.match(start):
            self.indent = cell_len(number[0].expandtabs(4))
            return [Span(number[0].expandtabs(4))], number.end()
        if quoted := _QUOTED.match(start):
            self._style, self.indent = "dim italic", 2
            return [Span("│ ", "dim")], quoted.end()
        return [], 0

    def _end_row(self, row: str) -> Iterator[Span]:
        """Hold a line of a table. A table that becomes too large is drawn first."""
        if len(self._table) == MAX_TABLE_LINES or self._table_chars + len(row) > MAX_TABLE_CHARS:
            yield from self._flush_table()
        self._table.append(row)
        self._table_chars += len(row)

    def _flush_table(self) -> Iterator[Span]:
        """Return the held lines: drawn if they are a table, as they are otherwise."""
        if not self._table:
            return
        lines, self._table, self._table_chars, self.indent = self._table, [], 0, 0
        drawn = draw_table(lines, self._width, self.work)
        self.is_code = drawn is not None
        for line in drawn if drawn is not None else (read_spans(line, "", self.work) for line in lines):
            yield from line
            yield Span("\n")
        self.is_code = False


class InlineReader:
    """Reads the text of one line: emphasis, code and links become spans in a style.

    What is not yet decided is held: at most `MAX_LINK_CHARS` characters of a link, or `MAX_EMPHASIS_CHARS` of the rest.
    """

    def __init__(self, style: str, work: Work, *, is_code: bool = False) -> None:
        self._style = style
        self._work = work
        self._is_code = is_code
        self._text = ""
        self._place = 0  # what is before it was returned
        self._before = ""  # the character before it
        self._link: LinkScanner | None = None  # the link that may begin here
        self._ended = False

    def feed(self, chunk: str, *, ended: bool) -> Iterator[Span]:
        """Read the next chunk; if the line has `ended`, nothing is held."""
        if self._is_code:
            if chunk:
                yield Span(chunk.replace("\t", TAB), self._style)
            return
        self._text, self._place, self._ended = self._text[self._place :] + chunk, 0, ended
        while self._place < len(self._text):
            start = self._place
            spans = self._read_next()
            if spans is None:
                return
            self._work.chars += self._place - start
            self._before, self._link = self._text[self._place - 1], None
            yield from spans

    def _read_next(self) -> list[Span] | None:
        """Return the next spans, and move behind them; None if more text is needed."""
        text, place = self._text, self._place
        if plain := _PLAIN.match(text, place):
            return self._take(plain.end())
        if text[place] == "\\":
            if place + 1 == len(text) and not self._ended:
                return None
            if text[place + 1 : place + 2] in _ESCAPED:
                self._place += 1
                return self._take(place + 2)
            return self._take(place + 1)
        if text[place] == "!" and text[place + 1 : place + 2] not in ("", "["):
            return self._take(place + 1)
        if text[place] in "[!":
            return self._read_link()
        return self._read_emphasis()

    def _take(self, end: int, style: str | None = None) -> list[Span]:
        """Return the text up to a place as one span, and move there."""
        span = Span(self._text[self._place : end], self._style if style is None else style)
        self._place = end
        return [span]

    def _read_emphasis(self) -> list[Span] | None:
        text, place = self._text, self._place
        mark = text[place]
        limit = min(len(text), place + MAX_EMPHASIS_CHARS)
        self._work.chars += limit - place
        start = place + 1
        while start < limit and text[start] == mark:
            start += 1
        within_word = mark == "_" and self._before.isalnum()
        if not within_word:
            close = self._find_close(mark * (start - place), start, limit)
            if close is not None:
                style = CODE_STYLE if mark == "`" else "italic" if start - place == 1 else "bold"
                return self._take_emphasis(start, close, f"{self._style} {style}".strip())
        after = text[start : start + 1]
        # Code may begin with a space.
        may_open = bool(after) and (mark == "`" or not after.isspace()) and not within_word
        if not self._ended and len(text) <= place + MAX_EMPHASIS_CHARS and (may_open or not after):
            return None
        return self._take(start)

    def _find_close(self, marks: str, start: int, limit: int) -> int | None:
        """Return where the same marks close the emphasis that begins with them; None if nothing closes it.

        The character after the closing marks decides too, so it must have arrived.
        """
        text, size = self._text, len(marks)
        last = limit if self._ended or limit < len(text) else limit - 1  # where the closing marks may end
        if marks[0] == "`":
            found = _TICKS.finditer(text, start, limit + 1)
            return next(
                (each.start() for each in found if each.end() - each.start() == size and each.end() <= last), None
            )
        if size > 2 or start >= limit or text[start].isspace() or text[start] in "*_":
            return None
        if size == 1:
            found = _MARK.search(text, start, last)
            closes = found and found[0] == marks and not text[found.start() - 1].isspace()
            return found.start() if found and closes and not _WORD.match(text, found.end()) else None
        place = text.find(marks, start, last)
        while place >= 0:
            before, after = text[place - 1], text[place + 2 : place + 3]
            if not before.isspace() and before not in "*_" and after not in ("*", "_"):
                return place
            place = text.find(marks, place + 1, last)
        return None

    def _take_emphasis(self, start: int, close: int, style: str) -> list[Span]:
        """Return what is between the marks of emphasis, and move behind them."""
        inner, size = self._text[start:close], start - self._place
        is_code = self._text[close] == "`"
        self._place = close + size
        return [Span(inner, style)] if is_code else read_spans(inner, style, self._work)

    def _read_link(self) -> list[Span] | None:
        """Return the spans of a link, its text and its address; else its first character."""
        self._link = self._link or LinkScanner()
        state = self._link.scan(self._text, self._place, self._work)
        if state == "open" and not self._ended:
            return None
        whole = self._text[self._place : self._place + self._link.size]
        parts = split_link(whole) if state == "whole" else None
        if parts is None:
            return self._take(self._place + 1)
        self._place += len(whole)
        text, address = parts
        spans = read_spans(text, self._style, self._work)
        if text != address:
            spans += [Span(" ", self._style), Span(f"({address})", f"{self._style} dim".strip())]
        return spans


class LinkScanner:
    """Finds the end of a link, as far as its text has arrived. Each character is looked at once.

    Attributes:
        size: The characters that were read.
    """

    def __init__(self) -> None:
        self.size = 0
        self._state: str = "begin"

    def scan(self, text: str, start: int, work: Work) -> Literal["open", "whole", "failed"]:
        """Read on in the text, in which the link begins at `start`, and say whether it is a link."""
        end = min(len(text), start + MAX_LINK_CHARS)
        place = before = start + self.size
        while place < end and self._state in _LINK_STATES:
            characters, following = _LINK_STATES[self._state]
            if characters is not None and (run := characters.match(text, place, end)):
                place = run.end()
            if place < end:
                self._state = following.get(text[place], "failed")
                place += 1
        self.size = place - start
        work.chars += place - before
        if self._state in _LINK_STATES:
            return "open" if self.size < MAX_LINK_CHARS else "failed"
        return "whole" if self._state == "whole" else "failed"


_ADDRESS = re.compile(r"[^\s()<>]*")
_AFTER_ADDRESS = {"(": "bracket", ")": "whole", ">": "addressed", " ": "space"}

_LINK_STATES: dict[str, tuple[re.Pattern[str] | None, dict[str, str]]] = {
    "begin": (None, {"!": "image", "[": "text"}),
    "image": (None, {"[": "text"}),
    "text": (re.compile(r"[^\[\]]*"), {"]": "closed"}),
    "closed": (None, {"(": "address"}),
    "address": (re.compile(r"<?[^\s()<>]*"), _AFTER_ADDRESS),
    "bracket": (_ADDRESS, {")": "bracketed"}),
    "bracketed": (_ADDRESS, _AFTER_ADDRESS),
    "addressed": (None, {")": "whole", " ": "space"}),
    "space": (re.compile(r" *"), {'"': "title"}),
    "title": (re.compile(r'[^"]*'), {'"': "titled"}),
    "titled": (None, {")": "whole"}),
}
"""What may follow in each part of a link: characters that belong to it, and those that begin another part."""


def split_link(link: str) -> tuple[str, str] | None:
    """Return the text and the address of a link such as `[text](address "title")`; None if one of them is missing."""
    start, end = link.index("[") + 1, link.index("]")
    address = link[end + 2 : -1].removeprefix("<")
    if found := _ADDRESS_END.search(address):
        address = address[: found.start()]
    return (link[start:end], address) if end > start and address and address[0] != "(" else None


def read_spans(text: str, style: str, work: Work) -> list[Span]:
    """Return the spans of a whole text."""
    return list(InlineReader(style, work).feed(text, ended=True))


class LineWrapper:
    """Breaks spans into lines of a width, between words. The spans that it returns can be written at once.

    Attributes:
        column: The column of the cursor.
        work: The work that was done for the spans.
    """

    def __init__(self, width: int, column: int = 0) -> None:
        self.column = column
        self.work = Work()
        self._width = max(width, 1)
        self._word: list[Span] = []
        self._word_chars = 0
        self._space = ""
        self._ends = 0  # line ends to return before the next word

    def feed(self, span: Span, *, indent: int = 0, verbatim: bool = False) -> Iterator[Span]:
        """Wrap the next span. A word is held until it ends; with `verbatim`, the span is returned as it is."""
        if span.text == "\n":
            yield from self._flush_word(indent)
            self._ends += 1
            self._space = ""
            return
        if verbatim:
            yield from self._flush_word(indent)
            yield from self._flush_line_ends()
            self.column += cell_len(span.text)
            yield span
            return
        for piece in re.findall(r"\s+|\S+", span.text):
            if piece.isspace():
                yield from self._flush_word(indent)
                # More space than fits into a line is never written.
                self._space = (self._space + piece[: self._width].replace("\t", TAB))[: self._width]
                continue
            self.work.chars += len(piece)
            while self._word_chars + len(piece) > MAX_WORD_CHARS:
                start = MAX_WORD_CHARS - self._word_chars
                self._word.append(Span(piece[:start], span.style))
                piece = piece[start:]
                yield from self._flush_word(indent)
            self._word.append(Span(piece, span.style))
            self._word_chars += len(piece)

    def close(self, *, indent: int = 0) -> Iterator[Span]:
        """Return the last word."""
        yield from self._flush_word(indent)
        self._space, self._ends = "", 0

    def _flush_line_ends(self) -> Iterator[Span]:
        if self._ends:
            yield Span("\n" * self._ends)
            self._ends = self.column = 0

    def _flush_word(self, indent: int) -> Iterator[Span]:
        if not self._word:
            return
        word = self._word if len(self._word) == 1 else _join_spans(self._word)
        self._word, self._word_chars = [], 0
        space, self._space = self._space, ""
        yield from self._flush_line_ends()
        indent = indent if indent < self._width // 3 else 0
        size = sum(cell_len(span.text) for span in word)
        if self.column and self.column + len(space) + size > self._width:
            if self.column > indent:
                yield Span("\n" + " " * indent)
                self.column = indent
            space = ""
        elif not self.column:
            space = space[: max(self._width - size, 0)]
        if space:
            self.column += len(space)
            yield Span(space)
        for span in word:
            yield from self._break_word(span)

    def _break_word(self, span: Span) -> Iterator[Span]:
        """Break a word that does not fit into a line."""
        self.work.chars += len(span.text)
        size, room = cell_len(span.text), max(self._width - self.column, 0)
        if size <= room or not size:
            self.column += size
            yield span
            return
        first = chop_cells(span.text, room)[0] if room else ""
        if first or self.column:
            yield Span(f"{first}\n", span.style)
        *lines, last = (line for line in chop_cells(span.text[len(first) :], self._width) if line)
        for line in lines:
            yield Span(f"{line}\n", span.style)
        self.column = cell_len(last)
        yield Span(last, span.style)


def _join_spans(spans: Iterable[Span]) -> list[Span]:
    """Return spans with those of one style that follow each other as one, however they were cut."""
    return [
        Span("".join(span.text for span in group), style) for style, group in groupby(spans, lambda span: span.style)
    ]


class WrappedMarkdown:
    """Renders markdown as it arrives, wrapped to the width of a window."""

    def __init__(self, width: int, column: int = 0) -> None:
        self._parser = MarkdownParser(width)
        self._wrapper = LineWrapper(width, column)

    def feed(self, text: str) -> Iterator[Span]:
        """Render the next chunk of text."""
        yield from self._wrap(self._parser.feed(text))

    def close(self) -> Iterator[Span]:
        """Render the end of the text."""
        yield from self._wrap(self._parser.close())
        yield from self._wrapper.close(indent=self._parser.indent)

    @property
    def work(self) -> int:
        """The characters that were looked at."""
        return self._parser.work.chars + self._wrapper.work.chars

    def _wrap(self, spans: Iterator[Span]) -> Iterator[Span]:
        for span in spans:  # lazily: `indent` and `is_code` are those of the line that the span is in
            yield from self._wrapper.feed(span, indent=self._parser.indent, verbatim=self._parser.is_code)
