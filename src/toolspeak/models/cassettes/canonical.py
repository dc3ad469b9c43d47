"""The form in which requests are compared: what differs from one run to the next is replaced or left out.

1. Ids of calls and messages, and UUIDs in texts, are numbered in the order in which they first stand in the request.
2. A date of today (at the time of the request), in the usual forms and with a time of day, is `<today>`. Other dates
   are a part of the question.
3. Fields about caches and accounts are left out, and the adapter of an embedded model, which belongs to it as its
   weights do.
"""

import difflib
import json
import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from functools import lru_cache
from itertools import takewhile
from typing import Any, cast

ID_KEYS = frozenset({"id", "tool_call_id", "tool_use_id", "call_id", "item_id", "response_id", "previous_response_id"})

ARGUMENT_KEYS = frozenset({"input", "args", "arguments", "parameters", "input_schema", "schema"})
"""Fields that hold the user's own objects, in which an `id` is no id of the API."""

VOLATILE_FIELDS = frozenset(
    {
        *("prompt_cache_key", "prompt_cache_retention", "prompt_cache_options", "cache_prompt"),
        *("safety_identifier", "user", "metadata", "lora"),
    }
)
"""Fields of a request that are no part of the question."""

UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE)

API_ID = re.compile(r"\b(?:call|toolu|msg|resp|chatcmpl|req|fc|rs)[_-](?=[A-Za-z]*\d)[A-Za-z0-9]{8,}(?:_\d+)?\b")
"""The ids of APIs, where they stand in a text. Without a digit it would be the name of something."""

TIME_OF_DAY = r"(?:[T ,]{1,2}(?:at )?\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?: ?(?:[AaPp][Mm]|Z|UTC|[+-]\d{2}:?\d{2}))*)?"

DATE_FORMATS = (
    "%Y-%m-%d",
    "%Y/%m/%d",
    "%d.%m.%Y",
    "%A, %B %d, %Y",
    "%A, %d %B %Y",
    "%A %d %B %Y",
    "%B %d, %Y",
    "%d %B %Y",
    "%b %d, %Y",
    "%d %b %Y",
)

MAX_DIFF_LINES = 24
MAX_DIFF_CHARS = 160
"""The most characters of a line that a difference shows."""


def canonicalize(path: str, body: Any, at: datetime) -> str:
    """Return a request in the form in which requests are compared, as indented JSON.

    Args:
        path: The path of the request.
        body: Its body.
        at: When it is or was sent.
    """
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
    lines = list(difflib.unified_diff(_split(recorded), _split(sent), *names, n=1, lineterm=""))
    shown = list(_shorten_lines(lines[:MAX_DIFF_LINES]))
    if len(lines) > MAX_DIFF_LINES:
        shown.append(f"… and {len(lines) - MAX_DIFF_LINES} lines more")
    return "\n".join(shown)


def _split(text: str) -> list[str]:
    """Split indented JSON into lines, and its texts where they have line breaks."""
    return text.replace("\\n", "\\n\n").split("\n")


def _shorten_lines(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a diff. Of a long line, the part around the first difference to its counterpart is shown."""
    for number, line in enumerate(lines):
        others = lines[max(number - 1, 0) : number] if line[:1] == "+" else lines[number + 1 : number + 2]
        start = max((_common_chars(line[1:], other[1:]) for other in others), default=0)
        skipped = max(start - MAX_DIFF_CHARS // 2, 0) if len(line) > MAX_DIFF_CHARS else 0
        text = ("…" if skipped else "") + line[1 + skipped :]
        yield line[:1] + (text if len(text) <= MAX_DIFF_CHARS else f"{text[: MAX_DIFF_CHARS - 1]}…")


def _common_chars(one: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
