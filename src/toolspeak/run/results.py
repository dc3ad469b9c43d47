"""What a run gives: its outcome, built from the state in which it ended, or the error that it is paused."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from toolspeak.events import Fact
from toolspeak.loop import BrokenReference, State, resolve_references
from toolspeak.messages import ToolCall, ToolResult
from toolspeak.outcome import CallRecord, Outcome

NO_EXCEPTIONS: Mapping[str, BaseException] = MappingProxyType({})


def build_outcome(
    state: State, facts: tuple[Fact, ...], output: Any = None, exceptions: Mapping[str, BaseException] = NO_EXCEPTIONS
) -> Outcome[Any]:
    """Build the outcome of a run that has ended; `exceptions` are those of failed calls, by the ids of the calls."""
    texts = [message.text for message in state.history[state.turn.history_start :] if message.role == "assistant"]
    return Outcome(
        text=texts[0] if state.turn.number and texts else "",
        calls=_list_calls(state, exceptions),
        messages=state.history,
        facts=facts,
        usage=state.usage,
        cost=state.cost,
        stop_reason=state.ended.reason if state.ended else "error",
        detail=state.ended.detail if state.ended else "",
        output=output,
        agent=state.speaker.agent if state.speaker else "",
        run_id=state.run_id,
        compacted=state.compacted,
    )


def find_output(state: State, tool: str) -> ToolResult | None:
    """Return the last successful result of the tool that gives the typed answer; None if there is no such result."""
    results = [call.result for call in state.finished_calls if call.key.tool == tool]
    return next((result for result in reversed(results) if result is not None and result.error is None), None)


def _list_calls(state: State, exceptions: Mapping[str, BaseException]) -> tuple[CallRecord, ...]:
    """List the calls that could be read, with each reference to a result replaced by its value."""
    results = {call.id: call.result for call in state.finished_calls if call.result is not None}
    return tuple(
        CallRecord(
            call=_resolve(call.call, results) if call.depends_on else call.call,
            result=call.result,
            exception=exceptions.get(call.id),
        )
        for call in state.finished_calls
        if call.call and call.result
    )


def _resolve(call: ToolCall, results: dict[str, ToolResult]) -> ToolCall:
    try:
        return ToolCall(id=call.id, name=call.name, arguments=resolve_references(call.arguments, results))
    except BrokenReference:
        return call
