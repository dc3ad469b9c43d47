"""The calls that models write most, read at once: a tool by its own name, with constants as arguments, on one line.

    get_weather({city: "Oslo", days: 3})
    get_weather(city="Oslo", days=3)

What a regular expression finds here in one step, `statements.py` would read to the same tree. Any other statement is
left to it: strings with escapes, nested values, names that the code has bound, calls over several lines.
"""

import re
from collections.abc import Collection

from toolspeak.reading.code.statements import COMPOUNDS, DECLARATIONS, KEYWORDS
from toolspeak.reading.code.syntax import Constant, Expression, ExprStatement, Invocation, Name, ObjectLiteral
from toolspeak.reading.source import Reading, Source
from toolspeak.reading.values import LITERALS, parse_number

_KEY = r"[A-Za-z_]\w*"
_VALUE = r"""(?:"[^"\\\r\n]*"|'[^'\\\r\n]*'|(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?|true|false|null|True|False|None)"""
_PAIR = rf"""(?:{_KEY}|"{_KEY}") ?: ?{_VALUE}"""
_KEYWORD = rf"{_KEY} ?= ?{_VALUE}"

BLANKS = re.compile(r"[ \t\r\n]*")
NON_BLANK = re.compile(r"\S")
ANY_CHAR = re.compile(r".", re.DOTALL)

CALL = re.compile(
    rf"{BLANKS.pattern}({_KEY})\((?:(\{{ ?{_PAIR}(?:, ?{_PAIR})* ?\}})|({_KEYWORD}(?:, ?{_KEYWORD})*))?\)", re.ASCII
)
"""A call; its arguments are an object, keywords, or none."""

ARGUMENT = re.compile(rf"""(?<!\w)["]?({_KEY}+)["]? ?[:=] ?({_VALUE})""", re.ASCII)

OPEN_LINE = re.compile(rf"{BLANKS.pattern}{_KEY}(?:\([^\n`<]*)?", re.ASCII)
"""The beginning of a line that may become a call."""

LINE_MARKS = re.compile(r"[\n`<]")
"""Characters that end a line of code: nothing is certain of a statement before one of them."""

LINE_END = re.compile(r"\n\s*(\S?)")
"""The end of a line, and the first character of the next that has any."""

RESERVED = (
    COMPOUNDS
    | DECLARATIONS
    | KEYWORDS
    | LITERALS.keys()
    | frozenset("match case async await new typeof void lambda not NaN Infinity".split())
)
"""Words that mean something else in code than a call of a tool with that name."""


class PlainCallReader:
    """Reads plain calls of the tools on offer, at the beginnings of statements."""

    def __init__(self, source: Source, tools: Collection[str]) -> None:
        self._source = source
        self._tools = frozenset(tools) - RESERVED

    def read(self, *, python: bool) -> Reading[ExprStatement | None]:
        """Read the statement that comes next if it is a plain call; None, with nothing read, if it is not.

        Waits for the end of a line that may become a call, which no other reader then reads piece by piece.
        """
        source = self._source
        while True:
            call = CALL.match(source.text, source.pos)
            if call is not None and call[1] not in self._tools:
                return None
            if call is not None and _ends_at(source, call.end(), python=python):
                source.pos = call.end()
                return _build_statement(call)
            awaited = _find_awaited(source, call)
            if source.ended or awaited is None:
                return None
            yield from source.wait_for(awaited)


def _ends_at(source: Source, end: int, *, python: bool) -> bool:
    """Whether a statement ends at `end` for certain: its line does, and the next line does not go on with it."""
    if source.text.startswith(";\n", end):
        return True
    line_end = LINE_END.match(source.text, end)
    return line_end is not None and (python or (line_end[1] != "." and (bool(line_end[1]) or source.ended)))


def _find_awaited(source: Source, call: re.Match[str] | None) -> re.Pattern[str] | None:
    """Return what must arrive before it is known whether a plain call comes next; None if it is known."""
    if call is not None:
        if source.text[call.end() : call.end() + 2] in ("", ";"):
            return ANY_CHAR
        line_end = LINE_END.match(source.text, call.end())
        return NON_BLANK if line_end is not None and not line_end[1] else None
    if BLANKS.fullmatch(source.text, source.pos):
        return NON_BLANK
    return LINE_MARKS if OPEN_LINE.fullmatch(source.text, source.pos) else None


def _build_statement(call: re.Match[str]) -> ExprStatement:
    items = tuple(
        (each[1], Constant(value=_read_value(each[2]))) for each in ARGUMENT.finditer(call[2] or call[3] or "")
    )
    callee = Name(name=call[1])
    if call[2]:
        args: tuple[Expression, ...] = (ObjectLiteral(items=items),)
        return ExprStatement(value=Invocation(callee=callee, args=args))
    return ExprStatement(value=Invocation(callee=callee, args=(), keywords=items))


def _read_value(written: str) -> str | float | bool | None:
    if written[0] in "\"'":
        return written[1:-1]
    return LITERALS[written] if written in LITERALS else parse_number(written)
