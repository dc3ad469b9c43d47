"""The state of a run: everything that `decide` may look at, folded from the facts.

`fold` changes a state and its turn in place. All that they hold is replaced and never changed, but for two dicts: the
calls of a turn, and the counts of repetitions. So a copy of a state is a copy of its fields and of these dicts.
"""

import dataclasses
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Literal, NamedTuple, TypeAlias

from toolspeak.loop.compaction import show_history
from toolspeak.loop.provenance import Exposure, InnerRun, Sources
from toolspeak.loop.recall import RECALL, RECALL_PARTS
from toolspeak.values.events import (
    AUTO,
    Compacted,
    Doubt,
    FinishReason,
    Guided,
    HandedOver,
    Interrupted,
    RunEnded,
    RunStarted,
    ToolChoice,
    Usage,
    WaitOver,
)
from toolspeak.values.limits import Limits
from toolspeak.values.messages import AllowedValue, Message, ToolCall, ToolResult, holds_foreign
from toolspeak.values.origin import Origin
from toolspeak.values.spec import ToolSpec, list_foreign_texts

Stage: TypeAlias = Literal["waiting", "awaiting_approval", "approved", "running", "suspended", "done"]


class CallKey(NamedTuple):
    """What two calls have in common if they are the same call: the tool, and the arguments as text."""

    tool: str
    arguments: str


class CallState(NamedTuple):
    """A call of the current turn, and how far it has come.

    Attributes:
        id: The id of the call.
        key: Equal for two calls of the same tool with the same arguments.
        call: The call; None if the model wrote something that cannot be understood as one.
        depends_on: Ids of the calls whose results the arguments refer to.
        stage: How far the call has come.
        result: The result, once there is one.
        shown_text: The result as the model will see it.
        is_quoted: Whether the call is a quotation, so that it needs an approval whatever its tool is.
        in_doubt: Whether the call was cut off once, so that it must be found out first if it has taken effect.
        waits: The waits of its function that are over. When the function is called again, they return at once.
        is_part: Whether `shown_text` is only a part of the result.
        doubts: The values about which somebody was asked, since nobody explains them who may.
        allowed: The values that somebody has allowed for the rest of the conversation.
        inner: What is known of the runs that the call makes.
    """

    id: str
    key: CallKey
    call: ToolCall | None
    depends_on: tuple[str, ...] = ()
    stage: Stage = "waiting"
    result: ToolResult | None = None
    shown_text: str = ""
    is_quoted: bool = False
    in_doubt: bool = False
    waits: tuple[WaitOver, ...] = ()
    is_part: bool = False
    doubts: tuple[Doubt, ...] = ()
    allowed: tuple[AllowedValue, ...] = ()
    inner: InnerRun | None = None

    def move_to(self, stage: Stage) -> "CallState":
        """Return the call when it has come to another stage."""
        return CallState(*self[:4], stage, *self[5:])

    def end(self, result: ToolResult, shown_text: str, *, is_part: bool = False) -> "CallState":
        """Return the call with its result."""
        more = self.is_quoted, False, (), is_part
        return CallState(*self[:4], "done", result, shown_text, *more, *self[11:])


@dataclass(slots=True)
class Turn:
    """The latest message of the model, and its calls.

    Attributes:
        number: The number of the turn, from 1; 0 before the first.
        is_open: Whether the message is still arriving.
        history_start: The length of the history when the turn began.
        calls: The calls of the message by id, in order.
        running_ids: Ids of the calls that run now.
        abandoned_ids: Ids of calls that still run although their message broke off, or their text was only reasoning.
        finish: How the message ended.
        exceeds_call_limit: Whether the message has more calls than the run may still make.
        in_text: Whether calls are written in the text of the message; None stands for what `RunStarted` says.
        context: The context of the model, where it has a limit of its own.
        thought_calls: The calls in the reasoning of the message, if it has no other.
        exposure: What the model was shown before it wrote the message that neither the user nor the program wrote.
        doubts: The values of its calls that nobody explains who may, by the id of the call; a memo of `find_doubts`.
    """

    number: int = 0
    is_open: bool = False
    history_start: int = 0
    calls: dict[str, CallState] = field(default_factory=dict[str, CallState])
    running_ids: tuple[str, ...] = ()
    abandoned_ids: tuple[str, ...] = ()
    finish: FinishReason = "stop"
    exceeds_call_limit: bool = False
    in_text: bool | None = None
    context: int | None = None
    thought_calls: tuple[ToolCall, ...] = ()
    exposure: Exposure = Exposure.NONE
    doubts: dict[str, tuple[Doubt, ...]] = field(default_factory=dict[str, tuple[Doubt, ...]], compare=False)


@dataclass(slots=True)
class State:
    """A run so far.

    Attributes:
        specs: The tools by name.
        run: The fact that started the run, with its options.
        history: The conversation; it can be sent to a model at any time.
        turn: The latest message of the model.
        model_is_next: Whether the next step is to ask the model.
        demand: The choice of tools for the next message, with the calls that the model must still make.
        unmet_demands: Answers in a row that lacked a demanded call.
        empty_messages: Messages in a row that had neither text nor a call.
        failed_turns: Turns in a row whose calls could not be run, not one of them.
        repeat_counts: How often each call had the same result, by call and shown result.
        repeat_count: The highest of these counts among the calls of the latest turn.
        started_calls: How many calls were started.
        finished_calls: The calls of all finished turns.
        usage: The tokens that were used, those of inner runs included.
        cost: What they cost, in US dollars; None if the price of a turn is unknown.
        reusable_results: Results of a message that broke off, for the same calls when the model repeats them.
        interruption: What stopped the run from outside.
        ended: The end of the run.
        successor: The agent that goes on with the conversation after this turn.
        speaker: The agent that speaks now; None for the one that began the run.
        compacted: What the model is still shown of the history; None if it is shown the whole.
        earlier_specs: The tools of agents that have handed over. Their descriptions were shown in this conversation.
        may_be_lost: Whether anything was in vain twice: a call with its result, the calls of a message, or a demand.
        guidance: How the model was helped on its way last.
        guided_turn: The number of the turn after which that was; the next turn is the one that is guided.
        asked_for_words: Whether the model was asked for an answer without calls, since it was lost.
        told_of_thought: Whether the model was told that calls in its reasoning are not made.
        base_model: The name of the model that was asked last, but for those that were asked since it was lost.
        exposure: What the first `exposure_end` messages show that neither the user nor the program wrote.
        background: The messages of the run around this one. What explains values there, explains them here.
        sources: The texts of the conversation, by what they explain, once a value had to be explained; a memo.
    """

    specs: Mapping[str, ToolSpec]
    run: RunStarted | None = None
    history: tuple[Message, ...] = ()
    turn: Turn = field(default_factory=Turn)
    model_is_next: bool = False
    demand: ToolChoice = AUTO
    unmet_demands: int = 0
    empty_messages: int = 0
    failed_turns: int = 0
    repeat_counts: dict[tuple[CallKey, str], int] = field(default_factory=dict[tuple[CallKey, str], int])
    repeat_count: int = 0
    started_calls: int = 0
    finished_calls: tuple[CallState, ...] = ()
    usage: Usage = Usage()  # noqa: RUF009 (it does not change)
    cost: float | None = 0.0
    reusable_results: Mapping[CallKey, ToolResult] = field(default_factory=dict[CallKey, ToolResult])
    interruption: Interrupted | None = None
    ended: RunEnded | None = None
    successor: HandedOver | None = None
    speaker: HandedOver | None = None
    compacted: Compacted | None = None
    earlier_specs: tuple[ToolSpec, ...] = ()
    may_be_lost: bool = False
    guidance: Guided | None = None
    guided_turn: int = -1
    asked_for_words: bool = False
    told_of_thought: bool = False
    base_model: str = ""
    exposure: Exposure = field(default=Exposure.NONE, compare=False)
    exposure_end: int = field(default=0, compare=False)
    background: tuple[Message, ...] = ()
    sources: Sources | None = field(default=None, compare=False)

    @property
    def run_id(self) -> str:
        """The id of the run; "" before it has started."""
        return "" if self.run is None else self.run.run_id

    @property
    def shown_history(self) -> tuple[Message, ...]:
        """The conversation as the model is shown it."""
        return show_history(self.history, self.compacted, has_recall=self.has_recall)

    @property
    def next_guidance(self) -> Guided | None:
        """How the model was helped on its way after its latest message; None if it was not."""
        return self.guidance if self.guided_turn == self.turn.number else None

    def withholds(self, tool: str) -> bool:
        """Whether calls of a tool are not run in the message that is arriving, or that has arrived last."""
        guidance = self.guidance
        if guidance is None or self.guided_turn + 1 != self.turn.number:
            return False
        if guidance.step == "words":
            return self.run is None or tool != self.run.output
        return guidance.step == "withheld" and tool in guidance.tools

    @property
    def has_recall(self) -> bool:
        """Whether the model is offered the tool that returns what it is no longer shown of the conversation."""
        return self.specs.get(RECALL.name) in (RECALL, RECALL_PARTS)

    @property
    def searched_specs(self) -> list[ToolSpec]:
        """The tools that a model may be shown or find, in the order in which they are ranked."""
        own = () if self.run is None else self.run.search_tools
        return [spec for spec in self.specs.values() if spec.name not in own]

    @property
    def all_specs(self) -> tuple[ToolSpec, ...]:
        """All tools whose descriptions were shown in this conversation."""
        return (*self.specs.values(), *self.earlier_specs)

    @property
    def results(self) -> dict[str, ToolResult]:
        """The results of this turn by the id of their call; other calls of the turn may refer to them."""
        return {each.id: each.result for each in self.turn.calls.values() if each.result is not None}

    def copy(self) -> "State":
        """Return a copy. Later changes of this state do not change it."""
        copied = State(*_get_state_fields(self))
        copied.turn = turn = Turn(*_get_turn_fields(self.turn))
        turn.calls, copied.repeat_counts = turn.calls.copy(), self.repeat_counts.copy()
        return copied


_get_turn_fields = attrgetter(*(each.name for each in dataclasses.fields(Turn)))
_get_state_fields = attrgetter(*(each.name for each in dataclasses.fields(State)))


def replace_limits(state: State, limits: Limits) -> None:
    """Set the limits of a run that is resumed with other ones. If it ended at a limit, `decide` looks again."""
    if state.run is not None:
        state.run = dataclasses.replace(state.run, limits=limits)
    if state.ended is not None and state.ended.reason in ("limit", "loop") and state.interruption is None:
        state.ended, state.model_is_next = None, True
        state.turn.exceeds_call_limit = False


def has_open_call(turn: Turn) -> bool:
    """Whether a call of a turn has no result."""
    for each in turn.calls.values():  # noqa: SIM110 (asked after every fact: a generator would cost more)
        if each.result is None:
            return True
    return False


def find_words_origin(messages: Iterable[Message], specs: Iterable[ToolSpec]) -> Origin:
    """Return the origin of what a model wrote that was shown these messages and tools, for other models."""
    is_influenced = any(map(holds_foreign, messages)) or any(map(list_foreign_texts, specs))
    return Origin.INFLUENCED_MODEL if is_influenced else Origin.MODEL


def initial_state(specs: Iterable[ToolSpec], background: tuple[Message, ...] = ()) -> State:
    """Return the state before the first fact, with the tools of the program that runs or resumes the run.

    `background` are the messages of the run around it.
    """
    return State(specs={spec.name: spec for spec in specs}, background=background)


def make_key(call: ToolCall) -> CallKey:
    """Return the key by which this call is compared with others."""
    try:
        return CallKey(call.name, json.dumps(call.arguments, sort_keys=True, default=repr))
    except (TypeError, ValueError, RecursionError):  # nested beyond all reason, so like no other
        return CallKey(call.name, call.id)
