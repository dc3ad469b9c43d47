"""`ExchangeReport`: all that happened in one exchange with a client, as one JSON object.

It is for people who watch a gateway, and for pages that show it to them. The keys of a report:

    v           1, the number of this format
    id          the id of the request, as in the header `x-request-id`
    time        when the request arrived, in UTC
    api, path   the API of the client, and the path that it asked
    model       the name under which the model is served; null if there is none of that name
    dialect     the dialect in which the model is asked
    stream      whether the answer is streamed
    request     the body as the client sent it; null if it is not JSON
    turns       each message that the model was asked for:
        shown       `messages`, `tools`, `choice`, `constraint`: what the model was shown, word for word
        text        what the model wrote, word for word; `thinking`, `api_calls` beside it
        read        the message as it was read, with its calls; null if it broke off
        problem     why the model was asked again; empty if it was not, or was only given help
        finish      why the message ended
        usage       its tokens
        model       the name of the model that was asked
        start       when it was asked, in seconds since the request arrived
        seconds     how long it took; `first_seconds` until its first piece arrived, null if none did
    response    the body that the client got; of a stream, what its events add up to; null if it failed
    error       the error that the client got; null if there was none
    status      the status of the answer; 499 if the client left before its end
    notices     what the client was told in the header `x-toolspeak-notice`
    usage       the tokens of all turns
    seconds     how long the whole took; `first_seconds` until something could be sent, null if nothing could

Headers are not in it, and keys are removed wherever they stand. New keys may be added without another number.
"""

import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from toolspeak.codec import encode
from toolspeak.dialects import Shown
from toolspeak.events import Event, TextDelta, ThinkingDelta, TurnEnded
from toolspeak.gateway.errors import report_error
from toolspeak.gateway.exchange import ServedModel
from toolspeak.messages import Message, Text, Thinking
from toolspeak.models import Model, Request
from toolspeak.pieces import Answer, ApiCall, Piece
from toolspeak.wire.api import WIRES, ServedApiName

FORMAT = 1
CLIENT_LEFT = 499
"""The status of an exchange whose client disconnected before it got the whole answer."""


class ExchangeReport:
    """Collects what happens in one exchange. `build` returns it.

    Attributes:
        request: The body of the request.
        notices: What the client is told of what was left out.
        is_finished: Whether the exchange has ended, and its report was taken.
        trace_parent: The header `traceparent` of the request. It is not in the report.
    """

    def __init__(self, request_id: str, api: ServedApiName, path: str, trace_parent: str = "") -> None:
        """Begin a report when a request to an API has arrived."""
        self._path = path
        self.trace_parent = trace_parent
        self.is_finished = False
        self.request: Any = None
        self.notices = ""
        self._id = request_id
        self._api: ServedApiName = api
        self._time = datetime.now(UTC)
        self._start = time.monotonic()
        self._served: ServedModel | None = None
        self._stream = False
        self._turns: list[dict[str, Any]] = []
        self._outcome: dict[str, Any] = {"response": None, "error": None, "status": CLIENT_LEFT, "usage": None}
        self._first_seconds: float | None = None

    def read_body(self, read: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return a function that reads a body, and notes it."""

        def note_and_read(body: Any) -> Any:
            self.request = body
            return read(body)

        return note_and_read

    def note_model(self, served: ServedModel, *, stream: bool) -> None:
        """Note which model is asked, and how."""
        self._served, self._stream = served, stream

    def watch(self, model: Model) -> Model:
        """Return a model that answers as `model` does, and whose turns are noted."""
        return _WatchedModel(model, self)

    def start_turn(self, model: str, request: Request) -> dict[str, Any]:
        """Begin another message of the model of that name."""
        turn: dict[str, Any] = {"shown": _encode_shown(request.shown), "text": "", "thinking": "", "api_calls": []}
        turn |= {"read": None, "problem": "", "finish": None, "usage": None, "model": model}
        turn |= {"start": self.elapsed(), "seconds": None, "first_seconds": None}
        self._turns.append(turn)
        return turn

    def note_reading(self, message: Message | None, problem: str | None) -> None:
        """Note how the last message of the model was read, and why it is asked again."""
        turn = self._turns[-1]
        turn["read"] = _encode_message(message) if message is not None else None
        turn["problem"] = problem or ""

    def elapsed(self) -> float:
        """Return the seconds since the request arrived."""
        return round(time.monotonic() - self._start, 4)

    async def follow(
        self, events: AsyncGenerator[list[Event]], respond: Callable[[TurnEnded], Any], finish: Callable[[], None]
    ) -> AsyncGenerator[list[Event]]:
        """Yield the events of an answer, and note how it ends.

        Args:
            events: The events.
            respond: Returns the body of an answer, given its end.
            finish: Is called at the end, also if the answer fails or the client leaves.
        """
        try:
            async with aclosing(events):
                async for batch in events:
                    self._first_seconds = self.elapsed() if self._first_seconds is None else self._first_seconds
                    if isinstance(end := batch[-1], TurnEnded):
                        self._outcome |= {"response": respond(end), "status": 200, "usage": asdict(end.usage)}
                    yield batch
        except Exception as error:
            self.fail(error)
            raise
        finally:
            finish()

    def fail(self, error: Exception) -> None:
        """Note the error that the client gets."""
        report = report_error(error)
        status = 200 if self._stream and self._first_seconds is not None else report.form.status
        self._outcome |= {"response": None, "error": WIRES[self._api].error_body(report), "status": status}

    def build(self) -> dict[str, Any]:
        """Return the report."""
        served = self._served
        return {
            "v": FORMAT,
            "id": self._id,
            "time": self._time.isoformat(timespec="milliseconds"),
            "api": self._api,
            "path": self._path,
            "model": served.name if served is not None else None,
            "dialect": served.dialect.name if served is not None else None,
            "stream": self._stream,
            "request": self.request,
            "turns": self._turns,
            **self._outcome,
            "notices": self.notices,
            "seconds": self.elapsed(),
            "first_seconds": self._first_seconds,
        }


class _WatchedModel:
    """A model whose answers are noted in a report."""

    def __init__(self, model: Model, report: ExchangeReport) -> None:
        self._model = model
        self._report = report

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def dialect(self) -> str:
        return self._model.dialect

    async def ask(self, request: Request) -> AsyncGenerator[Sequence[Piece]]:
        """Yield the pieces of an answer."""
        turn = self._report.start_turn(self.name, request)
        start: float = turn["start"]
        text: list[str] = []
        thinking: list[str] = []
        try:
            async with aclosing(self._model.ask(request)) as answer:
                async for pieces in answer:
                    if turn["first_seconds"] is None:
                        turn["first_seconds"] = round(self._report.elapsed() - start, 4)
                    for piece in pieces:
                        if isinstance(piece, TextDelta):
                            text.append(piece.text)
                        elif isinstance(piece, ThinkingDelta):
                            thinking.append(piece.text)
                        elif isinstance(piece, Answer):
                            _note_end(turn, piece)
                    yield pieces
        finally:
            turn["text"] = "".join(text) or turn["text"]
            turn["thinking"] = "".join(thinking) or turn["thinking"]
            turn["seconds"] = round(self._report.elapsed() - start, 4)


def _note_end(turn: dict[str, Any], answer: Answer) -> None:
    """Note the end of a message. An answer that was not streamed may come as this one piece."""
    turn["text"] = "".join(part.text for part in answer.parts if isinstance(part, Text))
    turn["thinking"] = "".join(part.text for part in answer.parts if isinstance(part, Thinking))
    turn["api_calls"] = [
        {"id": part.id, "name": part.name, "arguments": part.arguments}
        for part in answer.parts
        if isinstance(part, ApiCall)
    ]
    turn["finish"] = answer.finish
    turn["usage"] = asdict(answer.usage) if answer.usage is not None else None


def _encode_shown(shown: Shown) -> dict[str, Any]:
    return {
        "messages": [_encode_message(message) for message in shown.messages],
        "tools": [
            {"name": each.name, "description": each.description, "parameters": each.parameters} for each in shown.tools
        ],
        "choice": asdict(shown.choice),
        "constraint": asdict(shown.constraint) if shown.constraint is not None else None,
    }


def _encode_message(message: Message) -> dict[str, Any]:
    return {key: value for key, value in encode(message).items() if key != "v"}
