"""`reduce`: the state after one more fact, and `fold`, which changes the state in place.

The driver owns its state and folds. Everybody else uses `reduce`, which folds a copy. `_CHANGES` says which function
handles which fact; it changes only what `state.py` says may be changed in place.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from toolspeak.loop import words
from toolspeak.loop.big_results import MIN_RESULT_CHARS, find_shown_chars, show_part
from toolspeak.loop.compaction import list_results
from toolspeak.loop.doubts import find_result_origin
from toolspeak.loop.guidance import find_larger_model
from toolspeak.loop.provenance import Exposure, find_exposure, follow_inner_run, list_allowed
from toolspeak.loop.recall import RECALL, RECALL_PARTS
from toolspeak.loop.references import find_references
from toolspeak.loop.state import CallKey, CallState, Stage, State, Turn, has_open_call, make_key, replace_limits
from toolspeak.tools import output_text
from toolspeak.values.events import (
    AUTO,
    BY_PROVENANCE,
    ENDED_WELL,
    ApprovalGiven,
    ApprovalNeeded,
    CallMalformed,
    CallQuoted,
    CallReady,
    Compacted,
    Fact,
    FinishReason,
    Guided,
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
    ToolSuspended,
    TurnEnded,
    TurnRestarted,
    TurnStarted,
    WaitOver,
)
from toolspeak.values.limits import Limits
from toolspeak.values.messages import Media, Message, Refusal, Result, Text, Thinking, ToolResult
from toolspeak.values.origin import Origin
from toolspeak.values.spec import ToolSpec


def drop_empty_demand(choice: ToolChoice) -> ToolChoice:
    """Return a choice, which demands nothing if it names no tool."""
    return choice if choice.mode != "named" or choice.names else AUTO


def update_demand(demand: ToolChoice, made: list[CallState]) -> ToolChoice:
    """Return what is still demanded after these calls."""
    if demand.mode == "required":
        return AUTO if made else demand
    if demand.mode == "named":
        tools = {entry.key.tool for entry in made}
        names = tuple(name for name in demand.names if name not in tools)
        return drop_empty_demand(ToolChoice(mode="named", names=names))
    return demand


# One call

DEFAULT_LIMITS = Limits()


def add_call(state: State, fact: CallReady) -> None:
    """Add a call that was read, with the result that the same call had in a message that broke off."""
    call = fact.call
    entry = CallState(call.id, make_key(call), call, find_references(call.arguments))
    if state.guidance is not None and state.withholds(call.name):
        refuse_calls(state, [entry], words.explain_withheld(call.name), "beyond_limit")
        return
    if state.reusable_results and (result := state.reusable_results.get(entry.key)):
        own = ToolResult(call_id=call.id, output=result.output, error=result.error, media=result.media)
        entry = set_result(state, entry, own)
    state.turn.calls[call.id] = entry


def add_malformed_call(state: State, fact: CallMalformed) -> None:
    """Add a call that cannot be understood, with the result that says so."""
    entry = CallState(fact.call_id, CallKey(fact.name or "", fact.raw), None)
    result = ToolResult(call_id=fact.call_id, error=fact.reply, ran=False)
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
    _stop_running(turn, call_id)


def _stop_running(turn: Turn, call_id: str) -> None:
    turn.running_ids = tuple([each for each in turn.running_ids if each != call_id])
    if turn.abandoned_ids:
        turn.abandoned_ids = tuple([each for each in turn.abandoned_ids if each != call_id])


def set_result(state: State, entry: CallState, result: ToolResult) -> CallState:
    """Return a call with its result, and with the text of the result that the model will see."""
    text = output_text(result.output) if result.error is None else result.error
    spec, limits = state.specs.get(entry.key.tool), DEFAULT_LIMITS if state.run is None else state.run.limits
    own = None if spec is None else spec.max_output
    if own is None and limits.result_tokens is None and len(text) <= MIN_RESULT_CHARS:  # most are
        return entry.end(result, text)
    limit = own or find_shown_chars(limits, state.turn.context)
    if len(text) <= limit or spec is RECALL or spec is RECALL_PARTS:
        return entry.end(result, text)
    whole = result.output if result.error is None else text
    return entry.end(result, words.truncate(text, limit) if own else show_part(whole, text, limit), is_part=True)


def refuse_calls(state: State, calls: Iterable[CallState], text: str, reason: Refusal = "not_allowed") -> None:
    """Give each of these calls the result that it was not run, with a text for the model."""
    for each in calls:
        refusal = ToolResult(call_id=each.id, error=text, ran=False, reason=reason)
        state.turn.calls[each.id] = set_result(state, each, refusal)


_NOT_STARTED: tuple[Stage, ...] = ("waiting", "awaiting_approval", "approved")

MAX_EMPTY_MESSAGES = 1
"""How often in a row the model is asked again after a message without text and calls."""


def reduce(state: State, fact: Fact) -> State:
    """Return the state after one more fact. `state` is not changed, and is returned if the fact changes nothing."""
    after = state.copy()
    return after if fold(after, fact) else state


def fold(state: State, fact: Fact) -> bool:
    """Change a state by one more fact. Return False if facts of this kind change nothing.

    Whoever owns the state uses this instead of `reduce`: nothing is copied.
    """
    change = _CHANGES.get(type(fact))
    if change is None:
        return False
    change(state, fact)
    return True


def _start_run(state: State, fact: RunStarted) -> None:
    state.run, state.history, state.model_is_next = fact, fact.messages, True
    state.demand = drop_empty_demand(fact.choice)
    state.exposure, state.exposure_end = Exposure.FOREIGN if fact.exposed else Exposure.NONE, 0
    if fact.compacted is not None:
        _set_compaction(state, fact.compacted)
    if _has_part(fact.messages):
        state.specs = _offer_recall(state.specs, RECALL_PARTS)


def _end_run(state: State, fact: RunEnded) -> None:
    state.ended, state.model_is_next = fact, False


def _note_successor(state: State, fact: HandedOver) -> None:
    state.successor = fact


def _follow_inner_run(state: State, fact: NestedFact) -> None:
    """Count what an inner run has used, and note what it was shown. Nothing else in it changes the outer run."""
    if isinstance(fact.event, TurnEnded | Compacted):
        _add_usage(state, fact.event)
    elif (entry := state.turn.calls.get(fact.path[0])) is not None:
        inner = follow_inner_run(entry.inner, fact)
        if inner is not entry.inner:
            state.turn.calls[entry.id] = entry._replace(inner=inner)


# The conversation that the model is shown


def _compact(state: State, fact: Compacted) -> None:
    _set_compaction(state, fact)
    _add_usage(state, fact)


def _set_compaction(state: State, compacted: Compacted) -> None:
    """Show the model less of the conversation, and offer it the tool that returns the rest."""
    state.compacted, state.specs = compacted, _offer_recall(state.specs, RECALL)


def _offer_recall(specs: Mapping[str, ToolSpec], recall: ToolSpec) -> Mapping[str, ToolSpec]:
    """Return the tools with `recall`, unless one of them has its name. It keeps what it can do."""
    known = specs.get(recall.name)
    return {**specs, recall.name: recall} if known is None or known is RECALL else specs


def _has_part(messages: Iterable[Message]) -> bool:
    """Whether only a part of a result is shown."""
    for message in messages:
        if message.role == "tool":
            for part in message.parts:
                if isinstance(part, Result) and part.output is not None:
                    return True
    return False


# The beginning of a message


def _start_turn(state: State, fact: TurnStarted) -> None:
    if state.guidance is None or (guided := state.next_guidance) is None or not guided.model:
        state.base_model = fact.model
    state.turn = Turn(
        number=fact.turn,
        is_open=True,
        history_start=len(state.history),
        abandoned_ids=state.turn.abandoned_ids,
        in_text=fact.in_text,
        context=fact.context,
        exposure=_update_exposure(state),
    )
    state.model_is_next = False


def _update_exposure(state: State) -> Exposure:
    """Look at the messages that are new, and return what the model has been shown so far."""
    if state.exposure is not Exposure.FOREIGN:
        found = find_exposure(state.history[state.exposure_end :])
        state.exposure = found if found > state.exposure else state.exposure
    state.exposure_end = len(state.history)
    return state.exposure


def _restart_turn(state: State, fact: TurnRestarted) -> None:
    """Take back a message that broke off. Another model is asked for it, and calls that run are abandoned."""
    abandoned = state.turn.abandoned_ids + state.turn.running_ids
    _discard_message(state)
    state.turn.abandoned_ids = abandoned


def _abandon_calls(state: State, fact: SaidInThought) -> None:
    turn = state.turn
    turn.calls, turn.running_ids, turn.abandoned_ids = {}, (), turn.abandoned_ids + turn.running_ids


# Approvals and results


def _await_approval(state: State, fact: ApprovalNeeded) -> None:
    set_stage(state, fact.call.id, "awaiting_approval")
    if fact.doubts and (entry := state.turn.calls.get(fact.call.id)) is not None:
        state.turn.calls[entry.id] = entry._replace(doubts=fact.doubts)


def _take_approval(state: State, fact: ApprovalGiven) -> None:
    entry = state.turn.calls.get(fact.call_id)
    if fact.approved:
        if fact.remember and entry is not None:
            state.turn.calls[entry.id] = entry._replace(allowed=list_allowed(entry.key.tool, entry.doubts))
        set_stage(state, fact.call_id, "approved")
        return
    if entry is not None:  # what somebody did not allow is demanded no longer
        state.demand = update_demand(state.demand, [entry])
    text = fact.reason if fact.by == BY_PROVENANCE else words.explain_denial(fact.reason)
    finish_call(state, ToolResult(call_id=fact.call_id, error=text, ran=False, reason="not_allowed"))
    _close_turn(state)


def _take_result(state: State, fact: ToolFinished) -> None:
    finish_call(state, fact.result)
    _close_turn(state)


# Waits


def _suspend_call(state: State, fact: ToolSuspended) -> None:
    """Let a call wait: it no longer runs. If the run was stopped meanwhile, the call ends."""
    turn, entry = state.turn, state.turn.calls.get(fact.call_id)
    _stop_running(turn, fact.call_id)
    if entry is not None and entry.stage == "running":
        turn.calls[entry.id] = entry.move_to("suspended")._replace(in_doubt=False)
    if state.interruption is not None or not (turn.is_open or turn.finish in ENDED_WELL):
        _stop_waits(state)
        _close_turn(state)


def _end_wait(state: State, fact: WaitOver) -> None:
    """Let a call start again with one more wait that is over. It is counted again when it starts."""
    entry = state.turn.calls.get(fact.call_id)
    if entry is None or entry.stage != "suspended" or fact.number != len(entry.waits) + 1:
        return  # it belongs to a call of a message that was discarded
    again = entry.move_to(_find_restart_stage(state, entry))
    state.turn.calls[entry.id] = again._replace(waits=(*entry.waits, fact))
    state.started_calls -= 1


def _stop_waits(state: State) -> None:
    """Give each call that waits, or was to go on after a wait, the result that the run was stopped."""
    for each in state.turn.calls.values():
        if each.stage == "suspended" or (each.waits and each.stage in _NOT_STARTED):
            stopped = ToolResult(call_id=each.id, error=words.WAIT_STOPPED)
            state.turn.calls[each.id] = set_result(state, each, stopped)


# The end of a message


def _end_turn(state: State, fact: TurnEnded) -> None:
    _end_message(state, fact)
    _close_turn(state)


def _end_message(state: State, fact: TurnEnded) -> None:
    """Add the message to the history, and give a result to each of its calls that must not run."""
    turn, message = state.turn, fact.message
    if message.parts:
        state.history += (message,)
    turn.is_open, turn.finish, turn.thought_calls = False, fact.finish, fact.thought_calls
    if len(turn.calls) > 1:  # an API may complete a later call before an earlier one
        order = [call.id for call in message.calls if call.id in turn.calls]
        turn.calls = {call_id: turn.calls[call_id] for call_id in (*order, *turn.calls)}
    _add_usage(state, fact)
    state.reusable_results = {}
    waiting = [each for each in turn.calls.values() if each.stage == "waiting"]
    if fact.finish not in ENDED_WELL:
        refuse_calls(state, waiting, _explain_bad_end(fact.finish))
        _stop_waits(state)
        return
    if state.demand.mode == "none":
        refuse_calls(state, waiting, words.NO_TOOLS_NOW)
        waiting = []
    if state.run is not None and not state.run.parallel:
        allowed = waiting[:1] if len(waiting) == len(turn.calls) else []  # unless another has begun or failed already
        refuse_calls(state, waiting[len(allowed) :], words.ONE_AT_A_TIME, "beyond_limit")
        waiting = allowed
    limit = state.run.limits.calls if state.run else None
    if limit is not None and len(waiting) > limit - state.started_calls:
        refuse_calls(state, waiting[max(limit - state.started_calls, 0) :], words.OUT_OF_CALLS, "beyond_limit")
        turn.exceeds_call_limit = True
    state.empty_messages = 0 if _has_content(message) else state.empty_messages + 1
    if not turn.calls:
        _end_answer(state)
        state.may_be_lost = state.unmet_demands > 1 or state.empty_messages > 1


def _add_usage(state: State, fact: TurnEnded | Compacted) -> None:
    """Count the tokens of a message or of a summary, and what they cost."""
    state.cost = None if state.cost is None or fact.cost is None else state.cost + fact.cost
    state.usage += fact.usage


def _has_content(message: Message) -> bool:
    """Whether a message holds anything besides reasoning and white space."""
    for part in message.parts:
        if not isinstance(part, Thinking) and (not isinstance(part, Text) or part.text.strip()):
            return True
    return False


def _explain_bad_end(finish: FinishReason) -> str:
    texts = {"length": words.MESSAGE_CUT_OFF, "refused": words.MESSAGE_REFUSED}
    return texts.get(finish, words.MESSAGE_BROKE_OFF)


def _end_answer(state: State) -> None:
    """Take a message without calls as the answer, or ask again if a call is still demanded or nothing was said."""
    if state.demand.mode in ("required", "named"):
        state.unmet_demands += 1
        _ask_again(state, words.demand_call(state.demand))
    elif output := state.run.output if state.run else None:
        state.demand = ToolChoice(mode="named", names=(output,))
        _ask_again(state, words.demand_output(output))
    elif 0 < state.empty_messages <= MAX_EMPTY_MESSAGES + (find_larger_model(state, "missing") != ""):
        _ask_again(state, words.EMPTY_MESSAGE)


def _guide(state: State, fact: Guided) -> None:
    """Tell a model that is lost what the fact says: after the results of its calls, or after a message without any."""
    state.guidance, state.guided_turn, state.model_is_next = fact, state.turn.number, True
    state.asked_for_words = state.asked_for_words or fact.step == "words"
    state.told_of_thought = state.told_of_thought or fact.cause == "thought"
    if fact.note is None:
        return
    last = state.history[-1]
    if last.role == "assistant":
        state.history += (Message(role="user", parts=(fact.note,)),)
    else:
        between = (Text(text="\n", origin=Origin.LOOP),) if last.role == "user" else ()
        state.history = (*state.history[:-1], dataclasses.replace(last, parts=(*last.parts, *between, fact.note)))


def _ask_again(state: State, note: str) -> None:
    message = Message(role="user", parts=(Text(text=note, origin=Origin.LOOP),))
    state.model_is_next, state.history = True, (*state.history, message)


# The end of a turn


def _close_turn(state: State) -> None:
    """Once every call of an ended message has its result, add the results to the history; the model is next."""
    turn, run = state.turn, state.run
    if turn.is_open:
        return
    if run is not None and run.output:
        _refuse_early_answer(state, run.output)
    is_closed = len(state.history) > turn.history_start + 1
    if is_closed or not turn.calls or has_open_call(turn):
        return
    calls = turn.calls.values()
    state.finished_calls += tuple(calls)
    if [each for each in calls if each.is_part]:
        state.specs = _offer_recall(state.specs, RECALL_PARTS)
    if turn.finish not in ENDED_WELL:  # the run ends here; if it is resumed, the whole message is discarded
        state.history += (
            Message(role="tool", parts=tuple(_build_result(state, *each) for each in enumerate(calls, 1))),
        )
        return
    ran = [each for each in calls if _has_run(each)]
    # A call is counted with its result, once a turn however often it stands in the message.
    counts: dict[tuple[CallKey, str], int] = {}
    for each in calls:
        key = (each.key, each.shown_text)
        counts[key] = state.repeat_counts.get(key, 0) + 1
    highest = max(counts.values())
    parts: list[Result | Text] = [_build_result(state, place, each) for place, each in enumerate(calls, 1)]
    repeats = None if run is None else run.limits.repeats
    if (
        state.guidance is not None
        and repeats is not None
        and not ran
        and any(state.withholds(key.tool) for key, _ in counts)
    ):
        highest = max(highest, repeats + 1)  # it made the call once more, though it is not run
    elif run is not None and not run.guided and repeats is not None and highest >= repeats:
        repeated = dict.fromkeys(key.tool for (key, _), count in counts.items() if count >= repeats)
        parts.append(Text(text=words.warn_of_repetition(list(repeated), highest)))
    state.history += (Message(role="tool", parts=tuple(parts)),)
    state.model_is_next = state.interruption is None
    state.demand = update_demand(state.demand, ran)
    state.repeat_counts.update(counts)
    state.repeat_count = highest
    state.unmet_demands = 0 if ran else state.unmet_demands
    state.failed_turns = 0 if ran else state.failed_turns + 1
    state.may_be_lost = highest > 1 or state.failed_turns > 1
    if state.successor is not None:
        _hand_over(state, state.successor)


def _refuse_early_answer(state: State, output: str) -> None:
    """Refuse the typed answer if another call of its message failed: the model did not know that when it answered."""
    calls = state.turn.calls.values()
    others = [each.result for each in calls if each.key.tool != output]
    # A call beyond a limit was never to run, and so says nothing about those before it.
    if any(result is not None and result.error is not None and result.reason != "beyond_limit" for result in others):
        pending = [each for each in calls if each.key.tool == output and each.stage in _NOT_STARTED]
        refuse_calls(state, pending, words.ANSWER_TOO_EARLY, "")


def _hand_over(state: State, fact: HandedOver) -> None:
    """Let another agent go on, if the call that hands the conversation over succeeded."""
    state.successor = None
    call = state.turn.calls.get(fact.call_id)
    if call is None or call.result is None or call.result.error is not None or state.run is None:
        return
    state.run = dataclasses.replace(
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
        escalation=fact.escalation,
        provenance=fact.provenance or state.run.provenance,
    )
    specs = {spec.name: spec for spec in fact.tools}
    state.earlier_specs += tuple(spec for name, spec in state.specs.items() if specs.get(name) != spec)
    recall = RECALL_PARTS if _has_part(state.history) else None if state.compacted is None else RECALL
    state.specs = specs if recall is None else _offer_recall(specs, recall)
    state.demand, state.speaker = drop_empty_demand(fact.choice), fact


def _has_run(entry: CallState) -> bool:
    return entry.result is not None and entry.result.ran


def _build_result(state: State, place: int, entry: CallState) -> Result:
    """Return the result of a call as the model sees it, the `place`-th of its turn."""
    result = entry.result or ToolResult(call_id=entry.id)
    text = entry.shown_text
    if entry.is_part and state.has_recall:
        text = words.offer_rest(text, f"result_{len(list_results(state.history)) + place}")
    content: tuple[Text | Media, ...] = (Text(text=text),)
    if result.media:
        content = result.media if result.output is None else (*content, *result.media)
    return Result(
        call_id=entry.id,
        content=content,
        is_error=result.error is not None,
        reason=result.reason,
        origin=find_result_origin(state, entry, result),
        output=(result.output if result.error is None else result.error) if entry.is_part else None,
        allowed=entry.allowed if entry.inner is None else (*entry.allowed, *entry.inner.allowed),
    )


# Interrupted and resumed runs


def _interrupt(state: State, fact: Interrupted) -> None:
    state.interruption, state.model_is_next = fact, False
    if not state.turn.is_open:  # else the message is ended first, with the parts that have arrived
        _stop_waits(state)
        waiting = [each for each in state.turn.calls.values() if each.stage in _NOT_STARTED]
        refuse_calls(state, waiting, words.RUN_STOPPED)
        _close_turn(state)


def _resume(state: State, fact: RunResumed) -> None:
    """Go on in another process: whatever was under way has stopped, with unknown outcome."""
    if fact.limits is not None:
        replace_limits(state, fact.limits)
    has_ended = state.ended is not None and state.ended.reason not in ("cancelled", "error")
    if not has_ended or state.interruption is not None:
        _revive_turn(state)
    _close_turn(state)


def _revive_turn(state: State) -> None:
    turn = state.turn
    if turn.is_open or turn.finish == "error":
        _discard_message(state)
        state.interruption = state.ended = None
        return
    if state.interruption is not None:
        # The last message is the model's only if it is the answer, or if results of its calls are missing.
        state.model_is_next = turn.number == 0 or state.history[-1].role != "assistant"
        state.interruption = None
    revived = {each.id: _revive_call(state, each) for each in turn.calls.values()}
    state.started_calls -= sum(revived[each].stage != "done" for each in turn.running_ids if each in revived)
    state.ended, turn.running_ids, turn.abandoned_ids = None, (), ()
    turn.calls.update(revived)
    if turn.finish not in ENDED_WELL:
        waiting = [each for each in revived.values() if each.stage == "waiting"]
        refuse_calls(state, waiting, _explain_bad_end(turn.finish))


def _discard_message(state: State) -> None:
    """Take back a message that broke off, so that the model is asked for it again.

    Results of its calls are kept, for the same calls when the model repeats them.
    """
    turn, calls = state.turn, state.turn.calls.values()
    # When a run is interrupted, a running call ends with an error that says nothing of the call itself.
    results = [(each.key, each.result) for each in calls if each.result is not None and each.result.ran]
    found = {key: result for key, result in results if state.interruption is None or not result.error}
    state.reusable_results = reusable = {**state.reusable_results, **found}
    state.started_calls -= sum(
        each.key not in reusable and (each.stage in ("running", "suspended") or _has_run(each)) for each in calls
    )
    state.turn = Turn(number=turn.number - 1, history_start=turn.history_start)
    state.history = state.history[: turn.history_start]
    state.finished_calls = tuple(each for each in state.finished_calls if each.id not in turn.calls)
    state.model_is_next = True


def _revive_call(state: State, entry: CallState) -> CallState:
    """Return a call as another process finds it: to be run again if it may be repeated, else with unknown outcome.

    A call that must not be repeated is run again if its tool can find out whether it has taken effect.
    """
    if entry.stage == "awaiting_approval":
        return entry.move_to("waiting")
    if entry.stage != "running":
        return entry
    spec = state.specs.get(entry.key.tool)
    if spec is not None and (spec.effect != "once" or spec.reconcile):
        return entry.move_to(_find_restart_stage(state, entry))._replace(in_doubt=spec.effect == "once")
    return set_result(state, entry, ToolResult(call_id=entry.id, error=words.EFFECT_UNKNOWN))


def _find_restart_stage(state: State, entry: CallState) -> Stage:
    """Return the stage in which a call that was started before can start again: its approval still counts."""
    spec = state.specs.get(entry.key.tool)
    return "approved" if entry.is_quoted or entry.doubts or (spec is not None and spec.approve) else "waiting"


_CHANGES: dict[type[Any], Callable[[State, Any], None]] = {
    RunStarted: _start_run,
    Compacted: _compact,
    TurnStarted: _start_turn,
    TurnRestarted: _restart_turn,
    CallReady: add_call,
    CallQuoted: mark_quoted,
    CallMalformed: add_malformed_call,
    SaidInThought: _abandon_calls,
    TurnEnded: _end_turn,
    Guided: _guide,
    ApprovalNeeded: _await_approval,
    ApprovalGiven: _take_approval,
    ToolStarted: start_call,
    ToolSuspended: _suspend_call,
    WaitOver: _end_wait,
    ToolFinished: _take_result,
    Interrupted: _interrupt,
    RunResumed: _resume,
    HandedOver: _note_successor,
    NestedFact: _follow_inner_run,
    RunEnded: _end_run,
}
"""How each kind of fact changes the state. A kind that is missing changes nothing."""
