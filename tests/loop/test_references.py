"""References: which calls they need, and what they come to."""

from typing import Any

import pytest

from toolspeak.loop import BrokenReference, find_references, resolve_references
from toolspeak.values.messages import Concat, Ref, ToolResult

RESULTS = {
    "w": ToolResult(call_id="w", output={"temp": 3, "days": [1, 2], "name": "Oslo", "none": None}),
    "t": ToolResult(call_id="t", output="a text"),
    "bad": ToolResult(call_id="bad", error="it broke"),
}


def at(*path: str | int, call: str = "w") -> Ref:
    return Ref(call=call, path=path)


@pytest.mark.parametrize(
    ("arguments", "expected", "calls"),
    [
        ({"x": 1}, {"x": 1}, ()),
        ({"x": at()}, {"x": RESULTS["w"].output}, ("w",)),
        ({"x": at("temp")}, {"x": 3}, ("w",)),
        ({"x": at("days", -1)}, {"x": 2}, ("w",)),
        ({"x": at("days", "length")}, {"x": 2}, ("w",)),
        ({"x": at("none")}, {"x": None}, ("w",)),
        ({"x": at(0, call="t")}, {"x": "a"}, ("t",)),
        ({"x": [at("temp"), {"y": at(call="t")}, at("temp")]}, {"x": [3, {"y": "a text"}, 3]}, ("w", "t")),
        ({"x": Concat(parts=("It is ", at("temp"), " in ", at("name")))}, {"x": "It is 3 in Oslo"}, ("w",)),
        ({"x": Concat(parts=(at("days"),))}, {"x": "[1, 2]"}, ("w",)),
    ],
)
def test_what_they_come_to(arguments: dict[str, Any], expected: Any, calls: tuple[str, ...]):
    assert resolve_references(arguments, RESULTS) == expected
    assert find_references(arguments) == calls


@pytest.mark.parametrize(
    ("ref", "told"),
    [
        (at(call="x"), "a call that was not made"),
        (at(call="bad"), "which failed: it broke"),
        (at("wind"), "has no 'wind'; it has: "),
        (at("days", 5), "has no item 5; the number of its items is 2"),
        (at("temp", "x"), "which has no 'x'"),
        (at("days", "x"), "which has no 'x'"),
        (at("name", "x"), "which has no 'x'"),
    ],
)
def test_what_leads_nowhere_is_told(ref: Ref, told: str):
    with pytest.raises(BrokenReference, match=told):
        resolve_references({"x": [ref]}, RESULTS)
