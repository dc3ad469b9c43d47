"""The result of a run: its answer, its calls, its messages and its facts."""

from dataclasses import field
from typing import Generic, TypeGuard, TypeVar

from toolspeak.values.events import Compacted, Fact, Guided, NestedFact, StopReason, TurnEnded, TurnStarted, Usage
from toolspeak.values.frozen import ToolspeakError, frozen
from toolspeak.values.messages import Arguments, Json, Message, ToolCall, ToolResult

T_co = TypeVar("T_co", covariant=True)

MAX_LINE_CHARS = 100
"""Characters of a call in a printed outcome."""


@frozen
class CallRecord:
    """A call that the model made, and its result.

    Attributes:
        call: The call.
        result: Its result.
        exception: The exception of the function, with its traceback. It is not saved: a resumed run has only those of
            its own calls.
    """

    call: ToolCall
    result: ToolResult
    exception: BaseException | None = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        """The name of the tool."""
        return self.call.name

    @property
    def arguments(self) -> Arguments:
        """The arguments, with every reference to an earlier result replaced by its value."""
        return self.call.arguments

    @property
    def output(self) -> Json:
        """The return value of the function, as JSON."""
        return self.result.output

    @property
    def error(self) -> str | None:
        """Why the call failed, as the model was told; None if it succeeded."""
        return self.result.error


def is_tool_bug(error: BaseException | None) -> TypeGuard[Exception]:
    """Whether a function raised something that was not meant for the model, as a `ToolError` is."""
    return isinstance(error, Exception) and not isinstance(error, ToolspeakError)


@frozen
class ModelUse:
    """The messages of one model in a run, their tokens, and their cost (None if unknown)."""

    messages: int = 0
    usage: Usage = Usage()
    cost: float | None = 0.0


@frozen
class Outcome(Generic[T_co]):
    """The result of a run. `Outcome[Answer]` has an `Answer` as its output, `Outcome[None]` has none.

    Attributes:
        text: The answer: the text of the model's last message.
        calls: The calls that the model made, in order, with their results.
        messages: The whole conversation. It can always be sent again: `agent.run("…", messages=outcome.messages)`.
        facts: The facts of the run, from which it can be resumed.
        usage: Tokens of all turns.
        cost: The cost of all turns in US dollars; None if the price of one of them is unknown.
        stop_reason: Why the run ended: `answered`, or the reason why it stopped early.
        detail: Details of the stop reason.
        output: The typed answer; None if the run was started without `output`.
        agent: The name of the agent that answered, if the conversation was handed over to it; else "".
        run_id: The id of the run, also in log messages and `Context.run_id`.
        compacted: How `messages` were compacted, if they became too long for the model (`Limits.context`). Pass it to
            the next run with the messages: `agent.run("…", messages=…, compacted=outcome.compacted)`.
    """

    text: str
    calls: tuple[CallRecord, ...]
    messages: tuple[Message, ...]
    facts: tuple[Fact, ...]
    usage: Usage
    stop_reason: StopReason
    detail: str
    output: T_co
    cost: float | None = None
    agent: str = ""
    run_id: str = ""
    compacted: Compacted | None = None

    @property
    def errors(self) -> int:
        """How many calls failed because of a mistake in a tool (`is_tool_bug`), since the run was last resumed."""
        return sum(is_tool_bug(each.exception) for each in self.calls)

    @property
    def guidance(self) -> tuple[Guided, ...]:
        """The guidance that the model got when it was stuck, and for which messages another model was asked."""
        return tuple(fact for fact in self.facts if isinstance(fact, Guided))

    @property
    def models(self) -> dict[str, ModelUse]:
        """The messages (including summaries), tokens and cost of each model, by its name, also of inner runs."""
        names: dict[tuple[str, ...], str] = {}
        uses: dict[str, ModelUse] = {}
        for fact in self.facts:
            path, event = (fact.path, fact.event) if isinstance(fact, NestedFact) else ((), fact)
            if isinstance(event, TurnStarted):
                names[path] = event.model
            elif isinstance(event, TurnEnded | Compacted) and (name := names.get(path, "")):
                use, cost = uses.get(name, ModelUse()), event.cost
                total = None if use.cost is None or cost is None else use.cost + cost
                uses[name] = ModelUse(messages=use.messages + 1, usage=use.usage + event.usage, cost=total)
        return uses

    def __str__(self) -> str:
        """The answer, a line for each call, and a line about the run. `repr` has all of it."""
        calls = (f"{_shorten(_describe_call(each))}\n" for each in self.calls)
        stop = f"{self.stop_reason}: {self.detail}" if self.detail else self.stop_reason
        tokens = f"{self.usage.input_tokens} tokens read, {self.usage.output_tokens} written"
        return f"{self.text}\n{''.join(calls)}[{stop}; {tokens}]".lstrip("\n")


def _describe_call(record: CallRecord) -> str:
    arguments = ", ".join(f"{name}={value!r}" for name, value in record.arguments.items())
    result = repr(record.output) if record.error is None else record.error
    return f"{record.name}({arguments}) -> {result}"


def _shorten(line: str) -> str:
    line = " ".join(line.split())
    return line if len(line) <= MAX_LINE_CHARS else f"{line[: MAX_LINE_CHARS - 1]}…"
