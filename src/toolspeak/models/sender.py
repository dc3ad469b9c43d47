"""`Sender`: what sends the requests of a model, over the network or in the place of it."""

from collections.abc import Mapping
from typing import Protocol

from toolspeak.models.endpoint import Endpoint


class HttpContent(Protocol):
    """The body of a response, while it arrives."""

    async def readany(self) -> bytes:
        """Return the bytes that have arrived, at least one; none at the end. Raises `OSError` or `ClientError`."""
        ...

    def at_eof(self) -> bool:
        """Whether the whole body was read."""
        ...


class HttpResponse(Protocol):
    """The part of aiohttp's response that is used here."""

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
    """Sends one request, as `transport.send_request` does."""

    async def __call__(self, endpoint: Endpoint, path: str, body: bytes, /) -> HttpResponse:
        """Return the response, whatever its status. Raises `RequestFailed` if there is none."""
        ...
