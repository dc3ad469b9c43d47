"""Fenced blocks: calls, unless their label says that they are text."""

import re

from toolspeak.reading.calls import CallReader
from toolspeak.reading.forms import CODE_LABELS, DATA_LABELS, RESULT_LABELS
from toolspeak.reading.prose import ProseReader
from toolspeak.reading.source import Reading
from toolspeak.reading.strings import BLANKS, WIDE

FENCE_ATTRIBUTES = re.compile(r"[\w-]+=")


class FenceReader:
    """Reads fenced blocks."""

    def __init__(self, prose: ProseReader, calls: CallReader) -> None:
        self.source = prose.source
        self.speech = prose.speech
        self.prose = prose
        self.calls = calls

    def fence(self) -> Reading[None]:
        """A fenced block: calls, if its label does not say that it is text."""
        source = self.source
        mark = source.mark()
        char = yield from source.ahead(1)
        ticks = yield from source.run(re.compile(f"{char}*"))
        label = yield from self._label()
        opening = source.since(mark)
        source.unmark()
        if label in RESULT_LABELS and self.speech.called:
            self.speech.muted = True
        if label and label not in CODE_LABELS and label not in DATA_LABELS:
            self.prose.say(opening)
            yield from self.rest_of_fence(char, ticks, shown=True)
            return
        self.speech.hold(opening)
        said = yield from self._content(label)
        self.speech.release()
        yield from self.rest_of_fence(char, ticks, shown=not said or self.speech.held_was_shown)
        self.prose.after_call = bool(said)

    def _label(self) -> Reading[str]:
        source = self.source
        yield from source.run(re.compile(r"[ \t]*"))
        mark = source.mark()
        braced = None
        if (yield from source.ahead(1)) == "{":
            braced = re.match(r"\{\.?(\w+)\}", (yield from source.ahead(24)))
        if braced:
            source.pos += braced.end()
            label = braced[1]
        else:
            label = yield from source.run(re.compile(r"[\w+#-]*"))
            if (yield from source.ahead(1)) in ("(", ".", "=", ":"):
                source.rewind(mark)
                label = ""
        source.unmark()
        if label:
            yield from source.run(re.compile(r"[ \t]*"))
            if (yield from source.ahead(1)).isalpha() and FENCE_ATTRIBUTES.match((yield from source.ahead(40))):
                yield from source.line()
        return label.lower()

    def _content(self, label: str) -> Reading[int]:
        source = self.source
        mark = source.mark()
        yield from source.run(BLANKS)
        char = yield from source.ahead(1)
        said = 0
        commented = char in ("/", "#", "\\") and label in DATA_LABELS
        if commented or WIDE.get(char, char) in ("{", "[", '"', "<", "("):
            said = yield from self.calls.sequence(explicit=False)
        if not said:
            source.rewind(mark)
        source.unmark()
        if not said and not label.startswith("json"):
            said = yield from self.calls.code.block(python=label.startswith(("py", "ipy", "tool_code")))
        return said

    def code(self, *, python: bool) -> Reading[None]:
        said = yield from self.calls.code.block(python=python)
        self.prose.after_call = bool(said)
        self.prose.anew()

    def rest_of_fence(self, char: str, ticks: str, *, shown: bool) -> Reading[None]:
        """What is left of a block, up to the fence that closes it."""
        source = self.source
        show = self.prose.say_next if shown else self.prose.drop_next
        while True:
            found = source.text.find(char, source.pos)
            show((found if found >= 0 else len(source.text)) - source.pos)
            if found < 0:
                if source.ended:
                    return
                yield
            elif (yield from source.ahead(len(ticks))) == ticks:
                closing = yield from source.run(re.compile(f"{char}*"))
                self.prose.say(closing if shown else "")
                self.prose.anew()
                return
            else:
                show(1)
