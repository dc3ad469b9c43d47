"""Removes keys from what is recorded, wherever a server or a model repeats them.

A key is searched for in texts as it is and as JSON escapes it. In a streamed answer it may be spread over several
events, so texts of all events are joined for the search: first those of the same part of the message, since parts may
be interleaved, then all of the same field, since servers do not always say to which part a text belongs.

JSON that is nested too deeply to be followed is searched as the text that it is.
"""

import hashlib
import json
import os
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeAlias, cast

from toolspeak.models.endpoint import MIN_KEY_CHARS, Endpoint

PLACEHOLDER = "<key>"
"""What is written in the place of a key."""

KEY_VARIABLE = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
"""How the names of environment variables end that hold a key."""

PLAIN_HEADERS = frozenset({"content-type", "accept", "user-agent", "anthropic-version", "anthropic-beta"})
"""Headers whose values are no secrets."""

BASE64 = re.compile(r"(data:[\w.+/-]*;base64,)?([A-Za-z0-9+/_-]+={0,2})")

MAX_NESTING = 100
"""Levels of JSON that are followed."""

INDEX_KEYS = ("index", "output_index", "content_index", "item_id")
"""Fields of an event that say to which part of a message its text belongs."""


def collect_secrets(endpoint: Endpoint, environ: Mapping[str, str] | None = None) -> set[str]:
    """Return the strings that must not be written: keys of the endpoint, and of the environment."""
    headers = [value for name, value in endpoint.headers.items() if name.lower() not in PLAIN_HEADERS]
    words: set[str] = set()
    for value in (endpoint.key or "", *headers):
        split = re.split(r"[\s;,]+", value)
        # The value, its words, and what follows `name=` in them, as in a cookie.
        words |= {value.strip(), *value.split(), *split, *(word.partition("=")[2].strip('"') for word in split)}
    return {word for word in words if len(word) >= MIN_KEY_CHARS} | collect_environment_secrets(environ)


def collect_environment_secrets(environ: Mapping[str, str] | None = None) -> set[str]:
    """Return the values of the environment variables that hold a key, by their names."""
    environ = os.environ if environ is None else environ
    values = {value.strip() for name, value in environ.items() if KEY_VARIABLE.search(name)}
    return {value for value in values if len(value) >= 8}  # a shorter one is not treated as a key


_Place: TypeAlias = tuple[object, ...]
"""Where a text stands in JSON: the names of fields, and for events and items of lists, which one it is."""


class _Edit(NamedTuple):
    start: int
    end: int
    new: str  # what stands there instead


class Redactor:
    """Removes secrets from texts, JSON data and the chunks of a response."""

    def __init__(self, secrets: Iterable[str]) -> None:
        forms = sorted({form for secret in secrets for form in _list_forms(secret)}, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, forms))) if forms else None

    def redact(self, text: str) -> str:
        """Return a text without secrets."""
        return text if self._pattern is None else self._pattern.sub(PLACEHOLDER, text)

    def redact_body(self, body: bytes) -> Any:
        """Return the JSON of a request without secrets, and with a digest in the place of each attachment."""
        try:
            data: Any = json.loads(body)
        except RecursionError:
            data = None
        if data is None or _is_deep(data):
            return self.redact(body.decode())
        return _map_strings(data, lambda _, text: self.redact(_shorten_attachment(text)), change_key=self.redact)

    def redact_chunks(self, chunks: Sequence[tuple[float, bytes]]) -> tuple[tuple[float, bytes], ...]:
        """Return the chunks of a response without secrets. What replaces one stands in the chunk where it began."""
        if self._pattern is None:
            return tuple(chunks)
        # In Latin-1 a character is a byte, so that places in the text are places in the body.
        body = b"".join(chunk for _, chunk in chunks).decode("latin-1")
        edits = _find_edits(body, self._pattern)
        parts = _cut(body, edits, [len(chunk) for _, chunk in chunks])
        cut = [(seconds, part.encode("latin-1")) for (seconds, _), part in zip(chunks, parts, strict=True)]
        return tuple((seconds, chunk) for seconds, chunk in cut if chunk)  # an empty chunk would be the end


def _list_forms(secret: str) -> set[str]:
    """Return a secret as it is, as UTF-8 bytes, in JSON, and in JSON within JSON."""
    escaped = json.dumps(secret)[1:-1]
    forms = {secret, secret.encode().decode("latin-1"), escaped, json.dumps(escaped)[1:-1]}
    return forms | {form.replace("/", "\\/") for form in forms}


def _find_edits(body: str, pattern: re.Pattern[str]) -> list[_Edit]:
    """Return what has to change in a body: JSON whose texts hold a secret, and secrets in other text."""
    payloads = list(_find_payloads(body))
    cleaned = _redact_together([data for _, _, data in payloads], pattern, lambda place: place)
    # By the name of the field; of a text in a list, by that of the list.
    cleaned = _redact_together(
        cleaned, pattern, lambda place: next((key for key in reversed(place) if isinstance(key, str)), "")
    )
    edits = [
        _Edit(start, end, pattern.sub(PLACEHOLDER, json.dumps(new)))
        for (start, end, data), new in zip(payloads, cleaned, strict=True)
        if new != data
    ]
    ends = [edit.end for edit in edits]  # in order, as the payloads are
    for found in pattern.finditer(body):
        following = bisect_right(ends, found.start())
        if following == len(ends) or edits[following].start >= found.end():
            edits.append(_Edit(*found.span(), PLACEHOLDER))
    return sorted(edits)


def _redact_together(events: list[Any], pattern: re.Pattern[str], find_group: Callable[[_Place], object]) -> list[Any]:
    """Return the JSON of events without the secrets in their texts, those of one group joined."""
    texts: dict[object, list[str]] = {}

    def collect(place: _Place, text: str) -> str:
        texts.setdefault(find_group(place), []).append(text)
        return text

    for data in events:
        _map_strings(data, collect, _find_part(data))
    replaced = {group: iter(_replace_in_joined(parts, pattern)) for group, parts in texts.items()}
    return [_map_strings(data, lambda place, _: next(replaced[find_group(place)]), _find_part(data)) for data in events]


def _shorten_attachment(text: str) -> str:
    """Return a digest in the place of base64, which from a certain length on is the content of an attachment."""
    if len(text) < 1_000 or not (found := BASE64.fullmatch(text)):
        return text
    return f"{found[1] or ''}sha256:{hashlib.sha256(found[2].encode()).hexdigest()}"


def _find_payloads(body: str) -> Iterator[tuple[int, int, Any]]:
    """Yield the JSON of a body with its place: the whole body, or the data of each event."""
    stripped = body.strip()
    if stripped.startswith(("{", "[")) and (data := _read_json(stripped)) is not None:
        start = body.index(stripped)
        yield start, start + len(stripped), data
        return
    for line in re.finditer(r"^data:[ ]?(.*?)\r?$", body, re.MULTILINE):
        if (data := _read_json(line[1])) is not None:
            yield *line.span(1), data


def _read_json(text: str) -> Any:
    try:
        data: Any = json.loads(text.encode("latin-1"))
    except (ValueError, RecursionError):
        return None
    return cast("Any", data) if isinstance(data, dict | list) and not _is_deep(data) else None


def _is_deep(data: Any) -> bool:
    """Whether JSON is nested more deeply than it is followed."""
    level: list[Any] = [data]
    for _ in range(MAX_NESTING):
        if not level:
            return False
        objects = [cast("dict[str, Any]", value).values() for value in level if isinstance(value, dict)]
        level = [*chain(*objects), *chain(*(cast("list[Any]", value) for value in level if isinstance(value, list)))]
    return bool(level)


def _find_part(data: Any) -> _Place:
    """Return what an event or an item of a list says about the part of the message that it belongs to."""
    if not isinstance(data, dict):
        return ()
    fields = cast("dict[str, Any]", data)
    part = tuple((key, str(fields[key])) for key in INDEX_KEYS if key in fields)
    return (part,) if part else ()


def _map_strings(
    value: Any,
    change: Callable[[_Place, str], str],
    place: _Place = (),
    *,
    change_key: Callable[[str], str] = str,
) -> Any:
    """Return JSON data with each text replaced by what `change` returns for its place and the text."""
    if isinstance(value, str):
        return change(place, value)
    if isinstance(value, dict):
        return {
            change_key(key): _map_strings(each, change, (*place, key), change_key=change_key)
            for key, each in cast("dict[str, Any]", value).items()
        }
    if isinstance(value, list):
        items = enumerate(cast("list[Any]", value))
        return [
            _map_strings(each, change, (*place, *(_find_part(each) or (number,))), change_key=change_key)
            for number, each in items
        ]
    return value


def _replace_in_joined(parts: list[str], pattern: re.Pattern[str]) -> list[str]:
    """Return texts without the secrets that they hold when they are joined."""
    joined = "".join(parts)
    edits = [_Edit(*found.span(), PLACEHOLDER) for found in pattern.finditer(joined)]
    return _cut(joined, edits, list(map(len, parts)))


def _cut(text: str, edits: Sequence[_Edit], sizes: Sequence[int]) -> list[str]:
    """Return a text in parts of these sizes, each with the edits that begin in it, in one pass over both."""
    parts: list[str] = []
    end = number = 0
    for size in sizes:
        start, end = end, end + size
        pieces: list[str] = []
        place = start
        while number < len(edits) and edits[number].start < end:
            edit = edits[number]
            pieces.append(text[place : max(edit.start, place)])
            pieces.append(edit.new if edit.start >= start else "")
            place = max(place, min(edit.end, end))
            if edit.end > end:
                break
            number += 1
        parts.append("".join((*pieces, text[place:end])))
    return parts
