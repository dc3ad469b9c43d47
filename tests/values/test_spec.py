"""Parameter schemas: the one form that a spec gives them, and their strict variant (data in them is left alone)."""

from typing import Any

import pytest

from tests.cases import each_case
from toolspeak import Tool
from toolspeak.dialects import DIALECTS, Dialect, read
from toolspeak.values.coercion import coerce_arguments
from toolspeak.values.errors import UsageError
from toolspeak.values.messages import user
from toolspeak.values.spec import (
    ToolSpec,
    map_subschemas,
    object_schema,
    read_definition,
    resolve_reference,
    strict_schema,
)
from toolspeak.values.validation import find_problems
from toolspeak.wire import anthropic_messages, openai_chat

EMPTY = {"type": "object", "properties": {}}
DAYS = {"type": "object", "properties": {"days": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("given", "schema"),
    [
        ({}, EMPTY),
        ({"type": "object"}, EMPTY),
        ({"properties": None}, EMPTY),
        ({"type": None, "properties": None, "required": None, "$defs": None}, EMPTY),
        ({"type": ["object", "null"], "properties": {}}, EMPTY),
        ({"properties": DAYS["properties"]}, DAYS),
        ({**DAYS, "required": None, "additionalProperties": None}, DAYS),
        ({"$ref": "#/$defs/In", "$defs": {"In": DAYS}}, {**DAYS, "$defs": {"In": DAYS}}),
        ({"$ref": "#/definitions/In", "definitions": {"In": DAYS}}, {**DAYS, "definitions": {"In": DAYS}}),
        ({"properties": {"a": None, "b": True}}, {"type": "object", "properties": {"a": {}, "b": {}}}),
        (
            {"properties": {"a": {"type": "object", "properties": None, "default": None, "required": None}}},
            {"type": "object", "properties": {"a": {"type": "object", "default": None}}},
        ),
        (
            {"properties": {"a": {"anyOf": [{"properties": {"b": {"enum": None}}}, True]}}},
            {"type": "object", "properties": {"a": {"anyOf": [{"properties": {"b": {}}}, True]}}},
        ),
        ({"type": "string"}, {"type": "string", "properties": {}}),
        (
            {"properties": {"a": {"type": ["object", "null", "object", 3], "properties": {}}}, "required": ["a", "a"]},
            {
                "type": "object",
                "properties": {"a": {"type": ["object", "null"], "properties": {}}},
                "required": ["a"],
            },
        ),
        (
            {"properties": {"a": {"enum": 3, "anyOf": {}, "required": True, "$ref": 5, "type": []}}, "required": [[]]},
            {"type": "object", "properties": {"a": {}}, "required": []},
        ),
        (
            {"properties": {}, "definitions": {"A": {"type": ["array"] * 3}}},
            {"type": "object", "properties": {}, "definitions": {"A": {"type": ["array"]}}},
        ),
    ],
)
def test_a_spec_gives_its_parameters_one_form(given: dict[str, Any], schema: dict[str, Any]):
    before = repr(given)
    spec = ToolSpec(name="f", description="", parameters=given)
    assert spec.parameters == schema
    assert object_schema(spec.parameters) is spec.parameters or given == {"type": "string"}
    assert repr(given) == before


def nest(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels):
        schema = {"items": schema}
    return schema


@each_case(
    "schema, problem",
    {
        "deep": (nest(200), "is nested more than 128 levels deep; make it flatter"),
        "wide": ({"enum": list(range(60_000))}, "holds more than 50,000 values; describe less, or split it"),
        "many": (
            {"properties": {str(number): {"type": ["null", "array"]} for number in range(20_000)}},
            "holds more than 50,000 values; describe less, or split it",
        ),
    },
)
def test_a_schema_that_holds_or_nests_too_much_is_refused_with_the_name_of_the_tool(
    schema: dict[str, Any], problem: str
):
    for schemas in ({"parameters": schema}, {"parameters": {}, "returns": schema}):
        with pytest.raises(UsageError) as refused:
            ToolSpec(name="search", description="", **schemas)
        assert str(refused.value) == f"search: its schema {problem}"
    with pytest.raises(UsageError) as refused:
        read_definition({"name": "search", "input_schema": schema}, "tools.json")
    assert str(refused.value) == f"tools.json: search: its schema {problem}"
    loop: dict[str, Any] = {}
    loop["items"] = loop
    with pytest.raises(UsageError):
        ToolSpec(name="search", description="", parameters=loop)


def test_references_to_one_definition_give_the_same_object_however_they_are_written():
    root = {"$defs": {"A": {"type": "object"}}, "x": {"y~": {"type": "null"}}}
    assert resolve_reference({"$ref": "#/$defs/A"}, root) is root["$defs"]["A"]
    assert resolve_reference({"$ref": "other/$defs/A"}, root) is root["$defs"]["A"]
    assert resolve_reference({"$ref": "#/x/y~0"}, root) == {"type": "null"}
    assert resolve_reference({"$ref": "#/$defs/A", "title": "T"}, root) == {"type": "object", "title": "T"}
    assert resolve_reference({"$ref": "#/$defs/B", "title": "T"}, root) == {"title": "T"}


@pytest.mark.parametrize("schema", [EMPTY, DAYS, {"type": "object", "properties": {"a": {"const": None}}}])
def test_a_schema_in_that_form_is_not_touched(schema: dict[str, Any]):
    assert ToolSpec(name="f", description="", parameters=schema).parameters is schema


FORECAST = {
    "type": None,
    "properties": {
        "days": {"type": "integer", "default": None},
        "place": {"properties": {"id": {"type": "integer"}}, "required": None},
        "tags": {"type": "object", "properties": None},
        "note": True,
    },
    "required": None,
}
LOOSE = [
    ToolSpec(name="forecast", description="Forecast.", parameters=FORECAST),
    ToolSpec(name="now", description="Now.", parameters={"properties": None}),
]
SAID = {"days": "3", "place": '{"id": "7"}', "tags": {"a": 1}, "note": "n"}
MEANT = {"days": 3, "place": {"id": 7}, "tags": {"a": 1}, "note": "n"}


def test_arguments_of_loose_schemas_are_coerced_and_checked():
    forecast, now = (spec.parameters for spec in LOOSE)
    assert coerce_arguments(SAID, forecast) == MEANT
    assert coerce_arguments({"arguments": SAID}, forecast) == MEANT
    assert coerce_arguments(None, now) == {}
    assert list(find_problems(MEANT, forecast, forecast)) == []
    wrong = list(find_problems({"place": 3, "tags": []}, forecast, forecast))
    assert wrong == ["place: got 3; needs object with keys id", "tags: got []; needs object"]


SPOKEN = {
    "json": '{"name": "forecast", "arguments": {"days": "3", "place": {"id": "7"}, "tags": {"a": 1}, "note": "n"}}',
    "python": '```python\nforecast(days="3", place={"id": "7"}, tags={"a": 1}, note="n")\nnow()\n```',
    "typescript": '```typescript\nforecast({days: "3", place: {id: "7"}, tags: {a: 1}, note: "n"});\nnow();\n```',
    "tags": '<invoke name="forecast"><parameter name="days">3</parameter><parameter name="place">{"id": "7"}'
    '</parameter><parameter name="tags">{"a": 1}</parameter><parameter name="note">n</parameter></invoke>',
    "action": 'Action: forecast\nAction Input: {"days": "3", "place": {"id": "7"}, "tags": {"a": 1}, "note": "n"}',
}


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_every_dialect_shows_and_reads_loose_schemas(dialect: Dialect):
    shown = dialect.render(LOOSE, [user("Hi")])
    assert shown.tools or all(name in repr(shown.messages) for name in ("forecast", "days", "place", "now"))
    for form, text in SPOKEN.items():
        if dialect.in_text or form == "json":
            calls = read(text, LOOSE, dialect=dialect).calls
            assert calls[0].call.arguments == MEANT, form
            assert [call.call.name for call in calls[1:]] == ["now"] * ("now" in text)


@pytest.mark.parametrize("strict", [False, True])
def test_both_wires_send_loose_schemas_in_one_form(strict: bool):
    function = openai_chat.tool_definitions(LOOSE, strict=strict)[1]["function"]
    tool = anthropic_messages.tool_definitions(LOOSE, strict=strict)[1]
    for schema in (function["parameters"], tool["input_schema"]):
        assert (schema["type"], schema["properties"]) == ("object", {})
    assert "null" not in str(openai_chat.tool_definitions(LOOSE)).replace("None", "null").replace("'default': null", "")


def test_both_wires_receive_loose_schemas_in_one_form():
    hello = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    by_openai = [{"type": "function", "function": {"name": "forecast", "parameters": FORECAST}}]
    by_openai += [{"type": "function", "function": {"name": "now", "parameters": {"properties": None}}}]
    by_anthropic = [{"name": "forecast", "input_schema": FORECAST}, {"name": "now", "input_schema": {"type": "object"}}]
    for request in (
        openai_chat.read_request({**hello, "tools": by_openai}),
        anthropic_messages.read_request({**hello, "tools": by_anthropic}),
    ):
        assert [spec.parameters for spec in request.tools] == [spec.parameters for spec in LOOSE]


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
