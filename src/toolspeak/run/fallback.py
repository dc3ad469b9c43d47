"""`ModelRotation`: which of an agent's models is asked, and which one after it has failed.

A run stays with the model that answered last. If that model fails, the others are asked in the order of the list, from
the next one on and around its end, each of them once for a message. Only an outage or a rate limit passes a message on:
a request that an endpoint refuses (a wrong key, an unknown model, a conversation that is too long) has a cause that
somebody must mend, and that another model would only hide. A model that cannot take an attachment of the conversation
is not asked.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from toolspeak.dialects import Dialect, Shown
from toolspeak.errors import EndpointDown, ModelError, RateLimited, StreamInterrupted, UsageError
from toolspeak.events import (
    CallQuoted,
    CallReady,
    CallStarted,
    Fact,
    ToolFinished,
    ToolStarted,
    TurnRestarted,
    TurnStarted,
)
from toolspeak.log import LOG
from toolspeak.loop import State
from toolspeak.models import Model, Request, Sampling, check_attachments
from toolspeak.models.sent_messages import SentMessages

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
        self._failures: list[_Failure] = []  # of the message that is asked for now
        self._sent = SentMessages()

    @property
    def current(self) -> AnsweringModel:
        return self._models[self._place]

    def build_request(self, shown: Shown, *, stream: bool) -> Request:
        """Return the request to the current model."""
        _, dialect, sampling, _ = self.current
        return Request(shown=shown, dialect=dialect.name, stream=stream, sampling=sampling, sent=self._sent)

    def note_answer(self) -> None:
        """Note that the message is there: for the next one, every model may be asked again."""
        self._failures.clear()

    def pass_on(self, error: Exception, state: State) -> TurnRestarted | None:
        """Note that the current model failed. If another one can be asked, it is then the current one.

        Args:
            error: Why the current model failed.
            state: The state of the run. A model that cannot take the attachments of its conversation is passed over.

        Returns:
            The fact that the other model is asked for the message; None if no other can be asked.
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
