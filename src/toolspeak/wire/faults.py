"""What an API says when something went wrong, as one line and as an error of ours."""

import json
import re
from http import HTTPStatus
from typing import Any

from toolspeak.errors import ModelError, ProviderError, RateLimited
from toolspeak.wire.json_data import list_in, object_in, text_in

LONGEST_CAUSE = 500
"""Characters of a cause that are told; some servers answer with a page of HTML."""

_SLOW_DOWN = ("rate_limit", "ratelimit", "too_many_requests", "overloaded", "engine_busy")

_SLOW_DOWN_CODES = (429, 529, "429", "529")

_UNSEEN = re.compile(r"<(script|style|head)\b.*?</\1\s*>|<[^>]*>", re.DOTALL | re.IGNORECASE)


def fault(error: Any) -> ModelError:
    """The error that an error object in a stream or in an answer stands for."""
    given = object_in(error)
    said = f"{given.get('type')} {given.get('code')}".lower()
    slow = given.get("code") in _SLOW_DOWN_CODES or any(sign in said for sign in _SLOW_DOWN)
    return (RateLimited if slow else ProviderError)(cause(error) or "the endpoint reported an error without a cause")


def cause(error: Any, depth: int = 4) -> str:
    """What an error object says, in one line; empty if it says nothing down to `depth`."""
    if isinstance(error, str):
        return _line(error)
    if isinstance(error, list):
        return _line("; ".join(filter(None, (cause(each, depth - 1) for each in list_in(error)[:20] if depth))))
    given = object_in(error)
    message = text_in(given.get("message")) or text_in(given.get("msg")) or text_in(given.get("detail"))
    if not message:
        inner = [given[key] for key in ("error", "detail", "errors") if key in given and depth]
        return next(filter(None, (cause(each, depth - 1) for each in inner)), "")
    if place := ".".join(str(step) for step in list_in(given.get("loc"))):
        message = f"{place}: {message}"
    upstream = text_in(object_in(given.get("metadata")).get("raw"))  # what the provider behind a router said
    kind = text_in(given.get("type")) or text_in(given.get("code"))
    return _line(" ".join(filter(None, (message, upstream, f"({kind})" if kind and kind not in message else ""))))


def read_error(status: int, body_text: str) -> str:
    """The cause that the body of a refused request gives, in one line; the name of the status if it gives none."""
    try:
        body: Any = json.loads(body_text)
    except (ValueError, RecursionError):
        body = _UNSEEN.sub(" ", body_text)
    given = object_in(body)
    return cause(given["error"] if given.get("error") else body) or _name(status)


def _name(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Overloaded" if status == 529 else "no cause was given"


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_CAUSE else line[: LONGEST_CAUSE - 1] + "…"
