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


def find_threads():
    return {thread.name for thread in threading.enumerate() if "MCP" in thread.name or "waitpid" in thread.name}


@pytest.fixture(autouse=True)
def nothing_left(tmp_path, monkeypatch):
    monkeypatch.setenv("TOOLSPEAK_CONFIG_FOLDER", str(tmp_path / "config"))
    before = find_children()
    yield
    assert not find_threads()
    assert not find_children() - before


@pytest.fixture
def connect(nothing_left):
    """Return `mcp.tools`, whose servers end with the test."""
    opened = []

    def tools(*servers, **options):
        opened.append(mcp.tools(*servers, **options))
        return opened[-1]

    yield tools
    for each in opened:
        each.close()
    deadline = time.monotonic() + 20
    while find_threads() and time.monotonic() < deadline:  # the thread that waits for a process ends a moment later
        time.sleep(0.01)


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
