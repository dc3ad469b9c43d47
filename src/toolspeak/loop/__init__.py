"""The loop: what an agent does, as a fold over facts.

    facts ── reduce ──► state ── decide ──► actions

No I/O, no clock, no randomness, no deltas. A driver performs the actions and brings back facts; it asks `decide` after
every fact. What has been started is a fact before it is launched, so the same state gives the same actions however
often it is asked, and a run can be resumed from its facts.
"""

from toolspeak.loop.actions import Action, AskApproval, AskModel, CancelTools, Finish, RunTools, StopStream
from toolspeak.loop.decide import decide
from toolspeak.loop.reduce import reduce
from toolspeak.loop.references import BrokenReference, needs, resolved
from toolspeak.loop.state import CallState, State, Turn, begin

__all__ = [
    "Action",
    "AskApproval",
    "AskModel",
    "BrokenReference",
    "CallState",
    "CancelTools",
    "Finish",
    "RunTools",
    "State",
    "StopStream",
    "Turn",
    "begin",
    "decide",
    "needs",
    "reduce",
    "resolved",
]
