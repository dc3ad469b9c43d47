"""How facts about one call change the state of a run, in place."""

from collections.abc import Iterable

from toolspeak.events import CallMalformed, CallQuoted, CallReady, ToolStarted
from toolspeak.loop import words
from toolspeak.loop.references import find_references
from toolspeak.loop.state import CallKey, CallState, Stage, State, make_key
from toolspeak.messages import ToolResult
from toolspeak.tools import output_text

MAX_SHOWN_CHARS = 65_536
"""Characters of a result that a model is shown, where its tool has no limit of its own."""


def add_call(state: State, fact: CallReady) -> None:
    """Add a call that was read, with the result that the same call had in a message that broke off."""
    call = fact.call
    entry = CallState(call.id, make_key(call), call, find_references(call.arguments))
    if state.reusable_results and (result := state.reusable_results.get(entry.key)):
        own = ToolResult(call_id=call.id, output=result.output, error=result.error, media=result.media)
        entry = set_result(state, entry, own)
    state.turn.calls[call.id] = entry


def add_malformed_call(state: State, fact: CallMalformed) -> None:
    """Add a call that cannot be understood, with the result that says so."""
    entry = CallState(fact.call_id, CallKey(fact.name or "", fact.raw), None)
    result = ToolResult(call_id=fact.call_id, error=words.explain_malformed(fact), ran=False)
    state.turn.calls[fact.call_id] = set_result(state, entry, result)


def mark_quoted(state: State, fact: CallQuoted) -> None:
    """Let a quoted call wait for an approval, or refuse the call if nobody can be asked."""
    entry = state.turn.calls.get(fact.call_id)
    if entry is None or entry.stage == "done":
        return
    entry, spec = entry._replace(is_quoted=True), state.specs.get(entry.key.tool)
    if (spec is not None and spec.approve) or (state.run is not None and state.run.has_approver):
        state.turn.calls[entry.id] = entry
    else:
        refuse_calls(state, [entry], words.explain_quotation(fact))


def set_stage(state: State, call_id: str, stage: Stage) -> None:
    """Note how far a call has come, unless it has ended."""
    entry = state.turn.calls.get(call_id)
    if entry is not None and entry.stage != "done":
        state.turn.calls[call_id] = entry.move_to(stage)


def start_call(state: State, fact: ToolStarted) -> None:
    """Count a call that runs now."""
    turn, call_id = state.turn, fact.call_id
    entry = turn.calls[call_id]
    if entry.stage != "done":  # else the result of the same call is used again: it was counted when it ran
        turn.calls[call_id] = entry.move_to("running")
        turn.running_ids += (call_id,)
        state.started_calls += 1


def finish_call(state: State, result: ToolResult) -> None:
    """Give a call its result; it no longer runs."""
    turn, call_id = state.turn, result.call_id
    entry = turn.calls.get(call_id)
    if entry is not None and entry.stage != "done":  # a call has one result: the first
        turn.calls[call_id] = set_result(state, entry, result)
    turn.running_ids = tuple([each for each in turn.running_ids if each != call_id])
    if turn.abandoned_ids:
        turn.abandoned_ids = tuple([each for each in turn.abandoned_ids if each != call_id])


def set_result(state: State, entry: CallState, result: ToolResult) -> CallState:
    """Return a call with its result, and with the text of the result that the model will see."""
    spec = state.specs.get(entry.key.tool)
    limit = (spec.max_output if spec else None) or MAX_SHOWN_CHARS
    text = output_text(result.output) if result.error is None else result.error
    return entry.end(result, words.truncate(text, limit))


def refuse_calls(state: State, calls: Iterable[CallState], reason: str) -> None:
    """Give each of these calls the result that it was not run, for this reason."""
    for each in calls:
        refusal = ToolResult(call_id=each.id, error=reason, ran=False)
        state.turn.calls[each.id] = set_result(state, each, refusal)
