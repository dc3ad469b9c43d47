"""Ways of speaking in which a message has parts with headers: ReAct, harmony, and reasoning."""

import re

from toolspeak.reading.calls import CallReader
from toolspeak.reading.prose import ProseReader
from toolspeak.reading.source import Reading
from toolspeak.reading.strings import BLANKS, ReadError, Truncated
from toolspeak.reading.tokens import next_token

PLAIN_LINE = re.compile(r"[^\n]*")
ACTION_INPUT = re.compile(r"[*_\s]*Action[ _]Input[*_]*:[*_]*[ \t]*", re.I)
HARMONY_RECIPIENT = re.compile(r"to=([\w.\-]+)")
HARMONY_ENDS = ("<|end|>", "<|return|>", "<|call|>")


class ProtocolReader:
    """Reads parts with headers."""

    def __init__(self, prose: ProseReader, calls: CallReader) -> None:
        self.source = prose.source
        self.speech = prose.speech
        self.prose = prose
        self.calls = calls

    def action(self) -> Reading[bool]:
        """`Action: name`, and on the next line `Action Input: arguments`."""
        source = self.source
        mark = source.mark()
        yield from source.run(re.compile(r"[`*_ \t]*"))
        name = yield from source.run(re.compile(r"[\w.\-]*"))
        tool = self.speech.names.resolve(name) if name else None
        char = yield from source.ahead(1)
        if tool and char == "[":
            source.pos += 1
            text = yield from source.until("]")
            if text is not None:
                source.unmark()
                self._finish_text(tool, text)
                return True
        yield from source.run(re.compile(r"[`*_ \t]*"))
        yield from source.ahead(40)
        found = ACTION_INPUT.match(source.text, source.pos) if name else None
        if found is None:
            source.rewind(mark)
            source.unmark()
            return False
        source.pos = found.end()
        yield from self._action_input(name, tool)
        source.unmark()
        self.prose.after_call = True
        self.prose.anew()
        return True

    def _action_input(self, name: str, tool: str | None) -> Reading[None]:
        source = self.source
        mark = source.mark()
        try:
            yield from source.run(BLANKS)
            if (yield from source.ahead(3)) == "```":
                yield from source.run(re.compile(r"`*"))
                yield from source.run(re.compile(r"\w*"))
                yield from source.run(BLANKS)
            elif (yield from source.ahead(2)) == "`{":
                source.pos += 1
            if (yield from source.ahead(1)) == "{":
                self.calls.values.tier = "none"
                self.calls.values.open.clear()
                yield from self.calls.tags.arguments(name, tool)
                return
            if (yield from source.ahead(1)) == "<":
                yield from self.calls.sequence(explicit=True)
                return
            text = yield from source.run(PLAIN_LINE)
            if (yield from source.at_end()) and not (source.well and text.strip()):
                raise Truncated
            if tool is None:
                self.speech.unknown(name, name)
            else:
                self._finish_text(tool, text)
        except ReadError as bad:
            self.speech.malformed(name, source.since(mark), bad.reason, bad.hint)
        finally:
            source.unmark()

    def _finish_text(self, tool: str, text: str) -> None:
        """A call whose arguments are one text: that of its first parameter."""
        properties = list(self.speech.specs[tool].parameters.get("properties", {}))
        arguments = {properties[0]: text.strip()} if properties and text.strip() else {}
        self.speech.begin(tool).finish(arguments, "shape")
        self.prose.after_call = True

    def thought(self, closer: str | None) -> Reading[None]:
        """Reasoning, up to its closing token (any, if it was opened in the prompt). Nothing in it is a call."""
        source = self.source
        while True:
            stop = source.text.find(closer[0] if closer else "<", source.pos)
            end = stop if stop >= 0 else len(source.text)
            self.speech.thinking(source.text[source.pos : end])
            source.pos = end
            if stop < 0:
                if source.ended:
                    return
                yield
                continue
            token = yield from next_token(self.source)
            if token is not None and (token[0] == "thought" if closer is None else token[1].lower() == closer.lower()):
                source.pos += len(token[1])
                self.prose.anew()
                return
            if (yield from source.at_end()):
                return
            self.speech.thinking(source.text[source.pos])
            source.pos += 1

    def harmony(self) -> Reading[None]:
        """A header of the harmony form: who speaks, in which channel, to whom."""
        source = self.source
        mark = source.mark()
        header = yield from source.until("<|message|>")
        if header is None:
            self.prose.say(source.since(mark))
        source.unmark()
        if header is None:
            return
        recipient = HARMONY_RECIPIENT.search(header)
        if header.startswith("<|start|>") and not header.startswith("<|start|>assistant"):
            self.speech.muted = self.speech.muted or self.speech.called
            yield from self._until_next_header(shown=False)
        elif recipient is not None and recipient[1] != "assistant":
            yield from self._action_input(recipient[1], self.speech.names.resolve(recipient[1]))
            self.prose.after_call = True
        elif "analysis" in header:
            yield from self._until_next_header(shown=True)
        self.prose.anew()

    def _until_next_header(self, *, shown: bool) -> Reading[None]:
        """The text of a harmony message that is no answer, up to the token that ends it."""
        source = self.source
        while True:
            found = source.text.find("<", source.pos)
            end = found if found >= 0 else len(source.text)
            if shown:
                self.speech.thinking(source.text[source.pos : end])
            source.pos = end
            if found < 0:
                if source.ended:
                    return
                yield
                continue
            token = yield from next_token(self.source)
            if token is not None and (token[0] == "harmony" or token[1].lower() in HARMONY_ENDS):
                return
            if shown:
                self.speech.thinking("<")
            source.pos += 1
