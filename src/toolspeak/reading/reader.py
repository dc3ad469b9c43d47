"""The reader of a message: prose, reasoning, and the places where a call may begin.

The message is read once, from left to right. Prose is emitted as it arrives; it is held back only
where a call may be beginning, and only until that is decided. A call may begin

1. with a token of some model family (`forms.py`), wherever the token stands;
2. at the beginning of a line: with a fence (`fences.py`), an object, a list or a word (`bare_calls.py`);
3. after a colon (`Tool call: …`) whose line has at most `MAX_LABEL_CHARS` characters before it, with an object or a
   list that stands alone, a fence, a call in backticks or a word;
4. in the middle of a line, with an object: right after a call, or alone after a whole sentence.

Anything else in the middle of a sentence, in inline code or in a block that is labelled as text is never a call. The
call itself is read by `calls.py`; this module finds where one may begin, and emits as prose what is no call.
"""

import re
from collections.abc import Iterable, Sequence

from toolspeak.reading.bare_calls import INDENT, TRANSPARENT, WORD, BareCallReader
from toolspeak.reading.calls import CallReader
from toolspeak.reading.emitter import EventEmitter
from toolspeak.reading.fences import FencedCallReader
from toolspeak.reading.forms import (
    ANSWER_ENDS,
    INLINE_FIRST_CHARS,
    RESULTS_LABEL,
    ROLES,
    THINKING_CLOSERS,
    is_tag_start,
    next_token,
)
from toolspeak.reading.names import Names, index_names
from toolspeak.reading.prose import MAX_LABEL_CHARS, ProseEmitter
from toolspeak.reading.protocols import ProtocolReader
from toolspeak.reading.source import Budget, OutOfBudget, Reading, Source
from toolspeak.reading.strings import FULL_WIDTH
from toolspeak.reading.trace import Trace
from toolspeak.values.events import ENDED_WELL, Event, FinishReason, TextDelta
from toolspeak.values.spec import ToolSpec

FIRST_WORD = re.compile(r"[ \t\n]*([^\W\d_]*)\.?")
"""The blanks and letters with which a message begins, with the full stop of a sentence that is one word."""

MAX_FIRST_WORD_CHARS = 200
"""Characters of a message in which its first word is looked for. The rest of a longer word is shown by the reader."""


class FirstWord:
    """Adds the first word of a message to the events of its reader, and leaves it out where the reader shows it.

    Any word may begin a call: `result = get_weather()`. So a reader holds the first word back until the next one
    arrives. But a word that begins as a sentence does, with a capital and a small letter or in a script without
    capitals, is the name of no variable as models write them. Unless the name of a tool may begin with it, it is shown
    at once, also if a call arrives together with it. If a call follows, it is read all the same, and the word stays.

    Attributes:
        is_over: Whether nothing is left to be added or left out.
    """

    __slots__ = ("_end", "_has_ended", "_names", "_read_chars", "_shown_chars", "_text", "is_over")

    def __init__(self, names: Names) -> None:
        self.is_over = False
        self._names = names
        self._text = ""  # the message, up to the end of its first word at least
        self._has_ended = False  # whether the word is whole
        self._end = 0  # up to where the message can be shown whatever follows
        self._read_chars = 0  # how much of the message the reader has shown
        self._shown_chars = 0  # how much of it has been shown in all

    def merge(self, text: str, events: Sequence[Event]) -> list[Event]:
        """Return the events of the reader for text that has arrived, with as much of the word as can be shown."""
        end = self._find_end(text)
        merged: list[Event] = []
        for place, event in enumerate(events):
            if not isinstance(event, TextDelta):  # the word belongs to a call, or there is none
                self.is_over = True
                return [*merged, *self._show(end), *events[place:]]
            self._read_chars += len(event.text)
            if new_chars := max(self._read_chars - self._shown_chars, 0):
                merged.append(TextDelta(text=event.text[-new_chars:]))
                self._shown_chars = self._read_chars
        self.is_over = self._has_ended and self._read_chars >= end
        return [*merged, *self._show(end)]

    def _find_end(self, text: str) -> int:
        """Return up to where the message can be shown whatever follows: the end of its first word so far, or 0."""
        if not self._has_ended:
            self._text += text
            found = FIRST_WORD.match(self._text, 0, MAX_FIRST_WORD_CHARS)
            end = found.end() if found else 0
            self._has_ended = end < len(self._text)
            self._end = end if found and self._opens_sentence(found[1]) else 0
        return self._end

    def _opens_sentence(self, word: str) -> bool:
        """Whether a word, or the beginning of one, can only be that of a sentence."""
        is_capital = word[:1].isupper()
        if not word or word[0].islower() or (is_capital and not word[1:2].islower()):
            return False
        return not self._names.may_begin(word) and not any(each.startswith(word) for each in TRANSPARENT)

    def _show(self, end: int) -> list[Event]:
        """Return the event that shows the message up to `end`, as far as it has not been shown."""
        if end <= self._shown_chars:
            return []
        text, self._shown_chars = self._text[self._shown_chars : end], end
        return [TextDelta(text=text)]


ESCAPED_TAG = re.compile(r"&lt;(/?[\w:|]{1,40})&gt;")

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
    rf"(?:(?:tool|function|execution|code) )?(?:observation|output|result|response)s?|{RESULTS_LABEL}", re.I
)
"""The label of a result, which the model makes up if it writes the label after a call."""


class Reader:
    r"""Reads one message, as it arrives.

    Examples:
        >>> from toolspeak.values.spec import ToolSpec
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
        budget: Budget | None = None,
        is_excerpt: bool = False,
    ) -> None:
        """Prepare to read.

        Args:
            specs: The tools on offer.
            strict: Refuse calls that had to be repaired.
            thinking: Whether the message begins inside reasoning, whose opening tag was in the prompt.
            prefix: What the ids of calls begin with.
            announced_only: Read only calls that the token of a model family announces.
            shows_first_word: Show the first word at once if it can only be that of a sentence (`FirstWord`).
            trace: Where to note what is read as what.
            budget: What counts the work of reading; None to make one, since the message begins here.
            is_excerpt: Whether the text is a part of one that was read before, so that it allows no more work.
        """
        by_name = {spec.name: spec for spec in specs}
        self._source = Source(budget or Budget(), is_inner=is_excerpt)
        if trace is not None:
            trace.attach(self._source)
        self._emitter = EventEmitter(
            by_name, index_names(tuple(by_name)), self._source, strict=strict, prefix=prefix, trace=trace
        )
        self._calls = CallReader(self._source, self._emitter)
        self._prose = ProseEmitter(self._source, self._emitter)
        self._fences = FencedCallReader(self._prose, self._calls)
        self._protocols = ProtocolReader(self._prose, self._calls)
        self._bare = BareCallReader(self._prose, self._calls, self._protocols)
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

    @property
    def budget(self) -> Budget:
        """What counts the work of reading the message."""
        return self._source.budget

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
        if first is None or first.is_over:
            return events
        return first.merge(text, events)

    def _advance(self) -> list[Event]:
        self._in_prose = False
        if self._skipped:
            self._source.skip(self._skipped)
            self._emitter.emitted_to = self._source.here
            self._skipped = 0
        try:
            next(self._reading, None)
        except (OutOfBudget, RecursionError):
            # It takes too much work, or is nested beyond all reason. What was emitted stays, and the rest is words.
            self._emitter.break_off()
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
            yield from self._read_token()
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
            yield from self._read_token()
        elif char in "}])" and self._prose.after_call:
            source.pos += 1
        elif char in TOKEN_STARTS and char != "]":
            yield from self._read_token()
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
        source.return_to(mark)
        if not is_alone:
            yield from self._read_backtick()
            return
        self._prose.show_next(1)
        self._emitter.enter("backticks")
        yield from self._bare.read_sequence(explicit=False)

    # A token of a model family, wherever in a line it stands, and what it opens

    def _read_token(self) -> Reading[None]:
        """Read what may be a token. What is none is read as prose."""
        source = self._source
        if (yield from source.starts_with("<!--")):
            yield from self._prose.show_until("-->")
            return
        token = yield from next_token(source)
        if token is None:
            yield from self._read_other()
            return
        role, text = token
        if role == "open":
            yield from self._read_announced(text)
        elif role == "think":
            source.pos += len(text)
            yield from self._protocols.read_thinking(THINKING_CLOSERS[text.lower()])
        elif role == "thought":
            source.pos += len(text)
            self._emitter.emit_said_in_thought(text)
            self._calls.code.forget()
            self._prose.after_call = False
            self._prose.start_line()
        elif role == "answer":
            source.pos += len(text)
            yield from self._protocols.read_answer(ANSWER_ENDS[text.lower()])
        elif role == "header":
            yield from self._protocols.read_message()
        elif role == "inert":
            yield from self._prose.show_until("</tools>")
        elif role == "result":
            self._emitter.muted = True
            self._prose.show_next(len(text))
        elif role in ("close", "separate") and (self._emitter.has_call or text[:2] in ("<|", "<｜", "</s")):
            source.pos += len(text)
            self._prose.fresh = self._prose.fresh or role == "close"
        else:
            self._prose.show_next(len(text))

    def _read_announced(self, opener: str) -> Reading[None]:
        """Read the calls that a token announces. A token that announces none is prose."""
        source = self._source
        mark = source.mark()
        self._emitter.enter("token", opener)
        if not is_tag_start(opener):
            source.pos += len(opener)
        count = yield from self._bare.read_sequence(explicit=True, opener=opener)
        if not count and source.here == mark:
            self._prose.show_next(len(opener))
        elif not count:
            self._prose.show(source.since(mark))
        source.unmark()

    def _read_other(self) -> Reading[None]:
        """Read a `<` or the like that begins no token: an escaped tag, a tag with the name of a tool, or prose."""
        char = self._source.text[self._source.pos]
        if char == "&" and (yield from self._read_escaped_tag()):
            return
        if char == "<" and (yield from self._read_named_tag()):
            return
        self._prose.show_next(1)

    def _read_escaped_tag(self) -> Reading[bool]:
        """Read `&lt;tool_call&gt;` and its calls; whether it was one."""
        source = self._source
        found = ESCAPED_TAG.match((yield from source.peek(48)))
        role = ROLES.get(f"<{found[1].lower()}>") if found else None
        if found is None or not (role == "open" or (role and self._emitter.has_call)):
            return False
        mark = source.mark()
        source.pos += found.end()
        self._emitter.enter("escaped_token", found[0])
        if role == "open" and not (yield from self._bare.read_sequence(explicit=True)):
            self._prose.show(source.since(mark))
        source.unmark()
        return True

    def _read_named_tag(self) -> Reading[bool]:
        """Read `<get_weather>` with its arguments, or `<code>` with its calls; whether it was one."""
        source = self._source
        if not (yield from source.peek(2))[1:].isalpha():
            return False
        mark = source.mark()
        source.pos += 1
        name = yield from source.read_while(WORD)
        after = yield from source.peek(2)
        source.return_to(mark)
        self._emitter.enter("tool_tag", name)
        is_tool = name in self._emitter.specs and after[:1] == ">" and not self._prose.line.strip()
        if is_tool and (yield from self._bare.read_sequence(explicit=False)):
            return True
        if name != "code" or after != ">\n":
            return False
        source.pos += len("<code>")
        self._emitter.hold("<code>")
        self._emitter.enter("code_tag")
        yield from self._fences.read_code(python=True)
        self._emitter.release()
        if self._prose.after_call and (yield from source.starts_with("</code>")):
            source.pos += len("</code>")
        return True
