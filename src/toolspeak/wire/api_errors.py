"""Errors that an API reports, as one line of text and as an exception. All APIs are read in the same way."""

import json
import re
from http import HTTPStatus
from typing import Any

from toolspeak.errors import ContextExceeded, EndpointDown, ModelError, ProviderError, RateLimited
from toolspeak.wire.json_data import as_list, as_object, as_text

MAX_CAUSE_CHARS = 500
"""Characters of a cause that are kept; some servers answer with a page of HTML."""

_RATE_LIMIT_WORDS = ("rate_limit", "ratelimit", "too_many_requests", "overloaded", "engine_busy")

_RATE_LIMIT_CODES = (429, 529, "429", "529")

_REQUEST_WORDS = tuple(
    "invalid bad_request badrequest context_length too_large auth permission not_found billing quota filter".split()
)
"""Words in the type or code of an error that is due to the request, the key or the account."""

_STATUS_WORDS = {401: "auth", 402: "billing quota", 403: "permission", 404: "not_found", 413: "too_large"}
"""Words in the type or code of an error in an answer, for the status that the error would have had as a response."""

_OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context_size|context_window_exceeded"  # codes: OpenAI and others, llama.cpp
    r"|maximum (?:context|prompt|model) length|max(?:imum)? context length"  # OpenAI, vLLM, Mistral, xAI, Ollama
    r"|(?:exceeds?|longer than|larger than|only|reached|overflow\w*)\b.{0,60}\bcontext (?:length|size|window|limit)"
    r"|context (?:length|size|window|limit)\b.{0,60}\b(?:exceeded|is only|of only|not enough|reached)"  # LM Studio
    r"|greater than the context length"  # LM Studio
    r"|(?:prompt|input) (?:is )?too long"  # Anthropic, Bedrock, Ollama, Fireworks
    r"|input token count\b.{0,40}\bexceeds"  # Gemini
    r"|input tokens exceed the configured limit"  # OpenAI
    r"|must have less than \d+ tokens|`max_new_tokens` must be <="  # text-generation-inference
    r"|reduce the length of the (?:messages|prompt|input)",  # Groq, older servers of OpenAI's API
    re.IGNORECASE | re.DOTALL,
)
"""The words in which servers report that a conversation does not fit into the context of the model."""

_HTML_MARKUP = re.compile(r"<(script|style|head)\b.*?</\1\s*>|<[^>]*>", re.DOTALL | re.IGNORECASE)


def build_error(error: Any) -> ModelError:
    """Return the exception for an error object in a stream or in an answer."""
    fields = as_object(error)
    label = f"{fields.get('type')} {fields.get('code')}".lower()
    is_rate_limit = fields.get("code") in _RATE_LIMIT_CODES or any(word in label for word in _RATE_LIMIT_WORDS)
    cause = read_cause(error) or "the endpoint reported an error without a cause"
    if is_rate_limit:
        return RateLimited(cause, status=529 if "overloaded" in label or "529" in label else 429)
    if is_context_overflow(f"{label} {cause}"):
        return ContextExceeded(cause, status=400)
    status = _find_refusal_status(label)
    return EndpointDown(cause) if status is None else ProviderError(cause, status=status)


def is_context_overflow(text: str) -> bool:
    """Whether the text of an error says that a conversation does not fit into the context of the model."""
    return _OVERFLOW.search(text) is not None


def _find_refusal_status(label: str) -> int | None:
    """Return the status for the type and code of an error that blame the request; None if the fault is the endpoint's.

    Any error in an answer that blames nothing is the endpoint's own.
    """
    if given := re.search(r"\b4\d\d\b", label):
        return int(given[0])
    if not any(word in label for word in _REQUEST_WORDS):
        return None
    by_word = (status for status, words in _STATUS_WORDS.items() if any(word in label for word in words.split()))
    return next(by_word, 400)


def read_cause(error: Any, depth: int = 4) -> str:
    """Return the message of an error object as one line; empty if no message is found within `depth` levels."""
    if isinstance(error, str):
        return _one_line(error)
    if isinstance(error, list):
        return _one_line(
            "; ".join(filter(None, (read_cause(each, depth - 1) for each in as_list(error)[:20] if depth)))
        )
    fields = as_object(error)
    message = as_text(fields.get("message")) or as_text(fields.get("msg")) or as_text(fields.get("detail"))
    if not message:
        inner = [fields[key] for key in ("error", "detail", "errors") if key in fields and depth]
        return next(filter(None, (read_cause(each, depth - 1) for each in inner)), "")
    if place := ".".join(str(step) for step in as_list(fields.get("loc"))):
        message = f"{place}: {message}"
    upstream = as_text(as_object(fields.get("metadata")).get("raw"))  # the message of the provider behind a router
    kind = as_text(fields.get("type")) or as_text(fields.get("code")) or _read_google_status(fields)
    return _one_line(" ".join(filter(None, (message, upstream, f"({kind})" if kind and kind not in message else ""))))


def _read_google_status(error: dict[str, Any]) -> str:
    """Return the name of an error in Google's form, which has a number as its code."""
    status = as_text(error.get("status"))
    return status if status.isupper() else ""


def read_retry_delay(body_text: str) -> float | None:
    """Return the seconds after which the body of an error response, in Google's form, asks to be tried again."""
    try:
        error = as_object(as_object(json.loads(body_text)).get("error"))
    except (ValueError, RecursionError):
        return None
    delays = (as_text(as_object(each).get("retryDelay")) for each in as_list(error.get("details")))
    found = (re.fullmatch(r"(\d{1,9}(?:\.\d+)?)s", delay) for delay in delays)
    return next((float(match[1]) for match in found if match), None)


def read_error_body(status: int, body_text: str) -> str:
    """Return the cause in the body of an error response as one line; without a cause, the name of the status."""
    try:
        body: Any = json.loads(body_text)
    except (ValueError, RecursionError):
        body = _HTML_MARKUP.sub(" ", body_text)
    fields = as_object(body)
    return read_cause(fields["error"] if fields.get("error") else body) or _status_name(status)


def _status_name(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Overloaded" if status == 529 else "no cause was given"


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_CAUSE_CHARS else line[: MAX_CAUSE_CHARS - 1] + "…"
