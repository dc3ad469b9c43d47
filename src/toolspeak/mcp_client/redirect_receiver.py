"""`RedirectReceiver`: gets the answer of a login, which the user's browser brings to an address of this machine."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from urllib.parse import parse_qs, urlsplit

from toolspeak.errors import ServerFailed, UsageError
from toolspeak.escaping import escape_controls

LOOPBACK = "127.0.0.1"
REDIRECT_PATH = "/callback"

MAX_REQUEST_BYTES = 16_384
REQUEST_TIMEOUT_SECONDS = 10.0
"""How large a request may be, and how long a browser may take to send it."""

MAX_REASON_CHARS = 200


class RedirectReceiver:
    """A server on the loopback interface that waits for one redirect.

    A request with another `state` than that of the login is refused, and the receiver goes on waiting: any page that
    the user has open could send one.

    Attributes:
        url: The address that the browser is sent to.
    """

    def __init__(self) -> None:
        self.url = ""
        self._state = ""
        self._answer: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def listen(self, port: int) -> AsyncGenerator[None]:
        """Accept requests at a port; 0 for any free one.

        Raises:
            UsageError: Another program has the port.
        """
        try:
            server = await asyncio.start_server(self._accept, LOOPBACK, port, limit=MAX_REQUEST_BYTES)
        except OSError as error:
            raise UsageError(f"the port {port} for the answer of the login cannot be used: {error.strerror}") from None
        self.url = f"http://{LOOPBACK}:{server.sockets[0].getsockname()[1]}{REDIRECT_PATH}"
        try:
            yield
        finally:
            server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            self._answer.cancel()

    def expect(self, state: str) -> None:
        """Wait for the redirect of the login that has this `state`, and for no other any more."""
        self._state = state
        self._answer.cancel()
        self._answer = asyncio.get_running_loop().create_future()

    async def wait(self) -> dict[str, str]:
        """Return the parameters of the redirect, once it has come.

        Raises:
            ServerFailed: The user or the server refused the login.
        """
        answer = await asyncio.shield(self._answer)
        if "code" in answer:
            return answer
        words = ": ".join(answer[key] for key in ("error", "error_description") if answer.get(key))
        raise ServerFailed(f"the login was refused: {escape_controls(words)[:MAX_REASON_CHARS] or 'without a reason'}")

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 (a coroutine runs in a task)
        self._tasks.add(task)
        try:
            # Browsers open connections that they do not use.
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
                async with asyncio.timeout(REQUEST_TIMEOUT_SECONDS):
                    request = await reader.readuntil(b"\r\n\r\n")
                    status, text = self._answer_request(request)
                    writer.write(_write_response(status, text))
                    await writer.drain()
        finally:
            writer.close()
            self._tasks.discard(task)

    def _answer_request(self, request: bytes) -> tuple[HTTPStatus, str]:
        words = request.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
        if len(words) != 3 or words[0] != "GET":
            return HTTPStatus.BAD_REQUEST, "This address takes the answer of a login."
        target = urlsplit(words[1])
        if target.path != REDIRECT_PATH:
            return HTTPStatus.NOT_FOUND, "There is nothing here."
        answer = {name: values[0] for name, values in parse_qs(target.query).items()}
        if not self._state or answer.get("state") != self._state:
            return HTTPStatus.BAD_REQUEST, "This is not the answer of the login that is waited for."
        if not self._answer.done():
            self._answer.set_result(answer)
        said = "You are logged in." if "code" in answer else "The login was refused."
        return HTTPStatus.OK, f"{said} You can close this page and go back to the terminal."


def _write_response(status: HTTPStatus, text: str) -> bytes:
    body = f"{text}\n".encode()
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: text/plain; charset=utf-8\r\n"
        f"content-length: {len(body)}\r\ncache-control: no-store\r\nreferrer-policy: no-referrer\r\n"
        "connection: close\r\n\r\n"
    )
    return head.encode() + body
