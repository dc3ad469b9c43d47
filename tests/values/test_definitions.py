"""Tools are read from every form in which they are defined."""

from typing import Any

import pytest

from toolspeak.values.errors import UsageError
from toolspeak.values.spec import read_definition

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


@pytest.mark.parametrize(
    "definition",
    [
        pytest.param(
            {"type": "function", "function": {"name": "f", "description": "d", "parameters": SCHEMA}}, id="OpenAI"
        ),
        pytest.param({"name": "f", "description": "d", "input_schema": SCHEMA}, id="Anthropic"),
        pytest.param({"name": "f", "description": "d", "inputSchema": SCHEMA}, id="MCP"),
        pytest.param({"name": "f", "description": "d", "parameters": SCHEMA}, id="plain"),
    ],
)
def test_every_form_is_read(definition: dict[str, Any]):
    spec = read_definition(definition)
    assert (spec.name, spec.description, spec.parameters) == ("f", "d", SCHEMA)


@pytest.mark.parametrize(
    "schema", [None, {}, {"type": "object"}, {"properties": None}, {"type": "object", "properties": None}]
)
def test_a_schema_without_properties_is_that_of_no_parameters(schema: Any):
    spec = read_definition({"name": "f", "description": None, "parameters": schema})
    assert spec.description == ""
    assert spec.parameters["type"] == "object"
    assert spec.parameters["properties"] == {}


def test_a_schema_without_a_type_is_that_of_an_object():
    spec = read_definition({"name": "f", "parameters": {"properties": {"city": {"type": "string"}}}})
    assert spec.parameters["type"] == "object"
    assert list(spec.parameters["properties"]) == ["city"]


@pytest.mark.parametrize(
    ("definition", "complaint"),
    [
        (["f"], "file.json: a tool is a JSON object with a name and a schema"),
        ({"description": "d"}, "file.json: a tool has no name"),
        ({"function": "f"}, "file.json: a tool has no name"),
        ({"name": "f", "parameters": [1]}, "file.json: the parameters of f are not a JSON schema"),
    ],
)
def test_what_is_no_definition_is_refused(definition: Any, complaint: str):
    with pytest.raises(UsageError) as caught:
        read_definition(definition, "file.json")
    assert str(caught.value) == complaint


@pytest.mark.parametrize(
    "definition",
    [
        {"type": "custom", "name": "f", "description": "d"},
        {"type": "custom", "name": "f", "description": "d", "format": {"type": "text"}},
        {"type": "custom", "custom": {"name": "f", "description": "d"}},
    ],
)
def test_a_custom_tool_takes_one_raw_text(definition: dict[str, Any]):
    spec = read_definition(definition)
    assert (spec.name, spec.description, spec.raw) == ("f", "d", "input")
    assert (list(spec.parameters["properties"]), spec.parameters["required"]) == (["input"], ["input"])


def test_a_definition_names_the_parameter_for_its_raw_text():
    assert read_definition({"name": "f", "parameters": SCHEMA, "raw": "city"}).raw == "city"
    assert read_definition({"type": "function", "function": {"name": "f", "parameters": SCHEMA, "raw": "city"}}).raw
    assert read_definition({"name": "f", "parameters": SCHEMA}).raw is None


def test_a_custom_tool_of_anthropic_has_a_schema_and_no_raw_text():
    spec = read_definition({"type": "custom", "name": "f", "input_schema": SCHEMA})
    assert (spec.raw, spec.parameters) == (None, SCHEMA)


@pytest.mark.parametrize(
    ("raw", "complaint"),
    [
        ("town", "file.json: f: raw='town' names no parameter; the parameters are: city"),
        (3, "file.json: raw of f is the name of a parameter, as a text"),
    ],
)
def test_a_wrong_name_for_the_raw_text_is_refused(raw: Any, complaint: str):
    with pytest.raises(UsageError) as caught:
        read_definition({"name": "f", "parameters": SCHEMA, "raw": raw}, "file.json")
    assert str(caught.value) == complaint
