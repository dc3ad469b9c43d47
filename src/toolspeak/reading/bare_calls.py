"""Calls that no token announces: an object, a list, a string or code, where a line begins or a label ends.

What begins like a call and is none is prose. A reader here returns False, or 0, with nothing read then.
"""

import re
from typing import Literal, TypeAlias

from toolspeak.reading.calls import CallReader
from toolspeak.reading.cursor import Cursor, ReadError
from toolspeak.reading.forms import CODE_LABELS, DATA_LABELS, next_token
from toolspeak.reading.prose import ProseEmitter
from toolspeak.reading.protocols import ProtocolReader
from toolspeak.reading.source import Reading
from toolspeak.reading.values import ValueReader

LineForm: TypeAlias = Literal["call", "label", "assignment", "announced", "header", "prose"]
"""What a line can be that begins with a word.

`call`: a call, in code or as a name with arguments. `label`: the label of a block without its fence, alone on the line.
`assignment`: a variable that is assigned an object or a list. `announced`: `functools[…]`. `header`: the header of a
message without its first token.
"""

INDENT = re.compile(r"[ \t\u200b-\u200f\u2060\ufeff\u00a0]*")
WORD = re.compile(r"[\w.$]*")
DATA_START = re.compile(r"[{\[]\s*[\"'{\[\d]")
BINDERS = frozenset({"await", "const", "let", "var", "return", "print", "from", "import"})
"""Words before a call in code."""

TRANSPARENT = frozenset(
    {"print", "console.log", "asyncio.run", "asyncio.gather", "gather", "Promise.all", "await", "display"}
)
"""Functions whose arguments may be calls."""

CALL_VARIABLE = re.compile(r"call|tool|function|action", re.I)
"""Part of the name of a variable that is assigned a call."""


class BareCallReader:
    """Reads calls that no token announces."""

    def __init__(self, prose: ProseEmitter, calls: CallReader, protocols: ProtocolReader) -> None:
        self._source = prose.source
        self._emitter = prose.emitter
        self._prose = prose
        self._calls = calls
        self._protocols = protocols

    def read_sequence(self, *, explicit: bool, opener: str = "") -> Reading[int]:
        """Read the calls that come next, one after another; their number.

        Args:
            explicit: Whether a token has announced calls, so that what cannot be read is malformed and not prose.
            opener: That token, if it has been read.
        """
        if not explicit and not self._source.may_rewind:
            return 0
        mark = self._source.mark()
        count = yield from self._calls.read_sequence(explicit=explicit, opener=opener)
        if count:
            self._prose.after_call = True
            self._prose.start_line()
        elif not explicit:
            self._source.rewind(mark)  # over comments that were skipped in the hope of a call
        self._source.unmark()
        return count

    def opens_text(self, char: str) -> Reading[bool]:
        """Whether a string that may hold a call opens here, or an object in parentheses."""
        if char not in ('"', "("):
            return False
        two = yield from self._source.peek(2)
        if two == "({":
            self._source.pos += 1
            self._emitter.hold("(")
            return True
        return two in ('"{', '"[')

    def read_value(self, char: str) -> Reading[bool]:
        """Read an object, a list or a string that begins with `char`: calls, or data that is shown as it is."""
        if char == "[" and (yield from next_token(self._source)) is not None:
            return False
        if (yield from self.read_sequence(explicit=False)):
            return True
        if char in "{[" and (yield from self._is_data()):
            yield from self._show_data()
            return True
        return False

    def read_value_or_char(self) -> Reading[None]:
        """Read a value if one comes next, and otherwise one character of prose."""
        if not (yield from self.read_value(self._source.text[self._source.pos])):
            self._prose.show_next(1)

    def _is_data(self) -> Reading[bool]:
        """Whether an object or a list begins here that is an answer and holds no call."""
        return DATA_START.match((yield from self._source.peek(12))) is not None

    def _show_data(self) -> Reading[None]:
        """Show data as it is, up to its last bracket or a blank line."""
        source = self._source
        depth, quoted = 0, False
        last: str = ""
        while True:
            for index in range(source.pos, len(source.text)):
                char = source.text[index]
                if char == '"' and last != "\\":
                    quoted = not quoted
                elif not quoted:
                    depth += (char in "{[") - (char in "}]")
                blank = char == "\n" and last == "\n"
                last = "" if last == "\\" else char
                if depth == 0 or blank:
                    self._prose.show_next(index + 1 - source.pos)
                    self._prose.fresh = blank
                    return
            self._prose.show_next(len(source.text) - source.pos)
            if source.ended:
                return
            yield

    def stands_alone(self) -> Reading[bool]:
        """Whether nothing follows a value on its line: a sentence that goes on is about the value."""
        source = self._source
        if not source.may_rewind:
            return False
        mark = source.mark()
        values = ValueReader(Cursor(source, self._calls.cursor.keys))
        try:
            yield from values.read_value()
            yield from source.read_while(INDENT)
            following = yield from source.peek(1)
            return source.ended_well if following == "" else following in "\n\r<`,;}]"
        except ReadError:
            return True  # the reader of the call reports what is wrong with it
        finally:
            source.return_to(mark)

    # A word at the beginning of a line

    def read_word(self) -> Reading[bool]:
        """Read a line that begins with a word, if it is a call or leads to one."""
        source = self._source
        mark = source.mark()
        word = yield from source.read_while(WORD)
        form = yield from self._line_form(word)
        lead = source.since(mark)
        source.return_to(mark)
        if form == "header":
            yield from self._protocols.read_message()
            return True
        if form == "label":
            self._prose.show_next(len(lead))
            return True
        if form == "assignment":
            self._prose.show_next(len(lead))
            yield from self.read_value_or_char()
            return True
        if form == "announced":
            source.pos += len(word)
            if not (yield from self.read_sequence(explicit=True)):
                self._prose.show(word)
            return True
        return form == "call" and bool((yield from self.read_sequence(explicit=False)))

    def _line_form(self, word: str) -> Reading[LineForm]:
        """Return what a line that begins with `word` can be. For an assignment, the source moves on to the value."""
        source = self._source
        tool = self._emitter.names.resolve(word)
        char = yield from source.peek(1)
        if char == "(":
            if tool or word in TRANSPARENT:
                return "call"
            self._emitter.note_unknown_tool(word)
            return "prose"
        if char in ("{", "<", "["):
            return (yield from self._form_before_bracket(word, tool, char))
        if char == ":":
            return "call" if word == "call" or tool else "prose"
        if char in ("\n", "\r"):
            if word.lower() in CODE_LABELS | DATA_LABELS and not tool:
                return "label"
            return "call" if tool else "prose"
        if char in (" ", "\t", "\\"):
            return (yield from self._form_before_blank(word, tool))
        return "prose"

    def _form_before_bracket(self, word: str, tool: str | None, char: str) -> Reading[LineForm]:
        token = (yield from next_token(self._source)) if char != "{" else None
        if word == "functools" and char == "[":
            return "announced"
        has_separator = token is not None and token[0] == "separate"
        has_pairs = char == "<" and (yield from self._calls.tags.match_key()) is not None
        if tool and (char == "{" or has_separator or has_pairs):
            return "call"
        return "call" if word == "function" and has_separator else "prose"

    def _form_before_blank(self, word: str, tool: str | None) -> Reading[LineForm]:
        source = self._source
        if word == "commentary" and (yield from source.starts_with(" to=")):
            return "header" if (yield from self._protocols.has_header()) else "prose"
        if word in BINDERS:
            return "call"
        yield from source.read_while(INDENT)
        if (yield from source.peek(1)) not in ("=", ",", "(", "\\"):
            return "prose"
        two = yield from source.peek(2)
        if two[:1] in (",", "\\") and word.isidentifier() and not tool:
            return "call" if two == "\\\n" else "prose"
        is_assigned = two[:1] == "=" and two != "=="
        if is_assigned and CALL_VARIABLE.search(word):
            source.pos += 1
            yield from source.read_while(INDENT)
            return "assignment" if (yield from source.peek(1)) in ("{", "[") else "call"
        return "call" if is_assigned or (tool and two[:1] in ("(", "\\")) else "prose"
