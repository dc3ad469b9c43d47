"""What a journal stores and returns, as values. `JournalSession` (`journal.py`) has the methods that take them."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any, Literal, NamedTuple, TypeAlias

from toolspeak.values.frozen import frozen

STORED_FORMAT = 1
"""The number of the form in which requests and facts are stored. A worker claims only runs whose form it can read."""

ID_CHARS = 24
"""Characters of the id of a run."""


def make_run_id(name: str) -> str:
    """Return the id of a run with a name: the same name always gives the same id."""
    return hashlib.sha256(name.encode()).hexdigest()[:ID_CHARS]


_SHARED_LANE = re.compile(r"(.*) \((\d{1,9}) at once\)", re.DOTALL)


def name_shared_lane(name: str, concurrency: int) -> str:
    """Return the lane of runs that were started with a limit of their own; it is defined by its name alone."""
    return f"{name} ({concurrency} at once)"


def read_shared_lane(lane: str) -> int | None:
    """Return how many runs of a lane go on at once if its name says so; None if it is one that was defined."""
    found = _SHARED_LANE.fullmatch(lane)
    return int(found[2]) if found else None


RunStatus: TypeAlias = Literal["queued", "running", "paused", "done"]
"""The status of a run.

- `queued`: it waits for a worker.
- `running`: the worker `owner` executes it.
- `paused`: it waits for an approval, a time or a signal, and occupies no worker.
- `done`: it has ended.
"""


@frozen
class Lane:
    """The limits that the runs of a lane share. They are stored, so all processes use the same limits.

    Attributes:
        concurrency: The most runs of the lane that execute at the same time, in all workers together; None for no
            limit. A paused run does not count.
        rate: The most runs of the lane that are claimed within `period` seconds; None for no limit.
        period: The seconds in which `rate` runs are claimed.
        waiting: The most runs of the lane that may be queued; further starts are refused. None for no limit.
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
        delay_ms: Milliseconds from now before which it is not claimed.
        labels: By what the run is found: names and values.
        webhook: The address to which its end is sent; "" for none.
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
    delay_ms: int = 0
    labels: tuple[tuple[str, str], ...] = ()
    webhook: str = ""


def encode_new_run(run: NewRun) -> str:
    """Return a run that is to be stored as JSON text."""
    return json.dumps(asdict(run))


def decode_new_run(text: str) -> NewRun:
    """Return a run from the text that `encode_new_run` gave."""
    data: dict[str, Any] = json.loads(text)
    data["labels"] = tuple((name, value) for name, value in data["labels"])
    return NewRun(**data)


@frozen
class Schedule:
    """Runs that are started again and again.

    Attributes:
        name: Its name, unique in the store.
        run: What is started; its id and key are made of the name and the time.
        cron: When, as an expression of cron; "" if it is `seconds`.
        zone: The time zone of the expression.
        seconds: Every how many seconds; None if it is `cron`.
        catch_up: How many of the latest times are made up for that passed while no worker lived.
        due: When it is next due; 0 if that is still to be found.
    """

    name: str
    run: NewRun
    cron: str = ""
    zone: str = "UTC"
    seconds: float | None = None
    catch_up: int = 1
    due: int = 0


class Webhook(NamedTuple):
    """The address to which the end of a run is sent, and how often that was tried."""

    run_id: str
    url: str
    attempts: int


@frozen
class RunRow:
    """A run as it is stored; see `NewRun` for the fields that never change.

    Attributes:
        parent: The last run of the same chat before this one; "" for none.
        status: The status of the run.
        stop_reason: Why it ended; "" until then.
        epoch: How often the run has left an owner. It is 1 at the beginning.
        owner: The worker that executes it; "" for none.
        next_seq: The number of the next fact, which is how many facts there are.
        deaths: How often in a row an owner was lost without progress in between.
        takeovers: How often the run was taken over from a lost owner.
        deadline: The time at which it must have ended; None for no deadline.
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
        """The data that the run was started with: `Runs.start(…, data=…)`."""
        return json.loads(self.request).get("data") or {}


@frozen
class AgentStats:
    """How the runs of an agent went.

    Attributes:
        agent: The name of the agent.
        runs: How many runs there are.
        open: How many of them have not ended.
        ended: How many ended for which reason, the most frequent first.
        median: The seconds from start to end of the run in the middle; None if none has ended.
        p95: The seconds within which 95 of 100 runs ended; None if none has.
        takeovers: How often their workers were lost.
    """

    agent: str
    runs: int
    open: int
    ended: dict[str, int]
    median: float | None
    p95: float | None
    takeovers: int


def build_stats(rows: Iterable[RunRow]) -> list[AgentStats]:
    """Return how the runs of each agent went, in the order of the names of the agents."""
    by_agent: dict[str, list[RunRow]] = {}
    for row in rows:
        by_agent.setdefault(row.agent, []).append(row)
    return [_build_stats(agent, found) for agent, found in sorted(by_agent.items())]


def _build_stats(agent: str, rows: Sequence[RunRow]) -> AgentStats:
    done = [row for row in rows if row.status == "done"]
    times = sorted((row.updated - max(row.created, row.ready)) / 1000 for row in done)
    return AgentStats(
        agent=agent,
        runs=len(rows),
        open=len(rows) - len(done),
        ended=dict(Counter(row.stop_reason for row in done).most_common()),
        median=times[(len(times) - 1) // 2] if times else None,
        p95=times[(len(times) - 1) * 95 // 100] if times else None,
        takeovers=sum(row.takeovers for row in rows),
    )


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


class NewWait(NamedTuple):
    """What a call begins to wait for.

    Attributes:
        call: The ids of the calls that lead to the call, and its own, as a JSON list.
        number: The number of the wait in the call.
        signal: The name of the signal; "" for none.
        seconds: After how many seconds the wait is over, whatever comes; None for never.
    """

    call: str
    number: int
    signal: str
    seconds: float | None


class WaitRow(NamedTuple):
    """What a call waits for; see `NewWait`.

    Attributes:
        until: When the wait ends at the latest; None for no limit.
        value: The value of the signal, as JSON text; None if it has not arrived.
    """

    call: str
    number: int
    signal: str
    until: int | None
    value: str | None

    @property
    def call_id(self) -> str:
        """The id of the call in the run."""
        return "/".join(json.loads(self.call))


class WorkerRow(NamedTuple):
    """A worker: its name, its last heartbeat, the time at which it counts as lost, and its own description, as JSON."""

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
        alive: The workers whose lease is not over, by the clock of the database.
        living: The workers from which nothing may be taken, even if their lease seems to be over.
    """

    taken: tuple[tuple[str, int], ...]
    alive: tuple[str, ...]
    living: tuple[str, ...] = ()


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
