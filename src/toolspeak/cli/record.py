"""`--record FILE`: the facts of a run, each on a line with its time, written as they happen.

A line is `{"t": seconds since the first fact, "fact": …}`, the fact as the codec writes it. The first line also has the
time of day, `"at"`: seconds since 1970. Plain facts without times, as `codec.dump_facts` writes them, are read as well.
"""

import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, cast

from toolspeak.settings.files import require_folder
from toolspeak.values import codec
from toolspeak.values.errors import UsageError
from toolspeak.values.events import Fact, ToolFinished, ToolStarted
from toolspeak.values.messages import Message


class CallTimer:
    """Knows how long each call of a run took. Facts may be recorded in one thread and durations read in another.

    Attributes:
        fact_count: How many facts have been recorded.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.fact_count = 0
        self._now = now
        self._started: dict[str, float] = {}
        self._durations: dict[str, float] = {}

    def record(self, fact: Fact) -> None:
        """Record a fact at the time it happens."""
        self.fact_count += 1
        if isinstance(fact, ToolStarted):
            self._started[fact.call_id] = self._now()
        elif isinstance(fact, ToolFinished) and fact.result.call_id in self._started:
            self._durations[fact.result.call_id] = self._now() - self._started[fact.result.call_id]

    def duration(self, call_id: str) -> float | None:
        """Return the seconds that a call took, or None if it has not run."""
        return self._durations.get(call_id)


class TimedFact(NamedTuple):
    """A fact, and the seconds since the start of its run, if they are known."""

    fact: Fact
    at: float | None = None


class RecordFile:
    """A file that the facts of a run are written to. If writing fails, the run continues without it.

    Attributes:
        failure: Why writing failed, or None.
    """

    def __init__(
        self, path: Path, now: Callable[[], float] = time.monotonic, time_of_day: Callable[[], float] = time.time
    ) -> None:
        self.failure: str | None = None
        self._path = path
        self._now = now
        self._time_of_day = time_of_day
        self._started: float | None = None
        require_folder(path)
        try:
            self._file = open(path, "w", encoding="utf-8", newline="\n", opener=_open_private)  # noqa: SIM115 (Path.open has no opener)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from None

    def record(self, fact: Fact) -> None:
        """Write a fact with the present time."""
        now = self._now()
        is_first = self._started is None
        self._started = now if self._started is None else self._started
        if self.failure is None:
            day = {"at": round(self._time_of_day(), 6)} if is_first else {}
            line = json.dumps({"t": round(now - self._started, 6), **day, "fact": codec.encode(fact)})
            try:
                self._file.write(line + "\n")
                self._file.flush()
            except OSError as error:
                self._fail(error)

    def _fail(self, error: OSError) -> None:
        self.failure = f"the record in {self._path} is incomplete: {error.strerror}"

    def __enter__(self) -> "RecordFile":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._file.close()
        except OSError as failure:
            if self.failure is None:
                self._fail(failure)


def _open_private(path: str, flags: int) -> int:
    """Open a file; a new one is for its owner alone, as prompts and results may be secret."""
    return os.open(path, flags, 0o600)


def read_record(text: str, where: str) -> Sequence[TimedFact]:
    """Read the facts in the text of a record. A last line that a crash cut off is left out.

    Raises:
        UsageError: A line is not a fact; the error names `where` and the line.
    """
    facts: list[TimedFact] = []
    # Split at line feeds alone: a text may contain any other line break that Unicode knows.
    for number, line in enumerate(codec.drop_incomplete_line(text).split("\n"), 1):
        if line.strip():
            try:
                facts.append(_read_fact(json.loads(line)))
            except (ValueError, RecursionError) as error:
                raise UsageError(f"{where}, line {number}: not JSON ({error})") from None
            except UsageError as error:
                raise UsageError(f"{where}, line {number}: {error}") from None
    return facts


def _read_fact(data: Any) -> TimedFact:
    at = None
    if isinstance(data, dict) and "fact" in data:
        timed = cast("dict[str, Any]", data)
        at, data = codec.read_seconds(timed.get("t")), timed["fact"]
        if at is None and timed.get("t") is not None:
            raise UsageError("t is the time in seconds")
    item = codec.decode(data)
    if isinstance(item, Message):
        raise UsageError("this is a message, and a run is drawn from facts, as `toolspeak run --record` writes them")
    return TimedFact(item, at)


def find_time_of_day(text: str) -> float | None:
    """Return when the run of a record began, in seconds since 1970; None if the record does not say."""
    try:
        first: Any = json.loads(text.partition("\n")[0])
    except (ValueError, RecursionError):
        return None
    at = cast("dict[str, Any]", first).get("at") if isinstance(first, dict) else None
    seconds = codec.read_seconds(at)
    return seconds if seconds is not None and seconds > 0 else None
