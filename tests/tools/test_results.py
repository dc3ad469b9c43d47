"""Whatever a tool returns becomes JSON, by its type where it has one, and never an exception."""

import itertools
import json
import math
import re
from collections import UserDict, UserList, deque
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from tests.cases import RUNS_ALL

from toolspeak.tools import output_text, output_value, results
from toolspeak.tools.results import MAX_GENERATOR_ITEMS


class Colour(Enum):
    RED = "red"


class Address(BaseModel):
    street: str
    since: date | None = None


@dataclass
class Point:
    x: int
    tags: set[str]


class Pair(NamedTuple):
    left: int
    right: str


class Plain:
    def __repr__(self) -> str:
        return "Plain()"


class Hostile:
    def __repr__(self) -> str:
        raise RuntimeError("no")

    __str__ = __repr__


class Liar:
    def __repr__(self) -> Any:
        return 3


class Quitter:
    def __repr__(self) -> str:
        raise RecursionError


class HostileDict(dict):
    def items(self) -> Any:
        raise RuntimeError("no items")


class HostileList(list):
    def __iter__(self) -> Any:
        raise RuntimeError("no items")


class HostileModel(BaseModel):
    x: Any

    def __repr__(self) -> str:
        raise RuntimeError("no")


@dataclass
class HostileData:
    x: Any

    def __repr__(self) -> str:
        raise RuntimeError("no")


def countdown():
    yield 2
    yield 1


def breaking():
    yield 1
    raise ValueError("in the middle")


def forever():
    yield from itertools.count()


def read(result: Any) -> Any:
    """The JSON a result becomes, checked to be JSON in text as well."""
    value = output_value(result)
    assert json.loads(json.dumps(value, allow_nan=False)) == value
    text = output_text(value)
    assert text == value if isinstance(value, str) else json.loads(text) == value
    return value


@pytest.mark.parametrize(
    "text",
    ["", "plain", "3", "null", '{"a": 1}', '"quoted"', "line\nbreak", "snow ☃", "\ud800", "NaN", "\x00"],
)
def test_a_string_stays_as_it_is(text: str):
    assert output_value(text) == text
    assert output_text(output_value(text)) == text


@pytest.mark.parametrize(
    ("result", "value"),
    [
        (None, None),
        (True, True),
        (3, 3),
        (1.5, 1.5),
        ([1, "a", None], [1, "a", None]),
        ((1, 2), [1, 2]),
        ({"a": {"b": 1}}, {"a": {"b": 1}}),
        ({1: "one"}, {"1": "one"}),
        ({3}, [3]),
        (frozenset({3}), [3]),
        (deque([1, 2]), [1, 2]),
        (range(3), "range(0, 3)"),
        (deque([math.nan, 1]), ["NaN", 1]),
        (Colour.RED, "red"),
        ({Colour.RED: Colour.RED}, {"red": "red"}),
        (date(2024, 1, 2), "2024-01-02"),
        (datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC), "2024-01-02T03:04:05Z"),
        (timedelta(seconds=90), "PT1M30S"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Decimal("1.10"), "1.10"),
        (Path("/etc"), "/etc"),
        (b"text", "text"),
        (Address(street="A", since=date(2024, 1, 2)), {"street": "A", "since": "2024-01-02"}),
        ([Address(street="A")], [{"street": "A", "since": None}]),
        (Point(1, {"a"}), {"x": 1, "tags": ["a"]}),
        (Pair(1, "b"), [1, "b"]),
        (countdown(), [2, 1]),
        (map(str, [1, 2]), ["1", "2"]),
        ({"items": countdown()}, {"items": [2, 1]}),
        (ValueError("bad"), "ValueError: bad"),
        ({"error": KeyError("k")}, {"error": "KeyError: 'k'"}),
        (Plain(), "Plain()"),
        ([Plain(), 1], ["Plain()", 1]),
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        ([1.0, -math.inf], [1.0, "-Infinity"]),
        (b"\xff\xfe\x00", "<3 bytes of binary data>"),
        ({"image": b"\xff", "name": "a"}, {"image": "<1 byte of binary data>", "name": "a"}),
        (bytearray(b"\xff"), "<1 byte of binary data>"),
    ],
)
def test_everything_else_becomes_json_by_its_type(result: Any, value: Any):
    assert read(result) == value


def test_a_result_is_shown_as_json_text():
    assert output_text(output_value({"name": "Ærø", "since": date(2024, 1, 2)})) == (
        '{"name": "Ærø", "since": "2024-01-02"}'
    )


def cycle(kind: str) -> Any:
    if kind == "list":
        around: Any = [1]
        around.append(around)
    elif kind == "dict":
        around = {"a": 1}
        around["self"] = around
    elif kind == "model":
        around = HostileModel(x=None)
        around.x = around
    else:
        around = HostileData(x=None)
        around.x = around
    return around


@pytest.mark.parametrize("kind", ["list", "dict", "model", "dataclass"])
def test_a_cycle_ends(kind: str):
    assert len(output_text(read(cycle(kind)))) < 10_000


def test_a_cycle_keeps_what_can_be_shown():
    assert read(cycle("dict")) == {"a": 1, "self": "… (refers to itself)"}
    assert read(cycle("list")) == [1, "… (refers to itself)"]


@pytest.mark.parametrize(
    "result",
    [
        forever(),
        itertools.count(),
        itertools.repeat("again"),
        {"inside": forever()},
        [forever()],
        {"inside": itertools.count()},
        [1, (itertools.cycle([1, 2]),)],
        Point(1, forever()),
        HostileModel(x=forever()),
    ],
    ids=lambda result: type(result).__name__,
)
def test_a_list_without_end_is_cut(result: Any):
    text = output_text(read(result))
    assert f"cut after {MAX_GENERATOR_ITEMS} items" in text
    assert len(text) < 50 * MAX_GENERATOR_ITEMS


def test_a_generator_that_breaks_keeps_what_it_gave_and_says_why_it_ended():
    assert read(breaking()) == [1, "… (ValueError: in the middle)"]
    assert read({"rows": breaking()}) == {"rows": [1, "… (ValueError: in the middle)"]}


def deep(levels: int, wrap: Any) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = wrap(value)
    return value


@pytest.mark.parametrize(
    "result",
    [
        Hostile(),
        Liar(),
        Quitter(),
        [1, Hostile()],
        {"good": 1, "bad": Hostile()},
        {Hostile(): 1},
        {Plain(): 1, (1, 2): 2, None: 3, b"\xff": 4},
        HostileDict(a=1),
        HostileList([1]),
        HostileModel(x=Hostile()),
        HostileData(x=b"\xff"),
        HostileData(x=Hostile()),
        {Hostile()},
        deep(10_000, lambda value: [value]),
        deep(10_000, lambda value: {"a": value}),
        deep(10_000, lambda value: (value, b"\xff")),
        10**5000,
        -(10**5000),
        [10**5000],
        {"n": 10**5000},
        {10**5000: 1},
        Address,
        Address.model_validate,
        len,
        object(),
        open,
        memoryview(b"abc"),
        memoryview(b"\xff"),
        complex(1, 2),
        Ellipsis,
        NotImplemented,
        {"a": "\ud800", "b": b"\xff"},
        ["\ud800"],
        Address.model_construct(street=Hostile()),
        Hostile,
        ExceptionGroup("many", [ValueError("a")]),
        {"x": float("nan"), "y": b"\xff", "z": [float("inf")]},
    ],
    ids=lambda result: type(result).__name__,
)
def test_nothing_a_tool_returns_can_raise(result: Any):
    assert len(output_text(read(result))) < 10_000


def test_one_bad_piece_does_not_spoil_the_rest():
    value = read({"good": date(2024, 1, 2), "bad": Hostile(), "list": [1.5, b"\xff"]})
    assert value == {
        "good": "2024-01-02",
        "bad": "<Hostile, which cannot be shown>",
        "list": [1.5, "<1 byte of binary data>"],
    }


def test_a_huge_integer_is_shown_with_all_that_matters():
    assert read(10**4000) == 10**4000
    assert "5001 digits" in read(10**5000)


RESULTS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.binary()
    | st.complex_numbers()
    | st.decimals()
    | st.datetimes()
    | st.timedeltas()
    | st.uuids()
    | st.builds(Plain)
    | st.builds(Hostile)
    | st.builds(Address, street=st.text())
    | st.functions()
    | st.just(Colour.RED),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(st.characters()) | st.integers() | st.binary() | st.none(), inner, max_size=3)
        | st.builds(HostileModel, x=inner)
        | st.builds(HostileData, x=inner)
        | st.builds(iter, st.lists(inner, max_size=3))
    ),
    max_leaves=6,
)


@given(RESULTS)
def test_any_result_becomes_json(result: Any):
    read(result)


def doubled(depth: int, pair: Any, leaf: Any = "lol") -> Any:
    """A value whose text doubles with each level, as the aliases of a YAML document make one."""
    value = leaf
    for _ in range(depth):
        value = pair(value)
    return value


DOUBLINGS = {
    "list": lambda x: [x, x],
    "tuple": lambda x: (x, x),
    "dict": lambda x: {"a": x, "b": x},
    "deque": lambda x: deque([x, x]),
    "model": lambda x: HostileModel(x=[x, x]),
    "dataclass": lambda x: HostileData(x=(x, x)),
    "namespace": lambda x: SimpleNamespace(a=x, b=x),
    "mapping": lambda x: MappingProxyType({"a": x, "b": x}),
    "user list": lambda x: UserList([x, x]),
    "user dict": lambda x: UserDict({"a": x, "b": x}),
    "view": lambda x: [{"a": x, "b": x}.values()],
    "error": lambda x: ValueError(x, x),
    "with bytes": lambda x: [x, x, b"\xff"],
    "with what cannot be looked at": lambda x: [x, x, HostileList([1])],
}


@pytest.mark.parametrize("pair", DOUBLINGS.values(), ids=DOUBLINGS)
def test_repetition_without_bounds_is_measured_and_not_written(pair: Any):
    for depth in (25, 45, 900):
        shown = read(doubled(depth, pair))
        assert re.fullmatch(r"… \(too large to show: ([\d,]+|more than 10\^\d+) (values|characters)\)", shown)


@pytest.mark.parametrize("pair", DOUBLINGS.values(), ids=DOUBLINGS)
def test_repetition_in_bounds_is_written(pair: Any):
    assert "too large" not in output_text(read(doubled(5, pair)))


def test_the_size_of_a_result_is_what_it_is_when_written_out():
    assert read(doubled(20, lambda x: [x, x])) == "… (too large to show: 2,097,151 values)"
    assert read([["a" * 1_000_000] * 60]) == "… (too large to show: 60,000,000 characters)"
    assert read(["a" * 1_000_000] * 3) == ["a" * 1_000_000] * 3


def test_a_cycle_does_not_hide_repetition():
    leaf: list[Any] = []
    value = doubled(40, lambda x: [x, x], leaf)
    leaf.append(value)
    assert "too large to show" in read(value)


def test_the_items_of_a_generator_are_measured_before_they_are_written(monkeypatch: pytest.MonkeyPatch):
    huge = doubled(40, lambda x: [x, x])
    assert read(iter([1, huge, 2])) == [1, "… (cut after 1 items)"]
    count = 488
    if not RUNS_ALL:
        monkeypatch.setattr(results, "MAX_GENERATOR_NODES", 50_000)
        count = 24
    assert read({"rows": itertools.repeat(doubled(10, lambda x: [x, x]))})["rows"][-1] == f"… (cut after {count} items)"
    assert read(iter([["a" * 1_000_000] * 60])) == ["… (cut after 0 items)"]


def test_a_large_result_without_repetition_is_written():
    rows = [[number, str(number)] for number in range(100_000 if RUNS_ALL else 20_000)]
    assert output_value(rows) == rows
