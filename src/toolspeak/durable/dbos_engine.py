"""The DBOS of this process: launched for the workers that need it, or shared with the program that runs one already.

DBOS is one object in a process. If the program has launched its own, runs are queued there, under the name and version
of that application. An entry is a workflow with the id `<run>.<epoch>` whose arguments are stored as JSON, as is the
error of one that fails; nothing is pickled.
"""

import asyncio
import random
import threading
from collections.abc import Collection
from concurrent.futures import Future
from typing import Any, Protocol

from dbos import DBOS, DBOSConfig, DBOSPortableJSONSerializer, WorkflowSerializationFormat, error

from toolspeak.durable.dispatch import Entry
from toolspeak.errors import UsageError

APPLICATION = "toolspeak"
"""The name and version of our own application in DBOS. Whether a worker can read a run is decided by its format."""

WORKFLOW = "toolspeak.drive"

_POOL_CONNECTIONS = 5
_WORKER_WAIT_SECONDS = 0.2


class EntryTaker(Protocol):
    """Takes entries that DBOS hands out to this process."""

    @property
    def free_slots(self) -> int:
        """How many runs more the worker can drive at once; less than 0 if it takes no more runs."""
        ...

    def take(self, run_id: str, epoch: int, agent: str, stored_format: int) -> "Future[None]":
        """Take an entry, from any thread. The future is done when the run has left the worker."""
        ...


class Engine:
    """The DBOS of this process.

    Attributes:
        url: The address of the store whose runs it hands out.
        is_own: Whether it was launched here, not by the program.
    """

    def __init__(self, url: str, executor: str) -> None:
        """Launch DBOS, or find the one that the program has launched. It takes a second: call it in a thread."""
        self.url = url
        self.takers: list[EntryTaker] = []
        DBOS(config=_build_config(url, executor))  # if there is one, this changes nothing
        self.is_own = DBOS.executor_id == executor
        if self.is_own:
            DBOS.launch()
            return
        try:
            DBOS.list_queues()
        except error.DBOSException as reason:
            raise UsageError(
                f"this program has a DBOS that is not launched ({reason}); call DBOS.launch() before the worker starts"
            ) from reason

    def close(self) -> None:
        """Shut DBOS down, if it is ours. It takes a moment: call it in a thread."""
        if self.is_own:
            DBOS.destroy()

    def is_alive(self, executor: str | None, application: str | None, alive: Collection[str]) -> bool | None:
        """Whether the process that holds an entry is alive; None if that is unknown: it belongs to another program."""
        if executor == DBOS.executor_id:
            return True
        return executor in alive if application == APPLICATION else None


_ENGINES: list[Engine] = []
"""The engine of this process, if it has one."""

_LOCK = threading.Lock()


def join_engine(url: str, taker: EntryTaker, executor: str) -> Engine:
    """Return the engine of this process after it was told who takes its entries. It may take a second.

    Raises:
        UsageError: The engine hands out runs of another store.
    """
    if _ENGINES and _ENGINES[0].url != url:
        raise UsageError(
            "this process drives runs of another store with DBOS already, and there is one DBOS in a process; start "
            "the second worker in a process of its own"
        )
    with _LOCK:
        if not _ENGINES:
            _ENGINES.append(Engine(url, executor))
        _ENGINES[0].takers.append(taker)
        return _ENGINES[0]


def leave_engine(engine: Engine, taker: EntryTaker) -> None:
    """Take no more entries, and close the engine if nobody else in this process does."""
    with _LOCK:
        engine.takers.remove(taker)
        if not engine.takers:
            _ENGINES.clear()
            engine.close()


@DBOS.workflow(name=WORKFLOW, max_recovery_attempts=None, serialization_type=WorkflowSerializationFormat.PORTABLE)
async def drive_entry(run_id: str, epoch: int, agent: str, stored_format: int) -> None:
    """Hand an entry to a worker of this process, and return when the run has left it."""
    while not (takers := [taker for engine in _ENGINES for taker in engine.takers]):
        await asyncio.sleep(_WORKER_WAIT_SECONDS)  # a program may launch its DBOS before its worker, or after it
    taker = max(takers, key=lambda each: (each.free_slots, random.random()))  # noqa: S311 (no secret)
    await asyncio.wrap_future(taker.take(run_id, epoch, agent, stored_format))


def make_workflow_id(entry: Entry) -> str:
    """Return the id of the workflow that is an entry."""
    return f"{entry[0]}.{entry[1]}"


def read_workflow_id(workflow_id: str) -> Entry:
    """Return the entry of a workflow id."""
    run_id, _, epoch = workflow_id.rpartition(".")
    return run_id, int(epoch)


def _build_config(url: str, executor: str) -> DBOSConfig:
    _, _, address = url.partition("://")
    config: dict[str, Any] = {
        "name": APPLICATION,
        "system_database_url": f"postgresql+psycopg://{address}",
        "executor_id": executor,
        "application_version": APPLICATION,
        "serializer": DBOSPortableJSONSerializer(),
        "log_level": "ERROR",
        "sys_db_pool_size": _POOL_CONNECTIONS,
    }
    return DBOSConfig(**config)
