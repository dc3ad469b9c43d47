"""What a token of some model family opens: calls, reasoning, a result that the model made up, or nothing."""

import re

from toolspeak.reading.bare_calls import WORD, BareCallReader
from toolspeak.reading.calls import CallReader
from toolspeak.reading.fenced_calls import FencedCallReader
from toolspeak.reading.prose import ProseEmitter
from toolspeak.reading.protocols import ProtocolReader
from toolspeak.reading.source import Reading
from toolspeak.reading.tokens import ANSWER_ENDS, ROLES, THINKING_CLOSERS, is_tag_start, next_token

ESCAPED_TAG = re.compile(r"&lt;(/?[\w:|]{1,40})&gt;")


class TokenReader:
    """Reads a token and what belongs to it, wherever in a line the token stands."""

    def __init__(
        self,
        prose: ProseEmitter,
        calls: CallReader,
        bare: BareCallReader,
        fences: FencedCallReader,
        protocols: ProtocolReader,
    ) -> None:
        self._source = prose.source
        self._emitter = prose.emitter
        self._prose = prose
        self._calls = calls
        self._bare = bare
        self._fences = fences
        self._protocols = protocols

    def read(self) -> Reading[None]:
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
        source.rewind(mark)
        source.unmark()
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
