"""`ConversationLock`, between real processes."""

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from toolspeak.durable.log import ConversationLock
from toolspeak.values.errors import UsageError

HOLDER = """
import sys
from pathlib import Path
from toolspeak.durable.log import ConversationLock

lock = ConversationLock(Path(sys.argv[1]))
for conversation in sys.argv[2:]:
    print(lock.acquire(conversation), flush=True)
    sys.stdin.readline()
"""


@contextmanager
def holder(log: Path, *conversations: str) -> Generator[subprocess.Popen[str]]:
    """A process that locks the first conversation, and the next one whenever a line is written to it."""
    command = [sys.executable, "-c", HOLDER, str(log), *conversations]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "True\n"
        yield process
        process.kill()


def can_lock(log: Path, conversation: str) -> bool:
    lock = ConversationLock(log)
    try:
        return lock.acquire(conversation)
    finally:
        lock.close()


def test_another_process_cannot_lock_the_same_conversation(tmp_path: Path):
    log = tmp_path / "log.sqlite"
    with holder(log, "a") as process:
        assert not can_lock(log, "a")
        assert can_lock(log, "b")
        assert not can_lock(log, "a")
        process.kill()
        process.wait()
        assert can_lock(log, "a")


def test_a_process_holds_one_conversation_at_a_time(tmp_path: Path):
    log = tmp_path / "log.sqlite"
    with holder(log, "a", "b") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "True\n"
        assert can_lock(log, "a")
        assert not can_lock(log, "b")


def test_a_lock_is_released_when_it_is_closed_and_can_be_taken_again(tmp_path: Path):
    log = tmp_path / "log.sqlite"
    lock = ConversationLock(log)
    assert lock.acquire("a")
    assert lock.acquire("a")
    lock.close()
    lock.close()
    with holder(log, "a"):
        assert not lock.acquire("a")
        assert lock.acquire("b")
    lock.close()
    file = tmp_path / "log.sqlite.lock"
    assert (file.stat().st_size, file.stat().st_mode & 0o777) == (0, 0o600)


def test_a_file_that_cannot_be_used_is_an_error(tmp_path: Path):
    (tmp_path / "log.sqlite.lock").mkdir()
    with pytest.raises(UsageError, match="cannot be used: Is a directory"):
        ConversationLock(tmp_path / "log.sqlite").acquire("a")
