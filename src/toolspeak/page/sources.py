"""The places beside files whose runs the page shows: the log, a store of durable runs, and a gateway.

- `LoggedRuns`: the log of `toolspeak run` and `toolspeak chat`, a run for each prompt.
- `DurableStore`: runs that workers drive, live, with answers to their approvals.
- `GatewayExchanges`: the exchanges of a gateway that is watched (`toolspeak serve --watch`). A gateway runs no tools,
  so an exchange is one or more turns of a model: further ones, where it was asked again. Its report holds what the
  client sent, what the model was shown and what it wrote, and is turned into facts here. The key of the gateway stays
  in this process.
"""

import asyncio
import getpass
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from toolspeak.dialects import Shown
from toolspeak.durable import Runs, RunUnknown
from toolspeak.durable.descriptions import read_prompt
from toolspeak.durable.event_feed import find_run
from toolspeak.durable.journal import JournalSession
from toolspeak.durable.log import ConversationStore, LoggedRun, StoredFact
from toolspeak.durable.records import load_timed_facts
from toolspeak.durable.rows import RunRow
from toolspeak.page.annotations import Annotation, dump_annotation, load_annotation
from toolspeak.page.document import PageFact, RunDocument
from toolspeak.page.library import RunEntry, RunMissing
from toolspeak.page.rows import preview_text
from toolspeak.values import codec
from toolspeak.values.address import hide_secrets, is_plain_url
from toolspeak.values.errors import UsageError
from toolspeak.values.events import (
    Allow,
    CallMalformed,
    CallReady,
    RunEnded,
    RunStarted,
    TurnEnded,
    TurnStarted,
    Usage,
)
from toolspeak.values.messages import Message, Raw, Text, Thinking, user
from toolspeak.values.spec import ToolSpec, read_definition
from toolspeak.wire.api import WIRES, ServedApiName

MAX_LISTED_RUNS = 20_000

LOG_POLL_SECONDS = 0.5

REQUEST_SECONDS = 10.0
MAX_REPORT_BYTES = 64_000_000


class LoggedRuns:
    """The log of conversations. Its runs are followed while the command that makes them still runs."""

    name = "log"
    label = "Your conversations"

    def __init__(self, path: Path) -> None:
        """Open the log; raise `UsageError` if it cannot be used."""
        self._store = ConversationStore(path)
        self._listed: tuple[int | None, list[RunEntry]] = None, []  # with the version of the file
        self.place = str(path)
        self._lock = threading.Lock()  # a store may be used from several threads, one at a time

    async def list_runs(self) -> list[RunEntry]:
        """Return the last runs of the last conversations."""
        return await asyncio.to_thread(self._list)

    def _list(self) -> list[RunEntry]:
        with self._lock:
            version = self._store.read_version()
            if version != self._listed[0]:
                runs = self._store.list_latest_runs(MAX_LISTED_RUNS)
                self._listed = version, [_describe_logged(each) for each in runs]
            return self._listed[1]

    async def annotate(self, run_id: str, annotation: Annotation) -> None:
        """Keep what people say of a run in the log."""
        if not await asyncio.to_thread(self._annotate, run_id, dump_annotation(annotation)):
            raise RunMissing(f"the run {run_id} is not in the log")

    def _annotate(self, run_id: str, data: str) -> bool:
        with self._lock:
            self._listed = None, []
            return self._store.annotate(run_id, data)

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


def _describe_logged(run: LoggedRun) -> RunEntry:
    return RunEntry(
        id=run.run_id,
        title=run.title,
        where=run.conversation[:8],
        model=run.model,
        status=run.status if run.status in ("running", "paused", "done") else "unknown",
        reason=run.stop_reason,
        updated=run.updated,
        size=f"{run.facts} fact{'s' * (run.facts != 1)}",
        conversation=run.conversation,
        annotation=load_annotation(run.annotation),
        version=f"{run.facts} {run.status}",
    )


class DurableStore:
    """A store of durable runs."""

    name = "store"

    def __init__(self, url: str) -> None:
        """Name a store, which is not opened yet; raise `UsageError` if the address cannot be used."""
        self._runs = Runs(url)
        _, _, place = hide_secrets(url).partition("://")
        is_file = url.startswith("sqlite")
        self.label = place.rpartition("/")[2] if is_file else place.partition("?")[0].rpartition("@")[2]
        self.place = hide_secrets(url)

    async def list_runs(self) -> list[RunEntry]:
        """Return the runs that were started last."""
        rows = await self._runs.list(limit=MAX_LISTED_RUNS)
        annotations = await self._runs.read(lambda session: session.read_annotations())
        return await asyncio.to_thread(
            lambda: [_describe_durable(row, annotations.get(row.run_id, "")) for row in rows]
        )

    async def annotate(self, run_id: str, annotation: Annotation) -> None:
        """Keep what people say of a run in the store."""
        data = dump_annotation(annotation)
        if not await self._runs.write(lambda session: session.annotate(run_id, data)):
            raise RunMissing(f"the run {run_id} is not in the store")

    async def open(self, run_id: str) -> RunDocument:
        """Read a run as far as it is stored."""

        def read_run(session: JournalSession) -> tuple[RunRow, list[StoredFact]]:
            row = find_run(session, run_id)
            return row, load_timed_facts(session, row)

        try:
            row, facts = await self._runs.read(read_run)
        except RunUnknown as error:
            raise RunMissing(str(error)) from None
        document = RunDocument()
        document.started = facts[0].at if facts else row.created / 1000
        for stored in facts:
            document.add(stored.fact, stored.at - document.started)
        document.is_live = row.status != "done"
        if not facts:
            document.fold.summary |= {"status": row.status, "title": preview_text(read_prompt(row))}
        return document

    async def follow(self, run_id: str, document: RunDocument) -> None:
        """Add the events of a run as they are committed, text that is arriving included."""
        last = len(document.facts) - 1
        started = document.started or 0.0
        async for event in self._runs.handle(run_id).events(f"{last}.0" if last >= 0 else None):
            document.add(event.event, max(0.0, time.time() - started))
        document.finish()

    async def approve(self, run_id: str, call_id: str, approved: bool | str | Allow, digest: str | None) -> bool:
        """Answer whether a call may run, in the name of the user of this machine."""
        return bool(await self._runs.handle(run_id).approve(call_id, approved, by=getpass.getuser(), digest=digest))

    async def cancel(self, run_id: str) -> bool:
        """End a run early."""
        return await self._runs.handle(run_id).cancel()

    async def close(self) -> None:
        """End the threads of the store."""
        await asyncio.to_thread(self._runs.close)


def _describe_durable(row: RunRow, annotation: str) -> RunEntry:
    data = row.data.items()
    return RunEntry(
        id=row.run_id,
        title=preview_text(read_prompt(row)),
        where=row.agent,
        status=row.status,
        reason=row.stop_reason,
        updated=row.updated / 1000,
        size=f"{row.next_seq} fact{'s' * (row.next_seq != 1)}",
        conversation=row.chat,
        labels=tuple(preview_text(f"{name}: {value}") for name, value in data if isinstance(value, str | int | float)),
        annotation=load_annotation(annotation),
        version=f"{row.updated} {row.next_seq}",
    )


class GatewayExchanges:
    """The last exchanges of a gateway."""

    name = "gateway"

    def __init__(self, url: str, key: str) -> None:
        """Name a gateway by its address, with or without `/v1`, and the key that it wants."""
        self._base = url.rstrip("/").removesuffix("/v1").rstrip("/")
        shown = hide_secrets(self._base)
        if not is_plain_url(self._base):
            raise UsageError(f"--url {shown}: write the address of a gateway, such as http://127.0.0.1:8765")
        self._key = key
        self.label = shown.partition("://")[2]
        self.place = shown

    async def list_runs(self) -> list[RunEntry]:
        """Return the exchanges that the gateway keeps, the latest first."""
        data = await self._fetch("/exchanges")
        return [_describe_exchange(each) for each in cast("list[dict[str, Any]]", data["exchanges"])]

    async def open(self, run_id: str) -> RunDocument:
        """Read an exchange. It has ended: a gateway reports whole exchanges."""
        report = await self._fetch(f"/exchanges/{run_id}")
        if "left_out" in report:
            raise UsageError(f"the gateway has not kept this exchange whole: {report['left_out']}")
        try:
            facts = list(_read_facts(report))
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(f"the report of this exchange cannot be read: {error!r}") from None
        document = RunDocument()
        for fact, at in facts:
            document.add(fact, at)
        turns = enumerate(cast("list[dict[str, Any]]", report["turns"]), 1)
        document.shown = {number: _read_shown(turn["shown"]) for number, turn in turns}
        return document

    async def follow(self, run_id: str, document: RunDocument) -> None:
        """Do nothing: an exchange that is reported has ended."""

    async def close(self) -> None:
        """Do nothing: each request has a connection of its own."""

    async def _fetch(self, path: str) -> dict[str, Any]:
        import aiohttp  # only here: no other source needs it

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
                    raise UsageError("the gateway rejected the key; name its variable with --key-env")
                if response.status != 200:
                    raise UsageError(f"the gateway answered with status {response.status}")
                body = await response.content.read(MAX_REPORT_BYTES)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise UsageError(f"the gateway at {self.label} does not answer: {error or type(error).__name__}") from None
        try:
            return json.loads(body)
        except ValueError:
            raise UsageError("the server at this address is not a toolspeak gateway") from None


def _describe_exchange(summary: dict[str, Any]) -> RunEntry:
    turns = summary["turns"]
    return RunEntry(
        id=summary["id"],
        title=f"{summary['api']} · {turns} {'turn' if turns == 1 else 'turns'}",
        where=summary["dialect"] or "",
        model=summary["model"] or "",
        status="done",
        reason="error" if summary["error"] or summary["status"] != 200 else "answered",
        updated=datetime.fromisoformat(summary["time"]).timestamp(),
        size=f"{summary['seconds']:.1f} s",
    )


def _read_facts(report: dict[str, Any]) -> Iterator[PageFact]:
    """Yield the facts of an exchange, with their times."""
    model, dialect = report["model"] or "unknown", report["dialect"] or "native"
    messages, tools = _read_request(report)
    yield PageFact(
        RunStarted(run_id=report["id"], model=model, dialect=dialect, messages=messages, tools=tools), at=0.0
    )
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
        known = {field.name for field in fields(Usage)}
        counts: dict[str, Any] = turn["usage"] or {}
        usage = Usage(**{name: value for name, value in counts.items() if name in known})
        yield PageFact(TurnEnded(message=message, finish=turn["finish"] or "error", usage=usage), at)
    is_answered = report["status"] == 200 and report["error"] is None
    detail = "" if is_answered else f"status {report['status']} {json.dumps(report['error'])}"
    yield PageFact(RunEnded(reason="answered" if is_answered else "error", detail=detail), report["seconds"])


def _read_request(report: dict[str, Any]) -> tuple[tuple[Message, ...], tuple[ToolSpec, ...]]:
    """Return the messages and tools that the client sent, in the form that all APIs share."""
    api: ServedApiName = report["api"]
    body = report["request"]
    if body is None:
        return (), ()
    try:
        request = WIRES[api].read_request(body, report["path"])
    except UsageError:  # a request that was refused
        return (user(json.dumps(body, ensure_ascii=False)),), ()
    return tuple(request.messages), tuple(request.tools)


def _read_answer(turn: dict[str, Any], dialect: str) -> Message:
    """Return what the model wrote, as it was read; where it could not be read, its text."""
    raw = Raw(dialect=dialect, text=turn["text"]) if dialect != "native" else None
    if turn["read"] is not None:
        message = _read_message(turn["read"])
        return replace(message, raw=raw) if message.raw is None and raw is not None else message
    parts = [Thinking(text=turn["thinking"])] if turn["thinking"] else []
    return Message(role="assistant", parts=(*parts, Text(text=turn["text"])), raw=raw)


def _read_shown(shown: dict[str, Any]) -> Shown:
    """Return what the model was shown in a turn, word for word."""
    return Shown(
        messages=tuple(_read_message(each) for each in shown["messages"]),
        tools=tuple(read_definition(each, "the exchange") for each in shown["tools"]),
    )


def _read_message(data: dict[str, Any]) -> Message:
    return cast("Message", codec.decode({"v": codec.FORMAT, **data}))
