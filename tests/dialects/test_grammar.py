"""Grammars of answers: what the dialects write is accepted, and what their tools do not take is refused."""

import json
import string
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import each_case
from toolspeak.dialects import JSON, PYTHON, TYPESCRIPT, fold
from toolspeak.dialects.grammar import write_grammar
from toolspeak.dialects.text import TextDialect
from toolspeak.values.events import ToolChoice
from toolspeak.values.messages import ToolCall
from toolspeak.values.spec import ToolSpec

from .grammars import find_mistakes, is_derived

TEXT = [JSON, TYPESCRIPT, PYTHON]
REQUIRED = ToolChoice(mode="required")

TREE = {
    "type": "object",
    "properties": {"value": {"type": "number"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}},
    "required": ["value"],
}
WEATHER = ToolSpec(
    name="get_weather",
    description="",
    parameters={
        "properties": {
            "city": {"type": "string"},
            "unit": {"enum": ["c", "f"]},
            "days": {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2},
            "tree": {"$ref": "#/$defs/Tree"},
            "is-old": {"type": ["boolean", "null"]},
        },
        "required": ["city"],
        "$defs": {"Tree": TREE},
    },
)
NOW = ToolSpec(name="now", description="", parameters={})
PATCH = ToolSpec(
    name="patch",
    description="",
    parameters={"properties": {"text": {"type": "string"}}, "required": ["text"]},
    raw="text",
)

RIGHT: list[dict[str, Any]] = [
    {"city": "Paris"},
    {"city": 'a "b" \\ ü\n', "unit": "c"},
    {"city": "", "days": [1, -20], "tree": {"value": 1.5e3, "kids": [{"value": 0}]}},
    {"city": "x", "is-old": None},
    {"city": "x", "unit": "f", "is-old": True},
]
WRONG: list[dict[str, Any]] = [
    {},  # a required key is missing
    {"unit": "c"},
    {"city": 3},
    {"city": None},
    {"city": "x", "unit": "k"},
    {"city": "x", "unit": 3},
    {"city": "x", "days": []},
    {"city": "x", "days": [1, 2, 3]},
    {"city": "x", "days": [1.5]},
    {"city": "x", "tree": {"kids": []}},
    {"city": "x", "tree": {"value": 1, "more": 2}},
    {"city": "x", "is-old": "yes"},
    {"city": "x", "place": "y"},  # no such key
]


def grammar_of(
    text_dialect: TextDialect, *tools: ToolSpec, choice: ToolChoice = REQUIRED, parallel: bool = True
) -> str:
    return write_grammar(text_dialect.name, tools, choice, parallel=parallel)


def call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall(id="call_1", name=name, arguments=arguments)


def check(grammar: str, text: str, *, fits: bool = True) -> None:
    assert is_derived(grammar, text) == fits, text


@pytest.mark.parametrize("text_dialect", TEXT, ids=lambda each: each.name)
@pytest.mark.parametrize("mode", ["required", "named"])
@pytest.mark.parametrize("tools", [(WEATHER,), (WEATHER, NOW), (WEATHER, PATCH, NOW)], ids=len)
def test_every_grammar_is_valid(text_dialect: TextDialect, mode: Any, tools: tuple[ToolSpec, ...]) -> None:
    choice = ToolChoice(mode=mode, names=tuple(spec.name for spec in tools) if mode == "named" else ())
    for parallel in (True, False):
        grammar = grammar_of(text_dialect, *tools, choice=choice, parallel=parallel)
        assert find_mistakes(grammar) == ""
        assert grammar.startswith("root ::= ")


@pytest.mark.parametrize("text_dialect", TEXT, ids=lambda each: each.name)
def test_arguments_are_held_to_their_schema(text_dialect: TextDialect) -> None:
    grammar = grammar_of(text_dialect, WEATHER)
    for arguments in RIGHT:
        check(grammar, text_dialect.format_calls([call("get_weather", **arguments)]))
    for arguments in WRONG:
        check(grammar, text_dialect.format_calls([call("get_weather", **arguments)]), fits=False)


def nest_in(levels: int, wrap: Any) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"enum": ["one", "two"]}}}
    for _ in range(levels):
        schema = wrap(schema)
    return schema


@each_case(
    "wrap",
    {
        "items": lambda inner: {"type": "array", "items": inner},
        "nullable items": lambda inner: {"type": ["array", "null"], "items": inner},
        "free keys": lambda inner: {"type": "object", "additionalProperties": inner},
        "alternatives": lambda inner: {"anyOf": [{"type": "array", "items": inner}, {"type": "null"}]},
    },
)
def test_a_grammar_grows_with_the_schema_and_not_with_its_nesting(wrap: Any) -> None:
    for text_dialect in TEXT:
        sizes: list[int] = []
        for levels in (5, 10, 20):
            spec = ToolSpec(name="f", description="", parameters={"properties": {"x": nest_in(levels, wrap)}})
            grammar = grammar_of(text_dialect, spec)
            assert find_mistakes(grammar) == ""
            sizes.append(len(grammar))
        assert sizes[2] - sizes[1] <= 2.2 * (sizes[1] - sizes[0])
    value: Any = {"a": "one"}
    for _ in range(5):
        value = {"a key": value} if "additionalProperties" in wrap({}) else [value, value]
    spec = ToolSpec(name="f", description="", parameters={"properties": {"x": nest_in(5, wrap)}})
    for text_dialect in TEXT:
        check(grammar_of(text_dialect, spec), text_dialect.format_calls([call("f", x=value)]))


def test_a_definition_is_one_rule_however_it_is_referred_to() -> None:
    large = {"type": "object", "properties": {f"p{number}": {"type": "string"} for number in range(50)}}
    properties = {f"a{number}": {"$ref": f"{number}/$defs/Large"} for number in range(50)}
    schema = {"properties": properties, "$defs": {"Large": large}}
    spec = ToolSpec(name="f", description="", parameters=schema)
    assert len(grammar_of(JSON, spec).split("\n")) < 500


@pytest.mark.parametrize("text_dialect", TEXT, ids=lambda each: each.name)
def test_the_choice_says_which_tools_are_called_and_how_often(text_dialect: TextDialect) -> None:
    one, two = call("get_weather", city="Oslo"), call("now")
    write = text_dialect.format_calls
    several = grammar_of(text_dialect, WEATHER, NOW)
    check(several, write([one]))
    check(several, write([two, one, one]))
    check(several, write([call("tomorrow")]), fits=False)
    check(several, "It is cold.", fits=False)
    check(several, "", fits=False)
    single = grammar_of(text_dialect, WEATHER, NOW, parallel=False)
    check(single, write([two]))
    check(single, write([two, one]), fits=False)
    both = grammar_of(text_dialect, WEATHER, NOW, choice=ToolChoice(mode="named", names=("get_weather", "now")))
    check(both, write([one, two]))
    check(both, write([one]), fits=False)


@pytest.mark.parametrize("text_dialect", TEXT, ids=lambda each: each.name)
def test_a_raw_text_is_held_to_its_block(text_dialect: TextDialect) -> None:
    grammar = grammar_of(text_dialect, PATCH, WEATHER)
    for text in ("+a\n\n+b", "``\n ```\n```x\n~~~", '"\\'):
        check(grammar, f"```patch\n{text}\n```")
    check(grammar, "````patch\n+a\n```\n+b\n````")
    check(grammar, f"```patch\n+a\n```\n{text_dialect.format_calls([call('get_weather', city='x')])}")
    check(grammar, "```patch\n+a\n```\n+b\n```", fits=False)
    check(grammar, "```patch\n+a\n````\n+b\n```", fits=False)
    check(grammar, "```patch\n+a", fits=False)


# Random tools

NAMES = st.text(string.ascii_lowercase, min_size=1, max_size=5).map("key_".__add__)
PLAIN = st.one_of(
    st.sampled_from(["string", "integer", "number", "boolean", "null"]).map(lambda kind: {"type": kind}),
    st.lists(st.one_of(st.text(max_size=4), st.integers(-9, 9)), min_size=1, max_size=3).map(
        lambda each: {"enum": each}
    ),
)


def nest(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.one_of(
        inner.map(lambda item: {"type": "array", "items": item}),
        st.lists(inner, min_size=1, max_size=2).map(lambda options: {"anyOf": options}),
        objects(inner),
    )


def objects(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(NAMES, inner, max_size=3).flatmap(
        lambda properties: (
            st.lists(st.sampled_from(sorted(properties)), unique=True).map(
                lambda required: {"type": "object", "properties": properties, "required": required}
            )
            if properties
            else st.just({"type": "object", "properties": {}})
        )
    )


SCHEMAS = st.recursive(PLAIN, nest, max_leaves=5)


@st.composite
def values(draw: st.DrawFn, schema: dict[str, Any]) -> Any:
    """A value that fits a schema, with keys in the order of the schema."""
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]))
    if "anyOf" in schema:
        return draw(values(draw(st.sampled_from(schema["anyOf"]))))
    match schema["type"]:
        case "array":
            return draw(st.lists(values(schema["items"]), max_size=2))
        case "object":
            left_out = {
                name for name in schema["properties"] if name not in schema.get("required", ()) and draw(st.booleans())
            }
            return {name: draw(values(sub)) for name, sub in schema["properties"].items() if name not in left_out}
        case kind:
            plain = {
                "string": st.text(max_size=6),
                "integer": st.integers(-(10**6), 10**6),
                "number": st.floats(-1e9, 1e9) | st.integers(-9, 9),
                "boolean": st.booleans(),
                "null": st.none(),
            }
            return draw(plain[kind])


@settings(max_examples=20, deadline=None)
@given(objects(SCHEMAS), st.sampled_from(TEXT), st.data())
def test_what_a_dialect_writes_and_reads_is_accepted(
    parameters: dict[str, Any], text_dialect: TextDialect, data: st.DataObject
) -> None:
    spec = ToolSpec(name="act", description="", parameters=parameters)
    arguments = data.draw(values(parameters))
    text = text_dialect.format_calls([call("act", **arguments)])
    parser = text_dialect.parser([spec])
    (read,) = fold(parser.feed(text) + parser.close()).calls
    assert json.dumps(read.call.arguments) == json.dumps(arguments)
    grammar = grammar_of(text_dialect, spec, NOW)
    assert find_mistakes(grammar) == ""
    check(grammar, text)
    check(grammar, text.replace("act", "art", 1), fits=False)
    check(grammar, text[:-1], fits=False)
