"""Other apps behind the guard of the gateway: an app gets a request after access and size of the body were checked."""

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolspeak.gateway.guard import check_size, read_bytes


def mounted_handler(inner: ASGIApp) -> Callable[[Request, str], Awaitable[Response]]:
    """Return the handler of requests to an app that is mounted."""

    async def handler(request: Request, request_id: str) -> Response:
        body = await read_bytes(request)
        check_size(body.decode(errors="replace"))
        return MountedAnswer(inner, body)

    return handler


class MountedAnswer(Response):
    """The answer of an app that is mounted, with the headers of the gateway added."""

    def __init__(self, inner: ASGIApp, body: bytes) -> None:
        self._inner = inner
        self._request_body = body
        self.status_code = 200
        self.background = None
        self.raw_headers: list[tuple[bytes, bytes]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the app answer. It gets the body that was read, and is told when the client disconnects."""
        is_given = False

        async def receive_again() -> Message:
            nonlocal is_given
            if is_given:
                return await receive()
            is_given = True
            return {"type": "http.request", "body": self._request_body, "more_body": False}

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *self.raw_headers]}
            await send(message)

        await self._inner(scope, receive_again, send_with_headers)
