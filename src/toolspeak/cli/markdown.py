"""Renders markdown as it arrives: chunks of text go in, spans with a style come out, and no span is ever taken back.

So nothing flickers, and no text is lost in a narrow window. A line is held until its kind is known (heading, list item,
…); within it, a word is held until it ends, and emphasis or a link until it is closed. A table is held until its last
line has arrived, since the widths of its columns depend on every row. How the text is cut into chunks makes no
difference. Markup that is not understood stays as it is.
"""

import re
from collections.abc import Iterator, Sequence
from io import StringIO
from typing import NamedTuple

from rich import box
from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.table import Table
from rich.text import Text

TABLE_START = re.compile(r"[ \t]*\|")

MAX_TABLE_LINES = 500  # A longer table is drawn in parts, of which only the first has a header
MIN_COLUMN_CELLS = 6  # A table with less room for each column is not drawn


class Span(NamedTuple):
    """Text in one style, to be written where the cursor stands."""

    text: str
    style: str = ""


def draw_table(lines: Sequence[str], width: int) -> list[list[Span]] | None:
    """Draw the lines of a table for a window of this width; None if they are no table or do not fit the width."""
    rows = [_split_cells(line) for line in lines]
    if len(rows) < 2 or len(rows[0]) != len(rows[1]):
        return None
    if not all(re.fullmatch(r"[ \t]*:?-+:?[ \t]*", separator) for separator in rows[1]):
        return None
    if width < len(rows[0]) * MIN_COLUMN_CELLS:
        return None
    table = Table(box=box.MINIMAL, show_edge=False, pad_edge=False, header_style="bold")
    for title, separator in zip(rows[0], rows[1], strict=True):
        left, right = separator.startswith(":"), separator.endswith(":")
        justify = "center" if left and right else "right" if right else "left"
        table.add_column(Text.assemble(*_inner_spans(title, "")), justify=justify, overflow="fold")
    for row in rows[2:]:
        padded = [*row, *[""] * len(rows[0])][: len(rows[0])]
        table.add_row(*(Text.assemble(*_inner_spans(cell, "")) for cell in padded))
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


CODE_STYLE = "cyan"

TAB = "    "  # what a tab is drawn as, in every column: the next tab stop would depend on how the text was cut

MAX_EMPHASIS_CHARS = 200  # emphasis that is not closed within so many characters is plain text
MAX_LINK_CHARS = 2_000  # A link that is not closed within so many characters is plain text

_UNDECIDED_START = re.compile(r"[ \t\u3000]*([#`~*+>_-]+|[•・]|\d{1,9}[.)．）、]?)?[ \t\u3000]*")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_RULE = re.compile(r"[ \t]*([-*_])(?:[ \t]*\1){2,}[ \t]*")
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]+")
_BULLET = re.compile(r"([ \t]*)[-*+]([ \t]+)")
_WIDE_BULLET = re.compile(r"([ \t\u3000]*)[•・][ \t\u3000]*")  # Chinese and Japanese have no space after it
_NUMBER = re.compile(r"[ \t]*\d{1,9}[.)][ \t]+|[ \t\u3000]*\d{1,9}[．）、][ \t\u3000]*")
_QUOTED = re.compile(r"[ \t]*>+[ \t]*")

_PLAIN = re.compile(r"[^*_`\\\[!]+")
_LINK = re.compile(r"""!?\[([^\[\]]+)\]\(<?([^\s()<>]+(?:\([^\s()<>]*\)[^\s()<>]*)*)>?(?:[ ]+"[^"]*")?\)""")
_LINK_START = re.compile(r"""!?(?:\[[^\[\]]*(?:\](?:\((?:[^()]|\([^()]*\)?)*)?)?)?""")
_CODE_SPAN = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_STRONG = re.compile(r"(\*\*|__)(?![\s*_])(.+?)(?<![\s*_])\1(?![*_])")
_EMPHASIS = re.compile(r"([*_])(?![\s*_])([^*_]+?)(?<!\s)\1(?![*_0-9A-Za-z])")
_STYLES = ((_CODE_SPAN, CODE_STYLE), (_STRONG, "bold"), (_EMPHASIS, "italic"))


class MarkdownParser:
    """Parses markdown line by line into spans. The end of a line is a span of its own.

    Attributes:
        indent: The columns by which wrapped lines of the present paragraph are indented.
        is_code: Whether the present line is code, whose spaces are kept.
    """

    def __init__(self, width: int) -> None:
        self.indent = 0
        self._width = width
        self._table: list[str] = []  # lines that may be a table and are not yet returned
        self.is_code = False
        self._line = ""  # the part of this line that has arrived and is not yet returned
        self._is_begun = False  # whether the kind of this line is known
        self._style = ""
        self._fence = ""
        self._before = ""  # the last character that was returned

    def feed(self, text: str) -> Iterator[Span]:
        """Parse the next chunk of text."""
        *whole, rest = text.replace("\r\n", "\n").split("\n")
        for line in whole:
            self._line += line
            yield from self._read_line(ended=True)
            self._is_begun, self._line = False, ""
        self._line += rest
        yield from self._read_line(ended=False)

    def close(self) -> Iterator[Span]:
        """Parse the end of the text."""
        if self._line:
            yield from self._read_line(ended=True, last=True)
        yield from self._flush_table()
        self._is_begun, self._line, self._fence = False, "", ""

    def _read_line(self, *, ended: bool, last: bool = False) -> Iterator[Span]:
        if not self._is_begun:
            if not ended and self._needs_more():
                return
            if not self._fence and TABLE_START.match(self._line):
                self._table.append(self._line)
                if len(self._table) == MAX_TABLE_LINES:
                    yield from self._flush_table()
                return
            yield from self._flush_table()
            prefix = self._begin_line()
            if prefix is None:  # a fence, which is not drawn
                return
            yield from prefix
        yield from self._read_inline(ended=ended)
        if ended and not last:
            yield Span("\n")

    def _needs_more(self) -> bool:
        """Whether the kind of this line depends on text that has not arrived."""
        if self._fence:
            return not self._line.strip(" \t" + self._fence[0])
        return bool(_UNDECIDED_START.fullmatch(self._line) or _FENCE.match(self._line) or TABLE_START.match(self._line))

    def _flush_table(self) -> Iterator[Span]:
        """Return the held lines: drawn if they are a table, as they are otherwise."""
        if not self._table:
            return
        lines, self._table, self.indent = self._table, [], 0
        drawn = draw_table(lines, self._width)
        self.is_code = drawn is not None
        for line in drawn if drawn is not None else [_inner_spans(line, "") for line in lines]:
            yield from line
            yield Span("\n")
        self.is_code = False

    def _begin_line(self) -> "list[Span] | None":
        """Recognize the kind of this line, and return the spans before its text; None if the line is a fence."""
        self._is_begun, self._before = True, ""
        line, self.indent, self._style = self._line, 0, ""
        if self._fence:
            if line.strip().startswith(self._fence) and not line.strip().strip(self._fence[0]):
                self._fence, self.is_code = "", False
                return None
            self.is_code, self._style = True, CODE_STYLE
            return [Span("  ")] if line else []
        if fence := _FENCE.match(line):
            self._fence = fence[1]
            return None
        self.is_code = False
        if _RULE.fullmatch(line):
            self._line = ""
            return [Span("───", "dim")]
        if heading := _HEADING.match(line):
            self._line, self._style = line[heading.end() :], "bold"
            return []
        if bullet := _BULLET.match(line):
            self._line, self.indent = line[bullet.end() :], len(bullet[0].expandtabs(4))
            return [Span(f"{bullet[1].expandtabs(4)}•{bullet[2].expandtabs(4)}")]
        if bullet := _WIDE_BULLET.match(line):
            self._line, self.indent = line[bullet.end() :], cell_len(bullet[1].expandtabs(4)) + 2
            return [Span(f"{bullet[1].expandtabs(4)}• ")]
        if number := _NUMBER.match(line):
            self._line, self.indent = line[number.end() :], cell_len(number[0].expandtabs(4))
            return [Span(number[0].expandtabs(4))]
        if quoted := _QUOTED.match(line):
            self._line, self._style, self.indent = line[quoted.end() :], "dim italic", 2
            return [Span("│ ", "dim")]
        return []

    def _read_inline(self, *, ended: bool) -> Iterator[Span]:
        if self.is_code:
            line, self._line = self._line, ""
            if line:
                yield Span(line.replace("\t", TAB), self._style)
            return
        while self._line:
            taken, spans = _next_spans(self._line, self._before, self._style, ended=ended)
            if not taken:
                return
            self._before, self._line = self._line[taken - 1], self._line[taken:]
            yield from spans


def _next_spans(line: str, before: str, style: str, *, ended: bool) -> tuple[int, list[Span]]:
    """Return the next spans of a line and the number of characters they take; 0 if more text is needed."""
    if plain := _PLAIN.match(line):
        return plain.end(), [Span(plain[0], style)]
    if line[0] == "\\":
        if len(line) == 1 and not ended:
            return 0, []
        escaped = line[1:2] if line[1:2] in tuple("\\`*_{}[]()#+-.!<>|~") else ""
        return (2, [Span(escaped, style)]) if escaped else (1, [Span("\\", style)])
    if line[0] in "[!":
        return _next_link(line, style, ended=ended)
    within_word = line[0] == "_" and before.isalnum()
    window = line[:MAX_EMPHASIS_CHARS]
    if not within_word:
        for pattern, inline_style in _STYLES:
            match = pattern.match(window)
            # The character after the closing mark decides too, so it must have arrived.
            if match and (ended or match.end() < len(line)):
                inner_style = f"{style} {inline_style}".strip()
                is_code = inline_style == CODE_STYLE
                return match.end(), [Span(match[2], inner_style)] if is_code else _inner_spans(match[2], inner_style)
    marks = re.match(r"(.)\1*", line)
    size = marks.end() if marks else 1
    after = line[size : size + 1]
    # Code may begin with a space.
    may_open = bool(after) and (line[0] == "`" or not after.isspace()) and not within_word
    if not ended and len(line) < MAX_EMPHASIS_CHARS and (may_open or not after):
        return 0, []
    return size, [Span(line[:size], style)]


def _next_link(line: str, style: str, *, ended: bool) -> tuple[int, list[Span]]:
    """Return the spans of a link, its text and its address, as `_next_spans` does; else its first character."""
    if link := _LINK.match(line[:MAX_LINK_CHARS]):
        text, address = link[1], link[2]
        spans = _inner_spans(text, style)
        if text != address:
            spans += [Span(" ", style), Span(f"({address})", f"{style} dim".strip())]
        return link.end(), spans
    if not ended and len(line) < MAX_LINK_CHARS and _LINK_START.fullmatch(line):
        return 0, []
    return 1, [Span(line[0], style)]


def _inner_spans(text: str, style: str) -> list[Span]:
    """Return the spans between the marks of emphasis."""
    spans: list[Span] = []
    before = ""
    while text:
        taken, inner = _next_spans(text, before, style, ended=True)
        before, text = text[taken - 1], text[taken:]
        spans += inner
    return spans


class LineWrapper:
    """Breaks spans into lines of a width, between words. The spans that it returns can be written at once.

    Attributes:
        column: The column of the cursor.
    """

    def __init__(self, width: int, column: int = 0) -> None:
        self.column = column
        self._width = max(width, 1)
        self._word: list[Span] = []
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
                self._space += piece.replace("\t", TAB)
            else:
                self._word.append(Span(piece, span.style))

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
        word, self._word = self._word, []
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
        text = span.text
        while cell_len(text) > (room := self._width - self.column):
            start = chop_cells(text, room)[0] if room > 0 else ""
            if not start and not self.column:  # one character that is wider than the window
                start = text[0]
            yield Span(f"{start}\n", span.style)
            self.column, text = 0, text[len(start) :]
        if text:
            self.column += cell_len(text)
            yield Span(text, span.style)


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

    def _wrap(self, spans: Iterator[Span]) -> Iterator[Span]:
        for span in spans:  # lazily: `indent` and `is_code` are those of the line that the span is in
            yield from self._wrapper.feed(span, indent=self._parser.indent, verbatim=self._parser.is_code)
