"""Files of facts: those that `toolspeak run --record` and `codec.dump_facts` write, one or a folder of them.

A run is known by a digest of the path of its file, so that no address of the page can name a file that was not listed.
A list reads the beginning and the end of each file only, and nothing of one that has not changed since the last time.
Of many files that are new it reads some, the newest; the others are read for the next lists, and have no title until
then. A run is there as soon as the first piece of its file was read; a task reads the rest. A file that grows is
followed while somebody watches it.
"""

import asyncio
import hashlib
import json
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, cast
from weakref import WeakKeyDictionary

from toolspeak.page.annotations import NOTES_ENDING, Annotation, name_notes_file, read_notes, write_notes
from toolspeak.page.document import PageFact, RunDocument, RunOrigin
from toolspeak.page.library import RunEntry, RunMissing
from toolspeak.page.rows import preview_prompt
from toolspeak.settings.files import open_regular_file
from toolspeak.values import codec
from toolspeak.values.errors import UsageError
from toolspeak.values.events import RunEnded, RunStarted
from toolspeak.values.messages import Message

MAX_LISTED_FILES = 20_000
MAX_READ_FILES = 500
"""How many files are looked into for one list."""

MAX_VISITED_FILES = 200_000
"""How many files and folders are looked at to find records."""

MAX_HEAD_BYTES = 1_000_000
"""How much of a file is read to find the first fact."""

TAIL_BYTES = 4096
"""How much of a file is read to find the last fact."""

PIECE_BYTES = 1_000_000
"""How much of a file is read at once: enough for the rows of a screen, and little of what its facts are in memory."""

MAX_LINE_BYTES = 200_000_000
"""How long a line may be; a fact with attachments has some tens of megabytes."""

MAX_ADDED_FACTS = 500
"""How many facts are folded before the server looks after others."""

POLL_SECONDS = 0.25


class KnownFile(NamedTuple):
    """What is known of a file: its version, its run (None for what is no record), and whether it was looked into."""

    version: str
    entry: RunEntry | None
    is_read: bool


class FoundFile(NamedTuple):
    """A record that was found: when it was last changed, where it is, and what differs when it changes."""

    changed: float
    path: Path
    version: str


class RecordFiles:
    """A file of facts, or all of those in a folder and the folders in it."""

    name = "files"

    def __init__(self, target: Path) -> None:
        """Name a file or a folder; raise `UsageError` if there is none, or the file is no record."""
        if not target.exists():
            raise UsageError(f"there is no file or folder {target}")
        if target.is_file():
            _check_start(target)
        elif not target.is_dir():
            raise UsageError(f"{target} is neither a file nor a folder")
        self._target = target.resolve()
        self._paths: dict[str, Path] = {}
        self._known: dict[Path, KnownFile] = {}
        self._notes: dict[Path, tuple[str, Annotation]] = {}
        self._readers: WeakKeyDictionary[RunDocument, RecordReader] = WeakKeyDictionary()
        self.label = self._target.name or str(self._target)
        self.place = str(self._target)
        self.only_id = "" if self._target.is_dir() else self.add(self._target)

    def add(self, path: Path) -> str:
        """Return the id of a file, which is listed from now on."""
        run_id = hashlib.blake2s(str(path).encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
        self._paths[run_id] = path
        return run_id

    async def list_runs(self) -> list[RunEntry]:
        """Return the files that were changed last, the newest first."""
        return await asyncio.to_thread(self._list)

    def _list(self) -> list[RunEntry]:
        found, notes = self._find_files()
        known: dict[Path, KnownFile] = {}
        rest = MAX_READ_FILES
        for each in sorted(found, reverse=True)[:MAX_LISTED_FILES]:
            before = self._known.get(each.path)
            if before is not None and before.version == each.version and (before.is_read or rest == 0):
                known[each.path] = before
            elif rest > 0:
                rest -= 1
                known[each.path] = KnownFile(each.version, self._describe(each), is_read=True)
            else:
                known[each.path] = KnownFile(each.version, self._describe_unread(each), is_read=False)
        self._known = known
        listed = [(path, each.entry) for path, each in known.items() if each.entry is not None]
        annotated = {path for path, _ in listed if name_notes_file(path) in notes} if notes else set[Path]()
        self._notes = {path: self._find_notes(path, notes) for path in annotated}
        return [
            entry if path not in annotated else replace(entry, annotation=self._notes[path][1])
            for path, entry in listed
        ]

    def _find_files(self) -> tuple[list[FoundFile], dict[Path, str]]:
        """Return the records, and the versions of the notes beside them.

        A folder may hold pipes, devices and many folders.
        """
        found: list[FoundFile] = []
        notes: dict[Path, str] = {}
        if self._target.is_file():
            with suppress(OSError):  # it has just been removed
                state = self._target.stat()
                found.append(FoundFile(state.st_mtime, self._target, _make_version(state)))
            with suppress(OSError):
                path = name_notes_file(self._target)
                notes[path] = _make_version(path.stat())
            return found, notes
        folders = [str(self._target)]
        for entry in islice(_walk(folders), MAX_VISITED_FILES):
            with suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif entry.name.endswith(NOTES_ENDING):
                    notes[Path(entry.path)] = _make_version(entry.stat())
                elif entry.name.endswith(".jsonl") and stat.S_ISREG((state := entry.stat()).st_mode):
                    found.append(FoundFile(state.st_mtime, Path(entry.path), _make_version(state)))
        return found, notes

    def _find_notes(self, path: Path, versions: dict[Path, str]) -> tuple[str, Annotation]:
        version, known = versions[name_notes_file(path)], self._notes.get(path)
        return known if known is not None and known[0] == version else (version, read_notes(path))

    async def annotate(self, run_id: str, annotation: Annotation) -> None:
        """Keep what people say of a run in a file beside its own."""
        await asyncio.to_thread(write_notes, await self._find_path(run_id), annotation)

    def _describe(self, found: FoundFile) -> RunEntry | None:
        path = found.path
        try:
            with open_regular_file(path) as file:
                head = file.readline(MAX_HEAD_BYTES)
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - TAIL_BYTES))
                tail = file.read()
        except OSError:
            return None
        first = _read_or_none(head)
        if first is None and path != self._target:
            return None
        last = _read_or_none(tail.rstrip(b"\n").rpartition(b"\n")[2])
        started = first.fact if first is not None and isinstance(first.fact, RunStarted) else None
        ended = last.fact if last is not None and isinstance(last.fact, RunEnded) else None
        title = None if started is None else preview_prompt(started)
        return RunEntry(
            id=self.add(path),
            title=path.name if title is None else title,
            where=self._name(path),
            model=started.model if started is not None else "",
            status="done" if ended is not None else "unknown",
            reason=ended.reason if ended is not None else "",
            updated=found.changed,
            size=_format_bytes(size),
            run_id=started.run_id if started is not None else "",
            version=found.version,
        )

    def _describe_unread(self, found: FoundFile) -> RunEntry:
        name = self._name(found.path)
        return RunEntry(id=self.add(found.path), title="", where=name, updated=found.changed, version=found.version)

    def _name(self, path: Path) -> str:
        """Return the path of a file in the folder that is shown."""
        base = self._target if self._target.is_dir() else self._target.parent
        return str(path)[len(str(base)) :].lstrip("/\\")

    async def open(self, run_id: str) -> RunDocument:
        """Read the first piece of a file; a task reads on to its end."""
        document = RunDocument()
        reader = self._readers[document] = RecordReader(await self._find_path(run_id))
        await self._read_piece(reader, document)
        if reader.has_more:
            document.read_on(self._read_rest(reader, document))
        return document

    async def _find_path(self, run_id: str) -> Path:
        if run_id not in self._paths:
            await self.list_runs()
        path = self._paths.get(run_id)
        if path is None:
            raise RunMissing("there is no such file in the folder")
        return path

    async def _read_rest(self, reader: "RecordReader", document: RunDocument) -> None:
        while reader.has_more:
            await self._read_piece(reader, document)

    async def _read_piece(self, reader: "RecordReader", document: RunDocument) -> None:
        facts = await asyncio.to_thread(reader.read)
        if not document.facts:
            document.go_on_from(reader.origin)
        for number, timed in enumerate(facts, 1):
            document.add(timed.fact, timed.at)
            if number % MAX_ADDED_FACTS == 0:
                await asyncio.sleep(0)
        if not reader.has_more:
            document.failure = reader.failure
            document.is_live = not reader.failure and not reader.has_ended

    async def follow(self, run_id: str, document: RunDocument) -> None:
        """Add the lines that are appended to a file."""
        reader = self._readers[document]
        while document.is_live:
            for timed in await asyncio.to_thread(reader.read):
                document.add(timed.fact, timed.at)
            if reader.failure or reader.has_ended:
                document.finish(reader.failure)
            elif not reader.has_more:
                await asyncio.sleep(POLL_SECONDS)

    async def close(self) -> None:
        """Do nothing: files are open only while they are read."""


class RecordReader:
    """Reads the facts in a file, and those that are appended to it later.

    Attributes:
        failure: Which line could not be read, and why; "" if all could.
        has_ended: Whether the last fact is the end of the run.
        has_more: Whether there is more in the file than was read.
        origin: The run that this one goes on from, as its first line says; None if it says nothing.
    """

    def __init__(self, path: Path) -> None:
        self.failure = ""
        self.has_ended = False
        self.has_more = False
        self.origin: RunOrigin | None = None
        self._path = path
        self._offset = 0
        self._line = 0

    def read(self) -> list[PageFact]:
        """Return the facts on the next lines, of about `PIECE_BYTES`, that are complete and were not read before."""
        self.has_more = False
        try:
            with open_regular_file(self._path) as file:
                file.seek(self._offset)
                data = file.read(PIECE_BYTES)
                if not data.endswith(b"\n"):
                    data += file.readline(MAX_LINE_BYTES)
                has_more = file.read(1) != b""
        except OSError as error:
            self.failure = f"the file cannot be read: {error.strerror}"
            return []
        end = data.rfind(b"\n") + 1
        self._offset += end
        facts: list[PageFact] = []
        for line in data[:end].split(b"\n")[:-1]:
            self._line += 1
            if not line.strip():
                continue
            try:
                facts.append(_read_line(line))
                if self._line == 1:
                    self.origin = _read_origin(line)
            except UsageError as error:
                self.failure = f"line {self._line}: {error}"
                break
        else:
            self.has_more = has_more
            if not end and len(data) > MAX_LINE_BYTES:
                self.failure = f"line {self._line + 1}: longer than {MAX_LINE_BYTES // 10**6} MB"
                self.has_more = False
        if facts:
            self.has_ended = isinstance(facts[-1].fact, RunEnded)
        return facts


def _make_version(state: os.stat_result) -> str:
    return f"{state.st_mtime_ns} {state.st_size}"


def _walk(folders: list[str]) -> Iterator[os.DirEntry[str]]:
    """Yield the entries of folders, those that are added while it goes on included."""
    while folders:
        with suppress(OSError), os.scandir(folders.pop()) as entries:
            yield from entries


def _read_line(line: bytes) -> PageFact:
    """Read a fact from a line, with its time if the line has one; raise `UsageError` if it is no fact."""
    try:
        data: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"not JSON ({error})") from None
    at: Any = None
    if isinstance(data, dict) and "fact" in data:
        timed = cast("dict[str, Any]", data)
        at, data = timed.get("t"), timed["fact"]
    item = codec.decode(data)
    if isinstance(item, Message):
        raise UsageError("this is a message, and a run is shown from facts, as `toolspeak run --record` writes them")
    return PageFact(item, codec.read_seconds(at))


def _read_origin(line: bytes) -> RunOrigin | None:
    """Return the run that the run of a line goes on from, if the line says so (`playground.py` writes it)."""
    match json.loads(line):
        case {"from": {"source": str(source), "id": str(run_id), "title": str(title), "is_fork": bool(is_fork)}}:
            return RunOrigin(source=source, id=run_id, title=title, is_fork=is_fork)
        case _:
            return None


def _check_start(path: Path) -> None:
    """Raise `UsageError` if the first line of a file is there and is no fact."""
    try:
        with open_regular_file(path) as file:
            line = file.readline(MAX_HEAD_BYTES)
        if line.endswith(b"\n") and line.strip():
            _read_line(line)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except UsageError as error:
        raise UsageError(f"{path} is not a record of a run, as toolspeak run --record writes it: {error}") from None


def _read_or_none(line: bytes) -> PageFact | None:
    try:
        return _read_line(line)
    except UsageError:
        return None


def _format_bytes(size: int) -> str:
    if size < 1000:
        return f"{size} B"
    return f"{size / 1000:.0f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"
