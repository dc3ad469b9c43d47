"""Each row of the table in `function_shapes.py` in both directions: function to schema, JSON to function."""

import asyncio
import functools
import json
from typing import Any

import pytest
from function_shapes import (
    ADDRESS,
    SHAPES,
    Address,
    Shape,
    context_last,
    default_factory,
    positional_only,
    send,
    takes_text,
    takes_union_and_keeps_text,
    takes_union_in_its_own_order,
)
from pydantic import BaseModel
from seeing import seen

from toolspeak import Context, Tool
from toolspeak.values.coercion import Coercion
from toolspeak.values.spec import strict_schema
from toolspeak.values.validation import is_valid
from toolspeak.values.work_budget import count_nodes


def called(row: Shape, sent: Any) -> Any:
    """What the function gives back when a model sends `sent`."""
    made = Tool(row.function)
    bound = made.bind(sent, row.context)
    result = made.function(*bound.args, **bound.kwargs)
    return asyncio.run(result) if made.is_async else result


def test_the_table_has_at_least_65_rows_each_with_its_own_name():
    names = [row.id for row in SHAPES]
    assert len(names) >= 65
    assert len(names) == len(set(names))


@pytest.mark.parametrize("row", SHAPES)
def test_a_model_is_shown_exactly_this_schema(row: Shape):
    parameters = Tool(row.function).spec.parameters
    assert parameters == row.parameters
    assert list(parameters["properties"]) == list(row.parameters["properties"])
    assert json.loads(json.dumps(parameters, allow_nan=False)) == row.parameters


@pytest.mark.parametrize("row", SHAPES)
def test_json_arguments_arrive_as_the_right_python_values(row: Shape):
    sent = json.loads(json.dumps(row.sent))
    assert seen(called(row, sent)) == seen(row.received)
    assert sent == row.sent, "what came is not changed in place"


@pytest.mark.parametrize("row", SHAPES)
def test_the_strict_variant_asks_for_every_property(row: Shape):
    strict = strict_schema(Tool(row.function).spec.parameters)
    assert strict["required"] == list(row.parameters["properties"]) == list(strict["properties"])
    assert strict["additionalProperties"] is False


@pytest.mark.parametrize("row", SHAPES)
def test_the_steps_of_coercion_are_in_proportion_to_value_and_schema(row: Shape):
    for sent in (row.sent, {key: json.dumps(value) for key, value in row.sent.items()}):
        coercion = Coercion(sent, row.parameters)
        coercion.coerce(sent, row.parameters)
        assert coercion.steps <= 2 * (count_nodes(sent) + count_nodes(row.sent)) * count_nodes(row.parameters)


def nulls(row: Shape) -> dict[str, None]:
    """Null for each key that was left out, may be left out and may not be null."""
    parameters = row.parameters
    free = parameters["properties"].keys() - parameters.get("required", ()) - row.sent.keys()
    return {key: None for key in free if not is_valid(None, parameters["properties"][key], parameters)}


@pytest.mark.parametrize("row", [each for each in SHAPES if nulls(each.values[0])])
def test_null_for_what_is_left_out_means_its_default(row: Shape):
    # What a model sends under the strict variant: every key, and null for those it would have left out.
    assert seen(called(row, row.sent | nulls(row))) == seen(row.received)


def test_hints_in_text_find_classes_of_the_scope_around():
    class Local(BaseModel):
        x: int

    def takes_local(item: "Local", more: "list[Local]" = []):  # noqa: B006 (a list as a default is what the shape is about)
        return item, more

    made = Tool(takes_local)
    bound = made.bind({"item": {"x": 1}, "more": [{"x": "2"}]})
    assert made.function(*bound.args, **bound.kwargs) == (Local(x=1), [Local(x=2)])


def test_two_recursive_classes_of_one_name_stay_apart():
    def numbers():
        class Link(BaseModel):
            value: int
            rest: list["Link"] = []

        return Link

    def texts():
        class Link(BaseModel):
            value: str
            rest: list["Link"] = []

        return Link

    a, b = numbers(), texts()

    def joined(a, b):
        return a, b

    joined.__annotations__ = {"a": a, "b": b}
    made = Tool(joined)
    names = [made.spec.parameters["properties"][key]["$ref"].removeprefix("#/$defs/") for key in "ab"]
    assert names == ["Link", "Link_2"]
    defs = made.spec.parameters["$defs"]
    assert [defs[name]["properties"]["value"]["type"] for name in names] == ["integer", "string"]
    assert defs["Link_2"]["properties"]["rest"]["items"] == {"$ref": "#/$defs/Link_2"}
    bound = made.bind({"a": {"value": 1, "rest": [{"value": 2}]}, "b": {"value": "x", "rest": [{"value": "y"}]}})
    assert bound.kwargs == {"a": a(value=1, rest=[a(value=2)]), "b": b(value="x", rest=[b(value="y")])}


def test_a_partial_shows_its_secret_nowhere():
    spec = Tool(functools.partial(send, token="hunter2")).spec
    assert "hunter2" not in repr(spec)
    assert "token" not in repr(spec)


def test_a_factory_makes_a_new_value_for_every_call():
    made = Tool(default_factory)
    assert made.bind({}).kwargs["tags"] is not made.bind({}).kwargs["tags"]


def test_without_a_run_a_context_has_no_deps():
    assert Tool(context_last).bind({"key": "k"}).kwargs["context"] == Context(deps=None)


def test_a_union_spelled_in_another_order_is_shown_in_its_own():
    first = Tool(takes_union_and_keeps_text).spec.parameters["properties"]["key"]["anyOf"]
    second = Tool(takes_union_in_its_own_order).spec.parameters["properties"]["key"]["anyOf"]
    assert first == list(reversed(second))


def test_called_from_python_a_tool_is_the_function_it_was_made_from():
    made = Tool(positional_only)
    assert made(1, "x") == (1, "x")
    assert made.__name__ == "positional_only"
    assert made.name == made.spec.name == "positional_only"


def test_the_result_has_a_schema_where_the_function_says_it():
    def found(key: str) -> list[Address]:
        """Find.

        Returns:
            All that were found.
        """
        return []

    assert Tool(found).spec.returns == {"type": "array", "items": ADDRESS, "description": "All that were found."}
    assert Tool(takes_text).spec.returns is None
