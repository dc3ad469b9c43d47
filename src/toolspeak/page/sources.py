"""Files of facts: those that `toolspeak run --record` and `codec.dump_facts` write, one or a folder of them.

A run is known by a digest of the path of its file, so that no address of the page can name a file that was not listed.
A list reads the beginning and the end of each file only. A run is there as soon as the first piece of its file was
read; a task reads the rest. A file that grows is followed while somebody watches it.
"""

import asyncio
import getpass
import hashlib
import json
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import aiohttp

from toolspeak.dialects import Shown
from toolspeak.durable import Runs, RunUnknown
from toolspeak.durable.descriptions import read_prompt
from toolspeak.durable.event_feed import find_run
from toolspeak.durable.journal import JournalSession
from toolspeak.durable.log import ConversationStore, StoredFact
from toolspeak.durable.records import load_timed_facts
from toolspeak.durable.rows import RunRow
from toolspeak.page.document import PageFact, RunDocument
from toolspeak.page.rows import preview_message, preview_text
from toolspeak.page.source import EntryStatus, RunEntry, RunMissing
from toolspeak.values import codec
from toolspeak.values.errors import UsageError
from toolspeak.values.events import (
    CallMalformed,
    CallReady,
    Fact,
    FinishReason,
    RunEnded,
    RunStarted,
    TurnEnded,
    TurnStarted,
    Usage,
)
from toolspeak.values.messages import Message, Raw, Text, Thinking, user
from toolspeak.values.spec import ToolSpec, read_definition
from toolspeak.wire.api import WIRES, ServedApiName

# The exchanges of a gateway that is watched (`toolspeak serve --watch`), each as a run.
#
# A gateway runs no tools, so an exchange is one or more turns of a model: further ones, where it was asked again for a
# call that could not be read. Its report holds what the client sent, what the model was shown and what it wrote, and is
# turned into facts here. The key of the gateway stays in this process.


REQUEST_SECONDS = 10.0
MAX_REPORT_BYTES = 64_000_000


class GatewayExchanges:
    """The last exchanges of a gateway."""

    name = "gateway"

    def __init__(self, url: str, key: str) -> None:
        """Name a gateway.

        Args:
            url: Its address, with or without `/v1`.
            key: The key that it wants.
        """
        self._base = url.rstrip("/").removesuffix("/v1").rstrip("/")
        if not self._base.startswith(("http://", "https://")):
            raise UsageError(f"--url {url}: write the address of a gateway, such as http://127.0.0.1:8765")
        self._key = key
        self.label = self._base.partition("://")[2]

    async def list_runs(self) -> list[RunEntry]:
        """Return the exchanges that the gateway keeps, the latest first."""
        data = await self._fetch("/exchanges")
        return [_describe_exchange(each) for each in cast("list[dict[str, Any]]", data["exchanges"])]

    async def open(self, run_id: str) -> RunDocument:
        """Read an exchange. It has ended: a gateway reports whole exchanges."""
        report = await self._fetch(f"/exchanges/{run_id}")
        if "left_out" in report:
            raise UsageError(f"the gateway has not kept this exchange whole: {report['left_out']}")
        document = RunDocument()
        for fact, at in read_report(report):
            document.add(fact, at)
        turns = enumerate(cast("list[dict[str, Any]]", report["turns"]), 1)
        document.shown = {number: read_shown(turn) for number, turn in turns}
        return document

    async def follow(self, run_id: str, document: RunDocument) -> None:
        """Do nothing: an exchange that is reported has ended."""

    async def close(self) -> None:
        """Do nothing: each request has a connection of its own."""

    async def _fetch(self, path: str) -> dict[str, Any]:
        timeout = aiohttp.ClientTimeout(total=REQUEST_SECONDS)
        headers = {"authorization": f"Bearer {self._key}"}
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.get(f"{self._base}{path}", headers=headers, allow_redirects=False) as response,
            ):
                if response.status == 404:
                    raise RunMissing(
                        "the gateway does not have this; it keeps the last hundred exchanges if it runs with --watch"
                    )
                if response.status in (401, 403):
                    raise UsageError("the gateway does not take the key; name its variable with --key-env")
                if response.status != 200:
                    raise UsageError(f"the gateway answered with status {response.status}")
                body = await response.content.read(MAX_REPORT_BYTES)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise UsageError(f"the gateway at {self.label} does not answer: {error or type(error).__name__}") from None
        try:
            return json.loads(body)
        except ValueError:
            raise UsageError("what answered is no gateway of toolspeak") from None


def read_report(report: dict[str, Any]) -> list[PageFact]:
    """Return the facts of an exchange, with their times.

    Raises:
        UsageError: The report is not of a form that is known.
    """
    try:
        return list(_read_facts(report))
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"the report of this exchange cannot be read: {error!r}") from None


def read_shown(turn: dict[str, Any]) -> Shown:
    """Return what the model was shown in a turn, word for word."""
    shown = turn["shown"]
    return Shown(
        messages=tuple(_read_message(each) for each in shown["messages"]),
        tools=tuple(read_definition(each, "the exchange") for each in shown["tools"]),
    )


def _read_facts(report: dict[str, Any]) -> Iterator[PageFact]:
    model, dialect = report["model"] or "unknown", report["dialect"] or "native"
    yield PageFact(_read_start(report, model, dialect), 0.0)
    at = 0.0
    for number, turn in enumerate(cast("list[dict[str, Any]]", report["turns"]), 1):
        yield PageFact(TurnStarted(turn=number, model=model, dialect=dialect), at)
        at += turn["seconds"] or 0.0
        message = _read_answer(turn, dialect)
        for call in message.calls:
            yield PageFact(CallReady(call=call), at)
        if turn["problem"]:
            malformed = CallMalformed(call_id=f"problem_{number}", name=None, raw=turn["text"], reason=turn["problem"])
            yield PageFact(malformed, at)
        finish: FinishReason = turn["finish"] or "error"
        yield PageFact(TurnEnded(message=message, finish=finish, usage=_read_usage(turn["usage"])), at)
    is_answered = report["status"] == 200 and report["error"] is None
    detail = "" if is_answered else f"status {report['status']} {json.dumps(report['error'])}"
    yield PageFact(RunEnded(reason="answered" if is_answered else "error", detail=detail), report["seconds"])


def _read_start(report: dict[str, Any], model: str, dialect: str) -> RunStarted:
    """Return the beginning: what the client sent, in the form that all APIs share."""
    api: ServedApiName = report["api"]
    body = report["request"]
    messages: tuple[Message, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    if body is not None:
        try:
            request = WIRES[api].read_request(body, report["path"])
            messages, tools = tuple(request.messages), tuple(request.tools)
        except UsageError:  # a request that was refused
            messages = (user(json.dumps(body, ensure_ascii=False)),)
    return RunStarted(run_id=report["id"], model=model, dialect=dialect, messages=messages, tools=tools)


def _read_answer(turn: dict[str, Any], dialect: str) -> Message:
    """Return what the model wrote, as it was read; where it could not be read, its text."""
    raw = Raw(dialect=dialect, text=turn["text"]) if dialect != "native" else None
    if turn["read"] is not None:
        message = _read_message(turn["read"])
        return replace(message, raw=raw) if message.raw is None and raw is not None else message
    parts = [Thinking(text=turn["thinking"])] if turn["thinking"] else []
    return Message(role="assistant", parts=(*parts, Text(text=turn["text"])), raw=raw)


def _read_message(data: dict[str, Any]) -> Message:
    return cast("Message", codec.decode({"v": codec.FORMAT, **data}))


def _read_usage(data: dict[str, Any] | None) -> Usage:
    known = {field.name for field in fields(Usage)}
    return Usage(**{name: value for name, value in (data or {}).items() if name in known})


def _describe_exchange(summary: dict[str, Any]) -> RunEntry:
    status = summary["status"]
    turns = summary["turns"]
    return RunEntry(
        id=summary["id"],
        title=f"{summary['api']} · {turns} {'turn' if turns == 1 else 'turns'}",
        where=summary["dialect"] or "",
        model=summary["model"] or "",
        status="done",
        reason="error" if summary["error"] or status != 200 else "answered",
        updated=datetime.fromisoformat(summary["time"]).timestamp(),
        size=f"{summary['seconds']:.1f} s",
    )


# Durable runs: those of a store that workers drive, live, with answers to their approvals.


MAX_LISTED_DURABLE_RUNS = 500


class DurableStore:
    """A store of durable runs."""

    name = "store"

    def __init__(self, url: str) -> None:
        """Name a store; nothing is opened yet.

        Raises:
            UsageError: The address cannot be used.
        """
        self._runs = Runs(url)
        self.label = _name_store(url)

    async def list_runs(self) -> list[RunEntry]:
        """Return the runs that were started last."""
        return [_describe(row) for row in await self._runs.list(limit=MAX_LISTED_DURABLE_RUNS)]

    async def open(self, run_id: str) -> RunDocument:
        """Read a run as far as it is stored."""
        row, facts = await self._read(run_id)
        document = RunDocument()
        document.started = facts[0].at if facts else row.created / 1000
        for stored in facts:
            document.add(stored.fact, stored.at - document.started)
        document.is_live = row.status != "done"
        if not facts:
            document.fold.summary |= {"status": row.status, "title": preview_text(read_prompt(row))}
        return document

    async def _read(self, run_id: str) -> tuple[RunRow, list[StoredFact]]:
        def read_run(session: JournalSession) -> tuple[RunRow, list[StoredFact]]:
            row = find_run(session, run_id)
            return row, load_timed_facts(session, row)

        try:
            return await self._runs.read(read_run)
        except RunUnknown as error:
            raise RunMissing(str(error)) from None

    async def follow(self, run_id: str, document: RunDocument) -> None:
        """Add the events of a run as they are committed, text that is arriving included."""
        last = len(document.facts) - 1
        started = document.started or 0.0
        async for event in self._runs.handle(run_id).events(f"{last}.0" if last >= 0 else None):
            document.add(event.event, max(0.0, time.time() - started))
        document.finish()

    async def approve(self, run_id: str, call_id: str, approved: bool | str, digest: str | None) -> bool:
        """Answer whether a call may run, in the name of the user of this machine."""
        return await self._runs.handle(run_id).approve(call_id, approved, by=getpass.getuser(), digest=digest)

    async def cancel(self, run_id: str) -> bool:
        """End a run early."""
        return await self._runs.handle(run_id).cancel()

    async def close(self) -> None:
        """End the threads of the store."""
        await asyncio.to_thread(self._runs.close)


def _describe(row: RunRow) -> RunEntry:
    return RunEntry(
        id=row.run_id,
        title=preview_text(read_prompt(row)),
        where=row.agent,
        status=row.status,
        reason=row.stop_reason,
        updated=row.updated / 1000,
        size=f"{row.next_seq} facts",
    )


def _name_store(url: str) -> str:
    """Return what people call a store: its file, or its host and database. Nothing else of its address is shown."""
    parts = urlsplit(url)
    if parts.scheme.startswith("sqlite"):
        return parts.path.rpartition("/")[2] or url
    return f"{parts.hostname or ''}{parts.path}"


# The log of the command line: the conversations of `toolspeak run` and `toolspeak chat`, a run for each prompt.


MAX_LISTED_RUNS = 500
LOG_POLL_SECONDS = 0.5


class LoggedRuns:
    """The log of conversations. Its runs are followed while the command that makes them still runs."""

    name = "log"
    label = "Your conversations"

    def __init__(self, path: Path) -> None:
        """Open the log.

        Raises:
            UsageError: It cannot be used.
        """
        self._store = ConversationStore(path)
        self._lock = threading.Lock()  # a store may be used from several threads, one at a time

    async def list_runs(self) -> list[RunEntry]:
        """Return the last runs of the last conversations."""
        return await asyncio.to_thread(self._list)

    def _list(self) -> list[RunEntry]:
        with self._lock:
            summaries = self._store.list_latest_runs(MAX_LISTED_RUNS)
        return [
            RunEntry(
                id=each.run_id,
                title=each.title,
                where=each.conversation[:8],
                model=each.model,
                status=_read_status(each.status),
                reason=each.stop_reason,
                updated=each.updated,
                size=f"{each.facts} facts",
            )
            for each in summaries
        ]

    async def open(self, run_id: str) -> RunDocument:
        """Read a run as far as it is stored."""
        facts = await asyncio.to_thread(self._load, run_id)
        document = RunDocument()
        document.started = facts[0].at if facts else None
        self._add(document, facts)
        document.is_live = document.fold.summary["status"] != "done"
        return document

    def _load(self, run_id: str) -> list[StoredFact]:
        try:
            with self._lock:
                return self._store.load_facts(run_id)
        except UsageError as error:
            raise RunMissing(str(error)) from None

    def _add(self, document: RunDocument, facts: list[StoredFact]) -> None:
        for stored in facts[len(document.facts) :]:
            document.add(stored.fact, stored.at - (document.started or 0.0))

    async def follow(self, run_id: str, document: RunDocument) -> None:
        """Add the facts that are stored later."""
        while document.fold.summary["status"] != "done":
            await asyncio.sleep(LOG_POLL_SECONDS)
            self._add(document, await asyncio.to_thread(self._load, run_id))
        document.finish()

    async def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._store.close()


def _read_status(text: str) -> EntryStatus:
    return text if text in ("running", "paused", "done") else "unknown"


MAX_LISTED_FILES = 1000
MAX_HEAD_BYTES = 1_000_000
"""How much of a file is read to find the first fact."""

TAIL_BYTES = 4096
"""How much of a file is read to find the last fact."""

PIECE_BYTES = 1_000_000
"""How much of a file is read at once: enough for the rows of a screen, and little of what its facts are in memory."""

MAX_ADDED_FACTS = 500
"""How many facts are folded before the server looks after others."""

POLL_SECONDS = 0.25


class RecordFiles:
    """A file of facts, or all of those in a folder and the folders in it."""

    name = "files"

    def __init__(self, target: Path) -> None:
        """Name a file or a folder.

        Raises:
            UsageError: There is no such file or folder, or the file is no record.
        """
        if not target.exists():
            raise UsageError(f"there is no file or folder {target}")
        if target.is_file():
            _check_start(target)
        self._target = target.resolve()
        self._paths: dict[str, Path] = {}
        self._readers: WeakKeyDictionary[RunDocument, RecordReader] = WeakKeyDictionary()
        self.label = self._target.name or str(self._target)
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
        found = sorted(self._find_files(), reverse=True)[:MAX_LISTED_FILES]
        entries = [self._describe(path, changed) for changed, path in found]
        return [entry for entry in entries if entry is not None]

    def _find_files(self) -> Iterator[tuple[float, Path]]:
        paths = [self._target] if self._target.is_file() else self._target.rglob("*.jsonl")
        for path in paths:
            try:
                yield path.stat().st_mtime, path
            except OSError:  # it has just been removed
                continue

    def _describe(self, path: Path, changed: float) -> RunEntry | None:
        try:
            with path.open("rb") as file:
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
        prompt = next((each for each in reversed(started.messages) if each.role == "user"), None) if started else None
        base = self._target if self._target.is_dir() else self._target.parent
        return RunEntry(
            id=self.add(path),
            title=preview_message(prompt) if prompt is not None else path.name,
            where=str(path.relative_to(base)),
            model=started.model if started is not None else "",
            status="done" if ended is not None else "unknown",
            reason=ended.reason if ended is not None else "",
            updated=changed,
            size=format_bytes(size),
        )

    async def open(self, run_id: str) -> RunDocument:
        """Read the first piece of a file; a task reads on to its end."""
        path = self._paths.get(run_id)
        if path is None:
            await self.list_runs()
            path = self._paths.get(run_id)
        if path is None:
            raise RunMissing("there is no such file in the folder")
        document = RunDocument()
        reader = self._readers[document] = RecordReader(path)
        await self._read_piece(reader, document)
        if reader.has_more:
            document.read_on(self._read_rest(reader, document))
        return document

    async def _read_rest(self, reader: "RecordReader", document: RunDocument) -> None:
        while reader.has_more:
            await self._read_piece(reader, document)

    async def _read_piece(self, reader: "RecordReader", document: RunDocument) -> None:
        for number, timed in enumerate(await asyncio.to_thread(reader.read), 1):
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
    """

    def __init__(self, path: Path) -> None:
        self.failure = ""
        self.has_ended = False
        self.has_more = False
        self._path = path
        self._offset = 0
        self._line = 0

    def read(self) -> list[PageFact]:
        """Return the facts on the next lines, of about `PIECE_BYTES`, that are complete and were not read before."""
        self.has_more = False
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                data = file.read(PIECE_BYTES)
                if not data.endswith(b"\n"):
                    data += file.readline()
                has_more = file.peek(1) != b""
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
                facts.append(read_line(line))
            except UsageError as error:
                self.failure = f"line {self._line}: {error}"
                break
        else:
            self.has_more = has_more
        if facts:
            self.has_ended = isinstance(facts[-1].fact, RunEnded)
        return facts


def read_line(line: bytes) -> PageFact:
    """Read a fact from a line, with its time if the line has one.

    Raises:
        UsageError: It is not a fact.
    """
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
    fact: Fact = item
    return PageFact(fact, float(at) if isinstance(at, int | float) and not isinstance(at, bool) else None)


def _check_start(path: Path) -> None:
    """Raise `UsageError` if the first line of a file is there and is no fact."""
    try:
        with path.open("rb") as file:
            line = file.readline(MAX_HEAD_BYTES)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    if line.endswith(b"\n") and line.strip():
        try:
            read_line(line)
        except UsageError as error:
            raise UsageError(f"{path} is no record of a run, as toolspeak run --record writes it: {error}") from None


def _read_or_none(line: bytes) -> PageFact | None:
    try:
        return read_line(line)
    except UsageError:
        return None


def format_bytes(size: int) -> str:
    """Return a size in words."""
    if size < 1000:
        return f"{size} B"
    return f"{size / 1000:.0f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"
