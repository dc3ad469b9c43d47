"""The loop: what an agent does, as a fold over facts.

    facts ── reduce ──► state ── decide ──► actions

No I/O, no clock, no randomness, no deltas. A driver calls `decide` after every fact, performs the actions and returns
new facts. A start is recorded as a fact before the thing itself is started. So the same state always gives the same
actions, and a run can be resumed from its facts. It imports `values` and `tools` only.

Start reading at `decide.py`. To add:
- a limit: a field of `Limits` (`values/limits.py`); what counts towards it, `state.py` and `reduce.py`; what happens
  when it is reached, `decide.py`. A guard or another rule: `decide.py`, with its sentence in `words.py`
- what helps a model that is lost: `guidance.py`
- a sentence to the model: `words.py`. Not there: what is wrong with arguments (`values/validation.py`), how an
  exception looks (`execution/outcome.py`), prompts (`dialects/prompts/`)
- how a fact changes the state: a function and its line in `_CHANGES` in `reduce.py`; what the state holds: `state.py`
- what is taken away from a long conversation: `plan_compaction` in `compaction.py`; how it looks: `show_history` there
- what the model can read again of it: `recall.py`; what it is shown of a long result, and how it asks for the rest:
  `big_results.py`
- what an argument may refer to: `references.py`; whose words its value must be: `provenance.py`, `doubts.py`; what a
  labelled field of a result explains: `records.py`
"""

from toolspeak.loop.decide import (
    Action,
    AskApproval,
    AskModel,
    CancelTools,
    Finish,
    Guide,
    RefuseCalls,
    RunTools,
    StopStream,
    Suspend,
    decide,
)
from toolspeak.loop.provenance import Exposure, find_exposure
from toolspeak.loop.reduce import fold, reduce
from toolspeak.loop.references import BrokenReference, find_references, resolve_references
from toolspeak.loop.state import CallKey, CallState, State, Turn, find_words_origin, initial_state

__all__ = [
    "Action",
    "AskApproval",
    "AskModel",
    "BrokenReference",
    "CallKey",
    "CallState",
    "CancelTools",
    "Exposure",
    "Finish",
    "Guide",
    "RefuseCalls",
    "RunTools",
    "State",
    "StopStream",
    "Suspend",
    "Turn",
    "decide",
    "find_exposure",
    "find_references",
    "find_words_origin",
    "fold",
    "initial_state",
    "reduce",
    "resolve_references",
]
