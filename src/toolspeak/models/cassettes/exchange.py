"""`Exchange`: one request and its response, with the times of its chunks, as a line of JSON.

The bytes of a body are written as text. Bytes that are no UTF-8, as where a chunk ends within a character, become
surrogates, so that every chunk is read back as it was.

Requests are compared in a canonical form, in which what differs from one run to the next is replaced or left out:

1. Ids of calls and messages, and UUIDs in texts, are numbered in the order in which they first stand in the request.
2. A date of today (at the time of the request), in the usual forms and with a time of day, is `<today>`. Other dates
   are a part of the question.
3. Fields about caches and accounts are left out, and those of the adapter of an embedded model, which belongs to it
   as its weights do.

The file holds the request as it was, without keys, so that the form may change without a new recording.
"""

import difflib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import date, datetime, timedelta
from functools import lru_cache
from os.path import commonprefix
from typing import Any, TypeAlias, cast

from toolspeak.values.errors import UsageError
from toolspeak.values.frozen import frozen
from toolspeak.values.messages import Json

FORMAT = 1
"""The number of the format that is written, and the highest that can be read."""

ID_KEYS = frozenset({"id", "tool_call_id", "tool_use_id", "call_id", "item_id", "response_id", "previous_response_id"})

ARGUMENT_KEYS = frozenset({"input", "args", "arguments", "parameters", "input_schema", "schema"})
"""Fields that hold the user's own objects, in which an `id` is no id of the API."""

VOLATILE_FIELDS = frozenset(
    {
        *("prompt_cache_key", "prompt_cache_retention", "prompt_cache_options", "cache_prompt"),
        *("safety_identifier", "user", "metadata", "lora", "id_slot"),
    }
)
"""Fields of a request that are no part of the question."""

UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE)

API_ID = re.compile(r"\b(?:call|toolu|msg|resp|chatcmpl|req|fc|rs)[_-](?=[A-Za-z]*\d)[A-Za-z0-9]{8,}(?:_\d+)?\b")
"""The ids of APIs, where they stand in a text. Without a digit it would be the name of something."""

TIME_OF_DAY = r"(?:[T ,]{1,2}(?:at )?\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?: ?(?:[AaPp][Mm]|Z|UTC|[+-]\d{2}:?\d{2}))*)?"

DATE_FORMATS = (
    *("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%A, %B %d, %Y", "%A, %d %B %Y", "%A %d %B %Y"),
    *("%B %d, %Y", "%d %B %Y", "%b %d, %Y", "%d %b %Y"),
)

MAX_DIFF_LINES = 24
MAX_DIFF_CHARS = 160
"""The most characters of a line that a difference shows."""


@frozen
class RecordedFailure:
    """Why a request got no response."""

    error: str  # the name of its class in `toolspeak.values.errors`
    problem: str  # its text, without the name and address of the endpoint
    can_retry: bool = True


@frozen
class Exchange:
    """One request and its response. Seconds are counted from the request on."""

    at: datetime  # when the request was sent
    path: str  # of the request, behind the base address
    body: Json  # of the request, without keys and attachments
    status: int = 0
    headers: tuple[tuple[str, str], ...] = ()  # those of the response that have an effect
    head_seconds: float = 0.0
    chunks: tuple[tuple[float, bytes], ...] = ()  # of the response, each with the seconds to its arrival
    ending: str = "end"  # of the body; or "closed" if whoever read it stopped, or how the connection broke
    timed_out: bool = False  # whether that error was a timeout
    failure: RecordedFailure | None = None  # why there is no response


@frozen
class RecordedModel:
    """What is known of a recorded model without its endpoint."""

    name: str
    dialect: str  # in which it was asked
    weights: str | None = None  # the name of its weights file, if it is embedded
    context: int | None = None  # the tokens of a request and its answer, if its server said so or it is embedded
    reads_figures: bool = False  # whether it is shown what is worked out from results


TapeEntry: TypeAlias = Exchange | RecordedModel


def dump_entry(entry: TapeEntry) -> str:
    """Write an entry as one line, with its line break."""
    if isinstance(entry, RecordedModel):
        data: dict[str, Any] = {"kind": "model", **asdict(entry)}
        if entry.context is None:
            del data["context"]
        if not entry.reads_figures:
            del data["reads_figures"]
    else:
        data = {"kind": "exchange", "at": entry.at.isoformat(), "request": {"path": entry.path, "body": entry.body}}
        if entry.failure is not None:
            data["failure"] = asdict(entry.failure)
        else:
            data["response"] = {
                "status": entry.status,
                "headers": dict(entry.headers),
                "head_seconds": round(entry.head_seconds, 6),
                "chunks": [
                    [round(seconds, 6), chunk.decode("utf-8", "surrogateescape")] for seconds, chunk in entry.chunks
                ],
                "ending": entry.ending,
                "timed_out": entry.timed_out,
            }
    return json.dumps({"v": FORMAT, **data}) + "\n"


def load_entry(line: str) -> TapeEntry:
    """Read an entry from its line. Raises `UsageError` if the line is of a newer format, or is no entry."""
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
            name=data["name"],
            dialect=data["dialect"],
            weights=data.get("weights"),
            context=data.get("context"),
            reads_figures=data.get("reads_figures", False),
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
        chunks=tuple((seconds, text.encode("utf-8", "surrogateescape")) for seconds, text in response["chunks"]),
        ending=response["ending"],
        timed_out=response["timed_out"],
    )


def canonicalize(path: str, body: Any, at: datetime) -> str:
    """Return a request that was sent `at` a time in the form in which requests are compared, as indented JSON."""
    if isinstance(body, dict):
        fields = cast("dict[str, Any]", body).items()
        body = {key: value for key, value in fields if key not in VOLATILE_FIELDS}
    canonical = _Canonicalizer(at).convert(body)
    return json.dumps({"path": path, "body": canonical}, indent=1, sort_keys=True, ensure_ascii=False)


class _Canonicalizer:
    """Converts one request, and numbers its ids."""

    def __init__(self, at: datetime) -> None:
        self._numbers: dict[str, int] = {}
        self._today = _date_pattern(at.date())
        self._years = {str((at + timedelta(days=offset)).year) for offset in (-1, 0, 1)}

    def convert(self, value: Any, key: str = "", *, is_own: bool = False) -> Any:
        """Convert the value of a field; `is_own` if it belongs to an object of the user, whose names mean nothing."""
        if isinstance(value, dict):
            is_own = is_own or key in ARGUMENT_KEYS
            pairs = sorted(cast("dict[str, Any]", value).items())
            kept = pairs if is_own else [pair for pair in pairs if pair[0] != "cache_control"]
            return {name: self.convert(each, name, is_own=is_own) for name, each in kept}
        if isinstance(value, list):
            return [self.convert(each, is_own=is_own) for each in cast("list[Any]", value)]
        if not isinstance(value, str) or (key == "name" and not is_own):
            return value
        return self._number(value) if key in ID_KEYS and not is_own else self._convert_text(value)

    def _convert_text(self, text: str) -> str:
        if any(year in text for year in self._years):  # most texts have no date, and the pattern is slow
            text = self._today.sub("<today>", text)
        for pattern in (UUID, API_ID) if "-" in text or "_" in text else ():
            text = pattern.sub(lambda found: self._number(found[0]), text)
        return text

    def _number(self, identifier: str) -> str:
        return f"<id {self._numbers.setdefault(identifier, len(self._numbers) + 1)}>"


@lru_cache(maxsize=64)
def _date_pattern(today: date) -> re.Pattern[str]:
    """Return the pattern of today's date; a day more or less, since the date may be that of another time zone."""
    days = [today + timedelta(days=offset) for offset in (-1, 0, 1)]
    written = {day.strftime(form) for day in days for form in DATE_FORMATS}
    written |= {re.sub(r"\b0(\d\b)", r"\1", text) for text in written if not text[:4].isdigit()}
    dates = "|".join(re.escape(text) for text in sorted(written, key=len, reverse=True))
    return re.compile(rf"(?<![\w.-])(?:{dates}){TIME_OF_DAY}(?![\w-])")


def find_nearest(sought: str, known: Sequence[str]) -> int | None:
    """Return the index of the text that shares most lines with `sought`; None if there is none."""
    lines = set(sought.split("\n"))
    shares = [len(lines & set(text.split("\n"))) / max(len(lines), text.count("\n") + 1) for text in known]
    return max(range(len(known)), key=shares.__getitem__, default=None)


def describe_difference(recorded: str, sent: str, *, names: tuple[str, str] = ("recorded", "sent")) -> str:
    """Return a short unified diff of two canonical texts."""
    # Indented JSON in lines, and its texts where they have line breaks.
    old, new = (text.replace("\\n", "\\n\n").split("\n") for text in (recorded, sent))
    lines = list(difflib.unified_diff(old, new, *names, n=1, lineterm=""))
    shown = list(_shorten_lines(lines[:MAX_DIFF_LINES]))
    if len(lines) > MAX_DIFF_LINES:
        shown.append(f"… (lines left out: {len(lines) - MAX_DIFF_LINES})")
    return "\n".join(shown)


def _shorten_lines(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a diff. Of a long line, the part around the first difference to its counterpart is shown."""
    for number, line in enumerate(lines):
        others = lines[max(number - 1, 0) : number] if line[:1] == "+" else lines[number + 1 : number + 2]
        prefixes = (commonprefix((line[1:], other[1:])) for other in others)  # noqa: RUF071 (characters are meant)
        start = max(map(len, prefixes), default=0)
        skipped = max(start - MAX_DIFF_CHARS // 2, 0) if len(line) > MAX_DIFF_CHARS else 0
        text = ("…" if skipped else "") + line[1 + skipped :]
        yield line[:1] + (text if len(text) <= MAX_DIFF_CHARS else f"{text[: MAX_DIFF_CHARS - 1]}…")
