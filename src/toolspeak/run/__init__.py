"""The drivers of the loop, and what users hold: `Agent`, `Chain`, `Outcome`."""

from toolspeak.run.agent import Agent, Chat
from toolspeak.run.chain import Chain, ChainOutcome, previous
from toolspeak.run.driver import Approver, Recorder
from toolspeak.run.outcome import CallRecord, Outcome
from toolspeak.run.streams import AsyncStream, Stream

__all__ = [
    "Agent",
    "Approver",
    "AsyncStream",
    "CallRecord",
    "Chain",
    "ChainOutcome",
    "Chat",
    "Outcome",
    "Recorder",
    "Stream",
    "previous",
]
