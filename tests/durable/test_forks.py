"""A store and a worker that were made, and used, before the process was forked."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="nothing is forked on Windows")

STORE = """
import os, signal, sys
from toolspeak.durable import Runs

runs = Runs(sys.argv[1])
runs.start_sync("echo", "Hi.")
if not (child := os.fork()):
    signal.alarm(60)
    runs.start_sync("echo", "Hello.", key="child")
    runs.close()
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(len(runs.list_sync()), runs.start_sync("echo", "Hello.", key="child").is_new)
runs.close()
"""

WORKERS = """
import os, signal, sys, time
from toolspeak import Agent
from toolspeak.durable import Runs, Worker
from toolspeak.testing import ScriptedModel, says

runs = Runs(sys.argv[1])
runs.start_sync("echo", "Hi.")
worker = Worker(runs, {"echo": Agent(ScriptedModel([says("Hello.")] * 9))})
reading, writing = os.pipe()
if not (child := os.fork()):
    signal.alarm(60)
    with worker:
        os.read(reading, 1)
    os._exit(0)
with worker:
    while len(runs.workers_sync()) < 2:
        time.sleep(0.02)
    print(runs.start_sync("echo", "Hi.").outcome_sync(timeout=60).text)
os.write(writing, b"x")
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), runs.workers_sync())
runs.close()
"""


def run(program: str, folder: Path) -> list[str]:
    done = subprocess.run(
        # Python warns of any fork beside other threads since 3.12; that it works nonetheless is what is tested.
        [sys.executable, "-W", "ignore:This process:DeprecationWarning", "-c", program, f"sqlite:///{folder}/runs.db"],
        capture_output=True,
        text=True,
        check=False,
        timeout=80,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_a_store_that_was_used_can_be_used_after_a_fork(tmp_path: Path) -> None:
    assert run(STORE, tmp_path) == ["0", "2 False"]


@pytest.mark.slow
def test_a_worker_that_is_started_after_a_fork_has_a_name_of_its_own(tmp_path: Path) -> None:
    assert run(WORKERS, tmp_path) == ["Hello.", "0 []"]
