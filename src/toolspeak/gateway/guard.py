"""Checks a request before it is read: who sent it, and how large its body is; and parses the body.

Most of a request of an agent are its tools, which are the same in each of its requests and in those of other people who
use the same agent. So their JSON is looked up among that of the last requests (`recent_tools`). If it is there, letter
by letter, it is neither measured nor parsed again: all requests share one list, and what wires make of it
(`ToolList.derive`). Prompts and answers that repeat the tools go by the identity of what was made of that list.
"""

import asyncio
import hmac
import json
import re
import secrets
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar, cast

from starlette.requests import ClientDisconnect, Request

from toolspeak.values.frozen import frozen
from toolspeak.values.recent import RecentValues
from toolspeak.wire.errors import FailureName
from toolspeak.wire.fields import ToolList
from toolspeak.wire.json_data import as_object

T = TypeVar("T")

MAX_BODY_BYTES = 10_000_000
TOO_LARGE = f"the body is larger than {MAX_BODY_BYTES:,} bytes"
MAX_BODY_NESTING = 64
BODY_TIMEOUT_SECONDS = 30.0
"""Time within which a body must arrive."""

MAX_DISCARDED_BYTES, DISCARD_TIMEOUT_SECONDS = 50_000_000, 2.0
"""How much is read of a body that is too large, and how long, before it is answered."""

MAX_BODY_VALUES = 500_000
"""The most JSON values in a body."""

LARGE_BODY_BYTES = 100_000
"""Larger bodies are read in a thread, so that other requests are answered meanwhile. What the model is shown of them is
prepared in a thread as well."""

SINGLE_HEADERS = frozenset(
    b"authorization x-api-key x-goog-api-key host origin sec-fetch-site content-length transfer-encoding".split()
)
"""Headers that may be given only once: a proxy and the gateway could each read another one."""

GEMINI_METHODS = (":generateContent", ":streamGenerateContent", ":countTokens")
"""The ends of the paths of Gemini's API."""

_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::\d{1,5})?", re.IGNORECASE)
_JSON_MARK = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[\[\]{},]', re.DOTALL)
"""A whole string, so that no mark in it counts, or a mark that begins, ends or separates values."""

_BRACKET = re.compile(r'(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+")*+([\[\]{}])', re.DOTALL)
"""Everything up to the next bracket that is in no string."""

MAX_KEY_CHARS = 40
_TOOLS_KEY = re.compile(r'[{,\s]"tools"\s*:\s*\[\Z')
"""The key of the tools and the beginning of their list, at the end of what is searched."""

_TOOLS_MARK = secrets.token_hex(16)
"""What stands for the tools while the rest of a body is parsed. No client knows it."""

LEAST_TOOLS_SIZE = 20_000
"""What a list of tools counts at least, so that a hundred of them are kept at most."""

recent_tools = RecentValues[str, ToolList](max_size=100 * LEAST_TOOLS_SIZE, seconds=600)
"""The tools of the last requests, by their JSON. All clients that send the same tools share one entry. It has nothing
of a request but the definitions of its tools: neither messages nor keys."""

OWN_SITES = frozenset({"same-origin", "none"})
"""Values of `Sec-Fetch-Site`, which browsers set, for requests that no page of another site has sent."""


class RequestRefused(Exception):
    """A request is answered with an error. `close`: the connection ends, because the rest of it is not read."""

    def __init__(self, failure: FailureName, message: str, *, close: bool = False) -> None:
        super().__init__(message)
        self.failure: FailureName = failure
        self.message = message
        self.close = close


@frozen
class AccessRules:
    """Who may send requests.

    Attributes:
        key: The key that clients must send. None lets everybody in; use it on the loopback interface only.
        hosts: Allowed values of the header `Host`. Without a key this keeps out web pages, which can make a browser
            connect to the loopback interface under their own host name.
        origins: Web pages that may send requests, as in the header `Origin`.
    """

    key: str | None = None
    hosts: frozenset[str] = frozenset({"localhost", "127.0.0.1", "::1"})
    origins: frozenset[str] = frozenset()


def check_access(request: Request, rules: AccessRules, *, needs_key: bool = True) -> None:
    """Raise `RequestRefused` unless a request may be read. `needs_key` is for the key alone, not for other checks."""
    headers = request.headers
    given = [name for name, _ in headers.raw if name in SINGLE_HEADERS]
    if len(set(given)) < len(given):
        raise RequestRefused("bad_request", "a header that may be given only once is given twice", close=True)
    if b"content-length" in given and b"transfer-encoding" in given:
        raise RequestRefused("bad_request", "a body has a length or comes in chunks, not both", close=True)
    origin = headers.get("origin")
    if origin is not None and origin not in rules.origins:
        raise RequestRefused("access_refused", "this page may not use the gateway")
    if origin is None and headers.get("sec-fetch-site", "none") not in OWN_SITES:
        raise RequestRefused("access_refused", "a page of another site may not use the gateway")
    if rules.key is None:
        host = _HOST.fullmatch(headers.get("host", ""))
        if host is None or (host[1] or host[2]).lower() not in rules.hosts:
            raise RequestRefused("access_refused", "the gateway is not served under this name")
    elif needs_key and not _has_key(request, rules.key):
        problem = "the key is missing or wrong; send it as a bearer token, as x-api-key or as x-goog-api-key"
        raise RequestRefused("key_wrong", problem)


def is_gemini_request(request: Request) -> bool:
    """Whether a client of Gemini's API sends a request: by its path, else by a header that only such clients send."""
    path = request.url.path
    if path.startswith("/v1beta/") or path.endswith(GEMINI_METHODS):
        return True
    return "x-goog-api-key" in request.headers or "x-goog-api-client" in request.headers


def _has_key(request: Request, key: str) -> bool:
    """Whether a place for a key holds the right one: a client may have a bearer token of its own.

    Clients of Gemini's API may send the key in the query.
    """
    headers = request.headers
    scheme, _, token = headers.get("authorization", "").partition(" ")
    bearer = token.strip() if scheme.lower() == "bearer" else ""
    texts = [bearer, headers.get("x-api-key", ""), headers.get("x-goog-api-key", "")]
    given = [text.encode("latin-1") for text in texts]
    if is_gemini_request(request):
        given.append(request.query_params.get("key", "").encode("utf-8", "replace"))
    # All are compared, so that the time tells nothing.
    return sum(hmac.compare_digest(each, key.encode()) for each in given) > 0


async def read_body(request: Request, read: Callable[[Any], T]) -> T:
    """Return what `read` makes of the body, a JSON object. A large body is parsed and read in a thread.

    Raises:
        RequestRefused: The body is too large, too deep, too slow or no object.
        UsageError: `read` found a wrong field.
    """
    data = await read_bytes(request)
    request.state.is_large = len(data) > LARGE_BODY_BYTES
    if not request.state.is_large:
        return read(parse_body(data))
    return await asyncio.to_thread(lambda: read(parse_body(data)))


def parse_body(data: bytes) -> dict[str, Any]:
    """Return a body as a JSON object. Its tools are shared with other requests that have the same (`ToolList`).

    Raises `RequestRefused` if the body is no object, or is too deep or too large.
    """
    try:
        text = data.decode()
        if len(text) > 2 * MAX_BODY_VALUES:  # else it cannot hold too many: each takes two characters at least
            check_size(text)
            body = _load(text)
        else:
            place = _find_tools(text)
            body = _load(text) if place is None else _load_with_tools(text, *place)
    except (ValueError, RecursionError) as error:
        raise RequestRefused("bad_request", f"the body is not JSON: {str(error)[:200]}") from None
    if not isinstance(body, dict):
        raise RequestRefused("bad_request", "the body is not a JSON object")
    return cast("dict[str, Any]", body)


def _load(text: str) -> Any:
    return json.loads(text, parse_constant=_refuse_constant)


def _load_with_tools(text: str, start: int, end: int) -> Any:
    """Parse a body whose tools stand between `start` and `end`. Those that were parsed lately are not parsed again."""
    written = text[start:end]
    try:
        body = _load(f'{text[:start]}"{_TOOLS_MARK}"{text[end:]}')
        if (tools := recent_tools.find(written)) is None:
            tools = ToolList(_load(written))
            recent_tools.add(written, tools, max(len(written), LEAST_TOOLS_SIZE))
    except ValueError:
        return _load(text)  # raises, too, and names the place in the whole text
    if as_object(body).get("tools") == _TOOLS_MARK:  # else the same key follows, with escapes
        body["tools"] = tools
    return body


def _find_tools(text: str) -> tuple[int, int] | None:
    """Return where the list of tools of a body begins and ends; None if there is none.

    Raises `RequestRefused` if the body is nested too deeply. Like `check_size`, this does not parse the body, and
    leaves what is not JSON to the parser. It takes one step for each list and object, and one for tools that are known.
    """
    depth = position = start = 0
    found: tuple[int, int] | None = None
    while mark := _BRACKET.match(text, position):
        position = mark.end()
        if mark[1] in "[{":
            depth += 1
            if depth > MAX_BODY_NESTING:
                raise RequestRefused("bad_request", f"the body is nested more than {MAX_BODY_NESTING} deep")
            if depth == 2 and mark[1] == "[" and _TOOLS_KEY.search(text, position - MAX_KEY_CHARS, position):
                start = position - 1
                known = [] if found else [each for each in recent_tools.list_keys() if text.startswith(each, start)]
                if known:
                    depth, position = 1, start + len(known[0])
                    start, found = 0, (start, position)
        else:
            depth -= 1
            if depth < 0:
                break
            if depth == 1 and start and mark[1] == "]":
                start, found = 0, (start, position)
    return found


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not a number")


async def read_bytes(request: Request) -> bytes:
    """Return the body. Raises `RequestRefused` if it is too large or too slow."""
    try:
        async with asyncio.timeout(BODY_TIMEOUT_SECONDS):
            return await _receive_bytes(request)
    except TimeoutError:
        raise RequestRefused(
            "body_slow", f"the body did not come within {BODY_TIMEOUT_SECONDS:g} seconds", close=True
        ) from None


async def _discard_body(request: Request) -> None:
    """Take the rest of a body that is refused: if the connection ends while a client sends, the answer may be lost."""
    if "expect" in request.headers:  # the client waits for the answer before it sends the body
        return
    left, is_complete = MAX_DISCARDED_BYTES, False
    with suppress(TimeoutError):
        async with asyncio.timeout(DISCARD_TIMEOUT_SECONDS):
            while left > 0 and not is_complete:
                message = await request.receive()
                left -= len(message.get("body", b""))
                is_complete = not message.get("more_body", False)


async def _receive_bytes(request: Request) -> bytes:
    length = request.headers.get("content-length", "0")
    if length.isdecimal() and int(length[:20]) > MAX_BODY_BYTES:
        await _discard_body(request)
        raise RequestRefused("body_too_large", TOO_LARGE, close=True)
    chunks: list[bytes] = []
    size = 0
    is_complete = False
    while not is_complete:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        chunk: bytes = message.get("body", b"")
        is_complete = not message.get("more_body", False)
        size += len(chunk)
        if size > MAX_BODY_BYTES:
            if not is_complete:
                await _discard_body(request)
            raise RequestRefused("body_too_large", TOO_LARGE, close=True)
        chunks.append(chunk)
    return b"".join(chunks)


def check_size(text: str, max_nesting: int = MAX_BODY_NESTING, max_values: int = MAX_BODY_VALUES) -> None:
    """Raise `RequestRefused` if JSON is nested too deeply or holds too many values, without parsing it.

    The parser holds up all threads while it works. This takes no more steps than values are allowed, and lets other
    threads work meanwhile. What is not JSON is left to the parser, which stops where it is not.
    """
    depth = count = strings = 0
    for mark in _JSON_MARK.finditer(text):
        sign = mark[0]
        if sign in "[{":
            depth += 1
            if depth > max_nesting:
                raise RequestRefused("bad_request", f"the body is nested more than {max_nesting} deep")
        elif sign in "]}":
            depth -= 1
            if depth < 0:
                return
            continue
        elif sign != ",":
            strings += 1
            if strings > 2 * (count + 1):  # a value and its key are two; more have a comma between them
                return
            continue
        count += 1
        if count > max_values:
            raise RequestRefused("bad_request", f"the body holds more than {max_values:,} values")
