"""How a model that is lost finds its way back: `find_guidance` returns the next step, as the fact `Guided`.

A model is lost when it makes the same call with the same result again, alone or in turn with others, or when no call of
its messages can be run. First it is told what it has tried in vain and what it has not tried. Then calls of these tools
are not run in its next message. Then it is asked for its answer, and no call is run. After that the run ends.

If the run has an `Escalation`, the next model is asked for one message where the first was told and is still lost. This
takes the place of withholding its tools.

A tool that is withheld stays in the list of tools, and calls of it are refused with words. The list stands at the
beginning of every request: without the tool, an endpoint would read the whole conversation anew, and once more when the
tool comes back. And a model that reads its own calls of a tool that is not in the list goes on to call it.
"""

from toolspeak.loop import words
from toolspeak.loop.state import CallKey, CallState, State, make_key
from toolspeak.values.events import EscalationCause, Guided, LossCause, RunStarted
from toolspeak.values.messages import compose
from toolspeak.values.origin import Origin, Stretch

MAX_FAILED_TURNS = 3
"""How many turns in a row may fail, which means that not one call in them could be run."""

MAX_EXCERPT_CHARS = 200
"""Characters of a result that are repeated for a model that is lost."""

MAX_UNTRIED_NAMES = 10
"""How many tools that it has not tried a model that is lost is told."""


def find_guidance(state: State, run: RunStarted) -> Guided | None:
    """Return the next step for a model that is lost; None if it is not, or if nothing is left to try."""
    if state.next_guidance is not None:
        return None
    if not state.turn.calls:
        larger = find_larger_model(state, "missing") if max(state.unmet_demands, state.empty_messages) == 2 else ""
        names = state.demand.names
        return Guided(cause="missing", step="escalated", tools=names, model=larger) if larger else None
    loss, cause = measure_loss(state, run)
    larger = find_larger_model(state, "loop" if cause == "repeated" else "malformed") if loss else ""
    is_escalated = larger != "" and loss == (2 if cause == "repeated" else 1)
    is_free = state.demand.mode == "auto"
    if not loss or (loss > 1 and not is_free and not is_escalated) or (loss > 2 and state.asked_for_words):
        return None
    calls = _find_vain_calls(state, cause)
    names = dict.fromkeys(each.key.tool for each in calls)
    tools = tuple(name for name in names if name in state.specs and name != run.output)
    report = [*_report_calls(state, calls, cause), Stretch(_list_untried(state, run), Origin.LOOP)]
    if is_escalated or loss == 1 or (loss == 2 and not tools):
        note = compose([*report, Stretch(words.TRY_SOMETHING_ELSE, Origin.LOOP)])
        if is_escalated:
            return Guided(cause=cause, step="escalated", tools=tools, note=note, model=larger)
        return Guided(cause=cause, step="told", tools=tools, note=note)
    if loss == 2:
        note = compose([*report, Stretch(words.announce_withheld(tools), Origin.LOOP)])
        return Guided(cause=cause, step="withheld", tools=tools, note=note)
    note = compose([Stretch(words.demand_words(run.output), Origin.LOOP)])
    return Guided(cause=cause, step="words", tools=tools, note=note, model=larger)


def find_larger_model(state: State, cause: EscalationCause) -> str:
    """Return the model that is asked when the one before it is lost in this way; "" if there is none."""
    escalation = None if state.run is None else state.run.escalation
    if escalation is None or cause not in escalation.causes or state.base_model not in escalation.models:
        return ""
    return "".join(escalation.models[escalation.models.index(state.base_model) + 1 :][:1])


def find_thought_guidance(state: State) -> Guided | None:
    """Return what a model is told that made a call in its reasoning only; None if it was told before.

    A call that was made before is none that is missing: the model thinks of its result.
    """
    made = {each.key for each in state.finished_calls}
    tools = tuple(dict.fromkeys(call.name for call in state.turn.thought_calls if make_key(call) not in made))
    if not tools or state.told_of_thought or state.asked_for_words or state.demand.mode == "none":
        return None
    note = compose([Stretch(words.explain_thought_calls(tools), Origin.LOOP)])
    return Guided(cause="thought", step="told", tools=tools, note=note)


def describe_loop(state: State, run: RunStarted) -> str:
    """Return why the run ends, if the model is in a loop and nothing is left that could help it; else ""."""
    repeats, count, failed = run.limits.repeats, state.repeat_count, state.failed_turns
    if repeats is None:
        return ""
    is_repeated = count > repeats
    if run.guided:
        loss, cause = measure_loss(state, run)
        if loss < 3 or (state.demand.mode == "auto" and not state.asked_for_words):
            return ""
        is_repeated = cause == "repeated"
    asked = ", and it gave no answer though asked for one" if state.asked_for_words else ""
    if is_repeated:
        return f"the model made the same call {count} times with the same result{asked}"
    return f"{failed} turns in a row made no call that could be run{asked}" if failed > MAX_FAILED_TURNS else ""


def measure_loss(state: State, run: RunStarted) -> tuple[int, LossCause]:
    """Return how lost the model is after its latest message, from 0 (not at all) to 3, and how it is lost."""
    repeats, count = run.limits.repeats, state.repeat_count
    if repeats is None or not state.model_is_next or not state.turn.calls or state.next_guidance is not None:
        return 0, "repeated"
    failing = min(max(state.failed_turns - 1, 0), MAX_FAILED_TURNS)
    repeated = min(count - repeats + 2, 3) if count > 1 else 0
    return (failing, "failing") if failing >= repeated else (repeated, "repeated")


def _find_vain_calls(state: State, cause: LossCause) -> list[CallState]:
    """Return the calls that the model makes in vain, each once: of its last message, or all that it makes in turn."""
    last = list(state.turn.calls.values())
    if cause == "failing":
        return last
    newest = max(last, key=lambda call: _count(state, call))
    found: dict[CallKey, CallState] = {newest.key: newest}
    for each in reversed(state.finished_calls):
        if each.key == newest.key and each.id not in state.turn.calls:
            break
        if _count(state, each) > 1:
            found.setdefault(each.key, each)
    return list(found.values())[::-1]


def _count(state: State, call: CallState) -> int:
    return state.repeat_counts.get((call.key, call.shown_text), 0)


def _report_calls(state: State, calls: list[CallState], cause: LossCause) -> list[Stretch]:
    """Return what the model is told of the calls that it made in vain, and of their results."""
    if cause == "failing":
        report = [Stretch(words.report_failures(state.failed_turns), Origin.LOOP)]
    else:
        report = [Stretch(words.REPEATED_CALLS, Origin.LOOP)]
    for each in calls:
        spec = state.specs.get(each.key.tool)
        origin = Origin.OWN_RESULT if spec is not None and spec.result == "own" else Origin.FOREIGN_RESULT
        name = each.key.tool if spec is not None else "a call"
        times = f" ({_count(state, each)} times)" if cause == "repeated" else ""
        excerpt = _shorten(each.shown_text)
        report += [
            Stretch(f"- {name}{times}: ", Origin.LOOP),
            Stretch(excerpt, origin),
            Stretch("\n", Origin.LOOP),
        ]
    return report


def _shorten(text: str) -> str:
    """Return the beginning of a text on one line. No word is cut: a half of a key would not be known as one."""
    shown = " ".join(text[: 4 * MAX_EXCERPT_CHARS].split())
    if len(shown) <= MAX_EXCERPT_CHARS and len(text) <= 4 * MAX_EXCERPT_CHARS:
        return shown
    return f"{shown[:MAX_EXCERPT_CHARS].rpartition(' ')[0]} …"


def _list_untried(state: State, run: RunStarted) -> str:
    """Return a sentence that names the tools which the model has not called in this run; "" if there are none."""
    called = {each.key.tool for each in state.finished_calls}
    names = [spec.name for spec in state.searched_specs if spec.name not in called and spec.name != run.output]
    return words.list_untried(names[:MAX_UNTRIED_NAMES], len(names) - MAX_UNTRIED_NAMES) if names else ""
