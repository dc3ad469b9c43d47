"""What a request must be before it is looked at: from somebody who may ask, and of a bearable size."""

import asyncio
import hmac
import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, cast

from starlette.requests import Request

from toolspeak._frozen import frozen

LARGEST_BODY = 10_000_000
DEEPEST = 64
BODY_SECONDS = 30.0
"""Seconds within which a body must have come."""

ONLY_ONCE = frozenset({b"authorization", b"x-api-key", b"host", b"origin", b"content-length", b"transfer-encoding"})
"""Headers of which a second one could say something else to somebody else."""

_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::\d{1,5})?", re.IGNORECASE)
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_BRACKETS = str.maketrans({"{": "[", "}": "]"})
_NO_BRACKETS = re.compile(r"[^\[\]]+")


class Refused(Exception):
    """A request that is not answered, with the status that says why.

    Attributes:
        close: Whether nothing more is to be read from this connection.
    """

    def __init__(self, status: int, message: str, kind: str = "", *, close: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.kind = kind
        self.close = close


@frozen
class Rules:
    """Who may ask.

    Attributes:
        key: What clients must send as their key; None lets everybody ask, and is for the loopback alone.
        hosts: Names under which the gateway may be addressed. Without a key this is what keeps web pages out, which can
            make a browser talk to the loopback under a name of their own.
        origins: Web pages that may ask.
    """

    key: str | None = None
    hosts: frozenset[str] = frozenset({"localhost", "127.0.0.1", "::1"})
    origins: frozenset[str] = frozenset()


def check(request: Request, rules: Rules) -> None:
    """Let a request through, or refuse it."""
    headers = request.headers
    counted = Counter(name for name, _ in headers.raw if name in ONLY_ONCE)
    if any(count > 1 for count in counted.values()):
        raise Refused(400, "a header is given twice that may be given once", close=True)
    if counted[b"content-length"] and counted[b"transfer-encoding"]:
        raise Refused(400, "a body has a length or comes in chunks, not both", close=True)
    origin = headers.get("origin")
    if origin is not None and origin not in rules.origins:
        raise Refused(403, "this page may not use the gateway")
    if rules.key is None:
        if _host(headers.get("host", "")) not in rules.hosts:
            raise Refused(403, "the gateway is not served under this name")
    elif not hmac.compare_digest(_key(headers).encode("latin-1"), rules.key.encode()):
        raise Refused(401, "the key is missing or wrong; send it as a bearer token or as x-api-key")


def _host(said: str) -> str:
    match = _HOST.fullmatch(said)
    return (match[1] or match[2]).lower() if match else ""


def _key(headers: Mapping[str, str]) -> str:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", "")


async def body_of(request: Request) -> dict[str, Any]:
    """The body as JSON: not too large, not too deep, and an object."""
    try:
        async with asyncio.timeout(BODY_SECONDS):
            data = await _bytes_of(request)
    except TimeoutError:
        raise Refused(408, f"the body did not come within {BODY_SECONDS:g} seconds", close=True) from None
    try:
        text = data.decode()
        if is_deeper(text, DEEPEST):
            raise Refused(400, f"the body is nested more than {DEEPEST} deep")
        body: Any = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise Refused(400, f"the body is not JSON: {str(error)[:200]}") from None
    if not isinstance(body, dict):
        raise Refused(400, "the body is not a JSON object")
    return cast("dict[str, Any]", body)


def _no_number(constant: str) -> None:
    raise ValueError(f"{constant} is no number")


async def _bytes_of(request: Request) -> bytes:
    too_large = Refused(413, f"the body is larger than {LARGEST_BODY:,} bytes", close=True)
    said = request.headers.get("content-length", "0")
    if said.isdecimal() and int(said[:20]) > LARGEST_BODY:
        raise too_large
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > LARGEST_BODY:
            raise too_large
        chunks.append(chunk)
    return b"".join(chunks)


def is_deeper(text: str, depth: int) -> bool:
    """Whether JSON is nested deeper than that, told without reading it.

    Of the text the brackets are kept, and the innermost pairs taken away, layer by layer. What is left without a pair
    is not JSON, and for a parser to refuse.
    """
    brackets = _NO_BRACKETS.sub("", _STRING.sub("", text).translate(_BRACKETS))
    for _ in range(depth):
        if "[]" not in brackets:
            return False
        brackets = brackets.replace("[]", "")
    return "[]" in brackets
