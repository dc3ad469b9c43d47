"""`Exchange`: one request and its response, with the times of its chunks, as a line of JSON.

The bytes of a body are written as text. Bytes that are no UTF-8, as where a chunk ends within a character, become
surrogates, so that every chunk is read back as it was.
"""

import json
from datetime import datetime
from typing import Any, TypeAlias, cast

from toolspeak._frozen import frozen
from toolspeak.errors import UsageError
from toolspeak.messages import Json

FORMAT = 1
"""The number of the format that is written, and the highest that can be read."""


@frozen
class RecordedFailure:
    """Why a request got no response.

    Attributes:
        error: The name of the error's class in `toolspeak.errors`.
        problem: The text of the error, without the name and address of the endpoint.
        can_retry: Whether the request was to be sent again.
    """

    error: str
    problem: str
    can_retry: bool = True


@frozen
class Exchange:
    """One request and its response.

    Attributes:
        at: When the request was sent.
        path: The path of the request behind the base address.
        body: The body of the request, without keys and attachments.
        status: The status of the response.
        headers: The headers of the response that have an effect.
        head_seconds: Seconds from the request to the head of the response.
        chunks: The chunks of the body, each with the seconds from the request to its arrival.
        ending: How the body ended: `"end"`, `"closed"` if whoever read it stopped, or the name of an error's class.
        timed_out: Whether that error was a timeout.
        failure: Why there is no response; None if there is one.
    """

    at: datetime
    path: str
    body: Json
    status: int = 0
    headers: tuple[tuple[str, str], ...] = ()
    head_seconds: float = 0.0
    chunks: tuple[tuple[float, bytes], ...] = ()
    ending: str = "end"
    timed_out: bool = False
    failure: RecordedFailure | None = None


@frozen
class RecordedModel:
    """What is known of a recorded model without its endpoint.

    Attributes:
        name: Its name, as runs show it.
        dialect: The dialect in which it was asked.
        weights: The name of its weights file, if it is embedded.
        context: The tokens of a request and its answer, if its server said so or it is embedded.
    """

    name: str
    dialect: str
    weights: str | None = None
    context: int | None = None


TapeEntry: TypeAlias = Exchange | RecordedModel


def dump_entry(entry: TapeEntry) -> str:
    """Write an entry as one line, with its line break."""
    if isinstance(entry, RecordedModel):
        data: dict[str, Any] = {"kind": "model", "name": entry.name, "dialect": entry.dialect, "weights": entry.weights}
        if entry.context is not None:
            data["context"] = entry.context
    else:
        data = {"kind": "exchange", "at": entry.at.isoformat(), "request": {"path": entry.path, "body": entry.body}}
        if entry.failure is not None:
            failure = entry.failure
            data["failure"] = {"error": failure.error, "problem": failure.problem, "can_retry": failure.can_retry}
        else:
            data["response"] = {
                "status": entry.status,
                "headers": dict(entry.headers),
                "head_seconds": round(entry.head_seconds, 6),
                "chunks": [[round(seconds, 6), _to_text(chunk)] for seconds, chunk in entry.chunks],
                "ending": entry.ending,
                "timed_out": entry.timed_out,
            }
    return json.dumps({"v": FORMAT, **data}) + "\n"


def load_entry(line: str) -> TapeEntry:
    """Read an entry from its line.

    Raises:
        UsageError: The line is of a newer format, or is no entry.
    """
    try:
        data = json.loads(line)
        number = data["v"]
    except (ValueError, RecursionError) as error:
        raise UsageError(f"not JSON ({error}); the file was changed") from None
    except (TypeError, KeyError):
        raise UsageError("not a line of a cassette") from None
    if not isinstance(number, int) or number > FORMAT:
        raise UsageError(f"recorded in format {number} by a newer toolspeak; this one reads format {FORMAT}")
    try:
        return _load(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"not a line of a cassette ({type(error).__name__}: {error})") from None


def _load(data: dict[str, Any]) -> TapeEntry:
    if data["kind"] == "model":
        return RecordedModel(
            name=data["name"], dialect=data["dialect"], weights=data.get("weights"), context=data.get("context")
        )
    if data["kind"] != "exchange":
        raise ValueError(f"unknown kind {data['kind']!r}")
    at, request = datetime.fromisoformat(data["at"]), data["request"]
    if "failure" in data:
        failed = data["failure"]
        failure = RecordedFailure(error=failed["error"], problem=failed["problem"], can_retry=failed["can_retry"])
        return Exchange(at=at, path=request["path"], body=request["body"], failure=failure)
    response = data["response"]
    return Exchange(
        at=at,
        path=request["path"],
        body=request["body"],
        status=response["status"],
        headers=tuple(cast("dict[str, str]", response["headers"]).items()),
        head_seconds=response["head_seconds"],
        chunks=tuple((seconds, _to_bytes(text)) for seconds, text in response["chunks"]),
        ending=response["ending"],
        timed_out=response["timed_out"],
    )


def _to_text(chunk: bytes) -> str:
    return chunk.decode("utf-8", "surrogateescape")


def _to_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
