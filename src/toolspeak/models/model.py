"""`Model`: what the rest of the package needs of a model. It is asked with a `Request`, and answers in pieces."""

import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol, runtime_checkable

from toolspeak.dialects import NATIVE, Dialect, Shown
from toolspeak.dialects.native import NATIVE_WITHOUT_LEAKS
from toolspeak.values.errors import UsageError
from toolspeak.values.events import Usage
from toolspeak.values.frozen import frozen
from toolspeak.values.messages import Media, Message
from toolspeak.values.pieces import Piece

GUESS_CURE = "name a dialect if you know a better one, or let toolspeak calibrate measure it"
"""What a user can do about a dialect that is a guess."""


class SentMessages:
    """The JSON of the messages in the last request of a run.

    A conversation only grows, and a request repeats all of it. So each message is written as JSON once. A message is
    recognized by its identity at the same place: messages never change, and those of the last request are kept here.
    """

    def __init__(self) -> None:
        self._write: Callable[[Message], str] | None = None
        self._messages: tuple[Message, ...] = ()
        self._texts: list[str] = []

    def write(self, messages: tuple[Message, ...], write: Callable[[Message], str]) -> list[str]:
        """Return the JSON of each message. What the last request had with the same `write` is not written again."""
        known = zip(self._messages, self._texts, strict=True) if write is self._write else ()
        texts = [text if old is new else write(new) for new, (old, text) in zip(messages, known, strict=False)]
        texts += map(write, messages[len(texts) :])
        self._write, self._messages, self._texts = write, messages, texts
        return texts


@frozen
class Sampling:
    """How the tokens of an answer are sampled. An option that is None is left to the endpoint.

    Attributes:
        max_tokens: The most tokens of an answer.
        temperature: The randomness; 0 always chooses the likeliest token.
        top_p: The share of probability, from the likeliest token down, that tokens are sampled from.
        seed: Makes an answer repeatable, where the endpoint supports it.
        stop: Texts that end an answer.
        extra: Further fields of the request body, specific to this endpoint.
    """

    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    extra: Mapping[str, Any] | None = None


@frozen
class Request:
    """A request to a model.

    Attributes:
        shown: The conversation and the tools, as the dialect shows them.
        dialect: The dialect in which the answer is expected.
        stream: Whether the answer is streamed; a whole answer takes less work to parse.
        sampling: How the tokens of the answer are sampled.
        sent: The messages of the last request of the same run, as they were sent. None if there is no other request.
    """

    shown: Shown
    dialect: str = "native"
    stream: bool = True
    sampling: Sampling = Sampling()
    sent: SentMessages | None = field(default=None, repr=False, compare=False)


@runtime_checkable
class Model(Protocol):
    """A model. `HttpModel` and `EmbeddedModel` are two; any class with these members is one.

    A model may have further members:

    - `leaks_calls`: If it is False, the text of answers is not searched for calls in the native dialect. Without it,
      the text is searched, since any server may be behind the model.
    - `explain_unsupported(media)`: Called with each attachment before a run. If the model cannot take the attachment,
      it returns the rest of a sentence that begins with the model's name, such as "takes no images"; otherwise None.
    - `context_tokens`: The most tokens that a request and its answer may have together. A longer conversation is
      compacted, as with `Limits(context=…)`.
    - `cost(usage)`: Returns the cost of these tokens in US dollars, or None if the price is unknown.
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


def reads_figures(model: Model) -> bool:
    """Whether a model was taught to read what is worked out from results (`toolspeak.dialects.figures`)."""
    return bool(getattr(model, "reads_figures", False))


def find_model_context(model: Model, sampling: Sampling | None = None) -> int | None:
    """Return the tokens of a request and its answer, as far as they are known. Nothing is sent.

    `HttpModel` knows them from its server, which `abilities.py` asks, or from fields of the request.
    """
    find: Callable[[Sampling], int | None] | None = getattr(model, "find_context", None)
    if sampling is not None and sampling.extra and find is not None:  # it may set the context
        return find(sampling)
    return getattr(model, "context_tokens", None)


def must_ask_context(model: Model) -> bool:
    """Whether the server of a model should be asked for the context before a run."""
    return bool(getattr(model, "asks_context", False))


async def ask_model_context(model: Model) -> None:
    """Ask the server of a model for its context, if it may cut a conversation without notice."""
    ask: Callable[[], Awaitable[int | None]] | None = getattr(model, "ask_context", None)
    if ask is not None and must_ask_context(model):
        await ask()


@frozen
class DialectChoice:
    """The dialect of a model, and why it was chosen.

    Attributes:
        name: The name of the dialect.
        reason: Why it was chosen, in words for the user.
        is_guess: Whether nothing is known about the model, so that the dialect is only the default. Then a server that
            lists the abilities of its models is asked.
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
    return choice or DialectChoice(name=model.dialect, reason="named by the model object")


async def choose_model_dialect(model: Model) -> DialectChoice:
    """Return the dialect of a model, after asking its server if the dialect would be a guess."""
    choose: Callable[[], Awaitable[DialectChoice]] | None = getattr(model, "choose_dialect", None)
    if choose is not None:
        return await choose()
    return DialectChoice(name=model.dialect, reason="named by the model object")
