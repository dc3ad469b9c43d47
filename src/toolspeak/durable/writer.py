"""`Writer`: the thread through which a process uses its journal.

Whatever has come meanwhile, of all runs, is done in one transaction, so that many runs wait for one flush to the disk.
The thread also says that its worker lives: a blocked event loop does not stop its beats, and a thread that cannot reach
the database does. A process that is forked begins with a thread and a session of its own.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, Generic, NamedTuple, TypeVar

from toolspeak.durable.forks import leave_behind, renew_after_fork
from toolspeak.durable.journal import Fenced, Journal, JournalSession
from toolspeak.errors import StoreUnavailable, UsageError
from toolspeak.log import LOG

T = TypeVar("T")

MAX_GROUP = 200
"""How many jobs are done in one transaction."""

MAX_IDLE_SECONDS = 3600.0

RETRY_SECONDS = 0.5
"""How long a thread without jobs waits before it tries again to connect."""


class WriterClosed(StoreUnavailable):
    """The store was closed."""


class WriterJob(NamedTuple, Generic[T]):
    """Something to do with a session, in a transaction or for reading only, and who waits for it."""

    work: Callable[[JournalSession], T]
    writes: bool
    done: "Future[T]"


class Heartbeat(NamedTuple):
    """Says that a worker lives, every third of its lease, as long as its event loop is responsive."""

    worker: str
    lease_ms: int
    info: Callable[[], str]
    is_responsive: Callable[[], bool]

    @property
    def interval(self) -> float:
        return self.lease_ms / 3000


class Writer:
    """A thread that uses a session of a journal.

    Args:
        journal: The journal.
        heartbeat: What is said of a worker, if this is the thread of one.
    """

    def __init__(self, journal: Journal, heartbeat: Heartbeat | None = None) -> None:
        self._journal = journal
        self._heartbeat = heartbeat
        self._closed = False
        self._session: JournalSession | None = None
        self.renew()
        renew_after_fork(self)

    def renew(self) -> None:
        """Begin without a thread and without a session."""
        if self._session is not None:
            leave_behind(self._session)
        self._session = None
        self._next_beat = 0.0
        self._jobs: SimpleQueue[WriterJob[Any] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    async def write(self, work: Callable[[JournalSession], T]) -> T:
        """Do something in a transaction, and return its value when that is committed."""
        return await asyncio.wrap_future(self.submit(work))

    async def read(self, work: Callable[[JournalSession], T]) -> T:
        """Do something that writes nothing, and return its value."""
        return await asyncio.wrap_future(self.submit(work, writes=False))

    def submit(self, work: Callable[[JournalSession], T], *, writes: bool = True) -> "Future[T]":
        """Enter a job; safe from any thread. Jobs are done in the order in which they are entered."""
        done: Future[T] = Future()
        with self._lock:
            if self._closed:
                raise WriterClosed(f"the store {self._journal.url} was closed")
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="toolspeak journal", daemon=True)
                self._thread.start()
            self._jobs.put(WriterJob(work, writes, done))
        return done

    def close(self) -> None:
        """Do what was entered, and end the thread."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._jobs.put(None)
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    # In the thread

    def _serve(self) -> None:
        is_open = True
        while is_open:
            jobs, is_open = self._take()
            try:
                session = self._connect()
                self._beat(session)
            except Exception as error:
                self._session, self._next_beat = None, time.monotonic() + RETRY_SECONDS
                for job in jobs:
                    _fail(job, error)
                continue
            self._do_all(session, jobs)
        if self._session is not None:
            self._session.close()

    def _take(self) -> tuple[list[WriterJob[Any]], bool]:
        """Wait for jobs until the next beat is due; return them, and whether there will be more."""
        jobs: list[WriterJob[Any]] = []
        seconds = MAX_IDLE_SECONDS if self._heartbeat is None else max(0.0, self._next_beat - time.monotonic())
        with suppress(Empty):
            job = self._jobs.get(timeout=seconds)
            while job is not None:
                jobs.append(job)
                if len(jobs) == MAX_GROUP:
                    return jobs, True
                job = self._jobs.get_nowait()
            return jobs, False
        return jobs, True

    def _connect(self) -> JournalSession:
        if self._session is None:
            self._session = self._journal.connect()
        return self._session

    def _beat(self, session: JournalSession) -> None:
        beat = self._heartbeat
        if beat is None or time.monotonic() < self._next_beat:
            return
        if not beat.is_responsive():
            self._next_beat = time.monotonic() + beat.interval
            LOG.warning("worker %s says nothing: its event loop is blocked", beat.worker)
            return
        self._next_beat = time.monotonic() + beat.interval  # before the attempt: a failed beat is not repeated at once
        try:
            session.beat(beat.worker, beat.lease_ms, beat.info())
        except StoreUnavailable as error:
            LOG.warning("worker %s could not say that it lives: %s", beat.worker, error)

    def _do_all(self, session: JournalSession, jobs: list[WriterJob[Any]]) -> None:
        """Do jobs in their order; those that write, one after the other, share a transaction."""
        group: list[WriterJob[Any]] = []
        for job in jobs:
            if job.writes:
                group.append(job)
                continue
            self._write_group(session, group)
            group = []
            try:
                value = job.work(session)
            except Exception as error:
                _fail(job, error)
            else:
                _succeed(job, value)
        self._write_group(session, group)

    def _write_group(self, session: JournalSession, jobs: list[WriterJob[Any]]) -> None:
        if not jobs:
            return
        results: list[JobResult] = []
        try:
            with session.transaction():
                results += [_try(job, session) for job in jobs]
        except Exception as error:
            if len(jobs) == 1:
                refusal = results[0].refusal if results else None
                _fail(jobs[0], refusal or error)
                return
            for job in jobs:  # one of them failed, and took the others with it
                self._write_group(session, [job])
            return
        for job, result in zip(jobs, results, strict=True):
            if result.refusal is not None:
                _fail(job, result.refusal)
            else:
                _succeed(job, result.value)


class JobResult(NamedTuple):
    """What a job gave: its value, or the error by which it was refused. A refusal has written nothing."""

    value: Any = None
    refusal: Exception | None = None


def _try(job: WriterJob[Any], session: JournalSession) -> JobResult:
    try:
        return JobResult(job.work(session))
    except (Fenced, UsageError) as error:
        return JobResult(refusal=error)


def _succeed(job: WriterJob[Any], value: Any) -> None:
    if job.done.set_running_or_notify_cancel():
        job.done.set_result(value)


def _fail(job: WriterJob[Any], error: Exception) -> None:
    if job.done.set_running_or_notify_cancel():
        job.done.set_exception(error)
