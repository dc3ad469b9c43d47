"""The routes of the page.

    GET  /open?token=…                          exchanges the token for the cookie
    GET  /, /static/…                           the page itself
    GET  /api/runs                              the sources, with their runs
    GET  /api/runs/{source}/{id}                the outline of a run
    GET  /api/runs/{source}/{id}/live           what changes in it, as server-sent events
    GET  /api/runs/{source}/{id}/rows/{row}     the details of a row
    POST /api/policy-reports                    what the browser has refused to load or to run

Every request goes through `PageAccess`; every answer has `access.HEADERS`.
"""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolspeak.errors import StoreUnavailable, UsageError
from toolspeak.page.access import HEADERS, AccessDenied, PageAccess
from toolspeak.page.details import describe_row
from toolspeak.page.document import RunDocument
from toolspeak.page.library import RunKey, RunLibrary
from toolspeak.page.live import stream_changes
from toolspeak.page.sources.source import RunMissing

STATIC_FOLDER = Path(__file__).with_name("static")

CONTENT_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}

MAX_BODY_BYTES = 1_000_000

OPENED = """<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=/"><title>toolspeak</title>
<p><a href="/">Open the page</a>
"""
"""A page that leads to the next one: a browser sends no strict cookie with a request that another site has caused."""

log = logging.getLogger("toolspeak.page")

Handler = Callable[[Request], Awaitable[Response]]


class JsonAnswer(Response):
    """An answer in JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return the bytes. A half of a character, which a model may write, becomes an escape."""
        return json.dumps(content, separators=(",", ":")).encode()


class PageRoutes:
    """What the routes do with the runs."""

    def __init__(self, library: RunLibrary, access: PageAccess) -> None:
        self._library = library
        self._access = access
        self.policy_reports: list[str] = []

    async def open(self, request: Request) -> Response:
        """Exchange the token for the cookie."""
        if self._access.has_cookie(request):
            return Response(OPENED, media_type="text/html")
        if not self._access.open(request.query_params.get("token", "")):
            raise AccessDenied("this address was used before, or is wrong; start `toolspeak page` again")
        return Response(OPENED, media_type="text/html", headers={"set-cookie": self._access.cookie})

    async def index(self, request: Request) -> Response:
        """Return the page."""
        return _serve_file("index.html")

    async def static(self, request: Request) -> Response:
        """Return a file of the page."""
        return _serve_file(request.path_params["path"])

    async def list_runs(self, request: Request) -> Response:
        """List the runs of all sources. A source that fails says why, and does not hide the others."""

        async def list_source(name: str) -> dict[str, Any]:
            source = self._library.sources[name]
            data: dict[str, Any] = {"name": name, "label": source.label, "runs": [], "failure": ""}
            try:
                entries = await source.list_runs()
            except (UsageError, StoreUnavailable) as error:
                return {**data, "failure": str(error)}
            fields = ("id", "title", "where", "model", "status", "reason", "updated", "size")
            runs = [{field: getattr(entry, field) for field in fields} for entry in entries]
            return {**data, "runs": runs, "answers": hasattr(source, "approve")}

        sources = await asyncio.gather(*(list_source(name) for name in self._library.sources))
        return JsonAnswer({"sources": sources})

    async def outline(self, request: Request) -> Response:
        """Return the outline of a run."""
        document = await self._find(request)
        return JsonAnswer(document.encode_outline())

    async def live(self, request: Request) -> Response:
        """Send what changes in a run."""
        key, document = _key(request), await self._find(request)
        given = request.headers.get("last-event-id") or request.query_params.get("after") or "0"
        after = int(given) if given.isdecimal() else 0
        if not document.is_live and after >= len(document.facts):
            return Response(status_code=204)  # a browser then connects no more
        self._library.start_following(key, document)

        async def changes() -> AsyncGenerator[str]:
            try:
                async for event in stream_changes(document, after):
                    yield event
            finally:
                self._library.stop_following(key, document)

        return StreamingResponse(changes(), media_type="text/event-stream")

    async def row(self, request: Request) -> Response:
        """Return the details of a row."""
        document = await self._find(request)
        index = request.path_params["row"]
        if index >= len(document.fold.rows):
            raise RunMissing("the run has no such row")
        return JsonAnswer(await asyncio.to_thread(describe_row, document, index))

    async def note_policy_report(self, request: Request) -> Response:
        """Keep what the browser has refused. There should be nothing."""
        body = await read_body(request)
        self.policy_reports.append(body.decode("utf-8", "replace"))
        del self.policy_reports[:-20]
        log.warning("the browser refused something: %s", self.policy_reports[-1])
        return Response(status_code=204)

    async def _find(self, request: Request) -> RunDocument:
        return await self._library.open(_key(request))


def page_app(library: RunLibrary, access: PageAccess, further_routes: Sequence[Route] = ()) -> Starlette:
    """Return the page as an ASGI app.

    Args:
        library: The runs.
        access: Who may use the page.
        further_routes: Routes of other parts of the page, which are behind the same checks.
    """
    routes = PageRoutes(library, access)
    run = "/api/runs/{source}/{id}"
    application = Starlette(
        routes=[
            Route("/open", routes.open),
            Route("/", routes.index),
            Route("/static/{path:path}", routes.static),
            Route("/api/runs", routes.list_runs),
            Route(run, routes.outline),
            Route(f"{run}/live", routes.live),
            Route(f"{run}/rows/{{row:int}}", routes.row),
            Route("/api/policy-reports", routes.note_policy_report, methods=["POST"]),
            *further_routes,
        ],
        exception_handlers={
            AccessDenied: _explain(403),
            RunMissing: _explain(404),
            UsageError: _explain(422),
            StoreUnavailable: _explain(503),
            HTTPException: _answer_http_error,
        },
    )
    application.state.policy_reports = routes.policy_reports
    application.add_middleware(_Guard, access=access)
    return application


class _Guard:
    """Checks every request, and gives every answer the headers that keep the page to itself."""

    def __init__(self, app: ASGIApp, access: PageAccess) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            self._access.check(Request(scope))
        except AccessDenied as error:
            await PlainTextResponse(f"{error}\n", status_code=403)(scope, receive, send_with_headers)
            return
        await self._app(scope, receive, send_with_headers)


async def read_body(request: Request) -> bytes:
    """Return the body of a request.

    Raises:
        UsageError: It is too large.
    """
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > MAX_BODY_BYTES:
            raise UsageError(f"the body is larger than {MAX_BODY_BYTES:,} bytes")
        chunks.append(chunk)
    return b"".join(chunks)


def _key(request: Request) -> RunKey:
    return request.path_params["source"], request.path_params["id"]


def _serve_file(path: str) -> Response:
    file = (STATIC_FOLDER / path).resolve()
    content_type = CONTENT_TYPES.get(file.suffix)
    if content_type is None or not file.is_relative_to(STATIC_FOLDER.resolve()) or not file.is_file():
        raise HTTPException(404)
    return Response(file.read_bytes(), headers={"content-type": content_type, "cache-control": "no-cache"})


def _explain(status: int) -> Callable[[Request, Exception], Response]:
    return lambda request, error: JsonAnswer({"error": str(error)}, status_code=status)


def _answer_http_error(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return JsonAnswer({"error": "there is nothing here" if status == 404 else "not allowed"}, status_code=status)
