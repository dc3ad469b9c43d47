"""A model that records its exchanges, and one that replays them: the model seam, so that nothing is patched."""

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import replace
from pathlib import Path

from toolspeak.errors import ReplayMiss, UsageError
from toolspeak.models.cassettes.exchange import RecordedModel
from toolspeak.models.cassettes.senders import RecordingSender, ReplayingSender
from toolspeak.models.cassettes.tape import ExchangeWriter, TapePlayer
from toolspeak.models.dialect_choice import DialectChoice
from toolspeak.models.embedded import EmbeddedModel, make_endpoint
from toolspeak.models.endpoint import Endpoint
from toolspeak.models.http import HttpModel
from toolspeak.models.local import CONTEXT_TOKENS, LocalServer
from toolspeak.models.model import Model, Request
from toolspeak.models.warm import WarmServer
from toolspeak.pieces import Piece

NO_SECRETS: frozenset[str] = frozenset()


class RecordingModel(HttpModel):
    """A model behind an HTTP endpoint whose exchanges are recorded."""

    def __init__(self, model: HttpModel, writer: ExchangeWriter, secrets: frozenset[str]) -> None:
        sender = RecordingSender(writer, secrets)
        super().__init__(model.endpoint, model.model, model.own_dialect_choice, sender=sender, cost=model.own_cost)
        self._writer = writer

    def ask(self, request: Request) -> AsyncGenerator[Sequence[Piece]]:
        """Yield the pieces of an answer in batches, as they arrive, and record the exchange."""
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
        """Yield the pieces of an answer in batches, as they arrive, and record the exchange."""
        self._writer.add_model(
            RecordedModel(
                name=self.name,
                dialect=self.dialect,
                weights=self.weights.name,
                context=self.context_tokens,
            )
        )
        return super().ask(request)


class ReplayedEmbeddedModel(EmbeddedModel):
    """An embedded model that answers from a recording. Its weights are not needed."""

    @property
    def is_ready(self) -> bool:
        return True

    async def find_endpoint(self) -> Endpoint:
        """Return an endpoint without a server."""
        return make_endpoint("http://127.0.0.1/v1", None)


def record_model(model: Model, writer: ExchangeWriter, *, secrets: frozenset[str] = NO_SECRETS) -> Model:
    """Return the model, with its exchanges recorded.

    Args:
        model: The model.
        writer: Writes the exchanges.
        secrets: Strings that must not be written, besides the keys of the endpoint and of the environment.

    Raises:
        UsageError: The model sends no requests over HTTP.
    """
    match model:
        case HttpModel():
            return RecordingModel(model, writer, secrets)
        case EmbeddedModel():
            return RecordingEmbeddedModel(model, writer, secrets)
        case _:
            raise _refuse(model)


def replay_model(
    model: Model, player: TapePlayer, *, realtime: bool = False, secrets: frozenset[str] = NO_SECRETS
) -> Model:
    """Return the model as it was recorded. Nothing is sent.

    Args:
        model: The model.
        player: Finds the answers.
        realtime: Whether answers arrive at the recorded times; if not, nothing is waited for.
        secrets: Strings that were not written, besides the keys of the endpoint and of the environment.

    Raises:
        UsageError: The model sends no requests over HTTP.
    """
    if isinstance(model, EmbeddedModel):
        return replay_embedded_model(model.name, player, realtime=realtime, secrets=secrets)
    if not isinstance(model, HttpModel):
        raise _refuse(model)
    endpoint, choice = model.endpoint, model.own_dialect_choice
    if not realtime:
        endpoint = replace(endpoint, retry=replace(endpoint.retry, first_wait=0.0, max_wait=0.0))
    # The server was asked then, and cannot be asked now.
    endpoint = replace(endpoint, ability_apis=(), cuts_silently=False)
    recorded = player.models.get(model.name)
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
    """Return the model of that name as it was recorded. The weights of an embedded model are not looked for.

    Args:
        name: The name, in one of the forms of `Agent`.
        find: Finds a model by its name.
        player: Finds the answers.
        realtime: Whether answers arrive at the recorded times; if not, nothing is waited for.
        secrets: Strings that were not written, besides the keys of the endpoint and of the environment.
    """
    where, colon, weights = name.partition(":")
    if where == "local":
        own_name = f"{where}{colon}{Path(weights).name}"
        return replay_embedded_model(own_name, player, realtime=realtime, secrets=secrets)
    return replay_model(find(name), player, realtime=realtime, secrets=secrets)


def replay_embedded_model(
    name: str, player: TapePlayer, *, realtime: bool = False, secrets: frozenset[str] = NO_SECRETS
) -> Model:
    """Return an embedded model as it was recorded. Neither its weights nor a server are needed.

    Raises:
        ReplayMiss: The recording has no model of that name.
    """
    recorded = player.models.get(name)
    if recorded is None or recorded.weights is None:
        names = ", ".join(player.models) or "none"
        raise ReplayMiss(
            f"the model {name} was not recorded; the recorded models are: {names} (on the command line, --model NAME "
            "says which is meant)"
        )
    return ReplayedEmbeddedModel(
        Path(recorded.weights),
        name=name,
        dialect=DialectChoice(name=recorded.dialect, reason="recorded in the cassette"),
        context=recorded.context or CONTEXT_TOKENS,
        sender=ReplayingSender(player, realtime=realtime, secrets=secrets),
    )


def _refuse(model: Model) -> UsageError:
    return UsageError(
        f"{model.name} ({type(model).__name__}) sends no requests over HTTP that could be recorded; "
        "replay the facts of a run instead: toolspeak.testing.replay(facts)"
    )
