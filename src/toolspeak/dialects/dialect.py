"""A dialect: how tools are shown to a model, how calls are spoken, and how both stand in history.

The same tools and the same loop, one object to choose. `render` makes what the model is shown; `parser` reads what it
answers. Each message of history is rendered on its own, so what is shown for a shorter history is the beginning of what
is shown for a longer one; what changes from turn to turn (which tools must be called, how many) is said at the end of
the last message and never in the system prompt. Caches stay warm that way.
"""

from collections.abc import Sequence
from typing import Protocol

from toolspeak._frozen import frozen
from toolspeak.events import AUTO, Event, FinishReason, ToolChoice
from toolspeak.messages import Message
from toolspeak.spec import Schema, ToolSpec


@frozen
class Constraint:
    """What a server may hold the answer to, if it honours such a thing. Answers are checked all the same.

    Attributes:
        json_schema: The whole answer as JSON, where the dialect is JSON.
        grammar: The whole answer in GBNF, as llama.cpp reads it.
    """

    json_schema: Schema | None = None
    grammar: str | None = None


@frozen
class Shown:
    """What the model is shown.

    Attributes:
        messages: The conversation, with the tools told in it if the dialect does that.
        tools: The tools to hand to the API's own parameter; empty if they are told in the messages.
        choice: The choice to hand to the API, with the tools.
        parallel: Whether the API may allow several calls at once.
        constraint: What the answer can be held to; None unless a call is forced.
    """

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    choice: ToolChoice = AUTO
    parallel: bool = True
    constraint: Constraint | None = None


class Parser(Protocol):
    """Reads one message as it arrives. No I/O, no clock; any chunking of a text gives the same events, folded."""

    def feed(self, text: str) -> list[Event]:
        """Read text that has arrived; what is known now and was not before."""
        ...

    def close(self, finish: FinishReason = "stop") -> list[Event]:
        """The message has ended; all that is left to tell."""
        ...


class Dialect(Protocol):
    """How tools and calls are spoken to a model."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def in_text(self) -> bool:
        """Whether tools are shown and calls are written in the text of messages, not in fields of the API."""
        ...

    def render(
        self,
        specs: Sequence[ToolSpec],
        history: Sequence[Message],
        *,
        choice: ToolChoice = AUTO,
        parallel: bool = True,
    ) -> Shown:
        """What the model is shown."""
        ...

    def parser(
        self, specs: Sequence[ToolSpec], *, strict: bool = False, thinking: bool = False, prefix: str = "call"
    ) -> Parser:
        """A parser for one message. `thinking`: it begins inside reasoning that the prompt opened."""
        ...
