"""Reads an answer: pieces as they arrive from an endpoint, events out, the last of them `TurnEnded`.

Whatever way a model speaks meets here. Text goes through the parser of the dialect; calls that the API itself marks are
put together from their pieces; what came all at once is read as if it had come in one piece. The message is built so
that it can always be sent again: ids are unique, and every call has arguments that are JSON.
"""

import json
import re
from collections.abc import Collection, Sequence
from functools import partial

from toolspeak.dialects.dialect import Dialect, Parser
from toolspeak.events import (
    ArgsDelta,
    CallMalformed,
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
from toolspeak.messages import Call, Extra, Message, Part, Raw, Text, Thinking, ToolCall
from toolspeak.pieces import Answer, ApiCall, CallPiece, Piece
from toolspeak.spec import ToolSpec
from toolspeak.turns.native_calls import NativeCalls
from toolspeak.turns.near_miss import near_miss
from toolspeak.turns.program import program_call

LETTERS_A_TOKEN = 4
"""About as many letters make a token, where an endpoint does not count."""

TOLD = (TextDelta, ThinkingDelta, SaidInThought)
"""What a parser tells that is never a call."""

UNFIT = re.compile(r"[^\w-]+", re.ASCII)
"""What the name of a call may not hold, to be sent back to an API."""


class TurnReader:
    """Reads one answer.

    Example:
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
        taken: Collection[str] = (),
    ) -> None:
        """Prepare to read.

        Args:
            dialect: The dialect that was asked for.
            specs: The tools on offer.
            single: Whether one call is enough: in a text, nothing after the first is read.
            prefix: What the ids of calls begin with.
            taken: Ids that calls of the conversation have already.
        """
        self._dialect = dialect
        self._make_parser = partial(dialect.parser, specs, prefix=prefix)
        self._parser: Parser | None = None  # made when there is text: an answer of calls alone needs none
        self._calls = NativeCalls({spec.name: spec for spec in specs}, prefix=f"{prefix}_api", taken=taken)
        self._said = _Said()
        self._specs = specs
        self._prefix = prefix
        self._found: list[Event] = []
        self._raw: list[str] = []
        self._thought: list[str] = []
        self._single = single and dialect.in_text
        self._enough = False
        self._ended = False

    def feed(self, pieces: Sequence[Piece]) -> list[Event]:
        """Read what has arrived; what is known now and was not before."""
        events: list[Event] = []
        for piece in pieces:
            if isinstance(piece, TextDelta):
                events += self._text(piece.text)
            elif isinstance(piece, ThinkingDelta):
                events += self._thinking(piece.text)
            elif isinstance(piece, CallPiece):
                events += self._calls.feed(piece)
            else:
                events += self._end(piece)
        return events

    def close(self, finish: FinishReason) -> list[Event]:
        """The stream has ended without an `Answer`: it was closed by us, or broke off."""
        if self._ended:
            return []
        parts = (Thinking(text="".join(self._thought)), Text(text="".join(self._raw)), *self._calls.spoken())
        return self._end(Answer(parts=parts, finish=finish))

    def _thinking(self, text: str) -> list[Event]:
        self._thought.append(text)
        return [ThinkingDelta(text=text)]

    def _text(self, text: str) -> list[Event]:
        if self._single:
            return self._text_to_first_call(text)
        self._raw.append(text)
        return self._kept(self._text_parser().feed(text))

    def _text_parser(self) -> Parser:
        if self._parser is None:
            self._parser = self._make_parser()
        return self._parser

    def _text_to_first_call(self, text: str) -> list[Event]:
        """Letter by letter, so that where the reading ends does not depend on how the text arrived."""
        events: list[Event] = []
        for letter in text:
            if self._enough:
                break
            self._raw.append(letter)
            told = self._kept(self._text_parser().feed(letter))
            self._enough = any(isinstance(event, CallReady | CallMalformed) for event in told)
            events += told
        return events

    def _kept(self, events: list[Event]) -> list[Event]:
        """Note what the parser tells. In `native`, calls in the text count only if the API marks none of its own."""
        if self._dialect.in_text:
            self._said.note(events)
            return events
        told: list[Event] = [event for event in events if isinstance(event, TOLD)]
        if len(told) != len(events):
            self._found += [event for event in events if not isinstance(event, TextDelta | ThinkingDelta)]
        self._said.note(told)
        # That text was reasoning says nothing of calls that the API marks.
        return [event for event in told if not (isinstance(event, SaidInThought) and len(self._calls))]

    def _end(self, answer: Answer) -> list[Event]:
        """All of the message is there: what was not heard as it was said is heard now."""
        self._ended = True
        events: list[Event] = []
        heard, thought = sum(map(len, self._raw)), sum(map(len, self._thought))
        for part in answer.parts:
            if isinstance(part, Text):
                events += self._text(part.text[heard:]) if len(part.text) > heard else []
                heard = max(heard - len(part.text), 0)
            elif isinstance(part, Thinking):
                events += self._thinking(part.text[thought:]) if len(part.text) > thought else []
                thought = max(thought - len(part.text), 0)
            elif isinstance(part, ApiCall):
                events += self._calls.end(part, answer.finish)
        if self._parser is not None and not self._enough:
            events += self._kept(self._parser.close(answer.finish))
        if self._found and not len(self._calls):
            self._said.note(self._found)
            events += [event for event in self._found if not isinstance(event, SaidInThought)]
        events += self._program(answer.finish)
        ended = TurnEnded(message=self._message(answer), finish=answer.finish, usage=self._usage(answer))
        return [*events, ended]

    def _program(self, finish: FinishReason) -> list[Event]:
        """A program, where a call of the tool that runs programs was meant."""
        if not self._dialect.in_text or finish != "stop" or self._said.calls or len(self._calls):
            return []
        call = program_call(self._said.text, self._specs, f"{self._prefix}_1")
        if call is None:
            return self._mistaken()
        ready = CallReady(call=call, repair="shape")
        self._said.note([ready])
        started = CallStarted(call_id=call.id, name=call.name)
        return [started, ArgsDelta(call_id=call.id, text=json.dumps(call.arguments, ensure_ascii=False)), ready]

    def _mistaken(self) -> list[Event]:
        """A call of a tool that is not there, but nearly."""
        miss = near_miss(self._said.text, [spec.name for spec in self._specs])
        if miss is None:
            return []
        reason, hint = f"there is no tool {miss.said!r}", f"Did you mean {miss.meant}?"
        event = CallMalformed(call_id=f"{self._prefix}_1", name=miss.said, raw=miss.raw, reason=reason, hint=hint)
        self._said.note([event])
        return [event]

    def _message(self, answer: Answer) -> Message:
        raw = "".join(self._raw)
        rewritten = self._said.text != raw  # calls or reasoning were found in the text
        parts: list[Part] = []
        for part in answer.parts:
            if isinstance(part, ApiCall):
                told = self._calls.told(part.index)
                parts += [_call_part(told, part.extra)] if told else []
            elif isinstance(part, Text) and rewritten:
                parts += self._said.take()
            elif not isinstance(part, Text | Thinking) or part.text or part.extra:
                parts.append(part)
        parts += [_call_part(told) for told in self._said.calls.values()]
        keep = raw and self._dialect.in_text and not len(self._calls)
        return Message(
            role="assistant", parts=tuple(parts), raw=Raw(dialect=self._dialect.name, text=raw) if keep else None
        )

    def _usage(self, answer: Answer) -> Usage:
        if answer.usage is not None:
            return answer.usage
        letters = sum(map(len, self._raw)) + sum(map(len, self._thought)) + self._calls.letters
        return Usage(output_tokens=-(-letters // LETTERS_A_TOKEN), estimated=True)


class _Said:
    """What the parser has told so far, folded as it is told."""

    def __init__(self) -> None:
        self.calls: dict[str, CallReady | CallMalformed] = {}
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._taken = False

    def note(self, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, TextDelta):
                self._text.append(event.text)
            elif isinstance(event, ThinkingDelta):
                self._thinking.append(event.text)
            elif isinstance(event, CallReady):
                self.calls[event.call.id] = event
            elif isinstance(event, CallMalformed):
                self.calls[event.call_id] = event
            elif isinstance(event, SaidInThought):
                self._thinking += self._text
                self._text, self.calls = [], {}

    @property
    def text(self) -> str:
        return "".join(self._text)

    def take(self) -> list[Part]:
        """Reasoning and text as parts, once: they stand where the first text stood."""
        if self._taken:
            return []
        self._taken = True
        thinking, text = "".join(self._thinking), self.text.strip()
        return [*([Thinking(text=thinking)] if thinking else []), *([Text(text=text)] if text else [])]


def _call_part(told: CallReady | CallMalformed, extra: Extra | None = None) -> Call:
    if isinstance(told, CallReady):
        return Call(call=told.call, extra=extra)
    # What could not be understood stands in history as a call without arguments: its result tells what was wrong.
    name = UNFIT.sub("_", told.name or "unknown")[:64]
    return Call(call=ToolCall(id=told.call_id, name=name, arguments={}), extra=extra)
