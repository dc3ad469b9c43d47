"""The thread pool: an outcome is a value, threads are used again, and stuck threads are counted and limited."""

import contextvars
import gc
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any

import pytest

from tests.run.playing import until
from toolspeak.execution.outcome import CallOutcome, Raised, Returned
from toolspeak.execution.threads import MAX_STUCK_THREADS, ThreadJob, ThreadPool, TooManyStuckThreads


def run_in(threads: ThreadPool, function: Callable[[], Any]) -> CallOutcome:
    outcomes: SimpleQueue[CallOutcome] = SimpleQueue()
    threads.start(function, outcomes.put)
    return outcomes.get(timeout=20)


def test_a_value_comes_back():
    assert run_in(ThreadPool(), lambda: 42) == Returned(42)


@pytest.mark.parametrize(
    "error", [ValueError, SystemExit, KeyboardInterrupt, StopIteration, GeneratorExit, MemoryError]
)
def test_whatever_is_raised_is_a_value(error: type[BaseException]):
    raised = error("x")

    def function() -> None:
        raise raised

    assert run_in(ThreadPool(), function) == Raised(raised)


def test_a_thread_is_used_again():
    threads = ThreadPool()
    names = set()
    for _ in range(20):
        names.add(run_in(threads, threading.get_ident)[0])
        until(lambda: bool(threads._idle))
    assert len(names) == 1


def test_threads_are_daemons_and_see_the_context_of_the_caller():
    word = contextvars.ContextVar("word", default="")
    word.set("here")
    assert run_in(ThreadPool(), lambda: (word.get(), threading.current_thread().daemon)) == Returned(("here", True))


def test_what_hangs_is_counted_and_capped():
    threads = ThreadPool(max_stuck=3)
    let_go = threading.Event()
    ended: list[CallOutcome] = []
    jobs = [threads.start(lambda: let_go.wait(20), ended.append) for _ in range(3)]
    assert threads.stuck == 0
    for count, job in enumerate(jobs, 1):
        job.abandon()
        job.abandon()
        assert threads.stuck == count
    with pytest.raises(TooManyStuckThreads, match="3 earlier calls hang"):
        threads.start(lambda: None, ended.append)
    let_go.set()
    until(lambda: threads.stuck == 0)
    until(lambda: ended == [Returned(True)] * 3)  # late, but passed on
    assert run_in(threads, lambda: "again") == Returned("again")


def test_jobs_run_in_turn_in_one_thread():
    threads = ThreadPool()
    outcomes: SimpleQueue[CallOutcome] = SimpleQueue()
    names: list[int] = []

    def note(number: int) -> int:
        names.append(threading.get_ident())
        return number

    threads.start_in_turn([ThreadJob(threads, partial(note, number), outcomes.put, None) for number in range(5)])
    assert [outcomes.get(timeout=20) for _ in range(5)] == [Returned(number) for number in range(5)]
    assert len(set(names)) == 1
    until(lambda: len(threads._idle) == 1 and threads.running == 0)


def test_a_job_that_waits_for_the_next_one_goes_on_when_they_are_spread():
    threads = ThreadPool()
    ended: list[CallOutcome] = []
    met = threading.Barrier(3)
    jobs = [ThreadJob(threads, lambda: met.wait(20) >= 0, ended.append, None) for _ in range(3)]
    queue = threads.start_in_turn(jobs)
    threads.spread(queue, jobs)
    until(lambda: ended == [Returned(True)] * 3)
    until(lambda: len(threads._idle) == 3 and threads.running == 0)


def test_no_thread_is_lost_when_jobs_are_spread_before_it_has_come():
    threads = ThreadPool()
    before = set(threading.enumerate())  # threads of other tests may end meanwhile

    def count_alive() -> int:
        return sum(each.name == "toolspeak tool" and each not in before for each in threading.enumerate())

    ended: list[CallOutcome] = []
    for _ in range(300):
        jobs = [ThreadJob(threads, lambda: 1, ended.append, None) for _ in range(3)]
        threads.spread(threads.start_in_turn(jobs), jobs)
    until(lambda: len(ended) == 900 and threads.running == 0)
    # Within the ten seconds after which a lost thread would end.
    until(lambda: len(threads._idle) == count_alive(), seconds=5)


def test_jobs_for_which_there_is_no_thread_still_run_in_turn():
    threads = ThreadPool(max_stuck=1)
    let_go = threading.Event()
    ended: list[CallOutcome] = []
    jobs = [ThreadJob(threads, lambda: let_go.wait(20), ended.append, None) for _ in range(3)]
    queue = threads.start_in_turn(jobs)
    jobs[0].abandon()
    threads.spread(queue, jobs)  # no further one is started
    assert threads.running == 3
    let_go.set()
    until(lambda: ended == [Returned(True)] * 3)
    until(lambda: len(threads._idle) == 1 and threads.running == threads.stuck == 0)


def test_what_has_ended_cannot_be_stuck():
    threads = ThreadPool()
    outcomes: SimpleQueue[CallOutcome] = SimpleQueue()
    job = threads.start(lambda: 1, outcomes.put)
    outcomes.get(timeout=20)
    job.abandon()
    assert threads.stuck == 0


def test_the_cap_is_32():
    assert MAX_STUCK_THREADS == 32


def test_what_was_returned_does_not_live_on_in_an_idle_thread():
    class Large:
        pass

    threads = ThreadPool()
    outcome = run_in(threads, Large)
    assert isinstance(outcome, Returned)
    kept = weakref.ref(outcome.value)
    del outcome
    until(lambda: gc.collect() >= 0 and kept() is None)


FORKS = """
import os
from tests.execution.test_threads import Returned, ThreadPool, run_in, until

threads = ThreadPool()
assert run_in(threads, lambda: 1) == Returned(1)
until(lambda: bool(threads._idle))
child = os.fork()
assert run_in(threads, lambda: 2) == Returned(2)
os._exit(0 if child == 0 else os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_has_threads_of_its_own():
    """In a process of its own: here other tests have threads, which may hold any lock at the moment of the fork."""
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=80, check=False)
    assert (done.returncode, done.stderr) == (0, "")
