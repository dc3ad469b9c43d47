"""`ModelRotation`: which of an agent's models is asked, and which one after it has failed.

A run stays with the model that answered last, but for a message that a larger model is asked for since this one is
lost (`Guided.model`). If that model fails, the others are asked in the order of the list, from
the next one on and around its end, each of them once for a message. Only an outage or a rate limit passes a message on:
a request that an endpoint refuses (a wrong key, an unknown model, a conversation that is too long) has a cause that
somebody must mend, and that another model would only hide. A model that cannot take an attachment of the conversation
is not asked.

The pieces of a message, or why they stopped, go into the inbox of the driver. Before another model is asked for a
message that broke off, its server may have to be asked for the dialect.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing
from typing import NamedTuple

from toolspeak.dialects import Dialect, Shown
from toolspeak.loop import State
from toolspeak.models import Model, Request, Sampling, check_attachments
from toolspeak.models.model import SentMessages
from toolspeak.run.inbox import FallbackReady, ModelFailed, PiecesArrived
from toolspeak.values.errors import (
    ContextExceeded,
    EndpointDown,
    ModelError,
    ProviderError,
    RateLimited,
    StreamInterrupted,
    UsageError,
)
from toolspeak.values.events import (
    CallQuoted,
    CallReady,
    CallStarted,
    Fact,
    ToolFinished,
    ToolStarted,
    TurnRestarted,
    TurnStarted,
)
from toolspeak.values.log import LOG
from toolspeak.values.messages import Message
from toolspeak.values.pieces import Answer, Piece
from toolspeak.values.spec import ToolSpec

OUTAGES = (EndpointDown, RateLimited, StreamInterrupted)
"""The errors after which another model is asked."""


class AnsweringModel(NamedTuple):
    """A model of an agent, with the dialect in which it is asked and how its answers are sampled.

    Attributes:
        model: The model.
        dialect: The dialect, as far as it is known.
        sampling: How answers are sampled.
        choose_dialect: Asks the server of the model for the dialect before the first request; None if it is known.
    """

    model: Model
    dialect: Dialect
    sampling: Sampling
    choose_dialect: Callable[[], Awaitable[Dialect]] | None = None


class _Failure(NamedTuple):
    """Why a model did not answer; a model that was passed over was not even asked."""

    model: str
    error: Exception
    was_asked: bool = True


class ModelRotation:
    """The models of one run.

    Attributes:
        current: The model that is asked now.
    """

    def __init__(self, models: Sequence[AnsweringModel]) -> None:
        self._models = list(models)
        self._place = 0
        self._home: int | None = None  # the place to return to, while another model is asked for one message
        self._failures: list[_Failure] = []  # of the message that is asked for now
        self._sent = SentMessages()

    @property
    def current(self) -> AnsweringModel:
        return self._models[self._place]

    def build_request(self, shown: Shown, *, stream: bool) -> Request:
        """Return the request to the current model."""
        _, dialect, sampling, _ = self.current
        return Request(shown=shown, dialect=dialect.name, stream=stream, sampling=sampling, sent=self._sent)

    def turn_to(self, name: str, history: Sequence[Message]) -> bool:
        """Choose the model of this name for the next message; with "", return to the one that was asked before.

        A model that cannot take an attachment of the history is not chosen. Return whether the server of the model that
        was chosen must be asked for its dialect.
        """
        if self._failures:  # the message goes from model to model already
            return False
        self._place = home = self._place if self._home is None else self._home
        self._home = None
        place = next((place for place, each in enumerate(self._models) if each.model.name == name != ""), home)
        if place == home:
            return False
        try:
            check_attachments(self._models[place].model, history)
        except UsageError as unsupported:
            LOG.warning("%s is not asked: %s", name, unsupported)
            return False
        self._place, self._home = place, home
        return self.current.choose_dialect is not None

    def note_answer(self) -> None:
        """Note that the message is there: for the next one, every model may be asked again."""
        self._failures.clear()

    def pass_on(self, error: Exception, state: State) -> TurnRestarted | None:
        """Note that the current model failed, and go on to the next one that can take the attachments of the history.

        Return the fact that this one is asked for the message; None if there is no other model.
        """
        failed = self.current.model.name
        self._failures.append(_Failure(failed, error))
        if not isinstance(error, OUTAGES):
            return None
        while len(self._failures) < len(self._models):
            self._place = (self._place + 1) % len(self._models)
            model = self.current.model
            try:
                check_attachments(model, state.history)
            except UsageError as unsupported:
                self._failures.append(_Failure(model.name, unsupported, was_asked=False))
                continue
            place, kind = f"run {state.run_id}, turn {state.turn.number}", type(error).__name__
            LOG.warning("%s: %s failed (%s); asking %s", place, failed, kind, model.name)
            return TurnRestarted(turn=state.turn.number, failed=failed, reason=str(error), model=model.name)
        return None

    async def choose_dialect(self) -> None:
        """Ask the server of the current model for its dialect, if the dialect is not known."""
        place, current = self._place, self.current
        if current.choose_dialect is not None:
            dialect = await current.choose_dialect()
            self._models[place] = current._replace(dialect=dialect, choose_dialect=None)

    async def try_dialect(self) -> None:
        """Ask for the dialect of the current model. If that fails, it is asked in the one that is known so far."""
        try:
            await self.choose_dialect()
        except Exception as error:
            LOG.warning("%s could not be asked for its dialect", self.current.model.name, exc_info=error)

    def build_error(self) -> Exception:
        """Return the error that ends the run: the one failure, or one error that names each model and its reason."""
        failures, self._failures = self._failures, []
        if len(failures) == 1:
            return failures[0].error
        asked = [failure.error for failure in failures if failure.was_asked]
        kinds, last = {type(error) for error in asked}, asked[-1]
        error_class = type(last) if len(kinds) == 1 or not isinstance(last, OUTAGES) else ModelError
        reasons = "".join(f"\n- {failure.model}: {failure.error}" for failure in failures)
        error = error_class(f"none of {len(failures)} models answered:{reasons}")
        error.__cause__ = last
        return error


def find_call_ids(facts: Sequence[Fact]) -> set[str]:
    """Return the ids of the calls in the message that is arriving."""
    ids: set[str] = set()
    for fact in reversed(facts):
        if isinstance(fact, TurnStarted):
            break
        if isinstance(fact, CallStarted):
            ids.add(fact.call_id)
        elif isinstance(fact, CallReady):
            ids.add(fact.call.id)
    return ids


def report_reuse(state: State, fact: CallReady | CallQuoted) -> tuple[Fact, ...]:
    """Return the facts that report the result of a call that need not run, if `fact` is the last one about its text.

    The same call had its result in a message that was discarded. It is reported so that each call has a result before
    the next turn.
    """
    call = state.turn.calls.get(fact.call.id if isinstance(fact, CallReady) else fact.call_id)
    if call is None or call.result is None or not call.result.ran:
        return ()
    return ToolStarted(call_id=call.id), ToolFinished(result=call.result)


OVERFLOW_HINT = "the conversation is too long for the model; Limits(context=TOKENS) keeps it within that many tokens"


def gains_by_streaming(specs: Iterable[ToolSpec], dialects: Iterable[Dialect], *, parallel: bool) -> bool:
    """Whether streaming a message saves time though nobody watches: calls start, or the stream ends, early."""
    ends_early = not parallel and any(dialect.in_text for dialect in dialects)
    return ends_early or any(spec.effect == "read" for spec in specs)


async def receive_message(
    model: Model, request: Request, number: int, put: Callable[[PiecesArrived | ModelFailed], None]
) -> None:
    """Ask a model, and put the pieces of its message, the `number`-th of the run, into the inbox as they arrive."""
    pieces: Sequence[Piece] = ()
    try:
        async with aclosing(model.ask(request)) as answer:
            async for pieces in answer:
                put(PiecesArrived(request=number, pieces=pieces))
        if not pieces or not isinstance(pieces[-1], Answer):
            raise StreamInterrupted(f"{model.name} ended in the middle of a message")
    except ContextExceeded as error:
        put(ModelFailed(request=number, error=error.with_message(f"{error} ({OVERFLOW_HINT})")))
    except (ModelError, UsageError) as error:
        put(ModelFailed(request=number, error=error))
    except asyncio.CancelledError:
        # If the driver cancelled this task, the turn is closed and drops the item. If something else did, the run
        # would wait for ever without it.
        put(ModelFailed(request=number, error=StreamInterrupted(f"{model.name} was cancelled")))
        raise
    except Exception as error:
        error_class = EndpointDown if isinstance(error, OSError) else ProviderError
        failure = error_class(f"{model.name} failed: {type(error).__name__}: {error}")
        failure.__cause__ = error
        put(ModelFailed(request=number, error=failure))


async def prepare_fallback(
    models: ModelRotation, restarted: TurnRestarted, number: int, put: Callable[[FallbackReady], None]
) -> None:
    """Ask the server of the model that is asked next for its dialect, and put into the inbox that the model is ready.

    If that fails, the model is asked in the dialect that is known so far. The `number`-th request of the run broke off.
    """
    await models.try_dialect()
    put(FallbackReady(request=number, restarted=restarted))
