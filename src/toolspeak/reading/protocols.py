"""Forms in which a message has parts with headers: ReAct, harmony, and reasoning."""

import re

from toolspeak.reading.calls import CallReader
from toolspeak.reading.cursor import ReadError, Truncated
from toolspeak.reading.prose import ProseEmitter
from toolspeak.reading.source import Reading
from toolspeak.reading.string_ends import BLANKS
from toolspeak.reading.tokens import next_token

REST_OF_LINE = re.compile(r"[^\n]*")
MARKERS = re.compile(r"[`*_ \t]*")
ACTION_NAME = re.compile(r"[\w.\-]*")
ACTION_INPUT = re.compile(r"[*_\s]*Action[ _]Input[*_]*:[*_]*[ \t]*", re.I)
HARMONY_RECIPIENT = re.compile(r"to=([\w.\-]+)")
HARMONY_ENDS = ("<|end|>", "<|return|>", "<|call|>")


class ProtocolReader:
    """Reads the parts of a message that have a header."""

    def __init__(self, prose: ProseEmitter, calls: CallReader) -> None:
        self._source = prose.source
        self._emitter = prose.emitter
        self._prose = prose
        self._calls = calls

    # ReAct

    def read_action(self) -> Reading[bool]:
        """Read what follows `Action:`: a name, and `Action Input: arguments` on the next line, or `name[text]`.

        Returns:
            Whether there was a call; if not, nothing was read.
        """
        source = self._source
        mark = source.mark()
        yield from source.read_while(MARKERS)
        name = yield from source.read_while(ACTION_NAME)
        tool = self._emitter.names.resolve(name) if name else None
        char = yield from source.peek(1)
        if tool and char == "[" and source.may_rewind:
            source.pos += 1
            text = yield from source.read_until("]")
            if text is not None:
                source.unmark()
                self._finish_text(tool, text)
                return True
        yield from source.read_while(MARKERS)
        yield from source.peek(40)
        found = ACTION_INPUT.match(source.text, source.pos) if name else None
        if found is None:
            source.rewind(mark)
            source.unmark()
            return False
        source.pos = found.end()
        yield from self._read_arguments(name, tool)
        source.unmark()
        self._prose.after_call = True
        self._prose.start_line()
        return True

    def _read_arguments(self, name: str, tool: str | None) -> Reading[None]:
        """Read the arguments that follow a header: an object, tags, or one line of text."""
        source = self._source
        mark = source.mark()
        try:
            yield from source.read_while(BLANKS)
            if (yield from source.peek(3)) == "```":
                yield from source.read_while(re.compile(r"`*"))
                yield from source.read_while(re.compile(r"\w*"))
                yield from source.read_while(BLANKS)
            elif (yield from source.peek(2)) == "`{":
                source.pos += 1
            if (yield from source.peek(1)) == "{":
                self._calls.cursor.reset()
                yield from self._calls.tags.read_arguments(name, tool)
                return
            if (yield from source.peek(1)) == "<":
                yield from self._calls.read_sequence(explicit=True)
                return
            text = yield from source.read_while(REST_OF_LINE)
            if (yield from source.is_at_end()) and not (source.ended_well and text.strip()):
                raise Truncated
            if tool is None:
                self._emitter.emit_unknown_tool(name, name)
            else:
                self._finish_text(tool, text)
        except ReadError as error:
            self._emitter.emit_malformed(name, source.since(mark), error.reason, error.hint)
        finally:
            source.unmark()

    def _finish_text(self, tool: str, text: str) -> None:
        """Emit a call whose only argument is a text: that of the first parameter."""
        properties = list(self._emitter.specs[tool].parameters.get("properties", {}))
        arguments = {properties[0]: text.strip()} if properties and text.strip() else {}
        self._emitter.start_call(tool).finish(arguments, "shape")
        self._prose.after_call = True

    # Reasoning

    def read_thinking(self, closer: str | None) -> Reading[None]:
        """Read reasoning up to its closing token. Nothing in reasoning is a call.

        Args:
            closer: The token that closes the reasoning; None for any, where the prompt has opened the reasoning.
        """
        source = self._source
        while True:
            stop = source.text.find(closer[0] if closer else "<", source.pos)
            end = stop if stop >= 0 else len(source.text)
            self._emitter.emit_thinking(source.text[source.pos : end])
            source.pos = end
            if stop < 0:
                if source.ended:
                    return
                yield
                continue
            token = yield from next_token(source)
            if token is not None and (token[0] == "thought" if closer is None else token[1].lower() == closer.lower()):
                source.pos += len(token[1])
                self._prose.start_line()
                return
            if (yield from source.is_at_end()):
                return
            self._emitter.emit_thinking(source.text[source.pos])
            source.pos += 1

    # Harmony

    def read_harmony(self) -> Reading[None]:
        """Read a header of the harmony form (role, channel, recipient) and the call or reasoning after it."""
        source = self._source
        mark = source.mark()
        header = yield from source.read_until("<|message|>")
        if header is None:
            self._prose.show(source.since(mark))
        source.unmark()
        if header is None:
            return
        recipient = HARMONY_RECIPIENT.search(header)
        if header.startswith("<|start|>") and not header.startswith("<|start|>assistant"):
            self._emitter.muted = self._emitter.muted or self._emitter.has_call
            yield from self._read_to_next_header(shown=False)
        elif recipient is not None and recipient[1] != "assistant":
            yield from self._read_arguments(recipient[1], self._emitter.names.resolve(recipient[1]))
            self._prose.after_call = True
        elif "analysis" in header:
            yield from self._read_to_next_header(shown=True)
        self._prose.start_line()

    def _read_to_next_header(self, *, shown: bool) -> Reading[None]:
        """Read a harmony message that is no answer, as reasoning or, if not `shown`, as nothing."""
        source = self._source
        while True:
            found = source.text.find("<", source.pos)
            end = found if found >= 0 else len(source.text)
            if shown:
                self._emitter.emit_thinking(source.text[source.pos : end])
            source.pos = end
            if found < 0:
                if source.ended:
                    return
                yield
                continue
            token = yield from next_token(source)
            if token is not None and (token[0] == "harmony" or token[1].lower() in HARMONY_ENDS):
                return
            if shown:
                self._emitter.emit_thinking("<")
            source.pos += 1
