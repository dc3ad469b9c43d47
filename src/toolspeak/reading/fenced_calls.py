"""Calls in fenced blocks: every block may hold calls, unless its label says that it is text.

A block that is labelled with the name of a tool for raw texts is itself a call (`raw_calls.py`).
"""

from toolspeak.reading.calls import CallReader
from toolspeak.reading.fences import FenceScanner
from toolspeak.reading.forms import CODE_LABELS, DATA_LABELS, RESULT_LABELS
from toolspeak.reading.prose import ProseEmitter
from toolspeak.reading.source import Reading
from toolspeak.reading.string_ends import BLANKS, FULL_WIDTH


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
            source.rewind(mark)
        source.unmark()
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
