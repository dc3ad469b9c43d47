"""The strict variant of a schema: every property required, optional ones nullable, data left alone."""

from typing import Any

import pytest

from toolspeak import Tool
from toolspeak.spec import map_subschemas, strict_schema
from toolspeak.wire import openai_chat


@pytest.mark.parametrize(
    ("optional", "strict"),
    [
        ({"type": "integer", "default": 3}, {"type": ["integer", "null"]}),
        ({"type": "string", "description": "D."}, {"type": ["string", "null"], "description": "D."}),
        ({"type": ["integer", "string"]}, {"anyOf": [{"type": ["integer", "string"]}, {"type": "null"}]}),
        ({"type": ["integer", "null"], "default": None}, {"type": ["integer", "null"]}),
        ({"type": "null"}, {"type": "null"}),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (
            {"anyOf": [{"type": "integer"}, {"type": "string"}], "default": 1},
            {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]},
        ),
        (
            {"type": "string", "enum": ["a"], "default": "a", "description": "D."},
            {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}], "description": "D."},
        ),
        ({"const": "a"}, {"anyOf": [{"const": "a"}, {"type": "null"}]}),
        ({"$ref": "#/$defs/A"}, {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]}),
        ({}, {}),
        ({"description": "Anything.", "default": 1}, {"description": "Anything."}),
        (
            {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "integer"}}}},
            {
                "type": ["array", "null"],
                "items": {
                    "type": "object",
                    "properties": {"a": {"type": ["integer", "null"]}},
                    "required": ["a"],
                    "additionalProperties": False,
                },
            },
        ),
        (
            {"type": "object", "additionalProperties": {"type": "integer"}},
            {"type": ["object", "null"], "additionalProperties": {"type": "integer"}},
        ),
    ],
)
def test_an_optional_property_becomes_nullable(optional: dict[str, Any], strict: dict[str, Any]):
    schema = {
        "type": "object",
        "properties": {"x": optional, "y": {"type": "string"}},
        "required": ["y"],
        "additionalProperties": False,
    }
    assert strict_schema(schema) == {
        "type": "object",
        "properties": {"x": strict, "y": {"type": "string"}},
        "required": ["x", "y"],
        "additionalProperties": False,
    }


def test_definitions_become_strict_too_and_nothing_is_changed_in_place():
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    schema = {"type": "object", "properties": {}, "$defs": {"Node": node}}
    before = repr(schema)
    assert strict_schema(schema)["$defs"]["Node"]["required"] == ["next"]
    assert repr(schema) == before


def test_data_that_looks_like_a_schema_is_left_alone():
    data = {"properties": {"a": {"title": "T"}}, "items": {"title": "T"}}
    schema = {"default": data, "enum": [data], "const": data, "examples": [data], "properties": {"items": {"title": 1}}}
    changed = map_subschemas(schema, lambda sub: {"seen": sub})
    assert changed == {**schema, "properties": {"items": {"seen": {"title": 1}}}}


def test_a_schema_may_be_a_boolean():
    assert map_subschemas({"items": True, "anyOf": [False]}, dict) == {"items": True, "anyOf": [False]}


def test_a_tool_without_a_strict_variant_is_given_as_it_is():
    def free(tags: dict[str, str]) -> None:
        "Take tags."

    def plain(tag: str, count: int = 1) -> None:
        "Take a tag."

    loose, firm = openai_chat.tool_definitions([Tool(free).spec, Tool(plain).spec], strict=True)
    assert "strict" not in loose["function"]
    assert firm["function"]["strict"] is True
    assert firm["function"]["parameters"]["required"] == ["tag", "count"]
