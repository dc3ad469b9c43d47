"""The reader of a message: prose, reasoning, and the places where a call may begin.

The message is read once, from left to right. Prose is emitted as it arrives; it is held back only
where a call may be beginning, and only until that is decided. A call may begin

1. with a token of some model family (`forms.py`), wherever the token stands (`token_reader.py`);
2. at the beginning of a line: with a fence (`fenced_calls.py`), an object, a list or a word (`bare_calls.py`);
3. after a colon (`Tool call: …`) whose line has at most `MAX_LABEL_CHARS` characters before it, with an object or a
   list that stands alone, a fence, a call in backticks or a word;
4. in the middle of a line, with an object: right after a call, or alone after a whole sentence.

Anything else in the middle of a sentence, in inline code or in a block that is labelled as text is never a call. The
call itself is read by `calls.py`; this module finds where one may begin, and emits as prose what is no call.
"""

import re
from collections.abc import Iterable

from toolspeak.events import ENDED_WELL, Event, FinishReason, TextDelta
from toolspeak.reading.bare_calls import INDENT, BareCallReader
from toolspeak.reading.calls import CallReader
from toolspeak.reading.emitter import EventEmitter
from toolspeak.reading.fenced_calls import FencedCallReader
from toolspeak.reading.first_word import FirstWord
from toolspeak.reading.names import index_names
from toolspeak.reading.prose import MAX_LABEL_CHARS, ProseEmitter
from toolspeak.reading.protocols import ProtocolReader
from toolspeak.reading.source import Reading, Source
from toolspeak.reading.string_ends import FULL_WIDTH
from toolspeak.reading.token_reader import TokenReader
from toolspeak.reading.tokens import INLINE_FIRST_CHARS, next_token
from toolspeak.reading.trace import Trace
from toolspeak.spec import ToolSpec

TOKEN_STARTS = INLINE_FIRST_CHARS | {"&"}
"""Characters with which a token may begin in the middle of a line; `&` begins an escaped one (`&lt;tool_call&gt;`)."""

STARTS = re.compile(rf"[\n:：`{{}}\]){re.escape(''.join(sorted(TOKEN_STARTS)))}]")
"""Characters in the middle of a line at which more than prose may begin."""

MARKERS = re.compile(r"[*_ \t]*")
"""Blanks and marks of emphasis between a label and what it labels (`**Action:** …`)."""

INLINE_CODE = re.compile(r"[^`\n]*")
NUMBERED = re.compile(r"\d{1,3}[.)][ \t]")
"""The number of an item in a numbered list, at the beginning of a line."""

NUMBER = re.compile(r"[\d.)]*")
"""That number alone, which is shown as prose."""

RESULT_LABEL = re.compile(
    r"(?:(?:tool|function|execution|code) )?(?:observation|output|result|response)s?|results of your calls", re.I
)
"""The label of a result, which the model makes up if it writes the label after a call."""


class Reader:
    r"""Reads one message, as it arrives.

    Examples:
        >>> from toolspeak.spec import ToolSpec
        >>> spec = ToolSpec(name="now", description="The time.", parameters={"type": "object", "properties": {}})
        >>> reader = Reader([spec])
        >>> [event.kind for event in (*reader.feed("Let me see.\nno"), *reader.feed("w()"), *reader.close())]
        ['text_delta', 'text_delta', 'call_started', 'args_delta', 'call_ready']
    """

    def __init__(
        self,
        specs: Iterable[ToolSpec],
        *,
        strict: bool = False,
        thinking: bool = False,
        prefix: str = "call",
        announced_only: bool = False,
        shows_first_word: bool = False,
        trace: Trace | None = None,
    ) -> None:
        """Prepare to read.

        Args:
            specs: The tools on offer.
            strict: Refuse calls that had to be repaired.
            thinking: Whether the message begins inside reasoning, whose opening tag was in the prompt.
            prefix: What the ids of calls begin with.
            announced_only: Read only calls that the token of a model family announces.
            shows_first_word: Show the first word at once if it can only be that of a sentence (`first_word.py`).
            trace: Where to note what is read as what.
        """
        by_name = {spec.name: spec for spec in specs}
        self._source = Source()
        if trace is not None:
            trace.attach(self._source)
        self._emitter = EventEmitter(by_name, index_names(tuple(by_name)), strict=strict, prefix=prefix, trace=trace)
        calls = CallReader(self._source, self._emitter)
        self._prose = ProseEmitter(self._source, self._emitter)
        self._fences = FencedCallReader(self._prose, calls)
        self._protocols = ProtocolReader(self._prose, calls)
        self._bare = BareCallReader(self._prose, calls, self._protocols)
        self._tokens = TokenReader(self._prose, calls, self._bare, self._fences, self._protocols)
        self._in_prose = False
        self._skipped = 0  # characters of prose that the source has not counted yet
        self._thinking = thinking
        self._announced_only = announced_only
        self._first_word = FirstWord(self._emitter.names) if shows_first_word and not thinking else None
        self._reading = self._read_message()

    def feed(self, text: str) -> list[Event]:
        """Read text that has arrived, and return the new events."""
        if self._in_prose and STARTS.search(text) is None:
            # Prose, the common case: nothing can begin in this text.
            if len(self._prose.line) <= MAX_LABEL_CHARS:
                self._prose.line += text
            self._prose.after_call = False
            self._skipped += len(text)
            return [TextDelta(text=text)] if text else []
        awaited = self._source.awaited
        if awaited is not None and awaited.search(text) is None:
            self._source.hold(text)
            return []
        self._source.feed(text)
        return self._merge_first_word(text, self._advance())

    def skip_prose(self, line: str, count: int) -> None:
        """Begin after prose that somebody else has shown: `count` characters, the last of them those of `line`."""
        self._prose.line = line
        self._prose.fresh = INDENT.fullmatch(line) is not None
        self._source.skip(count)

    def close(self, finish: FinishReason = "stop") -> list[Event]:
        """End the message, and return the last events."""
        self._source.feed("")
        self._source.ended = True
        self._source.ended_well = finish in ENDED_WELL
        return self._merge_first_word("", self._advance())

    def _merge_first_word(self, text: str, events: list[Event]) -> list[Event]:
        first = self._first_word
        if first is None:
            return events
        events = first.merge(text, events)
        if first.is_over:
            self._first_word = None
        return events

    def _advance(self) -> list[Event]:
        self._in_prose = False
        if self._skipped:
            self._source.skip(self._skipped)
            self._skipped = 0
        try:
            next(self._reading, None)
        except RecursionError:
            # Nested beyond all reason. The text that was read is lost; the rest is shown as it is.
            self._reading = self._show_all()
            next(self._reading, None)
        return self._emitter.take_events()

    def _show_all(self) -> Reading[None]:
        while True:
            rest = self._source.text[self._source.pos :]
            self._source.pos = len(self._source.text)
            self._emitter.emit_text(rest)
            yield

    def _read_message(self) -> Reading[None]:
        if self._thinking:
            yield from self._protocols.read_thinking(None)
        while not (yield from self._source.is_at_end()):
            if not self._prose.fresh or not (yield from self._read_line_start()):
                self._prose.fresh = False
                yield from self._read_in_line()

    # The beginning of a line

    def _read_line_start(self) -> Reading[bool]:
        """Return whether the beginning of the line was read; if not, `_read_in_line` reads the line."""
        source = self._source
        self._prose.show((yield from source.read_while(INDENT)))
        char = yield from source.peek(1)
        char = FULL_WIDTH.get(char, char)
        if char == "\n":
            self._prose.show_newline()
            return True
        if char == "t" and (yield from self._protocols.is_addressed()):
            yield from self._protocols.read_message()
            return True
        if self._announced_only:
            return False
        if char in ("`", "~", "'") and (yield from source.starts_with(char * 3)):
            yield from self._fences.read_block()
            return True
        self._emitter.enter("line")
        if char in ("{", "[") or (yield from self._bare.opens_text(char)):
            return (yield from self._bare.read_value(char))
        if char == "/" and (yield from source.starts_with("/*")):
            yield from self._prose.show_until("*/")
            return True
        if char == ">":
            return (yield from self._read_angle())
        if char == "#":
            yield from self._tokens.read()
            return True
        if char in ("-", "*") and (yield from source.starts_with(f"{char} {{")):
            self._prose.show_next(2)
            return True
        if char.isdecimal() and NUMBERED.match((yield from source.peek(5))):
            self._prose.show((yield from source.read_while(NUMBER)))
            return True
        if char.isalpha() or char in ("_", "$"):
            return (yield from self._bare.read_word())
        return False

    def _read_angle(self) -> Reading[bool]:
        """Read a `>` at the beginning of a line: a block quote, a shell's prompt, or a recipient (`>>>name`)."""
        source = self._source
        if (yield from source.starts_with(">>>")):
            mark = source.mark()
            source.pos += 3
            self._emitter.enter("recipient")
            count = yield from self._bare.read_sequence(explicit=False)
            if not count:
                source.rewind(mark)
                self._prose.show_next(3)
            source.unmark()
            return bool(count)
        self._prose.show_next(1)
        return True

    # The middle of a line

    def _read_in_line(self) -> Reading[None]:
        """Read prose up to the end of the line or to where more may begin, and read that."""
        source = self._source
        match = STARTS.search(source.text, source.pos)
        if match is None:
            self._prose.show_next(len(source.text) - source.pos)
            if not source.ended:
                self._in_prose = self._emitter.trace is None  # what `feed` emits by itself is in no trace
                yield
            return
        self._prose.show_next(match.start() - source.pos)
        char = match[0]
        if char == "\n":
            self._prose.show_newline()
        elif char in ":：":
            yield from self._read_colon()
        elif char == "`":
            yield from self._read_backtick()
        elif char == "{" and (yield from self._may_begin_here()):
            self._emitter.enter("sentence")
            yield from self._bare.read_value_or_char()
        elif char == "]" and (yield from self._is_mark()):
            yield from self._tokens.read()
        elif char in "}])" and self._prose.after_call:
            source.pos += 1
        elif char in TOKEN_STARTS and char != "]":
            yield from self._tokens.read()
        else:
            self._prose.show_next(1)

    def _is_mark(self) -> Reading[bool]:
        """Whether a `]` begins a token, which is rare: most end a list."""
        return (yield from self._source.peek(2)) == "]<" and (yield from next_token(self._source)) is not None

    def _may_begin_here(self) -> Reading[bool]:
        """Whether an object in the middle of a line may be a call: after a call, or alone after a whole sentence."""
        line = self._prose.line
        if self._prose.after_call:
            return True
        is_sentence = len(line) <= MAX_LABEL_CHARS and line.endswith((". ", "! ", "? "))
        return is_sentence and (yield from self._bare.stands_alone())

    def _read_backtick(self) -> Reading[None]:
        """Read inline code, which is prose, or a fence on a line that holds nothing else."""
        if (yield from self._source.peek(3)) == "```":
            if self._announced_only:
                self._prose.show_next(3)
                yield from self._fences.read_rest("```", shown=True)
            elif self._prose.line.strip():
                self._prose.show_next(3)
            else:
                yield from self._fences.read_block()
            return
        self._prose.show_next(1)
        self._prose.show((yield from self._source.read_while(INLINE_CODE)))
        if (yield from self._source.peek(1)) == "`":
            self._prose.show_next(1)

    def _read_colon(self) -> Reading[None]:
        """Read a colon. The line before it may be a label, and a call may follow it."""
        source = self._source
        is_long, label = len(self._prose.line) > MAX_LABEL_CHARS, self._prose.line.strip(" \t*_#>-`").lower()
        self._prose.show_next(1)
        if is_long or self._announced_only:
            return
        if RESULT_LABEL.fullmatch(label):
            # After a call, the label shows that the model makes up the result: later calls are dropped.
            self._emitter.muted = self._emitter.muted or self._emitter.has_call
            return
        self._prose.show((yield from source.read_while(MARKERS)))
        char = yield from source.peek(1)
        if label == "action" and (yield from self._protocols.read_action()):
            return
        self._emitter.enter("label")
        char = FULL_WIDTH.get(char, char)
        if char == "[" and (yield from next_token(source)) is not None:
            return
        if char in ("{", "["):
            if not (yield from self._bare.stands_alone()) or not (yield from self._bare.read_value(char)):
                self._prose.show_next(1)
        elif char == "`":
            if (yield from source.peek(3)) == "```":
                yield from self._fences.read_block()
            else:
                yield from self._read_call_in_backticks()
        elif char.isalpha() or char == "_":
            yield from self._bare.read_word()

    def _read_call_in_backticks(self) -> Reading[None]:
        """Read a call in backticks after a label, if nothing follows it on the line; else inline code."""
        source = self._source
        mark = source.mark()
        source.pos += 1
        yield from source.read_while(INLINE_CODE)
        following = yield from source.peek(3)
        is_alone = re.match(r"`[ \t]*(?:\n|$)" if source.ended_well else r"`[ \t]*\n", following)
        source.rewind(mark)
        source.unmark()
        if not is_alone:
            yield from self._read_backtick()
            return
        self._prose.show_next(1)
        self._emitter.enter("backticks")
        yield from self._bare.read_sequence(explicit=False)
