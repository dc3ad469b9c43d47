"""The calls that the model must make: `State.demand`."""

from toolspeak.events import AUTO, ToolChoice
from toolspeak.loop.state import CallState, State


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


def waive_demand(state: State, call_id: str) -> None:
    """Stop demanding a call that somebody did not allow."""
    entry = state.turn.calls.get(call_id)
    if entry is not None:
        state.demand = update_demand(state.demand, [entry])
