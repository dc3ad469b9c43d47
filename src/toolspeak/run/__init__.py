"""Running agents and chains. `Agent.prepare` builds a run, `run.py` drives it, `runnable.py` has the public methods."""

from typing import TYPE_CHECKING

from toolspeak.run.agent import Agent
from toolspeak.run.approvals import Approver, Recorder, Summarizer
from toolspeak.run.chat import Chat
from toolspeak.run.output import Partial
from toolspeak.run.runnable import ResumeOptions, RunOptions
from toolspeak.run.streams import AsyncStream, Stream
from toolspeak.values.outcome import CallRecord, Outcome
from toolspeak.values.package import export_lazily

if TYPE_CHECKING:
    from toolspeak.run.chain import Chain, ChainOutcome, StepResult, previous
else:
    __getattr__ = export_lazily(__name__, chain=("Chain", "ChainOutcome", "StepResult", "previous"))

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
