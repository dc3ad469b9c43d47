"""All that the loop can want from the world."""

from typing import ClassVar, TypeAlias

from toolspeak._noun import noun
from toolspeak.events import AUTO, StopReason, ToolChoice
from toolspeak.messages import ToolCall


@noun
class AskModel:
    """Ask the model for its next message. The driver says `TurnStarted` first."""

    kind: ClassVar = "ask_model"
    turn: int
    choice: ToolChoice = AUTO
    parallel: bool = True


@noun
class StopStream:
    """Enough was heard: close the stream, and say `TurnEnded` with what there is."""

    kind: ClassVar = "stop_stream"


@noun
class RunTools:
    """Run these calls, all at once. The driver says `ToolStarted` for each first."""

    kind: ClassVar = "run_tools"
    calls: tuple[ToolCall, ...]


@noun
class CancelTools:
    """Nobody waits for these any more; each still ends with `ToolFinished`."""

    kind: ClassVar = "cancel_tools"
    call_ids: tuple[str, ...]


@noun
class AskApproval:
    """Somebody must agree to these calls. The driver says `ApprovalNeeded` for each first."""

    kind: ClassVar = "ask_approval"
    calls: tuple[ToolCall, ...]


@noun
class Finish:
    """The run is over. The driver says `RunEnded`."""

    kind: ClassVar = "finish"
    reason: StopReason
    detail: str = ""


Action: TypeAlias = AskModel | StopStream | RunTools | CancelTools | AskApproval | Finish
