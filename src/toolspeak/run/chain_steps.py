"""The steps of a chain, their results, and the outcome of a chain."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Literal, TypeAlias

from toolspeak._frozen import frozen
from toolspeak.dialects import Dialect
from toolspeak.events import StopReason, Usage
from toolspeak.messages import Message
from toolspeak.models import Sampling
from toolspeak.outcome import CallRecord, Outcome
from toolspeak.run.approvals import Approver
from toolspeak.run.inputs import Choice
from toolspeak.run.model_lookup import Models


class Previous:
    """The result of the step before, or a part of it: `previous`, `previous["temp"]`, `previous["days"][0]`."""

    def __init__(self, *path: str | int) -> None:
        self.path = path

    def __getitem__(self, step: str | int) -> "Previous":
        return Previous(*self.path, step)

    def __iter__(self) -> Iterator[Any]:  # else Python would try previous[0], previous[1], … for ever
        raise TypeError("previous cannot be iterated over: its value is known when the chain runs")

    def __repr__(self) -> str:
        return "previous" + "".join(f"[{step!r}]" for step in self.path)


previous = Previous()


@frozen
class PromptStep:
    """A text, filled in from a template."""

    kind: ClassVar[Literal["prompt"]] = "prompt"
    template: str


@frozen
class LlmStep:
    """A model answers, and may call tools before it does."""

    kind: ClassVar[Literal["llm"]] = "llm"
    model: Models = None
    tool_choice: Choice = "auto"
    dialect: str | Dialect = "auto"
    parallel_tool_calls: bool = True
    output: Any = None
    approve: Approver | None = None
    sampling: Sampling = Sampling()
    react: bool = False


@frozen
class ToolStep:
    """The chain itself calls a tool."""

    kind: ClassVar[Literal["tool"]] = "tool"
    name: str
    arguments: Mapping[str, Any]


@frozen
class TransformStep:
    """A function of the user's is called with the result of the step before."""

    kind: ClassVar[Literal["transform"]] = "transform"
    function: Callable[[Any], Any]


Step: TypeAlias = PromptStep | LlmStep | ToolStep | TransformStep


@frozen
class StepResult:
    """The result of one step. The step of a model also has the outcome of its run."""

    step: Step
    value: Any
    outcome: Outcome[Any] | None = None


@frozen
class ChainOutcome:
    """The result of a chain.

    Attributes:
        output: The result of the last step.
        text: The output as text.
        steps: The result of each step.
        stop_reason: `answered`, or why a model stopped early; the steps after that model were not taken.
        detail: The stop reason in words, where there is more to say.
    """

    output: Any
    text: str
    steps: tuple[StepResult, ...]
    stop_reason: StopReason = "answered"
    detail: str = ""

    @property
    def calls(self) -> tuple[CallRecord, ...]:
        """The calls that models made."""
        return tuple(call for outcome in self._outcomes for call in outcome.calls)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation of the last step of a model."""
        return self._outcomes[-1].messages if self._outcomes else ()

    @property
    def usage(self) -> Usage:
        """Tokens of all steps."""
        return sum((outcome.usage for outcome in self._outcomes), Usage())

    @property
    def cost(self) -> float | None:
        """What all steps cost, in US dollars; None if the price of one of them is unknown."""
        costs = [outcome.cost for outcome in self._outcomes]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if len(known) == len(costs) else None

    @property
    def _outcomes(self) -> tuple[Outcome[Any], ...]:
        return tuple(result.outcome for result in self.steps if result.outcome is not None)
