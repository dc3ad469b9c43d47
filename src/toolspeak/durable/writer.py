"""`Writer`: the thread through which a process uses its journal.

Jobs of all runs that have come meanwhile share one transaction, so that many runs wait for one flush to the disk. A
transaction takes its jobs when it has begun, so that those which come while it waits for other processes join it. An
event loop is woken once for all its answers. The thread also says that its worker lives: a blocked event loop does not
stop its beats, and a thread that cannot reach the database does. It does so before anything else when that is overdue,
and does nothing for a worker that said nothing for its whole lease and still cannot: others may have its runs. A
process that is forked begins with a thread and a session of its own.
"""

import asyncio
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, Generic, NamedTuple, Protocol, TypeVar
from weakref import WeakSet

from toolspeak.durable.journal import Fenced, Journal, JournalSession, OutcomeUnknown
from toolspeak.durable.leases import Clock, count_seconds
from toolspeak.values.errors import StoreUnavailable, UsageError
from toolspeak.values.log import LOG


class Renewable(Protocol):
    """Something with threads and connections."""

    def renew(self) -> None:
        """Forget threads, locks and connections, which belong to another process. No other thread is running."""
        ...


_RENEWED: WeakSet[Renewable] = WeakSet()

_LEFT_BEHIND: list[object] = []
"""What was copied from the parent. It is kept, because the end of its life would close it."""


def renew_after_fork(each: Renewable) -> None:
    """Let an object with threads and connections start anew in each process that is forked from this one.

    A fork copies locks, queues and connections, but not the threads that use them. What the child got is neither used
    nor closed: the connections belong to the parent.
    """
    _RENEWED.add(each)


def _renew_all() -> None:
    for each in list(_RENEWED):
        each.renew()


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing is forked
    os.register_at_fork(after_in_child=_renew_all)


T = TypeVar("T")

MAX_GROUP = 200
"""How many jobs are done in one transaction."""

MAX_IDLE_SECONDS = 3600.0

RETRY_SECONDS = 0.5
"""How long a thread without jobs waits before it tries again to connect, or to say that its worker lives."""


class WriterJob(NamedTuple, Generic[T]):
    """Something to do with a session, in a transaction or for reading only, and who waits for it: a future of any
    thread, or one of an event loop.
    """

    work: Callable[[JournalSession], T]
    writes: bool
    done: "Future[T] | asyncio.Future[T]"


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
        clock: A clock that goes on while the machine sleeps.

    Attributes:
        is_heard: Whether the thread could say that its worker lives when it last tried to.
    """

    def __init__(self, journal: Journal, heartbeat: Heartbeat | None = None, clock: Clock = count_seconds) -> None:
        self._journal = journal
        self._heartbeat = heartbeat
        self._clock = clock
        self._closed = False
        self._session: JournalSession | None = None
        self.renew()
        renew_after_fork(self)

    def renew(self) -> None:
        """Begin without a thread and without a session."""
        if self._session is not None:
            _LEFT_BEHIND.append(self._session)
        self._session = None
        self._next_beat = 0.0
        self._last_beat: float | None = None
        self.is_heard = True
        self._jobs: SimpleQueue[WriterJob[Any] | None] = SimpleQueue()
        self._taken: deque[WriterJob[Any]] = deque()  # from the queue, and not done yet
        self._is_open = True
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    async def write(self, work: Callable[[JournalSession], T]) -> T:
        """Do something in a transaction, and return its value when that is committed."""
        return await self._enter(work, writes=True)

    async def read(self, work: Callable[[JournalSession], T]) -> T:
        """Do something that writes nothing, and return its value."""
        return await self._enter(work, writes=False)

    def _enter(self, work: Callable[[JournalSession], T], *, writes: bool) -> "asyncio.Future[T]":
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._put(WriterJob(work, writes, done))
        return done

    def submit(self, work: Callable[[JournalSession], T], *, writes: bool = True) -> "Future[T]":
        """Enter a job; safe from any thread. Jobs are done in the order in which they are entered."""
        done: Future[T] = Future()
        self._put(WriterJob(work, writes, done))
        return done

    def _put(self, job: WriterJob[Any]) -> None:
        with self._lock:
            if self._closed:
                raise StoreUnavailable(f"the store {self._journal.url} was closed")
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="toolspeak journal", daemon=True)
                self._thread.start()
            self._jobs.put(job)

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
        while self._is_open or self._taken:
            self._wait()
            try:
                session = self._session = self._session or self._journal.connect()
                self._beat(session)
            except Exception as error:
                self._close_session()
                self._next_beat = self._clock() + RETRY_SECONDS
                self._refuse(error)
                continue
            if self._has_lapsed():
                self._refuse(StoreUnavailable("the lease of the worker is over and could not be renewed"))
            elif self._taken:
                self._do_next(session)
        self._close_session()

    def _refuse(self, error: Exception) -> None:
        """Answer all jobs that were taken with an error."""
        _answer((job, JobResult(error=error)) for job in self._taken)
        self._taken.clear()

    def _has_lapsed(self) -> bool:
        """Whether the worker said nothing for its whole lease, so that others may have its runs."""
        beat, last = self._heartbeat, self._last_beat
        return beat is not None and last is not None and self._clock() - last >= beat.lease_ms / 1000

    def _close_session(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            with suppress(Exception):  # the thread must go on
                session.close()

    def _wait(self) -> None:
        """Wait for jobs until the next beat is due, unless some are left."""
        if self._taken:
            return
        seconds = MAX_IDLE_SECONDS if self._heartbeat is None else max(0.0, self._next_beat - self._clock())
        with suppress(Empty):
            self._keep(self._jobs.get(timeout=seconds))
            self._take()

    def _take(self) -> None:
        """Take the jobs that have come meanwhile."""
        with suppress(Empty):
            while self._is_open:
                self._keep(self._jobs.get_nowait())

    def _keep(self, job: WriterJob[Any] | None) -> None:
        if job is None:
            self._is_open = False
        else:
            self._taken.append(job)

    def _beat(self, session: JournalSession) -> None:
        """Say that the worker lives, if that is due."""
        beat, now = self._heartbeat, self._clock()
        if beat is None or now < self._next_beat:
            return
        problem = self._try_to_beat(session, beat)
        if problem is None:
            self._last_beat, self._next_beat, self.is_heard = now, now + beat.interval, True
            return
        self._next_beat = now + min(RETRY_SECONDS, beat.interval)
        if self.is_heard:
            LOG.warning("worker %s says nothing until this is over: %s", beat.worker, problem)
        self.is_heard = False

    def _try_to_beat(self, session: JournalSession, beat: Heartbeat) -> str | None:
        """Say that the worker lives; return why not, if that fails."""
        if not beat.is_responsive():
            return "its event loop is blocked"
        try:
            session.beat(beat.worker, beat.lease_ms, beat.info())
        except StoreUnavailable as error:
            return str(error)
        return None

    def _do_next(self, session: JournalSession) -> None:
        """Do the next job, and if it writes, those that write after it, in one transaction."""
        if self._taken[0].writes:
            self._write_group(session, [])
            return
        job = self._taken.popleft()
        try:
            result = JobResult(job.work(session))
        except Exception as error:
            result = JobResult(error=error)
        _answer([(job, result)])

    def _write_group(self, session: JournalSession, jobs: list[WriterJob[Any]]) -> None:
        """Do jobs in one transaction; without any, those that have come when the transaction begins."""
        chosen = list(jobs)
        results: list[JobResult] = []
        try:
            with session.transaction():
                if not chosen:
                    self._take()
                    while self._taken and self._taken[0].writes and len(chosen) < MAX_GROUP:
                        chosen.append(self._taken.popleft())
                results += [_try(job, session) for job in chosen]
        except Exception as error:
            if not chosen:  # the transaction could not begin
                chosen.append(self._taken.popleft())
            if len(chosen) > 1 and not isinstance(error, OutcomeUnknown):
                for job in chosen:  # one of them failed, and took the others with it
                    self._write_group(session, [job])
                return
            refusal = results[0].error if len(results) == 1 else None
            results = [JobResult(error=refusal or error)] * len(chosen)
        _answer(zip(chosen, results, strict=True))


class JobResult(NamedTuple):
    """What a job gave: its value, or an error. A job that was refused has written nothing."""

    value: Any = None
    error: Exception | None = None


def _try(job: WriterJob[Any], session: JournalSession) -> JobResult:
    try:
        return JobResult(job.work(session))
    except (Fenced, UsageError) as error:
        return JobResult(error=error)


def _answer(answers: Iterable[tuple[WriterJob[Any], JobResult]]) -> None:
    """Give each job its result. An event loop is woken once for all its jobs."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], JobResult]]] = {}
    for job, result in answers:
        if isinstance(job.done, asyncio.Future):
            by_loop.setdefault(job.done.get_loop(), []).append((job.done, result))
        elif job.done.set_running_or_notify_cancel():
            _settle(job.done, result)
    for loop, settled in by_loop.items():
        with suppress(RuntimeError):  # the event loop is closed
            loop.call_soon_threadsafe(_settle_all, settled)


def _settle_all(answers: Iterable[tuple[asyncio.Future[Any], JobResult]]) -> None:
    for done, result in answers:
        if not done.done():  # whoever waited was cancelled
            _settle(done, result)


def _settle(done: "Future[Any] | asyncio.Future[Any]", result: JobResult) -> None:
    if result.error is not None:
        done.set_exception(result.error)
    else:
        done.set_result(result.value)
