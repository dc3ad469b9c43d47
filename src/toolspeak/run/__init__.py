"""Running agents and chains: the driver of the loop, and what users call.

A run starts in three steps. `runnable.py` has the public methods, which prepare a run and then wait for it or stream it
(`streams.py`). `Agent.prepare` (`agent.py`) checks what can be checked (`inputs.py`) and builds an `AgentRun`. `run.py`
drives that: it asks what only a run can tell, makes the first fact and a `Driver`, and builds the outcome at the end.

`chat.py` is a conversation, `graph.py` draws agents, and `portal.py` is the event loop behind the sync methods.

Start reading at `driver.py`: it performs the actions of `loop/` and turns what happens into facts. What it uses:
`inbox.py` (all that arrives), `turn_request.py` (a request and the reader of its answer), `fallback.py` (which model is
asked), `running_calls.py`, `approvals.py`, `deadline.py`, `compaction.py` (long conversations), `barrier.py` (durable
runs). Functions of calls that act on their run know it as `CallingRun` (`calling_run.py`): agents as tools
(`sub_agents.py`), hand-overs (`handoffs.py`), programs (`code_mode.py`, `program_model.py`), `search_tools.py`.

It may import every room below it. Defining an agent must not load the driver, pydantic or MCP (`tests/test_import.py`).

To add:
- an option of a run: `RunOptions` in `runnable.py`, read in `Agent.prepare`; of an agent: `Agent`, `AgentOptions`
- a check of what users pass: `inputs.py`
- something that inner and outer runs share: `OuterCall` in `calling_run.py`
- what an agent hands over with: `Speaker` in `calling_run.py`, built in `Agent`
- which errors pass a message on to the next model: `OUTAGES` in `fallback.py`
- a step of a chain: a class and a method in `chain.py`
- how a model is found by its name: `model_lookup.py`; where tools are found: `agent_tools.py`
- what of a typed answer is shown early: `partial_answer.py`; what type it may have: `output.py`
- what an argument of a program may be: `name_arguments` in `program_model.py`
"""

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
