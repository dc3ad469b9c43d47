"""Reads the answer of an endpoint: pieces go in as they arrive, events come out, the last of them `TurnEnded`.

Every dialect is read here. Text goes through the parser of the dialect; calls that the API itself marks are assembled
from their pieces; an answer that arrives whole is read as if it had been streamed in one piece. The message of
`TurnEnded` can always be sent again: its ids are unique, and the arguments of every call are JSON.

Calls of two sources can meet in one answer, the API's own and those in the text. In a dialect that writes calls in the
text, both count; in `native`, calls in the text count only if the API marks no call of its own.
"""

import json
import re
from collections.abc import Container, Iterator, Sequence

from toolspeak.dialects.dialect import Dialect, Parser
from toolspeak.reading.emitter import ContentBuilder
from toolspeak.reading.names import find_raw_parameters
from toolspeak.reading.source import Budget
from toolspeak.turns.native_calls import NativeCalls
from toolspeak.turns.near_miss import find_near_miss, read_program_call
from toolspeak.turns.quotation import Quotation, QuotationFinder
from toolspeak.values.events import (
    ArgsDelta,
    CallMalformed,
    CallQuoted,
    CallReady,
    CallStarted,
    Event,
    FinishReason,
    SaidInThought,
    TextDelta,
    ThinkingDelta,
    TurnEnded,
    Usage,
)
from toolspeak.values.limits import estimate_tokens
from toolspeak.values.messages import Call, Extra, Message, Part, Raw, Text, Thinking, ToolCall
from toolspeak.values.pieces import Answer, ApiCall, CallPiece, Piece
from toolspeak.values.spec import ToolSpec

NOT_IN_NAMES = re.compile(r"[^\w-]+", re.ASCII)
"""Characters that an API does not accept in the name of a call."""

MAX_NAME_CHARS = 64
"""Characters that an API accepts in the name of a call."""


PROSE_PARTS = (Text, Thinking)
PROSE_DELTAS = (TextDelta, ThinkingDelta)


class TurnReader:
    """Reads one answer.

    Attributes:
        quoted_ids: Ids of the calls that are quoted. `CallQuoted` follows their `CallReady` at once.

    Examples:
        >>> from toolspeak.dialects import JSON
        >>> reader = TurnReader(JSON, [])
        >>> [event.kind for event in reader.feed([Answer(parts=(Text(text="Hello."),), finish="stop")])]
        ['text_delta', 'turn_ended']
    """

    def __init__(
        self,
        dialect: Dialect,
        specs: Sequence[ToolSpec],
        *,
        single: bool = False,
        prefix: str = "call",
        taken: Container[str] = (),
        quotations: QuotationFinder | None = None,
    ) -> None:
        """Prepare to read.

        Args:
            dialect: The dialect in which the model was shown the tools.
            specs: The tools on offer.
            single: Whether one call is enough: text after the first call is not read.
            prefix: What the ids of calls begin with.
            taken: The ids of earlier calls in the conversation.
            quotations: Tells which calls in the text are quoted; None to look for no quotations. Calls that the API
                marks are never quoted.
        """
        self.quoted_ids: set[str] = set()
        self._quotations = quotations
        self._keys: dict[str, str] = {}  # of the calls in the text so far, by id
        self._dialect = dialect
        self._parser: Parser | None = None  # made for the first text: an answer of API calls alone needs no parser
        # For the repair of API calls and the search for quotations. The text has the budget of its parser.
        self._budget = Budget()
        by_name = {spec.name: spec for spec in specs}
        self._api_calls = NativeCalls(by_name, prefix=f"{prefix}_api", taken=taken, budget=self._budget)
        self._content = ContentBuilder()
        self._specs = specs
        self._prefix = prefix
        self._api_events: list[Event] = []  # in a text dialect: events of API calls, until the text has ended
        self._leaked: list[Event] = []  # in `native`: events of calls in the text, until the answer has ended
        self._raw: list[str] = []
        self._thinking: list[str] = []
        self._text_chars = self._thinking_chars = 0
        self._single = single and dialect.in_text
        self._has_first_call = False
        self._ended = False

    def feed(self, pieces: Sequence[Piece]) -> list[Event]:
        """Read pieces that have arrived and return the new events."""
        events: list[Event] = []
        for piece in pieces if len(pieces) == 1 else _join_texts(pieces):
            if isinstance(piece, TextDelta):
                events += self._read_text(piece.text)
            elif isinstance(piece, ThinkingDelta):
                events += self._read_thinking(piece.text)
            elif isinstance(piece, CallPiece):
                self._api_calls.feed(piece, self._choose_api_list(events))
            else:
                events += self._end(piece)
        return events

    def close(self, finish: FinishReason) -> list[Event]:
        """End the turn where the stream gave no `Answer`, because we closed the stream or the stream broke off."""
        if self._ended:
            return []
        parts = (Thinking(text="".join(self._thinking)), Text(text="".join(self._raw)), *self._api_calls.api_calls())
        return self._end(Answer(parts=parts, finish=finish))

    def _read_thinking(self, text: str) -> list[Event]:
        self._thinking.append(text)
        self._thinking_chars += len(text)
        return [ThinkingDelta(text=text)]

    def _read_text(self, text: str) -> list[Event]:
        if self._single:
            return self._read_to_first_call(text)
        self._raw.append(text)
        self._text_chars += len(text)
        return self._collect(self._text_parser().feed(text))

    def _text_parser(self) -> Parser:
        if self._parser is None:
            self._parser = self._dialect.parser(self._specs, prefix=self._prefix)
        return self._parser

    def _read_to_first_call(self, text: str) -> list[Event]:
        """Read character by character, so that the place where reading stops does not depend on the chunks."""
        events: list[Event] = []
        for char in text:
            if self._has_first_call:
                break
            self._raw.append(char)
            self._text_chars += 1
            new = self._collect(self._text_parser().feed(char))
            self._has_first_call = any(isinstance(event, CallReady | CallMalformed) for event in new)
            events += new
        return events

    def _collect(self, events: list[Event]) -> list[Event]:
        """Add events of the parser to the content, and return those that may be handed out now."""
        if self._dialect.in_text:
            self._content.add(events)
            return self._mark_quoted(events)
        if len(events) == 1 and isinstance(events[0], TextDelta):
            self._content.add(events)
            return events
        prose: list[Event] = []
        for event in events:
            if isinstance(event, PROSE_DELTAS):
                prose.append(event)
            elif isinstance(event, SaidInThought):
                prose.append(event)
                self._leaked = []
            else:
                self._leaked.append(event)
        self._content.add(prose)
        # `SaidInThought` would take back calls that the API marks, too.
        return [event for event in prose if not (isinstance(event, SaidInThought) and len(self._api_calls))]

    def _mark_quoted(self, events: list[Event]) -> list[Event]:
        """Return events of the text with a `CallQuoted` after each call that is quoted."""
        finder = self._quotations
        if finder is None or not any(isinstance(event, CallReady) for event in events):
            return events
        marked: list[Event] = []
        for event in events:
            marked.append(event)
            if isinstance(event, CallReady):
                marked += self._report_quotation(event, finder.find_call(event.call, self._keys, self._budget))
        return marked

    def _report_quotation(self, ready: CallReady, quotation: Quotation | None) -> list[Event]:
        if quotation is None:
            return []
        self.quoted_ids.add(ready.call.id)
        return [
            CallQuoted(
                call_id=ready.call.id,
                result_id=quotation.result_id,
                tool=quotation.tool,
                origin=quotation.origin,
            )
        ]

    def _choose_api_list(self, events: list[Event]) -> list[Event]:
        """Return where events of API calls go: to `events`, or in a text dialect to those that are held back.

        While the text goes on, a closing tag may still show that it was reasoning so far. `SaidInThought` then takes
        back every call before it, and must not take back a call of the API.
        """
        return self._api_events if self._dialect.in_text else events

    def _end(self, answer: Answer) -> list[Event]:
        """Read what has not been streamed of the answer, and end the turn."""
        self._ended = True
        events: list[Event] = []
        text_read, thinking_read = self._text_chars, self._thinking_chars
        for part in answer.parts:
            if isinstance(part, ApiCall):
                self._api_calls.end(part, answer.finish, self._choose_api_list(events))
            elif isinstance(part, Text):
                events += self._read_text(part.text[text_read:]) if len(part.text) > text_read else []
                text_read = max(text_read - len(part.text), 0)
            elif isinstance(part, Thinking):
                events += self._read_thinking(part.text[thinking_read:]) if len(part.text) > thinking_read else []
                thinking_read = max(thinking_read - len(part.text), 0)
        if self._parser is not None and not self._has_first_call:
            events += self._collect(self._parser.close(answer.finish))
        events += self._api_events
        if self._leaked and not len(self._api_calls):
            self._content.add(self._leaked)
            events += self._mark_quoted(self._leaked)
        if self._dialect.in_text:
            events += self._read_callless_answer(answer.finish)
        ended = TurnEnded(
            message=self._message(answer),
            finish=answer.finish,
            usage=self._usage(answer),
            stop_text=answer.stop_text,
            thought_calls=self._find_thought_calls(answer.finish) if self._thinking or self._raw else (),
        )
        events.append(ended)
        return events

    def _find_thought_calls(self, finish: FinishReason) -> tuple[ToolCall, ...]:
        """Return the calls in the reasoning of an answer without other calls. They are not made.

        A quoted call is left out: nobody asked for it.
        """
        if finish != "stop" or self._content.calls or len(self._api_calls):
            return ()
        thinking = "".join((*self._thinking, self._content.thinking))
        if not any(spec.name in thinking for spec in self._specs):
            return ()
        parser = self._dialect.parser(self._specs, prefix=self._prefix)
        events, finder, keys = (*parser.feed(thinking), *parser.close()), self._quotations, dict[str, str]()
        calls = [event.call for event in events if isinstance(event, CallReady)]
        return tuple(call for call in calls if not finder or finder.find_call(call, keys, self._budget) is None)

    def _read_callless_answer(self, finish: FinishReason) -> list[Event]:
        """Return the events of a call in an answer without any: a bare program, or a call with a misspelt name."""
        if finish != "stop" or self._content.calls or len(self._api_calls):
            return []
        call = read_program_call(self._content.text, self._specs, f"{self._prefix}_1")
        if call is None:
            return self._report_near_miss()
        ready = CallReady(call=call, repair="shape")
        self._content.add([ready])
        started = CallStarted(call_id=call.id, name=call.name)
        arguments = ArgsDelta(call_id=call.id, text=json.dumps(call.arguments, ensure_ascii=False))
        program = "\n".join(call.arguments.values())
        quotation = self._quotations.find_program(call, program) if self._quotations else None
        return [started, arguments, ready, *self._report_quotation(ready, quotation)]

    def _report_near_miss(self) -> list[Event]:
        names = [spec.name for spec in self._specs]
        miss = find_near_miss(self._content.text, names, find_raw_parameters(self._specs))
        if miss is None:
            return []
        reason, hint = f"there is no tool {miss.name!r}", f"Did you mean {miss.tool}?"
        event = CallMalformed(call_id=f"{self._prefix}_1", name=miss.name, raw=miss.raw, reason=reason, hint=hint)
        self._content.add([event])
        return [event]

    def _message(self, answer: Answer) -> Message:
        """Build the message of the turn: the parts of the answer, with text and calls as they were read."""
        raw = "".join(self._raw)
        has_changed = raw != "" and self._content.text != raw  # calls or reasoning were found in the text
        text_parts = self._text_parts() if has_changed else []
        parts: list[Part] = []
        for part in answer.parts:
            if isinstance(part, ApiCall):
                event = self._api_calls.last_event(part.index)
                parts += [_call_part(event, part.extra)] if event else []
            elif isinstance(part, Text) and has_changed:
                parts += text_parts  # all text stands where the first text stood
                text_parts = []
            elif not isinstance(part, PROSE_PARTS) or part.text or part.extra:
                parts.append(part)
        parts += [_call_part(event) for event in self._content.calls]
        keeps_raw = raw and self._dialect.in_text and not len(self._api_calls)
        return Message(
            role="assistant", parts=tuple(parts), raw=Raw(dialect=self._dialect.name, text=raw) if keeps_raw else None
        )

    def _text_parts(self) -> list[Part]:
        thinking, text = self._content.thinking, self._content.text.strip()
        return [*([Thinking(text=thinking)] if thinking else []), *([Text(text=text)] if text else [])]

    def _usage(self, answer: Answer) -> Usage:
        if answer.usage is not None:
            return answer.usage
        chars = self._text_chars + self._thinking_chars + self._api_calls.chars
        return Usage(output_tokens=estimate_tokens(chars), estimated=True)


def _join_texts(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Yield pieces that arrived together, with texts that follow each other as one: they are read in one step."""
    texts: list[str] = []
    for piece in pieces:
        if isinstance(piece, TextDelta):
            texts.append(piece.text)
            continue
        if texts:
            yield TextDelta(text="".join(texts))
            texts.clear()
        yield piece
    if texts:
        yield TextDelta(text="".join(texts))


def _call_part(event: CallReady | CallMalformed, extra: Extra | None = None) -> Call:
    if isinstance(event, CallReady):
        return Call(call=event.call, extra=extra)
    # A malformed call stands in history as a call without arguments: its result says what was wrong.
    name = NOT_IN_NAMES.sub("_", event.name or "unknown")[:MAX_NAME_CHARS]
    return Call(call=ToolCall(id=event.call_id, name=name, arguments={}), extra=extra)
