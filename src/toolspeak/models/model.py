"""`Model`: what the rest of the package needs of a model. It is asked with a `Request`, and answers in pieces."""

import os
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol, runtime_checkable

from toolspeak._frozen import frozen
from toolspeak.dialects import NATIVE, Dialect, Shown
from toolspeak.dialects.native import NATIVE_WITHOUT_LEAKS
from toolspeak.errors import UsageError
from toolspeak.events import Usage
from toolspeak.messages import Media, Message
from toolspeak.models.sent_messages import SentMessages
from toolspeak.pieces import Piece


@frozen
class Sampling:
    """How the tokens of an answer are chosen. A setting that is None is left to the endpoint.

    Attributes:
        max_tokens: The most tokens of an answer.
        temperature: 0 gives the likeliest answer each time.
        top_p: The share of probability, from the likeliest token down, that tokens are sampled from.
        seed: Makes an answer repeatable, where the endpoint supports it.
        stop: Texts that end an answer.
        extra: Further fields of the request body, which only this endpoint knows.
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
        stream: Whether the answer is streamed while it is generated; a whole answer costs less to read.
        sampling: How the tokens of the answer are chosen.
        sent: The messages of the last request of the same run, as they were sent. None if there is no other request.
    """

    shown: Shown
    dialect: str = "native"
    stream: bool = True
    sampling: Sampling = Sampling()
    sent: SentMessages | None = field(default=None, repr=False, compare=False)


@runtime_checkable
class Model(Protocol):
    """A model that can be asked. `HttpModel` and `EmbeddedModel` are two; any class with these members is one.

    A model may also have an attribute `leaks_calls`. If it is False, the text of its answers is not searched for calls
    in the native dialect. Without the attribute the text is searched, since any server may be behind the model.

    And it may have a method `explain_unsupported(media)`, which is called with each attachment before a run. If the
    model cannot take the attachment, it returns the rest of a sentence that begins with the model's name, such as
    "takes no images"; otherwise None.

    And it may have an attribute `context_tokens`: the most tokens that a request and its answer may have together. A
    longer conversation is compacted, as with `Limits(context=…)`.

    And it may have a method `cost(usage)` that returns what these tokens cost, in US dollars, or None if the price is
    unknown.
    """

    @property
    def name(self) -> str:
        """Its name in outcomes, logs and errors."""
        ...

    @property
    def dialect(self) -> str:
        """The dialect in which it calls tools best."""
        ...

    def ask(self, request: Request) -> AsyncGenerator[Sequence[Piece]]:
        """Yield the pieces of an answer in batches, as they arrive. The last piece is the `Answer`.

        Closing the generator stops the answer and frees its connection. Raises `ModelError` when the endpoint fails.
        """
        ...


def find_model_cost(model: Model, usage: Usage) -> float | None:
    """Return what these tokens cost with a model, in US dollars; None if the price is unknown."""
    cost: Callable[[Usage], float | None] | None = getattr(model, "cost", None)
    return None if cost is None else cost(usage)


def check_attachments(model: Model, messages: Iterable[Message]) -> None:
    """Check that a model takes all attachments of the user, as far as it is known.

    Raises:
        UsageError: The model cannot take one of them.
    """
    explain: Callable[[Media], str | None] | None = getattr(model, "explain_unsupported", None)
    if explain is None:
        return
    attachments = (part for message in messages if message.role == "user" for part in message.parts)
    for media in attachments:
        if isinstance(media, Media) and (reason := explain(media)):
            raise UsageError(f"{model.name} {reason}")


def make_run_id(model: Model) -> str:
    """Return an id for a new run: a random one, unless the model makes ids of its own, as one with a seed does."""
    make: Callable[[], str | None] | None = getattr(model, "make_run_id", None)
    return (make() if make is not None else None) or os.urandom(8).hex()


def match_dialect(dialect: Dialect, model: Model) -> Dialect:
    """Return a dialect as it fits a model: the native one does not search the text of a model that leaks no calls."""
    return NATIVE_WITHOUT_LEAKS if dialect is NATIVE and not getattr(model, "leaks_calls", True) else dialect
