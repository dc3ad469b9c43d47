"""Clocks that tests set: one of a process, and that of an SQLite store."""

from pathlib import Path

from toolspeak.durable.journal import JournalSession
from toolspeak.durable.sqlite import SqliteJournal, SqliteSession


class FakeClock:
    """A clock that a test sets, in seconds."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class ShiftedSession(SqliteSession):
    """A session whose clock may be set while it is used."""

    def __init__(self, path: Path, shift: Path) -> None:
        self.shift = shift
        super().__init__(path)

    def read_clock(self) -> int:
        """Return the time of the machine, and what was added to it."""
        return super().read_clock() + 1000 * int(self.shift.read_text())


class ShiftedJournal(SqliteJournal):
    """A file of runs on a machine whose clock is set by another process."""

    def __init__(self, path: Path, shift: Path) -> None:
        super().__init__(path)
        self.shift = shift

    def connect(self) -> JournalSession:
        """Open a session."""
        return ShiftedSession(self.path, self.shift)
