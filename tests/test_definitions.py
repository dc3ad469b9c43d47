"""Tools are read from every form in which they are defined."""

from typing import Any

import pytest

from toolspeak.definitions import read_definition
from toolspeak.errors import UsageError

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
