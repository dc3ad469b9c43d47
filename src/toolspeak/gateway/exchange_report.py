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
    doubts      values of calls that nobody said who may, if the client asks for them and there are some
    usage       the tokens of all turns
    seconds     how long the whole took; `first_seconds` until something could be sent, null if nothing could

Headers are not in it, and keys are removed wherever they stand. New keys may be added without another number.

An exchange is reported when it has ended, as one object, so that a line is never half of something; the same object
serves `--show`, `/exchanges` and the page. `ReportKeeper` writes reports, keeps the last ones (`ExchangeHistory`) and
traces them.
"""

import json
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from toolspeak.dialects import Shown
from toolspeak.gateway.errors import report_error
from toolspeak.gateway.exchange import ServedModel
from toolspeak.models import HttpModel, Model, Request
from toolspeak.models.cassettes.redaction import Redactor, collect_secrets
from toolspeak.telemetry import SpanExporter, Tracing
from toolspeak.telemetry.exchange_spans import build_exchange_spans, read_trace_parent
from toolspeak.values.codec import encode
from toolspeak.values.events import Event, TextDelta, ThinkingDelta, TurnEnded
from toolspeak.values.log import LOG
from toolspeak.values.messages import Message, Text, Thinking
from toolspeak.values.pieces import Answer, ApiCall, Piece
from toolspeak.wire.api import WIRES, ServedApiName

FORMAT = 1
CLIENT_LEFT = 499
"""The status of an exchange whose client disconnected before it got the whole answer."""

MAX_KEPT_EXCHANGES = 100
MAX_KEPT_BYTES = 32_000_000
"""Bytes of all reports that are kept. The oldest are dropped first; a larger one is kept without its contents."""

SUMMARY_KEYS = ("id", "time", "api", "model", "dialect", "stream", "status", "usage", "notices", "seconds")


class ExchangeReport:
    """Collects what happens in one exchange, from the arrival of its request. `build` returns it."""

    def __init__(self, request_id: str, api: ServedApiName, path: str, trace_parent: str = "") -> None:
        self.trace_parent = trace_parent  # the header `traceparent`, which is not in the report
        self.is_finished = False  # whether the report was taken
        self.notices = ""  # what the client is told of what was left out
        self.doubts: list[dict[str, Any]] = []  # values in doubt of its calls
        self._path = path
        self._request: Any = None
        self._id = request_id
        self._api: ServedApiName = api
        self._time = datetime.now(UTC)
        self._start = time.monotonic()
        self._served: ServedModel | None = None
        self._stream = False
        self._turns: list[dict[str, Any]] = []
        self._outcome: dict[str, Any] = {"response": None, "error": None, "status": CLIENT_LEFT, "usage": None}
        self._first_seconds: float | None = None

    def note_body(self, body: Any) -> Any:
        """Note the body of the request, and return it."""
        self._request = body
        return body

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

        `respond` returns the body of an answer, given its end. `finish` is called at the end, also if the answer fails
        or the client leaves.
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
            "request": self._request,
            "turns": self._turns,
            **self._outcome,
            "notices": self.notices,
            **({"doubts": self.doubts} if self.doubts else {}),
            "seconds": self.elapsed(),
            "first_seconds": self._first_seconds,
        }


class _WatchedModel:
    """A model whose answers are noted in a report."""

    def __init__(self, model: Model, report: ExchangeReport) -> None:
        self.name, self.dialect = model.name, model.dialect
        self._model = model
        self._report = report

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
    calls = [part for part in answer.parts if isinstance(part, ApiCall)]
    turn["api_calls"] = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in calls]
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


class ExchangeHistory:
    """The last exchanges, as lines of JSON."""

    def __init__(self, max_exchanges: int = MAX_KEPT_EXCHANGES, max_bytes: int = MAX_KEPT_BYTES) -> None:
        self._max_exchanges = max_exchanges
        self._max_bytes = max_bytes
        self._bytes = 0
        self._kept: dict[str, tuple[dict[str, Any], str]] = {}  # the oldest first

    def add(self, summary: dict[str, Any], line: str) -> None:
        """Keep an exchange, and drop the oldest ones for it."""
        if len(line) > self._max_bytes:
            line = json.dumps({**summary, "left_out": f"the report has {len(line)} bytes, too many to be kept"})
        self._kept[summary["id"]] = summary, line
        self._bytes += len(line)
        while len(self._kept) > self._max_exchanges or (self._bytes > self._max_bytes and len(self._kept) > 1):
            _, dropped = self._kept.pop(next(iter(self._kept)))
            self._bytes -= len(dropped)

    def list_summaries(self) -> list[dict[str, Any]]:
        """Return a summary of each exchange, the latest first."""
        return [summary for summary, _ in reversed(self._kept.values())]

    def find(self, exchange_id: str) -> str | None:
        """Return the report of an exchange as JSON; None if it is not kept."""
        found = self._kept.get(exchange_id)
        return found[1] if found is not None else None


class ReportKeeper:
    """Gives reports, without keys, to those who want them."""

    def __init__(
        self,
        served: Iterable[ServedModel],
        key: str | None,
        write_line: Callable[[str], None] | None = None,
        history: ExchangeHistory | None = None,
        tracer: Tracing | SpanExporter | None = None,
    ) -> None:
        """Prepare for reports. The keys of the models and that of the gateway are removed from them.

        `write_line` is called with each report, as JSON in one line without its end; `history` keeps the last ones, and
        `tracer` gets the spans of each exchange.
        """
        secrets = {key} if key else set[str]()
        for each in served:
            if isinstance(each.model, HttpModel):
                secrets |= collect_secrets(each.model.endpoint)
        self._redactor = Redactor(secrets)
        self._write_line = write_line
        self._history = history
        self._tracer = tracer

    def finish(self, report: ExchangeReport) -> None:
        """Take the report of an exchange that has ended, once."""
        if report.is_finished:
            return
        report.is_finished = True
        data = report.build()
        line = self._redactor.redact(json.dumps(data, separators=(",", ":"), default=str))
        if self._write_line is not None:
            self._write_line(line)
        if self._history is not None:
            summary = json.loads(self._redactor.redact(json.dumps({key: data[key] for key in SUMMARY_KEYS})))
            turns = {"turns": len(data["turns"]), "error": data["error"] is not None}
            self._history.add({**summary, **turns}, line)
        if (tracer := self._tracer) is not None:
            try:
                parent = read_trace_parent(report.trace_parent)
                tracer.export(build_exchange_spans(json.loads(line), parent, content=tracer.content))
            except Exception as error:  # a tracer that fails does not end the answer
                LOG.warning("the tracer failed", exc_info=error)
