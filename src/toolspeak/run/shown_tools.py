"""Which tools of a run its model is shown, if the run has a budget for them.

The budget is in the first fact of a run, and everything else follows from the conversation, so that a run that is
resumed shows the same tools in the same places (`toolspeak.dialects.tool_selection`). When the conversation is
compacted, the tools that the dropped messages had added move to the list at the beginning of the prompt.
"""

from collections.abc import Sequence

from toolspeak.dialects import Dialect
from toolspeak.dialects.tool_selection import ToolSelection, ToolView, select_tools
from toolspeak.events import RunStarted
from toolspeak.loop import State
from toolspeak.loop.compaction import show_history
from toolspeak.loop.recall import RECALL
from toolspeak.messages import Message
from toolspeak.spec import ToolSpec


def view_run_tools(
    state: State, dialect: Dialect, run: RunStarted, budget: int
) -> tuple[ToolView, tuple[Message, ...]]:
    """Return the tools of a run with a budget and its conversation as the model is shown them next."""
    kept = [*run.choice.names, RECALL.name, *([run.output] if run.output else [])]
    view = _select(state, dialect, budget, kept).view(state.history)
    if state.compacted is not None and state.compacted.dropped:
        kept += _list_dropped(state, view)
        view = _select(state, dialect, budget, kept).view(state.history)
    return view, show_history(view.history, state.compacted, has_recall=state.has_recall)


def list_searched(state: State) -> list[ToolSpec]:
    """Return the tools that a model may be shown, in the order in which they are ranked when it is shown them."""
    own = () if state.run is None else state.run.search_tools
    return [spec for spec in state.specs.values() if spec.name not in own]


def _select(state: State, dialect: Dialect, budget: int, kept: Sequence[str]) -> ToolSelection:
    names = state.run.search_tools if state.run is not None else ()
    help_tool, find_tool = [state.specs.get(name) for name in names] or (None, None)
    return select_tools(
        list_searched(state), dialect, budget, state.history, help_tool=help_tool, find_tool=find_tool, kept=kept
    )


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
