"""What a model is to the rest of the system: something that can be asked, and answers in pieces."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from toolspeak._frozen import frozen
from toolspeak.dialects import Shown
from toolspeak.pieces import Piece


@frozen
class Sampling:
    """How an answer is drawn. What is None is left to the endpoint.

    Attributes:
        max_tokens: The most tokens of an answer.
        temperature: 0 is the likeliest answer each time.
        top_p: The share of the likeliest tokens that is drawn from.
        seed: Makes an answer repeatable, where the endpoint honours it.
        stop: Texts that end an answer.
        extra: Fields of the request body that only this endpoint knows.
    """

    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    extra: Mapping[str, Any] | None = None


@frozen
class Request:
    """One question to a model.

    Attributes:
        shown: The conversation and the tools, as the dialect shows them.
        dialect: The dialect in which the answer is expected.
        stream: Whether the answer is wanted as it is made; a whole answer at once costs less.
        sampling: How the answer is drawn.
    """

    shown: Shown
    dialect: str = "native"
    stream: bool = True
    sampling: Sampling = Sampling()


@runtime_checkable
class Model(Protocol):
    """Something that answers. The library's own speak HTTP; a test brings its own."""

    @property
    def name(self) -> str:
        """What it is called in outcomes, logs and errors."""
        ...

    @property
    def dialect(self) -> str:
        """The dialect that is best for it."""
        ...

    def ask(self, request: Request) -> AsyncGenerator[Sequence[Piece]]:
        """Ask it: pieces in batches, as they arrive; the last one is the `Answer`.

        Closing the generator ends the answer and frees what it held. Raises `ModelError` when the endpoint fails.
        """
        ...
