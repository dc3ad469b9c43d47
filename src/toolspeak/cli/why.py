"""`/why`: why the calls of the last answer were read as they were. The facts of the run tell."""

from collections.abc import Iterator, Sequence

from rich.text import Text

from toolspeak.cli.display import call_line, visible
from toolspeak.events import CallMalformed, CallReady, Fact, Repair, RunStarted, SaidInThought, TurnEnded, TurnStarted

REPAIRS: dict[Repair, str] = {
    "none": "read as it stands",
    "syntax": "slips of syntax were mended",
    "quotes": "quotes that do not pair were mended",
    "closers": "brackets that were missing at the end were supplied",
    "shape": "known by its shape alone",
}


def explained(facts: Sequence[Fact]) -> list[Text]:
    """What was said in each turn that has calls, and what was made of it."""
    dialect = next((fact.dialect for fact in facts if isinstance(fact, RunStarted)), "")
    lines = [line for turn in _turns(facts) for line in _turn(turn, dialect)]
    return lines or [Text("nothing was called in the last answer", "dim")]


def _turns(facts: Sequence[Fact]) -> Iterator[list[Fact]]:
    turn: list[Fact] = []
    for fact in facts:
        if isinstance(fact, TurnStarted) and turn:
            yield turn
            turn = []
        turn.append(fact)
    yield turn


def _turn(facts: list[Fact], dialect: str) -> Iterator[Text]:
    read = [fact for fact in facts if isinstance(fact, CallReady | CallMalformed)]
    if not read:
        return
    number = next((fact.turn for fact in facts if isinstance(fact, TurnStarted)), 0)
    yield Text(f"turn {number}, {dialect} dialect", "bold")
    message = next((fact.message for fact in facts if isinstance(fact, TurnEnded)), None)
    if message is not None and message.raw is not None:
        yield Text("  what the model said:")
        yield from (Text(f"  │ {line}", "cyan") for line in visible(message.raw.text).split("\n"))
    else:
        yield Text("  the endpoint marked the calls itself; there is no text to read them from", "dim")
    for fact in read:
        yield from _call(fact)
    if any(isinstance(fact, SaidInThought) for fact in facts):
        yield Text("  what was said before the end of the reasoning does not count", "dim")


def _call(fact: CallReady | CallMalformed) -> Iterator[Text]:
    if isinstance(fact, CallReady):
        yield Text.assemble(("  call ", "green"), call_line(fact.call))
        yield Text(f"    repair: {fact.repair} ({REPAIRS[fact.repair]})", "dim")
        return
    yield Text.assemble(("  not a call ", "yellow"), visible(f"{fact.name or 'without a name'}: {fact.reason}"))
    if fact.hint:
        yield Text(f"    the model was told: {visible(fact.hint)}", "dim")
    yield from (Text(f"    │ {line}", "cyan") for line in visible(fact.raw).split("\n"))
