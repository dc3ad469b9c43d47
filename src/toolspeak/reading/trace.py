"""The trace of a reading: which part of a message was read as what, by which rule, with which repairs.

A `Reader` that is given a `Trace` notes in it what it emits and where. The notes change nothing of what is read, and a
reader without a trace pays nothing for them. All places are offsets in the whole message, whatever its chunks were.

Three facts of the readers make the notes simple:

1. Text is emitted after it was read, so an emitted text ends where the reader is.
2. A call or a piece of code begins where the cursor is reset.
3. Nothing that was emitted is taken back, so notes of emitted things are in the order of the message.
"""

from dataclasses import replace
from typing import Literal, TypeAlias

from toolspeak.reading.forms import FAMILIES
from toolspeak.reading.source import Source
from toolspeak.values.events import Repair
from toolspeak.values.frozen import frozen
from toolspeak.values.messages import ToolCall

SpanKind: TypeAlias = Literal["prose", "thinking", "call", "malformed", "made_up", "dropped", "retraction", "skipped"]
"""What a part of a message is.

`prose` is shown, `thinking` is reasoning. `call` holds calls that can run, `malformed` was meant as one and cannot run.
`made_up` is a result that the model made up, with the text after it; `dropped` is a call that does not count, since it
follows a made-up result or turned out to be reasoning. `retraction` is the closing tag that makes all text before it
reasoning. `skipped` is neither shown nor called: tokens, fences, blanks between calls, the rest of a block after a
malformed call.
"""

ReadingRule: TypeAlias = Literal[
    "line", "sentence", "label", "backticks", "fence", "token", "escaped_token", "tool_tag", "code_tag", "recipient",
    "react", "harmony",
]  # fmt: skip
"""The rule by which a call was found.

`line`: at the beginning of a line. `sentence`: an object right after a sentence or a call. `label`: after a label with
a colon. `backticks`: in backticks after a label. `fence`: in a fenced block. `token`: after a token of a model family.
`escaped_token`: after such a token in HTML escapes. `tool_tag`: in a tag named like the tool. `code_tag`: in `<code>`.
`recipient`: after `>>>`. `react`: `Action:` and `Action Input:`. `harmony`: a message with a recipient.
"""

FAMILY_BY_TOKEN = {
    token.lower(): family.name
    for family in reversed(FAMILIES)  # where two families share a token, the first is named
    for token in (*family.openers, *family.headers)
}

MADE_UP_REASON = "it follows a result that the model made up"
RETRACTED_REASON = "it turned out to be reasoning"


@frozen
class RepairPlace:
    """A repair, and where it was noted.

    Attributes:
        repair: The tier of the repair.
        at: The offset at which the parser noticed that it was needed; None if the repair has no single place.
    """

    repair: Repair
    at: int | None


@frozen
class Refusal:
    """A call that will not run.

    Attributes:
        name: The tool, or the name that was written; None if there was no name.
        reason: What is wrong.
        hint: What to write instead; "" if there is no hint.
    """

    name: str | None
    reason: str
    hint: str = ""


@frozen
class MessageSpan:
    """A part of a message, and what it was parsed as. The spans of a message follow each other without gaps.

    Attributes:
        start: The offset of its first character.
        end: The offset after its last character.
        kind: What the part is.
        rule: The rule that found the call; None if there is no call.
        detail: What the rule matched: the token, the label of the fence, the name of the tag; "" if nothing.
        family: The model family of the token; "" if the rule matched no token.
        calls: The calls that were found here and can run.
        refusals: The calls that were found here and will not run.
        repairs: What was repaired in the calls, with its places.
        unknown_tools: Names that look like calls of tools that do not exist.
        near_tools: Tools with names similar to `unknown_tools`.
        problems: Arguments that the tools do not accept, one line each, as a model is told.
    """

    start: int
    end: int
    kind: SpanKind
    rule: ReadingRule | None = None
    detail: str = ""
    family: str = ""
    calls: tuple[ToolCall, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    repairs: tuple[RepairPlace, ...] = ()
    unknown_tools: tuple[str, ...] = ()
    near_tools: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


@frozen
class _EmittedText:
    kind: SpanKind
    end: int
    text: str


class Trace:
    """Notes of one reading. `Reader` fills it; `spans` gives the result when the message has been read."""

    def __init__(self) -> None:
        self._source = Source.hold_whole("")  # until the reader attaches its own
        self._notes: list[MessageSpan | _EmittedText] = []
        self._paused_at = 0
        self._begin = 0
        self._rule: ReadingRule = "line"
        self._detail = ""
        self._rule_start: int | None = None
        self._held_end = 0
        self._starts: dict[str, int] = {}
        self._repairs: list[RepairPlace] = []
        self._unknown: list[tuple[int, str]] = []

    def attach(self, source: Source) -> None:
        """Take the places of all notes from this source."""
        self._source = source

    # What readers note

    def enter(self, rule: ReadingRule, detail: str = "", *, is_part: bool = False) -> None:
        """Note that a rule looks for a call from here on.

        Args:
            rule: The rule.
            detail: What the rule went by.
            is_part: Whether what is read from here to the call is a part of the call, such as its name.
        """
        self._rule, self._detail = rule, detail
        self._rule_start = self._source.here if is_part else None

    def begin(self) -> None:
        """Note that a call or a piece of code begins here."""
        self._begin = self._source.here
        self._repairs = []

    def note_repair(self, repair: Repair) -> None:
        """Note a repair. Repairs behind this place belong to an attempt from which the reader went back."""
        here = self._source.here
        self._repairs = [each for each in self._repairs if each.at is None or each.at <= here]
        self._repairs.append(RepairPlace(repair=repair, at=here))

    def forget_repairs_here(self) -> None:
        """Forget the repairs that were noted at this place."""
        self._repairs = [each for each in self._repairs if each.at != self._source.here]

    def pause(self) -> None:
        """Note that what follows may have to be dropped."""
        self._paused_at = len(self._notes)

    def drop_paused(self) -> None:
        """Forget what was noted since `pause`."""
        del self._notes[self._paused_at :]

    def note_held(self) -> None:
        """Note that the text which is held back ends here."""
        self._held_end = self._source.here

    def add_held(self, kind: SpanKind, text: str) -> None:
        """Note that the text which was held back has been emitted."""
        self._notes.append(_EmittedText(kind=kind, end=self._held_end, text=text))

    def add_text(self, kind: SpanKind, text: str) -> None:
        """Note emitted text, which ends here."""
        self._notes.append(_EmittedText(kind=kind, end=self._source.here, text=text))

    def start_call(self, call_id: str) -> None:
        """Note where a call began whose end has not been read."""
        self._starts[call_id] = self._start()

    def finish_call(self, call: ToolCall, repair: Repair) -> None:
        places = () if repair == "none" else tuple(self._repairs)
        if repair != "none" and all(each.repair != repair for each in places):
            places = (*places, RepairPlace(repair=repair, at=None))
        self._add("call", call.id, calls=(call,), repairs=places)

    def refuse(self, kind: Literal["malformed", "dropped"], refusal: Refusal, call_id: str = "") -> None:
        self._add(kind, call_id, refusals=(refusal,))

    def note_unknown_tool(self, name: str) -> None:
        """Note a name that stands here like that of a tool and is none."""
        self._unknown.append((self._source.here, name))

    def _start(self) -> int:
        return self._begin if self._rule_start is None else self._rule_start

    def _add(
        self,
        kind: SpanKind,
        call_id: str,
        *,
        calls: tuple[ToolCall, ...] = (),
        refusals: tuple[Refusal, ...] = (),
        repairs: tuple[RepairPlace, ...] = (),
    ) -> None:
        self._notes.append(
            MessageSpan(
                start=self._starts.pop(call_id, self._start()),
                end=self._source.here,
                kind=kind,
                rule=self._rule,
                detail=self._detail,
                family=FAMILY_BY_TOKEN.get(self._detail.lower(), "") if self._rule == "token" else "",
                calls=calls,
                refusals=refusals,
                repairs=repairs,
            )
        )

    # The result

    def spans(self, text: str) -> tuple[MessageSpan, ...]:
        """Return the spans of the message that was read.

        Args:
            text: The whole message.
        """
        tiling = _Tiling(text)
        for note in self._notes:
            if isinstance(note, _EmittedText):
                tiling.add_text(note)
            else:
                tiling.add_call(note)
        tiling.fill(len(text))
        return tuple(self._with_unknown_tools(span) for span in tiling.spans)

    def _with_unknown_tools(self, span: MessageSpan) -> MessageSpan:
        names = tuple(dict.fromkeys(name for place, name in self._unknown if span.start < place <= span.end))
        return replace(span, unknown_tools=names) if names else span


class _Tiling:
    """Spans that follow each other without gaps, built from notes that may leave gaps or overlap."""

    def __init__(self, text: str) -> None:
        self.spans: list[MessageSpan] = []
        self._text = text
        self._end = 0

    def fill(self, place: int) -> None:
        """Fill the gap up to a place with a span that is skipped."""
        if place > self._end:
            self._append(MessageSpan(start=self._end, end=place, kind="skipped"))

    def add_text(self, note: _EmittedText) -> None:
        start = note.end - len(note.text)
        if start < self._end or not self._text.startswith(note.text, start):
            # A reader read on before it emitted the text.
            start = self._text.rfind(note.text, self._end, note.end)
        if start < 0 or not note.text:
            return
        self.fill(start)
        if note.kind == "retraction":
            self.spans = [_retract(span) for span in self.spans]
        self._append(MessageSpan(start=start, end=start + len(note.text), kind=note.kind))

    def add_call(self, note: MessageSpan) -> None:
        last = self.spans[-1] if self.spans else None
        if last is not None and last.rule is not None and note.start < last.end:
            # Several calls of one object or statement, or a call within another.
            end = max(note.end, last.end)
            kind = "call" if "call" in (last.kind, note.kind) else last.kind
            repairs = tuple(dict.fromkeys((*last.repairs, *note.repairs)))
            calls, refusals = (*last.calls, *note.calls), (*last.refusals, *note.refusals)
            self.spans[-1] = replace(last, end=end, kind=kind, repairs=repairs, calls=calls, refusals=refusals)
            self._end = end
            return
        body = self._text[max(note.start, self._end) : note.end]
        self.fill(note.end - len(body.lstrip()))  # the blanks before a call are no part of it
        self._append(replace(note, start=self._end, end=max(note.end, self._end)))

    def _append(self, span: MessageSpan) -> None:
        last = self.spans[-1] if self.spans else None
        if last is not None and last.kind == span.kind and span.rule is None and span.kind != "retraction":
            self.spans[-1] = replace(last, end=span.end)
        else:
            self.spans.append(span)
        self._end = span.end


def _retract(span: MessageSpan) -> MessageSpan:
    """Return a span before the closing tag of reasoning: its text is reasoning, and its calls do not count."""
    if span.kind == "prose":
        return replace(span, kind="thinking")
    if span.rule is None:
        return span
    names = [*(call.name for call in span.calls), *(refusal.name for refusal in span.refusals)]
    refusals = tuple(Refusal(name=name, reason=RETRACTED_REASON) for name in names)
    return replace(span, kind="dropped", calls=(), refusals=refusals)
