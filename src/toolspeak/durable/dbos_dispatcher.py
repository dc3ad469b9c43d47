"""`DbosDispatcher`: hands out runs with DBOS, which keeps lanes, rates and priorities. It needs the extra `cluster`.

Each lane is a queue of DBOS, named `toolspeak:<application>:<lane>`. There are two books, that of DBOS and the journal,
and any process may die between writing one and the other. The journal is right, and each difference has its cure:

- An entry that a worker took and did not claim, because it died in between, is found by `held_by_none_of`.
- An entry that DBOS has lost or counts as over, while its run is queued, is found in the same way, a while later.
- An entry of a run that was taken over is cancelled by `forget`, so that it holds no place in its lane.

An entry is a workflow with the id `<run>.<epoch>` whose arguments are stored as JSON, as is the error of one that
fails; nothing is pickled. DBOS is one object in a process. If the program has launched its own, runs are queued there,
under the name and version of that application, through the library: its tables may be in another database. If DBOS is
ours, runs are entered with the function that it has in its database for that, which costs a fraction.
"""

import asyncio
import contextvars
import json
import random
import threading
import time
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, ParamSpec, TypeVar

from dbos import (
    DBOS,
    DBOSConfig,
    DBOSPortableJSONSerializer,
    EnqueueOptions,
    WorkflowSerializationFormat,
    WorkflowStatus,
    error,
)
from psycopg import Connection

from toolspeak.durable.dispatch import Driving, Entry, RetryDelays
from toolspeak.durable.postgres import connect
from toolspeak.durable.rows import STORED_FORMAT, Lane, RunRow, name_shared_lane, read_shared_lane
from toolspeak.values.errors import UsageError
from toolspeak.values.log import LOG

_ENTER = """
    SELECT dbos.enqueue_workflow(
        workflow_name => %s, queue_name => %s, positional_args => %s::text[]::json[], workflow_id => %s,
        app_version => %s, priority => %s, application_name => %s, queue_partition_key => %s
    )
"""


APPLICATION = "toolspeak"
"""The name and version of our own application in DBOS. Whether a worker can read a run is decided by its format."""

WORKFLOW = "toolspeak.drive"

_POOL_CONNECTIONS = 5
_WORKER_WAIT_SECONDS = 0.2


class Engine:
    """The DBOS of this process.

    Attributes:
        url: The address of the store whose runs it hands out.
        is_own: Whether it was launched here, not by the program.
    """

    def __init__(self, url: str, executor: str) -> None:
        """Launch DBOS, or find the one that the program has launched. It takes a second: call it in a thread."""
        self.url = url
        self.takers: list[DbosDispatcher] = []
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


_ENGINES: list[Engine] = []
"""The engine of this process, if it has one."""

_LOCK = threading.Lock()


def join_engine(url: str, taker: "DbosDispatcher", executor: str) -> Engine:
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


def leave_engine(engine: Engine, taker: "DbosDispatcher") -> None:
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


P = ParamSpec("P")
T = TypeVar("T")

POLL_SECONDS = 0.1
"""How often DBOS looks for entries in a queue."""

SLOT_WAIT_SECONDS = 1.0
"""How long an entry waits for a slot of this worker before it is given back. Each lane may bring as many as `slots`."""

CLAIM_SECONDS = 10.0
"""After this time an entry that was handed out and whose run is still queued counts as lost."""

AUDIT_SECONDS = 15.0
"""How often all queued runs are compared with the entries of DBOS."""

AUDIT_RUNS = 1000
"""How many queued runs are compared at a time."""

KEEP_SECONDS = 3600.0
"""How long DBOS keeps entries that are over; longer if a lane counts starts for longer."""

_THREADS = 4
_MIDDLE_PRIORITY = 1_000_000_000
_OVER = ["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]


class DbosDispatcher:
    """Hands out runs with DBOS. Make one for each worker."""

    def __init__(self, url: str) -> None:
        """Remember the address of the store, whose database DBOS uses too."""
        self._url = url
        self._lanes: dict[str, Lane] = {}
        self._shared: set[int] = set()
        self._audited = time.monotonic()
        self._audited_run = ""
        self._returns = RetryDelays(300, 20_000)
        self._connection: Connection[Any] | None = None

    @property
    def free_slots(self) -> int:
        """How many runs more the worker can drive at once; less than 0 if it takes no more runs.

        An entry that a worker gives back waits longer each time, so a worker that stops must not be chosen for having
        nothing to do.
        """
        return -1 if self._worker.is_stopping else max(0, self._worker.slots - len(self._driving))

    @asynccontextmanager
    async def launch(self, worker: Driving) -> AsyncGenerator[None]:
        """Hand runs to a worker within this context."""
        self._worker = worker
        self._loop = asyncio.get_running_loop()
        self._context = contextvars.copy_context()  # that of DBOS would make all that tools do a part of its workflow
        self._driving: set[asyncio.Task[None]] = set()
        self._slots = asyncio.Semaphore(worker.slots)
        with ThreadPoolExecutor(_THREADS, "toolspeak dbos") as self._threads:
            self._engine: Engine = await self._call(join_engine, self._url, self, worker.name)
            try:
                await self._register("", Lane())
                yield
            finally:
                for task in self._driving:
                    task.cancel()
                if self._driving:
                    await asyncio.wait(self._driving)
                await self._wait_until_recorded()
                await self._call(leave_engine, self._engine, self)
                if self._connection is not None:
                    self._connection.close()

    async def _call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function of DBOS in a thread. Its async ones would replace the threads of the event loop."""
        return await self._loop.run_in_executor(self._threads, partial(function, *args, **kwargs))

    async def _wait_until_recorded(self) -> None:
        """Let DBOS record the entries that this worker drove. Else another worker would find and cancel them."""
        if not self._engine.is_own:
            return
        for _ in range(20):
            if not await self._list(status="PENDING", executor_id=DBOS.executor_id, limit=1):
                return
            await asyncio.sleep(0.02)

    # Entering

    async def enqueue(self, runs: Sequence[RunRow]) -> None:
        """Enter runs, each as `(run_id, epoch)`; those that were entered are left alone."""
        for concurrency in {read_shared_lane(run.lane) for run in runs} - {None, *self._shared}:
            await self._register_shared(concurrency)
        if any(run.lane not in self._lanes and read_shared_lane(run.lane) is None for run in runs) or not runs:
            await self._read_lanes()
        await self._call(self._enter, runs)

    def _enter(self, runs: Sequence[RunRow]) -> None:
        """Enter runs one after the other: DBOS hands out those of the same priority in that order.

        It compares the milliseconds in which they were entered, so each has one of its own.
        """
        for run in runs:
            began = time.monotonic()
            workflow_id, queue = make_workflow_id((run.run_id, run.epoch)), self._name_queue(run.lane)
            partition = None if read_shared_lane(run.lane) is None else run.lane
            arguments = (run.run_id, run.epoch, run.agent, run.format)
            bounded = max(-_MIDDLE_PRIORITY + 1, min(run.priority, _MIDDLE_PRIORITY - 1))
            priority = _MIDDLE_PRIORITY - bounded  # in DBOS lower numbers are first
            if self._engine.is_own:
                texts = [json.dumps(each) for each in arguments]
                values = (WORKFLOW, queue, texts, workflow_id, APPLICATION, priority, APPLICATION, partition)
                self._connect().execute(_ENTER, values)
                time.sleep(max(0.0, began + 0.001 - time.monotonic()))
                continue
            options: EnqueueOptions = {
                "workflow_name": WORKFLOW,
                "workflow_id": workflow_id,
                "queue_name": queue,
                "priority": priority,
                "app_version": DBOS.application_version,
                "serialization_type": WorkflowSerializationFormat.PORTABLE,
            }
            if partition is not None:
                options["queue_partition_key"] = partition
            DBOS.enqueue_workflow_with_options(options, *arguments)

    def _connect(self) -> "Connection[Any]":
        """Return the connection that enters runs. No commit waits for the disk: a lost entry is found missing later."""
        if self._connection is None or self._connection.closed:
            self._connection = connect(self._url)
            self._connection.execute("SET synchronous_commit = off")
        return self._connection

    def _name_queue(self, lane: str) -> str:
        application = "" if self._engine.is_own else "shared"
        concurrency = read_shared_lane(lane)
        return f"toolspeak:{application}:{lane if concurrency is None else name_shared_lane('', concurrency)}"

    async def _read_lanes(self) -> None:
        """Bring the queues of DBOS in line with the lanes of the journal."""
        lanes = {"": Lane(), **await self._worker.read(lambda session: session.read_lanes())}
        for name, lane in lanes.items():
            if self._lanes.get(name) != lane:
                await self._register(name, lane)

    async def _register(self, name: str, lane: Lane) -> None:
        slots, concurrency = self._worker.slots, lane.concurrency
        await self._call(
            DBOS.register_queue,
            self._name_queue(name),
            worker_concurrency=slots if concurrency is None else min(slots, concurrency),
            global_concurrency=concurrency,
            limiter=None if lane.rate is None else {"limit": lane.rate, "period": lane.period},
            polling_interval_sec=POLL_SECONDS,
            on_conflict="always_update",
        )
        self._lanes[name] = lane

    async def _register_shared(self, concurrency: int | None) -> None:
        """Register the queue of all runs that were started with this limit; each of their lanes is a part of it."""
        if concurrency is None:
            return
        await self._call(
            DBOS.register_queue,
            self._name_queue(name_shared_lane("", concurrency)),
            worker_concurrency=self._worker.slots,
            partition_concurrency=concurrency,
            polling_interval_sec=POLL_SECONDS,
            on_conflict="always_update",
        )
        self._shared.add(concurrency)

    # Taking

    def take(self, run_id: str, epoch: int, agent: str, stored_format: int) -> "Future[None]":
        """Take an entry, from any thread. The future is done when the run has left the worker."""
        done: Future[None] = Future()
        done.set_running_or_notify_cancel()  # DBOS cannot cancel a run

        def begin() -> None:
            task = self._loop.create_task(self._drive((run_id, epoch), agent, stored_format))
            self._driving.add(task)
            task.add_done_callback(self._driving.discard)
            task.add_done_callback(lambda _: done.set_result(None))

        self._loop.call_soon_threadsafe(begin, context=self._context)
        return done

    async def _drive(self, entry: Entry, agent: str, stored_format: int) -> None:
        worker = self._worker
        if worker.is_stopping or agent not in worker.agents or stored_format > STORED_FORMAT:
            await self._give_back(entry)
            return
        try:
            await asyncio.wait_for(self._slots.acquire(), SLOT_WAIT_SECONDS)
        except TimeoutError:
            await self._give_back(entry)
            return
        try:
            if worker.is_stopping:
                await self._give_back(entry)
            else:
                self._returns.forget(entry[0])
                await worker.drive(*entry)
        finally:
            self._slots.release()

    async def _give_back(self, entry: Entry) -> None:
        """Let the run be entered again, for another worker. If that fails, the entry is found later.

        The delay grows each time, since there may be no worker that can drive the run.
        """
        delay = self._returns.next_delay_ms(entry[0])
        try:
            await self._worker.write(lambda session: session.requeue(*entry, delay_ms=delay))
        except Exception as error:
            LOG.warning("run %s could not be given back: %s", entry[0], error)

    # Looking after entries

    async def forget(self, entries: Collection[Entry]) -> None:
        """Cancel entries, so that they hold no place in a lane any more."""
        if entries:
            await self._call(DBOS.cancel_workflows, [make_workflow_id(entry) for entry in entries])

    async def held_by_none_of(self, alive: Collection[str]) -> Sequence[Entry]:
        """Return entries that nobody will drive."""
        handed_out = await self._list(status="PENDING")
        lost = [
            read_workflow_id(each.workflow_id)
            for each in handed_out
            if each.executor_id not in (DBOS.executor_id, *alive)
            and each.application_name == APPLICATION  # whether the process of another program is alive, is unknown
        ]
        if time.monotonic() - self._audited > AUDIT_SECONDS:
            self._audited = time.monotonic()
            lost += await self._find_missing()
            await self._clean_up()
            await self._read_lanes()
        return lost

    async def _find_missing(self) -> list[Entry]:
        """Return queued runs that DBOS got and will not hand out: it has no entry, or one that is over or stuck.

        If there are more queued runs than are compared at a time, the next audit goes on where this one ends.
        """
        now = await self._worker.read(lambda session: session.read_clock())
        before, after = now - round(CLAIM_SECONDS * 1000), self._audited_run
        waiting = await self._worker.read(
            lambda session: session.list_dispatched(before, after=after, limit=AUDIT_RUNS)
        )
        self._audited_run = waiting[-1].run_id if len(waiting) == AUDIT_RUNS else ""
        if not waiting:
            return []
        ids = [make_workflow_id((run.run_id, run.epoch)) for run in waiting]
        found = {each.workflow_id: each for each in await self._list(workflow_ids=ids)}
        return [read_workflow_id(each) for each in ids if self._is_stuck(found.get(each), now)]

    def _is_stuck(self, workflow: WorkflowStatus | None, now: int) -> bool:
        if workflow is None or workflow.status in _OVER:
            return True
        if workflow.status == "PENDING":
            return now - (workflow.dequeued_at or 0) > CLAIM_SECONDS * 1000
        return workflow.app_version != DBOS.application_version  # of a program that was deployed anew

    async def _clean_up(self) -> None:
        """Delete entries that are over and that no lane counts any more."""
        kept = max([KEEP_SECONDS, *(lane.period for lane in self._lanes.values() if lane.rate is not None)])
        before = datetime.now(UTC) - timedelta(seconds=kept)
        over = await self._list(status=_OVER, completed_before=before.isoformat(), limit=AUDIT_RUNS)
        if over:
            await self._call(DBOS.delete_workflows, [each.workflow_id for each in over])

    async def _list(self, **conditions: Any) -> list[WorkflowStatus]:
        return await self._call(DBOS.list_workflows, name=WORKFLOW, load_input=False, load_output=False, **conditions)
