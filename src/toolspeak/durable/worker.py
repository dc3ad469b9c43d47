"""`Worker`: drives runs in this process.

The worker says that it lives, takes runs from workers that do not (`sweep`), and carries out what people want of the
runs that it drives. Which runs it drives, the dispatcher decides. On SIGTERM runs are parked: they stop at a point
where nothing is under way, and another worker goes on.

- What a worker owns in the journal and what it drives must agree, by `(run_id, epoch)`. The difference is given back
  without a death, at every second tick and by `JournalSession.leave`. So no claim needs a known outcome.
- A death is counted where a process died: in `sweep`, and for a process of a suspect run that ended without giving the
  run up. An exception never counts: the run waits, each time twice as long.
- A worker is lost when another one has watched it say nothing for its whole lease (`leases.py`), and never for itself.
- A queued run with a command of `COMMAND_FACTS` is ended from the tick, beside lanes and slots, whatever the
  dispatcher, and whether or not the worker has its agent.
"""

import asyncio
import json
import os
import secrets
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from typing import Any, Self, TypeVar

from toolspeak.durable.dispatch import ClaimDispatcher, Dispatcher, Enqueuer, Entry, RetryDelays
from toolspeak.durable.journal import Fenced, JournalSession
from toolspeak.durable.leases import SilenceWatch
from toolspeak.durable.quarantine import (
    COULD_NOT_DRIVE,
    MAX_DEATHS,
    QUARANTINE_DEATHS,
    Quarantine,
    find_target,
    is_suspect,
    load_program,
)
from toolspeak.durable.rows import STORED_FORMAT, RunRow, Started
from toolspeak.durable.runs import POSTGRES_SCHEMES, Runs, import_cluster
from toolspeak.durable.segment import COMMAND_FACTS, DepsFailed, MakeDeps, Segment
from toolspeak.durable.webhooks import SECRET_VARIABLE, WebhookSender
from toolspeak.durable.writer import Heartbeat, Writer
from toolspeak.run.agent import Agent
from toolspeak.run.barrier import ModelUnavailable
from toolspeak.values.errors import StoreUnavailable, UsageError
from toolspeak.values.log import LOG


class WorkerThread:
    """A worker for programs that are not async: in a thread of its own, with an event loop of its own."""

    def __init__(self, worker: AbstractAsyncContextManager[object]) -> None:
        self._worker = worker
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._started = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._serve, name="toolspeak worker", daemon=True)
        self._thread.start()
        self._started.wait()
        if self._error is not None:
            raise self._error

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._work())

    async def _work(self) -> None:
        try:
            async with self._worker:
                self._started.set()
                await self._stop.wait()
        except BaseException as error:  # raised in the thread of the caller
            self._error = error
        finally:
            self._started.set()

    def stop(self) -> None:
        """Stop the worker, and wait until it has parked its runs."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()


T = TypeVar("T")

MAX_TICK_SECONDS = 0.5
"""How long a cancellation or a lost worker stays unnoticed."""

FIRST_DELAY_MS = 500
"""How long a run waits that could not be driven for the first time."""

MAX_DELAY_MS = 2 * 60 * 1000
"""How long such a run waits at most."""

MAX_WAIT_SECONDS = 3600.0
"""How long such a run waits at most if an endpoint asks for it."""

MAX_DEPS_FAILURES = 8
"""How often the function of `deps=` may fail for a run in a row, which takes about a minute; then the run ends."""

RETRY_DELAY_MS = 500
"""How long a run waits that was handed to a worker which could not claim or take it."""

DELTA_RETENTION_MS = 3600 * 1000
"""How long the deltas of a run are kept after its end."""

GRACE_SECONDS = 30.0
"""How long runs have to come to a quiet point when their worker stops."""

STUCK_SECONDS = 60.0
"""How long looking after the runs may take; it is begun anew then."""

MIN_SILENCE_SECONDS = 60.0
"""For how long a blocked event loop is at least taken for a busy one."""


class Worker:
    """Executes the runs of a store that belong to its agents: `async with Worker(…)` or `with Worker(…)`.

    Attributes:
        name: The name of the worker; unique.
        slots: How many runs it executes at once.
        agents: The names of its agents.
        is_stopping: Whether it is stopping and takes no more runs.
    """

    def __init__(
        self,
        runs: Runs,
        agents: Mapping[str, Agent[Any]] | str,
        *,
        slots: int = 8,
        lease: float = 30.0,
        deps: MakeDeps | str | None = None,
        grace: float = GRACE_SECONDS,
        dispatcher: Dispatcher | None = None,
        webhook_secret: str | None = None,
    ) -> None:
        """Prepare a worker.

        Args:
            runs: The store.
            agents: The agents by the names under which runs are started; or where they are: `app.py:agents`.
            slots: How many runs it executes at once.
            lease: Seconds without a sign of life after which other workers take its runs over.
            deps: A function, sync or async, that makes what tools get in their `Context`, from the row of a run; or, if
                `agents` says where these are, where it is: `app.py:make_deps`.
            grace: Seconds that runs have to come to a quiet point when the worker stops.
            dispatcher: Hands out runs; by default DBOS on Postgres, and on SQLite the worker claims them itself.
            webhook_secret: Signs what is sent to `webhook=` addresses of runs; by default TOOLSPEAK_WEBHOOK_SECRET.

        Raises:
            UsageError: An argument cannot be used.
        """
        if slots < 1 or lease <= 0:
            raise UsageError("a worker needs at least one slot, and a lease of more than 0 seconds")
        self._deps_target = deps if isinstance(deps, str) else None
        if isinstance(agents, str):
            loaded, found = load_program(agents, self._deps_target)
            self._agents, self._deps = loaded, found if isinstance(deps, str) else deps
        elif isinstance(deps, str):
            raise UsageError(
                f"deps={deps!r} says where a function is, so agents= must, too: Worker(runs, 'app.py:NAME')"
            )
        else:
            self._agents, self._deps = dict(agents), deps
        if not self._agents:
            raise UsageError("a worker needs agents: Worker(runs, agents={'support': agent})")
        self.slots = slots
        self.agents = tuple(self._agents)
        self.is_stopping = False
        self._runs = runs
        runs.outputs |= {name: agent.output for name, agent in self._agents.items()}
        self._grace = grace
        self._tick_seconds = min(MAX_TICK_SECONDS, lease / 4)
        target = agents if isinstance(agents, str) else find_target(agents)
        if deps is not None and self._deps_target is None:  # another process cannot make them
            target = None
        self._target = target
        self._lease_ms = round(lease * 1000)
        self._take_name()
        self._dispatcher = dispatcher or _choose_dispatcher(runs, can_isolate=target is not None)
        self._enqueuer = Enqueuer(self, self._dispatcher, runs.watcher)
        self._max_silence = max(MIN_SILENCE_SECONDS, 4 * lease)
        self._last_pulse: float | None = None
        self._segments: dict[Entry, Segment] = {}
        self._undriven: set[Entry] = set()
        self._retries = RetryDelays(FIRST_DELAY_MS, MAX_DELAY_MS)
        self._deps_failures: Counter[str] = Counter()
        self._endings: set[asyncio.Task[None]] = set()
        secret = os.environ.get(SECRET_VARIABLE, "") if webhook_secret is None else webhook_secret
        self._webhooks = WebhookSender(secret, self.write)
        self._idle = asyncio.Event()
        self._idle.set()
        self._stack: AsyncExitStack | None = None
        self._thread: WorkerThread | None = None

    def _take_name(self) -> None:
        """Take a name that no other worker has, in this process or another, and what writes under it."""
        self._pid = os.getpid()
        self.name = f"{socket.gethostname()}-{self._pid}-{secrets.token_hex(4)}"
        self._quarantine = (
            None if self._target is None else Quarantine(self._runs.url, self._target, self.name, self._deps_target)
        )
        self._writer = Writer(
            self._runs.journal, Heartbeat(self.name, self._lease_ms, self._describe, self._is_responsive)
        )
        self._silence = SilenceWatch(self.name, lambda: self._writer.is_heard)

    def _describe(self) -> str:
        """Return what other processes may know of the worker, as JSON."""
        return json.dumps({"slots": self.slots, "running": len(self._segments), "agents": self.agents})

    def _is_responsive(self) -> bool:
        """Whether the event loop has done something lately; a blocked one drives nothing, so others should."""
        return self._last_pulse is None or time.monotonic() - self._last_pulse < self._max_silence

    # Starting and stopping

    async def __aenter__(self) -> Self:
        if os.getpid() != self._pid:  # the process was forked
            self._take_name()
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self._leave)
            await self._runs.prepare()
            await self._writer.write(lambda session: session.read_clock())  # the thread beats from here on
            await stack.enter_async_context(self._dispatcher.launch(self))
            stack.push_async_callback(_cancel, self._endings)
            stack.push_async_callback(self._webhooks.close)
            works = [self._pulse(), self._tick()]
            if not isinstance(self._dispatcher, ClaimDispatcher):
                works.append(self._enqueuer.serve())
            for work in works:
                stack.push_async_callback(_cancel, {asyncio.create_task(work)})
            stack.push_async_callback(self._park_all)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._stack is not None:
            await self._stack.aclose()

    async def _leave(self) -> None:
        """Remove the worker from the store, and end its thread: a thread that went on would say that it lives."""
        try:
            with suppress(StoreUnavailable):
                await self._writer.write(lambda session: session.leave(self.name))
        finally:
            await asyncio.to_thread(self._writer.close)

    async def _park_all(self) -> None:
        """Let all runs come to a quiet point, and give them up."""
        self.is_stopping = True
        for segment in list(self._segments.values()):
            segment.park()
        if self._quarantine is not None:
            self._quarantine.stop()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._grace):
                await self._idle.wait()

    async def arun(self, on_ready: Callable[[], None] | None = None) -> None:
        """Execute runs until SIGTERM or SIGINT arrives, and park those that are in progress.

        Args:
            on_ready: A function that is called when the worker is ready for runs.
        """
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            with suppress(NotImplementedError):  # Windows
                loop.add_signal_handler(number, stop.set)
        async with self:
            if on_ready is not None:
                on_ready()
            await stop.wait()

    def run(self) -> None:
        """Execute runs until SIGTERM or SIGINT arrives; see `arun`."""
        asyncio.run(self.arun())

    def __enter__(self) -> Self:
        self._thread = WorkerThread(self)
        return self

    def __exit__(self, *_: object) -> None:
        if self._thread is not None:
            self._thread.stop()

    # Driving

    async def write(self, job: Callable[[JournalSession], T]) -> T:
        """Do something with the journal, in a transaction that the writer thread commits."""
        return await self._writer.write(job)

    async def read(self, job: Callable[[JournalSession], T]) -> T:
        """Read something from the journal."""
        return await self._writer.read(job)

    async def drive(self, run_id: str, epoch: int) -> None:
        """Claim a run with this epoch, and execute it. It never raises."""
        run = await self._claim(run_id, epoch)
        if run is None:
            return
        if run.agent not in self._agents or run.format > STORED_FORMAT:
            LOG.warning("run %s is for another worker: this one has no agent %s of its form", run_id, run.agent)
            await self._give_back(run, RETRY_DELAY_MS)
        elif not self._has_room(run):
            await self._give_back(run, self._retries.next_delay_ms(run_id))
        else:
            await self.drive_claimed(run)

    def _has_room(self, run: RunRow) -> bool:
        """Whether a run can be driven beside those that are driven: a suspect run is driven alone."""
        if self._quarantine is not None:
            return True
        driven = [segment.run for segment in self._segments.values()]
        return not driven or not any(is_suspect(each) for each in (run, *driven))

    async def _give_back(self, run: RunRow, delay_ms: int, *, is_death: bool = False) -> None:
        await self._insist(
            lambda session: session.fail(run.run_id, run.epoch, self.name, delay_ms=delay_ms, is_death=is_death)
        )

    async def _claim(self, run_id: str, epoch: int) -> RunRow | None:
        try:
            return await self.write(lambda session: session.claim(run_id, epoch, self.name))
        except Exception as error:
            LOG.warning("run %s could not be claimed: %s", run_id, error)
            await self._insist(lambda session: session.requeue(run_id, epoch, delay_ms=RETRY_DELAY_MS))
            return None

    async def drive_claimed(self, run: RunRow) -> None:
        """Execute a run that was already claimed. It never raises."""
        await self._attend(run, self._drive)

    async def _attend(self, run: RunRow, work: Callable[[RunRow, Segment], Awaitable[object]]) -> None:
        """Do something with a run that was claimed, and give it up if that fails."""
        self._idle.clear()
        failures = self._deps_failures.pop(run.run_id, 0) + 1
        segment = Segment(
            run,
            self._agents.get(run.agent),
            self._writer,
            self._deps,
            self.name,
            self._lease_ms / 1000,
            is_last_try=failures >= MAX_DEPS_FAILURES,
        )
        self._segments[run.run_id, run.epoch] = segment
        try:
            await work(run, segment)
        except Fenced:
            LOG.warning("run %s was taken over by another worker", run.run_id)
            await self._give_up(run)
        except asyncio.CancelledError:  # the grace of a worker that stops is over
            await self._give_up(run)
            raise
        except Exception as error:
            is_outage = isinstance(error, StoreUnavailable | ModelUnavailable)  # no mistake of the program
            trace = None if is_outage else error
            LOG.warning("run %s could not be driven, and is tried again: %s", run.run_id, error, exc_info=trace)
            if isinstance(error, DepsFailed):
                self._deps_failures[run.run_id] = failures
            if segment.has_progressed:
                self._retries.forget(run.run_id)
            await self._give_up(run, wait=getattr(error, "retry_after", None) or 0.0)
        finally:
            self._segments.pop((run.run_id, run.epoch), None)
            if not self._segments:
                self._idle.set()

    async def _drive(self, run: RunRow, segment: Segment) -> None:
        if self.is_stopping:
            await self._give_up(run)
        elif run.deaths >= MAX_DEATHS:
            await segment.end_as_poison()
        elif run.deaths >= QUARANTINE_DEATHS and self._quarantine is not None:
            code = await self._quarantine.drive(run)
            await self._give_up(run, is_death=code != COULD_NOT_DRIVE)  # if its process ended without giving it up
            if code != COULD_NOT_DRIVE:
                self._retries.forget(run.run_id)
        else:
            await segment.drive()
            self._retries.forget(run.run_id)

    async def _give_up(self, run: RunRow, *, is_death: bool = False, wait: float = 0.0) -> None:
        """Queue a run again, if this worker still has it; try until the journal answers.

        A death is counted if the run may have ended a process. An exception ends nothing: what the run needs may be
        away for a while, so the run is tried again, later each time.
        """
        wait_ms = round(1000 * min(wait, MAX_WAIT_SECONDS))  # as an endpoint asks for
        delay = 0 if self.is_stopping else max(wait_ms, self._retries.next_delay_ms(run.run_id))
        await self._give_back(run, delay, is_death=is_death and not self.is_stopping)

    async def _insist(self, job: Callable[[JournalSession], object]) -> None:
        while True:
            try:
                await self._writer.write(job)
                return
            except Fenced:
                return
            except StoreUnavailable:
                if self.is_stopping:  # `leave` gives the run back, or others take it over
                    return
                await asyncio.sleep(self._tick_seconds)

    # What is done regularly

    async def _pulse(self) -> None:
        """Note that the event loop goes on; apart from the tick, which may wait for the store or for an engine."""
        while True:
            self._last_pulse = time.monotonic()
            await asyncio.sleep(self._tick_seconds)

    async def _tick(self) -> None:
        ticks = 0
        while True:
            try:
                async with asyncio.timeout(STUCK_SECONDS):
                    await self._look_after_runs()
                if ticks % 120 == 0:
                    await self.write(lambda session: session.drop_deltas(session.read_clock() - DELTA_RETENTION_MS))
            except StoreUnavailable as error:
                self._silence.forget()
                LOG.warning("worker %s cannot use the store: %s", self.name, error)
            except TimeoutError:
                LOG.warning("worker %s waits in vain for its store or engine; it is asked again", self.name)
            except Exception:
                LOG.exception("worker %s could not look after its runs", self.name)
            ticks += 1
            await asyncio.sleep(self._tick_seconds)

    async def _look_after_runs(self) -> None:
        if self._segments:
            names = list(COMMAND_FACTS)
            driven = [run_id for run_id, _ in self._segments]
            for command in await self.read(lambda session: session.read_commands(driven, names=names)):
                for segment in self._segments.values():
                    if segment.run.run_id == command.run_id:
                        segment.interrupt(command.name)
        await self._give_back_undriven()
        await self._end_queued()
        swept = await self.write(lambda session: session.sweep(self._silence.find_living))
        if swept.taken:
            LOG.warning("worker %s took over: %s", self.name, ", ".join(run_id for run_id, _ in swept.taken))
            await self._dispatcher.forget(swept.taken)
        if lost := await self._dispatcher.held_by_none_of({*swept.alive, *swept.living}):
            for run_id, epoch in lost:
                await self.write(lambda session, run_id=run_id, epoch=epoch: session.requeue(run_id, epoch))
            await self._dispatcher.forget(lost)
        self._enqueuer.alive = swept.alive
        for started in await self.write(_do_due):
            if isinstance(started, Exception):  # the start was refused, because a lane is full
                LOG.warning("%s", started)
        await self._webhooks.send_due()

    async def _give_back_undriven(self) -> None:
        """Queue the runs that this worker owns in the journal and does not drive.

        A claim whose commit failed may have taken effect all the same. A run that was claimed just now is not driven
        yet, so a run is given back when it was not driven at the last tick either.
        """
        held = await self.read(lambda session: session.list_held(self.name))
        undriven = set(held).difference(self._segments)
        for run_id, epoch in undriven & self._undriven:
            LOG.warning("run %s is given back: worker %s owns it and does not drive it", run_id, self.name)
            await self.write(lambda session, r=run_id, e=epoch: session.fail(r, e, self.name, is_death=False))
        self._undriven = undriven

    async def _end_queued(self) -> None:
        """End queued runs that were cancelled or are late, even if their lane or all slots are full: only an end is
        written. The agent is not needed for that.
        """
        if self.is_stopping:
            return
        names, count = list(COMMAND_FACTS), self.slots - len(self._endings)
        for run in await self.read(lambda session: session.list_commanded(names, count)):
            ending = asyncio.create_task(self._end(run.run_id, run.epoch))
            self._endings.add(ending)
            ending.add_done_callback(self._endings.discard)

    async def _end(self, run_id: str, epoch: int) -> None:
        if (run := await self._claim(run_id, epoch)) is not None:
            await self._attend(run, lambda _, segment: segment.end_by_command())


def _do_due(session: JournalSession) -> list[Started | Exception]:
    """Wake the runs whose waits are over, and start those of schedules; return what came of each start."""
    session.wake_due()
    return session.start_due()


def _choose_dispatcher(runs: Runs, *, can_isolate: bool) -> Dispatcher:
    """Return what hands out runs: DBOS on Postgres, else a claim."""
    if not runs.url.startswith(POSTGRES_SCHEMES):
        return ClaimDispatcher(runs.watcher, can_isolate=can_isolate)
    return import_cluster("toolspeak.durable.dbos_dispatcher", "a worker on Postgres").DbosDispatcher(runs.url)


async def _cancel(tasks: set[asyncio.Task[None]]) -> None:
    for task in list(tasks):
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
