"""Errors that an endpoint reports, read in the same way for all APIs, and `FAILURES`: how a server reports its own.

`FAILURES` is the one table of all that can go wrong for a client of the gateway, in the forms of all APIs.
A failure that is not in the table cannot be reported: the gateway finds the name of a row for each exception
(`gateway/errors.py`), and the packages of the APIs write the row in their own form, as a body and in a stream.

Three rules decide about a status. What a client can mend has the status that its SDK knows for it, also if the endpoint
behind the gateway found the fault: a conversation that is too long must be shortened, a refused key must be replaced.
What is the fault of the endpoint is a 5xx. A turn that the model could not manage is not: clients repeat a request
after a 5xx, up to nine times, and the model has been asked again already.
"""

import json
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Literal, TypeAlias

from toolspeak.values.errors import ContextExceeded, EndpointDown, ModelError, ProviderError, RateLimited
from toolspeak.values.frozen import frozen
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
    r"|(?:exceeds?|longer than|larger than|only|reached|overflow\w{0,8})\b.{0,60}\bcontext (?:length|size|window|limit)"
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

_HTML_MARKUP = re.compile(r"<(script|style|head)\b(?:(?!<\1\b).)*?</\1\s*+>|<[^<>]*+>", re.DOTALL | re.IGNORECASE)


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
    status = as_text(fields.get("status"))  # the name of an error of Google's, which has a number as its code
    kind = as_text(fields.get("type")) or as_text(fields.get("code")) or (status if status.isupper() else "")
    return _one_line(" ".join(filter(None, (message, upstream, f"({kind})" if kind and kind not in message else ""))))


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


FailureName: TypeAlias = Literal[
    "bad_request",
    "thread_unsupported",
    "key_wrong",
    "access_refused",
    "route_unknown",
    "model_unknown",
    "run_unknown",
    "run_refused",
    "method_wrong",
    "body_slow",
    "body_too_large",
    "context_exceeded",
    "call_not_repaired",
    "answer_not_repaired",
    "upstream_refused",
    "upstream_key_refused",
    "upstream_unpaid",
    "upstream_forbidden",
    "upstream_model_unknown",
    "upstream_too_large",
    "upstream_busy",
    "upstream_overloaded",
    "upstream_failed",
    "upstream_unreachable",
    "upstream_timeout",
    "upstream_interrupted",
    "store_unavailable",
    "gateway_failed",
]
"""The names of the rows of `FAILURES`."""


@frozen
class FailureForm:
    """How the APIs report a failure.

    Attributes:
        status: The HTTP status, in every API.
        openai_type: `error.type` of OpenAI's APIs.
        code: `error.code` of OpenAI's APIs, unless the failure itself has a more exact one.
        anthropic_type: `error.type` of Anthropic's API.
        responses_code: `response.error.code` in a stream of OpenAI's Responses API.
        anthropic_words: Words at the beginning of the message by which clients of Anthropic's API know the failure.
        anthropic_details: `error.details` of Anthropic's API.
    """

    status: int
    openai_type: str
    code: str
    anthropic_type: str
    responses_code: str = "server_error"
    anthropic_words: str = ""
    anthropic_details: Mapping[str, Any] | None = None


def _request(status: int, code: str, anthropic_type: str = "invalid_request_error", **more: Any) -> FailureForm:
    """Return the form of a failure that is due to the request."""
    return FailureForm(
        status=status,
        openai_type="invalid_request_error",
        code=code,
        anthropic_type=anthropic_type,
        responses_code=more.pop("responses_code", "invalid_prompt"),
        **more,
    )


def _access(status: int, kind: str, code: str) -> FailureForm:
    """Return the form of a failure that both vendors call by the same name."""
    return FailureForm(status=status, openai_type=kind, code=code, anthropic_type=kind, responses_code="invalid_prompt")


def _server(status: int, code: str, anthropic_type: str = "api_error") -> FailureForm:
    """Return the form of a failure of the gateway or of the endpoint behind it."""
    return FailureForm(status=status, openai_type="server_error", code=code, anthropic_type=anthropic_type)


FAILURES: Mapping[FailureName, FailureForm] = {
    # What the gateway finds wrong with a request
    "bad_request": _request(400, "invalid_value"),
    "thread_unsupported": _request(
        400, "unsupported_parameter", anthropic_details={"error_code": "thread_unsupported_request"}
    ),
    "key_wrong": _access(401, "authentication_error", "invalid_api_key"),
    "access_refused": _access(403, "permission_error", "access_refused"),
    "route_unknown": _access(404, "not_found_error", "unknown_url"),
    "model_unknown": _access(404, "not_found_error", "model_not_found"),
    "run_unknown": _access(404, "not_found_error", "run_not_found"),
    "run_refused": _request(409, "run_refused"),
    "method_wrong": _request(405, "method_not_allowed"),
    "body_slow": _request(408, "request_timeout"),
    "body_too_large": _request(413, "request_too_large", "request_too_large"),
    # What the model could not do
    "context_exceeded": _request(
        400,
        "context_length_exceeded",
        anthropic_words="prompt is too long",
        responses_code="context_length_exceeded",
    ),
    "call_not_repaired": _request(422, "tool_use_failed"),
    "answer_not_repaired": _request(422, "json_validate_failed"),
    # What the endpoint behind the gateway answered
    "upstream_refused": _request(400, "upstream_refused"),
    "upstream_key_refused": _access(401, "authentication_error", "invalid_api_key"),
    "upstream_unpaid": FailureForm(
        status=402,
        openai_type="insufficient_quota",
        code="insufficient_quota",
        anthropic_type="billing_error",
        responses_code="insufficient_quota",
    ),
    "upstream_forbidden": _access(403, "permission_error", "upstream_forbidden"),
    "upstream_model_unknown": _access(404, "not_found_error", "model_not_found"),
    "upstream_too_large": _request(413, "request_too_large", "request_too_large"),
    "upstream_busy": FailureForm(
        status=429,
        openai_type="rate_limit_error",
        code="rate_limit_exceeded",
        anthropic_type="rate_limit_error",
        responses_code="rate_limit_exceeded",
    ),
    "upstream_overloaded": _server(529, "server_is_overloaded", "overloaded_error"),
    "upstream_failed": _server(502, "upstream_error"),
    "upstream_unreachable": _server(502, "upstream_unreachable"),
    "upstream_timeout": _server(504, "upstream_timeout", "timeout_error"),
    "upstream_interrupted": _server(502, "upstream_interrupted"),
    "store_unavailable": _server(503, "store_unavailable"),
    "gateway_failed": _server(500, "internal_error"),
}


GOOGLE_STATUSES: Mapping[int, str] = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    402: "FAILED_PRECONDITION",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    405: "UNIMPLEMENTED",
    408: "DEADLINE_EXCEEDED",
    409: "ABORTED",
    413: "INVALID_ARGUMENT",
    422: "FAILED_PRECONDITION",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
    529: "UNAVAILABLE",
}
"""`error.status` of Google's API, which follows from the HTTP status of a row."""

_GOOGLE_TYPES = "type.googleapis.com/google.rpc."


@frozen
class ErrorReport:
    """A failure as a client is told of it.

    Attributes:
        failure: The row of `FAILURES`.
        message: What was wrong, where, and what to do.
        param: The path of the wrong field in the request, as in `messages[0].role`; None if it is no field.
        code: A more exact code than that of the row; None for that of the row.
        retry_after: Seconds after which the endpoint behind the gateway asks to be tried again.
    """

    failure: FailureName
    message: str
    param: str | None = None
    code: str | None = None
    retry_after: float | None = None

    @property
    def form(self) -> FailureForm:
        """How the APIs report the failure."""
        return FAILURES[self.failure]

    def openai_error(self) -> dict[str, Any]:
        """Return the object `error` of OpenAI's APIs."""
        return {
            "message": self.message,
            "type": self.form.openai_type,
            "param": self.param,
            "code": self.code or self.form.code,
        }

    def anthropic_error(self) -> dict[str, Any]:
        """Return the object `error` of Anthropic's API."""
        words = self.form.anthropic_words
        error: dict[str, Any] = {
            "type": self.form.anthropic_type,
            "message": f"{words}: {self.message}" if words else self.message,
        }
        details = self.form.anthropic_details
        return {**error, "details": dict(details)} if details else error

    def google_error(self) -> dict[str, Any]:
        """Return the object `error` of Google's API."""
        reason = (self.code or self.form.code).upper()
        details: list[dict[str, Any]] = [
            {"@type": f"{_GOOGLE_TYPES}ErrorInfo", "reason": reason, "domain": "toolspeak"}
        ]
        if self.param is not None:
            violation = {"field": self.param, "description": self.message}
            details.append({"@type": f"{_GOOGLE_TYPES}BadRequest", "fieldViolations": [violation]})
        if self.retry_after is not None:
            details.append({"@type": f"{_GOOGLE_TYPES}RetryInfo", "retryDelay": f"{self.retry_after:g}s"})
        return {
            "code": self.form.status,
            "message": self.message,
            "status": GOOGLE_STATUSES[self.form.status],
            "details": details,
        }
