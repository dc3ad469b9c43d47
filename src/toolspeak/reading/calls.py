"""Calls, in all forms but prose: what may stand inside a tag or a fence, or alone on a line.

    {"name": …, "arguments": …}    one object, a list or a sequence of them, also as the text of a string
    name(…), x = name(…)           code
    name{…}, name⟨separator⟩{…}    a name, then its arguments
    <function=name> … </function>  tags within tags

Whoever comes here says whether a call was announced (`explicit`: by a tag, say). What was announced and cannot be read
is reported as malformed; what was not is left to be text.
"""

import re
from typing import Any

from toolspeak.reading.code_calls import CodeCallReader
from toolspeak.reading.emitter import EventEmitter
from toolspeak.reading.shapes import CallWatch, NotACall, calls_in
from toolspeak.reading.source import Reading, Source
from toolspeak.reading.strings import BLANKS, ReadError
from toolspeak.reading.tags import ATTRIBUTE, TAG, TagReader, read_whole
from toolspeak.reading.tokens import FIRST, next_token
from toolspeak.reading.values import Values

NAME = re.compile(r"[\w.$:\-]*")


class CallReader:
    """Reads calls from a source and tells them to a speech."""

    def __init__(self, source: Source, speech: EventEmitter) -> None:
        self.source = source
        self.speech = speech
        keys = frozenset(key for spec in speech.specs.values() for key in spec.parameters.get("properties", {}))
        self.values = Values(source, keys)
        self.tags = TagReader(source, speech, self.values)
        self.code = CodeCallReader(source, speech, self.values)
        self._nesting = 0

    # A sequence of calls

    def sequence(self, *, explicit: bool) -> Reading[int]:
        """Read calls one after another, as many as come; how many were said (malformed ones count)."""
        source = self.source
        said = 0
        while True:
            char = yield from self._gap(said)
            if char in (",", ";", "}", "]", ")") and said:
                source.pos += 1
                continue
            if char == "":
                return said
            if char in "`~" and (yield from source.ahead(3)) in ("```", "~~~"):
                if not explicit:
                    return said
                yield from self._fence_line()
                continue
            token = (yield from next_token(source)) if source.text[source.pos].lower() in FIRST else None
            if token is not None:
                role, text = token
                if role == "open" and (yield from self._opened(text)):
                    explicit = True
                    continue
                if role in ("separate", "close") and explicit:
                    source.pos += len(text)
                    if role == "close" and not (yield from self._opens_again()):
                        return said
                    continue
                if role != "open":
                    return said
            count = yield from self._one(char, explicit=explicit)
            if not count:
                return said
            said += count

    def _gap(self, said: int) -> Reading[str]:
        """Skip what stands between calls. A `#` on a new line after a call is a heading, not a comment."""
        yield from self.source.run(BLANKS)
        char = yield from self.source.ahead(1)
        if char == "#" and said:
            return char
        return (yield from self.values.space())

    def _opened(self, token: str) -> Reading[bool]:
        """Read an opener. False, with nothing read, if it is the beginning of a tag that names a tool."""
        if token[-1] in ">]:：｜":
            self.source.pos += len(token)
            return True
        tag = yield from self.tags.tag(TAG)
        if tag is None or tag[2] or ATTRIBUTE.search(tag[3] or ""):
            return False
        self.source.pos += tag.end()
        return True

    def _opens_again(self) -> Reading[bool]:
        """Whether another opener follows the closer just read; what is between them is not text."""
        mark = self.source.mark()
        yield from self.values.space()
        token = yield from next_token(self.source)
        again = token is not None and token[0] in ("open", "close")
        if not again:
            self.source.rewind(mark)
        self.source.unmark()
        return again

    def _fence_line(self) -> Reading[None]:
        yield from self.source.run(re.compile(r"[`~]*"))
        yield from self.source.run(re.compile(r"[\w-]*"))

    def _one(self, char: str, *, explicit: bool) -> Reading[int]:
        """One item of a sequence: 0 if it is no call, with nothing read."""
        source = self.source
        mark = source.mark()
        self.values.tier = "none"
        self.values.open.clear()
        call = None
        try:
            if char == "{":
                watch = CallWatch(self.speech, explicit=explicit)
                try:
                    value = yield from self.values.object(watch)
                finally:
                    call = watch.call
                return self._said(value, watch, explicit, source.since(mark))
            if char == "[":
                if self._nesting > 8:
                    raise NotACall
                self._nesting += 1
                try:
                    return (yield from self._list(explicit))
                finally:
                    self._nesting -= 1
            if char == "<":
                return (yield from self.tags.tagged())
            if (opener := (yield from self.values.opener())) is not None:
                if (yield from source.ahead(len(opener) + 1))[-1:] not in ("{", "[", "\\"):
                    raise NotACall
                text = yield from self.values.text(opener, "value")
                return self._encoded(text)
            return (yield from self._named(explicit))
        except NotACall:
            # Raised only while nothing has been told: what was handed over cannot be taken back.
            source.rewind(mark)
            return 0
        except ReadError as bad:
            raw = source.since(mark)
            if call is not None:
                call.fail(raw, bad.reason, bad.hint)
            elif explicit:
                self.speech.malformed(None, raw, bad.reason, bad.hint)
            else:
                source.rewind(mark)
                return 0
            yield from self._leave()
            return 1
        finally:
            source.unmark()

    def _leave(self) -> Reading[None]:
        """After a call that could not be read: on to what closes it, or to the end of the line."""
        source = self.source
        while True:
            yield from source.run(re.compile(r"[^<\n\[]*"))
            if (yield from source.at_end()) or source.text[source.pos] == "\n":
                return
            token = yield from next_token(source)
            if token is not None:
                return
            source.pos += 1

    def _said(self, value: Any, watch: CallWatch | None, explicit: bool, raw: str) -> int:
        """Tell the calls that a value says."""
        found = calls_in(value, self.speech.names)
        begun = watch.call if watch is not None else None
        if not found and begun is not None:
            begun.fail(raw, "it defines a tool and does not call it", "Write values, not the schema.")
            return 1
        if not found:
            if not explicit:
                raise NotACall
            if value:
                self.speech.malformed(None, raw, "it names no tool", 'Write {"name": …, "arguments": {…}}.')
            return 1 if value else 0
        if begun is None and not explicit and not any(self.speech.names.resolve(name) for name, _ in found):
            raise NotACall
        for name, arguments in found:
            tool = self.speech.names.resolve(name)
            if tool != name:
                self.values.repaired("shape")
            if begun is not None and begun.spec.name == tool:
                begun.finish(arguments, self.values.tier, raw)
                begun = None
            elif tool is not None:
                self.speech.begin(tool).finish(arguments, self.values.tier, raw)
            elif explicit:
                self.speech.unknown(name, raw)
        return len(found)

    def _list(self, explicit: bool) -> Reading[int]:
        """A list of calls, each told as soon as it is complete."""
        source = self.source
        source.pos += 1
        said = 0
        while True:
            char = yield from self.values.space()
            if char == "]":
                source.pos += 1
                if not said and not explicit:
                    raise NotACall
                return said
            if char == ",":
                source.pos += 1
                continue
            count = 0
            if char.isalpha() or char == "_":
                count = yield from self.code.item(said)
            elif char and char in "{[":
                count = yield from self._one(char, explicit=explicit)
            if not count and not said:
                raise NotACall
            if not count:
                return said
            said += count

    def _encoded(self, text: Any) -> int:
        """A call written as the text of a string."""
        if not isinstance(text, str) or text.lstrip()[:1] not in ("{", "["):
            raise NotACall
        value = read_whole(text, self.values.keys)
        self.values.repaired("shape")
        return self._said(value, None, explicit=False, raw=text)

    # A name, then its arguments

    def _named(self, explicit: bool) -> Reading[int]:
        source = self.source
        mark = source.mark()
        try:
            word = yield from source.run(NAME)
            if not word:
                raise NotACall
            name = word
            token = yield from self._separators()
            if word in ("function", "tool", "to=functions") and token:
                name = yield from source.run(NAME)
                token = yield from self._separators()
            tool = self.speech.names.resolve(name)
            char = yield from self.values.space()
            if char in "`~" and char and (yield from source.ahead(3)) in ("```", "~~~"):
                yield from self._fence_line()
                char = yield from self.values.space()
            if char == "{" and (tool or (explicit and token)):
                return (yield from self.tags.arguments(name, tool))
            if char == "<" and (yield from source.starts_with("<arg_key>")):
                return (yield from self.tags.pairs(name, tool))
            if tool and explicit and not token and char == "<":
                closing = yield from next_token(source)
                if closing is not None and closing[0] in ("close", "open"):
                    self.speech.begin(tool).finish({}, self.values.tier)
                    return 1
            source.rewind(mark)
        finally:
            source.unmark()
        return (yield from self.code.line(explicit=explicit))

    def _separators(self) -> Reading[bool]:
        """Skip what stands between a name and its arguments; whether anything did."""
        found = False
        while True:
            mark = self.source.mark()
            yield from self.values.space()
            token = yield from next_token(self.source)
            if token is None or token[0] != "separate":
                self.source.rewind(mark)
                self.source.unmark()
                return found
            self.source.unmark()
            self.source.pos += len(token[1])
            found = True
            if token[1].lower() == "[call_id]":
                yield from self.source.run(re.compile(r"[\w-]*"))
