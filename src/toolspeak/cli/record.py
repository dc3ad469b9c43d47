"""`--record FILE`: the facts of a run with the time of each, one a line, as they happen.

A line is `{"t": seconds since the first, "fact": …}`, the fact as the codec writes it. A file of plain facts, as
`codec.dump_facts` writes it, is read as well: it has no times.
"""

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, cast

from toolspeak import codec
from toolspeak.errors import UsageError
from toolspeak.events import Fact
from toolspeak.messages import Message


class Moment(NamedTuple):
    """A fact, and when it happened, if that is known."""

    fact: Fact
    at: float | None = None


class Recording:
    """A file that facts are written to. If it fails, the run goes on without it.

    Attributes:
        failure: Why it broke off, if it did.
    """

    def __init__(self, path: Path, now: Callable[[], float] = time.monotonic) -> None:
        self.failure: str | None = None
        self._path = path
        self._now = now
        self._begun: float | None = None
        try:
            self._file = path.open("w", encoding="utf-8", newline="\n")
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from None

    def note(self, fact: Fact) -> None:
        """Write a fact, now."""
        now = self._now()
        self._begun = now if self._begun is None else self._begun
        if self.failure is None:
            line = json.dumps({"t": round(now - self._begun, 6), "fact": codec.encode(fact)})
            try:
                self._file.write(line + "\n")
                self._file.flush()
            except OSError as error:
                self.failure = f"the recording in {self._path} broke off: {error.strerror}"

    def __enter__(self) -> "Recording":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._file.close()
        except OSError as failed:
            self.failure = self.failure or f"the recording in {self._path} broke off: {failed.strerror}"


def recorded(text: str, where: str) -> Sequence[Moment]:
    """The facts of a file, with their times where it has them."""
    moments: list[Moment] = []
    # Split on line feeds alone: a text may hold any other line break that Unicode knows.
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                moments.append(_moment(json.loads(line)))
            except (ValueError, RecursionError) as error:
                raise UsageError(f"{where}, line {number}: not JSON ({error})") from None
            except UsageError as error:
                raise UsageError(f"{where}, line {number}: {error}") from None
    return moments


def _moment(data: Any) -> Moment:
    at = None
    if isinstance(data, dict) and "fact" in data:
        timed = cast("dict[str, Any]", data)
        at, data = timed.get("t"), timed["fact"]
        if at is not None and (isinstance(at, bool) or not isinstance(at, int | float)):
            raise UsageError("t is the time in seconds")
    item = codec.decode(data)
    if isinstance(item, Message):
        raise UsageError("this is a message, and a run is drawn from facts, as `toolspeak run --record` writes them")
    return Moment(item, at)
