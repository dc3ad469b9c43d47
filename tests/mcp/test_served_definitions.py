"""Tools as clients are told of them: a function that is served and read back has the spec that it had."""

import functools
from typing import Any, get_type_hints

import function_shapes as shapes
from jsonschema import Draft202012Validator
from mcp.client import Client
from pydantic import BaseModel

from mcp import types
from toolspeak import Media, Tool, ToolSpec, discover, tool
from toolspeak.mcp.served_tools import ToolServer

from .connecting import OFFICE, eras, in_process, talk


def read_back(era: str, server: ToolServer) -> dict[str, types.Tool]:
    return {each.name: each for each in talk(in_process(era, server), lambda client: client.list_tools()).tools}


@functools.cache
def serve_shapes() -> ToolServer:
    tools = [Tool(row.values[0].function, name=f"shape_{place}") for place, row in enumerate(shapes.SHAPES)]
    return ToolServer(tools, deps=object())


@eras
def test_every_shape_of_functions_survives(era: str):
    server = serve_shapes()
    assert not server.left_out
    listed = read_back(era, server)
    assert len(listed) == len(shapes.SHAPES) >= 65
    for old in server.toolbox.specs:
        each = listed[old.name]
        spec = ToolSpec(name=each.name, description=each.description or "", parameters=each.input_schema)
        assert (spec.name, spec.description, spec.parameters) == (old.name, old.description, old.parameters)


def make_echoes() -> list[tuple[Tool[..., Any], Any]]:
    """Return a function for each type in the shapes, which gives back what it received, and what to send it."""
    echoes: list[tuple[Tool[..., Any], Any]] = []
    for row in (each.values[0] for each in shapes.SHAPES):
        try:
            hints = get_type_hints(row.function, include_extras=True)
        except (NameError, TypeError):  # a partial, a class, a name of another scope
            continue
        for name, value in row.sent.items():
            if name not in hints:
                continue

            def echo(value: Any) -> Any:
                return value

            echo.__annotations__ = {"value": hints[name], "return": hints[name]}
            echo.__doc__ = "Give it back."
            echoes.append((Tool(echo, name=f"echo_{len(echoes)}"), value))
    return echoes


def test_the_typed_output_of_every_shape_fits_its_schema():
    """The official client checks the output by the schema, too."""
    echoes = make_echoes()

    async def work(client: Client) -> int:
        typed = 0
        for each, value in echoes:
            result = await client.call_tool(each.name, {"value": value})
            assert not result.is_error, (each.spec.returns, result)
            typed += result.structured_content is not None
        return typed

    assert talk(in_process("2026-07-28", ToolServer([each for each, _ in echoes])), work) > 40


@eras
def test_effects_are_hints(era: str):
    listed = read_back(era, ToolServer(discover(OFFICE)))

    def hints(name: str) -> dict[str, Any]:
        annotations = listed[name].annotations
        return {} if annotations is None else annotations.model_dump(by_alias=True, exclude_none=True)

    assert hints("add") == {"readOnlyHint": True}
    assert hints("book") == {"readOnlyHint": False, "idempotentHint": True}
    assert hints("greet") == {"readOnlyHint": False}
    assert hints("burn") == {"readOnlyHint": False, "destructiveHint": True}


@eras
def test_output_schemas(era: str):
    listed = read_back(era, ToolServer(discover(OFFICE)))
    integer = {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]}
    assert listed["add"].output_schema == integer
    assert listed["book"].output_schema == {"type": "object", "additionalProperties": {"type": "integer"}}
    room = listed["describe"].output_schema
    assert room is not None
    assert room["properties"].keys() == {"name", "seats"}
    assert [name for name, each in listed.items() if each.output_schema is None] == [
        *("greet", "burn", "shout", "fail", "hang", "sleep", "wait", "draw", "write")
    ]


def test_a_recursive_output_keeps_its_definitions():
    class Node(BaseModel):
        children: "tuple[Node, ...]" = ()

    def grow() -> list[Node]:
        """Grow a tree."""
        return [Node(children=(Node(),))]

    def plant() -> Node:
        """Plant a tree."""
        return Node(children=(Node(),))

    def sketch() -> list[Media | str]:
        """Draw pictures."""
        return []

    server = ToolServer([grow, plant, sketch])
    listed = read_back("legacy", server)
    assert listed["sketch"].output_schema is None
    for name, expected in (
        ("grow", {"result": [{"children": [{"children": []}]}]}),
        ("plant", {"children": [{"children": []}]}),
    ):
        schema = listed[name].output_schema
        assert schema is not None
        result = talk(in_process("legacy", server), lambda client, name=name: client.call_tool(name))
        assert result.structured_content == expected
        assert not list(Draft202012Validator(schema).iter_errors(result.structured_content))


def test_a_text_that_cannot_be_sent_is_not_listed():
    odd = tool(lambda: None, name="odd", description="half: \ud83d")
    fine = tool(lambda: None, name="fine", description="ok")
    server = ToolServer([odd, fine])
    assert ([each.name for each in server.left_out], server.toolbox.names) == (["odd"], ("fine",))
