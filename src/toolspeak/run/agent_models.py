"""`AgentModels`: the models of an agent, each with the dialect in which it is asked.

The dialect of a model of which nothing is known is a guess until the server of the model has been asked. The first
model is asked about when a run begins, another one when a message is passed on to it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

from toolspeak.dialects import DIALECTS, Dialect
from toolspeak.events import HandedOver, RunStarted
from toolspeak.log import LOG
from toolspeak.models import DialectChoice, Model, Sampling
from toolspeak.models.context import ask_model_context, must_ask_context
from toolspeak.models.dialect_choice import GUESS_CURE, choose_model_dialect, get_dialect_choice
from toolspeak.run.fallback import AnsweringModel
from toolspeak.run.inputs import find_dialect


class AgentModels:
    """The models of an agent, in the order in which they are asked, and their dialects.

    Attributes:
        models: The models.
        given: The dialect that was given with the agent for all models; None stands for `"auto"`.
    """

    def __init__(self, models: tuple[Model, ...], dialect: str | Dialect) -> None:
        self.models = models
        matched = tuple(find_dialect(dialect, model) for model in models)  # refuses a name that is unknown
        self.given = None if dialect == "auto" else matched

    @property
    def dialects(self) -> tuple[Dialect, ...]:
        """The dialects of all models, as far as they are known. Nothing is sent."""
        return self.given or tuple(find_dialect("auto", model) for model in self.models)

    @property
    def choice(self) -> DialectChoice:
        """The dialect of the first model as far as it is known, and why it was chosen. Nothing is sent."""
        if self.given is not None:
            return DialectChoice(name=self.given[0].name, reason="given with the agent")
        return get_dialect_choice(self.models[0])

    async def choose(self) -> DialectChoice:
        """Return the dialect of the first model, after asking its server if the dialect would be a guess."""
        return self.choice if self.given is not None else await choose_model_dialect(self.models[0])

    async def choose_first(self, earlier: RunStarted | HandedOver | None) -> Dialect:
        """Return the dialect in which the first model is asked; a continued run keeps its dialect.

        Args:
            earlier: The start of the run that is continued or resumed, or of the conversation that was handed over.
        """
        first = self.models[0]
        await ask_model_context(first)
        if self.given is not None:
            return self.given[0]
        if earlier is not None and earlier.model == first.name and earlier.dialect in DIALECTS:
            return find_dialect(earlier.dialect, first)
        return await _choose_dialect(first)

    def pair(self, first: Dialect, sampling: Sampling) -> tuple[AnsweringModel, ...]:
        """Return the models as a run asks them, the first one in the dialect that was chosen for it."""
        if len(self.models) == 1:
            return (AnsweringModel(self.models[0], first, sampling),)
        plain = replace(sampling, extra=None)  # fields that only one endpoint knows are for the first model alone
        others = zip(self.models[1:], self.dialects[1:], strict=True)
        return (
            AnsweringModel(self.models[0], first, sampling),
            *(AnsweringModel(model, dialect, plain, self._defer_choice(model, dialect)) for model, dialect in others),
        )

    def _defer_choice(self, model: Model, dialect: Dialect) -> Callable[[], Awaitable[Dialect]] | None:
        """Return the function that asks the server of a model about it; None if nothing need be asked."""
        is_guess = self.given is None and get_dialect_choice(model).is_guess
        if not is_guess and not must_ask_context(model):
            return None
        return partial(_ask_server, model, None if is_guess else dialect)


async def _ask_server(model: Model, dialect: Dialect | None) -> Dialect:
    """Ask the server of a model for its context, and for the dialect if that is not known. Return the dialect."""
    await ask_model_context(model)
    return await _choose_dialect(model) if dialect is None else dialect


async def _choose_dialect(model: Model) -> Dialect:
    """Return the dialect of a model, after asking its server if the dialect would be a guess, and log the choice."""
    choice = await choose_model_dialect(model)
    cure = f"; {GUESS_CURE}" if choice.is_guess else ""
    LOG.info("%s: %s dialect, %s%s", model.name, choice.name, choice.reason, cure)
    return find_dialect(choice.name, model)
