"""What a journal stores and returns, as values. `JournalSession` (`journal.py`) has the methods that take them."""

import json
from typing import Any, Literal, NamedTuple, TypeAlias

from toolspeak.values.frozen import frozen

STORED_FORMAT = 1
"""The number of the form in which requests and facts are stored. A worker claims only runs whose form it can read."""

ID_CHARS = 24
"""Characters of the id of a run."""

RunStatus: TypeAlias = Literal["queued", "running", "paused", "done"]
"""Where a run is.

- `queued`: it waits for a worker.
- `running`: the worker `owner` drives it.
- `paused`: it waits for an approval, and holds no worker.
- `done`: it has ended.
"""


@frozen
class Lane:
    """What the runs of a lane share. A lane is stored in the journal, so all processes see the same limits.

    Attributes:
        concurrency: The most runs of the lane that run at the same time, in all workers together; None for any number.
            A paused run does not count.
        rate: The most runs of the lane that are claimed within `period` seconds; None for any number.
        period: The seconds in which `rate` runs are claimed.
        waiting: The most runs of the lane that may be queued. A further start is refused; None for any number.
    """

    concurrency: int | None = None
    rate: int | None = None
    period: float = 60.0
    waiting: int | None = 10_000


@frozen
class NewRun:
    """A run that is to be stored.

    Attributes:
        run_id: Its id. The same key always gives the same id, so that a key is used once.
        agent: The name under which workers know the agent.
        request: What is asked, as JSON text.
        request_digest: A digest of agent and request, by which two starts with the same key are compared.
        key: The key that the caller gave; "" for none.
        format: The number of the form in which the request is stored.
        priority: Higher ones are claimed first.
        lane: The lane; "" for none.
        chat: The conversation that the run belongs to; "" for none.
        deadline_ms: Milliseconds from now at which the run must have ended; None for any time.
        labels: By what the run is found: names and values.
    """

    run_id: str
    agent: str
    request: str
    request_digest: str
    key: str = ""
    format: int = STORED_FORMAT
    priority: int = 0
    lane: str = ""
    chat: str = ""
    deadline_ms: int | None = None
    labels: tuple[tuple[str, str], ...] = ()


@frozen
class RunRow:
    """A run as the journal has it; see `NewRun` for the fields that never change.

    Attributes:
        parent: The last run of the same chat before this one; "" for none.
        status: Where the run is.
        stop_reason: Why it ended; "" as long as it has not.
        epoch: How often the run has left an owner. It is 1 at the beginning.
        owner: The worker that drives it; "" for none.
        next_seq: The number that the next fact gets: how many facts there are.
        deaths: How often in a row an owner was lost without progress in between.
        takeovers: How often the run was taken over from a lost owner, in all.
        deadline: The time at which it must have ended; None for any time.
        ready: The time before which it is not claimed.
        dispatched: The highest epoch that was given to an engine.
        created: When it was started.
        updated: When its row last changed.
    """

    run_id: str
    agent: str
    request: str
    request_digest: str
    key: str
    format: int
    priority: int
    lane: str
    chat: str
    parent: str
    status: RunStatus
    stop_reason: str
    epoch: int
    owner: str
    next_seq: int
    deaths: int
    takeovers: int
    deadline: int | None
    ready: int
    dispatched: int
    created: int
    updated: int

    @property
    def data(self) -> dict[str, Any]:
        """What the run was started with besides its prompt: `Runs.start(…, data=…)`."""
        return json.loads(self.request).get("data") or {}


class Started(NamedTuple):
    """What a start gave: the run, and whether it is new. It is not new if its key was used before."""

    run: RunRow
    is_new: bool


class Hold(NamedTuple):
    """The right to write the facts of a run from `next_seq` on."""

    run_id: str
    epoch: int
    owner: str
    next_seq: int


class FactRow(NamedTuple):
    """A stored fact: its number in the run, when it was stored, and its text."""

    seq: int
    at: int
    data: str


class DeltaRow(NamedTuple):
    """A stored delta: the `pos`-th after the fact `seq`, from 1 on."""

    run_id: str
    seq: int
    pos: int
    data: str


class CommandRow(NamedTuple):
    """Something that a person or a program wants of a run. `name` is unique in the run, so the first one wins."""

    run_id: str
    name: str
    data: str
    at: int
    is_handled: bool


class WorkerRow(NamedTuple):
    """A worker: its name, its last beat, the time at which it counts as lost, and what it says of itself, as JSON."""

    worker: str
    beat: int
    expires: int
    info: str


class JournalFigures(NamedTuple):
    """What is watched of a store.

    Attributes:
        takeovers: How often runs that are in the store were taken over from lost workers.
        queued_since: Since when the run waits that has been queued longest; None if none is queued.
        now: The time of the database.
    """

    takeovers: int
    queued_since: int | None
    now: int


class Sweep(NamedTuple):
    """What a sweep found.

    Attributes:
        taken: Ids of the runs that were taken from lost owners, with the epoch that each of them had.
        alive: The workers that are not lost.
    """

    taken: tuple[tuple[str, int], ...]
    alive: tuple[str, ...]


@frozen
class Wanted:
    """Which runs a worker can take.

    Attributes:
        agents: The names of the agents that it has.
        count: How many runs it takes at most.
        format: The highest form of stored data that it can read.
        max_deaths: Runs with more deaths than this are left alone; None to take any run.
    """

    agents: tuple[str, ...]
    count: int = 1
    format: int = STORED_FORMAT
    max_deaths: int | None = None
