"""Servers for the tests, and the check that none of them is left: no thread, no child process.

The shapes of functions in `tests/tools`, whose modules import each other by their plain names, are served here, too.
"""

import os
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.cli import commands
from toolspeak import mcp

SERVERS = Path(__file__).parent / "servers"
sys.path.append(str(Path(__file__).parents[1] / "tools"))


def find_children():
    """Return the ids of the child processes of this one that run."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        if int(fields[1]) == os.getpid() and fields[0] != "Z":
            found.append(int(status.parent.name))
    return set(found) - commands.starters


others = set()  # the threads that other tests have left


def find_threads():
    """Return the names of the threads of servers and of their processes that began in this test."""
    own = set(threading.enumerate()) - others
    return {thread.name for thread in own if "MCP" in thread.name or "waitpid" in thread.name}


def wait_until(condition):
    """Wait for something that happens in a thread or a process; whether it did."""
    deadline = time.monotonic() + 20
    while not (met := condition()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return met


@pytest.fixture(autouse=True)
def nothing_left(tmp_path, monkeypatch):
    monkeypatch.setenv("TOOLSPEAK_CONFIG_FOLDER", str(tmp_path / "config"))
    others.clear()
    others.update(threading.enumerate())
    before = find_children()
    yield
    wait_until(lambda: not find_threads())  # the thread that waits for a process ends a moment after it
    assert not find_threads()
    wait_until(lambda: not find_children() - before)
    assert not find_children() - before


@pytest.fixture
def connect(nothing_left):
    """Return `mcp.tools`, whose servers end with the test, and may start as slowly as on a busy machine."""
    opened = []

    def tools(*servers, **options):
        opened.append(mcp.tools(*servers, **{"start_timeout": 80, **options}))
        return opened[-1]

    yield tools
    for each in opened:
        each.close()


@pytest.fixture
def plain(tmp_path):
    """Return the command line of the server without any library, in a mode."""

    def command(mode="good"):
        return [sys.executable, "-S", str(SERVERS / "plain.py"), mode, str(tmp_path / "state")]

    return command


@pytest.fixture
def modern():
    """Return the command line of the server that is written with the SDK."""
    return [sys.executable, str(SERVERS / "modern.py")]
