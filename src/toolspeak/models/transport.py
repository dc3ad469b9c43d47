"""Requests to endpoints: retries and waits, answers while they arrive, and errors.

It is imported with the first request. A request is sent again only as long as nothing of an answer has arrived: after
that, the caller has half of an answer. Errors name the endpoint. The class of an error says whether it is an outage,
after which a run may ask another model.

A key is only for the address that it was given for: redirects are refused, and what an endpoint says is searched for
its key before an error shows it.
"""

import asyncio
import logging
import math
import random
import socket
import ssl
import time
import urllib.request
from collections.abc import Sequence
from contextlib import suppress
from email.utils import parsedate_to_datetime
from functools import cache
from urllib.parse import urlsplit

from toolspeak.models.answer_reader import AnswerReader
from toolspeak.models.connections import ConnectError, NotHttp, get_pool
from toolspeak.models.endpoint import Endpoint, RetryPolicy
from toolspeak.models.request_encoder import PieceRestorer
from toolspeak.models.sender import HttpResponse, RequestDeadline, Sender
from toolspeak.values.address import hide_secrets
from toolspeak.values.errors import (
    ContextExceeded,
    EndpointDown,
    EndpointTimeout,
    ModelError,
    ProviderError,
    RateLimited,
    StreamInterrupted,
)
from toolspeak.values.log import LOG
from toolspeak.values.pieces import Piece
from toolspeak.wire.api import CLIENT_WIRES
from toolspeak.wire.errors import is_context_overflow, read_error_body, read_retry_delay

RETRYABLE_STATUSES = frozenset({408, 429, 500, 502, 503, 504, 529})
"""Statuses after which the same request may succeed."""

MAX_ERROR_BYTES = 65_536
"""Bytes of the body of an error response that are read."""

TRAILER_TIMEOUT_SECONDS = 2.0
"""How long to wait, after the end of an answer, for its token counts and for the end of the response."""

STATUS_HINTS = {
    400: "the request was not accepted; the model may not support all of its fields",
    401: "the key was refused",
    403: "the key has no access to this",
    404: "is the address right, and the name of the model?",
    413: "the conversation is too long",
}

OVERFLOW_STATUSES = frozenset({400, 413, 422, 500})
"""Statuses with which servers report that a conversation is too long; 500 is that of older servers of llama.cpp."""


class RequestFailed(Exception):
    """A request failed before anything of an answer arrived."""

    def __init__(self, error: ModelError, wait: float | None = None, *, can_retry: bool = True) -> None:
        super().__init__(str(error))
        self.error = error  # to raise if the request is not sent again
        self.wait = wait  # the seconds that the endpoint asks to wait; None if it does not say
        self.can_retry = can_retry  # whether the same request may succeed later


class NotReached(Exception):
    """A server cannot be reached, or is not ready yet."""


class RetrySchedule:
    """Counts the attempts at one request, and waits between them."""

    def __init__(self, policy: RetryPolicy, *, is_instant: bool = False) -> None:
        self._policy = policy
        self._is_instant = is_instant  # whether the waits are left out
        self._attempts = 0

    async def wait(self, failure: RequestFailed, deadline: float | None) -> None:
        """Wait before the next attempt.

        If no attempt is left, the deadline is too near or the failure is final, raise its error, with the number of
        attempts.
        """
        self._attempts += 1
        policy = self._policy
        # What the endpoint asks for, else about twice the last wait; random, so that clients spread out.
        own = policy.first_wait * 2 ** (self._attempts - 1) * random.uniform(0.5, 1.0)  # noqa: S311 (no secret)
        seconds = min(own if failure.wait is None else failure.wait, policy.max_wait)
        is_late = deadline is not None and asyncio.get_running_loop().time() + seconds >= deadline
        if not failure.can_retry or is_late or self._attempts >= policy.attempts:
            count = f" ({self._attempts} tries)" if self._attempts > 1 else ""
            raise failure.error.with_message(f"{failure.error}{count}") from failure.__cause__
        await asyncio.sleep(0 if self._is_instant else seconds)


async def post(
    endpoint: Endpoint, path: str, body: bytes, deadline: RequestDeadline, sender: Sender | None = None
) -> HttpResponse:
    """Send a request and return its response, once headers with a good status have arrived; `release` it afterwards.

    The deadline watches the response from then on. Raises `RequestFailed` if there is no response, or it has an error
    status.
    """
    try:
        response = await (sender or send_request)(endpoint, path, body)
        if not 200 <= response.status < 300:
            raise await _build_status_failure(endpoint, response)
    except BaseException as error:
        deadline.stop()
        if isinstance(error, asyncio.CancelledError) and deadline.take_cancellation():
            message = f"{endpoint.label} {_describe_timeout(endpoint)}"
            raise RequestFailed(EndpointTimeout(message), can_retry=False) from error
        raise
    deadline.watch(response)
    return response


async def send_request(endpoint: Endpoint, path: str, body: bytes) -> HttpResponse:
    """Send a request over the network, and return its response, whatever its status. Raises `RequestFailed`."""
    pool = await get_pool()
    address = (endpoint.base_url if CLIENT_WIRES[endpoint.api].IS_UNDER_V1 else endpoint.root_url) + path
    started = time.perf_counter()
    try:
        response = await pool.send(
            "POST",
            address,
            _build_headers(endpoint),
            body,
            proxy=_find_proxy(endpoint.base_url),
            connect_timeout=endpoint.retry.connect_timeout,
            read_timeout=endpoint.retry.read_timeout,
        )
    except (OSError, ValueError) as error:
        _log_request("POST", address, started, "no response")
        raise _build_connection_failure(endpoint, error) from None
    _log_request("POST", address, started, response.status)
    return response


async def fetch(endpoint: Endpoint, address: str, body: bytes | None, timeout: float) -> bytes:
    """Send one request beside those for answers to an address of the server, and return the body of its response.

    Without a `body` it is a GET request. What is returned is empty if the server has nothing at this address, breaks
    the connection, or needs longer than `timeout` seconds. Raises `NotReached` if the server cannot be reached, or is
    not ready yet.
    """
    pool = await get_pool()
    method, started = "GET" if body is None else "POST", time.perf_counter()
    status: int | str = "no response"
    data, response = b"", None
    try:
        async with asyncio.timeout(timeout):
            proxy = _find_proxy(endpoint.base_url)
            response = await pool.send(method, address, _build_headers(endpoint), body, proxy=proxy)
            status = response.status
            if status == 200:
                # What a server says about a model may hold templates and licenses.
                while len(data) < 4_000_000 and (chunk := await response.readany()):
                    data += chunk
    except ConnectError:
        status = "not reached"
    except (OSError, ValueError):
        data = b""
    finally:
        if response is not None:
            release(response)
    _log_request(method, address, started, status)
    if status in ("not reached", 503):
        raise NotReached
    return data


def _log_request(method: str, address: str, started: float, status: int | str) -> None:
    """Log a request: no header and no query, which may hold a key."""
    if LOG.isEnabledFor(logging.DEBUG):
        LOG.debug("%s %s: %s after %.3f s", method, hide_secrets(address), status, time.perf_counter() - started)


def release(response: HttpResponse) -> None:
    """Close the connection of a response that was not read to its end. Otherwise a further request can use it already.

    The rest is not waited for: closing the connection makes the endpoint stop.
    """
    if not response.content.at_eof():
        response.close()


def _describe_timeout(endpoint: Endpoint) -> str:
    return f"had {endpoint.retry.total_timeout:g} s for an answer and was not done"


def _build_connection_failure(endpoint: Endpoint, error: Exception) -> RequestFailed:
    """Build the failure of a request that got no response."""
    can_retry, policy = True, endpoint.retry
    # A request that cannot be sent, or must not be for lack of trust, is no outage.
    is_timeout = isinstance(error, TimeoutError)
    error_class = ProviderError if isinstance(error, ValueError) else EndpointTimeout if is_timeout else EndpointDown
    match error:
        case ConnectError(cause=TimeoutError()):
            problem, error_class = f"gave no connection within {policy.connect_timeout:g} s", EndpointTimeout
        case ConnectError(cause=ssl.SSLCertVerificationError() as cause):
            problem, can_retry = f"shows a certificate that is not trusted: {cause}", False
        case ConnectError(cause=ssl.SSLError() as cause):
            problem, can_retry = f"cannot be reached over TLS ({cause}); is it https?", False
        case ConnectError(cause=socket.gaierror() | UnicodeError()):
            problem = "cannot be reached: there is no such host; is the address right?"
        case ConnectError(cause=cause):
            problem = f"cannot be reached ({cause}); is it running?"
        case TimeoutError():
            problem, can_retry = f"took the request and sent nothing for {policy.read_timeout:g} s", False
        case ValueError():
            problem, can_retry = f"cannot be asked: {error}", False
        case _:
            problem = f"broke the connection ({describe_break(error)})"
    return RequestFailed(error_class(f"{endpoint.label} {endpoint.redact(problem)}"), can_retry=can_retry)


def describe_break(error: BaseException) -> str:
    """Return in words how a connection broke."""
    reason = str(error) or type(error).__name__
    return f"not HTTP: {reason}" if isinstance(error, NotHttp) else reason


@cache
def _find_proxy(base_url: str) -> str | None:
    """Return the proxy for an address from the environment."""
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    is_local = host in ("", "localhost", "::1") or host.startswith("127.")  # a proxy cannot reach this machine
    if is_local or urllib.request.proxy_bypass(parts.netloc):
        return None
    proxy = urllib.request.getproxies().get(parts.scheme)
    return f"http://{proxy}" if proxy and "://" not in proxy else proxy


def _build_headers(endpoint: Endpoint) -> dict[str, str]:
    return {
        "content-type": "application/json",
        **CLIENT_WIRES[endpoint.api].request_headers(endpoint.key),
        **{name.lower(): value for name, value in endpoint.headers.items()},
    }


async def _build_status_failure(endpoint: Endpoint, response: HttpResponse) -> RequestFailed:
    """Build the failure of a request that got an error status."""
    status, hint = response.status, STATUS_HINTS.get(response.status, "")
    try:
        # The key is removed before a long cause is cut, and once more, because it may have been escaped in JSON.
        body = endpoint.redact(await _read_body(response))
        cause = endpoint.redact(read_error_body(status, body))
    finally:
        release(response)
    if status in (401, 403) and endpoint.key_variable:
        hint += f"; is {endpoint.key_variable} right?" if endpoint.key else f"; {endpoint.key_variable} is not set"
    is_overflow = status in OVERFLOW_STATUSES and is_context_overflow(body)
    if is_overflow:
        hint = ""  # its error says what to do
    if moved := response.headers.get("location"):
        hint = f"it has moved to {endpoint.redact(moved)}; if that is right, give that address"
    wait = _read_retry_after(response)
    wait = read_retry_delay(body) if wait is None else wait
    can_retry = status in RETRYABLE_STATUSES and not is_overflow
    if can_retry and wait is not None and wait > endpoint.retry.max_wait:  # an earlier request would be in vain
        can_retry, hint = False, hint or f"it asks for a wait of {wait:,.0f} s"
    text = f"{endpoint.label} answered {status}: {cause}" + (f" ({hint})" if hint else "")
    if is_overflow:
        error_class: type[ModelError] = ContextExceeded
    elif status in (429, 529):
        error_class = RateLimited
    else:  # did the endpoint fail, or was the request wrong?
        error_class = EndpointDown if status == 408 or status >= 500 else ProviderError
    error = error_class(text, status=status, retry_after=wait)
    return RequestFailed(error, wait, can_retry=can_retry)


async def _read_body(response: HttpResponse) -> str:
    """Read the body of an error response, as much of it as arrives in time. Its status alone is enough for an error."""
    body = b""
    with suppress(OSError):
        async with asyncio.timeout(5.0):
            while len(body) < MAX_ERROR_BYTES and (chunk := await response.content.readany()):
                body += chunk[: MAX_ERROR_BYTES - len(body)]  # one chunk may be large, if it was compressed
    return body.decode("utf-8", "replace")


def _read_retry_after(response: HttpResponse) -> float | None:
    """Return the seconds of the header `retry-after`, which is a number or a date; None without it."""
    header = response.headers.get("retry-after", "").strip()
    seconds = math.nan
    with suppress(ValueError):
        seconds = float(header)
    if not math.isfinite(seconds):
        with suppress(ValueError, OverflowError):
            seconds = parsedate_to_datetime(header).timestamp() - time.time()
    return max(seconds, 0.0) if math.isfinite(seconds) else None


class AnswerStream:
    """Reads a response to its end. No async generator: it would cost more than all that is done here."""

    def __init__(
        self,
        endpoint: Endpoint,
        response: HttpResponse,
        reader: AnswerReader,
        deadline: RequestDeadline,
        restorer: PieceRestorer | None,
    ) -> None:
        """Begin to read `response`, which the deadline watches and `close` releases.

        `restorer` restores control tokens that were broken in the request; None if there were none.
        """
        self._endpoint = endpoint
        self._response = response
        self._content = response.content
        self._reader = reader
        self._deadline = deadline
        self._restorer = restorer
        self._trailer_timer: asyncio.TimerHandle | None = None
        self._has_ended = False
        self._broken: BaseException | None = None

    async def next_pieces(self) -> Sequence[Piece]:
        """Return the next pieces when they have arrived, and none at the end.

        Raises:
            ModelError: The endpoint reported an error, or the answer was cut.
            RequestFailed: The same, and nothing of the answer has arrived.
        """
        reader, content = self._reader, self._content
        pieces: Sequence[Piece] = ()
        try:
            while not self._has_ended and reader.failure is None and (chunk := await content.readany()):
                was_complete = reader.ended
                pieces = reader.feed(chunk)
                if pieces and self._restorer is not None:
                    pieces = self._restorer.feed(pieces)
                if content.at_eof():
                    continue  # the next read returns at once, and the end of the answer is returned with the pieces
                if reader.ended and not was_complete:
                    loop = asyncio.get_running_loop()
                    self._trailer_timer = loop.call_later(TRAILER_TIMEOUT_SECONDS, self._response.close)
                if pieces:
                    return pieces
        except OSError as error:
            self._broken = error
        if not self._has_ended:
            pieces = [*pieces, *self._end()]
        if not pieces:
            self._raise_failure()
        return pieces

    def _end(self) -> Sequence[Piece]:
        self._has_ended = True
        self._cancel_timers()
        pieces, restorer = self._reader.close(), self._restorer
        return pieces if restorer is None else [*restorer.feed(pieces), *restorer.close()]

    def _raise_failure(self) -> None:
        """Raise what went wrong, if anything did; as `RequestFailed` if the request may be sent again."""
        reader, endpoint, broken = self._reader, self._endpoint, self._broken
        if (failure := reader.failure) is not None:
            # Without the original as its cause: that may hold the key.
            named = failure.with_message(f"{endpoint.label}: {endpoint.redact(str(failure))}")
            raise RequestFailed(named) if isinstance(failure, RateLimited) and not reader.started else named
        if reader.ended:
            return
        if is_late := self._deadline.has_passed:
            problem = _describe_timeout(endpoint)
        elif isinstance(broken, TimeoutError):
            problem = f"sent nothing more for {endpoint.retry.read_timeout:g} s"
        elif broken is None:
            problem = "ended the connection"
        else:
            problem = endpoint.redact(f"broke the connection ({describe_break(broken)})")
        place = "in the middle of" if reader.started else "before"
        interrupted = StreamInterrupted(f"{endpoint.label} {problem} {place} an answer")
        if reader.started or is_late:
            raise interrupted from broken
        raise RequestFailed(interrupted, can_retry=not isinstance(broken, TimeoutError)) from broken

    def _cancel_timers(self) -> None:
        self._deadline.stop()
        if self._trailer_timer is not None:
            self._trailer_timer.cancel()

    def close(self) -> None:
        """Give the connection back, or close it if the answer has not ended."""
        self._cancel_timers()
        release(self._response)
