"""Answers to browsers: a page of an allowed origin may read them, and asks for leave before it sends a request.

Which origins are allowed is checked in `guard.py`, for these requests as for all others.
"""

from starlette.requests import Request
from starlette.responses import Response

ALLOWED_METHODS = "GET, POST, OPTIONS"

READABLE_HEADERS = "x-request-id, request-id, retry-after, x-toolspeak-notice, x-toolspeak-tokens"
"""Headers of a response that a page may read, besides those that every page may."""

MAX_AGE_SECONDS = 600
"""How long a browser need not ask for leave again."""


def answer_preflight(request: Request) -> Response:
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


def let_origin_read(request: Request, response: Response, origins: frozenset[str]) -> None:
    """Let the page that sent a request read the response, if its origin is allowed."""
    origin = request.headers.get("origin")
    if origin in origins:
        response.headers["access-control-allow-origin"] = origin
        response.headers["access-control-expose-headers"] = READABLE_HEADERS
        response.headers["vary"] = "origin"
