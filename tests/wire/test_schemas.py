"""Schemas in the form that an endpoint takes."""

import json
from typing import Any

import pytest

from toolspeak.values.spec import ToolSpec
from toolspeak.wire import anthropic_messages, openai_chat
from toolspeak.wire.schemas import SchemaRules, fit_schema, inline_references, merge_alternatives

POINT = {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"], "additionalProperties": False}


def taking(parameter: dict[str, Any], **definitions: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"p": parameter}, "required": ["p"], "additionalProperties": False}
    return {**schema, "$defs": definitions} if definitions else schema


@pytest.mark.parametrize(
    ("schema", "written_out"),
    [
        (taking({"type": "string"}), taking({"type": "string"})),
        (taking({"$ref": "#/$defs/Point"}, Point=POINT), taking(POINT)),
        (
            taking({"$ref": "#/$defs/Point", "description": "Where."}, Point=POINT),
            taking({**POINT, "description": "Where."}),
        ),
        (
            taking({"type": "array", "items": {"$ref": "#/$defs/Point"}}, Point=POINT),
            taking({"type": "array", "items": POINT}),
        ),
        (
            taking({"$ref": "#/$defs/Line"}, Line=taking({"$ref": "#/$defs/Point"}), Point=POINT),
            taking(taking(POINT)),
        ),
        (taking({"$ref": "#/$defs/Lost"}, Point=POINT), taking({"type": "object"})),
        (
            taking({"$ref": "#/$defs/Node"}, Node=taking({"$ref": "#/$defs/Node"})),
            taking(taking(taking({"type": "object"}))),
        ),
        # What only looks like a reference is data.
        (taking({"type": "object", "default": {"$ref": "#/$defs/P"}}), taking({"type": "object", "default": {"$ref": "#/$defs/P"}})),
    ],
)  # fmt: skip
def test_references_are_written_out(schema: dict[str, Any], written_out: dict[str, Any]):
    before = json.dumps(schema)
    assert inline_references(schema) == written_out
    assert json.dumps(schema) == before


def test_types_that_all_refer_to_each_other_end():
    names = [f"T{number}" for number in range(12)]
    each = {"type": "object", "properties": {name: {"$ref": f"#/$defs/{name}"} for name in names}}
    written_out = json.dumps(inline_references(taking({"$ref": "#/$defs/T0"}, **dict.fromkeys(names, each))))
    assert "$ref" not in written_out
    assert len(written_out) < 3_000_000


@pytest.mark.parametrize(
    ("choice", "one"),
    [
        ({"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}, {"type": "string", "default": None}),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, {"type": "string"}),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, {"type": ["string", "integer"]}),
        ({"anyOf": [{"type": ["string", "null"]}, {"type": "integer"}]}, {"type": ["string", "null", "integer"]}),
        ({"anyOf": [{"const": "a"}, {"const": "b"}]}, {"enum": ["a", "b"]}),
        ({"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "string", "const": "b"}]}, {"type": "string", "enum": ["a", "b"]}),
        ({"anyOf": [POINT, {"type": "string"}], "description": "D."}, {**POINT, "description": "D."}),
        ({"anyOf": [{"type": "null"}]}, {"type": "null"}),
        (
            {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
            {"type": "array", "items": {"type": "string"}},
        ),
        ({"anyOf": [{"anyOf": [{"type": "string"}, {"type": "null"}]}, {"type": "integer"}]}, {"type": ["string", "integer"]}),
    ],
)  # fmt: skip
def test_a_choice_becomes_one_schema(choice: dict[str, Any], one: dict[str, Any]):
    assert merge_alternatives(taking(choice)) == taking(one)


def test_rules_together():
    schema = {
        **taking({"$ref": "#/$defs/Colour"}, Colour={"type": "string", "enum": ["red"]}),
        "required": [],
    }
    assert fit_schema(schema, SchemaRules()) == (schema, False)
    strict = {
        **schema,
        "required": ["p"],
        "properties": {"p": {"anyOf": [{"$ref": "#/$defs/Colour"}, {"type": "null"}]}},
    }
    assert fit_schema(schema, SchemaRules(strict=True)) == (strict, True)
    all_rules = SchemaRules(strict=True, inline_refs=True, no_any_of=True)
    assert fit_schema(schema, all_rules) == (taking({"type": "string", "enum": ["red"]}), True)
    assert fit_schema(taking({"type": "object"}), all_rules) == (taking({"type": "object"}), False)


def test_tools_are_given_by_the_rules():
    spec = ToolSpec(name="f", description="F.", parameters=taking({"$ref": "#/$defs/Point"}, Point=POINT))
    inline = SchemaRules(inline_refs=True)
    function = {"name": "f", "description": "F.", "parameters": taking(POINT)}
    assert openai_chat.tool_definitions([spec], rules=inline) == [{"type": "function", "function": function}]
    (strict,) = anthropic_messages.tool_definitions([spec], rules=SchemaRules(inline_refs=True, strict=True))
    assert strict == {"name": "f", "description": "F.", "strict": True, "input_schema": taking(POINT)}
    assert anthropic_messages.tool_definitions([spec], strict=True)[0]["input_schema"] == spec.parameters
