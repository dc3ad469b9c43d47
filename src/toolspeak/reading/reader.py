"""The reader of a message: prose, reasoning, and the places where a call may begin.

Theory of operation. The message is read once, from the left. Prose goes out as it comes; it is held back only where a
call may be beginning, and only until that is decided:

1. A token of some family (`forms.py`) opens a carrier, a reasoning span or a made-up result, wherever it stands.
2. At the beginning of a line: a fence, an object or a list, or a word that can be the beginning of a call.
3. After a label (`Tool call: …`) the same as at the beginning of a line.

What stands in the middle of a sentence, in inline code or in a block labelled as text is talk, and never a call. What a
call is made of is read by `calls.py`; this module only finds where one may begin, and what becomes of the text if none
does.
"""

import re
from collections.abc import Iterable

from toolspeak.events import ENDED_WELL, Event, FinishReason, TextDelta
from toolspeak.reading.calls import CallReader
from toolspeak.reading.emitter import EventEmitter
from toolspeak.reading.fences import FenceReader
from toolspeak.reading.forms import CODE_LABELS, DATA_LABELS
from toolspeak.reading.names import Names
from toolspeak.reading.prose import LABEL_LENGTH, ProseReader
from toolspeak.reading.protocols import ProtocolReader
from toolspeak.reading.source import Reading, Source
from toolspeak.reading.strings import WIDE, ReadError
from toolspeak.reading.tokens import ROLES, THOUGHT_ENDS, next_token
from toolspeak.reading.values import Values
from toolspeak.spec import ToolSpec

INTERESTING = re.compile(r"[\n<\[{`:：&✿◁}\])]")
INDENT = re.compile(r"[ \t\u200b-\u200f\u2060\ufeff\u00a0]*")
WORD = re.compile(r"[\w.$]*")
MARKERS = re.compile(r"[*_ \t]*")
INLINE_CODE = re.compile(r"[^`\n]*")
NUMBERED = re.compile(r"\d{1,3}[.)][ \t]")
RESULT_LABEL = re.compile(
    r"(?:(?:tool|function|execution|code) )?(?:observation|output|result|response)s?|results of your calls", re.I
)
ESCAPED_TAG = re.compile(r"&lt;(/?[\w:|]{1,40})&gt;")
BINDERS = frozenset({"await", "const", "let", "var", "return", "print", "from", "import"})
TRANSPARENT = frozenset(
    {"print", "console.log", "asyncio.run", "asyncio.gather", "gather", "Promise.all", "await", "display"}
)
ASSIGNED = re.compile(r"call|tool|function|action", re.I)


class Reader:
    r"""Reads one message, as it arrives.

    Example:
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
    ) -> None:
        """Prepare to read.

        Args:
            specs: The tools on offer.
            strict: Refuse calls that had to be repaired.
            thinking: Whether the message begins inside reasoning, whose opening tag was in the prompt.
            prefix: What the ids of calls begin with.
            announced_only: Heed only calls that a family's token announces.
        """
        by_name = {spec.name: spec for spec in specs}
        self._source = Source()
        self._speech = EventEmitter(by_name, Names(by_name), strict=strict, prefix=prefix)
        self._calls = CallReader(self._source, self._speech)
        self._prose = ProseReader(self._source, self._speech)
        self._fences = FenceReader(self._prose, self._calls)
        self._protocols = ProtocolReader(self._prose, self._calls)
        self._in_prose = False
        self._thinking = thinking
        self._announced_only = announced_only
        self._reading = self._message()

    def feed(self, text: str) -> list[Event]:
        """Read text that has arrived; what is known now and was not before."""
        if self._in_prose and INTERESTING.search(text) is None:
            # Prose, the common case: nothing in it can begin anything.
            if len(self._prose.line) <= LABEL_LENGTH:
                self._prose.line += text
            self._prose.after_call = False
            return [TextDelta(text=text)] if text else []
        self._source.feed(text)
        return self._advanced()

    def close(self, finish: FinishReason = "stop") -> list[Event]:
        """The message has ended; all that is left to tell."""
        self._source.ended = True
        self._source.well = finish in ENDED_WELL
        return self._advanced()

    def _advanced(self) -> list[Event]:
        self._in_prose = False
        try:
            next(self._reading, None)
        except RecursionError:
            # Nested beyond all reason. What was read is gone; what is left is shown as it is.
            self._reading = self._given_up()
            next(self._reading, None)
        events, self._speech.events = self._speech.events, []
        return events

    def _given_up(self) -> Reading[None]:
        while True:
            self._speech.text(self._source.text[self._source.pos :])
            self._source.pos = len(self._source.text)
            yield

    # The message

    def _message(self) -> Reading[None]:
        if self._thinking:
            yield from self._protocols.thought(None)
        while not (yield from self._source.at_end()):
            if not self._prose.fresh or not (yield from self._line_start()):
                self._prose.fresh = False
                yield from self._in_line()

    # Where a line begins

    def _line_start(self) -> Reading[bool]:
        """Read what a line begins with, if that can be a call; False leaves it to be prose."""
        source = self._source
        self._prose.say((yield from source.run(INDENT)))
        char = yield from source.ahead(1)
        char = WIDE.get(char, char)
        if char == "\n":
            self._prose.newline()
            return True
        if self._announced_only:
            return False
        if char in ("`", "~", "'") and (yield from source.ahead(3)) == char * 3:
            yield from self._fences.fence()
            return True
        if char in ("{", "[") or (yield from self._opens_text(char)):
            return (yield from self._bare(char))
        if char == "/" and (yield from source.ahead(2)) == "/*":
            yield from self._prose.show_until("*/")
            return True
        if char == ">":
            return (yield from self._quoted())
        if char == "#":
            yield from self._marked()
            return True
        if char in ("-", "*") and (yield from source.ahead(3)) in ("- {", "* {"):
            self._prose.say_next(2)
            return True
        if char.isdecimal() and NUMBERED.match((yield from source.ahead(5))):
            self._prose.say((yield from source.run(re.compile(r"[\d.)]*"))))
            return True
        if char.isalpha() or char in ("_", "$"):
            return (yield from self._word())
        return False

    def _opens_text(self, char: str) -> Reading[bool]:
        """A call as the text of a string, or in parentheses."""
        if char not in ('"', "("):
            return False
        two = yield from self._source.ahead(2)
        if two == "({":
            self._source.pos += 1
            self._speech.hold("(")
            return True
        return two in ('"{', '"[')

    def _bare(self, char: str) -> Reading[bool]:
        """An object, a list or a string that no tag announces."""
        if char == "[" and (yield from next_token(self._source)) is not None:
            return False
        if (yield from self._sequence(explicit=False)):
            return True
        if char in "{[" and (yield from self._is_data()):
            yield from self._data()
            return True
        return False

    def _sequence(self, *, explicit: bool) -> Reading[int]:
        mark = self._source.mark()
        said = yield from self._calls.sequence(explicit=explicit)
        if said:
            self._prose.after_call = True
            self._prose.anew()
        elif not explicit:
            self._source.rewind(mark)  # over comments that were skipped in the hope of a call
        self._source.unmark()
        return said

    def _is_data(self) -> Reading[bool]:
        """Whether an object begins here that is an answer: nothing in it is a call."""
        yield from self._source.ahead(12)
        return re.match(r"[{\[]\s*[\"'{\[\d]", self._source.text[self._source.pos : self._source.pos + 12]) is not None

    def _data(self) -> Reading[None]:
        """Data: shown as it is, up to its last bracket or a blank line."""
        source = self._source
        depth, quoted = 0, False
        last: str = ""
        while True:
            for index in range(source.pos, len(source.text)):
                char = source.text[index]
                if char == '"' and last != "\\":
                    quoted = not quoted
                elif not quoted:
                    depth += (char in "{[") - (char in "}]")
                blank = char == "\n" and last == "\n"
                last = "" if last == "\\" else char
                if depth == 0 or blank:
                    self._prose.say_next(index + 1 - source.pos)
                    self._prose.fresh = blank
                    return
            self._prose.say_next(len(source.text) - source.pos)
            if source.ended:
                return
            yield

    def _quoted(self) -> Reading[bool]:
        """A block quote, the prompt of a shell, or a recipient: `>>>name`."""
        source = self._source
        if (yield from source.ahead(3)) == ">>>":
            mark = source.mark()
            source.pos += 3
            said = yield from self._sequence(explicit=False)
            if not said:
                source.rewind(mark)
                self._prose.say_next(3)
            source.unmark()
            return bool(said)
        self._prose.say_next(1)
        return True

    def _word(self) -> Reading[bool]:
        """A word at the beginning of a line: a call, if it is a tool's name or what may stand before one."""
        source = self._source
        mark = source.mark()
        word = yield from source.run(WORD)
        promising = yield from self._promising(word)
        alone = source.since(mark)
        source.rewind(mark)
        source.unmark()
        if promising == "harmony":
            yield from self._protocols.harmony()
            return True
        if promising == "label":
            self._prose.say_next(len(alone))
            return True
        if promising == "assigned":
            self._prose.say_next(len(alone))
            yield from self._bare_or_text()
            return True
        if promising == "announced":
            source.pos += len(word)
            if not (yield from self._sequence(explicit=True)):
                self._prose.say(word)
            return True
        return bool(promising) and bool((yield from self._sequence(explicit=False)))

    def _promising(self, word: str) -> Reading[str]:
        """What a line that begins with `word` may be: a `call`, a `label` of a block, a `harmony` header, or ""."""
        source = self._source
        tool = self._speech.names.resolve(word)
        char = yield from source.ahead(1)
        if char == "(":
            return "call" if tool or word in TRANSPARENT else ""
        if char in ("{", "<", "[") and char:
            token = (yield from next_token(self._source)) if char != "{" else None
            if word == "functools" and char == "[":
                return "announced"
            between = token is not None and token[0] == "separate"
            pairs = char == "<" and (yield from source.starts_with("<arg_key>"))
            return "call" if (tool and (char == "{" or between or pairs)) or (word == "function" and between) else ""
        if char == ":":
            return "call" if word == "call" or tool else ""
        if char in ("\n", "\r"):
            if word.lower() in CODE_LABELS | DATA_LABELS and not tool:
                return "label"
            return "call" if tool else ""
        if char in (" ", "\t", "\\"):
            if word == "commentary" and (yield from source.starts_with(" to=")):
                return "harmony"
            if word in BINDERS:
                return "call"
            yield from source.run(INDENT)
            two = yield from source.ahead(2)
            if two[:1] in (",", "\\") and word.isidentifier() and not tool:
                return "call" if two == "\\\n" else ""
            if two[:1] == "=" and two != "==" and ASSIGNED.search(word):
                source.pos += 1
                yield from source.run(INDENT)
                return "assigned" if (yield from source.ahead(1)) in ("{", "[") else "call"
            return "call" if (two[:1] == "=" and two != "==") or (tool and two[:1] in ("(", "\\")) else ""
        if char == ",":
            return ""
        return ""

    # In the middle of a line

    def _in_line(self) -> Reading[None]:
        """Prose, up to the end of the line or to where something may begin."""
        source = self._source
        match = INTERESTING.search(source.text, source.pos)
        if match is None:
            self._prose.say_next(len(source.text) - source.pos)
            if not source.ended:
                self._in_prose = True
                yield
            return
        self._prose.say_next(match.start() - source.pos)
        char = match[0]
        if char == "\n":
            self._prose.newline()
        elif char in ":：":
            yield from self._label()
        elif char == "`":
            yield from self._backtick()
        elif char == "{" and (yield from self._something_new()):
            yield from self._bare_or_text()
        elif char in "}])" and self._prose.after_call:
            source.pos += 1
        elif char in "<[&✿◁":
            yield from self._marked()
        else:
            self._prose.say_next(1)

    def _something_new(self) -> Reading[bool]:
        """Whether a call may begin in a line: after another, or alone after a whole sentence."""
        line = self._prose.line
        if self._prose.after_call:
            return True
        sentence = len(line) <= LABEL_LENGTH and line.endswith((". ", "! ", "? "))
        return sentence and (yield from self._stands_alone())

    def _bare_or_text(self) -> Reading[None]:
        if not (yield from self._bare(self._source.text[self._source.pos])):
            self._prose.say_next(1)

    def _backtick(self) -> Reading[None]:
        """Inline code is talk."""
        if (yield from self._source.ahead(3)) == "```":
            if self._announced_only:
                self._prose.say_next(3)
                yield from self._fences.rest_of_fence("`", "```", shown=True)
            elif self._prose.line.strip():
                self._prose.say_next(3)
            else:
                yield from self._fences.fence()
            return
        self._prose.say_next(1)
        self._prose.say((yield from self._source.run(INLINE_CODE)))
        if (yield from self._source.ahead(1)) == "`":
            self._prose.say_next(1)

    def _label(self) -> Reading[None]:
        """A colon: what was before it on the line may be a label, and what follows a call."""
        source = self._source
        long, label = len(self._prose.line) > LABEL_LENGTH, self._prose.line.strip(" \t*_#>-`").lower()
        self._prose.say_next(1)
        if long or self._announced_only:
            return
        if RESULT_LABEL.fullmatch(label):
            self._speech.muted = self._speech.muted or self._speech.called
            return
        self._prose.say((yield from source.run(MARKERS)))
        char = yield from source.ahead(1)
        if label == "action" and (yield from self._protocols.action()):
            return
        char = WIDE.get(char, char)
        if char in ("{", "["):
            if not (yield from self._stands_alone()) or not (yield from self._bare(char)):
                self._prose.say_next(1)
        elif char == "`":
            if (yield from source.ahead(3)) == "```":
                yield from self._fences.fence()
            else:
                yield from self._alone_in_backticks()
        elif char.isalpha() or char == "_":
            yield from self._word()

    def _stands_alone(self) -> Reading[bool]:
        """Whether nothing but a call follows on the line: a sentence that goes on speaks about it."""
        source = self._source
        mark = source.mark()
        values = Values(source, self._calls.values.keys)
        try:
            yield from values.value()
            yield from source.run(INDENT)
            following = yield from source.ahead(1)
            return source.well if following == "" else following in "\n\r<`,;}]"
        except ReadError:
            return True  # whoever reads it for real says what is wrong with it
        finally:
            source.rewind(mark)
            source.unmark()

    def _alone_in_backticks(self) -> Reading[None]:
        """`label: ⟨backtick⟩call⟨backtick⟩`, and nothing after it."""
        source = self._source
        mark = source.mark()
        source.pos += 1
        yield from source.run(INLINE_CODE)
        following = yield from source.ahead(3)
        alone = re.match(r"`[ \t]*(?:\n|$)" if source.well else r"`[ \t]*\n", following)
        source.rewind(mark)
        source.unmark()
        if not alone:
            yield from self._backtick()
            return
        self._prose.say_next(1)
        yield from self._sequence(explicit=False)

    # Tokens

    def _marked(self) -> Reading[None]:
        """What may be a token of some family."""
        source = self._source
        if (yield from source.starts_with("<!--")):
            yield from self._prose.show_until("-->")
            return
        token = yield from next_token(self._source)
        if token is None:
            yield from self._unmarked()
            return
        role, text = token
        if role == "open":
            yield from self._carrier(text)
        elif role == "think":
            source.pos += len(text)
            yield from self._protocols.thought(THOUGHT_ENDS[text.lower()])
        elif role == "thought":
            source.pos += len(text)
            self._speech.all_was_thought()
            self._calls.code.forget()
            self._prose.after_call = False
            self._prose.anew()
        elif role == "harmony":
            yield from self._protocols.harmony()
        elif role == "inert":
            yield from self._prose.show_until("</tools>")
        elif role == "result":
            self._speech.muted = True
            self._prose.say_next(len(text))
        elif role in ("close", "separate") and (self._speech.called or text[:2] in ("<|", "<｜", "</s")):
            source.pos += len(text)
            self._prose.fresh = self._prose.fresh or role == "close"
        else:
            self._prose.say_next(len(text))

    def _unmarked(self) -> Reading[None]:
        """A `<` or the like that is no token: an escaped tag, a tag that names a tool, or prose."""
        source = self._source
        char = source.text[source.pos]
        if char == "&":
            found = ESCAPED_TAG.match((yield from source.ahead(48)))
            role = ROLES.get(f"<{found[1].lower()}>") if found else None
            if found and (role == "open" or (role and self._speech.called)):
                mark = source.mark()
                source.pos += found.end()
                if role == "open" and not (yield from self._sequence(explicit=True)):
                    self._prose.say(source.since(mark))
                source.unmark()
                return
        if char == "<" and (yield from source.ahead(2))[1:].isalpha():
            mark = source.mark()
            source.pos += 1
            name = yield from source.run(WORD)
            after = yield from source.ahead(2)
            source.rewind(mark)
            source.unmark()
            alone = name in self._speech.specs and after[:1] == ">" and not self._prose.line.strip()
            if alone and (yield from self._sequence(explicit=False)):
                return
            if name == "code" and after == ">\n":
                self._speech.hold("<code>")
                source.pos += 6
                yield from self._fences.code(python=True)
                self._speech.release()
                if self._prose.after_call and (yield from source.starts_with("</code>")):
                    source.pos += 7
                return
        self._prose.say_next(1)

    def _carrier(self, opener: str) -> Reading[None]:
        """Calls that a token announces. A token that announces none is prose."""
        source = self._source
        mark = source.mark()
        if opener[-1] in ">]:｜s":
            source.pos += len(opener)
        said = yield from self._sequence(explicit=True)
        if not said and source.here == mark:
            self._prose.say_next(len(opener))
        elif not said:
            self._prose.say(source.since(mark))
        source.unmark()
