"""The context of a model: the most tokens that a request and its answer may have together.

A model says it in an attribute (`Model` documents it). `HttpModel` knows it from its server, which `abilities.py` asks.
"""

from typing import Protocol, cast, runtime_checkable

from toolspeak.models.model import Model, Sampling


@runtime_checkable
class AsksContext(Protocol):
    """A model that can ask its server for the context, such as `HttpModel`."""

    @property
    def asks_context(self) -> bool:
        """Whether the server should be asked before a run, because it may cut a conversation without notice."""
        ...

    async def ask_context(self) -> int | None:
        """Return the tokens of a request and its answer, after asking the server once; None if it does not say."""
        ...

    def find_context(self, sampling: Sampling | None = None) -> int | None:
        """Return the tokens of a request and its answer with this sampling, as far as they are known."""
        ...


def find_model_context(model: Model, sampling: Sampling | None = None) -> int | None:
    """Return the tokens of a request and its answer, as far as they are known. Nothing is sent."""
    if sampling is not None and sampling.extra and isinstance(model, AsksContext):  # it may set the context
        return model.find_context(sampling)
    return getattr(model, "context_tokens", None)


def must_ask_context(model: Model) -> bool:
    """Whether the server of a model should be asked for the context before a run."""
    return bool(getattr(model, "asks_context", False))


async def ask_model_context(model: Model) -> None:
    """Ask the server of a model for its context, if it may cut a conversation without notice."""
    if must_ask_context(model):
        await cast("AsksContext", model).ask_context()
