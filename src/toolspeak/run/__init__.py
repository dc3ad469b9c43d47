"""Running agents and chains. `Agent.prepare` builds a run, `run.py` drives it, `runnable.py` has the public methods."""

from typing import TYPE_CHECKING

from toolspeak._lazy import export_lazily
from toolspeak.outcome import CallRecord, Outcome
from toolspeak.run.agent import Agent
from toolspeak.run.approvals import Approver
from toolspeak.run.callbacks import Recorder
from toolspeak.run.chat import Chat
from toolspeak.run.partial import Partial
from toolspeak.run.resumable import ResumeOptions
from toolspeak.run.runnable import RunOptions
from toolspeak.run.streams import AsyncStream, Stream
from toolspeak.run.summary import Summarizer

if TYPE_CHECKING:
    from toolspeak.run.chain import Chain
    from toolspeak.run.chain_steps import ChainOutcome, StepResult, previous
else:
    __getattr__ = export_lazily(__name__, chain=("Chain",), chain_steps=("ChainOutcome", "StepResult", "previous"))

__all__ = [
    "Agent",
    "Approver",
    "AsyncStream",
    "CallRecord",
    "Chain",
    "ChainOutcome",
    "Chat",
    "Outcome",
    "Partial",
    "Recorder",
    "ResumeOptions",
    "RunOptions",
    "StepResult",
    "Stream",
    "Summarizer",
    "previous",
]
