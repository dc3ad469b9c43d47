"""`decide`: what an agent does next.

It asks the model. While the model speaks, calls that change nothing may start. When the message has ended well, all its
calls run: together, alone where one must be alone, after a yes where somebody must agree, after the calls they need.
Their results go back to the model, until it answers without a call, or a limit is reached.
"""

from collections.abc import Iterable, Iterator

from toolspeak.events import ENDED_WELL, Limits, RunStarted, StopReason
from toolspeak.loop.actions import Action, AskApproval, AskModel, CancelTools, Finish, RunTools, StopStream
from toolspeak.loop.references import BrokenReference, resolved
from toolspeak.loop.state import CallState, State
from toolspeak.messages import ToolCall

NUDGES = 2
"""How often a call that was demanded and did not come is asked for again."""

FUMBLES = 3
"""Turns in a row that may call without anything to run."""


def decide(state: State) -> tuple[Action, ...]:
    """What to do now. The same state gives the same answer, however often it is asked."""
    run, turn = state.run, state.turn
    if run is None or state.ended is not None:
        return ()
    if state.halted is not None or not (turn.open or turn.finish in ENDED_WELL):
        return _wound_up(state)
    if turn.stray:
        return (CancelTools(call_ids=turn.stray), *(_meanwhile(state, run) if turn.open else ()))
    if turn.open:
        return _meanwhile(state, run)
    if not state.asking and any(spoken.result is None for spoken in turn.calls.values()):
        return _calls(state, run)
    return (_end(state, run) or _next(state, run),)


def _meanwhile(state: State, run: RunStarted) -> tuple[Action, ...]:
    """While the model speaks: what changes nothing may start."""
    calls = state.turn.calls
    if not calls or state.demand.mode == "none":
        return ()
    if not run.parallel and run.in_text:
        return (StopStream(),)  # one call was asked for, and there it is
    eager = tuple(_ready(state, run, calls.values() if run.parallel else [next(iter(calls.values()))]))
    return (RunTools(calls=eager),) if eager else ()


def _calls(state: State, run: RunStarted) -> tuple[Action, ...]:
    """When the message has ended: what can run, runs; when that is done, whoever must agree is asked."""
    if ready := tuple(_ready(state, run, state.turn.calls.values())):
        return (RunTools(calls=ready),)
    if state.turn.running:
        return ()
    waiting = (each for each in state.turn.calls.values() if each.stage == "waiting" and not _waits(state, each))
    asked = tuple(call for each in waiting if (call := _as_asked(state, each)) is not None)
    return (AskApproval(calls=asked),) if asked else ()


def _next(state: State, run: RunStarted) -> Action:
    if state.asking:
        return AskModel(turn=state.turn.number + 1, choice=state.demand, parallel=run.parallel)
    return Finish(reason="answered")


# Which calls can start


def _ready(state: State, run: RunStarted, spoken: Iterable[CallState]) -> Iterator[ToolCall]:
    """Calls that can start now, as many as may run at the same time."""
    free = _free(state, run.limits)
    alone = not state.turn.running
    for each in spoken:
        if each.result is not None:
            continue
        spec = state.specs.get(each.key[0])
        sequential = spec is not None and spec.sequential
        if free <= 0 or (sequential and not alone):
            return
        if each.call is not None and each.stage != "running" and _may_start(state, each):
            yield each.call
            free, alone = free - 1, False
        if sequential:  # what comes after it waits, whatever it waits for itself
            return


def _free(state: State, limits: Limits) -> int:
    free = max(limits.concurrent, 1) - len(state.turn.running)
    return free if limits.calls is None else min(free, limits.calls - state.made)


def _may_start(state: State, spoken: CallState) -> bool:
    spec = state.specs.get(spoken.key[0])
    if state.turn.open and (spec is None or spec.effect != "read" or spec.sequential or spec.approve):
        return False
    if _waits(state, spoken):
        return False
    # Nobody is asked about a call that cannot be made: running it says why.
    return spec is None or not spec.approve or spoken.stage == "approved" or _as_asked(state, spoken) is None


def _waits(state: State, spoken: CallState) -> bool:
    """Whether it refers to a call that has no result yet."""
    calls = state.turn.calls
    return any(call_id in calls and calls[call_id].result is None for call_id in spoken.needs)


def _as_asked(state: State, spoken: CallState) -> ToolCall | None:
    """The call with all its references resolved; None if one leads nowhere."""
    if spoken.call is None or not spoken.needs:
        return spoken.call
    try:
        arguments = resolved(spoken.call.arguments, state.results)
    except BrokenReference:
        return None
    return ToolCall(id=spoken.id, name=spoken.call.name, arguments=arguments)


# The end


def _wound_up(state: State) -> tuple[Action, ...]:
    """The run was stopped, or the message ended badly: nothing is left running, then it is over."""
    under_way = (*state.turn.running, *state.turn.stray)
    stop = (StopStream(),) if state.turn.open else ()
    cancel = (CancelTools(call_ids=under_way),) if under_way else ()
    return (*stop, *cancel) or (_abrupt(state),)


def _abrupt(state: State) -> Finish:
    if state.halted is not None:
        reasons: dict[str, StopReason] = {"cancelled": "cancelled", "deadline": "limit", "endpoint": "error"}
        return Finish(reason=reasons[state.halted.cause], detail=state.halted.detail)
    if state.turn.finish == "length":
        return Finish(reason="length", detail="the answer was cut off at the most tokens that it may have")
    if state.turn.finish == "refused":
        return Finish(reason="refused", detail="the endpoint refused to answer")
    return Finish(reason="error", detail="the endpoint ended the message with an error")


def _end(state: State, run: RunStarted) -> Finish | None:
    """Why the run is over now, if it is."""
    limits, turn = run.limits, state.turn
    if run.output and state.demand.mode == "auto" and any(_gave(each, run.output) for each in turn.calls.values()):
        return Finish(reason="answered")
    if limits.repeats is not None and state.most > limits.repeats:
        return Finish(reason="loop", detail=f"the model made the same call {state.most} times with the same result")
    if state.fumbles > FUMBLES:
        return Finish(reason="loop", detail=f"{state.fumbles} turns in a row made no call that could be run")
    if state.nudges > NUDGES:
        wanted = ", ".join(state.demand.names) or "a tool"
        return Finish(reason="limit", detail=f"the model did not call {wanted} though asked {state.nudges} times")
    if turn.over:
        return Finish(reason="limit", detail=f"the run may make {limits.calls} calls, and the model wanted more")
    if not state.asking:
        return None
    if limits.turns is not None and turn.number >= limits.turns:
        return Finish(reason="limit", detail=f"the run may take {limits.turns} turns, and the model is not done")
    used = state.usage.input_tokens + state.usage.output_tokens
    if limits.tokens is not None and used >= limits.tokens:
        return Finish(reason="limit", detail=f"the run may use {limits.tokens} tokens, and has used {used}")
    return None


def _gave(spoken: CallState, output: str) -> bool:
    result = spoken.result
    return spoken.key[0] == output and result is not None and result.ran and result.error is None
