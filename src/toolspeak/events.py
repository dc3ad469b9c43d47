"""What happens: one vocabulary from the parser through the loop to every surface.

Events are a closed union of two sorts. **Deltas** are for eyes only: never folded, logged or kept. **Facts** are the
run: the loop is a fold over them, and a run is resumed from them. A thing that is started (`TurnStarted`,
`ToolStarted`) is a fact before it is launched.
"""

from typing import ClassVar, Literal, TypeAlias

from toolspeak._frozen import frozen
from toolspeak.messages import Message, ToolCall, ToolResult
from toolspeak.spec import ToolSpec

FinishReason: TypeAlias = Literal["stop", "tool_calls", "length", "refused", "closed", "error"]
"""How a message ended. `closed`: we closed the stream ourselves, having heard enough; it counts as ended well."""

ENDED_WELL: frozenset[FinishReason] = frozenset({"stop", "tool_calls", "closed"})
"""Ways in which a message ends well."""

Repair: TypeAlias = Literal["none", "syntax", "quotes", "closers", "shape"]
"""How much of a call had to be mended, from nothing to a reading of its shape."""

StopReason: TypeAlias = Literal["answered", "length", "refused", "limit", "loop", "cancelled", "error"]


@frozen
class Usage:
    """Tokens of a turn or of a run. `estimated` marks figures that the endpoint did not give."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    estimated: bool = False

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            estimated=self.estimated or other.estimated,
        )


@frozen
class Limits:
    """Where a run stops by itself. `None` is no limit.

    Attributes:
        turns: Answers of the model.
        calls: Calls that are run.
        tokens: Tokens that the endpoint counted, in and out.
        seconds: Time from the start.
        repeats: How often the same call may give the same result before the model is told; the next time ends the run.
        concurrent: Calls that run at the same time; the others wait for their turn.
    """

    turns: int | None = 10
    calls: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    repeats: int | None = 3
    concurrent: int = 8


@frozen
class ToolChoice:
    """Which tools may or must be called. With `named`, all of `names` must be."""

    mode: Literal["auto", "none", "required", "named"] = "auto"
    names: tuple[str, ...] = ()


AUTO = ToolChoice()
"""The model decides."""


# Deltas


@frozen
class TextDelta:
    kind: ClassVar[Literal["text_delta"]] = "text_delta"
    text: str


@frozen
class ThinkingDelta:
    kind: ClassVar[Literal["thinking_delta"]] = "thinking_delta"
    text: str


@frozen
class ArgsDelta:
    """A piece of the canonical JSON of a call's arguments; joined, the pieces are the arguments of its `CallReady`."""

    kind: ClassVar[Literal["args_delta"]] = "args_delta"
    call_id: str
    text: str


# Facts: the run


@frozen
class RunStarted:
    """The run begins with these messages and options.

    Attributes:
        output: The name of the tool that gives the answer, where the answer has a type.
        in_text: Whether calls are written in the text of messages, so that a stream can be closed after one.
        tools: The specs of the tools that the model was offered, so that a saved run can be shown without its program.
            A run that is resumed uses the tools of the program that resumes it.
    """

    kind: ClassVar[Literal["run_started"]] = "run_started"
    run_id: str
    model: str
    dialect: str
    messages: tuple[Message, ...]
    choice: ToolChoice = AUTO
    parallel: bool = True
    limits: Limits = Limits()
    output: str | None = None
    in_text: bool = False
    tools: tuple[ToolSpec, ...] = ()


@frozen
class RunResumed:
    """The facts so far were read back, by a process that knows nothing else of the run."""

    kind: ClassVar[Literal["run_resumed"]] = "run_resumed"


@frozen
class Interrupted:
    """What the loop cannot see by itself: a cancellation, a deadline, a dead endpoint."""

    kind: ClassVar[Literal["interrupted"]] = "interrupted"
    cause: Literal["cancelled", "deadline", "endpoint"]
    detail: str = ""


@frozen
class RunEnded:
    kind: ClassVar[Literal["run_ended"]] = "run_ended"
    reason: StopReason
    detail: str = ""


# Facts: a turn of the model


@frozen
class TurnStarted:
    kind: ClassVar[Literal["turn_started"]] = "turn_started"
    turn: int


@frozen
class CallStarted:
    """The name of a call is known; its arguments are still being said."""

    kind: ClassVar[Literal["call_started"]] = "call_started"
    call_id: str
    name: str


@frozen
class CallReady:
    """A call is complete."""

    kind: ClassVar[Literal["call_ready"]] = "call_ready"
    call: ToolCall
    repair: Repair = "none"


@frozen
class CallMalformed:
    """Something was meant as a call and cannot be one. It gets a result like any call: bad grammar is data."""

    kind: ClassVar[Literal["call_malformed"]] = "call_malformed"
    call_id: str
    name: str | None
    raw: str
    reason: str
    hint: str = ""


@frozen
class SaidInThought:
    """All text and calls of this turn so far turned out to be reasoning."""

    kind: ClassVar[Literal["said_in_thought"]] = "said_in_thought"


@frozen
class TurnEnded:
    kind: ClassVar[Literal["turn_ended"]] = "turn_ended"
    message: Message
    finish: FinishReason
    usage: Usage = Usage()


# Facts: tools


@frozen
class ApprovalNeeded:
    kind: ClassVar[Literal["approval_needed"]] = "approval_needed"
    call: ToolCall


@frozen
class ApprovalGiven:
    kind: ClassVar[Literal["approval_given"]] = "approval_given"
    call_id: str
    approved: bool
    reason: str = ""


@frozen
class ToolStarted:
    kind: ClassVar[Literal["tool_started"]] = "tool_started"
    call_id: str


@frozen
class ToolFinished:
    kind: ClassVar[Literal["tool_finished"]] = "tool_finished"
    result: ToolResult


Delta: TypeAlias = TextDelta | ThinkingDelta | ArgsDelta

Fact: TypeAlias = (
    RunStarted
    | RunResumed
    | TurnStarted
    | CallStarted
    | CallReady
    | CallMalformed
    | SaidInThought
    | TurnEnded
    | ApprovalNeeded
    | ApprovalGiven
    | ToolStarted
    | ToolFinished
    | Interrupted
    | RunEnded
)

Event: TypeAlias = Delta | Fact
