"""What a reader gave is right, wrong, missed or no answer."""

from typing import Any

import pytest

from toolspeak.lab.conformance import build_record, judge, load_records
from toolspeak.lab.reader_child import read_calls

TOOLS = [
    {
        "name": "set_light",
        "parameters": {
            "type": "object",
            "properties": {"on": {"type": "boolean"}, "level": {"type": "integer"}, "room": {"type": "string"}},
            "required": ["on"],
        },
    },
    {"name": "now", "parameters": {"type": "object", "properties": {}}},
]
LIGHT = {"name": "set_light", "arguments": {"on": True, "level": 3}}
NOW = {"name": "now", "arguments": {}}


def verdict(expected: list[Any], got: Any) -> str:
    return judge(build_record({"id": "r", "tools": TOOLS, "text": "", "expected": expected}), got).judgement


@pytest.mark.parametrize(
    ("expected", "got", "judgement"),
    [
        ([], [], "right"),
        ([LIGHT, NOW], [LIGHT, NOW], "right"),
        ([LIGHT, NOW], [NOW], "missed"),
        ([LIGHT], [], "missed"),
        ([LIGHT, NOW], [NOW, LIGHT], "wrong"),
        ([LIGHT], [LIGHT, LIGHT], "wrong"),
        ([], [NOW], "wrong"),
        ([LIGHT], [{"name": "set_light", "arguments": {"on": True, "level": 4}}], "wrong"),
        ([LIGHT], [{"name": "set_light", "arguments": {"on": True}}], "wrong"),
    ],
)
def test_order_and_number_of_calls_count(expected: list[Any], got: list[Any], judgement: str):
    assert verdict(expected, got) == judgement


@pytest.mark.parametrize(
    "arguments",
    [{"on": "true", "level": "3"}, {"on": True, "level": 3.0}, '{"on": true, "level": 3}', {"level": 3, "on": True}],
)
def test_arguments_are_compared_in_the_form_of_the_schema(arguments: Any):
    assert verdict([LIGHT], [{"name": "set_light", "arguments": arguments}]) == "right"


def test_true_is_not_one():
    meant = {"name": "now", "arguments": {"x": 1}}
    assert verdict([meant], [{"name": "now", "arguments": {"x": True}}]) == "wrong"


@pytest.mark.parametrize(
    "call",
    [
        {"name": "sunset", "arguments": {}},
        {"name": "set_light", "arguments": {"level": 3}},
        {"name": "set_light", "arguments": {"on": True, "level": "high"}},
        {"name": "set_light", "arguments": "on"},
    ],
)
def test_a_call_that_any_program_refuses_does_not_run(call: dict[str, Any]):
    assert verdict([LIGHT], [call]) == "missed"
    assert verdict([], [call]) == "right"


@pytest.mark.parametrize("got", [None, {}, "now", ["now"], [{"name": 3, "arguments": {}}], [{"name": "now"}], [[NOW]]])
def test_what_is_no_list_of_calls_is_an_error(got: Any):
    assert verdict([NOW], got) == "error"


def test_references_are_compared_by_place_and_path():
    meant = [NOW, {"name": "set_light", "arguments": {"on": True, "room": {"$call": 0, "path": ["room"]}}}]
    assert verdict(meant, meant) == "right"
    other = {"name": "set_light", "arguments": {"on": True, "room": {"$call": 0}}}
    assert verdict(meant, [NOW, other]) == "wrong"


def test_our_reader_is_wrong_nowhere():
    results = [judge(record, read_calls(record.text, record.tools)) for record in load_records()]
    assert [each.record.id for each in results if each.judgement in ("wrong", "error")] == []
