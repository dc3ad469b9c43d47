"""`decide`: what an agent does next.

The agent asks the model. While the message arrives, calls that change nothing may start. When the message has ended
well, all its calls run: together, alone where a tool must run alone, after an approval where one is needed, and after
the calls whose results they need. The results go back to the model.

The run ends when the model answers without a call or gives the typed answer, when a limit is reached, when the model
goes round in a loop and does not find out of it with help (`guidance.py`), when a message ends badly, and when somebody
interrupts the run. A pause is no end: `AskApproval` without anybody to ask makes the driver raise `RunPaused`, and so
does `Suspend`, when all that is left to do waits.

A call waits for the calls whose results it refers to, and the typed answer for all other calls: the model did not know
their results when it wrote the answer. A sequential call waits for all calls before it, and all calls after it wait for
it. A call that needs approval waits for it: because of its tool, because it is quoted, or because a value of it comes
from nobody who may say it (`doubts.py`). While the message is still arriving, only calls that change nothing may
start: the rest of the message might still turn out to be reasoning, or be cut off.

`decide` is asked after every fact. The start of a turn or a call is recorded before the request is sent or the function
runs, so that asking twice starts nothing twice.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import ClassVar, Literal, TypeAlias

from toolspeak.loop import words
from toolspeak.loop.doubts import find_doubts, may_doubt
from toolspeak.loop.guidance import describe_loop, find_guidance, find_thought_guidance
from toolspeak.loop.references import BrokenReference, resolve_references
from toolspeak.loop.state import CallState, State, has_open_call
from toolspeak.values.events import (
    AUTO,
    BY_PROVENANCE,
    ENDED_WELL,
    ApprovalGiven,
    Doubt,
    Guided,
    RunStarted,
    StopReason,
    ToolChoice,
)
from toolspeak.values.frozen import frozen
from toolspeak.values.limits import Limits
from toolspeak.values.messages import ToolCall
from toolspeak.values.spec import ToolSpec


def find_startable(state: State, limits: Limits, calls: Iterable[CallState]) -> list[ToolCall]:
    """Return those of `calls` that can start now, as many as may run at the same time."""
    running = len(state.turn.running_ids)
    free = max(limits.concurrent, 1) - running
    if limits.calls is not None:
        free = min(free, limits.calls - state.started_calls)
    alone, is_open = not running, state.turn.is_open
    startable: list[ToolCall] = []
    for each in calls:
        if each.result is not None:
            continue
        spec = state.specs.get(each.key.tool)
        sequential = spec is not None and spec.sequential
        if each.stage == "suspended":  # it does not run, and calls that must run alone wait for it all the same
            alone = False
            if sequential:
                break
            continue
        if free <= 0 or (sequential and not alone):
            break
        is_early = is_open and (spec is None or spec.effect != "read")
        if each.stage != "running" and not is_early and each.call is not None and _can_start(state, each, spec):
            startable.append(each.call)
            free, alone = free - 1, False
        if sequential:
            break
    return startable


def find_unapproved(state: State) -> Iterator[ToolCall]:
    """Yield the calls that wait for an approval, with their references resolved."""
    for each in state.turn.calls.values():
        if each.stage != "waiting" or _waits_for_results(state, each) or not _needs_approval(state, each):
            continue
        call = _resolve(state, each)
        if call is not None:
            yield call


def _needs_approval(state: State, entry: CallState) -> bool:
    """Whether somebody must allow a call: its tool says so, it is quoted, or a value of it is in doubt."""
    spec = state.specs.get(entry.key.tool)
    if spec is None:
        return entry.is_quoted
    # Doubts come first, so that the question has all reasons.
    return (may_doubt(state, entry, spec) and bool(find_doubts(state, entry, spec))) or entry.is_quoted or spec.approve


def _can_start(state: State, entry: CallState, spec: ToolSpec | None) -> bool:
    if entry.depends_on and _waits_for_results(state, entry):
        return False
    needs_approval = _needs_approval(state, entry)
    if state.turn.is_open and (needs_approval or (spec is not None and spec.sequential)):
        return False
    if state.run is not None and entry.key.tool == state.run.output and _answers_too_early(state, entry):
        return False
    # A call with a broken reference needs no approval: it starts, and fails with the reason.
    return not needs_approval or entry.stage == "approved" or _resolve(state, entry) is None


def _waits_for_results(state: State, entry: CallState) -> bool:
    calls, needed = state.turn.calls, entry.depends_on
    return bool(needed) and any(call_id in calls and calls[call_id].result is None for call_id in needed)


def _answers_too_early(state: State, entry: CallState) -> bool:
    """Whether a call gives the typed answer while others of its message, which do not wait for it, have no result."""
    calls = state.turn.calls
    if len(calls) == 1:
        return False
    waiting_ids = {entry.id}  # this call, and all that wait for it
    for each in calls.values():  # a call refers to earlier ones only
        if waiting_ids.intersection(each.depends_on):
            waiting_ids.add(each.id)
    return any(
        each.result is None and each.id not in waiting_ids and each.key.tool != entry.key.tool
        for each in calls.values()
    )


def _resolve(state: State, entry: CallState) -> ToolCall | None:
    """Return the call with its references resolved; None if a reference is broken."""
    if entry.call is None or not entry.depends_on:
        return entry.call
    try:
        arguments = resolve_references(entry.call.arguments, state.results)
    except BrokenReference:
        return None
    return ToolCall(id=entry.id, name=entry.call.name, arguments=arguments)


@frozen
class AskModel:
    """Ask the model for its next message. The driver emits `TurnStarted` first."""

    kind: ClassVar[Literal["ask_model"]] = "ask_model"
    turn: int
    choice: ToolChoice = AUTO
    parallel: bool = True


@frozen
class StopStream:
    """Close the stream of the message. The driver emits `TurnEnded` with the parts that have arrived."""

    kind: ClassVar[Literal["stop_stream"]] = "stop_stream"


@frozen
class RunTools:
    """Run these calls, all at once. The driver emits `ToolStarted` for each first."""

    kind: ClassVar[Literal["run_tools"]] = "run_tools"
    calls: tuple[ToolCall, ...]


@frozen
class CancelTools:
    """Cancel these calls: nobody waits for them any more. Each still ends with `ToolFinished`."""

    kind: ClassVar[Literal["cancel_tools"]] = "cancel_tools"
    call_ids: tuple[str, ...]


@frozen
class AskApproval:
    """Ask somebody to approve these calls. The driver emits `ApprovalNeeded` for each first.

    `doubts` are the values that nobody explains who may, by the id of the call.
    """

    kind: ClassVar[Literal["ask_approval"]] = "ask_approval"
    calls: tuple[ToolCall, ...]
    doubts: Mapping[str, tuple[Doubt, ...]] = field(default_factory=dict[str, tuple[Doubt, ...]])


@frozen
class RefuseCalls:
    """Do not run calls with values in doubt. The driver emits the facts."""

    kind: ClassVar[Literal["refuse_calls"]] = "refuse_calls"
    facts: tuple[ApprovalGiven, ...]


@frozen
class Guide:
    """Help a model that is lost on its way. The driver emits the fact."""

    kind: ClassVar[Literal["guide"]] = "guide"
    fact: Guided


@frozen
class Suspend:
    """Put the run down: some of its calls wait for a time or a signal, and nothing else can go on before."""

    kind: ClassVar[Literal["suspend"]] = "suspend"


@frozen
class Finish:
    """End the run. The driver emits `RunEnded`."""

    kind: ClassVar[Literal["finish"]] = "finish"
    reason: StopReason
    detail: str = ""


Action: TypeAlias = (
    AskModel | StopStream | RunTools | CancelTools | AskApproval | RefuseCalls | Suspend | Guide | Finish
)
"""What the driver is asked to do."""

MAX_UNMET_DEMANDS = 2
"""How often the model is asked again for a call that it must make."""

STOP_REASONS: dict[str, StopReason] = {
    "cancelled": "cancelled",
    "deadline": "limit",
    "context": "limit",
    "endpoint": "error",
}
"""Why a run ended, by the cause of its interruption."""


def decide(state: State) -> tuple[Action, ...]:
    """Return what to do now. The same state always gives the same actions."""
    run, turn = state.run, state.turn
    if run is None or state.ended is not None:
        return ()
    ended_badly = not turn.is_open and turn.finish not in ENDED_WELL
    if state.interruption is not None or ended_badly:
        return _stop_work(state) or (_finish_early(state),)
    if turn.abandoned_ids:  # calls that run although their message counts no longer
        cancel = CancelTools(call_ids=turn.abandoned_ids)
        if turn.is_open:
            return (cancel, *_start_early(state, run))
        # A message that broke off is asked for meanwhile. All else waits for the calls that are being cancelled.
        can_ask = state.model_is_next and not turn.calls and _find_end(state, run) is None
        return (cancel, _ask_model(state, run)) if can_ask else (cancel,)
    if turn.is_open:
        return _start_early(state, run)
    if not state.model_is_next and has_open_call(turn):
        return _run_calls(state, run)
    if (finish := _find_end(state, run)) is not None:
        return (finish,)
    if turn.thought_calls and run.guided and _find_limit(state, run) is None:
        guided = find_thought_guidance(state)
        if guided is not None:
            return (Guide(fact=guided),)
    if state.model_is_next:
        guided = find_guidance(state, run) if run.guided and state.may_be_lost else None
        return (_ask_model(state, run) if guided is None else Guide(fact=guided),)
    if state.empty_messages:
        return (Finish(reason="empty", detail="the model sent neither text nor a call, and was asked twice"),)
    return (Finish(reason="answered"),)


def _ask_model(state: State, run: RunStarted) -> AskModel:
    choice = state.demand
    if state.guidance is not None and (guidance := state.next_guidance) is not None and guidance.step == "words":
        choice = ToolChoice(mode="named", names=(run.output,)) if run.output else ToolChoice(mode="none")
    return AskModel(turn=state.turn.number + 1, choice=choice, parallel=run.parallel)


def _start_early(state: State, run: RunStarted) -> tuple[Action, ...]:
    """While the message arrives: start calls that change nothing, or stop after the one call that may be made."""
    calls = state.turn.calls
    if not calls or state.demand.mode == "none":
        return ()
    in_text = run.in_text if state.turn.in_text is None else state.turn.in_text
    if not run.parallel and in_text:
        return (StopStream(),)
    candidates = calls.values() if run.parallel else [next(iter(calls.values()))]
    early = find_startable(state, run.limits, candidates)
    return (RunTools(calls=tuple(early)),) if early else ()


def _run_calls(state: State, run: RunStarted) -> tuple[Action, ...]:
    """When the message has ended: run the calls that can start; when they are done or wait, ask for the approvals."""
    if startable := find_startable(state, run.limits, state.turn.calls.values()):
        return (RunTools(calls=tuple(startable)),)
    if state.turn.running_ids:
        return ()
    unapproved = tuple(find_unapproved(state))
    if unapproved:
        doubts = {call.id: found for call in unapproved if (found := state.turn.doubts.get(call.id))}
        if doubts and run.provenance == "refuse":
            return (RefuseCalls(facts=tuple(_refuse(call_id, found) for call_id, found in doubts.items())),)
        return (AskApproval(calls=unapproved, doubts=doubts),)
    stages = {each.stage for each in state.turn.calls.values()}
    return (Suspend(),) if "suspended" in stages and "awaiting_approval" not in stages else ()


def _refuse(call_id: str, doubts: tuple[Doubt, ...]) -> ApprovalGiven:
    return ApprovalGiven(call_id=call_id, approved=False, reason=words.explain_doubts(doubts), by=BY_PROVENANCE)


def _stop_work(state: State) -> tuple[Action, ...]:
    """When the run was interrupted or the message ended badly: stop what is still under way."""
    turn = state.turn
    stop = (StopStream(),) if turn.is_open else ()
    under_way = (*turn.running_ids, *turn.abandoned_ids)
    return (*stop, CancelTools(call_ids=under_way)) if under_way else stop


def _finish_early(state: State) -> Finish:
    if state.interruption is not None:
        return Finish(reason=STOP_REASONS[state.interruption.cause], detail=state.interruption.detail)
    if state.turn.finish == "length":
        return Finish(reason="length", detail="the answer was cut off at the most tokens that it may have")
    if state.turn.finish == "refused":
        return Finish(reason="refused", detail="the endpoint refused to answer")
    return Finish(reason="error", detail="the endpoint ended the message with an error")


def _find_end(state: State, run: RunStarted) -> Finish | None:
    """Return the end of the run if the typed answer was given, the model is in a loop, or a limit is reached."""
    limits, turn = run.limits, state.turn
    if run.output and state.demand.mode == "auto":
        results = (each.result for each in turn.calls.values() if each.key.tool == run.output)
        if any(result is not None and result.ran and result.error is None for result in results):
            return Finish(reason="answered")  # the typed answer was given, and its arguments were accepted
    if (state.may_be_lost or not run.guided) and (detail := describe_loop(state, run)):
        return Finish(reason="loop", detail=detail)
    if state.unmet_demands > MAX_UNMET_DEMANDS:
        wanted, count = ", ".join(state.demand.names) or "a tool", state.unmet_demands
        return Finish(reason="limit", detail=f"the model did not call {wanted} though asked {count} times")
    if turn.exceeds_call_limit:
        calls = f"{limits.calls} call{'s' * (limits.calls != 1)}"
        return Finish(reason="limit", detail=f"the run may make {calls}, and the model wanted more")
    return _find_limit(state, run) if state.model_is_next else None


def _find_limit(state: State, run: RunStarted) -> Finish | None:
    """Return the end of the run if a limit keeps it from asking the model once more."""
    limits, turn = run.limits, state.turn
    if limits.turns is not None and turn.number >= limits.turns:
        turns = f"{limits.turns} turn{'s' * (limits.turns != 1)}"
        return Finish(reason="limit", detail=f"the run may take {turns}, and the model is not done")
    used = state.usage.input_tokens + state.usage.output_tokens
    if limits.tokens is not None and used >= limits.tokens:
        return Finish(reason="limit", detail=f"the run may use {limits.tokens} tokens, and has used {used}")
    if limits.cost is not None and (state.cost is None or state.cost >= limits.cost):
        cost = "what it has cost is unknown" if state.cost is None else f"has cost ${state.cost:.4g}"
        return Finish(reason="limit", detail=f"the run may cost ${limits.cost:.4g}, and {cost}")
    return None
