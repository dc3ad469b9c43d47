"""What one turn needs: the conversation as the model is shown it, and the reader of its answer.

If the run has a budget for tools, the model is shown some of them. The budget is in the first fact of the run, and
everything else follows from the conversation, so that a run that is resumed shows the same tools in the same places
(`toolspeak.dialects.tool_selection`). When the conversation is compacted, the tools that the dropped messages had added
move to the list at the beginning of the prompt.
"""

from collections.abc import MutableMapping, Sequence, Set

from toolspeak.dialects import Dialect, Shown
from toolspeak.dialects.text import show_figures
from toolspeak.dialects.tool_selection import ToolSelection, ToolView, select_tools
from toolspeak.loop import AskModel, State
from toolspeak.loop.compaction import replace_system, show_history
from toolspeak.loop.recall import RECALL
from toolspeak.turns import QuotationFinder, TurnReader
from toolspeak.values.events import RunStarted
from toolspeak.values.messages import Message


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


def _select(state: State, dialect: Dialect, budget: int, kept: Sequence[str]) -> ToolSelection:
    names = state.run.search_tools if state.run is not None else ()
    help_tool, find_tool = [state.specs.get(name) for name in names] or (None, None)
    return select_tools(
        state.searched_specs, dialect, budget, state.history, help_tool=help_tool, find_tool=find_tool, kept=kept
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


def render_request(state: State, dialect: Dialect, action: AskModel) -> Shown:
    """Return what a model is shown in its next turn."""
    if state.run is not None and state.run.figures:
        dialect = show_figures(dialect)
    if state.run is None or state.run.tool_budget is None:
        view, history = None, state.shown_history
    else:
        view, history = view_run_tools(state, dialect, state.run, state.run.tool_budget)
    if state.speaker is not None:
        history = replace_system(history, state.speaker.system)
    if view is None:
        return dialect.render(tuple(state.specs.values()), history, choice=action.choice, parallel=action.parallel)
    return view.render(history, action.choice, parallel=action.parallel)


def build_reader(
    state: State,
    dialect: Dialect,
    action: AskModel,
    quotations: MutableMapping[str, QuotationFinder],
    discarded_ids: Set[str],
) -> TurnReader:
    """Build the reader of the answer.

    What tells which calls are quoted is kept in `quotations` for the next turns, by the names of dialects. The ids of
    calls in messages that broke off, `discarded_ids`, must not be given again.
    """
    specs = tuple(state.specs.values())
    if (finder := quotations.get(dialect.name)) is None:
        finder = quotations[dialect.name] = QuotationFinder(specs, dialect, state.earlier_specs)
    finder.follow(state.history)
    ids = finder.call_ids
    if discarded_ids:
        ids.add(discarded_ids)
    return TurnReader(
        dialect,
        specs,
        single=not action.parallel,
        prefix=ids.find_prefix(action.turn),
        taken=ids,
        quotations=finder,
    )
