"""Durable runs over HTTP, behind the access rules of the gateway.

    POST /runs                  start a run
    GET  /runs                  list runs, the newest first
    GET  /runs/{id}             a run, the calls that wait, and its outcome when it has ended
    POST /runs/{id}/approve     answer whether a call may run
    POST /runs/{id}/cancel      end a run early
    POST /runs/{id}/retry       go on with a run that ended without an answer
    POST /runs/{id}/fork        start another run with its first turns
    GET  /runs/{id}/events      its events, live, as server-sent events
    POST /signals/{name}        send a signal to the calls that wait for it
    GET  /metrics               the figures of the store, in the text format of Prometheus, and those of the gateway

Errors have the form of OpenAI's API. What is refused because of the state of a run has the status 409.

Each event has its id, so a browser that was cut off sends the last one as `Last-Event-ID` and gets what came after it.
A comment is sent from time to time: a proxy that sees nothing for a minute would close the connection.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Collection
from contextlib import aclosing, suppress
from dataclasses import fields as list_fields
from typing import Any, cast, get_args

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from toolspeak.durable import (
    ApprovalRefused,
    RetryRefused,
    RunEvent,
    RunHandle,
    Runs,
    RunStatus,
    RunUnknown,
    StartRefused,
)
from toolspeak.durable.descriptions import describe_run, describe_wait, describe_waiting, render_metrics
from toolspeak.durable.event_feed import Position
from toolspeak.durable.records import MAX_PRIORITY
from toolspeak.gateway.guard import AccessRules, RequestRefused, read_body
from toolspeak.gateway.responses import log, run_while_connected
from toolspeak.gateway.routing import Handler, JsonResponse, find_figures, guarded_route
from toolspeak.telemetry.prometheus import CONTENT_TYPE
from toolspeak.values import codec
from toolspeak.values.errors import StoreUnavailable, ToolspeakError
from toolspeak.values.events import Allow, Limits, StopReason
from toolspeak.wire.api import WIRES
from toolspeak.wire.fields import FieldError, Fields
from toolspeak.wire.framing import encode_event

KEEP_ALIVE_SECONDS = 15.0

MAX_LISTED_RUNS = 1000
MAX_DEADLINE_SECONDS = 10 * 365 * 86_400.0

START_FIELDS = (
    *("agent", "prompt", "key", "priority", "lane", "concurrency", "delay", "deadline", "chat"),
    *("limits", "tool_choice", "data"),
)
"""Not `webhook`: whoever may start runs could make the workers send requests into their own network."""

APPROVE_FIELDS = ("call_id", "approved", "remember", "by", "digest")
LIMIT_FIELDS = tuple(each.name for each in list_fields(Limits))
LIST_NAMES = ("status", "stop", "agent", "chat", "data.NAME", "since", "limit", "before")


def run_routes(runs: Runs, rules: AccessRules) -> list[Route]:
    """Return the routes of a store, for `app(…, routes=…)`.

    Args:
        runs: The store.
        rules: Who may send requests.
    """
    handlers = _RunHandlers(runs)
    table: list[tuple[str, str, Handler]] = [
        ("/runs", "POST", handlers.start),
        ("/runs", "GET", handlers.list),
        ("/runs/{id}", "GET", handlers.show),
        ("/runs/{id}/approve", "POST", handlers.approve),
        ("/runs/{id}/cancel", "POST", handlers.cancel),
        ("/runs/{id}/retry", "POST", handlers.retry),
        ("/runs/{id}/fork", "POST", handlers.fork),
        ("/runs/{id}/events", "GET", handlers.events),
        ("/signals/{name:path}", "POST", handlers.signal),
        ("/metrics", "GET", handlers.metrics),
    ]
    openai = WIRES["openai"]
    return [guarded_route(rules, path, method, _explain(handler), openai) for path, method, handler in table]


class _RunEvents(Response):
    """The events of a run, sent as they are committed, until the run has ended or the client has left."""

    def __init__(self, events: AsyncGenerator[RunEvent]) -> None:
        self._events = events
        self.status_code = 200
        self.background = None
        self.init_headers({"cache-control": "no-cache", "content-type": "text/event-stream; charset=utf-8"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        with suppress(ClientDisconnect):
            await run_while_connected(receive, self._send_events(send))

    async def _send_events(self, send: Send) -> None:
        lock = asyncio.Lock()

        async def write(data: bytes, more: bool = True) -> None:
            async with lock:
                await send({"type": "http.response.body", "body": data, "more_body": more})

        async def keep_alive() -> None:
            while True:
                await asyncio.sleep(KEEP_ALIVE_SECONDS)
                await write(b": keep-alive\n\n")

        keeping = asyncio.create_task(keep_alive())
        try:
            with suppress(OSError):  # the client has disconnected
                try:
                    async with aclosing(self._events):
                        async for event in self._events:
                            data = codec.encode_event(event.event)
                            await write(f"id: {event.id}\n".encode() + encode_event(json.dumps(data), data["kind"]))
                except ToolspeakError as error:  # the client connects again, and goes on after the last event
                    log.warning("the events of a run broke off: %s", error)
                await write(b"", more=False)
        finally:
            keeping.cancel()


def _explain(handler: Handler) -> Handler:
    """Return a handler whose errors have the status that fits to what is wrong with a run."""

    async def explaining(request: Request, request_id: str) -> Response:
        try:
            return await handler(request, request_id)
        except RunUnknown as error:
            raise RequestRefused("run_unknown", str(error)) from None
        except (StartRefused, ApprovalRefused, RetryRefused) as error:
            raise RequestRefused("run_refused", str(error)) from None
        except StoreUnavailable as error:
            log.warning("%s %s", request_id, error)  # it names the store, which is nothing for a client
            raise RequestRefused("store_unavailable", "the store of the runs cannot be used now; try again") from None

    return explaining


class _RunHandlers:
    """What the routes do with a store."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    async def start(self, request: Request, request_id: str) -> Response:
        """Start a run. The status is 201 if it is new, and 200 if its key was used for the same request before."""
        run = await self._runs.start(**await read_body(request, _read_start))
        data = {**describe_run(await run.row()), "is_new": run.is_new}
        return JsonResponse(data, status_code=201 if run.is_new else 200)

    async def list(self, request: Request, request_id: str) -> Response:
        """List runs.

        `status` and `stop` (both repeatable), `agent`, `chat`, `data.NAME`, `limit`, `since` (seconds) and `before` (a
        time) choose.
        """
        query = request.query_params
        for name in query:
            if name not in LIST_NAMES and not name.startswith("data."):
                known = ", ".join(LIST_NAMES)
                raise FieldError(name[:80], f"there is no such parameter; there are {known}", "unknown_parameter")
        statuses = query.getlist("status")
        for name, known in (("status", get_args(RunStatus)), ("stop", get_args(StopReason))):
            if wrong := [each for each in query.getlist(name) if each not in known]:
                raise FieldError(name, f"must be one of {', '.join(known)}, not {wrong[0][:40]!r}")
        rows = await self._runs.list(
            statuses=cast("list[RunStatus]", statuses),
            agent=query.get("agent", ""),
            chat=query.get("chat", ""),
            stop_reasons=query.getlist("stop"),
            data={name[5:]: value for name, value in query.items() if name.startswith("data.")},
            limit=min(round(_read_number(query.get("limit"), "limit", 100)), MAX_LISTED_RUNS),
            since=_read_number(query["since"], "since", 0) if "since" in query else None,
            before=round(_read_number(query.get("before"), "before", 0) * 1000),
        )
        return JsonResponse({"runs": [describe_run(row) for row in rows]})

    async def show(self, request: Request, request_id: str) -> Response:
        """Return a run."""
        run = self._find(request)
        row = await run.row()
        data = {**describe_run(row), "waiting": [describe_waiting(each) for each in await run.waiting()]}
        data["waits"] = [describe_wait(each) for each in await run.waits()]
        if row.status == "done":
            outcome = await run.outcome(Any)
            data |= {"text": outcome.text, "output": outcome.output, "detail": outcome.detail or None}
        return JsonResponse(data)

    async def approve(self, request: Request, request_id: str) -> Response:
        """Answer whether a call may run, and say whether this answer counts: the first one does."""
        fields = await read_body(request, lambda body: _read_fields(body, APPROVE_FIELDS))
        approved = fields.value("approved")
        if not isinstance(approved, bool | str) or approved == "":
            raise fields.error("approved", "must be true, false, or a text that says why not")
        result = await self._find(request).approve(
            fields.text("call_id"),
            Allow(remember=True) if approved is True and fields.flag("remember", False) else approved,
            by=fields.optional_text("by"),
            digest=fields.optional_text("digest") or None,
        )
        return JsonResponse({"counts": bool(result), "result": result.state})

    async def cancel(self, request: Request, request_id: str) -> Response:
        """End a run early, and say whether this did it."""
        return JsonResponse({"counts": await self._find(request).cancel()})

    async def signal(self, request: Request, request_id: str) -> Response:
        """Send a signal whose value is the body, and say whether it counts: the first one of a name does."""
        headers = request.headers
        is_empty = headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers
        value = None if is_empty else await read_body(request, lambda body: body)
        return JsonResponse({"counts": await self._runs.signal(request.path_params["name"], value)})

    async def retry(self, request: Request, request_id: str) -> Response:
        """Go on with a run that ended without an answer. Its body may have a `deadline`."""
        fields = await read_body(request, lambda body: _read_fields(body, ("deadline",)))
        run = self._find(request)
        await run.retry(deadline=fields.number("deadline", maximum=MAX_DEADLINE_SECONDS))
        return JsonResponse(describe_run(await run.row()))

    async def fork(self, request: Request, request_id: str) -> Response:
        """Start another run with the first `turns` of this one and a `prompt`."""
        fields = await read_body(request, lambda body: _read_fields(body, ("prompt", "turns")))
        prompt, turns = fields.optional_text("prompt") or None, fields.integer("turns", minimum=0)
        run = await self._find(request).fork(prompt, turns=turns)
        return JsonResponse(describe_run(await run.row()), status_code=201)

    async def events(self, request: Request, request_id: str) -> Response:
        """Send the events after `Last-Event-ID` or, where no header can be set, after `after` in the query.

        If the run has ended with that event, the status is 204, which tells a browser to connect no more.
        """
        after = request.headers.get("last-event-id") or request.query_params.get("after") or None
        run, position = self._find(request), Position.parse(after)
        row = await run.row()
        if row.status == "done" and position.seq >= row.next_seq - 1:
            return Response(status_code=204)
        return _RunEvents(run.events(after))

    async def metrics(self, request: Request, request_id: str) -> Response:
        """Return the figures of the store, and those of the gateway if the routes are its own."""
        figures = find_figures(request)
        own = "" if figures is None else figures.render()
        return Response(await render_metrics(self._runs) + own, headers={"content-type": CONTENT_TYPE})

    def _find(self, request: Request) -> RunHandle:
        return self._runs.handle(request.path_params["id"][:80])


def _read_start(body: Any) -> dict[str, Any]:
    """Return the arguments of `Runs.start` in a body. Raises `FieldError` if a field is wrong or unknown."""
    fields = _read_fields(body, START_FIELDS)
    options: dict[str, Any] = {}
    if (limits := fields.optional_object("limits")) is not None:
        options["limits"] = _read_limits(limits)
    if (data := fields.optional_object("data")) is not None:
        options["data"] = data.data
    if names := fields.texts("tool_choice", maximum=100):
        options["tool_choice"] = names[0] if isinstance(fields.value("tool_choice"), str) else names
    return {
        "agent": fields.text("agent"),
        "prompt": fields.text("prompt"),
        "key": fields.optional_text("key"),
        "priority": fields.integer("priority", minimum=-MAX_PRIORITY, maximum=MAX_PRIORITY) or 0,
        "lane": fields.optional_text("lane"),
        "concurrency": fields.integer("concurrency", minimum=1),
        "delay": fields.number("delay", maximum=MAX_DEADLINE_SECONDS) or 0.0,
        "deadline": fields.number("deadline", maximum=MAX_DEADLINE_SECONDS),
        "chat": fields.optional_text("chat"),
        **options,
    }


def _read_limits(fields: Fields) -> Limits:
    _refuse_unknown(fields, LIMIT_FIELDS)
    values: dict[str, Any] = {}
    for name, value in fields.data.items():
        if value is None and name == "concurrent":
            raise fields.error(name, "must be a whole number")
        if name in ("seconds", "cost"):
            values[name] = fields.number(name, maximum=MAX_DEADLINE_SECONDS)
        else:
            values[name] = fields.integer(name, minimum=1)
    return Limits(**values)


def _read_fields(body: Any, known: Collection[str]) -> Fields:
    fields = Fields(body)
    _refuse_unknown(fields, known)
    return fields


def _refuse_unknown(fields: Fields, known: Collection[str]) -> None:
    """Refuse a field that would be ignored: it may be one that matters, with its name misspelt."""
    for name in fields.data:
        if name not in known:
            raise fields.error(name[:80], f"there is no such field; there are {', '.join(known)}", "unknown_parameter")


def _read_number(text: str | None, name: str, default: float) -> float:
    try:
        number = default if text is None else float(text)
    except ValueError:
        raise FieldError(name, "must be a number") from None
    if not 0 <= number < 1e12:
        raise FieldError(name, "must be a number from 0 on")
    return number
