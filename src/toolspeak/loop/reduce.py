"""`reduce`: one more fact."""

from collections.abc import Iterable, Mapping

from toolspeak.events import (
    AUTO,
    ENDED_WELL,
    ApprovalGiven,
    ApprovalNeeded,
    CallMalformed,
    CallReady,
    Fact,
    FinishReason,
    Interrupted,
    RunEnded,
    RunResumed,
    RunStarted,
    SaidInThought,
    ToolChoice,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from toolspeak.loop import words
from toolspeak.loop.references import needs
from toolspeak.loop.state import CallState, Key, Stage, State, Turn, key_of, replace
from toolspeak.messages import Message, Result, Text, ToolCall, ToolResult, user
from toolspeak.tools import output_text

SHOWN = 65_536
"""Characters of a result that a model is shown, where its tool says nothing else."""


def reduce(state: State, fact: Fact) -> State:
    """The state after one more fact."""
    match fact:
        case RunStarted():
            return replace(state, run=fact, history=fact.messages, demand=_demand(fact.choice), asking=True)
        case TurnStarted(turn=number):
            return replace(state, turn=Turn(number=number, open=True, before=len(state.history)), asking=False)
        case CallReady(call=call):
            return _with(state, _said(state, call))
        case CallMalformed():
            result = ToolResult(call_id=fact.call_id, error=words.malformed(fact), ran=False)
            return _with(state, _ended(state, CallState(fact.call_id, (fact.name or "", fact.raw), None), result))
        case SaidInThought():
            turn = state.turn
            return replace(state, turn=replace(turn, calls={}, running=(), stray=turn.stray + turn.running))
        case TurnEnded():
            return _settled(_heard(state, fact))
        case ApprovalNeeded(call=call):
            return _staged(state, call.id, "asked")
        case ApprovalGiven(call_id=call_id, approved=True):
            return _staged(state, call_id, "approved")
        case ApprovalGiven(call_id=call_id, reason=reason):
            refused = ToolResult(call_id=call_id, error=words.denied(reason), ran=False)
            return _settled(_finished(_excused(state, call_id), refused))
        case ToolStarted(call_id=call_id):
            return _started(state, call_id)
        case ToolFinished(result=result):
            return _settled(_finished(state, result))
        case Interrupted():
            return _halted(state, fact)
        case RunResumed():
            return _settled(_resumed(state))
        case RunEnded():
            return replace(state, ended=fact, asking=False)
        case _:  # the name of a call alone changes nothing
            return state


# A call


def _said(state: State, call: ToolCall) -> CallState:
    spoken = CallState(call.id, key_of(call), call, needs(call.arguments))
    if result := state.kept.get(spoken.key):
        own = ToolResult(call_id=call.id, output=result.output, error=result.error, media=result.media)
        return _ended(state, spoken, own)
    return spoken


def _with(state: State, *changed: CallState) -> State:
    calls = {**state.turn.calls, **{spoken.id: spoken for spoken in changed}}
    return replace(state, turn=replace(state.turn, calls=calls))


def _staged(state: State, call_id: str, stage: Stage) -> State:
    spoken = state.turn.calls.get(call_id)
    return state if spoken is None or spoken.stage == "done" else _with(state, replace(spoken, stage=stage))


def _started(state: State, call_id: str) -> State:
    turn = state.turn
    calls = {**turn.calls, call_id: replace(turn.calls[call_id], stage="running")}
    return replace(state, turn=replace(turn, calls=calls, running=(*turn.running, call_id)), made=state.made + 1)


def _finished(state: State, result: ToolResult) -> State:
    turn, calls = state.turn, state.turn.calls
    spoken = calls.get(result.call_id)
    if spoken is not None and spoken.stage != "done":  # a call has one result: the first
        calls = {**calls, spoken.id: _ended(state, spoken, result)}
    running = tuple(call_id for call_id in turn.running if call_id != result.call_id)
    stray = tuple(call_id for call_id in turn.stray if call_id != result.call_id) if turn.stray else ()
    return replace(state, turn=replace(turn, calls=calls, running=running, stray=stray))


def _ended(state: State, spoken: CallState, result: ToolResult) -> CallState:
    """A call with its result, and with what the model will see of it."""
    spec = state.specs.get(spoken.key[0])
    limit = (spec.max_output if spec else None) or SHOWN
    text = output_text(result.output) if result.error is None else result.error
    return replace(spoken, stage="done", result=result, shown=words.cut(text, limit))


def _not_run(state: State, calls: Iterable[CallState], why: str) -> State:
    return _with(state, *(_ended(state, each, ToolResult(call_id=each.id, error=why, ran=False)) for each in calls))


# The end of a message


def _heard(state: State, fact: TurnEnded) -> State:
    """The message is whole: it joins the history, and what in it must not run gets its result."""
    history = (*state.history, fact.message) if fact.message.parts else state.history
    turn = replace(state.turn, open=False, finish=fact.finish, calls=_in_order(state.turn.calls, fact.message))
    state = replace(state, history=history, turn=turn, usage=state.usage + fact.usage, kept={})
    waiting = [spoken for spoken in turn.calls.values() if spoken.stage == "waiting"]
    if fact.finish not in ENDED_WELL:
        return _not_run(state, waiting, _why_cut(fact.finish))
    if state.demand.mode == "none":
        state, waiting = _not_run(state, waiting, words.NO_TOOLS_NOW), []
    if state.run is not None and not state.run.parallel:
        one = waiting[:1] if len(waiting) == len(turn.calls) else []  # unless another has begun or failed already
        state = _not_run(state, waiting[len(one) :], words.ONE_AT_A_TIME)
        waiting = one
    if (left := _calls_left(state)) is not None and len(waiting) > left:
        state = _not_run(state, waiting[max(left, 0) :], words.OUT_OF_CALLS)
        state = replace(state, turn=replace(state.turn, over=True))
    return state if turn.calls else _answered(state)


def _in_order(calls: Mapping[str, CallState], message: Message) -> Mapping[str, CallState]:
    """As the message has them: an API may complete a later call before an earlier one."""
    order = [call.id for call in message.calls if call.id in calls]
    return calls if order == list(calls) else {call_id: calls[call_id] for call_id in (*order, *calls)}


def _why_cut(finish: FinishReason) -> str:
    return {"length": words.CUT, "refused": words.REFUSED}.get(finish, words.BROKEN)


def _calls_left(state: State) -> int | None:
    most = state.run.limits.calls if state.run else None
    return None if most is None else most - state.made


def _answered(state: State) -> State:
    """A message without calls is the answer, unless a call was asked for."""
    if state.demand.mode in ("required", "named"):
        return _asked_again(replace(state, nudges=state.nudges + 1), words.demanded(state.demand))
    if output := state.run.output if state.run else None:
        return _asked_again(replace(state, demand=ToolChoice(mode="named", names=(output,))), words.wanted(output))
    return state


def _asked_again(state: State, note: str) -> State:
    return replace(state, asking=True, history=(*state.history, user(note)))


# The end of a turn


def _settled(state: State) -> State:
    """When the last call of a message has its result, all results join the history, and the model is next."""
    calls = state.turn.calls
    settled_before = len(state.history) > state.turn.before + 1
    if state.turn.open or settled_before or not calls or any(each.result is None for each in calls.values()):
        return state
    done = (*state.done, *calls.values())
    if state.turn.finish not in ENDED_WELL:  # the run ends here; if it is resumed, it is as if this had not been said
        message = Message(role="tool", parts=tuple(map(_result, calls.values())))
        return replace(state, history=(*state.history, message), done=done)
    ran = [each for each in calls.values() if _ran(each)]
    # A call is counted with what came of it, once a turn however often it stands in it.
    count = {(each.key, each.shown): state.seen.get((each.key, each.shown), 0) + 1 for each in calls.values()}
    message = Message(role="tool", parts=(*map(_result, calls.values()), *_notes(state, count)))
    return replace(
        state,
        history=(*state.history, message),
        done=done,
        asking=state.halted is None,
        demand=_after(state.demand, ran),
        seen={**state.seen, **count},
        most=max(count.values()),
        nudges=0 if ran else state.nudges,
        fumbles=0 if ran else state.fumbles + 1,
    )


def _ran(spoken: CallState) -> bool:
    return spoken.result is not None and spoken.result.ran


def _result(spoken: CallState) -> Result:
    result = spoken.result or ToolResult(call_id=spoken.id)
    content = () if result.media and result.output is None else (Text(text=spoken.shown),)
    return Result(call_id=spoken.id, content=(*content, *result.media), is_error=result.error is not None)


def _notes(state: State, count: Mapping[tuple[Key, str], int]) -> Iterable[Text]:
    limit = state.run.limits.repeats if state.run else None
    again = [key[0] for (key, _), times in count.items() if limit is not None and times >= limit]
    if again:
        yield Text(text=words.repeated(list(dict.fromkeys(again)), max(count.values())))


# What must be called


def _demand(choice: ToolChoice) -> ToolChoice:
    return choice if choice.mode != "named" or choice.names else AUTO


def _after(demand: ToolChoice, ran: list[CallState]) -> ToolChoice:
    """What is still demanded, now that these have run."""
    if demand.mode == "required":
        return AUTO if ran else demand
    if demand.mode == "named":
        done = {spoken.key[0] for spoken in ran}
        return _demand(ToolChoice(mode="named", names=tuple(name for name in demand.names if name not in done)))
    return demand


def _excused(state: State, call_id: str) -> State:
    """A call that somebody refused is not demanded again."""
    spoken = state.turn.calls.get(call_id)
    return state if spoken is None else replace(state, demand=_after(state.demand, [spoken]))


# Interrupted, resumed


def _halted(state: State, fact: Interrupted) -> State:
    state = replace(state, halted=fact, asking=False)
    if state.turn.open:  # the message is closed first, with what there is
        return state
    waiting = [each for each in state.turn.calls.values() if each.stage in ("waiting", "asked", "approved")]
    return _settled(_not_run(state, waiting, words.STOPPED))


def _resumed(state: State) -> State:
    """Whatever was under way is not, any more: nothing of it is known but the facts."""
    turn = state.turn
    if state.ended is not None and state.ended.reason not in ("cancelled", "error") and state.halted is None:
        return state
    if turn.open or turn.finish == "error":
        return replace(_unsaid(state), halted=None, ended=None)
    if state.halted is not None:
        done = all(each.result is not None for each in turn.calls.values())
        state = replace(state, halted=None, asking=turn.number == 0 or (bool(turn.calls) and done))
    revived = [_revived(state, each) for each in turn.calls.values()]
    again = sum(each.id in turn.running and each.stage != "done" for each in revived)
    state = replace(state, ended=None, made=state.made - again, turn=replace(turn, running=(), stray=()))
    cut = () if turn.finish in ENDED_WELL else [each for each in revived if each.stage == "waiting"]
    return _not_run(_with(state, *revived), cut, _why_cut(turn.finish))


def _unsaid(state: State) -> State:
    """A message that broke off is asked for again; what its calls have found out by then is kept for when it comes."""
    turn, calls = state.turn, state.turn.calls.values()
    # When a run is stopped, what was under way ends with an error that says nothing of the call.
    found = [each for each in calls if _ran(each) and (state.halted is None or not (each.result and each.result.error))]
    kept = {**state.kept, **{each.key: each.result for each in found if each.result}}
    lost = sum(each.key not in kept and (each.stage == "running" or _ran(each)) for each in calls)
    return replace(
        state,
        kept=kept,
        made=state.made - lost,
        turn=Turn(number=turn.number - 1, before=turn.before),
        history=state.history[: turn.before],
        done=tuple(each for each in state.done if each.id not in turn.calls),
        asking=True,
    )


def _revived(state: State, spoken: CallState) -> CallState:
    if spoken.stage == "asked":
        return replace(spoken, stage="waiting")
    if spoken.stage != "running":
        return spoken
    spec = state.specs.get(spoken.key[0])
    if spec is not None and spec.effect != "once":
        return replace(spoken, stage="approved" if spec.approve else "waiting")
    return _ended(state, spoken, ToolResult(call_id=spoken.id, error=words.UNKNOWN))
