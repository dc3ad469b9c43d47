"""Which tools of a run its model is shown, if the run has a budget for them.

The budget is in the first fact of a run, and everything else follows from the conversation, so that a run that is
resumed shows the same tools in the same places (`toolspeak.dialects.tool_selection`). When the conversation is
compacted, the tools that the dropped messages had added move to the list at the beginning of the prompt.
"""

from collections.abc import Sequence

from toolspeak.dialects import Dialect
from toolspeak.dialects.slim_tools import HELP_DESCRIPTION
from toolspeak.dialects.tool_selection import FIND_DESCRIPTION, ToolSelection, ToolView, select_tools
from toolspeak.loop import State
from toolspeak.loop.compaction import show_history
from toolspeak.loop.recall import RECALL
from toolspeak.messages import Message
from toolspeak.spec import ToolSpec


def view_run_tools(state: State, dialect: Dialect) -> tuple[ToolView, tuple[Message, ...]]:
    """Return the tools of a run and its conversation as the model is shown them next."""
    if state.run is None or state.run.tool_budget is None:
        listed = tuple(state.specs.values())
        return ToolView(listed=listed, history=state.history, dialect=dialect), state.shown_history
    kept = [*state.run.choice.names, RECALL.name, *([state.run.output] if state.run.output else [])]
    view = _select(state, dialect, state.run.tool_budget, kept).view(state.history)
    if state.compacted is not None and state.compacted.dropped:
        kept += _list_dropped(state, view)
        view = _select(state, dialect, state.run.tool_budget, kept).view(state.history)
    return view, show_history(view.history, state.compacted, has_recall=state.has_recall)


def _select(state: State, dialect: Dialect, budget: int, kept: Sequence[str]) -> ToolSelection:
    own = {spec.name: spec for spec in state.specs.values() if is_search_tool(spec)}
    return select_tools(
        [spec for spec in state.specs.values() if spec.name not in own],
        dialect,
        budget,
        state.history,
        help_tool=next((spec for spec in own.values() if spec.description == HELP_DESCRIPTION), None),
        find_tool=next((spec for spec in own.values() if spec.description != HELP_DESCRIPTION), None),
        kept=kept,
    )


def is_search_tool(spec: ToolSpec) -> bool:
    """Whether a tool is one of toolspeak that helps with other tools."""
    return spec.description == HELP_DESCRIPTION or spec.description.startswith(FIND_DESCRIPTION)


def _list_dropped(state: State, view: ToolView) -> list[str]:
    """Return the tools that were added or called in messages that are no longer shown, the newest first."""
    dropped = 0 if state.compacted is None else state.compacted.dropped
    added = dict(view.places)
    names: list[str] = []
    count = 0
    for place, message in enumerate(state.history):
        if message.role == "system":
            continue
        if count < dropped:
            names += [*added.get(place, ()), *(call.name for call in message.calls)]
        count += 1
    return names[::-1]
