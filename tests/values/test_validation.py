"""Whether a value fits a JSON schema, and the words for a model when it does not."""

from typing import Any

import pytest

from toolspeak.values.messages import Concat, Ref
from toolspeak.values.spec import resolve_reference
from toolspeak.values.validation import (
    MAX_VALUE_CHARS,
    describe,
    find_problems,
    format_key,
    format_value,
    is_valid,
    nearest,
)

ROOT = {
    "$defs": {
        "Count": {"type": "integer", "description": "How many."},
        "Node": {
            "type": "object",
            "properties": {
                "value": {"$ref": "#/$defs/Count"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
            },
            "required": ["value"],
            "additionalProperties": False,
        },
        "Again": {"$ref": "#/$defs/Count"},
        "Loop": {"$ref": "#/$defs/Loop"},
    }
}
INTEGERS = {"type": "array", "items": {"type": "integer"}}
PAIR = {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]}
NODE = {"$ref": "#/$defs/Node"}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string"}, "a"),
        ({"type": "integer"}, 3),
        ({"type": "number"}, 3),
        ({"type": "number"}, 3.5),
        ({"type": "boolean"}, False),
        ({"type": "null"}, None),
        (INTEGERS, []),
        (INTEGERS, [1, 2]),
        (PAIR, [1, "a", "anything"]),
        ({"type": "object"}, {"a": 1}),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, {"a": 1}),
        (NODE, {"value": 1, "children": [{"value": 2, "children": []}]}),
        ({"$ref": "#/$defs/Again"}, 3),
        ({"$ref": "#/$defs/Gone"}, "whatever"),
        ({"$ref": "#/$defs/Loop"}, "whatever"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, None),
        ({"oneOf": [{"type": "integer"}, NODE]}, {"value": 1}),
        ({"type": ["integer", "null"]}, None),
        ({"allOf": [{"type": "integer"}, {"enum": [1, 2]}]}, 2),
        ({"enum": ["a", 1, None]}, None),
        ({"const": "a"}, "a"),
        ({"const": None}, None),
        ({}, object()),
        (True, "anything"),
        ({"type": "integer"}, Ref(call="c")),
        ({"type": "string"}, Concat(parts=("a",))),
        ({"type": "mystery"}, 3),
    ],
)
def test_what_fits(schema: Any, value: Any):
    assert is_valid(value, schema, ROOT)
    assert list(find_problems(value, schema, ROOT, "x")) == []


@pytest.mark.parametrize(
    ("schema", "value", "lines"),
    [
        ({"type": "string"}, 3, ["x: got 3; needs string"]),
        ({"type": "string", "format": "date"}, 3, ["x: got 3; needs string (date)"]),
        ({"type": "integer"}, 3.0, ["x: got 3.0; needs integer"]),
        ({"type": "integer"}, True, ["x: got true; needs integer"]),
        ({"type": "number"}, False, ["x: got false; needs number"]),
        ({"type": "boolean"}, 1, ["x: got 1; needs boolean"]),
        ({"type": "integer"}, Concat(parts=("a",)), ['x: got "Concat"; needs integer']),
        (False, 1, ["x: not allowed"]),
        (INTEGERS, "1", ['x: got "1"; needs array of integer']),
        (INTEGERS, [1, "b", None], ['x[1]: got "b"; needs integer', "x[2]: got null; needs integer"]),
        (PAIR, ["a", 2], ['x[0]: got "a"; needs integer', "x[1]: got 2; needs string"]),
        ({"enum": ["a", 1]}, True, ['x: got true; needs "a" or 1']),
        ({"enum": [1, 2, 3]}, 4, ["x: got 4; needs 1, 2 or 3"]),
        ({"const": "a"}, "b", ['x: got "b"; needs "a"']),
        ({"type": ["integer", "null"]}, "b", ['x: got "b"; needs integer or null']),
        ({"anyOf": [{"type": "integer"}, {"type": "boolean"}]}, "b", ['x: got "b"; needs integer or boolean']),
        ({"anyOf": [INTEGERS, {"type": "null"}]}, ["b"], ['x[0]: got "b"; needs integer']),
        ({"anyOf": [NODE, {"type": "null"}]}, {}, ["x.value: missing; needs integer"]),
        ({"allOf": [{"type": "integer"}, {"enum": [1]}]}, "a", ['x: got "a"; needs integer', 'x: got "a"; needs 1']),
        (NODE, {"valeu": 1}, ["x.value: missing; needs integer", "x.valeu: no such key; did you mean value?"]),
        (NODE, {"value": 1, "zz": 1}, ["x.zz: no such key; the keys are: value, children"]),
        (NODE, {"value": 1, "children": [{"value": "a"}]}, ['x.children[0].value: got "a"; needs integer']),
        (
            {"type": "object", "properties": {}, "additionalProperties": False},
            {"a": 1},
            ["x.a: no such key; the keys are: none, it takes no arguments"],
        ),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, {"k": "a"}, ['x.k: got "a"; needs integer']),
        ({"type": "object"}, {"a\nb": 1}, []),
        ({"type": "object", "additionalProperties": {"type": "null"}}, {"a\nb": 1}, ['x."a\\nb": got 1; needs null']),
    ],
)
def test_what_does_not_fit_is_said_one_line_each(schema: Any, value: Any, lines: list[str]):
    assert list(find_problems(value, schema, ROOT, "x")) == lines
    assert is_valid(value, schema, ROOT) == (not lines)


def test_without_a_path_the_arguments_are_meant():
    assert list(find_problems(3, {"type": "object"}, ROOT)) == ["arguments: got 3; needs object"]
    assert list(find_problems({"value": "a"}, NODE, ROOT)) == ['value: got "a"; needs integer']


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "string"}, "string"),
        ({"type": "string", "format": "uuid"}, "string (uuid)"),
        (INTEGERS, "array of integer"),
        ({"type": "array"}, "array"),
        ({"type": "array", "items": INTEGERS}, "array of array of integer"),
        (NODE, "object with keys value, children"),
        ({"type": "object"}, "object"),
        ({"enum": ["a", 1, None]}, '"a", 1 or null'),
        ({"type": ["integer", "null"]}, "integer or null"),
        ({"anyOf": [{"type": "integer"}, {"type": "integer"}, {"type": "null"}]}, "integer or null"),
        ({"$ref": "#/$defs/Again"}, "integer"),
        ({}, "any value"),
        (True, "any value"),
        ({"enum": list(range(100))}, "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 or one of 89 more"),
    ],
)
def test_a_schema_in_a_few_words(schema: Any, words: str):
    assert describe(schema, ROOT) == words


def test_a_recursive_schema_is_described_all_the_same():
    nested = {"$defs": {"N": {"type": "array", "items": {"$ref": "#/$defs/N"}}}}
    assert describe({"$ref": "#/$defs/N"}, nested) == "array of array of array of array"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", '"a"'),
        ("é", '"é"'),
        ("a\nb", '"a\\nb"'),
        ("a\u2028b", '"a\\u2028b"'),
        ("\ud800", '"\\ud800"'),
        ([1, None, True], "[1, null, true]"),
        (object(), '"object"'),
        ([10**5000], "list"),
        ({(1, 2): 3}, "dict"),
    ],
)
def test_a_value_is_shown_as_json_on_one_line(value: Any, text: str):
    assert format_value(value) == text


@pytest.mark.parametrize("value", ["a" * 1000, ["a"] * 1000, {"a" * 1000: 1}, "\u2028" * 1000])
def test_a_long_value_is_cut(value: Any):
    assert len(format_value(value)) == MAX_VALUE_CHARS
    assert format_value(value).endswith("…")


def test_a_value_without_end_is_named_by_its_type():
    around: list[Any] = []
    around.append(around)
    assert format_value(around) == "list"


def test_a_key_is_shown_as_it_is_unless_it_cannot_be():
    assert format_key("city name") == "city name"
    assert format_key("a\nb") == '"a\\nb"'
    assert len(format_key("a" * 1000)) == MAX_VALUE_CHARS


@pytest.mark.parametrize(
    ("name", "options", "found"),
    [
        ("City", ["city", "country"], "city"),
        ("cityName", ["city_name"], "city_name"),
        ("contry", ["city", "country"], "country"),
        ("zzz", ["city"], None),
        ("", ["city"], None),
        ("city", [], None),
        ("city" * 1000, ["city" * 1000], None),
    ],
)
def test_the_nearest_name(name: str, options: list[str], found: str | None):
    assert nearest(name, options) == found


def test_a_reference_keeps_what_is_said_beside_it():
    resolved = resolve_reference({"$ref": "#/$defs/Count", "description": "Nearer."}, ROOT)
    assert resolved == {"type": "integer", "description": "Nearer."}
