"""Where a run stands: everything that `decide` may look at, folded from the facts."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

from toolspeak.events import AUTO, FinishReason, Interrupted, RunEnded, RunStarted, ToolChoice, Usage
from toolspeak.messages import Message, ToolCall, ToolResult
from toolspeak.spec import ToolSpec

Stage: TypeAlias = Literal["waiting", "asked", "approved", "running", "done"]

Key: TypeAlias = tuple[str, str]
"""What makes two calls the same: the tool, and its arguments as text."""


class CallState(NamedTuple):
    """A call of the current turn, and how far it has come.

    Attributes:
        id: Its id.
        key: What makes it the same as another.
        call: The call; None if it could not be understood.
        needs: The calls that it refers to.
        stage: How far it has come.
        result: What came of it.
        shown: The same as the model will see it.
    """

    id: str
    key: Key
    call: ToolCall | None
    needs: tuple[str, ...] = ()
    stage: Stage = "waiting"
    result: ToolResult | None = None
    shown: str = ""


class Turn(NamedTuple):
    """The model's latest message.

    Attributes:
        number: Counted from 1; 0 before the first.
        open: Whether it is still being said.
        before: How long the history was when it began.
        calls: What it calls, in order.
        running: Those of them that run now.
        stray: Calls that run though nobody waits for them: they turned out to be reasoning.
        finish: How it ended.
        over: Whether it asked for more calls than the run may make.
    """

    number: int = 0
    open: bool = False
    before: int = 0
    calls: Mapping[str, CallState] = {}
    running: tuple[str, ...] = ()
    stray: tuple[str, ...] = ()
    finish: FinishReason = "stop"
    over: bool = False


class State(NamedTuple):
    """A run, so far.

    Attributes:
        specs: The tools.
        run: What the run was told.
        history: The conversation; it can be sent again at any time.
        turn: The model's latest message.
        asking: Whether it is the model's turn to speak.
        demand: What must still be called.
        nudges: Times in a row that a demanded call did not come.
        fumbles: Turns in a row that called and got nothing to run.
        seen: How often each call gave the same result.
        most: The most times that any call of the latest turn gave the same result.
        made: Calls that were started.
        done: Calls of all turns that are over.
        usage: Tokens.
        kept: Results of a turn that must be said again, for the same calls when they come.
        halted: What stopped the run from outside.
        ended: The end.
    """

    specs: Mapping[str, ToolSpec]
    run: RunStarted | None = None
    history: tuple[Message, ...] = ()
    turn: Turn = Turn()
    asking: bool = False
    demand: ToolChoice = AUTO
    nudges: int = 0
    fumbles: int = 0
    seen: Mapping[tuple[Key, str], int] = {}
    most: int = 0
    made: int = 0
    done: tuple[CallState, ...] = ()
    usage: Usage = Usage()
    kept: Mapping[Key, ToolResult] = {}
    halted: Interrupted | None = None
    ended: RunEnded | None = None

    @property
    def results(self) -> dict[str, ToolResult]:
        """What calls of this turn may refer to."""
        return {spoken.id: spoken.result for spoken in self.turn.calls.values() if spoken.result is not None}


R = TypeVar("R", CallState, Turn, State)

PLACES = {kind: {name: place for place, name in enumerate(kind._fields)} for kind in (CallState, Turn, State)}


def replace(record: R, **changes: Any) -> R:
    """The same record, but for these fields: what `_replace` does, at half its price."""
    kind = type(record)
    places, values = PLACES[kind], list(record)
    for name, value in changes.items():
        values[places[name]] = value
    return tuple.__new__(kind, values)  # pyright: ignore[reportUnknownMemberType] (any values)


def begin(specs: Iterable[ToolSpec]) -> State:
    """The state before the first fact. The tools are no facts: who resumes a run brings them again."""
    return State(specs={spec.name: spec for spec in specs})


def key_of(call: ToolCall) -> Key:
    """What makes this call the same as another."""
    try:
        return call.name, repr(sorted(call.arguments.items()))
    except (TypeError, ValueError, RecursionError):  # nested beyond all reason, so like no other
        return call.name, call.id
