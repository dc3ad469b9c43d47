"""The actions that `decide` can ask the driver to perform."""

from typing import ClassVar, Literal, TypeAlias

from toolspeak._frozen import frozen
from toolspeak.events import AUTO, StopReason, ToolChoice
from toolspeak.messages import ToolCall


@frozen
class AskModel:
    """Ask the model for its next message. The driver emits `TurnStarted` first."""

    kind: ClassVar[Literal["ask_model"]] = "ask_model"
    turn: int
    choice: ToolChoice = AUTO
    parallel: bool = True


@frozen
class StopStream:
    """Close the stream of the message. The driver emits `TurnEnded` with the parts that have arrived."""

    kind: ClassVar[Literal["stop_stream"]] = "stop_stream"


@frozen
class RunTools:
    """Run these calls, all at once. The driver emits `ToolStarted` for each first."""

    kind: ClassVar[Literal["run_tools"]] = "run_tools"
    calls: tuple[ToolCall, ...]


@frozen
class CancelTools:
    """Cancel these calls: nobody waits for them any more. Each still ends with `ToolFinished`."""

    kind: ClassVar[Literal["cancel_tools"]] = "cancel_tools"
    call_ids: tuple[str, ...]


@frozen
class AskApproval:
    """Ask somebody to approve these calls. The driver emits `ApprovalNeeded` for each first."""

    kind: ClassVar[Literal["ask_approval"]] = "ask_approval"
    calls: tuple[ToolCall, ...]


@frozen
class Finish:
    """End the run. The driver emits `RunEnded`."""

    kind: ClassVar[Literal["finish"]] = "finish"
    reason: StopReason
    detail: str = ""


Action: TypeAlias = AskModel | StopStream | RunTools | CancelTools | AskApproval | Finish
