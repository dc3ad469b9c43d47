"""`DialectChoice`: the dialect in which a model is asked, and why it was chosen."""

from typing import Protocol, runtime_checkable

from toolspeak._frozen import frozen
from toolspeak.models.model import Model

GUESS_CURE = "name a dialect if you know a better one, or let toolspeak calibrate measure it"
"""What a user can do about a dialect that is a guess."""


@frozen
class DialectChoice:
    """The dialect in which a model is asked, and why it was chosen.

    Attributes:
        name: The name of the dialect.
        reason: Why it was chosen, in words for the user.
        is_guess: Whether nothing is known of the model, so that the dialect is only the default. A server that lists
            what its models can do is asked then.
    """

    name: str
    reason: str
    is_guess: bool = False


@runtime_checkable
class ExplainsDialect(Protocol):
    """A model that can say why it has its dialect, such as `HttpModel`."""

    @property
    def dialect_choice(self) -> DialectChoice:
        """The dialect as far as it is known, and why it was chosen. Nothing is sent."""
        ...

    async def choose_dialect(self) -> DialectChoice:
        """Return the dialect and why it was chosen, after asking the server if the dialect would be a guess."""
        ...


def get_dialect_choice(model: Model) -> DialectChoice:
    """Return the dialect of a model as far as it is known. Nothing is sent."""
    return model.dialect_choice if isinstance(model, ExplainsDialect) else _name_of_model(model)


async def choose_model_dialect(model: Model) -> DialectChoice:
    """Return the dialect of a model, after asking its server if the dialect would be a guess."""
    return await model.choose_dialect() if isinstance(model, ExplainsDialect) else _name_of_model(model)


def _name_of_model(model: Model) -> DialectChoice:
    return DialectChoice(name=model.dialect, reason="named by the model object")
