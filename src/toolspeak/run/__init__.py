"""Running agents and chains. `Agent.prepare` builds a run, `run.py` drives it, `runnable.py` has the public methods."""

from toolspeak.outcome import CallRecord, Outcome
from toolspeak.run.agent import Agent
from toolspeak.run.approvals import Approver
from toolspeak.run.callbacks import Recorder
from toolspeak.run.chain import Chain
from toolspeak.run.chain_steps import ChainOutcome, StepResult, previous
from toolspeak.run.chat import Chat
from toolspeak.run.partial import Partial
from toolspeak.run.resumable import ResumeOptions
from toolspeak.run.runnable import RunOptions
from toolspeak.run.streams import AsyncStream, Stream
from toolspeak.run.summary import Summarizer

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
