"""The page as an ASGI app and its server on the loopback.

    GET  /open?token=…          exchanges the token for the cookie
    GET  /, /static/…           the page itself
    POST /api/policy-reports    what the browser has refused to load or to run
    /api/runs, /api/search, …   many runs: the list, the search, what people say of them (`home_routes.py`)
    /api/runs/…                 one run, and a run as one file (`routes.py`)
    /api/playground…            the playground (`playground.py`), if it is among the sources

Every request goes through `PageAccess`; every answer has `access.HEADERS`.
"""

import asyncio
import gc
import logging
import socket
from collections.abc import Callable, Sequence
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolspeak.page.access import HEADERS, AccessDenied, PageAccess
from toolspeak.page.home_routes import HomeRoutes
from toolspeak.page.library import RunLibrary, RunMissing
from toolspeak.page.routes import JsonAnswer, read_body, viewer_routes
from toolspeak.values.errors import StoreUnavailable, UsageError

STATIC_FOLDER = Path(__file__).with_name("static")

CONTENT_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}

OTHER_SCRIPTS = frozenset({"app.js", "export.js", "types.js"})
"""Scripts that the page does not import: its entry, that of exported runs, and types."""

MAX_POLICY_REPORTS = 20

OPENED = """<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={place}">
<title>toolspeak</title><p><a href="{place}">Open the page</a>
"""
"""A page that leads to the next one: a browser sends no strict cookie along a redirect that another site (a terminal in
a browser) has caused."""

log = logging.getLogger("toolspeak.page")


def page_app(
    library: RunLibrary, access: PageAccess, further_routes: Sequence[Route] = (), *, start: str = ""
) -> Starlette:
    """Return the page as an ASGI app.

    Args:
        library: The runs.
        access: Who may use the page.
        further_routes: Routes of other parts of the page, which are behind the same checks.
        start: The place of the page that is opened first, such as `#chat`.
    """
    home = HomeRoutes(library)
    files = PageFiles(access, f"/{start}", home.prepare)
    application = Starlette(
        routes=[
            Route("/open", files.open),
            Route("/", files.index),
            Route("/static/{path:path}", files.static),
            Route("/api/policy-reports", files.note_policy_report, methods=["POST"]),
            *home.list_routes(),
            *viewer_routes(library),
            *_list_playground_routes(library),
            *further_routes,
        ],
        exception_handlers={
            AccessDenied: _answer_denial,
            RunMissing: _answer_with(404),
            UsageError: _answer_with(422),
            StoreUnavailable: _answer_with(503),
            HTTPException: _answer_http_error,
        },
    )
    application.state.policy_reports = files.policy_reports
    application.add_middleware(_Guard, access=access)
    return application


def _list_playground_routes(library: RunLibrary) -> list[Route]:
    """Return the routes of the playground, if there is one among the sources; else it is not imported."""
    source = library.sources.get("playground")
    if source is None:
        return []
    from toolspeak.page.playground import Playground, playground_routes

    return playground_routes(library, source) if isinstance(source, Playground) else []


class PageFiles:
    """The routes of the page itself.

    Attributes:
        policy_reports: The last things that the browser has refused to load or to run.
    """

    def __init__(self, access: PageAccess, first_place: str, on_open: Callable[[], None]) -> None:
        self._on_open = on_open
        self.policy_reports: list[str] = []
        self._access = access
        self._opened = OPENED.format(place=first_place)

    async def open(self, request: Request) -> Response:
        """Exchange the token for the cookie."""
        if self._access.has_cookie(request):
            return Response(self._opened, media_type="text/html")
        if not self._access.open(request.query_params.get("token", "")):
            raise AccessDenied("this address was used before, or is wrong; start `toolspeak page` again")
        self._on_open()
        return Response(self._opened, media_type="text/html", headers={"set-cookie": self._access.cookie})

    async def index(self, request: Request) -> Response:
        """Return the page, and name its modules: a browser that must read one to know the next asks five times.

        The list of runs is named, too: it is what the modules ask for first. The names stand in a header: elements
        would count among the nodes of the document.
        """
        page = _serve_file("index.html")
        scripts = sorted(each.name for each in STATIC_FOLDER.glob("*.js") if each.name not in OTHER_SCRIPTS)
        modules = (f"</static/{name}>; rel=modulepreload" for name in scripts)
        page.headers["link"] = ", ".join(("</api/runs>; rel=preload; as=fetch; crossorigin=anonymous", *modules))
        return page

    async def static(self, request: Request) -> Response:
        """Return a file of the page."""
        return _serve_file(request.path_params["path"])

    async def note_policy_report(self, request: Request) -> Response:
        """Keep what the browser has refused. There should be nothing."""
        body = await read_body(request)
        self.policy_reports.append(body.decode("utf-8", "replace"))
        del self.policy_reports[:-MAX_POLICY_REPORTS]
        log.warning("the browser refused something: %s", self.policy_reports[-1])
        return Response(status_code=204)


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

        app = self._app
        try:
            self._access.check(Request(scope))
        except AccessDenied as error:
            app = _answer_denial(Request(scope), error)
        await app(scope, receive, send_with_headers)


def _serve_file(path: str) -> Response:
    file = (STATIC_FOLDER / path).resolve()
    content_type = CONTENT_TYPES.get(file.suffix)
    if content_type is None or not file.is_relative_to(STATIC_FOLDER.resolve()) or not file.is_file():
        raise HTTPException(404)
    return Response(file.read_bytes(), headers={"content-type": content_type, "cache-control": "no-cache"})


def _answer_with(status: int) -> Callable[[Request, Exception], Response]:
    return lambda request, error: JsonAnswer({"error": str(error)}, status_code=status)


def _answer_denial(request: Request, error: Exception) -> Response:
    """Answer in a sentence: whoever is denied reads it in a window, and not in the page."""
    text = str(error)
    return PlainTextResponse(f"{text[:1].upper()}{text[1:]}.\n", status_code=403)


def _answer_http_error(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return JsonAnswer({"error": "there is nothing here" if status == 404 else "not allowed"}, status_code=status)


def build_page_server(app: Starlette) -> uvicorn.Server:
    """Return a server for the page, not yet running."""
    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        lifespan="off",
        access_log=False,
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    return uvicorn.Server(config)


def run_page(app: Starlette, library: RunLibrary, listener: socket.socket) -> None:
    """Serve until Ctrl-C or SIGTERM, and close the sources. The process is taken to do nothing else."""
    gc.set_threshold(100_000, 20, 20)  # a run is many objects that stay; the default makes reading a third slower
    asyncio.run(serve_page(build_page_server(app), library, listener))


async def serve_page(server: uvicorn.Server, library: RunLibrary, listener: socket.socket) -> None:
    """Serve until the server is told to exit, and close the sources."""
    try:
        await server.serve(sockets=[listener])
    finally:
        await library.close()
