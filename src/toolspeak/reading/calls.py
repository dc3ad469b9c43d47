"""Calls in every form that may stand inside a tag or a fence, or alone on a line.

    {"name": …, "arguments": …}    one object, a list or a sequence of them, also as the text of a string
    name(…), x = name(…)           code
    name{…}, name⟨separator⟩{…}    a name, then its arguments
    ```name … ```                  a raw text, for a tool that takes one (`raw_calls.py`); here within tags only
    <function=name> … </function>  tags within tags, or tags after a mark (`tags.py`)
    <|open|>call tool="name"<|sep|> …  sections (`tags.py`)

The caller says whether a call was announced, for example by a tag (`explicit`). What was announced and cannot be read
is a malformed call; what was not announced is left to be read as text.
"""

import re
from functools import partial
from typing import Any

from toolspeak.reading.code_calls import CodeCallReader
from toolspeak.reading.cursor import Ambiguous, Cursor, ReadError
from toolspeak.reading.doubt import CallDoubt, is_call_settled, may_end_later, skip_block
from toolspeak.reading.emitter import EventEmitter, StartedCall
from toolspeak.reading.forms import FIRST_CHARS, INLINE_FIRST_CHARS, UNCLOSED_OPENERS, is_tag_start, next_token
from toolspeak.reading.raw_calls import RawCallReader
from toolspeak.reading.shapes import CallDetector, NotACall, find_calls, find_meaning
from toolspeak.reading.source import OutOfBudget, Reading, Source
from toolspeak.reading.strings import BLANKS
from toolspeak.reading.tags import (
    CALL_SECTION,
    NAME_ATTRIBUTE,
    TAG,
    ElementReader,
    SectionReader,
    TagReader,
    read_whole,
    reread_object,
)
from toolspeak.reading.values import ValueReader
from toolspeak.values.events import CallStarted

NAME = re.compile(r"[\w.$:\-]*")
TO_TOKEN_OR_LINE_END = re.compile(rf"[^\n{re.escape(''.join(sorted(INLINE_FIRST_CHARS)))}]*")

BEFORE_NAME = frozenset({"function", "tool", "to=functions"})
"""Words that stand where a name could, before a separator and the name itself."""

MAX_LIST_NESTING = 8
"""Lists within lists in which calls are looked for."""


class CallReader:
    """Reads calls from a source, and emits them."""

    def __init__(self, source: Source, emitter: EventEmitter) -> None:
        self.source = source
        self.emitter = emitter
        keys = frozenset(key for spec in emitter.specs.values() for key in spec.parameters.get("properties", {}))
        self.cursor = Cursor(source, keys, emitter.trace)
        self.values = ValueReader(self.cursor)
        self.tags = TagReader(self.cursor, emitter, self.values)
        self.code = CodeCallReader(self.cursor, emitter)
        self.raw = RawCallReader(self.cursor, emitter)
        self._sections = SectionReader(self.cursor, emitter)
        self._elements = ElementReader(self.tags)
        self._nesting = 0
        self._ends_with_message = False  # whether the next call begins after a token that nothing closes

    # A sequence of calls

    def read_sequence(self, *, explicit: bool, opener: str = "") -> Reading[int]:
        """Read calls one after another, as many as come; their number, with malformed calls.

        Args:
            explicit: Whether calls were announced.
            opener: The token that announced them, if it has been read.
        """
        source = self.source
        total = 0
        self._ends_with_message = opener.lower() in UNCLOSED_OPENERS
        while True:
            char = yield from self._skip_gap(total)
            is_mark = char == "]" and (yield from next_token(source)) is not None
            if char in (",", ";", "}", "]", ")") and total and not is_mark:
                source.pos += 1
                continue
            if char == "":
                return total
            if char in "`~" and (yield from source.peek(3)) in ("```", "~~~"):
                if not explicit:
                    return total
                if (yield from self.raw.read_block()):
                    total += 1
                else:
                    yield from self._skip_fence()
                continue
            token = (yield from next_token(source)) if source.text[source.pos].lower() in FIRST_CHARS else None
            if token is not None:
                role, text = token
                if role == "open" and (yield from self._read_opener(text)):
                    explicit = True
                    self._ends_with_message = text.lower() in UNCLOSED_OPENERS
                    continue
                if role in ("separate", "close") and explicit:
                    source.pos += len(text)
                    if role == "close" and not (yield from self._skip_to_next_token()):
                        return total
                    continue
                if role != "open":
                    return total
            count = yield from self._read_one(char, explicit=explicit)
            self._ends_with_message = False
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
        self.emitter.enter("token", token)
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
            self.source.return_to(mark)
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
                is_settled = partial(is_call_settled, in_list=self._nesting > 0)
                doubt = CallDoubt(
                    self.cursor, mark, reread_object, partial(find_meaning, emitter=self.emitter), is_settled
                )
                try:
                    value = yield from doubt.read(self.values.read_object(detector))
                finally:
                    call = detector.call
                return self._emit_calls(value, call, explicit, source.since(mark))
            if char == "[":
                if self._nesting > MAX_LIST_NESTING:
                    raise NotACall
                return (yield from self._read_list(explicit, mark))
            if char == "<" and (yield from source.starts_with(CALL_SECTION)):
                return (yield from self._sections.read_call())
            if char == "<":
                return (yield from self.tags.read_tagged())
            if char == "]":
                return (yield from self._elements.read_call())
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
            is_settled = not count or (yield from is_call_settled(self.cursor))
            if not is_settled and (yield from may_end_later(self.cursor, self.source.here)):
                raise Ambiguous
            return count
        except Ambiguous as error:
            started = next((event.name for event in self.emitter.events if isinstance(event, CallStarted)), None)
            self.emitter.drop_paused()
            yield from skip_block(self.cursor)
            raw = self.source.since(mark)
            self.emitter.emit_malformed(started or self.code.find_called_tool(raw), raw, error.reason, error.hint)
            return 1
        except (OutOfBudget, RecursionError):
            self.emitter.drop_paused()
            raise
        finally:
            self.emitter.resume()

    def _read_list_items(self, explicit: bool) -> Reading[int]:
        """Read the calls between brackets; the opening bracket is next.

        An item that is whole and no call is malformed, and its neighbours count. If a text or a bracket in an item is
        broken, nobody knows where the item ends: then the list ends with it.
        """
        source = self.source
        source.pos += 1
        self._nesting += 1
        total = 0
        refused: list[str] = []  # items before the first call: without a call, the list is data
        source.mark()
        try:
            while True:
                char = yield from self.values.skip_space()
                if char == "]":
                    source.pos += 1
                    if not total and (refused or not explicit):
                        raise NotACall
                    return total
                if char == ",":
                    source.pos += 1
                    continue
                count, skipped = yield from self._read_list_item(char, total, explicit=explicit)
                if not count and skipped is None:
                    if not total:
                        raise NotACall
                    return total
                if skipped and explicit:
                    refused.append(skipped)
                total += count
                if total:
                    total += self._refuse_items(refused)
                    refused = []
        finally:
            source.unmark()
            self._nesting -= 1

    def _read_list_item(self, char: str, total: int, *, explicit: bool) -> Reading[tuple[int, str | None]]:
        """Read an item of a list; the number of its calls, and its text if it is a whole value but no call.

        Args:
            char: The character with which the item begins.
            total: The number of calls before it in the list.
            explicit: Whether calls were announced.
        """
        source = self.source
        mark = source.mark()
        try:
            count = 0
            if char.isalpha() or char == "_":
                count = yield from self.code.read_item(total)
            elif char and char in "{[":
                count = yield from self._read_one(char, explicit=explicit or total > 0)
            if count:
                doubts = {kind for kind, _ in self.cursor.doubts} - {"rest"}
                if total and (self.cursor.quotes is not None or doubts):
                    raise Ambiguous  # the strings of the calls before may go on in this one
                return count, None
            if (explicit or total) and (yield from self._skip_item(mark)):
                return 0, source.since(mark)
            if total and (yield from may_end_later(self.cursor, mark)):
                raise Ambiguous
            return 0, None
        finally:
            source.unmark()

    def _skip_item(self, start: int) -> Reading[bool]:
        """Skip an item of a list that is no call, from `start`; whether it is a whole value that ends at a comma."""
        source = self.source
        source.rewind(start)
        cursor = Cursor(source, self.cursor.keys)
        values = ValueReader(cursor)
        try:
            yield from values.read_value()
            return (yield from values.skip_space()) in (",", "]") and not cursor.doubts
        except ReadError:
            return False

    def _refuse_items(self, items: list[str]) -> int:
        """Emit items of a list as malformed calls; their number."""
        for raw in items:
            self.emitter.emit_malformed(None, raw, "it is no call", 'Write {"name": …, "arguments": {…}}.')
        return len(items)

    def _emit_encoded(self, text: str) -> int:
        """Emit the calls that are written as JSON within a string; their number."""
        if text.lstrip()[:1] not in ("{", "["):
            raise NotACall
        value = read_whole(text, self.cursor)
        self.cursor.note_repair("shape")
        return self._emit_calls(value, None, explicit=False, raw=text)

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
            separator = yield from self._skip_separators()
            if (word in BEFORE_NAME and separator) or word == "call:" or separator == "<|tool_call:name|>":
                yield from source.read_while(BLANKS)
                name = yield from source.read_while(NAME)
                separator = yield from self._skip_separators()
            tool = self.emitter.names.resolve(name)
            char = yield from self._skip_to_arguments()
            if char == "{" and (tool or (explicit and separator)):
                return (yield from self.tags.read_arguments(name, tool))
            if char == "<" and (prefix := (yield from self.tags.match_key())) is not None:
                return (yield from self.tags.read_pairs(prefix, name, tool))
            if tool and explicit and (yield from self._ends_after_name(tool, char, separator)):
                self.emitter.start_call(tool).finish({}, self.cursor.tier)
                return 1
            source.rewind(mark)
        finally:
            source.unmark()
        return (yield from self.code.read_line(explicit=explicit))

    def _skip_to_arguments(self) -> Reading[str]:
        """Skip blanks, and the fence around arguments or around none; return the next character."""
        char = yield from self.values.skip_space()
        while char and char in "`~" and (yield from self.source.peek(3)) in ("```", "~~~"):
            yield from self._skip_fence()
            char = yield from self.values.skip_space()
        return char

    def _ends_after_name(self, tool: str, char: str, separator: str) -> Reading[bool]:
        """Whether a call without arguments ends after its name: a token follows, or the message ends by itself.

        At the end of the message the name must be certain: it stands right after a token that nothing closes, no
        separator announces arguments, no argument is required, and no other tool begins like this one.
        """
        if char == "":
            schema = self.emitter.specs[tool].parameters
            is_certain = not any(other.startswith(tool) and other != tool for other in self.emitter.specs)
            is_certain = is_certain and self._ends_with_message and not separator
            return is_certain and self.source.ended_well and not schema.get("required")
        token = (yield from next_token(self.source)) if char in INLINE_FIRST_CHARS else None
        return token is not None and token[0] in ("close", "open")

    def _skip_separators(self) -> Reading[str]:
        """Skip the tokens between a name and its arguments; return the last in lower case, or "" if none came."""
        found = ""
        while True:
            mark = self.source.mark()
            yield from self.values.skip_space()
            token = yield from next_token(self.source)
            if token is None or token[0] != "separate":
                self.source.return_to(mark)
                return found
            self.source.unmark()
            self.source.pos += len(token[1])
            found = token[1].lower()
            if found == "[call_id]":
                yield from self.source.read_while(re.compile(r"[\w-]*"))
