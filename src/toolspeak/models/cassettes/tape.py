"""The file of a cassette: `TapeWriter` appends to it, `TapePlayer` finds in it the answer to a request.

A file is JSON Lines. A line is appended with one write when its exchange has ended, so that a crash leaves all lines
before it whole; what a full disk cuts is taken back. Requests may overlap; the time at which each was sent gives their
order.
"""

import os
import shlex
import threading
import warnings
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

from toolspeak.models.cassettes.exchange import (
    Exchange,
    RecordedModel,
    TapeEntry,
    canonicalize,
    describe_difference,
    dump_entry,
    find_nearest,
    load_entry,
)
from toolspeak.values.codec import IncompleteLineWarning, drop_incomplete_line
from toolspeak.values.errors import ReplayMiss, UsageError

_file_lock = threading.Lock()
"""Held while a file is replaced or written, since several writers may have the same path."""


class CassetteNotWritten(UsageError):
    """The file of a recording cannot be written; the message names the file and the cause."""


class TapeWriter:
    """Appends entries to a file, which is made with the first exchange that is worth keeping.

    The file that was there when the writer was made is replaced. If another writer has replaced it since, both write to
    the new file.
    """

    def __init__(self, path: Path, *, appends: bool = False, keeps_failures: bool = True) -> None:
        """Prepare the writer. Nothing is written.

        With `appends`, the entries of an existing file are kept. Without `keeps_failures`, exchanges that failed are
        written once another one has succeeded, and a recording of failures alone leaves no file: a forgotten key would
        be replayed for ever.
        """
        self.path = path
        self._appends = appends
        self._keeps_failures = keeps_failures
        self._is_open = False
        self._old = _identify(path)
        self._held: list[TapeEntry] = []
        self._models: set[RecordedModel] = set()
        self._lock = threading.Lock()

    def add_model(self, model: RecordedModel) -> None:
        """Add what is known of a model, unless it was added before. It is written with the next exchange."""
        with self._lock:
            if model not in self._models:
                self._models.add(model)
                self._held.append(model)

    def add_exchange(self, exchange: Exchange) -> None:
        """Add an exchange that has ended."""
        with self._lock:
            self._held.append(exchange)
            if self._keeps_failures or 200 <= exchange.status < 300:
                self._write("".join(map(dump_entry, self._held)))
                self._held.clear()
                self._keeps_failures = True

    def _write(self, lines: str) -> None:
        try:
            with _file_lock:
                if not self._is_open:
                    self._prepare_file()
                    self._is_open = True
                _append(self.path, lines.encode())
        except OSError as error:
            raise CassetteNotWritten(f"the cassette {self.path} cannot be written: {error.strerror or error}") from None

    def _prepare_file(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not self._appends:
            if self._old is not None and _identify(self.path) == self._old:
                self.path.unlink(missing_ok=True)
        elif self.path.exists():
            os.truncate(self.path, self.path.read_bytes().rfind(b"\n") + 1)  # a crash may have cut the last line


def _append(path: Path, data: bytes) -> None:
    """Append to a file all of the data or, if that fails, nothing: a part of a line would spoil the ones after it."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)  # it holds conversations
    try:
        size = os.fstat(descriptor).st_size
        try:
            while data:
                data = data[os.write(descriptor, data) :]
        except OSError:
            os.ftruncate(descriptor, size)
            if not size:
                path.unlink()  # an empty file would be taken for a recording
            raise
    finally:
        os.close(descriptor)


def _identify(path: Path) -> tuple[int, ...] | None:
    """Return what tells a file and its state from another one at the same path; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def load_tape(path: Path) -> list[TapeEntry]:
    """Read the entries of a file. A last line that was cut is left out, with an `IncompleteLineWarning`.

    Raises `UsageError` if there is no such file, or a line cannot be read. The error names the line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"the cassette {path} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not a cassette: it is not text") from None
    complete = drop_incomplete_line(text)
    if len(complete) < len(text):
        number = complete.count("\n") + 1
        warnings.warn(f"{path}: line {number} was cut and is left out", IncompleteLineWarning, stacklevel=2)
    entries: list[TapeEntry] = []
    for number, line in enumerate(complete.split("\n"), 1):
        try:
            entries += [load_entry(line)] if line.strip() else []
        except UsageError as error:
            raise UsageError(f"{path}, line {number}: {error}") from None
    return entries


class TapePlayer:
    """Finds the recorded exchange that answers a request.

    Each exchange is used once. Equal requests get their answers in the order in which they were recorded.

    Attributes:
        models: The recorded models, in order.
    """

    def __init__(self, entries: Iterable[TapeEntry], source: str, *, repeats: bool = False, cure: str = "") -> None:
        """Prepare the player.

        `source` is the name of the recording in errors, and `cure` what they tell the user to do about a request that
        was not recorded. With `repeats`, exchanges are used again, from the first on, when all equal ones were used.
        """
        known = list(entries)
        self.models = [entry for entry in known if isinstance(entry, RecordedModel)]
        self._exchanges = sorted((entry for entry in known if isinstance(entry, Exchange)), key=lambda each: each.at)
        self._requests = [canonicalize(each.path, each.body, each.at) for each in self._exchanges]
        self._numbers: dict[str, list[int]] = {}
        for number, request in enumerate(self._requests):
            self._numbers.setdefault(request, []).append(number)
        self._use_counts = [0] * len(self._exchanges)
        self._source = source
        self._repeats = repeats
        self._cure = cure
        self._lock = threading.Lock()

    def find_model(self, name: str, *, reads_figures: bool | None = None) -> RecordedModel | None:
        """Return the last model that was recorded under a name; of several, one that reads figures or not, as said."""
        found = [each for each in self.models if each.name == name]
        fitting = [each for each in found if each.reads_figures is reads_figures] or found
        return fitting[-1] if fitting else None

    def take(self, path: str, body: Any) -> Exchange:
        """Return the exchange that answers a request.

        Raises `ReplayMiss` if there is none. The error shows the difference to the nearest request.
        """
        sought = canonicalize(path, body, datetime.now(UTC).astimezone())
        with self._lock:
            equal = self._numbers.get(sought, [])
            unused = [number for number in equal if self._repeats or not self._use_counts[number]]
            if unused:
                # What is not compared may still tell two recordings apart: those of two days, for example.
                found = min(unused, key=lambda each: (self._use_counts[each], self._exchanges[each].body != body))
                self._use_counts[found] += 1
                return self._exchanges[found]
            raise ReplayMiss(self._explain_miss(sought, len(equal)))

    def _explain_miss(self, sought: str, equal: int) -> str:
        cure = f"; {self._cure}" if self._cure else ""
        if equal:
            times = "once" if equal == 1 else f"{equal} times"
            return f"{self._source}: this request was recorded {times}, and is sent once more{cure}"
        if not self._requests:
            return f"{self._source} holds no recorded request{cure}"
        unused = [number for number, count in enumerate(self._use_counts) if not count]
        candidates = unused or list(range(len(self._requests)))
        nearest = find_nearest(sought, [self._requests[number] for number in candidates]) or 0
        number = candidates[nearest]
        difference = describe_difference(self._requests[number], sought)
        state = f"{len(self._requests)} recorded, {len(unused)} not yet used"
        return (
            f"{self._source} has no request like this one ({state}){cure}. "
            f"The nearest is request {number + 1}:\n{difference}"
        )


SUFFIX = ".jsonl"


class FolderWriter:
    """Appends entries to the file of their day. Each file can be replayed without the others."""

    def __init__(self, folder: Path) -> None:
        """Prepare the writer. The folder is made if it is missing."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"cannot record in {folder}: {error.strerror or error}") from None
        self._folder = folder
        self._models: list[RecordedModel] = []
        self._day = ""
        self._writer: TapeWriter | None = None
        self._lock = threading.Lock()

    def add_model(self, model: RecordedModel) -> None:
        """Add what is known of a model. It is written with the next exchange."""
        with self._lock:
            if model not in self._models:
                self._models.append(model)

    def add_exchange(self, exchange: Exchange) -> None:
        """Add an exchange that has ended."""
        with self._lock:
            day = exchange.at.date().isoformat()
            if self._writer is None or day > self._day:
                self._writer, self._day = TapeWriter(self._folder / f"{day}{SUFFIX}", appends=True), day
            for model in self._models:
                self._writer.add_model(model)
            self._writer.add_exchange(exchange)


ExchangeWriter: TypeAlias = TapeWriter | FolderWriter
"""What records exchanges."""


def load_folder(folder: Path) -> list[TapeEntry]:
    """Read all recordings of a folder. Raises `UsageError` if there is none, or one cannot be read."""
    files = sorted(folder.glob(f"*{SUFFIX}"))
    if not files:
        problem = f"has no recording (no file *{SUFFIX})" if folder.is_dir() else "is no folder"
        raise UsageError(f"{folder} {problem}; record one: toolspeak serve --record {shlex.quote(str(folder))}")
    return [entry for file in files for entry in load_tape(file)]
