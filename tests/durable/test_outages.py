"""A store or a model that fails while runs are driven: the error is told, nothing is repeated, and the runs go on."""

import asyncio
import sqlite3
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import pytest

from tests.cases import each_case
from tests.durable.loops import in_loop
from toolspeak import Agent, tool
from toolspeak.durable import RetryRefused, Runs, Worker
from toolspeak.durable.journal import JournalSession
from toolspeak.models import Request
from toolspeak.testing import ScriptedModel, ScriptedReply, calls, says
from toolspeak.values.errors import EndpointDown, ModelError, ProviderError, RateLimited, StreamInterrupted, UsageError
from toolspeak.values.events import ApprovalNeeded, TextDelta, ToolFinished, TurnRestarted
from toolspeak.values.limits import Limits
from toolspeak.values.pieces import Piece

WAIT_SECONDS = 60
BIG_CHARS = 300_000


class Shop:
    """An agent that pays once, and fetches something big that it may fetch again; with what it has done."""

    def __init__(self) -> None:
        self.done: Counter[str] = Counter()
        self.is_fetching, self.may_fetch = asyncio.Event(), asyncio.Event()

        @tool(effect="once")
        async def pay() -> str:
            """Pay."""
            self.done["pay"] += 1
            return "paid"

        @tool(effect="idempotent")
        async def fetch() -> str:
            """Fetch something."""
            self.is_fetching.set()
            await self.may_fetch.wait()
            self.done["fetch"] += 1
            return "x" * BIG_CHARS

        script = [calls(("pay", {})), calls(("fetch", {})), calls(("pay", {})), says("Done.")]
        self.agents = {"shop": Agent(ScriptedModel(script), [pay, fetch])}


async def wait_for_log(caplog: pytest.LogCaptureFixture, text: str) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while text not in caplog.text:
            await asyncio.sleep(0.01)


def limit_pages(session: JournalSession, more: int) -> None:
    """Let the file of a session grow by so many pages at most."""
    connection: sqlite3.Connection = getattr(session, "_runs")  # noqa: B009 (it is private)
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages + more}")


@in_loop
async def test_a_run_goes_on_when_a_full_disk_has_room_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    shop = Shop()
    async with Runs(f"sqlite:///{tmp_path}/runs.db") as runs, Worker(runs, shop.agents) as worker:
        run = await runs.start("shop", "Buy it.")
        await shop.is_fetching.wait()
        await worker.read(lambda session: limit_pages(session, 5))
        shop.may_fetch.set()
        await wait_for_log(caplog, f"the store {tmp_path}/runs.db cannot be used: database or disk is full")
        assert shop.done["pay"] == 1
        await worker.read(lambda session: limit_pages(session, 100_000))
        outcome = await run.outcome(timeout=WAIT_SECONDS)
        row, facts = await run.row(), await run.facts()
    assert (outcome.stop_reason, row.deaths, row.takeovers) == ("answered", 0, 0)
    assert shop.done["pay"] == 2
    assert sum(isinstance(fact, ToolFinished) for fact in facts) == 3


@in_loop
async def test_a_run_goes_on_when_a_store_that_vanished_is_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shop = Shop()
    store, elsewhere = tmp_path / "runs.db", tmp_path / "elsewhere.db"
    async with Runs(f"sqlite:///{store}") as runs, Worker(runs, shop.agents, lease=60):
        run = await runs.start("shop", "Buy it.")
        await shop.is_fetching.wait()
        store.rename(elsewhere)
        shop.may_fetch.set()
        await wait_for_log(caplog, f"run {run.id} could not be driven, and is tried again")
        assert f"the store {store} was removed or replaced while it was in use" in caplog.text
        assert "Traceback" not in caplog.text
        assert shop.done == {"pay": 1, "fetch": 1}
        elsewhere.rename(store)
        outcome = await run.outcome(timeout=WAIT_SECONDS)
        row = await run.row()
    assert (outcome.stop_reason, row.deaths, row.takeovers) == ("answered", 0, 0)
    assert shop.done["pay"] == 2


class ShakyModel(ScriptedModel):
    """A model whose endpoint fails before its first answers, in the middle of a message or before it."""

    def __init__(self, replies: Sequence[ScriptedReply], failures: Sequence[ModelError]) -> None:
        super().__init__(replies)
        self.failures = list(failures)

    async def ask(self, request: Request) -> AsyncGenerator[Sequence[Piece]]:
        if self.failures:
            failure = self.failures.pop(0)
            if isinstance(failure, StreamInterrupted):
                yield [TextDelta(text="The first words ")]
            raise failure
        async for pieces in super().ask(request):
            yield pieces


@each_case(
    "case",
    [
        EndpointDown("the endpoint answered 503", status=503),
        RateLimited("slow down", status=429, retry_after=0.7),
        StreamInterrupted("the endpoint broke the connection in the middle of an answer"),
    ],
)
@in_loop
async def test_a_run_waits_for_a_model_that_is_away(case: ModelError, tmp_path: Path) -> None:
    model = ShakyModel([says("Here I am.")], [case])
    async with Runs(f"sqlite:///{tmp_path}/{type(case).__name__}.db") as runs, Worker(runs, {"echo": Agent(model)}):
        run = await runs.start("echo", "Hi.")
        outcome, row = await run.outcome(timeout=WAIT_SECONDS), await run.row()
    assert (outcome.stop_reason, outcome.text) == ("answered", "Here I am.")
    assert (row.epoch, row.deaths, row.takeovers) == (2, 0, 0)
    [restarted] = [fact for fact in outcome.facts if isinstance(fact, TurnRestarted)]
    assert restarted.reason == str(case)
    assert row.ready - row.created >= 1000 * (case.retry_after or 0.5)


@in_loop
async def test_an_inner_run_waits_too_and_calls_beside_it_are_not_cut_off(tmp_path: Path) -> None:
    done, is_down = list[str](), asyncio.Event()

    class Expert(ShakyModel):
        async def ask(self, request: Request) -> AsyncGenerator[Sequence[Piece]]:
            if self.failures:
                is_down.set()
            async for pieces in super().ask(request):
                yield pieces

    @tool(effect="once")
    async def pay() -> str:
        """Pay."""
        await is_down.wait()
        await asyncio.sleep(0.05)
        done.append("paid")
        return "paid"

    expert = Agent(Expert([says("42")], [EndpointDown("the endpoint answered 503", status=503)]))
    asks = expert.as_tool("ask_expert", "Ask an expert.")
    script = [calls(("ask_expert", {"prompt": "How much?"}), ("pay", {})), says("Paid.")]
    async with (
        Runs(f"sqlite:///{tmp_path}/runs.db") as runs,
        Worker(runs, {"boss": Agent(ScriptedModel(script), [asks, pay])}),
    ):
        outcome = await (await runs.start("boss", "Pay.")).outcome(timeout=WAIT_SECONDS)
    assert (outcome.stop_reason, done) == ("answered", ["paid"])
    assert [call.output for call in outcome.calls] == ["42", "paid"]


@in_loop
async def test_a_run_that_a_model_refused_ends_and_is_retried_when_somebody_asks_for_it(tmp_path: Path) -> None:
    refusal = ProviderError("the key was refused", status=401)
    paid = list[str]()

    @tool(effect="once")
    def pay() -> str:
        """Pay."""
        paid.append("paid")
        return "paid"

    class Refusing(ShakyModel):
        async def ask(self, request: Request) -> AsyncGenerator[Sequence[Piece]]:
            if paid and self.failures:
                raise self.failures.pop(0)
            async for pieces in ScriptedModel.ask(self, request):
                yield pieces

    agents = {"payer": Agent(Refusing([calls(("pay", {})), says("Done.")], [refusal] * 2), [pay])}
    async with Runs(f"sqlite:///{tmp_path}/runs.db") as runs, Worker(runs, agents):
        run = await runs.start("payer", "Pay.", key="ticket-7", deadline=3600)
        outcome = await run.outcome(timeout=WAIT_SECONDS)
        assert (outcome.stop_reason, outcome.detail) == ("error", "the key was refused")
        await run.retry(deadline=3600)
        assert (await run.outcome(timeout=WAIT_SECONDS)).stop_reason == "error"
        again = await runs.start("payer", "Pay.", key="ticket-7")
        assert (again.id, again.is_new) == (run.id, True)
        assert (await run.outcome(timeout=WAIT_SECONDS)).text == "Done."
        assert paid == ["paid"]
        assert not (await runs.start("payer", "Pay.", key="ticket-7")).is_new
        with pytest.raises(RetryRefused, match=f"run {run.id} was answered"):
            await run.retry()


@in_loop
async def test_a_cancelled_run_can_be_retried_and_one_that_reached_a_limit_cannot(tmp_path: Path) -> None:
    @tool(effect="read")
    def look() -> str:
        """Look."""
        return "seen"

    agents = {"echo": Agent(ScriptedModel([calls(("look", {})), says("Hi.")]), [look], limits=Limits(turns=1))}
    async with Runs(f"sqlite:///{tmp_path}/runs.db") as runs:
        run, limited = await runs.start("echo", "Hi."), await runs.start("echo", "Hi.")
        with pytest.raises(RetryRefused, match="has not ended"):
            await run.retry()
        await run.cancel()
        async with Worker(runs, agents):
            assert (await run.outcome(timeout=WAIT_SECONDS)).stop_reason == "cancelled"
            await run.retry()
            for each in (run, limited):
                assert (await each.outcome(timeout=WAIT_SECONDS)).stop_reason == "limit"
        with pytest.raises(RetryRefused, match="start another run"):
            await limited.retry()


@in_loop
async def test_a_fork_keeps_turns_and_leaves_the_run_as_it_is(tmp_path: Path) -> None:
    looked: list[str] = []

    @tool(effect="once")
    def look(place: str) -> str:
        """Look."""
        looked.append(place)
        return f"nothing in {place}"

    model = ScriptedModel([calls(("look", {"place": "attic"})), says("It is not there."), says("Nowhere.")])
    async with Runs(f"sqlite:///{tmp_path}/runs.db") as runs, Worker(runs, {"finder": Agent(model, [look])}):
        run = await runs.start("finder", "Where is it?", data={"tenant": "acme"})
        first = await run.outcome(timeout=WAIT_SECONDS)
        with pytest.raises(UsageError, match="the model has answered there; say what comes next"):
            await run.fork()
        with pytest.raises(UsageError, match="has 2 complete turns"):
            await run.fork("And now?", turns=3)
        again = await (await run.fork(turns=1)).outcome(timeout=WAIT_SECONDS)
        assert (again.text, again.messages, again.calls) == ("It is not there.", first.messages, ())
        further = await run.fork("And now?", key="further")
        outcome = await further.outcome(timeout=WAIT_SECONDS)
        assert [message.text for message in outcome.messages if message.role != "system"][-3:] == [
            "It is not there.",
            "And now?",
            "Nowhere.",
        ]
        assert looked == ["attic"]  # no call is made again
        assert (await further.row()).data == {"tenant": "acme"}
        assert await run.facts() == first.facts
        assert (await run.fork("And now?", key="further")).id == further.id


@in_loop
async def test_a_fork_drops_a_turn_whose_calls_have_no_results(tmp_path: Path) -> None:
    @tool(effect="once", approve=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    def answer(request: Request) -> ScriptedReply:
        return calls(("pay", {})) if request.shown.messages[-1].text == "Pay." else says("I did not pay.")

    model = ScriptedModel([answer])
    async with Runs(f"sqlite:///{tmp_path}/runs.db") as runs, Worker(runs, {"payer": Agent(model, [pay])}):
        run = await runs.start("payer", "Pay.")
        async for each in run.events():
            if isinstance(each.event, ApprovalNeeded):
                break
        forked = await run.fork("Don't pay.")
        outcome = await forked.outcome(timeout=WAIT_SECONDS)
        assert [message.text for message in outcome.messages] == ["Pay.", "Don't pay.", "I did not pay."]
        assert await run.status() == "paused"
