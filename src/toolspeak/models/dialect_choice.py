"""`DialectChoice`: the dialect in which a model is asked, and why it was chosen."""

from collections.abc import Awaitable, Callable

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


def get_dialect_choice(model: Model) -> DialectChoice:
    """Return the dialect of a model as far as it is known. Nothing is sent.

    A model that can say why it has its dialect, such as `HttpModel`, has the attribute `dialect_choice` and the
    coroutine function `choose_dialect`.
    """
    choice: DialectChoice | None = getattr(model, "dialect_choice", None)
    return _name_of_model(model) if choice is None else choice


async def choose_model_dialect(model: Model) -> DialectChoice:
    """Return the dialect of a model, after asking its server if the dialect would be a guess."""
    choose: Callable[[], Awaitable[DialectChoice]] | None = getattr(model, "choose_dialect", None)
    return _name_of_model(model) if choose is None else await choose()


def _name_of_model(model: Model) -> DialectChoice:
    return DialectChoice(name=model.dialect, reason="named by the model object")
