"""`/why`: explains from the facts of a run how the calls in the last answer were read."""

from collections.abc import Iterator, Sequence

from rich.text import Text

from toolspeak.cli.format import format_call_line
from toolspeak.cli.safe_text import escape_controls
from toolspeak.dialects.explanation_notes import REPAIRS
from toolspeak.events import (
    CallMalformed,
    CallReady,
    Fact,
    RunStarted,
    SaidInThought,
    TurnEnded,
    TurnRestarted,
    TurnStarted,
)


def explain_calls(facts: Sequence[Fact]) -> list[Text]:
    """Return lines that show, for each turn with calls, the text of the model and the calls read from it."""
    dialect = next((fact.dialect for fact in facts if isinstance(fact, RunStarted)), "")
    lines = [line for turn in _split_turns(facts) for line in _explain_turn(turn, dialect)]
    return lines or [Text("there was no call in the last answer", "dim")]


def _split_turns(facts: Sequence[Fact]) -> Iterator[list[Fact]]:
    turn: list[Fact] = []
    for fact in facts:
        if isinstance(fact, TurnStarted) and turn:
            yield turn
            turn = []
        turn.append(fact)
    yield turn


def _explain_turn(facts: list[Fact], dialect: str) -> Iterator[Text]:
    calls = [fact for fact in facts if isinstance(fact, CallReady | CallMalformed)]
    if not calls:
        return
    started = next((fact for fact in facts if isinstance(fact, TurnStarted)), TurnStarted(turn=0))
    yield Text(f"turn {started.turn}, {escape_controls(started.dialect or dialect)} dialect", "bold")
    message = next((fact.message for fact in facts if isinstance(fact, TurnEnded)), None)
    if message is not None and message.raw is not None:
        yield Text("  the model wrote:")
        yield from (Text(f"  │ {line}", "cyan") for line in escape_controls(message.raw.text).split("\n"))
    else:
        yield Text("  the calls came through the endpoint's own tool calling, not as text", "dim")
    for fact in calls:
        yield from _explain_call(fact)
    if any(isinstance(fact, TurnRestarted) for fact in facts):
        yield Text("  the message broke off, and its calls do not count", "dim")
    if any(isinstance(fact, SaidInThought) for fact in facts):
        yield Text("  what stands before the end of the reasoning does not count", "dim")


def _explain_call(fact: CallReady | CallMalformed) -> Iterator[Text]:
    if isinstance(fact, CallReady):
        yield Text.assemble(("  call ", "green"), format_call_line(fact.call))
        yield Text(f"    repair: {fact.repair} ({REPAIRS[fact.repair]})", "dim")
        return
    yield Text.assemble(("  malformed ", "yellow"), escape_controls(f"{fact.name or 'a call'}: {fact.reason}"))
    if fact.hint:
        yield Text(f"    hint to the model: {escape_controls(fact.hint)}", "dim")
    yield from (Text(f"    │ {line}", "cyan") for line in escape_controls(fact.raw).split("\n"))
