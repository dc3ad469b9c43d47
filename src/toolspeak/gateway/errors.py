"""Finds the row of `FAILURES` for an exception. What each API makes of a row is in `wire/errors.py`.

A status says what the client can do. What a client can mend has the status its SDK knows, also if the endpoint behind
the gateway found the fault. A turn that the model could not manage, or an answer that could not be mended, is a 422:
SDKs repeat a request after 408, 409, 429 and 5xx only, and the model has been asked again already.
"""

import re

from toolspeak.gateway.exchange import AnswerNotRepaired, CallNotRepaired
from toolspeak.gateway.guard import RequestRefused
from toolspeak.models.cassettes import CassetteNotWritten
from toolspeak.values.errors import (
    ContextExceeded,
    EndpointDown,
    EndpointTimeout,
    ModelError,
    ProviderError,
    RateLimited,
    StreamInterrupted,
    ToolspeakError,
    UsageError,
)
from toolspeak.wire.errors import ErrorReport, FailureName
from toolspeak.wire.fields import FieldError

FAILURES_BY_STATUS: dict[int, FailureName] = {
    401: "upstream_key_refused",
    402: "upstream_unpaid",
    403: "upstream_forbidden",
    404: "upstream_model_unknown",
    413: "upstream_too_large",
    429: "upstream_busy",
    529: "upstream_overloaded",
}
"""The failures for statuses of the endpoint that clients know. Any other 4xx is `upstream_refused`."""

MAX_REASON_CHARS = 300

_QUOTED_VALUE = re.compile(r"""\B'(?:[^'\\]++|\\.)*+(?:'|\\?\Z)|"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)""", re.DOTALL)
"""A value in a message: as Python writes a text, or as JSON, which may have been cut."""


def report_error(error: Exception) -> ErrorReport:
    """Return what a client is told of an exception. Nothing of an unexpected exception is shown: the log has it."""
    match error:
        case RequestRefused():
            return ErrorReport(failure=error.failure, message=error.message)
        case FieldError():
            code = error.code if error.failure == "bad_request" else None  # any other failure has its own
            return ErrorReport(failure=error.failure, message=str(error), param=error.param or None, code=code)
        case CassetteNotWritten():
            # The message of the error names a file of the server.
            message = "the gateway could not record the answer; its log has the cause"
            return ErrorReport(failure="gateway_failed", message=message)
        case UsageError():
            return ErrorReport(failure="bad_request", message=str(error))
        case ModelError():
            return ErrorReport(failure=_find_model_failure(error), message=str(error), retry_after=error.retry_after)
        case ToolspeakError():
            return ErrorReport(failure="gateway_failed", message=str(error))
        case _:
            return ErrorReport(failure="gateway_failed", message="the gateway failed; its log has the cause")


def is_expected(error: Exception) -> bool:
    """Whether a client is told all there is to know of an exception. Of any other one, the log must have the cause."""
    return isinstance(error, RequestRefused | ToolspeakError) and not isinstance(error, CassetteNotWritten)


def describe_refusal(error: Exception) -> str:
    """Return why a request failed, in a line for the log.

    What the gateway found wrong is told in its own words, without the values that they quote. What an endpoint or a
    model said may hold anything: of that, the line has the name of the failure alone.
    """
    report = report_error(error)
    match error:
        case RequestRefused(failure="model_unknown"):  # the name that was asked for is the reason
            text = error.message
        case RequestRefused() | FieldError():
            text = _QUOTED_VALUE.sub("'…'", report.message)
        case ContextExceeded():
            text = report.failure
        case ModelError(status=int(status)):
            text = f"{report.failure}, the endpoint answered {status}"
        case _:
            text = f"{report.failure} ({type(error).__name__})"
    return " ".join(text.split())[:MAX_REASON_CHARS]


def _find_model_failure(error: ModelError) -> FailureName:
    """Return the row for an error of a model or its endpoint: by its class first, then by the status."""
    match error:
        case AnswerNotRepaired():
            return "answer_not_repaired"
        case CallNotRepaired():
            return "call_not_repaired"
        case ContextExceeded():
            return "context_exceeded"
        case EndpointTimeout():
            return "upstream_timeout"
        case EndpointDown():
            return "upstream_unreachable" if error.status is None else "upstream_failed"
        case StreamInterrupted():
            return "upstream_interrupted"
        case RateLimited():
            return FAILURES_BY_STATUS.get(error.status or 429, "upstream_busy")
        case ProviderError(status=int(status)) if 400 <= status < 500:
            return FAILURES_BY_STATUS.get(status, "upstream_refused")
        case _:
            return "upstream_failed"
