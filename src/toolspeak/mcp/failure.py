"""`ServerFailure`: why a connection to an MCP server ended, in words for a person."""

import re
from dataclasses import dataclass, field
from typing import cast

from pydantic import ValidationError

from toolspeak.values.address import hide_secrets

MAX_REASON_CHARS = 500

_ADDRESS = re.compile(r"https?://(?:[.,;:]*+[^\s'\"<>.,;:]++)++")  # what ends a sentence is none of it


@dataclass(slots=True)
class ServerFailure:
    """What is known of the end of a connection.

    Attributes:
        reason: Why toolspeak ended the connection; empty if the server did.
        is_over: Whether nothing more can be sent to the server.
        log: The last bytes that the server wrote to its standard error.
        post_status: The status of the last answer to a message over HTTP.
        refused_ids: The calls that the server refused since it does not know the session, until their errors are read.
    """

    reason: str = ""
    is_over: bool = False
    log: bytes = b""
    post_status: int = 0
    refused_ids: set[int | str] = field(default_factory=set[int | str])

    def describe(self, error: BaseException | None = None) -> str:
        """Return the reason and the end of the log."""
        reason = self.reason or (find_reason(error) if error is not None else "") or "it ended"
        log = "".join(map(_escape, self.log.decode(errors="replace").strip()))
        return f"{reason}; the end of its log:\n{log}" if log else reason


def _escape(char: str) -> str:
    r"""Return a character, or an escape such as `\x1b` for one that a terminal would obey or hide."""
    return char if char.isprintable() or char == "\n" else char.encode("unicode_escape").decode()


def find_reason(error: BaseException) -> str:
    """Return the text of the first error inside groups of errors, which the SDK raises."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    if isinstance(error, TimeoutError):
        return "it did not answer in time"
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status is not None:  # the text of an error of HTTP has the address in it, which may hold a key
        return f"it answered with HTTP {status}"
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        return ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))
    text = " ".join(str(error).split()) or type(error).__name__
    text = _ADDRESS.sub(lambda found: hide_secrets(found[0]), text)
    return text if len(text) <= MAX_REASON_CHARS else f"{text[:MAX_REASON_CHARS]}…"
