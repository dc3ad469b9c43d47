"""Facts that the last release wrote are gone on with.

`data/paused-0.1.jsonl` was written by toolspeak 0.1: a run that looked an order up, then another one, and paused before
a refund that needs an approval. Each beginning of it is a run that was cut off there.
"""

from collections import Counter
from contextlib import suppress
from json import loads as load
from pathlib import Path
from typing import Any

from tests.durable.loops import in_loop
from toolspeak import Agent, tool
from toolspeak.durable import RunHandle, Runs, Worker
from toolspeak.durable.journal import ApprovalRefused, JournalSession
from toolspeak.durable.rows import Hold
from toolspeak.testing import ScriptedModel, calls, says
from toolspeak.tools import Context
from toolspeak.values.codec import decode
from toolspeak.values.events import ApprovalNeeded, ToolFinished

LINES = (Path(__file__).parent / "data" / "paused-0.1.jsonl").read_text().splitlines()
STORED_ID = "668e542dd25d5fc2"
WAIT_SECONDS = 60


def build_agent(done: Counter[tuple[str, str, int]]) -> Agent[Any]:
    """Make an agent with the tools that the run had, which notes what it does by run, tool and order."""

    @tool(effect="read")
    def look(order: int, context: Context[None]) -> str:
        """Look an order up."""
        done[context.run_id, "look", order] += 1
        return f"order {order} is open"

    @tool(approve=True)
    def refund(order: int, context: Context[None], reason: str = "none") -> str:
        """Give the money for an order back."""
        done[context.run_id, "refund", order] += 1
        return f"refunded order {order}"

    script = [calls(("look", {"order": 7})), calls(("look", {"order": 8}), ("refund", {"order": 7})), says("Done.")]
    return Agent(ScriptedModel(script), [look, refund])


async def store(runs: Runs, lines: list[str], *, is_paused: bool) -> RunHandle:
    """Store the lines as the facts of a run that another worker has given up."""
    run = await runs.start("support", "Refund order 7.")

    def write(session: JournalSession) -> None:
        session.claim(run.id, 1, "earlier")
        own = [line.replace(STORED_ID, run.id) for line in lines]
        hold = session.append(Hold(run.id, 1, "earlier", 0), own)
        session.release(hold, "paused" if is_paused else "queued")

    await runs.write(write)
    return run


@in_loop
async def test_a_run_that_the_last_release_paused_is_approved_and_goes_on(tmp_path: Path) -> None:
    done: Counter[tuple[str, str, int]] = Counter()
    async with Runs(f"sqlite:///{tmp_path}/runs.db") as runs:
        run = await store(runs, LINES, is_paused=True)
        async with Worker(runs, {"support": build_agent(done)}):
            [waiting] = await run.waiting()
            assert (waiting.call.name, waiting.call.arguments) == ("refund", {"order": 7})
            await approve_all(run)
            outcome = await run.outcome(timeout=WAIT_SECONDS)
    assert (outcome.stop_reason, outcome.text) == ("answered", "Done.")
    assert list(done.values()) == [1]
    assert [name for _, name, _ in done] == ["refund"]


@in_loop
async def test_a_run_of_the_last_release_goes_on_wherever_it_was_cut_off(tmp_path: Path) -> None:
    done: Counter[tuple[str, str, int]] = Counter()
    async with Runs(f"sqlite:///{tmp_path}/runs.db") as runs:
        started = [await store(runs, LINES[:count], is_paused=False) for count in range(1, len(LINES) + 1)]
        async with Worker(runs, {"support": build_agent(done)}):
            for count, run in enumerate(started, 1):
                await approve_all(run)
                assert (await run.outcome(timeout=WAIT_SECONDS)).stop_reason == "answered", LINES[count - 1]
                finished = [fact for fact in map(decode, map(load, LINES[:count])) if isinstance(fact, ToolFinished)]
                looked = done[run.id, "look", 7] + done[run.id, "look", 8]
                assert looked == 2 - len(finished), f"cut off after {LINES[count - 1]}"
                assert done[run.id, "refund", 7] == 1


async def approve_all(run: RunHandle) -> None:
    """Follow a run, and approve each call that it asks about, until it has ended.

    The last release bound no digest to its questions, so they are asked again with one.
    """
    async for each in run.events():
        for call in await run.waiting() if isinstance(each.event, ApprovalNeeded) else ():
            with suppress(ApprovalRefused):  # it is asked again in this moment
                await run.approve(call.id, True, by="ann", digest=call.digest)
