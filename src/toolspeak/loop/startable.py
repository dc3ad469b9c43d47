"""Which calls of a turn can start now.

A call waits for the calls whose results it refers to, and the typed answer for all other calls. A sequential call waits
for all calls before it, and all calls after it wait for it. A call that needs approval, because of its tool or because
it is quoted, waits for the approval.
While the message is still arriving, only calls that change nothing may start: the rest of the message might still turn
out to be reasoning, or be cut off.
"""

from collections.abc import Iterable, Iterator

from toolspeak.limits import Limits
from toolspeak.loop.references import BrokenReference, resolve_references
from toolspeak.loop.state import CallState, State
from toolspeak.messages import ToolCall
from toolspeak.spec import ToolSpec


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
        spec = state.specs.get(each.key.tool)
        needs_approval = each.is_quoted or (spec is not None and spec.approve)
        if not needs_approval or each.stage != "waiting" or _waits_for_results(state, each):
            continue
        call = _resolve(state, each)
        if call is not None:
            yield call


def _can_start(state: State, entry: CallState, spec: ToolSpec | None) -> bool:
    needs_approval = entry.is_quoted or (spec is not None and spec.approve)
    if state.turn.is_open and (needs_approval or (spec is not None and spec.sequential)):
        return False
    if entry.depends_on and _waits_for_results(state, entry):
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
