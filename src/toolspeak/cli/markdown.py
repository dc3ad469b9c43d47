"""Markdown as it arrives: text in pieces goes in, pieces with a style come out, and none is ever taken back.

So nothing flickers, and no text is lost in a narrow window. A line begins to come out when it is known what sort of
line it is; within it, words come out when they end, and emphasis when it is closed. How the text was cut into pieces
makes no difference. What is not understood comes out as it stands.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from rich.cells import cell_len, chop_cells


class Span(NamedTuple):
    """Some text in one style, to be written where the cursor stands."""

    text: str
    style: str = ""


CODE = "cyan"
HEADING = "bold"
QUOTE = "dim italic"

TAB = "    "
"""How a tab is drawn, wherever it stands: where the next stop would be depends on how the text was cut."""

LONGEST = 200
"""Letters after which emphasis that was not closed is none."""

_UNDECIDED = re.compile(r"[ \t]*([#`~*+>_-]+|\d{1,9}[.)]?)?[ \t]*")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_RULE = re.compile(r"[ \t]*([-*_])(?:[ \t]*\1){2,}[ \t]*")
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]+")
_BULLET = re.compile(r"([ \t]*)[-*+]([ \t]+)")
_NUMBER = re.compile(r"[ \t]*\d{1,9}[.)][ \t]+")
_QUOTED = re.compile(r"[ \t]*>+[ \t]*")

_PLAIN = re.compile(r"[^*_`\\]+")
_CODE_SPAN = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_STRONG = re.compile(r"(\*\*|__)(?![\s*_])(.+?)(?<![\s*_])\1(?![*_])")
_EMPHASIS = re.compile(r"([*_])(?![\s*_])([^*_]+?)(?<!\s)\1(?![*_\w])")
_STYLES = ((_CODE_SPAN, CODE), (_STRONG, "bold"), (_EMPHASIS, "italic"))


class Markdown:
    """What a text means, line by line. Spans come out as they are known; the end of a line is a span of its own.

    Attributes:
        indent: How far the lines of this paragraph that are broken by the window are indented.
        is_code: Whether the spans are code, whose spaces count.
    """

    def __init__(self) -> None:
        self.indent = 0
        self.is_code = False
        self._line = ""  # what has arrived of this line and has not come out
        self._decided = False
        self._style = ""
        self._fence = ""
        self._before = ""  # the letter that came out last

    def feed(self, text: str) -> Iterator[Span]:
        """Text as it arrives."""
        *whole, rest = text.replace("\r\n", "\n").split("\n")
        for line in whole:
            self._line += line
            yield from self._read(ended=True)
            self._decided, self._line = False, ""
        self._line += rest
        yield from self._read(ended=False)

    def close(self) -> Iterator[Span]:
        """The end of the text."""
        if self._line:
            yield from self._read(ended=True, last=True)
        self._decided, self._line, self._fence = False, "", ""

    def _read(self, *, ended: bool, last: bool = False) -> Iterator[Span]:
        if not self._decided:
            if not ended and self._undecided():
                return
            head = self._begin()
            if head is None:  # a fence: it is not shown
                return
            yield from head
        yield from self._inline(ended=ended)
        if ended and not last:
            yield Span("\n")

    def _undecided(self) -> bool:
        if self._fence:
            return not self._line.strip(" \t" + self._fence[0])
        return bool(_UNDECIDED.fullmatch(self._line) or _FENCE.match(self._line))

    def _begin(self) -> "list[Span] | None":
        """Find out what sort of line this is, and give what stands before its text."""
        self._decided, self._before = True, ""
        line, self.indent, self._style = self._line, 0, ""
        if self._fence:
            if line.strip().startswith(self._fence) and not line.strip().strip(self._fence[0]):
                self._fence, self.is_code = "", False
                return None
            self.is_code, self._style = True, CODE
            return [Span("  ")] if line else []
        if fence := _FENCE.match(line):
            self._fence = fence[1]
            return None
        self.is_code = False
        if _RULE.fullmatch(line):
            self._line = ""
            return [Span("───", "dim")]
        if heading := _HEADING.match(line):
            self._line, self._style = line[heading.end() :], HEADING
            return []
        if bullet := _BULLET.match(line):
            self._line, self.indent = line[bullet.end() :], len(bullet[0].expandtabs(4))
            return [Span(f"{bullet[1].expandtabs(4)}•{bullet[2].expandtabs(4)}")]
        if number := _NUMBER.match(line):
            self._line, self.indent = line[number.end() :], len(number[0].expandtabs(4))
            return [Span(number[0].expandtabs(4))]
        if quoted := _QUOTED.match(line):
            self._line, self._style, self.indent = line[quoted.end() :], QUOTE, 2
            return [Span("│ ", "dim")]
        return []

    def _inline(self, *, ended: bool) -> Iterator[Span]:
        if self.is_code:
            line, self._line = self._line, ""
            if line:
                yield Span(line.replace("\t", TAB), self._style)
            return
        while self._line:
            taken, spans = _next(self._line, self._before, self._style, ended=ended)
            if not taken:
                return
            self._before, self._line = self._line[taken - 1], self._line[taken:]
            yield from spans


def _next(line: str, before: str, style: str, *, ended: bool) -> tuple[int, list[Span]]:
    """What comes out next, and how many letters it takes; none while it cannot be known."""
    if plain := _PLAIN.match(line):
        return plain.end(), [Span(plain[0], style)]
    if line[0] == "\\":
        if len(line) == 1 and not ended:
            return 0, []
        escaped = line[1:2] if line[1:2] in tuple("\\`*_{}[]()#+-.!<>|~") else ""
        return (2, [Span(escaped, style)]) if escaped else (1, [Span("\\", style)])
    within_word = line[0] == "_" and before.isalnum()
    window = line[:LONGEST]
    if not within_word:
        for pattern, own in _STYLES:
            match = pattern.match(window)
            # What follows the closing mark counts, so it must be there.
            if match and (ended or match.end() < len(line)):
                return match.end(), _inner(match[2], f"{style} {own}".strip(), code=own == CODE)
    marks = re.match(r"(.)\1*", line)
    size = marks.end() if marks else 1
    after = line[size : size + 1]
    may_open = (
        bool(after) and (line[0] == "`" or not after.isspace()) and not within_word
    )  # code may begin with a space
    if not ended and len(line) < LONGEST and (may_open or not after):
        return 0, []
    return size, [Span(line[:size], style)]


def _inner(text: str, style: str, *, code: bool) -> list[Span]:
    if code:
        return [Span(text, style)]
    spans: list[Span] = []
    before = ""
    while text:
        taken, inner = _next(text, before, style, ended=True)
        before, text = text[taken - 1], text[taken:]
        spans += inner
    return spans


class Column:
    """Spans broken into lines of a width, between words. It writes nothing: what it gives can be written as it comes.

    Attributes:
        at: The column in which the cursor stands.
    """

    def __init__(self, width: int, at: int = 0) -> None:
        self.at = at
        self._width = max(width, 1)
        self._word: list[Span] = []
        self._space = ""
        self._ends = 0  # line ends that are due when something follows

    def feed(self, span: Span, *, indent: int = 0, as_it_is: bool = False) -> Iterator[Span]:
        """One span; a word comes out when it has ended."""
        if span.text == "\n":
            yield from self._word_out(indent)
            self._ends += 1
            self._space = ""
            return
        if as_it_is:
            yield from self._word_out(indent)
            yield from self._line_ends()
            self.at += cell_len(span.text)
            yield span
            return
        for piece in re.findall(r"\s+|\S+", span.text):
            if piece.isspace():
                yield from self._word_out(indent)
                self._space += piece.replace("\t", TAB)
            else:
                self._word.append(Span(piece, span.style))

    def close(self, *, indent: int = 0) -> Iterator[Span]:
        """The end: the last word comes out."""
        yield from self._word_out(indent)
        self._space, self._ends = "", 0

    def _line_ends(self) -> Iterator[Span]:
        if self._ends:
            yield Span("\n" * self._ends)
            self._ends = self.at = 0

    def _word_out(self, indent: int) -> Iterator[Span]:
        if not self._word:
            return
        word, self._word = self._word, []
        space, self._space = self._space, ""
        yield from self._line_ends()
        indent = indent if indent < self._width // 3 else 0
        size = sum(cell_len(span.text) for span in word)
        if self.at and self.at + len(space) + size > self._width:
            if self.at > indent:
                yield Span("\n" + " " * indent)
                self.at = indent
            space = ""
        elif not self.at:
            space = space[: max(self._width - size, 0)]
        if space:
            self.at += len(space)
            yield Span(space)
        for span in word:
            yield from self._folded(span)

    def _folded(self, span: Span) -> Iterator[Span]:
        """A word that does not fit into a line is broken."""
        text = span.text
        while cell_len(text) > (room := self._width - self.at):
            start = chop_cells(text, room)[0] if room > 0 else ""
            if not start and not self.at:  # one letter that is wider than the window
                start = text[0]
            yield Span(f"{start}\n", span.style)
            self.at, text = 0, text[len(start) :]
        if text:
            self.at += cell_len(text)
            yield Span(text, span.style)


class WrappedMarkdown:
    """A text of markdown as it arrives, in a window."""

    def __init__(self, width: int, at: int = 0) -> None:
        self._markdown = Markdown()
        self._column = Column(width, at)

    def feed(self, text: str) -> Iterator[Span]:
        """Text as it arrives."""
        yield from self._placed(self._markdown.feed(text))

    def close(self) -> Iterator[Span]:
        """The end of the text."""
        yield from self._placed(self._markdown.close())
        yield from self._column.close(indent=self._markdown.indent)

    def _placed(self, spans: Iterator[Span]) -> Iterator[Span]:
        for span in spans:  # which is what the line says that is being read
            yield from self._column.feed(span, indent=self._markdown.indent, as_it_is=self._markdown.is_code)
