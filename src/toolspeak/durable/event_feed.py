"""The events of a run, for any process: facts from the journal, with the deltas between them.

Each event has an id, `SEQ.POS`: the number of a fact, and `0` for the fact itself or the place of a delta after it. Ids
go up, and nothing is told twice, so whoever was cut off goes on after the last id that it saw. Facts are read before
deltas, and deltas only as far as facts are known: so a delta is never missed, and never told too early. After a
takeover the deltas of the turn that was open begin anew, after `RunResumed`.
"""

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import NamedTuple

from toolspeak.durable.journal import JournalSession, RunUnknown
from toolspeak.durable.records import decode_fact
from toolspeak.durable.rows import ID_CHARS, RunRow
from toolspeak.durable.watcher import Watcher, wait_for_change
from toolspeak.durable.writer import Writer
from toolspeak.values import codec
from toolspeak.values.errors import UsageError
from toolspeak.values.events import Event

MAX_FACTS = 500
"""How many facts are read at once."""

MAX_WAIT_SECONDS = 5.0
"""How long a follower waits before it looks by itself."""


class RunEvent(NamedTuple):
    """An event of a durable run.

    Attributes:
        id: Its position in the run; `events(after=id)` continues after it.
        event: The event.
    """

    id: str
    event: Event


class Position(NamedTuple):
    """The place of an event: the number of the last fact, and how many deltas come after that fact."""

    seq: int = -1
    pos: int = 0

    @classmethod
    def parse(cls, after: str | None) -> "Position":
        """Read the id of an event; None stands for the place before the first.

        Raises:
            UsageError: It is not an id of an event.
        """
        if after is None:
            return cls()
        seq, dot, pos = after.partition(".")
        if not dot or not seq.isdecimal() or not pos.isdecimal():
            raise UsageError(f'{after!r} is not the id of an event; ids are like "17.340"')
        return cls(int(seq), int(pos))


class Batch(NamedTuple):
    """Events in their order, where the last of them stands, and whether the run has no further ones."""

    events: list[RunEvent]
    position: Position
    is_last: bool


def read_batch(session: JournalSession, run_id: str, position: Position) -> Batch:
    """Return the next events after a position, as far as they are stored.

    Raises:
        RunUnknown: There is no such run.
    """
    run = find_run(session, run_id)  # before the facts: a run that was done then has no more facts than are read now
    rows = session.read_facts(run_id, after=position.seq, limit=MAX_FACTS)
    through = rows[-1].seq if rows else position.seq
    deltas = session.read_deltas(run_id, position, through)
    found: list[tuple[Position, Event]] = [
        *((Position(row.seq), decode_fact(session, run, row)) for row in rows),
        *((Position(row.seq, row.pos), codec.decode_delta(json.loads(row.data))) for row in deltas),
    ]
    found.sort(key=lambda each: each[0])
    events = [RunEvent(f"{at.seq}.{at.pos}", event) for at, event in found]
    is_last = run.status == "done" and len(rows) < MAX_FACTS
    return Batch(events, found[-1][0] if found else position, is_last)


def find_run(session: JournalSession, run_id: str) -> RunRow:
    """Return a run.

    Raises:
        RunUnknown: There is no such run.
    """
    run = session.read_run(run_id)
    if run is None:
        cause = (
            "it may have been pruned" if len(run_id) >= ID_CHARS else "give the whole id, as the list of runs has it"
        )
        raise RunUnknown(f"there is no run {run_id} in the store; {cause}")
    return run


async def follow_run(
    writer: Writer, watcher: Watcher, run_id: str, after: str | None
) -> AsyncGenerator[list[RunEvent]]:
    """Yield the events of a run from a place on, as they are committed, until it has ended."""
    position = Position.parse(after)
    with watcher.subscribe() as changed:
        while True:
            changed.clear()
            batch = await writer.read(lambda session, position=position: read_batch(session, run_id, position))
            position = batch.position
            if batch.events:
                yield batch.events
            if batch.is_last:
                return
            if not batch.events:
                await wait_for_change(changed, MAX_WAIT_SECONDS)
            else:
                await asyncio.sleep(0)
