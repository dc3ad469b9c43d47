"""Routes behind access rules: each request gets an id, a log line and, if it fails, an error in the form of its API.

- Browsers: a page of an allowed origin may read answers, and asks for leave before it sends a request. Which origins
  are allowed is checked in `guard.py`, for these requests as for all others.
- Mounted apps, such as an MCP server, get a request after access and size of the body were checked.
"""

import math
import secrets
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolspeak.gateway.errors import describe_refusal, is_expected, report_error
from toolspeak.gateway.figures import GatewayFigures
from toolspeak.gateway.guard import AccessRules, RequestRefused, check_access, check_size, is_gemini_request, read_bytes
from toolspeak.gateway.responses import log, log_failure
from toolspeak.wire.api import WIRES, Wire
from toolspeak.wire.errors import ErrorReport
from toolspeak.wire.json_data import dump_compact

ALLOWED_METHODS = "GET, POST, DELETE, OPTIONS"

READABLE_HEADERS = "x-request-id, request-id, retry-after, x-toolspeak-notice, x-toolspeak-tokens, x-toolspeak-doubts"
"""Headers of a response that a page may read, besides those that every page may."""

MAX_AGE_SECONDS = 600
"""How long a browser need not ask for leave again."""

Handler: TypeAlias = Callable[[Request, str], Awaitable[Response]]
"""Answers a request, which has the given id."""


class JsonResponse(Response):
    """JSON in ASCII: an unpaired surrogate, which a model may write, cannot be encoded in UTF-8."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return dump_compact(content).encode()


def guarded_route(
    rules: AccessRules,
    path: str,
    method: str,
    handler: Handler,
    wire: Wire | None = None,
    *,
    needs_key: bool = True,
) -> Route:
    """Return a route that checks access, logs each request with an id, and writes errors in the form of its API.

    Without `wire`, the form is that of the API whose client sends the request.
    """

    async def endpoint(request: Request) -> ASGIApp:
        request_id, reason = _make_request_id(), ""
        start = time.monotonic()
        try:
            is_preflight = request.method == "OPTIONS"
            check_access(request, rules, needs_key=needs_key and not is_preflight)
            response = _answer_preflight(request) if is_preflight else await handler(request, request_id)
        except ClientDisconnect:
            response = Response(status_code=499)
        except Exception as error:
            if not is_expected(error):
                log_failure(request_id, error)
            response = _error_response(wire or _find_wire(request), report_error(error), request_id)
            reason = f": {describe_refusal(error)}"
            if isinstance(error, RequestRefused) and error.close:
                response.headers["connection"] = "close"
        response.headers["x-request-id"] = response.headers["request-id"] = request_id
        if (origin := request.headers.get("origin")) in rules.origins:  # its page may read the response
            response.headers["access-control-allow-origin"] = origin
            response.headers["access-control-expose-headers"] = READABLE_HEADERS
            response.headers["vary"] = "origin"
        took = (time.monotonic() - start) * 1e3
        log.info("%s %s %s %d %.0f ms%s", request_id, request.method, path, response.status_code, took, reason)
        if (figures := find_figures(request)) is None:
            return response
        model = getattr(request.state, "model", "")
        figures.count_request(path, model, response.status_code)

        async def send_timed(scope: Scope, receive: Receive, send: Send) -> None:
            try:
                await response(scope, receive, send)
            finally:
                figures.count_duration(path, model, time.monotonic() - start)

        return send_timed

    return Route(path, endpoint, methods=[method, "OPTIONS"])


def _answer_preflight(request: Request) -> Response:
    """Return the answer to a page that asks for leave. Its origin was checked already."""
    response = Response(status_code=204, headers={"allow": ALLOWED_METHODS})
    if "origin" in request.headers:
        response.headers["access-control-allow-methods"] = ALLOWED_METHODS
        response.headers["access-control-max-age"] = str(MAX_AGE_SECONDS)
        if asked := request.headers.get("access-control-request-headers"):
            response.headers["access-control-allow-headers"] = asked
        if request.headers.get("access-control-request-private-network") == "true":
            response.headers["access-control-allow-private-network"] = "true"
    return response


def _error_response(wire: Wire, report: ErrorReport, request_id: str) -> Response:
    status = report.form.status
    response = JsonResponse({**wire.error_body(report), "request_id": request_id}, status_code=status)
    if status == 429 or status >= 500:  # the gateway has retried; clients would multiply that
        response.headers["x-should-retry"] = "false"
    if report.retry_after is not None and math.isfinite(report.retry_after):
        response.headers["retry-after"] = str(math.ceil(report.retry_after))
    return response


def _make_request_id() -> str:
    return f"req_{secrets.token_hex(8)}"


def _find_wire(request: Request) -> Wire:
    """Return the API whose client sends a request: by its path, else by headers that only some clients send."""
    path = request.url.path
    if is_gemini_request(request):
        return WIRES["gemini"]
    for wire in WIRES.values():
        if any(f"{path}/".startswith(f"{wire.BASE_PATH}{each}/") for each in wire.PATHS):
            return wire
    return WIRES["anthropic" if "anthropic-version" in request.headers else "openai"]


def find_figures(request: Request) -> GatewayFigures | None:
    """Return the figures of the gateway that a request was sent to; None if the app serves no models."""
    return getattr(request.app.state, "figures", None)


async def report_health(request: Request, request_id: str) -> Response:
    """Answer that the gateway runs."""
    return JsonResponse({"status": "ok"})


async def answer_unknown_route(request: Request, error: Exception) -> Response:
    """Answer a request that no route takes, and name the routes that there are."""
    is_method = isinstance(error, HTTPException) and error.status_code == 405
    paths = [f"{wire.BASE_PATH}{path}".replace(":path}", "}") for wire in WIRES.values() for path in wire.PATHS]
    known = ", ".join(paths) + " and /v1/models"
    message = f"{request.method} {request.url.path[:80]!r} is not served here; there are {known}"
    if request.url.path == "/v1/completions":
        message = "plain completions are not served here: a model that calls tools is asked by /v1/chat/completions"
    report = ErrorReport(failure="method_wrong" if is_method else "route_unknown", message=message)
    if (figures := find_figures(request)) is not None:
        figures.count_request("", "", report.form.status)
    request_id, shown = _make_request_id(), repr(request.url.path[:80])
    log.info("%s %s %s %d: %s", request_id, request.method, shown, report.form.status, report.failure)
    return _error_response(_find_wire(request), report, request_id)


def mounted_handler(inner: ASGIApp) -> Handler:
    """Return the handler of requests to an app that is mounted."""

    async def handler(request: Request, request_id: str) -> Response:
        body = await read_bytes(request)
        check_size(body.decode(errors="replace"))
        return _MountedAnswer(inner, body)

    return handler


class _MountedAnswer(Response):
    """The answer of an app that is mounted, with the headers of the gateway added."""

    def __init__(self, inner: ASGIApp, body: bytes) -> None:
        self._inner = inner
        self._request_body = body
        self.status_code = 200
        self.background = None
        self.raw_headers: list[tuple[bytes, bytes]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the app answer. It gets the body that was read, and is told when the client disconnects."""
        given: list[Message] = [{"type": "http.request", "body": self._request_body, "more_body": False}]

        async def receive_again() -> Message:
            return given.pop() if given else await receive()

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *self.raw_headers]}
            await send(message)

        await self._inner(scope, receive_again, send_with_headers)
