"""`reduce`: the state after one more fact."""

import dataclasses
from collections.abc import Iterable, Mapping

from toolspeak.events import (
    AUTO,
    ENDED_WELL,
    ApprovalGiven,
    ApprovalNeeded,
    CallMalformed,
    CallQuoted,
    CallReady,
    Compacted,
    Fact,
    FinishReason,
    HandedOver,
    Interrupted,
    NestedFact,
    RunEnded,
    RunResumed,
    RunStarted,
    SaidInThought,
    ToolChoice,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    TurnRestarted,
    TurnStarted,
)
from toolspeak.loop import words
from toolspeak.loop.recall import RECALL
from toolspeak.loop.references import find_references
from toolspeak.loop.state import CallKey, CallState, Stage, State, Turn, make_key, replace, replace_limits
from toolspeak.messages import Message, Result, Text, Thinking, ToolCall, ToolResult, user
from toolspeak.spec import ToolSpec
from toolspeak.tools import output_text

MAX_SHOWN_CHARS = 65_536
"""Characters of a result that a model is shown, where its tool has no limit of its own."""

_NOT_STARTED: tuple[Stage, ...] = ("waiting", "awaiting_approval", "approved")

MAX_EMPTY_MESSAGES = 1
"""How often in a row the model is asked again after a message without text and calls."""


def reduce(state: State, fact: Fact) -> State:
    """Return the state after one more fact."""
    match fact:
        case RunStarted():
            demand = _drop_empty_demand(fact.choice)
            state = replace(state, run=fact, history=fact.messages, demand=demand, model_is_next=True)
            return state if fact.compacted is None else _set_compaction(state, fact.compacted)
        case Compacted():
            return _add_usage(_set_compaction(state, fact), fact)
        case TurnStarted():
            return _start_turn(state, fact)
        case TurnRestarted():
            return _restart_turn(state)
        case CallReady(call=call):
            return _update_calls(state, _create_call(state, call))
        case CallQuoted():
            return _mark_quoted(state, fact)
        case CallMalformed():
            entry = CallState(fact.call_id, CallKey(fact.name or "", fact.raw), None)
            result = ToolResult(call_id=fact.call_id, error=words.explain_malformed(fact), ran=False)
            return _update_calls(state, _set_result(state, entry, result))
        case SaidInThought():
            turn = state.turn
            abandoned = turn.abandoned_ids + turn.running_ids
            return replace(state, turn=replace(turn, calls={}, running_ids=(), abandoned_ids=abandoned))
        case TurnEnded():
            return _close_turn(_end_message(state, fact))
        case ApprovalNeeded(call=call):
            return _set_stage(state, call.id, "awaiting_approval")
        case ApprovalGiven(call_id=call_id, approved=True):
            return _set_stage(state, call_id, "approved")
        case ApprovalGiven(call_id=call_id, reason=reason):
            denial = ToolResult(call_id=call_id, error=words.explain_denial(reason), ran=False)
            return _close_turn(_finish_call(_waive_demand(state, call_id), denial))
        case ToolStarted(call_id=call_id):
            return _start_call(state, call_id)
        case ToolFinished(result=result):
            return _close_turn(_finish_call(state, result))
        case Interrupted():
            return _interrupt(state, fact)
        case RunResumed(limits=limits):
            return _close_turn(_resume(state if limits is None else replace_limits(state, limits)))
        case HandedOver():
            return replace(state, successor=fact)
        case NestedFact(event=TurnEnded() | Compacted() as paid):
            return _add_usage(state, paid)
        case RunEnded():
            return replace(state, ended=fact, model_is_next=False)
        case _:  # the name of a call alone changes nothing, nor does anything else in an inner run
            return state


# The conversation that the model is shown


def _set_compaction(state: State, compacted: Compacted) -> State:
    """Show the model less of the conversation, and offer it the tool that returns the rest."""
    return replace(state, compacted=compacted, specs=_offer_recall(state.specs))


def _offer_recall(specs: Mapping[str, ToolSpec]) -> Mapping[str, ToolSpec]:
    """Return the tools with `recall`, unless one of them has its name."""
    return {**specs, RECALL.name: specs.get(RECALL.name, RECALL)}


# The beginning of a message


def _start_turn(state: State, fact: TurnStarted) -> State:
    turn = Turn(
        number=fact.turn,
        is_open=True,
        history_start=len(state.history),
        abandoned_ids=state.turn.abandoned_ids,
        in_text=fact.in_text,
    )
    return replace(state, turn=turn, model_is_next=False)


def _restart_turn(state: State) -> State:
    """Take back a message that broke off. Another model is asked for it, and calls that run are abandoned."""
    abandoned = state.turn.abandoned_ids + state.turn.running_ids
    state = _discard_message(state)
    return replace(state, turn=replace(state.turn, abandoned_ids=abandoned))


# One call


def _create_call(state: State, call: ToolCall) -> CallState:
    entry = CallState(call.id, make_key(call), call, find_references(call.arguments))
    if result := state.reusable_results.get(entry.key):
        own = ToolResult(call_id=call.id, output=result.output, error=result.error, media=result.media)
        return _set_result(state, entry, own)
    return entry


def _mark_quoted(state: State, fact: CallQuoted) -> State:
    """Let a quoted call wait for an approval, or refuse the call if nobody can be asked."""
    entry = state.turn.calls.get(fact.call_id)
    if entry is None or entry.stage == "done":
        return state
    entry, spec = replace(entry, is_quoted=True), state.specs.get(entry.key.tool)
    if (spec is not None and spec.approve) or (state.run is not None and state.run.has_approver):
        return _update_calls(state, entry)
    return _refuse_calls(state, [entry], words.explain_quotation(fact))


def _update_calls(state: State, *changed: CallState) -> State:
    calls = {**state.turn.calls, **{entry.id: entry for entry in changed}}
    return replace(state, turn=replace(state.turn, calls=calls))


def _set_stage(state: State, call_id: str, stage: Stage) -> State:
    entry = state.turn.calls.get(call_id)
    return state if entry is None or entry.stage == "done" else _update_calls(state, replace(entry, stage=stage))


def _start_call(state: State, call_id: str) -> State:
    turn, entry = state.turn, state.turn.calls[call_id]
    if entry.stage == "done":  # the result of the same call is used again: it was counted when it ran
        return state
    calls = {**turn.calls, call_id: replace(entry, stage="running")}
    turn = replace(turn, calls=calls, running_ids=(*turn.running_ids, call_id))
    return replace(state, turn=turn, started_calls=state.started_calls + 1)


def _finish_call(state: State, result: ToolResult) -> State:
    turn, calls = state.turn, state.turn.calls
    entry = calls.get(result.call_id)
    if entry is not None and entry.stage != "done":  # a call has one result: the first
        calls = {**calls, entry.id: _set_result(state, entry, result)}
    running = tuple(call_id for call_id in turn.running_ids if call_id != result.call_id)
    abandoned = turn.abandoned_ids and tuple(each for each in turn.abandoned_ids if each != result.call_id)
    return replace(state, turn=replace(turn, calls=calls, running_ids=running, abandoned_ids=abandoned))


def _set_result(state: State, entry: CallState, result: ToolResult) -> CallState:
    """Return a call with its result, and with the text of the result that the model will see."""
    spec = state.specs.get(entry.key.tool)
    limit = (spec.max_output if spec else None) or MAX_SHOWN_CHARS
    text = output_text(result.output) if result.error is None else result.error
    return replace(entry, stage="done", result=result, shown_text=words.truncate(text, limit))


def _refuse_calls(state: State, calls: Iterable[CallState], reason: str) -> State:
    """Give each of these calls the result that it was not run, for this reason."""
    refused = (_set_result(state, each, ToolResult(call_id=each.id, error=reason, ran=False)) for each in calls)
    return _update_calls(state, *refused)


# The end of a message


def _end_message(state: State, fact: TurnEnded) -> State:
    """Add the message to the history, and give a result to each of its calls that must not run."""
    history = (*state.history, fact.message) if fact.message.parts else state.history
    turn = replace(state.turn, is_open=False, finish=fact.finish, calls=_sort_calls(state.turn.calls, fact.message))
    state = replace(_add_usage(state, fact), history=history, turn=turn, reusable_results={})
    waiting = [each for each in turn.calls.values() if each.stage == "waiting"]
    if fact.finish not in ENDED_WELL:
        return _refuse_calls(state, waiting, _explain_bad_end(fact.finish))
    if state.demand.mode == "none":
        state, waiting = _refuse_calls(state, waiting, words.NO_TOOLS_NOW), []
    if state.run is not None and not state.run.parallel:
        allowed = waiting[:1] if len(waiting) == len(turn.calls) else []  # unless another has begun or failed already
        state = _refuse_calls(state, waiting[len(allowed) :], words.ONE_AT_A_TIME)
        waiting = allowed
    if (left := _count_calls_left(state)) is not None and len(waiting) > left:
        state = _refuse_calls(state, waiting[max(left, 0) :], words.OUT_OF_CALLS)
        state = replace(state, turn=replace(state.turn, exceeds_call_limit=True))
    state = replace(state, empty_messages=0 if _has_content(fact.message) else state.empty_messages + 1)
    return state if turn.calls else _end_answer(state)


def _add_usage(state: State, fact: TurnEnded | Compacted) -> State:
    """Count the tokens of a message or of a summary, and what they cost."""
    cost = None if state.cost is None or fact.cost is None else state.cost + fact.cost
    return replace(state, usage=state.usage + fact.usage, cost=cost)


def _has_content(message: Message) -> bool:
    """Whether a message holds anything besides reasoning and white space."""
    shown = [part for part in message.parts if not isinstance(part, Thinking)]
    return any(not isinstance(part, Text) or part.text.strip() for part in shown)


def _sort_calls(calls: Mapping[str, CallState], message: Message) -> Mapping[str, CallState]:
    """Put calls into the order of the message: an API may complete a later call before an earlier one."""
    order = [call.id for call in message.calls if call.id in calls]
    return calls if order == list(calls) else {call_id: calls[call_id] for call_id in (*order, *calls)}


def _explain_bad_end(finish: FinishReason) -> str:
    texts = {"length": words.MESSAGE_CUT_OFF, "refused": words.MESSAGE_REFUSED}
    return texts.get(finish, words.MESSAGE_BROKE_OFF)


def _count_calls_left(state: State) -> int | None:
    limit = state.run.limits.calls if state.run else None
    return None if limit is None else limit - state.started_calls


def _end_answer(state: State) -> State:
    """Take a message without calls as the answer, or ask again if a call is still demanded or nothing was said."""
    if state.demand.mode in ("required", "named"):
        state = replace(state, unmet_demands=state.unmet_demands + 1)
        return _ask_again(state, words.demand_call(state.demand))
    if output := state.run.output if state.run else None:
        state = replace(state, demand=ToolChoice(mode="named", names=(output,)))
        return _ask_again(state, words.demand_output(output))
    if 0 < state.empty_messages <= MAX_EMPTY_MESSAGES:
        return _ask_again(state, words.EMPTY_MESSAGE)
    return state


def _ask_again(state: State, note: str) -> State:
    return replace(state, model_is_next=True, history=(*state.history, user(note)))


# The end of a turn


def _close_turn(state: State) -> State:
    """Once every call of an ended message has its result, add the results to the history; the model is next."""
    state = _refuse_early_answer(state)
    calls = state.turn.calls
    is_closed = len(state.history) > state.turn.history_start + 1
    if state.turn.is_open or is_closed or not calls or any(each.result is None for each in calls.values()):
        return state
    finished = (*state.finished_calls, *calls.values())
    if state.turn.finish not in ENDED_WELL:  # the run ends here; if it is resumed, the whole message is discarded
        message = Message(role="tool", parts=tuple(map(_build_result, calls.values())))
        return replace(state, history=(*state.history, message), finished_calls=finished)
    ran = [each for each in calls.values() if _has_run(each)]
    # A call is counted with its result, once a turn however often it stands in the message.
    counts: dict[tuple[CallKey, str], int] = {}
    for each in calls.values():
        key = (each.key, each.shown_text)
        counts[key] = state.repeat_counts.get(key, 0) + 1
    message = Message(role="tool", parts=(*map(_build_result, calls.values()), *_build_notes(state, counts)))
    state = replace(
        state,
        history=(*state.history, message),
        finished_calls=finished,
        model_is_next=state.interruption is None,
        demand=_update_demand(state.demand, ran),
        repeat_counts={**state.repeat_counts, **counts},
        repeat_count=max(counts.values()),
        unmet_demands=0 if ran else state.unmet_demands,
        failed_turns=0 if ran else state.failed_turns + 1,
    )
    return state if state.successor is None else _hand_over(state, state.successor)


def _refuse_early_answer(state: State) -> State:
    """Refuse the typed answer if another call of its message failed: the model did not know that when it answered."""
    output = state.run.output if state.run else None
    if state.turn.is_open or not output:
        return state
    others = [each.result for each in state.turn.calls.values() if each.key.tool != output]
    if not any(result is not None and result.error not in (None, *_BEYOND_LIMIT) for result in others):
        return state
    pending = [each for each in state.turn.calls.values() if each.key.tool == output and each.stage in _NOT_STARTED]
    return _refuse_calls(state, pending, words.ANSWER_TOO_EARLY) if pending else state


_BEYOND_LIMIT = (words.ONE_AT_A_TIME, words.OUT_OF_CALLS)
"""Errors of calls that came after the last one that was allowed, and so say nothing about those before them."""


def _hand_over(state: State, fact: HandedOver) -> State:
    """Let another agent go on, if the call that hands the conversation over succeeded."""
    call = state.turn.calls.get(fact.call_id)
    if call is None or call.result is None or call.result.error is not None or state.run is None:
        return replace(state, successor=None)
    run = dataclasses.replace(
        state.run,
        model=fact.model,
        dialect=fact.dialect,
        choice=fact.choice,
        parallel=fact.parallel,
        in_text=fact.in_text,
        has_approver=fact.has_approver,
        tools=fact.tools,
        tool_budget=fact.tool_budget,
        search_tools=fact.search_tools,
    )
    specs: Mapping[str, ToolSpec] = {spec.name: spec for spec in fact.tools}
    specs = specs if state.compacted is None else _offer_recall(specs)
    demand = _drop_empty_demand(fact.choice)
    return replace(state, run=run, specs=specs, demand=demand, successor=None, speaker=fact)


def _has_run(entry: CallState) -> bool:
    return entry.result is not None and entry.result.ran


def _build_result(entry: CallState) -> Result:
    result = entry.result or ToolResult(call_id=entry.id)
    content = () if result.media and result.output is None else (Text(text=entry.shown_text),)
    return Result(call_id=entry.id, content=(*content, *result.media), is_error=result.error is not None)


def _build_notes(state: State, counts: Mapping[tuple[CallKey, str], int]) -> Iterable[Text]:
    limit = state.run.limits.repeats if state.run else None
    repeated = [key.tool for (key, _), count in counts.items() if limit is not None and count >= limit]
    if repeated:
        yield Text(text=words.warn_of_repetition(list(dict.fromkeys(repeated)), max(counts.values())))


# The calls that the model must make


def _drop_empty_demand(choice: ToolChoice) -> ToolChoice:
    return choice if choice.mode != "named" or choice.names else AUTO


def _update_demand(demand: ToolChoice, made: list[CallState]) -> ToolChoice:
    """Return what is still demanded after these calls."""
    if demand.mode == "required":
        return AUTO if made else demand
    if demand.mode == "named":
        tools = {entry.key.tool for entry in made}
        names = tuple(name for name in demand.names if name not in tools)
        return _drop_empty_demand(ToolChoice(mode="named", names=names))
    return demand


def _waive_demand(state: State, call_id: str) -> State:
    """Stop demanding a call that somebody did not allow."""
    entry = state.turn.calls.get(call_id)
    return state if entry is None else replace(state, demand=_update_demand(state.demand, [entry]))


# Interrupted and resumed runs


def _interrupt(state: State, fact: Interrupted) -> State:
    state = replace(state, interruption=fact, model_is_next=False)
    if state.turn.is_open:  # the message is ended first, with the parts that have arrived
        return state
    waiting = [each for each in state.turn.calls.values() if each.stage in _NOT_STARTED]
    return _close_turn(_refuse_calls(state, waiting, words.RUN_STOPPED))


def _resume(state: State) -> State:
    """Return the state in which another process goes on: whatever was under way has stopped, with unknown outcome."""
    turn = state.turn
    if state.ended is not None and state.ended.reason not in ("cancelled", "error") and state.interruption is None:
        return state
    if turn.is_open or turn.finish == "error":
        return replace(_discard_message(state), interruption=None, ended=None)
    if state.interruption is not None:
        # The last message is the model's only if it is the answer, or if results of its calls are missing.
        is_next = turn.number == 0 or state.history[-1].role != "assistant"
        state = replace(state, interruption=None, model_is_next=is_next)
    revived = [_revive_call(state, each) for each in turn.calls.values()]
    restarted = sum(each.id in turn.running_ids and each.stage != "done" for each in revived)
    turn = replace(turn, running_ids=(), abandoned_ids=())
    state = replace(state, ended=None, started_calls=state.started_calls - restarted, turn=turn)
    refused = () if turn.finish in ENDED_WELL else [each for each in revived if each.stage == "waiting"]
    return _refuse_calls(_update_calls(state, *revived), refused, _explain_bad_end(turn.finish))


def _discard_message(state: State) -> State:
    """Take back a message that broke off, so that the model is asked for it again.

    Results of its calls are kept, for the same calls when the model repeats them.
    """
    turn, calls = state.turn, state.turn.calls.values()
    # When a run is interrupted, a running call ends with an error that says nothing of the call itself.
    results = [(each.key, each.result) for each in calls if each.result is not None and each.result.ran]
    found = {key: result for key, result in results if state.interruption is None or not result.error}
    reusable = {**state.reusable_results, **found}
    lost = sum(each.key not in reusable and (each.stage == "running" or _has_run(each)) for each in calls)
    return replace(
        state,
        reusable_results=reusable,
        started_calls=state.started_calls - lost,
        turn=Turn(number=turn.number - 1, history_start=turn.history_start),
        history=state.history[: turn.history_start],
        finished_calls=tuple(each for each in state.finished_calls if each.id not in turn.calls),
        model_is_next=True,
    )


def _revive_call(state: State, entry: CallState) -> CallState:
    """Return a call as another process finds it: to be run again if it may be repeated, else with unknown outcome."""
    if entry.stage == "awaiting_approval":
        return replace(entry, stage="waiting")
    if entry.stage != "running":
        return entry
    spec = state.specs.get(entry.key.tool)
    if spec is not None and spec.effect != "once":
        return replace(entry, stage="approved" if spec.approve or entry.is_quoted else "waiting")
    return _set_result(state, entry, ToolResult(call_id=entry.id, error=words.EFFECT_UNKNOWN))
