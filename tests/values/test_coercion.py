"""Coercion by a JSON schema alone, with no tool and no Python type in sight."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolspeak.values.coercion import coerce, coerce_arguments, decode_text
from toolspeak.values.messages import Concat, Ref
from toolspeak.values.spec import ENUM_NAMES

ROOT = {
    "type": "object",
    "properties": {},
    "$defs": {
        "Count": {"type": "integer"},
        "Node": {
            "type": "object",
            "properties": {
                "value": {"$ref": "#/$defs/Count"},
                "next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]},
            },
        },
        "a/b~c": {"type": "boolean"},
        "Loop": {"$ref": "#/$defs/Loop"},
    },
}
OBJECT = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "s": {"type": "string"}, "free": {}, "o": {"type": ["integer", "null"]}},
    "required": ["s"],
}


@pytest.mark.parametrize(
    ("schema", "value", "coerced"),
    [
        # references
        ({"$ref": "#/$defs/Count"}, "3", 3),
        ({"$ref": "#/$defs/a~1b~0c"}, "yes", True),
        (
            {"$ref": "#/$defs/Node"},
            '{"value": "1", "next": "{\\"value\\": \\"2\\"}"}',
            {"value": 1, "next": {"value": 2}},
        ),
        ({"$ref": "#/$defs/Gone"}, "3", "3"),
        ({"$ref": "#/$defs/Loop"}, "3", "3"),
        ({"$ref": "elsewhere.json"}, "3", "3"),
        ({"type": "array", "items": {"$ref": "#/$defs/Count"}}, ["1", 2.0], [1, 2]),
        # unions, whichever way they are said
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "3", 3),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "null", None),
        ({"oneOf": [{"type": "integer"}, {"type": "boolean"}]}, "yes", True),
        ({"type": ["integer", "null"]}, "3", 3),
        ({"type": ["string", "integer"]}, "3", "3"),
        ({"type": ["array", "null"], "items": {"type": "integer"}}, "[1]", [1]),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, "3", "3"),
        ({"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]}, "[1]", [1]),
        ({"anyOf": [{"type": "integer"}, {"type": "boolean"}]}, "perhaps", "perhaps"),
        ({"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]}, '["1", "x"]', [1, "x"]),
        ({"allOf": [{"type": "integer"}]}, "3", 3),
        # arrays
        ({"type": "array"}, "[1, 'a']", [1, "a"]),
        ({"type": "array"}, 3, [3]),
        ({"type": "array", "items": {"type": "string"}}, "[1]", ["1"]),
        ({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]}, ["1", "2"], [1, "2"]),
        (
            {"type": "array", "prefixItems": [{"type": "integer"}], "items": {"type": "boolean"}},
            '["1", "yes", "no"]',
            [1, True, False],
        ),
        ({"type": "array", "prefixItems": [{"type": "integer"}]}, "1", "1"),
        ({"type": "array", "items": {"type": "integer"}}, "x", "x"),
        ({"type": "array", "items": {"type": "integer"}}, None, None),
        ({"type": "array", "items": {"type": "integer"}}, (1, "2"), [1, 2]),
        ({"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}, ["[1]"], [[1]]),
        # objects
        (OBJECT, '{"n": "1", "s": "2", "free": "3"}', {"n": 1, "s": "2", "free": "3"}),
        (OBJECT, {"n": None, "s": None, "free": None, "o": None}, {"s": None, "free": None, "o": None}),
        (OBJECT, {"unknown": "1"}, {"unknown": "1"}),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, {"a": "1"}, {"a": 1}),
        ({"type": "object", "additionalProperties": False}, {"a": "1"}, {"a": "1"}),
        ({"type": "object"}, "[1]", "[1]"),
        # listed values
        ({"enum": ["a", "b"]}, "A", "a"),
        ({"enum": [1, 2]}, "2", 2),
        ({"enum": [1, True, "1"]}, True, True),
        ({"enum": [1, 2.5]}, 1.0, 1),
        ({"enum": [0, 1]}, True, True),
        ({"enum": ["a", None]}, None, None),
        ({"const": "km"}, "KM", "km"),
        ({"enum": ["c"], ENUM_NAMES: {"CELSIUS": "c"}}, "CELSIUS", "c"),
        ({"enum": ["c"], ENUM_NAMES: {"CELSIUS": "c"}}, "celsius", "c"),
        ({"enum": ["dark blue"]}, "DARK_BLUE", "dark blue"),
        ({"enum": ["A", "a"]}, "a", "a"),
        ({"enum": [[1], {"a": 1}]}, [1], [1]),
        # scalars
        ({"type": "integer"}, "007", 7),
        ({"type": "integer"}, "+7", 7),
        ({"type": "integer"}, "1e400", "1e400"),
        ({"type": "integer"}, "0x10", "0x10"),
        ({"type": "integer"}, "٣", "٣"),
        ({"type": "integer"}, True, True),
        ({"type": "integer"}, float("inf"), float("inf")),
        ({"type": "number"}, "1.5e3", 1500.0),
        ({"type": "number"}, "1", 1),
        ({"type": "number"}, "e5", "e5"),
        ({"type": "number"}, ".", "."),
        ({"type": "number"}, "nan", "nan"),
        ({"type": "boolean"}, " TRUE ", True),
        ({"type": "boolean"}, 1, True),
        ({"type": "boolean"}, 1.0, 1.0),
        ({"type": "null"}, "None", None),
        ({"type": "null"}, 0, 0),
        ({"type": "string"}, 3, "3"),
        ({"type": "string"}, 3.5, 3.5),
        ({"type": "string"}, True, True),
        ({"type": "string", "format": "date"}, 20240102, 20240102),
        # nothing to go by
        ({}, "3", "3"),
        (True, "3", "3"),
        (False, "3", "3"),
        ({"type": "mystery"}, "3", "3"),
    ],
)
def test_a_value_takes_the_form_its_schema_asks_for(schema: Any, value: Any, coerced: Any):
    result = coerce(value, schema, ROOT)
    assert result == coerced
    assert type(result) is type(coerced)


@pytest.mark.parametrize("reference", [Ref(call="c", path=("a",)), Concat(parts=("a", Ref(call="c")))])
@pytest.mark.parametrize("kind", ["integer", "string", "array", "object", "boolean"])
def test_references_are_left_alone(reference: Any, kind: str):
    assert coerce(reference, {"type": kind}, ROOT) is reference
    assert coerce({"a": reference}, {"type": "object", "additionalProperties": {"type": kind}}, ROOT) == {
        "a": reference
    }


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[1, 2]", [1, 2]),
        (' {"a": null} ', {"a": None}),
        ("{'a': None, 'b': (True, 1.5)}", {"a": None, "b": [True, 1.5]}),
        ("{1: 'one'}", {"1": "one"}),
        ('"text"', "text"),
        ("['it\\'s']", ["it's"]),
        ("[1, 2", "[1, 2"),
        ("[NaN]", "[NaN]"),
        ("{1, 2}", "{1, 2}"),
        ("[b'x']", "[b'x']"),
        ("[__import__('os')]", "[__import__('os')]"),
        ("[1 for x in y]", "[1 for x in y]"),
        ("['\\d']", "['\\d']"),
        ("[1or 2]", "[1or 2]"),
        ("3", "3"),
        ("null", "null"),
        ("", ""),
        ("['a'" + ", 'a'" * 30_000 + "]", "['a'" + ", 'a'" * 30_000 + "]"),
    ],
)
def test_only_arrays_objects_and_strings_are_opened(text: str, value: Any):
    assert decode_text(text) == value


@pytest.mark.parametrize(
    ("arguments", "coerced"),
    [
        (None, {}),
        ("", {}),
        ([], {}),
        ("{}", {}),
        ({"s": "x", "n": "1"}, {"s": "x", "n": 1}),
        ('{"s": "x", "n": "1"}', {"s": "x", "n": 1}),
        ('"{\\"s\\": \\"x\\"}"', {"s": "x"}),
        ([{"s": "x"}], {"s": "x"}),
        ({"arguments": {"s": "x"}}, {"s": "x"}),
        ({"args": {"n": "2"}}, {"n": 2}),
        ({"arguments": None}, {}),
        ({"arguments": [1]}, {"arguments": [1]}),
        ({"arguments": {"s": "x"}, "n": "1"}, {"arguments": {"s": "x"}, "n": 1}),
        ({"other": {"s": "x"}}, {"other": {"s": "x"}}),
        ("hello", "hello"),
        (3, 3),
        ([1, 2], [1, 2]),
    ],
)
def test_all_arguments_at_once(arguments: Any, coerced: Any):
    assert coerce_arguments(arguments, OBJECT) == coerced


def test_a_parameter_with_the_name_of_a_wrapper_is_a_parameter():
    schema = {"type": "object", "properties": {"input": {"type": "object"}}}
    assert coerce_arguments({"input": {"a": 1}}, schema) == {"input": {"a": 1}}


def test_a_schema_without_properties_is_enough():
    assert coerce_arguments({"arguments": {"a": "1"}}, {"type": "object"}) == {"a": "1"}


PARTS = st.sampled_from(
    [
        {"type": "string"},
        {"type": "string", "format": "date"},
        {"type": "integer"},
        {"type": "number", "minimum": 3},
        {"type": "boolean"},
        {"type": "null"},
        {"type": ["integer", "null"]},
        {"type": "string", "enum": ["a", "b"]},
        {"type": "integer", "const": 3},
        {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        {"type": "string", "$ref": "#/$defs/count"},
        {"type": "object", "properties": {}},
        True,
    ]
)
VALUES = st.sampled_from(["a", "3", "", "null", 0, 1, 3, 3.0, 2.5, float("nan"), True, False, None, [1], {"x": 1}])


@given(st.dictionaries(st.sampled_from("xyz"), PARTS), st.dictionaries(st.sampled_from("wxyz"), VALUES), st.booleans())
def test_arguments_that_fit_are_returned_as_coercion_would_return_them(parts: Any, arguments: Any, required: bool):
    schema = {
        "type": "object",
        "properties": parts,
        "required": list(parts) if required else [],
        "$defs": {"count": {"type": "integer"}},
    }
    assert repr(coerce_arguments(arguments, schema)) == repr(coerce(arguments, schema, schema))
