"""Works out what follows from results, so that a small model reads it off instead of guessing it.

A model of a few billion parameters makes the right calls and then says that Paris, at 11.0 °C, is colder than Oslo, at
-3.5 °C. It copies well, though. So the results that one tool returned for several things, and lists of records, are
followed by their order, and by sums and means:

    Worked out:
    celsius: lowest Oslo (-3.5) < highest Paris (11.0); difference 14.5, sum 7.5, mean 3.75

Only what one turn of the user has brought is compared, and each line is written once: what was shown stays as it is
when the conversation goes on. Where units differ, nothing is worked out.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from itertools import groupby
from typing import Any, TypeAlias, cast

from toolspeak.values.messages import Result, Text, ToolCall

FIGURES_LABEL = "Worked out"
MAX_THINGS = 12  # that are compared
MAX_ORDERED = 5  # whose whole order is told; of more, the lowest and the highest are
MAX_LINES = 6  # after the results of a message
MAX_SUM_LINES = 2  # with sums for each kind of record
MAX_KINDS = 4  # of records
MAX_NAMES = 2  # of a record, where several of its fields tell it from the others
MAX_NAME_CHARS = 40
MAX_RESULT_CHARS = 6_000  # of a result that is looked into
MAX_BRACKETS = 100  # of one kind in it, so that no function here calls itself too often

Number: TypeAlias = int | Decimal
Fields: TypeAlias = dict[str, Any]

_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?Z?)?|(?:[01]\d|2[0-3]):[0-5]\d")
_IDENTIFIER = re.compile(
    r"(?:.*_)?(?:id|ID|nr|no|number|zip|phone|year|lat|lon|latitude|longitude)|.*(?:code|Code|Id|Nr|No|Number)"
)
_LEFT_BEHIND = frozenset({"total", "new", "remaining", "left"})  # words for what a call left, such as a basket's total
_UNIT = re.compile(r"(?:.*_)?(?:unit|units|currency)", re.IGNORECASE)
_NUMBER = re.compile(r"-?[\d.]{1,12}")  # a longer one is an id
_NUMBER_IN_TEXT = re.compile(r"(?<![\w.,-])-?\d{1,12}(?:\.\d{1,6})?(?![\w,]|\.\d)")


class Figures:
    """Works out lines from the results of one turn of the user, which arrive in one or several messages."""

    def __init__(self) -> None:
        self._found: dict[str, list[tuple[ToolCall, Any]]] = {}  # the results of each tool
        self._told: set[str] = set()

    def add(self, results: Sequence[tuple[ToolCall, Result]]) -> list[str]:
        """Take the results of a message; return the lines that are new."""
        lines: list[str] = []
        for call, result in results:
            text = "".join(part.text for part in result.content if isinstance(part, Text))
            if result.is_error or len(text) > MAX_RESULT_CHARS:
                continue
            value = _read(text)
            self._found.setdefault(call.name, []).append((call, value))
            lines += [line for records in _find_lists(value) for line in _compare_records(records)]
        for name in dict.fromkeys(call.name for call, _ in results):
            lines += _compare_calls(self._found.get(name, ()))
        new = [line for line in dict.fromkeys(lines) if line not in self._told][:MAX_LINES]
        self._told.update(new)
        return new


def _read(text: str) -> Any:
    """Return the JSON that a result is, with its numbers as they are written; if it is none or deep, the text."""
    try:
        return json.loads(text, parse_float=Decimal) if max(map(text.count, "[{")) <= MAX_BRACKETS else text
    except ValueError:
        return text


def _find_lists(value: Any) -> Iterator[list[Fields]]:
    """Yield the lists of records in a result."""
    if isinstance(value, list):
        items = cast("list[Any]", value)
        if 2 <= len(items) <= MAX_THINGS and all(isinstance(item, dict) for item in items):
            yield [_flatten(item) for item in items]
    elif isinstance(value, dict):
        for each in cast("Fields", value).values():
            yield from _find_lists(each)


def _flatten(value: Mapping[str, Any]) -> Fields:
    """Return the fields of a record and of the objects in it by their own names; of two with one name, the first."""
    fields: Fields = {}
    for key, each in value.items():
        inner = _flatten(cast("Fields", each)) if isinstance(each, dict) else {key: each}
        fields |= {name: found for name, found in inner.items() if name not in fields}
    return fields


def _compare_records(records: Sequence[Fields]) -> Iterator[str]:
    """Yield lines about a list of records: their order by each field, and sums for each kind of record."""
    shared = [key for key in records[0] if all(key in record for record in records)]
    columns = {key: [record[key] for record in records] for key in shared}
    texts = {key: values for key, values in columns.items() if all(map(_is_word, values))}
    naming = [values for values in texts.values() if len(set(values)) == len(values)][:MAX_NAMES]
    if not naming or _has_other_units(columns):
        return
    names = list(map("/".join, zip(*naming, strict=True)))
    for key, values in columns.items():
        if len(set(map(str, values))) > 1:
            yield from _compare(key, names, values)
    sums = [
        _add_up(key, kind, kinds, values)
        for kind, kinds in sorted(texts.items(), key=lambda item: len(set(item[1])))
        for key, values in columns.items()
        if 1 < len(set(kinds)) <= min(MAX_KINDS, len(kinds) - 1)
        if _are_numbers(values) and not _IDENTIFIER.fullmatch(key)
    ]
    yield from sums[:MAX_SUM_LINES]


def _compare_calls(found: Sequence[tuple[ToolCall, Any]]) -> Iterator[str]:
    """Yield lines about results of one tool whose calls differ in one argument, which names the things."""
    if not 2 <= len(found) <= MAX_THINGS:
        return
    first = found[0][0].arguments
    differing = [key for key in first if any(call.arguments.get(key) != first[key] for call, _ in found)]
    if len(differing) != 1 or any(call.arguments.keys() != first.keys() for call, _ in found):
        return
    names = [call.arguments[differing[0]] for call, _ in found]
    if not all(map(_is_word, names)) or len(set(names)) < len(names):
        return
    values = [value for _, value in found]
    if all(isinstance(value, dict) for value in values):
        records = [_flatten(value) for value in values]
        shared = [key for key in records[0] if all(key in each for each in records)]
        told = [key for key in shared if _LEFT_BEHIND.isdisjoint(key.lower().split("_"))]
        columns = {key: [each[key] for each in records] for key in told}
    elif _are_numbers(values):
        columns = {"result": values}
    else:
        columns = _read_sentences(names, values)
    if not _has_other_units(columns):
        for key, each in columns.items():
            yield from _compare(key, names, each)


def _read_sentences(names: Sequence[str], values: Sequence[Any]) -> dict[str, list[Any]]:
    """Return the numbers of texts that say the same of several things, such as `Oslo: -3.5 °C`."""
    forms: set[str] = set()
    numbers: list[Any] = []
    for name, text in zip(names, values, strict=True):
        if not isinstance(text, str):
            return {}
        rest = text.replace(name, "")
        found = _NUMBER_IN_TEXT.findall(rest)
        forms.add(_NUMBER_IN_TEXT.sub("", rest))
        numbers += [Decimal(found[0]) if "." in found[0] else int(found[0])] if len(found) == 1 else []
    return {"result": numbers} if len(forms) == 1 and len(numbers) == len(names) else {}


def _compare(key: str, names: Sequence[str], values: Sequence[Any]) -> Iterator[str]:
    """Yield the line that has things in the order of their values, if they can be ordered."""
    if _IDENTIFIER.fullmatch(key) or not (_are_numbers(values) or _are_moments(values)):
        return
    ordered = sorted(zip(values, names, strict=True), key=lambda pair: pair[0])
    groups = [list(group) for _, group in groupby(ordered, key=lambda pair: pair[0])]
    line = f"{key}: {_chain(groups)}" if len(groups) > 1 or len(ordered) <= MAX_ORDERED else ""
    more = [f"difference {_subtract(ordered[1][0], ordered[0][0])}"] if len(names) == 2 else []
    if _are_numbers(values):
        more += [f"sum {sum(values)}", f"mean {_find_mean(values)}"]
    if line:
        yield f"{line}; {', '.join(more)}" if more else line


def _chain(groups: Sequence[Sequence[tuple[Any, str]]]) -> str:
    """Write things in their order, such as `lowest Oslo (-3.5) < highest Paris (11.0)`; a group has one value."""
    texts = [" = ".join(f"{name} ({value})" for value, name in group) for group in groups]
    if len(groups) > 1:
        lowest, highest = ("earliest", "latest") if isinstance(groups[0][0][0], str) else ("lowest", "highest")
        is_long = sum(map(len, groups)) > MAX_ORDERED
        between = ["…"] if is_long and len(groups) > 2 else texts[1:-1]
        texts = [f"{lowest} {texts[0]}", *between, f"{highest} {texts[-1]}"]
    return " < ".join(texts)


def _add_up(key: str, kind: str, kinds: Sequence[str], values: Sequence[Number]) -> str:
    """Return the line that has how many records of each kind there are, and the sums of a field of theirs."""
    sums: dict[str, list[Number]] = {}
    for name, value in zip(kinds, values, strict=True):
        sums.setdefault(name, []).append(value)
    return f"{key} by {kind}: " + ", ".join(f"{name} {sum(each)} ({len(each)})" for name, each in sums.items())


def _subtract(high: Any, low: Any) -> str:
    """Return the difference of two numbers, dates or times of a day, with its unit."""
    if not isinstance(high, str):
        return str(high - low)
    gap = _parse_moment(high) - _parse_moment(low)
    return f"{gap.days} days" if ":" not in high else f"{int(gap.total_seconds() // 60)} min"


def _parse_moment(text: str) -> datetime:
    return datetime.fromisoformat(text if "-" in text else f"2000-01-01T{text}")


def _find_mean(values: Sequence[Number]) -> str:
    places = max(2, *(-cast("int", Decimal(value).as_tuple().exponent) for value in values))
    mean = round(sum(map(Decimal, values), Decimal(0)) / len(values), places)
    return f"{mean.normalize():f}" if mean else "0"


def _are_numbers(values: Sequence[Any]) -> bool:
    return all(type(each) in (int, Decimal) and _NUMBER.fullmatch(str(each)) for each in values)


def _are_moments(values: Sequence[Any]) -> bool:
    """Whether values are dates, or times, all written in one way, so that they are ordered as texts."""
    if not all(isinstance(each, str) and _MOMENT.fullmatch(each) for each in values) or len(set(map(len, values))) > 1:
        return False
    try:
        return all(map(_parse_moment, values))
    except ValueError:  # there is no such day
        return False


def _is_word(value: Any) -> bool:
    is_name = isinstance(value, str) and 0 < len(value) <= MAX_NAME_CHARS and value.isprintable()
    return is_name and not _MOMENT.fullmatch(value)


def _has_other_units(columns: Mapping[str, Sequence[Any]]) -> bool:
    return any(_UNIT.fullmatch(key) and len(set(map(str, values))) > 1 for key, values in columns.items())
