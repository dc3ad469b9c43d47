"""What a model is shown of a result that is too long, and what it can read of the rest."""

import json
from contextlib import suppress
from dataclasses import replace
from functools import partial, reduce
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import each_case
from tests.growth import count_calls
from toolspeak.loop.big_results import Query, describe_value, read_part, read_value, show_part
from toolspeak.values.errors import ToolError

ITEMS = [
    {"id": number, "name": f"user {number}", "city": ("Oslo", "Rome")[number % 2], "price": number * 1.5}
    for number in range(5000)
]
NESTED = {"meta": {"total": 5000, "a key": None}, "items": ITEMS, "log": "one\ntwo\n" * 2000}
TABLE = "id,name,unit price\n" + "".join(f"{number},n{number},{number * 2}\n" for number in range(5000))
QUOTED = 'name,note\n"a, b","two\nlines"\nc,d\n' + "e,f\n" * 100
JSON_LINES = "".join(json.dumps(item) + "\n" for item in ITEMS)
LOG = "".join(f"2024-01-{number % 28 + 1:02} 12:00:00,123 INFO step {number}\n" for number in range(5000))
DEEP = reduce(lambda inner, _: [inner], range(3000), 0)
LINE = "x" * 50_000 + "needle" + "y" * 50_000


@each_case(
    "output, described",
    {
        "list": (ITEMS, "a list of 5,000 objects with id, name, city, price"),
        "numbers": ([1, 2, 3], "a list of 3 items"),
        "object": (
            NESTED,
            "an object of 3 keys: meta (object of 2 keys: total (number), a key (null)), "
            "items (list of 5,000 objects with id, name, city, price), log (text of 4,000 lines)",
        ),
        "JSON in a text": (json.dumps(ITEMS, indent=1), "a list of 5,000 objects with id, name, city, price"),
        "lines of JSON": (JSON_LINES, "5,000 lines of JSON, objects with id, name, city, price"),
        "table": (TABLE, "a table of 5,000 rows with the columns id, name, unit price"),
        "table with tabs": (TABLE.replace(",", "\t"), "a table of 5,000 rows with the columns id, name, unit price"),
        "table with quotes": (QUOTED, "a table of about 103 rows with the columns name, note"),
        "log": (LOG, "a text of 5,000 lines"),
        "one line": (LINE, "a text of 100,006 characters"),
        "broken JSON": (json.dumps(ITEMS)[:-1], "a text of 337,038 characters"),
        "many keys": ([{f"k{n}": n for n in range(30)}], None),
    },
)
def test_a_result_is_described_by_its_keys_and_counts(output: Any, described: str | None):
    found = describe_value(read_value(output))
    assert found.endswith("k19 and 10 more") if described is None else found == described


def test_the_beginning_and_the_end_are_shown_by_whole_lines():
    shown = show_part(LOG, LOG, 4000).split("\n")
    assert shown[0] == LOG.split("\n")[0]
    assert shown[-1] == LOG.split("\n")[-2]
    (gap,) = [place for place, line in enumerate(shown) if line.startswith("… (left out here: ")]
    first, last = shown[gap - 1].split()[-1], shown[gap + 1].split()[-1]
    assert f", lines {int(first) + 2:,} to {int(last) + 1:,}. The whole is a text of 5,000 lines.)" in shown[gap]
    assert len("\n".join(shown)) < 1200


def test_a_very_long_text_is_described_without_reading_all_of_it():
    numbers = f"[{'1, ' * 6_000_000}1]"
    assert 'characters that begins as JSON; path="$" says what it holds.)' in show_part(numbers, numbers, 4000)
    assert read_part(numbers, Query(path="$"), 9).startswith("($ is a list of 6,000,001 items)\n[1, 1, 1,")
    table = "a,b\n" + "1,2\n" * 5_000_000
    assert "The whole is a table of 5,000,000 rows with the columns a, b.)" in show_part(table, table, 4000)
    lines = "[1]\n" * 5_000_000
    assert "The whole is 5,000,000 lines of JSON.)" in show_part(lines, lines, 4000)


@each_case(
    "output, query, found",
    {
        "a path": (NESTED, Query(path="$.items[3].name"), "user 3"),
        "without $": (NESTED, Query(path="items[-1].id"), "4999"),
        "a key in quotes": (NESTED, Query(path='$.meta["a key"]'), "null"),
        "into JSON in a text": (json.dumps(NESTED), Query(path="$.items[4999].name"), "user 4999"),
        "a slice": (NESTED, Query(path="$.items[1:3].name"), "$.items[1].name: user 1\n$.items[2].name: user 2"),
        "all": (NESTED, Query(path="$.items[*].id", head=2), "$.items[0].id: 0\n$.items[1].id: 1"),
        "a row": (TABLE, Query(path="$[4999]"), '{"id": "4999", "name": "n4999", "unit price": "9998"}'),
        "the last row": (TABLE, Query(path="$[-1].name"), "n4999"),
        "rows from the end": (TABLE, Query(path="$[-1:].name"), "$[4999].name: n4999"),
        "a cell with lines": (QUOTED, Query(path="$[0].note"), "two\nlines"),
        "a line of JSON": (JSON_LINES, Query(path="$[4999].name"), "user 4999"),
        "keys of an object": (NESTED, Query(path="$.meta", head=1), "$.meta.total: 5000"),
        "count": (NESTED, Query(path="$.items", count=True), "5000"),
        "count rows": (TABLE, Query(count=True), "5000"),
        "count lines": (LOG, Query(count=True), "5000"),
        "count matches": (LOG, Query(find="info STEP 499", count=True), "11"),
        "where": (ITEMS, Query(where="price > 10 and city = Oslo", count=True), "2496"),
        "where in quotes": (ITEMS, Query(where='city == "Oslo" AND name contains "4998"', count=True), "1"),
        "where not": (ITEMS, Query(where="city != 'Oslo' && id <= 3", count=True), "2"),
        "where of numbers in a table": (TABLE, Query(where='"unit price" >= 9990', count=True), "5"),
        "where of a line of JSON": (JSON_LINES, Query(where="city=Rome", count=True), "2500"),
        "where of plain items": ([3, 4, 5], Query(where="$ > 3"), "$[1]: 4\n$[2]: 5"),
        "where of large numbers": (
            [{"id": 2**60 + n} for n in range(9)],
            Query(where=f"id = {2**60 + 1}", count=True),
            "1",
        ),
        "where of a slice": ([{"a": [1, 2]}, {"a": []}], Query(where="a[*] = 1", count=True), "1"),
        "where of all": ([{"a": 1}], Query(where="[*] = 1", count=True), "1"),
        "where finds none": (ITEMS, Query(where="city = Paris"), "(nothing in it is like that)"),
        "head of lines": (LOG, Query(head=1), "line 1: 2024-01-01 12:00:00,123 INFO step 0"),
        "find a line": (LOG, Query(find="step 4999"), "line 5000: 2024-01-16 12:00:00,123 INFO step 4999"),
        "find a row": (TABLE, Query(find="N4999"), "line 5001: 4999,n4999,9998"),
        "find in JSON": (
            {"a": {"b": ITEMS}},
            Query(find="User 4999"),
            '$.a.b[4999]: {"id": 4999, "name": "user 4999", "city": "Rome", "price": 7498.5}',
        ),
        "find words apart": ([{"x": "red car"}, {"x": "car, red"}], Query(find="car red"), None),
        "find by a key": ({f"user_{n}": [n] for n in range(3000)}, Query(find="user_2999"), "$.user_2999: [2999]"),
        "find in a text in JSON": (NESTED, Query(path="$.log", find="two", head=1), "$.log, line 2: two"),
        "find nothing": (LOG, Query(find="nowhere"), "(nothing in it is like that)"),
        "find, then where": (ITEMS, Query(where="city = Rome", find="user 4999", count=True), "1"),
        "lines": (LOG, Query(lines="4999-6000"), "\n".join(LOG.split("\n")[4998:5000])),
        "a line": (TABLE, Query(lines="2"), "0,n0,0"),
        "lines of a text in JSON": (NESTED, Query(path="$.log", lines="3 to 4"), "one\ntwo"),
        "lines behind the end": (LOG, Query(lines="6000-6010"), "(it has 5,000 lines, so there is no line 6,000)"),
        "a range behind the end": (LINE, Query(start=10**9), None),
    },
)
def test_parts_are_read_by_a_query(output: Any, query: Query, found: str | None):
    part = read_part(output, query, 400)
    match found:
        case None if query.find:
            assert part.startswith("$[0]:")
            assert part.endswith('{"x": "car, red"}')
        case None:
            assert part == "(it has 100,006 characters, so there is nothing at 1,000,000,000)"
        case _:
            assert part == found


@each_case(
    "output, query, said",
    {
        "no path": (
            NESTED,
            Query(path="$$..["),
            "is no path: it cannot be read from '$..[' on. Write it as $.items[3].name",
        ),
        "no key": (NESTED, Query(path="$.nam"), "$ has no 'nam'; it has: meta, items, log"),
        "no item": (NESTED, Query(path="$.items[9999]"), "so there is none at 9999; the first is 0"),
        "no row": (TABLE, Query(path="$[9999]"), "a table of 5,000 rows"),
        "into a number": (NESTED, Query(path="$.meta.total.x"), "$.meta.total is a number, which has no 'x'"),
        "into a text": (LOG, Query(path="$.x"), "$ is a text of 5,000 lines, which has no 'x'"),
        "no condition": (ITEMS, Query(where="cheap ones"), "cannot be read at 'cheap ones'; write it as"),
        "no field": (ITEMS, Query(where="cost > 3"), "no item has all these fields; $[0] has: id, name, city, price"),
        "a condition on text": (
            LOG,
            Query(where="level = INFO"),
            "line 1 is a text of 35 characters; $ stands for an item itself",
        ),
        "no lines": (LOG, Query(lines="the first"), 'write it as lines="100-150"'),
        "lines from 0": (LOG, Query(lines="0-3"), "the first line is 1"),
        "lines of many": (NESTED, Query(path="$.items[*].name", lines="1-2"), "leads to several values"),
        "a very long path": (ITEMS, Query(path="$" + "[*]" * 2000), "a path has up to 50 steps"),
        "a deep value": (DEEP, Query(find="x"), "nested too deeply"),
        "very long words": (LOG, Query(find="x" * 2000), "find takes up to 1000 characters"),
    },
)
def test_what_is_wrong_with_a_query_is_said(output: Any, query: Query, said: str):
    with pytest.raises(ToolError) as caught:
        read_part(output, query, 400)
    assert said in str(caught.value)


@each_case(
    "output, query",
    {
        "a text": (LOG, Query()),
        "JSON": (NESTED, Query()),
        "a value": (NESTED, Query(path="$.items")),
        "items": (ITEMS, Query(where="price > 10")),
        "rows": (TABLE, Query(path="$[*]")),
        "matches": (LOG, Query(find="info")),
    },
)
def test_nothing_is_lost_between_the_pieces(output: Any, query: Query):
    pieces, start = list[str](), 0
    for _ in range(8):
        piece = read_part(output, replace(query, start=start), 500)
        body, _, note = piece.rpartition("\n… (")
        pieces.append(body.removeprefix("($.items is a list of 5,000 objects with id, name, city, price)\n"))
        start = int(note.rpartition("start=")[2].rstrip(")"))
        assert start == len("".join(pieces))
    assert read_part(output, query, 10**7).startswith("".join(pieces))


def test_a_needle_is_found_in_a_line_without_end():
    (place,) = read_part(LINE, Query(find="needle", head=1), 2000).split(": ")[:1]
    assert place == "line 1, characters from 40000 on"
    assert "xneedley" in read_part(LINE, Query(start=40000), 20_000)
    split = "x" * 19_998 + "needle" + "y" * 30_000  # over the end of a piece
    assert read_part(split, Query(find="needle", count=True), 100) == "1"


@each_case(
    "make, query",
    {
        "lines": (lambda size: "a b c\n" * size, Query(find="zz")),
        "one line": (lambda size: "a b c " * size, Query(find="zz")),
        "rows": (lambda size: "a,b\n" + "1,2\n" * size, Query(where="a = 3")),
        "items": (lambda size: [{"a": [1]}] * size, Query(find="zz")),
        "nested lists": (lambda size: [[[1] * 9] * 30] * (size // 270), Query(find="zz")),
        "quotes": (lambda size: 'a,b\n"' + "1,2\n" * size, Query(count=True)),
    },
)
def test_work_is_linear(make: Any, query: Query):
    small, large = (count_calls(partial(read_part, make(size), query, 400)) for size in (2_000, 8_000))
    assert large < 5 * small


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab .$", max_size=3), inner, max_size=4),
    max_leaves=12,
)
SAID = st.text("$.[]*:'\"ab01-=<> ,\n", max_size=9)


@given(
    VALUES | st.text('a,b\n\t"1{}[]:', max_size=60),
    st.builds(
        Query,
        path=st.one_of(st.just(""), st.just("$"), SAID),
        where=st.one_of(
            st.just(""), SAID, st.builds("{} {} {}".format, SAID, st.sampled_from("= != < contains".split()), SAID)
        ),
        find=st.text("ab1 ", max_size=3),
        lines=st.one_of(st.just(""), SAID, st.from_regex("[0-9]{1,3}-[0-9]{1,3}")),
        head=st.integers(),
        count=st.booleans(),
        start=st.integers(),
    ),
)
@settings(max_examples=80, deadline=None)
def test_every_query_gives_a_part_or_words(output: Any, query: Query):
    with suppress(ToolError):
        assert len(read_part(output, query, 50)) < 50 + 300
