"""`StoreContract`: what a store must do from which runs are resumed."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, Protocol

from toolspeak.errors import RunPaused
from toolspeak.events import Fact, RunStarted
from toolspeak.outcome import Outcome
from toolspeak.run import Agent, Recorder
from toolspeak.testing.contract import Contract, require
from toolspeak.testing.scripted import ScriptedModel, calls, says
from toolspeak.tools import tool

ODD_TEXT = "é 😀 \u2028 \x00 \\ \" ' {} \r\n\tend"
"""A text with characters that files, databases and lines of JSON treat in their own ways."""


class FactStore(Protocol):
    """Keeps the facts of one run, in their order."""

    def record(self, fact: Fact) -> None:
        """Keep a fact. The run goes on when this has returned, so the fact must be safe by then."""
        ...

    def load(self) -> Iterable[Fact]:
        """Return all facts that were recorded, in their order."""
        ...


class StoreContract(Contract):
    """What a store of facts must do. Derive from it, and write `make_store`."""

    def make_store(self) -> FactStore:
        """Return a new store without facts."""
        raise NotImplementedError("write make_store, which returns a new, empty store")

    def reopen(self, store: FactStore) -> FactStore:
        """Return the store as another process would open it. Without a file, that is the same store."""
        return store

    def test_a_new_store_is_empty(self) -> None:
        """A run begins with no facts of another."""
        require(not list(self.make_store().load()), "a new store has facts already")

    def test_facts_come_back_as_they_were(self) -> None:
        """All facts are there, in their order, and equal to those of the run."""
        store = self.make_store()
        outcome = _run(store.record)
        _compare(self.reopen(store).load(), outcome.facts)

    def test_a_fact_is_safe_when_record_returns(self) -> None:
        """Whatever happens next, a fact that was recorded can be loaded."""
        store = self.make_store()
        for count, fact in enumerate(_run().facts, 1):
            store.record(fact)
            require(len(list(self.reopen(store).load())) == count, f"{fact.kind} is not there after record returned")

    def test_two_stores_do_not_mix(self) -> None:
        """The facts of two runs stay apart."""
        first, second = self.make_store(), self.make_store()
        for store in (first, second):
            outcome = _run(store.record)
            _compare(self.reopen(store).load(), outcome.facts)
        starts = [fact for fact in self.reopen(first).load() if isinstance(fact, RunStarted)]
        require(len(starts) == 1, f"a store of one run has {len(starts)} of them")

    def test_a_run_is_resumed(self) -> None:
        """A run that waits for an approval goes on from what the store has."""
        store, spent = self.make_store(), list[int]()
        agent = _make_agent(spent)
        with suppress(RunPaused):
            agent.run("Spend 5.", record=store.record)
        store = self.reopen(store)
        facts = list(store.load())
        waiting = [fact.call.id for fact in facts if fact.kind == "approval_needed"]
        require(len(waiting) == 1, "the fact that a call waits for an approval is not in the store")
        outcome = agent.resume(facts, approvals={waiting[0]: True}, record=store.record)
        require(spent == [5], f"the approved call ran {len(spent)} times")
        _compare(self.reopen(store).load(), outcome.facts)


def _run(record: Recorder | None = None) -> Outcome[None]:
    script = [calls(("repeat", {"text": ODD_TEXT}), text=ODD_TEXT), calls(("repeat", {"word": 1})), says(ODD_TEXT)]
    return Agent(ScriptedModel(script), tools=[repeat]).run(ODD_TEXT, record=record)


def repeat(text: str) -> dict[str, Any]:
    """Repeat a text."""
    return {"text": text, "numbers": [1, 2.5, None, True], "$call": text}


def _make_agent(spent: list[int]) -> Agent:
    @tool(approve=True)
    def spend(amount: int) -> str:
        """Spend money."""
        spent.append(amount)
        return "spent"

    return Agent(ScriptedModel([calls(("spend", {"amount": 5})), says("Done.")]), tools=[spend])


def _compare(loaded: Iterable[Fact], facts: Sequence[Fact]) -> None:
    found = list(loaded)
    for number, (one, other) in enumerate(zip(found, facts, strict=False)):
        require(one == other, f"fact {number} was {other!r}, and came back as {one!r}")
    require(len(found) == len(facts), f"{len(facts)} facts were recorded, and {len(found)} came back")
