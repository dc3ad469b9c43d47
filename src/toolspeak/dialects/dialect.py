"""The contract of a dialect: how tools are shown to a model, and how the calls in its answers are read.

An agent has the same tools and the same loop in every dialect. Two rules keep the caches of servers warm:

- Each message of the history is rendered on its own. What is shown for a shorter history is the beginning of what is
  shown for a longer one.
- What changes from turn to turn (which tools must be called, how many) stands at the end of the last message, never in
  the system prompt.
"""

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Protocol

from toolspeak.values.events import AUTO, Event, FinishReason, ToolChoice
from toolspeak.values.frozen import frozen
from toolspeak.values.messages import Message
from toolspeak.values.spec import Schema, ToolSpec


@frozen
class Constraint:
    """A constraint on the answer, for servers that support one. The answer is parsed all the same.

    Attributes:
        json_schema: A schema of the whole answer, if the dialect writes calls as JSON.
        grammar: A grammar of the whole answer in GBNF, the notation of llama.cpp.
    """

    json_schema: Schema | None = None
    grammar: str | None = None


@frozen
class Shown:
    """What a model is shown in one turn.

    Attributes:
        messages: The conversation. In a text dialect it also describes the tools.
        tools: The tools for the API's own parameter; empty in a text dialect.
        choice: The tool choice for the API's own parameter.
        parallel: Whether the API may allow several calls in one answer.
        constraint: A constraint on the answer; None unless a call is forced.
        has_tools: Whether the model is shown tools, in the conversation or in the API's own parameter. If a
            dialect leaves it out, it counts as showing none, for example for the adapter of an embedded model.
        follows_results: Whether the conversation ends with results of calls, and not with errors alone.
        tool_count: How many tools the model is shown from the beginning.
        closer: Where tools were left out, a function by which a model can look closer at those that it calls. It takes
            the text of an answer, and returns the same conversation with only the tools that the answer calls, whole,
            so that the model answers once more. It returns None if the answer calls none. None where all are shown.
    """

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    choice: ToolChoice = AUTO
    parallel: bool = True
    constraint: Constraint | None = None
    has_tools: bool = False
    follows_results: bool = False
    tool_count: int = 0
    closer: "Callable[[str], Shown | None] | None" = field(default=None, repr=False, compare=False)


class Parser(Protocol):
    """Parses the text of one message as it arrives, without I/O and without a clock.

    However a text is cut into chunks, its events fold into the same content (`toolspeak.dialects.fold`).
    """

    def feed(self, text: str) -> list[Event]:
        """Parse new text, and return the new events."""
        ...

    def close(self, finish: FinishReason = "stop") -> list[Event]:
        """End the message, and return the last events."""
        ...


class Dialect(Protocol):
    r"""How tools are shown to a model, and how its calls are parsed.

    Any object with these four members is a dialect; pass it to an agent as `Agent(..., dialect=MyDialect())`. The
    parsers of the text dialects accept calls in every form that models are known to write, so your own dialect seldom
    needs more than its own prompt.

    Examples:
        A dialect that shows each tool on one line, and leaves the history and the parsing to the Python dialect:

        >>> from toolspeak.dialects import PYTHON, Shown
        >>> from toolspeak.values.events import AUTO
        >>> from toolspeak.values.messages import system, user
        >>> from toolspeak.values.spec import ToolSpec
        >>> class OneLine:
        ...     name = "one-line"
        ...     in_text = True
        ...
        ...     def render(self, specs, history, *, choice=AUTO, parallel=True):
        ...         tools = [f"{each.name}({', '.join(each.parameters['properties'])})" for each in specs]
        ...         text = "\n".join(["Call these functions in a python block:", *tools])
        ...         return Shown(messages=(system(text), *PYTHON.render([], history).messages))
        ...
        ...     def parser(self, specs, *, prefix="call"):
        ...         return PYTHON.parser(specs, prefix=prefix)
        >>> schema = {"properties": {"zone": {}}}
        >>> spec = ToolSpec(name="now", description="The time.", parameters=schema)
        >>> print(OneLine().render([spec], [user("What time is it?")]).messages[0].text)
        Call these functions in a python block:
        now(zone)
    """

    @property
    def name(self) -> str:
        """The name of the dialect. Runs record it, and messages keep their raw text under it."""
        ...

    @property
    def in_text(self) -> bool:
        """Whether tools and calls are written in the text of messages, not in fields of the API."""
        ...

    def render(
        self,
        specs: Sequence[ToolSpec],
        history: Sequence[Message],
        *,
        choice: ToolChoice = AUTO,
        parallel: bool = True,
    ) -> Shown:
        """Return what the model is shown.

        Args:
            specs: The tools on offer.
            history: The conversation so far, including the new user message.
            choice: Which tools may or must be called in this turn.
            parallel: Whether several calls are allowed in one answer.
        """
        ...

    def parser(self, specs: Sequence[ToolSpec], *, prefix: str = "call") -> Parser:
        """Return a parser for the text of one message.

        Args:
            specs: The tools on offer.
            prefix: The beginning of call ids. It differs from turn to turn, so that ids are unique.
        """
        ...
