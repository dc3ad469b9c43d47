"""What the function of a call may ask of the run that makes the call, and change in it.

`Driver` is such a run. Functions that act on their run (an agent as a tool, a hand-over, `recall`, a program) find it
in `CALLING_RUN`. They know it as `CallingRun`, so that the driver is loaded with the first run and not with them.
"""

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from toolspeak.dialects import Dialect
from toolspeak.execution import Executor
from toolspeak.execution.user_functions import ask_function
from toolspeak.loop import Exposure, State
from toolspeak.run.approvals import Approver
from toolspeak.run.barrier import CommitBarrier, Durability, ModelUnavailable
from toolspeak.run.fallback import ModelRotation
from toolspeak.run.inbox import DELTAS
from toolspeak.tools import Context, Toolbox
from toolspeak.values.events import (
    CallReady,
    Event,
    Fact,
    HandedOver,
    NestedDelta,
    NestedFact,
    ToolProgress,
    join_ids,
)
from toolspeak.values.limits import Limits
from toolspeak.values.messages import Message, ToolCall

if TYPE_CHECKING:
    from toolspeak.run.compaction import Compactor
    from toolspeak.telemetry.tracing import AnyTrace
    from toolspeak.turns import QuotationFinder

Number = TypeVar("Number", int, float)


@dataclass(slots=True)
class Speaker:
    """The agent that speaks in a run now. A driver is given the first one, and takes another one at a hand-over.

    Attributes:
        models: The model that answers, and those that are asked when it fails.
        executor: Runs the calls, and has the tools.
        compactor: Compacts the conversation when it becomes too long.
        approve: Asked about calls that need an approval; without it, the run pauses.
        streams: Whether messages are requested as streams.
        raises_tool_errors: Whether the run ends with what a function raises, instead of telling the model.
        quotations: What finds quoted calls, by the names of dialects.
    """

    models: ModelRotation
    executor: Executor
    compactor: "Compactor"
    approve: Approver | None
    streams: bool
    raises_tool_errors: bool = False
    quotations: dict[str, "QuotationFinder"] = field(default_factory=dict[str, "QuotationFinder"])

    @property
    def toolbox(self) -> Toolbox:
        return self.executor.toolbox

    @property
    def dialect(self) -> Dialect:
        """How the model that is asked now is shown the tools and writes its calls."""
        return self.models.current.dialect


class CallingRun(Protocol):
    """A run, as the functions of its calls know it; `Driver` says what its members are."""

    state: State
    facts: list[Fact]
    speaker: Speaker
    successors: dict[str, Speaker]
    barrier: CommitBarrier
    trace: "AnyTrace | None"

    @property
    def recalled_chars(self) -> int: ...
    def take_event(self, event: NestedDelta | NestedFact | ToolProgress) -> None: ...
    def pause_inside(self, call_id: str, calls: tuple[ToolCall, ...]) -> None: ...
    def put_down_inside(self, call_id: str, outage: ModelUnavailable) -> None: ...
    def end_with_fault(self, error: BaseException, detail: str) -> None: ...
    def hand_over(self, fact: HandedOver, speaker: Speaker) -> None: ...


CALLING_RUN: ContextVar[CallingRun | None] = ContextVar("toolspeak_calling_run", default=None)
"""The run whose call runs here."""


class OuterCall(NamedTuple):
    """The call that makes an inner run, and the run that made the call."""

    run: CallingRun
    call_id: str

    def publish(self, event: Event) -> None:
        """Make an event of the inner run one of the outer run."""
        path = (self.call_id, *event.path) if isinstance(event, NestedDelta | NestedFact) else (self.call_id,)
        own = event.event if isinstance(event, NestedDelta | NestedFact) else event
        if isinstance(own, DELTAS):
            self.run.take_event(NestedDelta(path=path, event=own))
        else:
            self.run.take_event(NestedFact(path=path, event=own))

    @property
    def durability(self) -> Durability | None:
        """What makes the inner run durable: its facts are facts of the outer run, which commits them."""
        barrier = self.run.barrier
        if not barrier.is_durable:
            return None

        async def commit(_: Sequence[Event]) -> None:
            await barrier.wait()

        return Durability(run_id="", commit=commit, confirm=barrier.confirm)

    @property
    def approve(self) -> Approver | None:
        """The outer run's way to ask about calls of the inner run, whose ids then begin with that of this call."""
        outer = self.run.speaker.approve
        if outer is None:
            return None

        async def approve(call: ToolCall, context: Context[Any]) -> bool | str:
            return await ask_function(outer, self.rename(call), context)

        return approve

    @property
    def is_exposed(self) -> bool:
        """Whether the model that made the call was shown a result that is declared as foreign."""
        return self.run.state.turn.exposure is Exposure.FOREIGN

    @property
    def background(self) -> tuple[Message, ...]:
        """The messages of the outer run before the call; they explain values in the inner run, too."""
        state = self.run.state
        return (*state.background, *state.history[: state.turn.history_start])

    def rename(self, call: ToolCall) -> ToolCall:
        """Return a call of the inner run with the id by which the outer run knows it."""
        return ToolCall(id=join_ids((self.call_id,), call.id), name=call.name, arguments=call.arguments)

    def restrict(self, limits: Limits) -> Limits:
        """Return the limits of the inner run: its own, within what the outer run has left."""
        state = self.run.state
        outer = state.run.limits if state.run is not None else limits
        used = state.usage.input_tokens + state.usage.output_tokens
        # Where it is unknown what was spent, nothing is left.
        cost = None if outer.cost is None else 0.0 if state.cost is None else max(outer.cost - state.cost, 0.0)
        return replace(
            limits,
            tokens=_lower(limits.tokens, None if outer.tokens is None else max(outer.tokens - used, 0)),
            cost=_lower(limits.cost, cost),
            depth=_lower(limits.depth, None if outer.depth is None else outer.depth - 1),
        )

    def collect_facts(self) -> list[Fact]:
        """Return the facts of the inner run, if the outer run was resumed while the call was under way."""
        facts: list[Fact] = []
        for fact in self.run.facts:
            if isinstance(fact, CallReady) and fact.call.id == self.call_id:
                facts.clear()  # an earlier message had a call of the same id, and was discarded
            elif isinstance(fact, NestedFact) and fact.path[0] == self.call_id:
                facts.append(fact.event if len(fact.path) == 1 else NestedFact(path=fact.path[1:], event=fact.event))
        return facts


def _lower(one: Number | None, other: Number | None) -> Number | None:
    return other if one is None else one if other is None else min(one, other)


def find_outer_call(context: Context[Any] | None, function: Callable[..., Any]) -> OuterCall | None:
    """Return the call that runs this function now, and its run; None if the function was called from Python."""
    run = CALLING_RUN.get()
    if context is None or run is None:
        return None
    turn, toolbox = run.state.turn, run.speaker.toolbox
    call = turn.calls.get(context.call_id)
    if call is None or call.id not in turn.running_ids or call.key.tool not in toolbox:
        return None
    return OuterCall(run, call.id) if toolbox[call.key.tool].function is function else None
