"""`ModelRotation`: which of an agent's models is asked, and which one after it has failed.

A run stays with the model that answered last. If that model fails, the others are asked in the order of the list, from
the next one on and around its end, each of them once for a message. Only an outage or a rate limit passes a message on:
a request that an endpoint refuses (a wrong key, an unknown model, a conversation that is too long) has a cause that
somebody must mend, and that another model would only hide.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from toolspeak.dialects import Dialect
from toolspeak.errors import EndpointDown, ModelError, RateLimited, StreamInterrupted
from toolspeak.events import CallReady, CallStarted, Fact, TurnStarted
from toolspeak.models import Model, Sampling

OUTAGES = (EndpointDown, RateLimited, StreamInterrupted)
"""The errors after which another model is asked."""


class AnsweringModel(NamedTuple):
    """A model of an agent, with the dialect in which it is asked and how its answers are sampled."""

    model: Model
    dialect: Dialect
    sampling: Sampling


def pair_sampling(models: Sequence[tuple[Model, Dialect]], sampling: Sampling) -> tuple[AnsweringModel, ...]:
    """Give each model its sampling. Fields that only one endpoint knows are for the first model alone."""
    plain = replace(sampling, extra=None)
    return tuple(
        AnsweringModel(model, dialect, plain if place else sampling) for place, (model, dialect) in enumerate(models)
    )


class ModelRotation:
    """The models of one run.

    Attributes:
        current: The model that is asked now.
    """

    def __init__(self, models: Sequence[AnsweringModel]) -> None:
        self._models = tuple(models)
        self._place = 0
        self._failures: list[tuple[str, Exception]] = []  # of the message that is asked for now

    @property
    def current(self) -> AnsweringModel:
        return self._models[self._place]

    def note_answer(self) -> None:
        """Note that the message is there: for the next one, every model may be asked again."""
        self._failures.clear()

    def pass_on(self, error: Exception) -> bool:
        """Note that the current model failed. Whether another model can be asked, which is then the current one."""
        self._failures.append((self.current.model.name, error))
        if not isinstance(error, OUTAGES) or len(self._failures) >= len(self._models):
            return False
        self._place = (self._place + 1) % len(self._models)
        return True

    def build_error(self) -> Exception:
        """Return the error that ends the run: the one failure, or one error that names each model and its reason."""
        failures, self._failures = self._failures, []
        last = failures[-1][1]
        if len(failures) == 1:
            return last
        kinds = {type(error) for _, error in failures}
        error_class = type(last) if len(kinds) == 1 or not isinstance(last, OUTAGES) else ModelError
        reasons = "".join(f"\n- {name}: {error}" for name, error in failures)
        failure = error_class(f"none of {len(failures)} models answered:{reasons}")
        failure.__cause__ = last
        return failure


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
