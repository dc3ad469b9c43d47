r"""Calls of tools that take one raw text: a fenced block labelled with the name of the tool.

    ```apply_patch
    the text, as it is
    ```

This is the one place where a fence ends a value:

1. The line of the opening fence holds the name of the tool and nothing else.
2. The first line that holds only the marks of the opening fence, at its very beginning, as many or more of them, closes
   the block. A line with fewer marks, with blanks before them or with anything after them is text.
3. The line end before the closing fence is not part of the text. If the opening line ends in `\r\n`, the
   lines before the closing fence and of that fence may do so too.
4. A block that is still open at the end of the message is truncated, and no call.

The text is emitted as it arrives. Only a line that may be the closing fence is held back, with the line end before it.
"""

import json
import re
from collections.abc import Callable

from toolspeak.reading.cursor import Cursor
from toolspeak.reading.emitter import EventEmitter, StartedCall, is_placeholder
from toolspeak.reading.forms import CODE_LABELS, DATA_LABELS
from toolspeak.reading.names import LABEL, find_raw_parameters
from toolspeak.reading.source import Reading
from toolspeak.values.events import Repair
from toolspeak.values.frozen import frozen

BLANKS_IN_LINE = re.compile(r"[ \t]*")
MARKS = {"`": re.compile("`*"), "~": re.compile("~*")}
MIN_MARKS = 3

LF_BEFORE_MARK = {char: re.compile(rf"(\n)(?={char})|\n\Z") for char in MARKS}
"""A line end before a mark, which is the group, or at the end of the text that has arrived."""

CRLF_BEFORE_MARK = {char: re.compile(rf"(\r?\n)(?={char})|(?:\r\n?|\n)\Z") for char in MARKS}
"""The same in a block whose lines may end in `\\r\\n`."""


@frozen
class RawFence:
    r"""The opening line of a block.

    Attributes:
        marks: The marks that open the block.
        label: The name that the model wrote.
        tool: The tool that the label names.
        opening: The whole line, without its line end.
        has_crlf: Whether the line ends in `\r\n`.
        is_alone: Whether nothing follows the name on the line.
    """

    marks: str
    label: str
    tool: str
    opening: str
    has_crlf: bool
    is_alone: bool


class RawCallReader:
    """Reads blocks that are calls of tools with a raw text."""

    def __init__(self, cursor: Cursor, emitter: EventEmitter) -> None:
        self._cursor = cursor
        self._source = cursor.source
        self._emitter = emitter
        self._parameters = find_raw_parameters(emitter.specs.values())

    def read_block(self) -> Reading[bool]:
        """Read the block whose fence comes next; False, with nothing read, if it is no call of such a tool."""
        if not self._parameters:
            return False
        fence = yield from self._read_opening()
        if fence is None:
            return False
        if fence.is_alone:
            yield from self._read_call(fence)
        else:
            reason = "the line of its fence holds more than the name of the tool"
            hint = f"Write {fence.marks}{fence.tool} alone on its line, and the text below it."
            self._emitter.emit_malformed(fence.tool, fence.opening, reason, hint)
            yield from self._read_text(fence, lambda _: None)
        return True

    def _read_call(self, fence: RawFence) -> Reading[None]:
        """Read the block after its opening line, and emit the call."""
        call = self._emitter.start_call(fence.tool)
        text = RawArgument(self._emitter, call, self._parameters[fence.tool])
        if not (yield from self._read_text(fence, text.add)):
            hint = "Write the whole block again, with its closing fence on a line of its own."
            call.fail(f"{fence.opening}\n{text.value}", "the message ended inside the call", hint)
        elif is_placeholder(text.value, text.parameter):
            call.fail(
                f"{fence.opening}\n{text.value}", "it holds a placeholder instead of a value", "Write the real text."
            )
        else:
            text.finish("none" if fence.label == fence.tool else "shape")

    def _read_opening(self) -> Reading[RawFence | None]:
        """Read the opening line with its line end; None, with nothing read, if it opens no call."""
        source = self._source
        char = yield from source.peek(1)
        if char not in MARKS:
            return None
        mark = source.mark()
        try:
            marks = yield from source.read_while(MARKS[char])
            yield from source.read_while(BLANKS_IN_LINE)
            label = yield from source.read_while(LABEL)
            tool = self._resolve(label) if len(marks) >= MIN_MARKS else None
            rest = (yield from source.read_line()) if tool else ""
            if tool is None or (char == "`" and "`" in rest):  # within a line, backticks are inline code
                source.rewind(mark)
                return None
            opening = source.since(mark)
            source.rewind(mark)
            self._emitter.enter("fence", label)
            self._cursor.reset()  # the call begins at its fence
            source.pos += len(opening)
        finally:
            source.unmark()
        source.pos += len((yield from source.peek(1)))
        return RawFence(
            marks=marks,
            label=label,
            tool=tool,
            opening=opening.removesuffix("\r"),
            has_crlf=opening.endswith("\r"),
            is_alone=not rest.strip(),
        )

    def _resolve(self, label: str) -> str | None:
        """Return the tool that a label names, if the tool takes a raw text."""
        if not label or label.lower() in CODE_LABELS | DATA_LABELS:
            return None
        tool = self._emitter.names.resolve(label)
        return tool if tool in self._parameters else None

    def _read_text(self, fence: RawFence, add: Callable[[str], None]) -> Reading[bool]:
        """Read the text and the closing fence; whether the block is closed."""
        char = fence.marks[0]
        line_end = ""  # the one before the line that is being read
        while True:
            run = yield from self._source.read_while(MARKS[char])
            if len(run) >= len(fence.marks) and (yield from self._is_at_line_end(fence)):
                return True
            add(line_end + run)
            found = yield from self._read_to_marked_line(fence, add)
            if found is None:
                return False
            line_end = found

    def _is_at_line_end(self, fence: RawFence) -> Reading[bool]:
        """Whether the line ends here. Where the message was cut off, the line might have gone on."""
        source = self._source
        following = yield from source.peek(1)
        if fence.has_crlf and following == "\r":
            following = (yield from source.peek(2))[1:]
            if following in ("", "\n"):
                source.pos += 1
        return following == "\n" or (following == "" and source.ended_well)

    def _read_to_marked_line(self, fence: RawFence, add: Callable[[str], None]) -> Reading[str | None]:
        """Read text up to a line that begins with a mark; return the line end before it, or None at the end."""
        source = self._source
        char = fence.marks[0]
        pattern = CRLF_BEFORE_MARK[char] if fence.has_crlf else LF_BEFORE_MARK[char]
        while True:
            match = pattern.search(source.text, source.pos)
            end = match.start() if match else len(source.text)
            add(source.text[source.pos : end])
            source.pos = end
            if match and match[1]:
                source.pos = match.end()
                return match[1]
            if source.ended:
                return None
            yield


class RawArgument:
    """The text of a call, which is emitted as it arrives.

    Attributes:
        parameter: The parameter that takes the text.
    """

    def __init__(self, emitter: EventEmitter, call: StartedCall, parameter: str) -> None:
        self.parameter = parameter
        self._emitter = emitter
        self._call = call
        self._pieces: list[str] = []
        emitter.emit_args(call.id, f'{{{_json(parameter)}: "')

    @property
    def value(self) -> str:
        return "".join(self._pieces)

    def add(self, piece: str) -> None:
        if piece:
            self._pieces.append(piece)
            self._emitter.emit_args(self._call.id, _json(piece)[1:-1])

    def finish(self, repair: Repair) -> None:
        self._emitter.emit_args(self._call.id, '"}')
        self._emitter.emit_ready(self._call, {self.parameter: self.value}, repair)


def _json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
