"""All that the loop can want from the world."""

from typing import ClassVar, Literal, TypeAlias

from toolspeak._frozen import frozen
from toolspeak.events import AUTO, StopReason, ToolChoice
from toolspeak.messages import ToolCall


@frozen
class AskModel:
    """Ask the model for its next message. The driver says `TurnStarted` first."""

    kind: ClassVar[Literal["ask_model"]] = "ask_model"
    turn: int
    choice: ToolChoice = AUTO
    parallel: bool = True


@frozen
class StopStream:
    """Enough was heard: close the stream, and say `TurnEnded` with what there is."""

    kind: ClassVar[Literal["stop_stream"]] = "stop_stream"


@frozen
class RunTools:
    """Run these calls, all at once. The driver says `ToolStarted` for each first."""

    kind: ClassVar[Literal["run_tools"]] = "run_tools"
    calls: tuple[ToolCall, ...]


@frozen
class CancelTools:
    """Nobody waits for these any more; each still ends with `ToolFinished`."""

    kind: ClassVar[Literal["cancel_tools"]] = "cancel_tools"
    call_ids: tuple[str, ...]


@frozen
class AskApproval:
    """Somebody must agree to these calls. The driver says `ApprovalNeeded` for each first."""

    kind: ClassVar[Literal["ask_approval"]] = "ask_approval"
    calls: tuple[ToolCall, ...]


@frozen
class Finish:
    """The run is over. The driver says `RunEnded`."""

    kind: ClassVar[Literal["finish"]] = "finish"
    reason: StopReason
    detail: str = ""


Action: TypeAlias = AskModel | StopStream | RunTools | CancelTools | AskApproval | Finish
