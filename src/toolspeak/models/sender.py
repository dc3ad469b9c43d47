"""`Sender`: what sends the requests of a model, over the network or in the place of it.

It is the seam below `transport.post`: retries and errors are above it. `transport.send_request` is the network, and
`cassettes/` has a sender that records what the network does and one that replays it.
"""

import asyncio
from collections.abc import Mapping
from typing import Protocol

from toolspeak.models.endpoint import Endpoint


class HttpContent(Protocol):
    """The body of a response, while it arrives."""

    async def readany(self) -> bytes:
        """Return the bytes that have arrived, at least one; none at the end. Raises `OSError`."""
        ...

    def at_eof(self) -> bool:
        """Whether the whole body was read."""
        ...


class HttpResponse(Protocol):
    """A response, while it arrives."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    @property
    def content_type(self) -> str: ...

    @property
    def content(self) -> HttpContent: ...

    def close(self) -> None:
        """Close the connection, unless the whole body has arrived."""
        ...


class Sender(Protocol):
    """Sends one request, as `transport.send_request` does. Retries do not wait if it has a true `is_instant`."""

    async def __call__(self, endpoint: Endpoint, path: str, body: bytes, /) -> HttpResponse:
        """Return the response, whatever its status. Raises `RequestFailed` if there is none."""
        ...


class RequestDeadline:
    """Gives one request up at a certain time, with one timer for all that is waited for.

    Until there is a response, the task that waits for it is cancelled, as `asyncio.timeout` does. Then the response is
    closed.
    """

    def __init__(self, at: float | None) -> None:
        """Start the timer. `at` is a time of the event loop; None for no deadline."""
        self._at = at
        self._loop = asyncio.get_running_loop()
        self._timer = None if at is None else self._loop.call_at(at, self._give_up)
        self._task = asyncio.current_task()
        self._cancellations = 0 if self._task is None else self._task.cancelling()
        self._has_cancelled = False
        self._response: HttpResponse | None = None

    @property
    def has_passed(self) -> bool:
        return self._at is not None and self._loop.time() >= self._at

    def _give_up(self) -> None:
        if self._response is not None:
            self._response.close()
        elif self._task is not None:
            self._has_cancelled = True
            self._task.cancel()

    def watch(self, response: HttpResponse) -> None:
        """Close this response at the deadline."""
        self._response = response

    def take_cancellation(self) -> bool:
        """Whether only the deadline has cancelled the task, which then counts as not cancelled."""
        if self._task is None or not self._has_cancelled:
            return False
        self._has_cancelled = False
        return self._task.uncancel() <= self._cancellations

    def stop(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()
