"""Runs that last: their facts are committed in a database, and any worker can go on with them.

`journal.py` says what a database must do, `dispatch.py` what hands runs to workers. The facts of an inner run
(`Agent.as_tool`) are facts of the run that asked for it (`NestedFact`), and are stored with it.
"""

from toolspeak.durable.approvals import WaitingCall
from toolspeak.durable.event_feed import RunEvent
from toolspeak.durable.journal import ApprovalRefused, OutcomeUnknown, RunUnknown, StartRefused
from toolspeak.durable.rows import Lane, RunRow, RunStatus, WorkerRow
from toolspeak.durable.runs import RunHandle, Runs
from toolspeak.durable.worker import Worker

__all__ = [
    "ApprovalRefused",
    "Lane",
    "OutcomeUnknown",
    "RunEvent",
    "RunHandle",
    "RunRow",
    "RunStatus",
    "RunUnknown",
    "Runs",
    "StartRefused",
    "WaitingCall",
    "Worker",
    "WorkerRow",
]
