"""Forms in which a message has parts: ReAct, messages with headers (harmony, Muse Glimmer), reasoning and answers.

Only what a header addresses to a tool is a call. What is addressed to the model itself is reasoning; in it and in what
is addressed to the user, nothing is a call. Text for the user goes on up to the token that ends it: a header inside is
one that the model shows to the user. Reasoning also ends at the next header, since models forget its last token, unless
a quotation mark stands before that header.
"""

import re
from collections.abc import Callable

from toolspeak.reading.calls import CallReader
from toolspeak.reading.cursor import ReadError, Truncated
from toolspeak.reading.forms import THINKING_ENDS, next_token
from toolspeak.reading.prose import ProseEmitter
from toolspeak.reading.source import Reading
from toolspeak.reading.strings import BLANKS

REST_OF_LINE = re.compile(r"[^\n]*")
MARKERS = re.compile(r"[`*_ \t]*")
ACTION_NAME = re.compile(r"[\w.\-]*")
ACTION_INPUT = re.compile(r"[*_\s]*Action[ _]Input[*_]*:[*_]*[ \t]*", re.I)
FIRST_TOKEN = re.compile(r"<\|\w+\|>")
HEADER_END = re.compile(
    r"<\|(?:message\|>|content_|start\|>|message_\w+\|>|(?:end|return|call|eom|eot|end_message)\|>)"
)
"""What ends a header: the token before the message, or one that shows that it is none."""

BARE_HEADER = re.compile(
    r"to=[\w.\-:]++[ \t]*+(?:<\|channel\|>[ \t]*+\w++[ \t]*+)?(?:(?:<\|constrain\|>)?\w++[ \t]*+)?<\|message\|>"
)
"""A header whose first token was in the prompt."""

SENDER = re.compile(r"<\|start\|>(?![ \t]*(?:assistant\b|to=))")
"""The beginning of a header whose sender is not the model."""

QUOTES = frozenset("\"'`“‘«„")
RECIPIENT = re.compile(r"to=([\w.\-:]+)")
MESSAGE_ENDS = frozenset({"<|end|>", "<|return|>", "<|call|>", "<|eom|>", "<|eot|>"})

MAX_HEADER_CHARS = 256
"""Characters after which a header is none if it has not ended."""


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
        self._emitter.enter("react", is_part=True)
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
            source.return_to(mark)
            return False
        source.pos = found.end()
        yield from self._read_arguments(name, tool)
        source.unmark()
        self._prose.after_call = True
        self._prose.start_line()
        return True

    def _read_arguments(self, name: str, tool: str | None) -> Reading[None]:
        """Read the arguments that follow `Action Input:`: an object, tags, or one line of text."""
        source = self._source
        mark = source.mark()
        try:
            if (yield from self._read_structured(name, tool)):
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

    def _read_structured(self, name: str, tool: str | None) -> Reading[bool]:
        """Read arguments that are an object or tags, also in a fence; whether they were."""
        source = self._source
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
            return True
        if (yield from source.peek(1)) == "<":
            yield from self._calls.read_sequence(explicit=True)
            return True
        return False

    def _finish_text(self, tool: str, text: str) -> None:
        """Emit a call whose only argument is a text: that of the first parameter."""
        properties = list(self._emitter.specs[tool].parameters.get("properties", {}))
        arguments = {properties[0]: text.strip()} if properties and text.strip() else {}
        self._emitter.start_call(tool).finish(arguments, "shape")
        self._prose.after_call = True

    # Reasoning, and text for the user

    def read_thinking(self, closer: str | None) -> Reading[None]:
        """Read reasoning up to its closing token. Nothing in reasoning is a call.

        Args:
            closer: The token that closes the reasoning; None for any, where the prompt has opened the reasoning.
        """
        closers = THINKING_ENDS if closer is None else frozenset({closer.lower()})
        token = yield from self._read_inert(closers, self._emitter.emit_thinking)
        if token:
            self._source.pos += len(token)
            self._prose.start_line()

    def read_answer(self, ends: frozenset[str], *, headers: bool = True) -> Reading[None]:
        """Read text for the user up to a token that ends it, or to the next header. Nothing in that text is a call."""
        yield from self._read_inert(ends, self._prose.show, headers=headers)
        self._prose.start_line()

    def _read_inert(self, ends: frozenset[str], emit: Callable[[str], None], *, headers: bool = False) -> Reading[str]:
        """Read text in which nothing is a call, up to a token that ends it; that token, which is not read.

        Args:
            ends: The tokens that end the text, in lower case.
            emit: Takes the text, piece by piece.
            headers: Whether the header of another message ends the text as well.
        """
        source = self._source
        first_chars = re.compile(f"[{re.escape(''.join({end[0] for end in ends}))}]")
        last = ""  # the last character of the text
        while True:
            stop = first_chars.search(source.text, source.pos)
            end = stop.start() if stop else len(source.text)
            text = source.text[source.pos : end]
            source.pos = end
            emit(text)
            last = text[-1:] or last
            if stop is None:
                if source.ended:
                    return ""
                yield
                continue
            token = yield from next_token(source)
            if token is not None and token[1].lower() in ends:
                return token[1]
            may_be_header = headers and token is not None and token[0] == "header" and last not in QUOTES
            if token is not None and may_be_header and (yield from self._match_header()):
                return token[1]
            if (yield from source.is_at_end()):
                return ""
            source.pos += 1
            last = source.text[source.pos - 1]
            emit(last)

    # Messages with headers

    def is_addressed(self) -> Reading[bool]:
        """Whether a header comes next whose first token was in the prompt (`to=self<|message|>`)."""
        if not (yield from self._source.starts_with("to=")):
            return False
        return BARE_HEADER.fullmatch((yield from self._match_header()) or "") is not None

    def has_header(self) -> Reading[bool]:
        """Whether a header goes on here, up to the token before its message."""
        return bool((yield from self._match_header()))

    def _match_header(self) -> Reading[str | None]:
        """Return the header that comes next, with its last token; "" if the message ends in it. It is not read."""
        source = self._source
        while True:
            text = source.text[source.pos : source.pos + MAX_HEADER_CHARS]
            first = FIRST_TOKEN.match(text)
            end = HEADER_END.search(text, first.end() if first else 0)
            if end is not None:
                is_header = end[0] in ("<|message|>", "<|content_")
                return text[: end.end() if end[0] == "<|message|>" else end.start()] if is_header else None
            if source.ended or len(text) == MAX_HEADER_CHARS:
                return None if len(text) == MAX_HEADER_CHARS else ""
            yield

    def read_message(self) -> Reading[None]:
        """Read the header of a message (sender, recipient, channel), and the call or reasoning after it.

        The text of any other message is left to be read like a message without a header.
        """
        source = self._source
        self._emitter.enter("harmony", is_part=True)
        header = yield from self._match_header()
        if not header:
            first = FIRST_TOKEN.match(source.text, source.pos)
            self._prose.show_next(len(first[0]) if first and header is None else len(source.text) - source.pos)
            yield from self.read_answer(MESSAGE_ENDS)  # what a broken header hides may be reasoning
            return
        source.pos += len(header)
        recipient = RECIPIENT.search(header)
        name = recipient[1] if recipient else ""
        if SENDER.match(header):
            self._emitter.muted = self._emitter.muted or self._emitter.has_call
            yield from self._read_inert(MESSAGE_ENDS, lambda _: None, headers=True)
        elif name == "user":
            yield from self.read_answer(MESSAGE_ENDS, headers=False)
        elif name == "self" or (name in ("", "assistant") and "analysis" in header):
            yield from self._read_inert(MESSAGE_ENDS, self._emitter.emit_thinking, headers=True)
        elif name not in ("", "assistant"):
            yield from self._read_addressed(name, self._emitter.names.resolve(name))
            self._prose.after_call = True
        self._prose.start_line()

    def _read_addressed(self, name: str, tool: str | None) -> Reading[None]:
        """Read a message to a tool: an object, tags, nothing before `<|call|>`, or the text of its only parameter."""
        source = self._source
        mark = source.mark()
        try:
            yield from source.read_while(BLANKS)
            is_empty = yield from source.starts_with("<|call|>")
            if not is_empty and (yield from self._read_structured(name, tool)):
                return
            pieces: list[str] = []
            end = yield from self._read_inert(MESSAGE_ENDS, pieces.append, headers=True)
            text = "".join(pieces).strip()
            if not end and not (source.ended_well and text):
                raise Truncated
            if tool is None:
                self._emitter.emit_unknown_tool(name, name)
            else:
                self._emitter.start_call(tool).finish(text or {}, "none", text)
        except ReadError as error:
            self._emitter.emit_malformed(name, source.since(mark), error.reason, error.hint)
        finally:
            source.unmark()
