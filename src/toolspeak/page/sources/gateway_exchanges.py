"""The exchanges of a gateway that is watched (`toolspeak serve --watch`), each as a run.

A gateway runs no tools, so an exchange is one or more turns of a model: further ones, where it was asked again for a
call that could not be read. Its report holds what the client sent, what the model was shown and what it wrote, and is
turned into facts here. The key of the gateway stays in this process.
"""

import json
from collections.abc import Iterator
from dataclasses import fields, replace
from datetime import datetime
from typing import Any, cast

import aiohttp

from toolspeak import codec
from toolspeak.definitions import read_definition
from toolspeak.dialects import Shown
from toolspeak.errors import UsageError
from toolspeak.events import CallMalformed, CallReady, FinishReason, RunEnded, RunStarted, TurnEnded, TurnStarted, Usage
from toolspeak.messages import Message, Raw, Text, Thinking, user
from toolspeak.page.document import PageFact, RunDocument
from toolspeak.page.sources.source import RunEntry, RunMissing
from toolspeak.spec import ToolSpec
from toolspeak.wire.api import WIRES, ServedApiName

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
        return [_describe(each) for each in cast("list[dict[str, Any]]", data["exchanges"])]

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


def _describe(summary: dict[str, Any]) -> RunEntry:
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
