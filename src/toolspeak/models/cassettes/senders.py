"""Senders in the place of the network: one records what the network does, the other replays it.

A model that records its exchanges, or replays them, is a model with such a sender, so that nothing is patched. The
argument `secrets` has strings that must not be written, besides the keys of the endpoint and of the environment.
`realtime` says whether chunks arrive at the recorded times, by the clock of the event loop; if not, nothing is waited
for.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from toolspeak.models.cassettes.exchange import Exchange, RecordedFailure, RecordedModel
from toolspeak.models.cassettes.redaction import Redactor, collect_secrets
from toolspeak.models.cassettes.tape import ExchangeWriter, TapePlayer
from toolspeak.models.embedded import EmbeddedModel, make_endpoint
from toolspeak.models.endpoint import Endpoint
from toolspeak.models.http import HttpModel
from toolspeak.models.local import CONTEXT_TOKENS, LocalServer
from toolspeak.models.model import DialectChoice, Model, Request
from toolspeak.models.sender import HttpResponse, Sender
from toolspeak.models.transport import RequestFailed, describe_break, send_request
from toolspeak.models.warm import WarmServer
from toolspeak.values import errors
from toolspeak.values.address import hide_secrets
from toolspeak.values.errors import EndpointDown, ModelError, ReplayMiss, UsageError
from toolspeak.values.pieces import Piece

KEPT_HEADERS = ("content-type", "retry-after", "location")
"""The headers of a response that have an effect. Others may hold ids, cookies and the like."""

FAILURES: Mapping[str, type[ModelError]] = {
    name: each for name, each in vars(errors).items() if isinstance(each, type) and issubclass(each, ModelError)
}
"""The errors that a request without a response may have, by the names under which they are recorded."""


class RecordingSender:
    """Sends requests over the network, and records them with their responses."""

    def __init__(self, writer: ExchangeWriter, secrets: frozenset[str] = frozenset()) -> None:
        self._writer = writer
        self._secrets = secrets

    async def __call__(self, endpoint: Endpoint, path: str, body: bytes, /) -> HttpResponse:
        """Send a request and record it."""
        redactor = Redactor(collect_secrets(endpoint) | self._secrets)
        at = datetime.now(UTC).astimezone()
        request: dict[str, Any] = {"at": at, "path": path, "body": redactor.redact_body(body)}
        start = asyncio.get_running_loop().time()
        try:
            response = await send_request(endpoint, path, body)
        except RequestFailed as failed:
            error = failed.error
            problem = redactor.redact(str(error).removeprefix(f"{endpoint.label} "))
            failure = RecordedFailure(error=type(error).__name__, problem=problem, can_retry=failed.can_retry)
            self._writer.add_exchange(Exchange(**request, failure=failure))
            raise
        return _RecordingResponse(response, request, start, redactor, self._writer)


class _RecordingResponse:
    """A response of the network that is recorded while it is read."""

    def __init__(
        self, response: HttpResponse, request: dict[str, Any], start: float, redactor: Redactor, writer: ExchangeWriter
    ) -> None:
        self.status, self.headers, self.content_type = response.status, response.headers, response.content_type
        self._response = response
        self._request = request
        self._start = start
        self._redactor = redactor
        self._writer: ExchangeWriter | None = writer
        self._head_seconds = self._find_seconds()
        self._chunks: list[tuple[float, bytes]] = []
        self._ending = "closed"
        self._timed_out = False

    @property
    def content(self) -> "_RecordingResponse":
        return self

    async def readany(self) -> bytes:
        try:
            chunk = await self._response.content.readany()
        except OSError as error:
            self._ending, self._timed_out = describe_break(error), isinstance(error, TimeoutError)
            raise
        if chunk:
            self._chunks.append((self._find_seconds(), chunk))
        else:
            self._ending = "end"
            self._write()  # before the answer is used: if it cannot be recorded, the run fails
        return chunk

    def at_eof(self) -> bool:
        return self._ending == "end"  # as in the replay, where the end does not arrive with the last chunk

    def close(self) -> None:
        if self._response.content.at_eof():
            self._ending = "end"  # a whole body, though its end was not asked for
        self._response.close()
        self._write()

    def _write(self) -> None:
        writer, self._writer = self._writer, None
        if writer is None:
            return
        kept = {name: self.headers[name] for name in KEPT_HEADERS if name in self.headers}
        if "location" in kept:
            kept["location"] = hide_secrets(re.split("[?#]", kept["location"], maxsplit=1)[0])
        writer.add_exchange(
            Exchange(
                **self._request,
                status=self.status,
                headers=tuple((name, self._redactor.redact(value)) for name, value in kept.items()),
                head_seconds=self._head_seconds,
                chunks=self._redactor.redact_chunks(self._chunks),
                ending=self._ending,
                timed_out=self._timed_out,
            )
        )

    def _find_seconds(self) -> float:
        return asyncio.get_running_loop().time() - self._start


class ReplayingSender:
    """Answers requests from a recording."""

    def __init__(self, player: TapePlayer, *, realtime: bool = False, secrets: frozenset[str] = frozenset()) -> None:
        self.is_instant = not realtime
        self._player = player
        self._realtime = realtime
        self._secrets = secrets

    async def __call__(self, endpoint: Endpoint, path: str, body: bytes, /) -> HttpResponse:
        """Return the recorded response. Raises `ReplayMiss` if there is none."""
        redactor = Redactor(collect_secrets(endpoint) | self._secrets)
        start = asyncio.get_running_loop().time()
        exchange = self._player.take(path, redactor.redact_body(body))
        if (failure := exchange.failure) is not None:
            error_class = FAILURES.get(failure.error, EndpointDown)
            raise RequestFailed(error_class(f"{endpoint.label} {failure.problem}"), can_retry=failure.can_retry)
        if self._realtime:
            await asyncio.sleep(exchange.head_seconds)
        return _ReplayedResponse(exchange, start if self._realtime else None)


class _ReplayedResponse:
    """A response from a recording. `start` is the time of its request if chunks arrive at the recorded times."""

    def __init__(self, exchange: Exchange, start: float | None) -> None:
        self.status = exchange.status
        self.headers: Mapping[str, str] = dict(exchange.headers)
        self.content_type = (
            self.headers.get("content-type", "application/octet-stream").partition(";")[0].strip().lower()
        )
        self._exchange = exchange
        self._start = start
        self._chunks = iter(exchange.chunks)
        self._closed = asyncio.Event()
        self._at_eof = False

    @property
    def content(self) -> "_ReplayedResponse":
        return self

    async def readany(self) -> bytes:
        seconds, chunk = next(self._chunks, (0.0, b""))
        await self._wait_until(seconds)
        if chunk:
            return chunk
        if self._exchange.ending != "end":
            raise _make_error(self._exchange)
        self._at_eof = True
        return b""

    async def _wait_until(self, seconds: float) -> None:
        """Wait for the time of a chunk. Raises `ConnectionError` if the response is closed meanwhile."""
        if self._start is None:
            await asyncio.sleep(0)
        else:
            loop = asyncio.get_running_loop()
            try:
                async with asyncio.timeout(max(self._start + seconds - loop.time(), 0)):
                    await self._closed.wait()
            except TimeoutError:
                pass
        if self._closed.is_set():
            raise ConnectionError("the response was closed")

    def at_eof(self) -> bool:
        return self._at_eof

    def close(self) -> None:
        self._closed.set()


class RecordingEnded(ConnectionError):
    """A replayed response is read beyond the place where its recording ended."""


def _make_error(exchange: Exchange) -> OSError:
    """Make the error with which a recorded response broke off, with the recorded words."""
    if exchange.ending == "closed":
        return RecordingEnded("the recorded response was closed here")
    base: type[OSError] = TimeoutError if exchange.timed_out else ConnectionError
    return base(exchange.ending)


NO_SECRETS: frozenset[str] = frozenset()


class RecordingModel(HttpModel):
    """A model behind an HTTP endpoint whose exchanges are recorded."""

    def __init__(self, model: HttpModel, writer: ExchangeWriter, secrets: frozenset[str]) -> None:
        sender = RecordingSender(writer, secrets)
        super().__init__(model.endpoint, model.model, model.own_dialect_choice, sender=sender, cost=model.own_cost)
        self._writer = writer

    def ask(self, request: Request) -> AsyncGenerator[Sequence[Piece]]:
        self._writer.add_model(RecordedModel(name=self.name, dialect=self.dialect, context=self.context_tokens))
        return super().ask(request)


class RecordingEmbeddedModel(EmbeddedModel):
    """An embedded model whose exchanges with its server are recorded."""

    def __init__(self, model: EmbeddedModel, writer: ExchangeWriter, secrets: frozenset[str]) -> None:
        super().__init__(
            model.weights,
            name=model.name,
            dialect=model.dialect_choice,
            context=model.context_tokens,
            slots=model.slots,
            adapter=model.adapter,
            sender=RecordingSender(writer, secrets),
        )
        self._recorded = model
        self._writer = writer

    @property
    def is_ready(self) -> bool:
        return self._recorded.is_ready

    def load(self, on_progress: Callable[[float], None] | None = None) -> LocalServer | WarmServer:
        """Load the weights of the model that is recorded."""
        return self._recorded.load(on_progress)

    async def find_endpoint(self) -> Endpoint:
        """Return the server of the model that is recorded."""
        return await self._recorded.find_endpoint()

    def ask(self, request: Request) -> AsyncGenerator[Sequence[Piece]]:
        self._writer.add_model(
            RecordedModel(
                name=self.name,
                dialect=self.dialect,
                weights=self.weights.name,
                context=self.context_tokens,
                reads_figures=self.reads_figures,
            )
        )
        return super().ask(request)


class ReplayedEmbeddedModel(EmbeddedModel):
    """An embedded model that answers from a recording. Neither its weights nor its adapter are needed."""

    def __init__(self, recorded: RecordedModel, sender: Sender) -> None:
        super().__init__(
            Path(recorded.weights or ""),
            name=recorded.name,
            dialect=DialectChoice(name=recorded.dialect, reason="recorded in the cassette"),
            context=recorded.context or CONTEXT_TOKENS,
            sender=sender,
        )
        self._reads_figures = recorded.reads_figures

    @property
    def reads_figures(self) -> bool:
        return self._reads_figures

    @property
    def is_ready(self) -> bool:
        return True

    async def find_endpoint(self) -> Endpoint:
        """Return an endpoint without a server."""
        return make_endpoint("http://127.0.0.1/v1", None)


def record_model(model: Model, writer: ExchangeWriter, *, secrets: frozenset[str] = NO_SECRETS) -> Model:
    """Return the model, with its exchanges recorded. Raises `UsageError` if it sends no requests over HTTP."""
    if isinstance(model, HttpModel):
        return RecordingModel(model, writer, secrets)
    if isinstance(model, EmbeddedModel):
        return RecordingEmbeddedModel(model, writer, secrets)
    raise _refuse(model)


def replay_model(
    model: Model, player: TapePlayer, *, realtime: bool = False, secrets: frozenset[str] = NO_SECRETS
) -> Model:
    """Return the model as it was recorded. Nothing is sent. Raises `UsageError` if it sends no requests over HTTP."""
    if isinstance(model, EmbeddedModel):
        recorded = player.find_model(model.name, reads_figures=model.reads_figures)
        return replay_embedded_model(model.name, recorded, player, realtime=realtime, secrets=secrets)
    if not isinstance(model, HttpModel):
        raise _refuse(model)
    endpoint, choice = model.endpoint, model.own_dialect_choice
    # The server was asked then, and cannot be asked now.
    endpoint = replace(endpoint, ability_apis=(), cuts_silently=False)
    recorded = player.find_model(model.name)
    if choice.is_guess:
        choice = DialectChoice(name=recorded.dialect if recorded else choice.name, reason="recorded in the cassette")
    sender = ReplayingSender(player, realtime=realtime, secrets=secrets)
    context = recorded.context if recorded else None
    return HttpModel(endpoint, model.model, choice, sender=sender, context=context, cost=model.own_cost)


def replay_named_model(
    name: str,
    find: Callable[[str], Model],
    player: TapePlayer,
    *,
    realtime: bool = False,
    secrets: frozenset[str] = NO_SECRETS,
) -> Model:
    """Return the model that `find` finds by its name, as it was recorded. Weights of an embedded one are not needed."""
    where, colon, weights = name.partition(":")
    if where == "local":
        own_name = f"{where}{colon}{Path(weights).name}"
        return replay_embedded_model(own_name, player.find_model(own_name), player, realtime=realtime, secrets=secrets)
    return replay_model(find(name), player, realtime=realtime, secrets=secrets)


def replay_embedded_model(
    name: str, recorded: RecordedModel | None, player: TapePlayer, *, realtime: bool, secrets: frozenset[str]
) -> Model:
    """Return an embedded model as it was recorded. Raises `ReplayMiss` if the recording has none of that name."""
    if recorded is None or recorded.weights is None:
        names = ", ".join(dict.fromkeys(each.name for each in player.models)) or "none"
        raise ReplayMiss(
            f"the model {name} was not recorded; the recorded models are: {names} (on the command line, --model NAME "
            "says which is meant)"
        )
    return ReplayedEmbeddedModel(recorded, ReplayingSender(player, realtime=realtime, secrets=secrets))


def _refuse(model: Model) -> UsageError:
    return UsageError(
        f"{model.name} ({type(model).__name__}) sends no HTTP requests that could be recorded; "
        "replay the facts of a run instead: toolspeak.testing.replay(facts)"
    )
