"""`ScriptedModel`: a model that says what it was told to, in any dialect, in any pieces, at any pace, with any fault.

For the tests of whoever gives functions to models: no key, no network, the same answer each time.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from toolspeak._frozen import frozen
from toolspeak.codec import encode_argument
from toolspeak.dialects import DIALECTS, Dialect
from toolspeak.dialects.text import TextDialect
from toolspeak.errors import UsageError
from toolspeak.events import FinishReason, TextDelta, ThinkingDelta, Usage
from toolspeak.messages import Part, Text, Thinking, ToolCall
from toolspeak.models import Request
from toolspeak.pieces import Answer, ApiCall, CallPiece, Piece


@frozen
class Said:
    """One message of a script.

    Attributes:
        text: What it says before its calls.
        calls: What it calls, in order. Spoken in the dialect it is asked in.
        thinking: Its reasoning.
        finish: How it ends; by itself if nothing is said.
        after: Seconds of silence before it begins.
        pauses: Seconds of silence before each of its calls.
        lingers: Seconds of silence before it ends.
        error: What breaks it, and after how many letters.
        usage: What the endpoint says it took.
    """

    text: str = ""
    calls: tuple[ToolCall | ApiCall, ...] = ()
    thinking: str = ""
    finish: FinishReason | None = None
    after: float = 0.0
    pauses: tuple[float, ...] = ()
    lingers: float = 0.0
    error: Exception | None = None
    error_after: int = 0
    usage: Usage | None = None


Line: TypeAlias = Said | str | Callable[[Request], Said]


def says(text: str, *, thinking: str = "", finish: FinishReason | None = None, usage: Usage | None = None) -> Said:
    """A message of text."""
    return Said(text=text, thinking=thinking, finish=finish, usage=usage)


def calls(
    *made: tuple[str, Mapping[str, Any]],
    text: str = "",
    finish: FinishReason | None = None,
    pauses: Sequence[float] = (),
    lingers: float = 0.0,
) -> Said:
    """A message that calls tools: `calls(("get_weather", {"city": "Oslo"}))`."""
    spoken = tuple(ToolCall(id="", name=name, arguments=dict(arguments)) for name, arguments in made)
    return Said(text=text, calls=spoken, finish=finish, pauses=tuple(pauses), lingers=lingers)


def breaks(error: Exception, *, text: str = "", after: int | None = None) -> Said:
    """A message that breaks off."""
    return Said(text=text, error=error, error_after=len(text) if after is None else after)


class ScriptedModel:
    """Plays a script, one line a turn. A line may be a function of the request.

    Which line is next depends on the conversation alone (how many answers it has already), so a run that is resumed
    goes on where it was.

    Attributes:
        requests: Every request, in order.
    """

    def __init__(
        self,
        script: Sequence[Line],
        *,
        dialect: str = "native",
        chunk: int | None = None,
        pace: float = 0.0,
        name: str = "scripted",
    ) -> None:
        """Prepare to play.

        Args:
            script: What to say.
            dialect: The dialect that this model calls its best.
            chunk: Letters a piece; whole texts if nothing is said.
            pace: Seconds between pieces.
            name: What it is called.
        """
        self._script = tuple(script)
        self._dialect = dialect
        self._chunk = chunk
        self._pace = pace
        self._name = name
        self.requests: list[Request] = []

    @property
    def name(self) -> str:
        return self._name

    @property
    def dialect(self) -> str:
        return self._dialect

    async def ask(self, request: Request) -> AsyncGenerator[Sequence[Piece]]:
        """Say the next line."""
        self.requests.append(request)
        answered = sum(message.role == "assistant" for message in request.shown.messages)
        if answered >= len(self._script):
            raise UsageError(f"the script has {len(self._script)} lines, and a further one was asked for")
        line = self._script[answered]
        said = line(request) if callable(line) else says(line) if isinstance(line, str) else line
        performance = _Performance(said, _dialect(request.dialect, said), self._chunk)
        await asyncio.sleep(said.after)
        if not request.stream:
            if said.error is not None:
                raise said.error
            await asyncio.sleep(sum(said.pauses) + said.lingers)
            yield [performance.answer()]
            return
        for pause, piece in performance.pieces():
            await asyncio.sleep(pause or self._pace)
            yield [piece]
        if said.error is not None:
            raise said.error
        await asyncio.sleep(said.lingers)
        yield [performance.answer()]


class _Performance:
    """One message, in one dialect."""

    def __init__(self, said: Said, dialect: Any, chunk: int | None) -> None:
        self._said = said
        self._chunk = chunk
        self._spoken: list[ApiCall] = []
        self._texts: list[str] = [said.text] if said.text else []
        if isinstance(dialect, TextDialect):
            self._texts += _written(said, dialect)
        else:
            self._spoken = [_spoken(index, call) for index, call in enumerate(said.calls)]

    def answer(self) -> Answer:
        said = self._said
        parts: list[Part | ApiCall] = []
        if said.thinking:
            parts.append(Thinking(text=said.thinking))
        if self._texts:
            parts.append(Text(text="".join(self._texts)))
        finish = said.finish or ("tool_calls" if self._spoken else "stop")
        return Answer(parts=(*parts, *self._spoken), finish=finish, usage=said.usage)

    def pieces(self) -> Iterator[tuple[float, Piece]]:
        """Each piece, with the silence before it."""
        said, letters = self._said, 0
        for piece in self._cut(said.thinking):
            yield 0.0, ThinkingDelta(text=piece)
        pauses = [*said.pauses, *[0.0] * len(said.calls)]
        for number, text in enumerate(self._texts):
            pause = pauses[number - bool(said.text)] if number >= bool(said.text) else 0.0
            for piece in self._cut(text):
                letters += len(piece)
                if said.error is not None and letters > said.error_after:
                    yield pause, TextDelta(text=piece[: len(piece) - (letters - said.error_after)])
                    return
                yield pause, TextDelta(text=piece)
                pause = 0.0
        for pause, call in zip(pauses, self._spoken, strict=False):
            yield pause, CallPiece(index=call.index, id=call.id, name=call.name)
            for piece in self._cut(call.arguments):
                yield 0.0, CallPiece(index=call.index, arguments=piece)

    def _cut(self, text: str) -> Iterator[str]:
        size = self._chunk or len(text) or 1
        return (text[place : place + size] for place in range(0, len(text), size))


def _dialect(name: str, said: Said) -> Dialect | None:
    """The dialect that calls are written in; None for a user's own, of which only the name is known."""
    if name not in DIALECTS and said.calls:
        raise UsageError(
            f"ScriptedModel cannot write calls in the dialect {name!r}; give the text of the message with says(…)"
        )
    return DIALECTS.get(name)


def _spoken(index: int, call: ToolCall | ApiCall) -> ApiCall:
    if isinstance(call, ApiCall):
        return call
    arguments = json.dumps(encode_argument(call.arguments), ensure_ascii=False)
    return ApiCall(index=index, id=call.id or f"said_{index}", name=call.name, arguments=arguments)


def _written(said: Said, dialect: TextDialect) -> list[str]:
    """The calls as text. Each is written on its own, so that there may be silence between them."""
    plain = [call for call in said.calls if isinstance(call, ToolCall)]
    if not plain:
        return []
    head = "\n\n" if said.text else ""
    if len(plain) == 1 or not any(said.pauses):
        return [head + dialect.format_calls(plain)]
    return [head + dialect.format_calls(plain[:1]) + "\n", *(dialect.format_calls([call]) + "\n" for call in plain[1:])]
