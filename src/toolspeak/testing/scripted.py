"""`ScriptedModel`: a model that answers by a script, in any dialect, in any chunks, at any pace, with any fault.

It is for the tests of programs that give functions to models: no key, no network, the same answer each time.
"""

import asyncio
import json
import random
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias, cast

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from toolspeak.dialects import DIALECTS, Dialect, dialect
from toolspeak.dialects.text import TextDialect
from toolspeak.models import Request
from toolspeak.run.output import ANSWER, NAME, list_fields
from toolspeak.settings.plugins import find_plugin
from toolspeak.values.codec import encode_argument
from toolspeak.values.errors import UsageError
from toolspeak.values.events import FinishReason, TextDelta, ThinkingDelta, Usage
from toolspeak.values.frozen import frozen
from toolspeak.values.messages import Part, Text, Thinking, ToolCall
from toolspeak.values.pieces import Answer, ApiCall, CallPiece, Piece


@frozen
class ScriptedReply:
    """One message of a script.

    Attributes:
        text: The text before the calls.
        calls: The calls, in order. They are written in the dialect of the request.
        thinking: The reasoning before the text.
        finish: The finish reason; if left out, `tool_calls` or `stop`.
        after: Seconds of silence before the message begins.
        pauses: Seconds of silence before each call.
        lingers: Seconds of silence before the message ends.
        error: The error that breaks the message off.
        error_after: How many characters of text come before the error.
        usage: The tokens that the endpoint reports.
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


Line: TypeAlias = (
    ScriptedReply
    | str
    | int
    | float
    | BaseModel
    | Sequence[Any]
    | Mapping[str, Any]
    | Callable[[Request], ScriptedReply]
)
"""A line of a script: a message, its text, the typed answer, or a function that builds the message from the request."""


def says(
    text: str, *, thinking: str = "", finish: FinishReason | None = None, usage: Usage | None = None
) -> ScriptedReply:
    """Create a reply with text."""
    return ScriptedReply(text=text, thinking=thinking, finish=finish, usage=usage)


def calls(
    *named: tuple[str, Mapping[str, Any]],
    text: str = "",
    finish: FinishReason | None = None,
    pauses: Sequence[float] = (),
    lingers: float = 0.0,
    usage: Usage | None = None,
) -> ScriptedReply:
    """Create a reply that calls tools: `calls(("get_weather", {"city": "Oslo"}))`.

    Raises:
        UsageError: A call is not a pair of a name and arguments.
    """
    for each in cast("tuple[object, ...]", named):
        match each:
            case (str(), Mapping()):
                pass
            case _:
                raise UsageError(
                    "a call is a pair of a name and a dict of arguments, so write "
                    f'calls(("get_weather", {{"city": "Oslo"}}), …), not {each!r} among the calls'
                )
    tool_calls = tuple(ToolCall(id="", name=name, arguments=dict(arguments)) for name, arguments in named)
    return ScriptedReply(text=text, calls=tool_calls, finish=finish, pauses=tuple(pauses), lingers=lingers, usage=usage)


def gives(value: Any) -> ScriptedReply:
    """Create a reply that gives the typed answer of a run: `gives(42)` for `output=int`.

    Pass a pydantic model or a dataclass as an object of its type, everything else as its value. If the output is a
    union such as `City | None`, pass the model as a dict: `gives(city.model_dump())`.
    """
    arguments = to_jsonable_python(value, by_alias=True)
    return calls((NAME, arguments if list_fields(type(value)) is not None else {ANSWER: arguments}))


def breaks(error: Exception, *, text: str = "", after: int | None = None) -> ScriptedReply:
    """Create a reply that breaks off with an error, after its text or after some characters of it."""
    return ScriptedReply(text=text, error=error, error_after=len(text) if after is None else after)


class ScriptedModel:
    """A model that plays a script, with one line for each turn.

    The number of answers in the conversation decides which line is next, so a resumed run continues where it was.

    Attributes:
        requests: All requests so far, in order.
    """

    def __init__(
        self,
        script: Sequence[Line],
        *,
        dialect: str = "native",
        chunk: int | None = None,
        pace: float = 0.0,
        name: str = "scripted",
        price: float | None = None,
        seed: int | None = None,
        on_tool_error: Literal["tell", "raise"] = "raise",
    ) -> None:
        """Prepare the model.

        Args:
            script: The lines, one for each turn.
            dialect: The dialect of an agent with `dialect="auto"`.
            chunk: Characters in each piece of a streamed text; if left out, a text is one piece.
            pace: Seconds between pieces.
            name: The name of the model.
            price: What one token costs, in US dollars; unknown if left out.
            seed: Cuts texts into pieces of random length, up to `chunk` characters, and makes the ids of runs; the same
                seed cuts at the same places and gives the same ids in the same order.
            on_tool_error: What an exception in a tool does, unless the agent says it: in a test it is a mistake that
                should be seen, so it is raised; `"tell"` tells the model, as with other models.
        """
        if isinstance(script, str):
            raise UsageError(f"a script is a list of lines, so write ScriptedModel([{script!r}])")
        self._script = tuple(script)
        self._dialect = dialect
        self._chunk = chunk
        self._pace = pace
        self._price = price
        self._name = name
        self._seed = seed
        self.on_tool_error: Literal["tell", "raise"] = on_tool_error
        self._run_count = 0
        self.requests: list[Request] = []

    @property
    def name(self) -> str:
        return self._name

    @property
    def dialect(self) -> str:
        return self._dialect

    def cost(self, usage: Usage) -> float | None:
        """Return the cost of these tokens in US dollars; None if the model has no price."""
        return None if self._price is None else self._price * (usage.input_tokens + usage.output_tokens)

    def make_run_id(self) -> str | None:
        """Return the id of the next run: with a seed, one that is the same each time; else None."""
        if self._seed is None:
            return None
        self._run_count += 1
        return random.Random(f"{self._seed}, run {self._run_count}").randbytes(8).hex()  # noqa: S311 (no secret)

    async def ask(self, request: Request) -> AsyncGenerator[Sequence[Piece]]:
        """Answer with the next line of the script."""
        self.requests.append(request)
        answered = sum(message.role == "assistant" for message in request.shown.messages)
        if answered >= (count := len(self._script)):
            lines = f"{count} line{'s' * (count != 1)}"
            raise UsageError(f"the script has {lines}, and a further one was asked for{_hint(request)}")
        line = self._script[answered]
        if not isinstance(line, ScriptedReply):
            line = says(line) if isinstance(line, str) else line(request) if callable(line) else gives(line)
        reply = line
        sizes = None if self._seed is None else random.Random(f"{self._seed}, {answered}")  # noqa: S311 (no secret)
        rendered = RenderedReply(reply, find_dialect(request.dialect, reply), self._chunk, sizes)
        await asyncio.sleep(reply.after)
        if not request.stream:
            if reply.error is not None:
                raise reply.error
            await asyncio.sleep(sum(reply.pauses) + reply.lingers)
            yield [rendered.answer()]
            return
        for pause, piece in rendered.pieces():
            await asyncio.sleep(pause or self._pace)
            yield [piece]
        if reply.error is not None:
            raise reply.error
        await asyncio.sleep(reply.lingers)
        yield [rendered.answer()]


class RenderedReply:
    """A message as an endpoint sends it in one dialect: its texts and its calls."""

    def __init__(
        self, reply: ScriptedReply, dialect: Dialect | None, chunk: int | None, sizes: random.Random | None = None
    ) -> None:
        self._reply = reply
        self._sizes = sizes
        self._chunk = chunk
        self._api_calls: list[ApiCall] = []
        self._texts: list[str] = [reply.text] if reply.text else []
        if isinstance(dialect, TextDialect):
            self._texts += _write_calls(reply, dialect)
        else:
            self._api_calls = [_encode_call(index, call) for index, call in enumerate(reply.calls)]

    def answer(self) -> Answer:
        """Return the end of the message, with all of its parts."""
        reply = self._reply
        parts: list[Part | ApiCall] = []
        if reply.thinking:
            parts.append(Thinking(text=reply.thinking))
        if self._texts:
            parts.append(Text(text="".join(self._texts)))
        finish = reply.finish or ("tool_calls" if self._api_calls else "stop")
        return Answer(parts=(*parts, *self._api_calls), finish=finish, usage=reply.usage)

    def pieces(self) -> Iterator[tuple[float, Piece]]:
        """Yield each piece, with the seconds of silence before it."""
        reply, characters = self._reply, 0
        for chunk in self._split(reply.thinking):
            yield 0.0, ThinkingDelta(text=chunk)
        pauses = [*reply.pauses, *[0.0] * len(reply.calls)]
        for number, text in enumerate(self._texts):
            pause = pauses[number - bool(reply.text)] if number >= bool(reply.text) else 0.0
            for chunk in self._split(text):
                characters += len(chunk)
                if reply.error is not None and characters > reply.error_after:
                    yield pause, TextDelta(text=chunk[: len(chunk) - (characters - reply.error_after)])
                    return
                yield pause, TextDelta(text=chunk)
                pause = 0.0
        for pause, call in zip(pauses, self._api_calls, strict=False):
            yield pause, CallPiece(index=call.index, id=call.id, name=call.name)
            for chunk in self._split(call.arguments):
                yield 0.0, CallPiece(index=call.index, arguments=chunk)

    def _split(self, text: str) -> Iterator[str]:
        largest, place = self._chunk or len(text) or 1, 0
        while place < len(text):
            size = largest if self._sizes is None else self._sizes.randint(1, largest)
            yield text[place : place + size]
            place += size


def find_dialect(name: str, reply: ScriptedReply) -> Dialect | None:
    """Return the dialect in which calls are written; None for a user's own dialect, of which only the name is known."""
    if name not in DIALECTS and find_plugin("toolspeak.dialects", name):
        return dialect(name)
    if name not in DIALECTS and reply.calls:
        raise UsageError(
            f"ScriptedModel cannot write calls in the dialect {name!r}; give the text of the message with says(…)"
        )
    return DIALECTS.get(name)


def _encode_call(index: int, call: ToolCall | ApiCall) -> ApiCall:
    if isinstance(call, ApiCall):
        return call
    arguments = json.dumps(encode_argument(call.arguments), ensure_ascii=False)
    return ApiCall(index=index, id=call.id or f"said_{index}", name=call.name, arguments=arguments)


def _write_calls(reply: ScriptedReply, dialect: TextDialect) -> list[str]:
    """Write the calls as text. With pauses, each call is a text of its own, so that there can be silence before it."""
    tool_calls = [call for call in reply.calls if isinstance(call, ToolCall)]
    if not tool_calls:
        return []
    head = "\n\n" if reply.text else ""
    if len(tool_calls) == 1 or not any(reply.pauses):
        return [head + dialect.format_calls(tool_calls)]
    first, *others = (dialect.format_calls([call]) + "\n" for call in tool_calls)
    return [head + first, *others]


def _hint(request: Request) -> str:
    """Return what may be wrong with a script that is too short."""
    shown = request.shown
    is_typed = any(spec.name == NAME for spec in shown.tools) or NAME in shown.messages[-1].text
    return "; a run with output=… ends with its typed answer, such as gives(…)" if is_typed else ""
