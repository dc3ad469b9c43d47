"""Results that are too long to be shown whole: what a model is shown of them, and how it reads the rest.

A model is shown the beginning and the end of such a result, and what the whole is: the keys and counts of JSON, the
columns and rows of a table, the lines of a text. By `recall` it reads any part: a `Query` names it. A text that holds
JSON, a line of JSON in each line, or a table with a header is read as such, as well as by its lines.

What a query costs is linear in the result, and it makes no copy of a table: rows are read from the text one by one. The
texts of a query are compared and never used as patterns. What is wrong with a query is said in words for the model.
"""

import csv
import json
import operator
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple, TypeAlias, cast

from toolspeak.tools import output_text
from toolspeak.values.errors import ToolError
from toolspeak.values.frozen import frozen
from toolspeak.values.limits import CHARS_PER_TOKEN, Limits
from toolspeak.values.messages import Json

MAX_RESULT_TOKENS = 16_384
"""Tokens of a result that a model is shown whole, where neither its tool nor the run has another limit."""

MIN_RESULT_TOKENS = 1_024
"""The same for the smallest context: to take less away would not pay for the tool that returns it."""

MIN_RESULT_CHARS = MIN_RESULT_TOKENS * CHARS_PER_TOKEN

CONTEXT_SHARE = 4
"""A result may take this part of a context that is known: a quarter."""

SHOWN_SHARE = 4
"""Of a longer result, this part of the tokens that it may take is shown: a quarter. The rest can be recalled."""

MAX_PARSED_CHARS = 16_000_000
"""A text that is longer is not read as JSON to say what it holds: that would hold up the program. `recall` reads it."""

MAX_NAMED_KEYS, MAX_KEY_CHARS = 20, 40
"""How many keys of an object or columns of a table are named, and the characters of each."""

SAMPLED_ITEMS, SAMPLED_CHARS = 50, 200_000
"""Items of a list from which its keys are taken, and lines from which a table is known; characters that hold two lines
of JSON."""

SMALL_NODES = 200
"""A list or an object of that many values is found as a whole, and a larger one by what is in it."""

LONG_CHARS, SNIPPET_CHARS = 600, 200
"""A longer text that was found is shown by what stands on both sides of the first word."""

MAX_HEAD = 1_000_000_000
"""More items have no results."""

LINE_CHARS, MAX_FOUND_CHARS = 20_000, 1_000
"""A text without line ends is searched in pieces of that size, for words of at most that many characters."""


def find_shown_chars(limits: Limits, context: int | None) -> int:
    """Return how many characters of a result are shown whole; `context` is that of the model, where it is known."""
    tokens = limits.result_tokens
    if tokens is None:
        known = [each for each in (limits.context, context) if each is not None]
        tokens = max(min([MAX_RESULT_TOKENS, *(each // CONTEXT_SHARE for each in known)]), MIN_RESULT_TOKENS)
    return tokens * CHARS_PER_TOKEN


# What is shown


def show_part(output: Json, text: str, limit: int) -> str:
    """Return the beginning and the end of a result that may take `limit` characters, and what the whole is."""
    limit //= SHOWN_SHARE
    start = _find_line_end(text, limit * 3 // 4, limit // 8)
    end = len(text) - limit // 4
    end = max(_find_line_end(text, end + limit // 16, limit // 8), start)
    left_out = f"{end - start:,} of {len(text):,} characters"
    first = text.count("\n", 0, start) + 1
    if (last := first + text.count("\n", start, end)) > first:
        left_out += f", lines {first:,} to {last:,}"
    whole = describe_value(value := read_value(output, MAX_PARSED_CHARS))
    if isinstance(value, str) and len(value) > MAX_PARSED_CHARS and _begins_as_json(value):
        whole += ' that begins as JSON; path="$" says what it holds'
    head, tail = text[:start].removesuffix("\n"), text[end:].removesuffix("\n")
    return f"{head}\n… (left out here: {left_out}. The whole is {whole}.)\n{tail}"


def _find_line_end(text: str, place: int, reach: int) -> int:
    """Return the end of the last line that ends before a place and within reach, else the place."""
    found = text.rfind("\n", max(place - reach, 0), place)
    return place if found < 0 else found + 1


def describe_value(value: Any, depth: int = 0) -> str:
    """Describe what a value holds: its kind, how much of it there is, and the names of its parts."""
    if isinstance(value, Rows):
        return value.describe()
    if isinstance(value, dict):
        parts = cast("dict[str, Any]", value)
        if depth > 1:
            return f"object of {_count(len(parts), 'key')}"
        named = _join_names(parts, [describe_value(each, depth + 1) for each in islice(parts.values(), MAX_NAMED_KEYS)])
        return f"{'object' if depth else 'an object'} of {_count(len(parts), 'key')}: {named}"
    if isinstance(value, list):
        items = cast("list[Any]", value)
        sample = items[:SAMPLED_ITEMS]
        keys = _list_keys(sample)
        noun = "object" if sample and all(isinstance(each, dict) for each in sample) else "item"
        named = f" with {_join_names(keys)}" if keys and depth < 2 else ""
        return f"{'list' if depth else 'a list'} of {_count(len(items), noun)}{named}"
    if isinstance(value, str):
        lines = value.count("\n") + (not value.endswith("\n"))
        size = _count(lines, "line") if lines > 1 else _count(len(value), "character")
        return f"text of {size}" if depth else f"a text of {size}"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "number" if depth else "a number"
    return json.dumps(value)


def _list_keys(items: Iterable[Any]) -> dict[str, None]:
    objects = (cast("dict[str, Any]", each) for each in items if isinstance(each, dict))
    return dict.fromkeys(key for each in objects for key in each)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _join_names(keys: Iterable[str], kinds: Sequence[str] = ()) -> str:
    names = [key if len(key) <= MAX_KEY_CHARS else f"{key[:MAX_KEY_CHARS]}…" for key in keys]
    more = f" and {len(names) - MAX_NAMED_KEYS:,} more" if len(names) > MAX_NAMED_KEYS else ""
    shown = [f"{name} ({kind})" for name, kind in zip(names, kinds, strict=False)] if kinds else names[:MAX_NAMED_KEYS]
    return ", ".join(shown) + more


# What a text holds


class Rows:
    """The rows of a table, or the values of lines of JSON, read from the text whenever they are asked for."""

    def __init__(self, text: str, columns: Sequence[str] = (), delimiter: str = "") -> None:
        self._text, self._columns, self._delimiter = text, columns, delimiter

    def __iter__(self) -> Iterator[Any]:
        if not self._delimiter:
            return (_read_json(line) for _, _, line in list_lines(self._text) if line.strip())
        return self._read_table()

    def _read_table(self) -> Iterator[dict[str, str]]:
        columns = self._columns
        rows = csv.reader((f"{line}\n" for _, _, line in list_lines(self._text)), delimiter=self._delimiter)
        try:
            for row in islice(rows, 1, None):
                if len(row) > len(columns):
                    columns = [*columns, *(f"column_{number}" for number in range(len(columns) + 1, len(row) + 1))]
                if row:
                    yield dict(zip(columns, row, strict=False))
        except csv.Error as error:
            raise ToolError(f"line {rows.line_num} of the table cannot be read ({error}); read it by lines") from None

    def describe(self) -> str:
        """Describe the rows, without reading all of them."""
        lines = self._text.count("\n") + (not self._text.endswith("\n"))
        if not self._delimiter:
            keys = _list_keys(islice(self, SAMPLED_ITEMS))
            return f"{_count(lines, 'line')} of JSON" + (f", objects with {_join_names(keys)}" if keys else "")
        about = "about " if '"' in self._text else ""  # a cell in quotes may have lines
        return f"a table of {about}{_count(lines - 1, 'row')} with the columns {_join_names(self._columns)}"


def list_lines(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the lines of a text, each with its number, from 1, and the place of its first character."""
    start, number = 0, 1
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield number, start, text[start:end]
        start, number = end + 1, number + 1


def read_value(output: Json, max_chars: int | None = None) -> Any:
    """Return the value of a result: what a text holds as JSON or as a table; any other text as it is.

    A text of more than `max_chars` is not read as JSON. Lines of JSON and tables are read only when they are asked for.
    """
    if not isinstance(output, str):
        return output
    if not _begins_as_json(output):
        return _find_table(output) or output
    first, *others = output[:SAMPLED_CHARS].split("\n", 2)
    if others and isinstance(_read_json(first), dict | list) and isinstance(_read_json(others[0]), dict | list):
        return Rows(output)
    if max_chars is None or len(output) <= max_chars:
        try:
            return json.loads(output)
        except (ValueError, RecursionError):
            pass
    return output


def _begins_as_json(text: str) -> bool:
    return text[:1000].lstrip()[:1] in ("{", "[")


def _read_json(line: str) -> Any:
    """Return what a line holds as JSON; the line itself if it holds none."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return line


def _find_table(text: str) -> Rows | None:
    """Return the rows of a text whose first lines have the same number of cells, below names of columns."""
    lines = [line for _, _, line in islice(list_lines(text), SAMPLED_ITEMS) if len(line) <= LINE_CHARS]
    for delimiter in ",\t;|":
        try:
            rows = list(csv.reader((f"{line}\n" for line in lines), delimiter=delimiter))[:-1]  # the last may be cut
        except csv.Error:
            continue
        names = [name.strip() for name in rows[0]] if len(rows) > 1 else []
        is_header = len(names) > 1 and len({*names}) == len(names) and all(map(_is_column_name, names))
        if is_header and all(len(row) == len(names) for row in rows):
            return Rows(text, names, delimiter)
    return None


def _is_column_name(name: str) -> bool:
    return 0 < len(name) <= MAX_KEY_CHARS and not name[0].isdigit() and name[0] not in "{[<"


# What a model asks for


@frozen
class Query:
    """The part of a result that is wanted. What is named is applied in this order, and "" or 0 is none.

    Attributes:
        path: The place in JSON, or of a row.
        lines: Lines of the text at that place, such as `100-150`. Nothing else is applied to them.
        where: A condition on the items of the list at that place.
        find: Words that stand in the items, values or lines.
        head: The most items.
        count: Whether only their number is wanted.
        start: The character of all this to begin with.
    """

    path: str = ""
    lines: str = ""
    where: str = ""
    find: str = ""
    head: int = 0
    count: bool = False
    start: int = 0


class Item(NamedTuple):
    """A value in a result, the place where it is, and the key that it has there."""

    place: str
    value: Any
    key: str = ""


def read_part(output: Json, query: Query, size: int) -> str:
    """Return the part of a result that a query names, at most about `size` characters of it.

    Raises:
        ToolError: The result has no such part, or the query cannot be understood.
    """
    try:
        return _read_part(output, query, size)
    except RecursionError:
        raise ToolError("the result is nested too deeply for this; read it by start") from None


def _read_part(output: Json, query: Query, size: int) -> str:
    if len(query.find) > MAX_FOUND_CHARS:
        raise ToolError(f"find takes up to {MAX_FOUND_CHARS} characters")
    if query == Query(start=query.start):
        return cut_piece(output_text(output), query.start, size)
    if query.lines:
        text = output_text(_take_one(output, query.path) if query.path else output)
        return _read_lines(text, query.lines, size)
    steps, value = parse_path(query.path), read_value(output)
    is_one = not any(isinstance(step, slice) for step in steps)
    if isinstance(value, Rows) and query.find and not query.path and not query.where:
        value = output  # in its lines
    if is_one and not (query.where or query.find or query.head or query.count):
        place, found, _ = next(_follow(Item("$", value), steps))
        if not isinstance(found, Rows):
            text = output_text(found)
            shape = f"({place} is {describe_value(found)})\n" if len(text) > size else ""
            return shape + cut_piece(text, query.start, size)
    items = _choose(value, query, [query.find.casefold()] if query.find else [])
    if len(words := query.find.casefold().split()) > 1:
        first = next(items, None)
        items = _choose(value, query, words) if first is None else chain([first], items)
    if query.head > 0:
        items = islice(items, min(query.head, MAX_HEAD))
    return str(sum(1 for _ in items)) if query.count else _write_items(items, query.start, size)


def _choose(value: Any, query: Query, words: Sequence[str]) -> Iterator[Item]:
    """Yield the items that a query names, in which all words stand."""
    steps = parse_path(query.path)
    items = _follow(Item("$", value), steps)
    if not any(isinstance(step, slice) for step in steps):
        items = _list_items(next(items))
    if query.where:
        items = _filter(items, parse_where(query.where))
    return _find_words(items, words) if words else items


def cut_piece(text: str, start: int, size: int) -> str:
    """Return a piece of a text, and where the text goes on."""
    start = max(start, 0)
    end = start + size
    if start and start >= len(text):
        return f"(it has {len(text):,} characters, so there is nothing at {start:,})"
    note = f"\n… (characters {start:,} to {end:,} of {len(text):,}; go on with start={end})" if end < len(text) else ""
    return text[start:end] + note


def _write_items(items: Iterable[Item], start: int, size: int) -> str:
    """Write items one below the other, as far as there is room, and say how many there are."""
    texts: list[str] = []
    length = total = 0
    start = max(start, 0)
    for place, value, _ in items:
        total += 1
        if length <= start + size:
            texts.append(f"{place}: {output_text(value)}")
            length += len(texts[-1]) + 1
    if start >= length:
        return f"(there is nothing at {start:,}: {total:,} in all)" if total else "(nothing in it is like that)"
    note = f"\n… ({total:,} in all; go on with start={start + size})" if length > start + size else ""
    return "\n".join(texts)[start : start + size] + note


RANGE = re.compile(r"\s{0,9}(\d{1,12})\s{0,9}(?:(?:-|:|,|–|\.\.|to)\s{0,9}(\d{1,12}))?\s{0,9}")


def _read_lines(text: str, lines: str, size: int) -> str:
    named = RANGE.fullmatch(lines)
    first, last = (int(named[1]), int(named[2] or named[1])) if named else (0, 0)
    if not 0 < first <= last:
        raise ToolError(f'lines={lines!r} is no range of lines; write it as lines="100-150", the first line is 1')
    total, shown, length = text.count("\n") + (not text.endswith("\n")), list[str](), 0
    if first > total:
        return f"(it has {_count(total, 'line')}, so there is no line {first:,})"
    for number, start, line in islice(list_lines(text), first - 1, last):
        length += len(line) + 1
        if length > size:
            rest = f'lines="{number}-{last}"' if shown else f"start={start + size}, without lines"
            return "\n".join([*shown, *([] if shown else [line[:size]]), f"… (of {total:,} lines; go on with {rest})"])
        shown.append(line)
    return "\n".join(shown)


# Paths

Step: TypeAlias = str | int | slice

MAX_STEPS = 50

STEP = re.compile(
    r"""\.?([^\s.\[\]"'$*]++)|\[\s?(-?\d{1,12})\s?\]|\[\s?(-?\d{0,12})\s?:\s?(-?\d{0,12})\s?\]"""
    r"""|(\[\*\]|\.\*)|\[(?:"([^"]*+)"|'([^']*+)')\]"""
)


def parse_path(path: str) -> list[Step]:
    """Return the steps of a path such as `$.items[3].name`; `[2:5]` and `[*]` are slices."""
    steps: list[Step] = []
    text = path.strip()
    place = 1 if text[:1] in ("$", "@") else 0
    while place < len(text):
        found = STEP.match(text, place)
        if found is None:
            raise ToolError(
                f"path={path!r} is no path: it cannot be read from {text[place : place + 20]!r} on. Write it as "
                '$.items[3].name, $.items[10:20], $.items[*].name or $["a key"]'
            )
        key, index, first, last, _, *quoted = found.groups()
        if key is not None:
            steps.append(key)
        elif index is not None:
            steps.append(int(index))
        elif first is not None:
            steps.append(slice(int(first) if first else None, int(last) if last else None))
        else:
            text_key = next((each for each in quoted if each is not None), None)
            steps.append(slice(None) if text_key is None else text_key)
        place = found.end()
    if len(steps) > MAX_STEPS:
        raise ToolError(f"a path has up to {MAX_STEPS} steps")
    return steps


def _take_one(output: Json, path: str) -> Any:
    steps = parse_path(path)
    if any(isinstance(step, slice) for step in steps):
        raise ToolError(f"path={path!r} leads to several values; lines are those of one")
    return next(iter(_follow(Item("$", read_value(output)), steps))).value


def _follow(item: Item, steps: Sequence[Step], *, is_strict: bool = True) -> Iterator[Item]:
    """Yield the values to which steps lead. Behind a slice, items that lack a step are passed over."""
    for place, step in enumerate(steps):
        if isinstance(step, slice):
            for each in _slice_items(item, step):
                yield from _follow(each, steps[place + 1 :], is_strict=False)
            return
        try:
            item = _take_step(item, step)
        except ToolError:
            if is_strict:
                raise
            return
    yield item


def _take_step(item: Item, step: str | int) -> Item:
    place, value, _ = item
    if isinstance(value, dict):
        parts, key = cast("dict[str, Any]", value), str(step)
        if key in parts:
            return Item(_join_place(place, key), parts[key])
        raise ToolError(f"{place} has no {key!r}; it has: {_join_names(parts) or 'nothing'}")
    if isinstance(step, str) or not isinstance(value, list | Rows):
        raise ToolError(f"{place} is {describe_value(value)}, which has no {step!r}")
    if isinstance(value, list):
        items = cast("list[Any]", value)
        found = items[step : step + 1 or None] if -len(items) <= step else []
    else:
        found = list(islice(value, step, step + 1)) if step >= 0 else [*deque(value, maxlen=-step)][:1]
    if not found:
        raise ToolError(f"{place} is {describe_value(value)}, so there is none at {step}; the first is 0")
    return Item(f"{place}[{step}]", found[0])


def _slice_items(item: Item, part: slice) -> Iterator[Item]:
    if part == slice(None) or not isinstance(item.value, list | Rows):
        return _list_items(item)
    items = _list_items(item)
    if min(part.start or 0, part.stop or 0) >= 0:
        return islice(items, part.start, part.stop)
    return iter([*items][part])


def _list_items(item: Item) -> Iterator[Item]:
    """Yield the items of a list, the rows of a table, the values of an object, or the lines of a text."""
    place, value, _ = item
    if isinstance(value, list | Rows):
        yield from (Item(f"{place}[{number}]", each) for number, each in enumerate(cast("Iterable[Any]", value)))
    elif isinstance(value, dict):
        parts = cast("dict[str, Any]", value)
        yield from (Item(_join_place(place, key), each, key) for key, each in parts.items())
    elif isinstance(value, str):
        before = "" if place == "$" else f"{place}, "
        yield from (Item(f"{before}line {number}", line) for number, _, line in list_lines(value))
    else:
        yield item


def _join_place(place: str, key: str) -> str:
    found = STEP.fullmatch(key)
    return (
        f"{place}.{key}" if found is not None and found[1] == key else f"{place}[{json.dumps(key, ensure_ascii=False)}]"
    )


# Words


def _find_words(items: Iterable[Item], words: Sequence[str]) -> Iterator[Item]:
    """Yield the items that contain all words, without regard to case; of a large one, the smallest parts that do."""
    for item in items:
        place, value, key = item
        if isinstance(value, str) and len(value) > 2 * LINE_CHARS:
            yield from _find_words(_list_items(item) if "\n" in value else _list_pieces(item, words), words)
        elif isinstance(value, dict | list) and not _is_small(value):
            if key and _has_words(key, words):
                yield Item(place, describe_value(value))
            yield from _find_words(_list_items(item), words)
        elif _has_words(f"{key} {(text := output_text(value))}", words):
            yield Item(place, _shorten(text, words))


def _list_pieces(item: Item, words: Sequence[str]) -> Iterator[Item]:
    """Yield the pieces of a long line, which overlap so that no word stands between two of them."""
    size = LINE_CHARS + max(map(len, words)) - 1
    for start in range(0, len(item.value), LINE_CHARS):
        piece = item.value[start : start + size]
        yield Item(f"{item.place}, characters from {start} on", piece)


def _has_words(text: str, words: Sequence[str]) -> bool:
    folded = text.casefold()
    for word in words:  # noqa: SIM110 (asked for every line: a generator would cost more)
        if word not in folded:
            return False
    return True


def _shorten(text: str, words: Sequence[str]) -> str:
    if len(text) <= LONG_CHARS:
        return text
    found = max(text.casefold().find(words[0]), 0)
    start, end = max(found - SNIPPET_CHARS, 0), found + SNIPPET_CHARS
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"


def _is_small(value: Any) -> bool:
    waiting, left = [value], SMALL_NODES
    while waiting:
        part = waiting.pop()
        left -= 1
        if isinstance(part, dict | list):
            left -= len(cast("list[Any]", part))
            if left < 0:
                return False
            waiting += cast("list[Any]", part.values() if isinstance(part, dict) else part)
    return True


# Conditions

CLAUSE = re.compile(
    r"""(?:"([^"]*+)"|'([^']*+)'|`([^`]*+)`|([^\s=!<>"'`]++))\s*+(==?|!=|<=?|>=?|contains\b)\s*+(\S.*)""", re.IGNORECASE
)

WHERE_FORM = 'write it as where="price > 10 and city = Oslo"; there are =, !=, <, <=, >, >= and contains'


COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Clause(NamedTuple):
    steps: list[Step]
    sign: str
    wanted: Any


def parse_where(where: str) -> list[Clause]:
    """Return the clauses of a condition, all of which must hold."""
    return [_parse_clause(part.strip(), where) for part in _split_clauses(where)]


def _split_clauses(where: str) -> Iterator[str]:
    """Yield the parts of a condition between `and`s that are not in quotes."""
    quote, start, place = "", 0, 0
    while place < len(where):
        char = where[place]
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'`" and (not place or not where[place - 1].isalnum()):
            quote = char
        elif (joint := where[place : place + 5].casefold()) == " and " or joint[:4] == " && ":
            yield where[start:place]
            place = start = place + (5 if joint == " and " else 4)
            continue
        place += 1
    yield where[start:]


def _parse_clause(text: str, where: str) -> Clause:
    found = CLAUSE.fullmatch(text)
    if found is None:
        raise ToolError(f"where={where!r} cannot be read at {text[:40]!r}; {WHERE_FORM}")
    *quoted, name, sign, wanted = found.groups()
    key = next((each for each in quoted if each is not None), None)
    wanted = wanted.strip()
    is_quoted = len(wanted) > 1 and wanted[0] == wanted[-1] and wanted[0] in "\"'"
    wanted = wanted[1:-1] if is_quoted else _read_json(wanted)
    return Clause([key] if key is not None else parse_path(name), sign.casefold().replace("==", "="), wanted)


_MISSING = object()


def _filter(items: Iterable[Item], clauses: Sequence[Clause]) -> Iterator[Item]:
    first, is_known = None, False
    for item in items:
        first = first or item
        is_known = is_known or all(_find_field(item, clause.steps) is not _MISSING for clause in clauses)
        if _meets(item, clauses):
            yield item
    if first is not None and not is_known:
        names = _join_names(_list_keys([first.value]))
        has = f"has: {names}" if names else f"is {describe_value(first.value)}; $ stands for an item itself"
        raise ToolError(f"where: no item has all these fields; {first.place} {has}")


def _meets(item: Item, clauses: Sequence[Clause]) -> bool:
    for clause in clauses:  # noqa: SIM110 (asked for every row: a generator would cost more)
        if not _holds(_find_field(item, clause.steps), clause):
            return False
    return True


def _find_field(item: Item, steps: Sequence[Step]) -> Any:
    """Return the field of an item to which steps lead; `_MISSING` if it has none."""
    if len(steps) == 1 and isinstance(item.value, dict) and isinstance(key := steps[0], str):  # most are
        return cast("dict[str, Any]", item.value).get(key, _MISSING)
    found = next(_follow(item, steps, is_strict=False), None)
    return _MISSING if found is None else found.value


def _read_number(value: Any) -> Any:
    if isinstance(value, int | float):
        return value
    for kind in (int, float):
        try:
            return kind(value)
        except (TypeError, ValueError, OverflowError):
            pass
    return None


def _holds(value: Any, clause: Clause) -> bool:
    _, name, wanted = clause
    if value is _MISSING:
        return name == "!="
    if name == "contains":
        return output_text(wanted).casefold() in output_text(value).casefold()
    if isinstance(wanted, int | float) and not isinstance(wanted, bool):
        one: Any = _read_number(value)
        other: Any = wanted
        if one is None:
            return name == "!="
    else:
        one, other = output_text(value), output_text(wanted)
    return COMPARISONS[name](one, other)
