"""HTTP: one pool of connections for each event loop, tries and waits, and errors that name the endpoint.

A request is sent again only while nothing of an answer has come: after that, half of an answer is somebody's already.
No error of ours holds one of aiohttp's that holds the request, for the key is in it.
"""

import asyncio
import math
import random
import time
import urllib.request
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from email.utils import parsedate_to_datetime
from functools import cache
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import aiohttp

from toolspeak.errors import ModelError, ProviderError, RateLimited, StreamInterrupted
from toolspeak.models.endpoint import Endpoint
from toolspeak.wire.faults import read_error

MOST_CONNECTIONS = 1000
AGAIN = frozenset({408, 429, 500, 502, 503, 504, 529})
"""Statuses after which the same request may well be answered."""

LARGEST_ERROR = 65_536
"""Bytes of an error's body that are read."""

ERROR_PATIENCE = 5.0
"""Seconds for the body of an error, whose status has said most of it."""

HINTS = {
    400: "the request was not understood; the model may not take all that was asked for",
    401: "the key was refused",
    403: "the key may not use this",
    404: "is the address right, and the name of the model?",
    413: "the conversation is too long for it",
}

BROKEN = (aiohttp.ClientError, OSError)
"""What reading an answer raises when the connection is no more, or says nothing for too long."""


class Retryable(Exception):
    """Nothing of an answer has come; it may be tried again."""

    def __init__(self, error: ModelError, wait: float | None = None, *, again: bool = True) -> None:
        super().__init__(str(error))
        self.error = error
        self.wait = wait
        self.again = again


class Pool:
    """The connections of one event loop, closed with it."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None
        self._keeper: AsyncGenerator[None] | None = None

    async def session(self) -> aiohttp.ClientSession:
        if self._session is None or self._session.closed:
            connector = aiohttp.TCPConnector(limit=MOST_CONNECTIONS, keepalive_timeout=60)
            self._session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
            # An event loop that shuts down closes its async generators; this one closes the connections.
            self._keeper = _closed_at_the_end(self._session)
            await anext(self._keeper)
        return self._session


async def _closed_at_the_end(session: aiohttp.ClientSession) -> AsyncGenerator[None]:
    try:
        yield
    finally:
        _pools.pop(asyncio.get_running_loop(), None)  # a session holds its loop: neither would ever be freed
        await session.close()


_pools: WeakKeyDictionary[asyncio.AbstractEventLoop, Pool] = WeakKeyDictionary()


def _pool() -> Pool:
    loop = asyncio.get_running_loop()
    if (pool := _pools.get(loop)) is None:
        pool = _pools[loop] = Pool()
    return pool


class Tries:
    """How often it was tried, and when it is tried again."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._patience = endpoint.patience
        self._number = 0

    async def again(self, unreached: Retryable, deadline: float | None) -> None:
        """Wait before the next try, or give up with an error that says how often it was tried."""
        self._number += 1
        wait = self._wait(unreached.wait)
        over = deadline is not None and asyncio.get_running_loop().time() + wait >= deadline
        if not unreached.again or over or self._number >= self._patience.tries:
            often = f" ({self._number} tries)" if self._number > 1 else ""
            raise type(unreached.error)(f"{unreached.error}{often}") from unreached.__cause__
        await asyncio.sleep(wait)

    def _wait(self, asked: float | None) -> float:
        """What the endpoint asks for, within reason; else longer each time, and never the same for two callers."""
        patience = self._patience
        own = patience.first_wait * 2 ** (self._number - 1) * random.uniform(0.5, 1.0)  # noqa: S311 (no secret)
        return min(own if asked is None else asked, patience.longest_wait)


@asynccontextmanager
async def posted(
    endpoint: Endpoint, path: str, body: bytes, deadline: float | None = None
) -> AsyncGenerator[aiohttp.ClientResponse]:
    """The answer to a request: its headers are there, and its status is good. Raises `Unreached`."""
    try:
        async with asyncio.timeout_at(deadline):
            response = await _sent(endpoint, path, body)
    except TimeoutError as error:
        late = f"{endpoint.where} had {endpoint.patience.total:g} s for an answer and was not done"
        raise Retryable(ProviderError(late), again=False) from error
    try:
        yield response
    finally:
        _let_go(response)


async def _sent(endpoint: Endpoint, path: str, body: bytes) -> aiohttp.ClientResponse:
    session = await _pool().session()
    patience = endpoint.patience
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=patience.connect, sock_read=patience.silence)
    try:
        response = await session.post(
            endpoint.base_url + path,
            data=body,
            headers=_headers(endpoint),
            timeout=timeout,
            proxy=_proxy(endpoint.base_url),
            allow_redirects=False,  # a key is for the address that it was given for
        )
    except (*BROKEN, ValueError) as error:
        unreached = _unsent(endpoint, error)
    else:
        if 200 <= response.status < 300:
            return response
        unreached = await _refused(endpoint, response)
    raise unreached


def _let_go(response: aiohttp.ClientResponse) -> None:
    if response.content.at_eof():
        response.release()
    else:  # what has not been read is not waited for; closing the connection tells the endpoint to stop
        response.close()


def _unsent(endpoint: Endpoint, error: Exception) -> Retryable:
    """What kept a request from being answered."""
    again, patience = True, endpoint.patience
    match error:
        case aiohttp.ConnectionTimeoutError():
            why = f"gave no connection within {patience.connect:g} s"
        case TimeoutError():
            why, again = f"took the request and said nothing for {patience.silence:g} s", False
        case aiohttp.ClientConnectorCertificateError(certificate_error=cause):
            why, again = f"shows a certificate that is not trusted: {cause}", False
        case aiohttp.ClientSSLError(os_error=cause):
            why, again = f"cannot be spoken to over TLS ({cause}); is it https?", False
        case aiohttp.ClientConnectorDNSError():
            why = "cannot be reached: there is no such host; is the address right?"
        case aiohttp.ClientConnectorError(os_error=cause):
            why = f"cannot be reached ({cause}); is it running?"
        case aiohttp.InvalidURL():
            why, again = "cannot be asked: that is not an address", False
        case ValueError():
            why, again = f"cannot be asked: {error}", False
        case aiohttp.ClientResponseError(message=said):
            why = f"broke the connection (not HTTP: {said})"
        case _:
            why = f"broke the connection ({type(error).__name__}: {error})"
    return Retryable(ProviderError(f"{endpoint.where} {endpoint.without_key(why)}"), again=again)


@cache
def _proxy(base_url: str) -> str | None:
    """The proxy that the environment names for an address. aiohttp would look it up in a thread, each time."""
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    here = host in ("", "localhost", "::1") or host.startswith("127.")  # no proxy knows the way to this machine
    if here or urllib.request.proxy_bypass(parts.netloc):
        return None
    named = urllib.request.getproxies().get(parts.scheme)
    return f"http://{named}" if named and "://" not in named else named


def _headers(endpoint: Endpoint) -> dict[str, str]:
    headers = {"content-type": "application/json"}
    if endpoint.api == "anthropic":
        headers["anthropic-version"] = "2023-06-01"
    if endpoint.key and endpoint.api == "anthropic":
        headers["x-api-key"] = endpoint.key
    elif endpoint.key:
        headers["authorization"] = f"Bearer {endpoint.key}"
    return headers | {name.lower(): value for name, value in endpoint.headers.items()}


async def _refused(endpoint: Endpoint, response: aiohttp.ClientResponse) -> Retryable:
    status, hint = response.status, HINTS.get(response.status, "")
    try:
        # The key is taken out first, before a long cause is cut, and once more, for JSON may have hidden it.
        cause = endpoint.without_key(read_error(status, endpoint.without_key(await _error_body(response))))
    finally:
        _let_go(response)
    if status in (401, 403) and endpoint.key_variable:
        hint += f"; is {endpoint.key_variable} right?" if endpoint.key else f"; {endpoint.key_variable} is not set"
    if moved := response.headers.get("location"):
        hint = f"it has moved to {endpoint.without_key(moved)}; if that is right, give that address"
    text = f"{endpoint.where} answered {status}: {cause}" + (f" ({hint})" if hint else "")
    error = RateLimited(text) if status in (429, 529) else ProviderError(text)
    return Retryable(error, _asked_to_wait(response), again=status in AGAIN)


async def _error_body(response: aiohttp.ClientResponse) -> str:
    """As much of it as comes."""
    body = b""
    with suppress(*BROKEN):
        async with asyncio.timeout(ERROR_PATIENCE):
            while len(body) < LARGEST_ERROR and (chunk := await response.content.readany()):
                body += chunk
    return body.decode("utf-8", "replace")


def _asked_to_wait(response: aiohttp.ClientResponse) -> float | None:
    """Seconds, as a number or as a date."""
    said = response.headers.get("retry-after", "").strip()
    seconds = math.nan
    with suppress(ValueError):
        seconds = float(said)
    if math.isnan(seconds):
        with suppress(ValueError, OverflowError):
            seconds = parsedate_to_datetime(said).timestamp() - time.time()
    return None if math.isnan(seconds) else max(seconds, 0.0)


def broken_off(endpoint: Endpoint, error: BaseException | None, *, begun: bool, late: bool) -> Exception:
    """An answer has ended before its end. While nothing of it was there, it may be asked for again."""
    if late:
        why = f"had {endpoint.patience.total:g} s for an answer and was not done"
    elif isinstance(error, TimeoutError):
        why = f"said nothing more for {endpoint.patience.silence:g} s"
    elif error is None:
        why = "ended the connection"
    else:
        why = f"broke the connection ({type(error).__name__})"
    interrupted = StreamInterrupted(f"{endpoint.where} {why} {'in the middle of' if begun else 'before'} an answer")
    return interrupted if begun or late else Retryable(interrupted, again=not isinstance(error, TimeoutError))
