"""Calls in every form that may stand inside a tag or a fence, or alone on a line.

    {"name": …, "arguments": …}    one object, a list or a sequence of them, also as the text of a string
    name(…), x = name(…)           code
    name{…}, name⟨separator⟩{…}    a name, then its arguments
    <function=name> … </function>  tags within tags

The caller says whether a call was announced, for example by a tag (`explicit`). What was announced and cannot be read
is a malformed call; what was not announced is left to be read as text.
"""

import re
from typing import Any

from toolspeak.events import CallStarted
from toolspeak.reading.code_calls import CodeCallReader
from toolspeak.reading.cursor import Ambiguous, Cursor, ReadError
from toolspeak.reading.doubt import (
    QUOTE,
    CallDoubt,
    Meaning,
    has_quotes_ahead,
    is_call_settled,
    is_item_settled,
    skip_block,
)
from toolspeak.reading.emitter import EventEmitter, StartedCall
from toolspeak.reading.shapes import CallDetector, NotACall, find_calls, find_meaning
from toolspeak.reading.source import Reading, Source
from toolspeak.reading.string_ends import BLANKS
from toolspeak.reading.tags import NAME_ATTRIBUTE, TAG, TagReader, read_whole, reread_object
from toolspeak.reading.tokens import FIRST_CHARS, INLINE_FIRST_CHARS, is_tag_start, next_token
from toolspeak.reading.values import ValueReader

NAME = re.compile(r"[\w.$:\-]*")
TO_TOKEN_OR_LINE_END = re.compile(rf"[^\n{re.escape(''.join(sorted(INLINE_FIRST_CHARS)))}]*")

MAX_LIST_NESTING = 8
"""Lists within lists in which calls are looked for."""


class CallReader:
    """Reads calls from a source, and emits them."""

    def __init__(self, source: Source, emitter: EventEmitter) -> None:
        self.source = source
        self.emitter = emitter
        keys = frozenset(key for spec in emitter.specs.values() for key in spec.parameters.get("properties", {}))
        self.cursor = Cursor(source, keys)
        self.values = ValueReader(self.cursor)
        self.tags = TagReader(self.cursor, emitter, self.values)
        self.code = CodeCallReader(self.cursor, emitter)
        self._nesting = 0

    # A sequence of calls

    def read_sequence(self, *, explicit: bool) -> Reading[int]:
        """Read calls one after another, as many as come; their number, with malformed calls."""
        source = self.source
        total = 0
        while True:
            char = yield from self._skip_gap(total)
            if char in (",", ";", "}", "]", ")") and total:
                source.pos += 1
                continue
            if char == "":
                return total
            if char in "`~" and (yield from source.peek(3)) in ("```", "~~~"):
                if not explicit:
                    return total
                yield from self._skip_fence()
                continue
            token = (yield from next_token(source)) if source.text[source.pos].lower() in FIRST_CHARS else None
            if token is not None:
                role, text = token
                if role == "open" and (yield from self._read_opener(text)):
                    explicit = True
                    continue
                if role in ("separate", "close") and explicit:
                    source.pos += len(text)
                    if role == "close" and not (yield from self._skip_to_next_token()):
                        return total
                    continue
                if role != "open":
                    return total
            count = yield from self._read_one(char, explicit=explicit)
            if not count:
                return total
            total += count

    def _skip_gap(self, total: int) -> Reading[str]:
        """Skip blanks and comments before a call, and return the next character.

        After a call, a `#` on a new line is a heading and not a comment.
        """
        yield from self.source.read_while(BLANKS)
        char = yield from self.source.peek(1)
        if char == "#" and total:
            return char
        return (yield from self.values.skip_space())

    def _read_opener(self, token: str) -> Reading[bool]:
        """Read a token that opens calls. False, with nothing read, if the token begins a tag that names a tool."""
        if not is_tag_start(token):
            self.source.pos += len(token)
            return True
        tag = yield from self.tags.match_tag(TAG)
        if tag is None or tag[2] or NAME_ATTRIBUTE.search(tag[3] or ""):
            return False
        self.source.pos += tag.end()
        return True

    def _skip_to_next_token(self) -> Reading[bool]:
        """Skip the blanks after a token that closes calls, if a token that opens or closes calls follows them."""
        if not self.source.may_rewind:
            return False
        mark = self.source.mark()
        yield from self.values.skip_space()
        token = yield from next_token(self.source)
        goes_on = token is not None and token[0] in ("open", "close")
        if not goes_on:
            self.source.rewind(mark)
        self.source.unmark()
        return goes_on

    def _skip_fence(self) -> Reading[None]:
        yield from self.source.read_while(re.compile(r"[`~]*"))
        yield from self.source.read_while(re.compile(r"[\w-]*"))

    def _read_one(self, char: str, *, explicit: bool) -> Reading[int]:
        """Read one item of a sequence; the number of its calls. 0, with nothing read, if it is no call."""
        source = self.source
        if char != "{" and not source.may_rewind:
            return 0
        mark = source.mark()
        self.cursor.reset()
        self.cursor.announced = explicit
        call = None
        try:
            if char == "{":
                detector = CallDetector(self.emitter, explicit=explicit)
                is_settled = is_item_settled if self._nesting else is_call_settled
                doubt = CallDoubt(self.cursor, mark, reread_object, self._find_meaning, is_settled)
                try:
                    value = yield from doubt.read(self.values.read_object(detector))
                finally:
                    call = detector.call
                return self._emit_calls(value, call, explicit, source.since(mark))
            if char == "[":
                if self._nesting > MAX_LIST_NESTING:
                    raise NotACall
                return (yield from self._read_list(explicit, mark))
            if char == "<":
                return (yield from self.tags.read_tagged())
            if (opener := (yield from self.values.peek_opener())) is not None:
                if (yield from source.peek(len(opener) + 1))[-1:] not in ("{", "[", "\\"):
                    raise NotACall
                text = yield from self.values.read_string(opener)
                return self._emit_encoded(text)
            return (yield from self._read_named(explicit))
        except NotACall:
            # Raised only while nothing has been emitted: an event cannot be taken back.
            source.rewind(mark)
            return 0
        except ReadError as error:
            if isinstance(error, Ambiguous):
                if self._nesting:
                    raise
                yield from skip_block(self.cursor)
            raw = source.since(mark)
            if call is not None:
                call.fail(raw, error.reason, error.hint)
            elif explicit:
                self.emitter.emit_malformed(None, raw, error.reason, error.hint)
            else:
                source.rewind(mark)
                return 0
            if not isinstance(error, Ambiguous):
                yield from self._skip_malformed()
            return 1
        finally:
            self.cursor.open = []
            source.unmark()

    def _skip_malformed(self) -> Reading[None]:
        """Skip the rest of a call that could not be read, up to the next token or the end of the line."""
        source = self.source
        while True:
            yield from source.read_while(TO_TOKEN_OR_LINE_END)
            if (yield from source.is_at_end()) or source.text[source.pos] == "\n":
                return
            token = yield from next_token(source)
            if token is not None:
                return
            source.pos += 1

    def _emit_calls(self, value: Any, started: StartedCall | None, explicit: bool, raw: str) -> int:
        """Emit the calls that a value holds; their number.

        Args:
            value: The value, as it was read.
            started: The call that was started while the value was read, if there was one.
            explicit: Whether a call was announced.
            raw: The text of the value.
        """
        found = find_calls(value, self.emitter.names)
        if not found and started is not None:
            started.fail(raw, "it defines a tool and does not call it", "Write values, not the schema.")
            return 1
        if not found:
            if not explicit:
                raise NotACall
            if value:
                self.emitter.emit_malformed(None, raw, "it names no tool", 'Write {"name": …, "arguments": {…}}.')
            return 1 if value else 0
        if started is None and not explicit and not any(self.emitter.names.resolve(name) for name, _ in found):
            raise NotACall
        for name, arguments in found:
            tool = self.emitter.names.resolve(name)
            if tool != name:
                self.cursor.note_repair("shape")
            if started is not None and started.spec.name == tool:
                started.finish(arguments, self.cursor.tier, raw)
                started = None
            elif tool is not None:
                self.emitter.start_call(tool).finish(arguments, self.cursor.tier, raw)
            elif explicit:
                self.emitter.emit_unknown_tool(name, raw)
        return len(found)

    def _read_list(self, explicit: bool, mark: int) -> Reading[int]:
        """Read a list of calls; their number. They are emitted together, since quotes in one can undo those before it.

        Args:
            explicit: Whether a call was announced.
            mark: Where the list begins.
        """
        if self._nesting:
            return (yield from self._read_list_items(explicit))
        self.emitter.pause()
        try:
            count = yield from self._read_list_items(explicit)
            if count and not (yield from is_call_settled(self.cursor)) and (yield from has_quotes_ahead(self.cursor)):
                raise Ambiguous
            return count
        except Ambiguous as error:
            started = next((event.name for event in self.emitter.events if isinstance(event, CallStarted)), None)
            self.emitter.drop_paused()
            yield from skip_block(self.cursor)
            raw = self.source.since(mark)
            self.emitter.emit_malformed(started or self.code.find_called_tool(raw), raw, error.reason, error.hint)
            return 1
        finally:
            self.emitter.resume()

    def _read_list_items(self, explicit: bool) -> Reading[int]:
        """Read the calls between brackets; the opening bracket is next."""
        source = self.source
        source.pos += 1
        self._nesting += 1
        total = 0
        source.mark()
        try:
            while True:
                item = source.here
                char = yield from self.values.skip_space()
                if char == "]":
                    source.pos += 1
                    if not total and not explicit:
                        raise NotACall
                    return total
                if char == ",":
                    source.pos += 1
                    continue
                count = 0
                if char.isalpha() or char == "_":
                    count = yield from self.code.read_item(total)
                elif char and char in "{[":
                    count = yield from self._read_one(char, explicit=explicit)
                if not count and not total:
                    raise NotACall
                if not count and char in "{[" and (yield from self._skip_data()):
                    continue
                if not count:
                    if QUOTE.search(source.since(item)) or (yield from has_quotes_ahead(self.cursor)):
                        raise Ambiguous
                    return total
                doubts = {kind for kind, _ in self.cursor.doubts} - {"rest"}
                if total and (self.cursor.quotes is not None or doubts):
                    raise Ambiguous  # the strings of the calls before may go on in this one
                total += count
        finally:
            source.unmark()
            self._nesting -= 1

    def _skip_data(self) -> Reading[bool]:
        """Skip an object or a list that is no call, in a list of calls; whether it could be read."""
        values = ValueReader(Cursor(self.source, self.cursor.keys))
        try:
            yield from values.read_value()
        except ReadError:
            return False
        return True

    def _emit_encoded(self, text: str) -> int:
        """Emit the calls that are written as JSON within a string; their number."""
        if text.lstrip()[:1] not in ("{", "["):
            raise NotACall
        value = read_whole(text, self.cursor.keys)
        self.cursor.note_repair("shape")
        return self._emit_calls(value, None, explicit=False, raw=text)

    def _find_meaning(self, value: Any) -> Meaning | None:
        return find_meaning(value, self.emitter)

    # A name, then its arguments

    def _read_named(self, explicit: bool) -> Reading[int]:
        """Read a name with its arguments, or else a line of code; the number of calls."""
        source = self.source
        mark = source.mark()
        try:
            word = yield from source.read_while(NAME)
            if not word:
                raise NotACall
            name = word
            has_separator = yield from self._skip_separators()
            if word in ("function", "tool", "to=functions") and has_separator:
                name = yield from source.read_while(NAME)
                has_separator = yield from self._skip_separators()
            tool = self.emitter.names.resolve(name)
            char = yield from self.values.skip_space()
            if char in "`~" and char and (yield from source.peek(3)) in ("```", "~~~"):
                yield from self._skip_fence()
                char = yield from self.values.skip_space()
            if char == "{" and (tool or (explicit and has_separator)):
                return (yield from self.tags.read_arguments(name, tool))
            if char == "<" and (yield from source.starts_with("<arg_key>")):
                return (yield from self.tags.read_pairs(name, tool))
            if tool and explicit and not has_separator and char in INLINE_FIRST_CHARS:
                closing = yield from next_token(source)
                if closing is not None and closing[0] in ("close", "open"):
                    self.emitter.start_call(tool).finish({}, self.cursor.tier)
                    return 1
            source.rewind(mark)
        finally:
            source.unmark()
        return (yield from self.code.read_line(explicit=explicit))

    def _skip_separators(self) -> Reading[bool]:
        """Skip the tokens between a name and its arguments; whether there were any."""
        found = False
        while True:
            mark = self.source.mark()
            yield from self.values.skip_space()
            token = yield from next_token(self.source)
            if token is None or token[0] != "separate":
                self.source.rewind(mark)
                self.source.unmark()
                return found
            self.source.unmark()
            self.source.pos += len(token[1])
            found = True
            if token[1].lower() == "[call_id]":
                yield from self.source.read_while(re.compile(r"[\w-]*"))
