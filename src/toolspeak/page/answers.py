"""What the routes share: JSON in and out."""

import json
from typing import Any, cast

from starlette.requests import Request
from starlette.responses import Response

from toolspeak.errors import UsageError

MAX_BODY_BYTES = 1_000_000


class JsonAnswer(Response):
    """An answer in JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return the bytes. Half of a surrogate pair, which a model may write, becomes an escape."""
        return json.dumps(content, separators=(",", ":")).encode()


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


async def read_object(request: Request) -> dict[str, Any]:
    """Return the body of a request, a JSON object.

    Raises:
        UsageError: It is something else, or too large.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise UsageError("the body must be JSON, and say so")
    try:
        data: Any = json.loads(await read_body(request))
    except (ValueError, RecursionError):
        raise UsageError("the body is not JSON") from None
    if not isinstance(data, dict):
        raise UsageError("the body is not a JSON object")
    return cast("dict[str, Any]", data)
