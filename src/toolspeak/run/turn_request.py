"""What one turn needs: the conversation as the model is shown it, and the reader of its answer."""

from collections.abc import MutableMapping, Set

from toolspeak.dialects import Dialect, Shown
from toolspeak.loop import AskModel, State
from toolspeak.run.conversation import replace_system
from toolspeak.run.shown_tools import view_run_tools
from toolspeak.turns import QuotationFinder, TurnReader


def render_request(state: State, dialect: Dialect, action: AskModel) -> Shown:
    """Return what a model is shown in its next turn."""
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

    Args:
        state: The state of the run.
        dialect: The dialect in which the model is asked.
        action: What the model is asked for.
        quotations: What tells which calls are quoted, by the names of dialects. It is kept here for the next turns.
        discarded_ids: The ids of calls in messages that broke off, which must not be given again.
    """
    specs = tuple(state.specs.values())
    if (finder := quotations.get(dialect.name)) is None:
        finder = quotations[dialect.name] = QuotationFinder(specs, dialect)
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
