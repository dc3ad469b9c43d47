"""The work of all that is done with a schema is linear in its size, however it is nested: counted, and not timed."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import each_case, sample
from tests.growth import CountedText, count_steps
from toolspeak.dialects import JSON, PYTHON, TYPESCRIPT
from toolspeak.dialects.json_notation import sample_value
from toolspeak.dialects.slim_tools import shorten_tools, slim_tools
from toolspeak.dialects.text import TextDialect
from toolspeak.dialects.tool_index import ToolIndex
from toolspeak.gateway.answer_schema import AnswerCheck, AnswerSchema
from toolspeak.gateway.answer_text import PrefixReader, check_answer
from toolspeak.gateway.held_format import add_instruction, hold_format
from toolspeak.mcp.config import ServerConfig
from toolspeak.mcp.tool_specs import build_spec
from toolspeak.tools.schema_function import SchemaChecker
from toolspeak.values.coercion import coerce_arguments
from toolspeak.values.errors import InvalidArguments, UsageError
from toolspeak.values.events import AUTO, ToolChoice
from toolspeak.values.spec import ToolSpec
from toolspeak.values.validation import describe, find_problems, is_valid
from toolspeak.values.work_budget import WorkBudget, count_nodes
from toolspeak.wire.chat_request import AnswerFormat
from toolspeak.wire.gemini_content.server import convert_schema
from toolspeak.wire.schemas import SchemaRules, fit_schema

Json = dict[str, Any]
REQUIRED = ToolChoice(mode="required")


# All that is done with a schema


def make_spec(schema: Json) -> ToolSpec:
    return ToolSpec(name="f", description="Do it.", parameters=schema, returns=schema)


def render(dialect: TextDialect) -> Callable[[Json], object]:
    return lambda schema: dialect.render([make_spec(schema)], (), choice=REQUIRED)


def check_arguments(schema: Json) -> None:
    spec = make_spec(schema)
    value = sample_value(spec.parameters)
    wrong = {name: [[{}], [{"a": 1}], "x"] for name in spec.parameters["properties"]}
    for arguments in (value, wrong):
        coerce_arguments(arguments, spec.parameters)
        is_valid(arguments, spec.parameters, spec.parameters)
        next(find_problems(arguments, spec.parameters, spec.parameters), None)
        with suppress(InvalidArguments):
            SchemaChecker(tool="f", schema=spec.parameters).validate(arguments)
    describe(spec.parameters, spec.parameters)


def hold_answer(schema: Json) -> None:
    form = AnswerFormat(schema=schema, path="schema")
    for tools in ((), (make_spec({}),)):
        add_instruction(hold_format(form, tools, AUTO, knows_field=False), ())
    prepared = AnswerSchema(schema, "schema")
    value = sample_value(schema)
    text = json.dumps(value)
    AnswerCheck(prepared, WorkBudget()).find_problems(value)
    check_answer({"x": [[1], {"a": {}}]}, prepared)
    PrefixReader(prepared).send(text)


def write_for_endpoints(schema: Json) -> None:
    for rules in (SchemaRules(strict=True), SchemaRules(no_any_of=True), SchemaRules(inline_refs=True)):
        fit_schema(make_spec(schema).parameters, rules)


def slim(schema: Json) -> None:
    spec = make_spec(schema)
    slim_tools([spec], TYPESCRIPT, 20)
    shorten_tools([spec])
    ToolIndex((spec,)).score("read the first word")


def read_from_server(schema: Json) -> None:
    build_spec(
        {"name": "f", "inputSchema": schema, "outputSchema": schema}, "f", ServerConfig(name="s", command=("s",))
    )
    convert_schema(schema)


WALKERS: dict[str, Callable[[Json], object]] = {
    "spec": make_spec,
    **{f"render {each.name}": render(each) for each in (JSON, TYPESCRIPT, PYTHON)},
    "arguments": check_arguments,
    "answer": hold_answer,
    "endpoints": write_for_endpoints,
    "slim": slim,
    "server": read_from_server,
}

FREE_STEPS = 30_000
"""Lines that a walker may need for any schema: prompts, caches, a way that only larger schemas take."""

FREE_INLINED_STEPS = 1_000_000
"""Lines until references are no more expanded, for an endpoint that knows none."""


def count_work(name: str, schema: Json) -> int:
    def work() -> None:
        with suppress(UsageError):  # refused with a sentence
            WALKERS[name](schema)

    return count_steps(work)


def warm_up(name: str) -> None:
    WALKERS[name]({"type": "object", "properties": {"x": {"anyOf": [{"type": "string"}, {"type": "null"}]}}})


def assert_linear(name: str, small: Json, large: Json, factor: float) -> None:
    warm_up(name)
    steps = [count_work(name, schema) for schema in (small, large)]
    free = FREE_INLINED_STEPS if name == "endpoints" else FREE_STEPS
    assert steps[1] <= 1.6 * factor * steps[0] + free, f"{steps} steps"


# Nesting

names = map("n{}".format, range(10**9))


def name() -> CountedText:
    return CountedText(next(names))


def in_object(inner: Json, **more: Any) -> Json:
    one, two = name(), name()
    return {"type": "object", "properties": {one: inner, two: {"type": "string"}}, "required": [one], **more}


WRAPPERS: dict[str, Callable[[Json], Json]] = {
    "object": in_object,
    "optional": lambda inner: in_object(inner, required=[]),
    "types": lambda inner: in_object(inner, type=["object"] * 5),
    "mixed types": lambda inner: in_object(inner, type=["object", "array", "null", "other"] * 2, items=inner),
    "items": lambda inner: {"type": "array", "items": inner},
    "counted items": lambda inner: {"type": ["array", "string"], "items": inner, "minItems": 1, "maxItems": 3},
    "free keys": lambda inner: {"type": "object", "additionalProperties": inner},
    "tuple": lambda inner: {"type": "array", "prefixItems": [{"type": "string"}, inner]},
    "anyOf": lambda inner: {"anyOf": [{"type": "integer"}, inner, {"type": "null"}]},
    "oneOf": lambda inner: {"oneOf": [inner, {"type": "boolean"}]},
    "allOf": lambda inner: {"allOf": [inner, {"description": "D. E."}]},
    "nullable": lambda inner: in_object({"anyOf": [inner, {"type": "null"}], "default": None}),
    "not": lambda inner: {"not": inner, "contains": {"type": "string"}},
    "definitions": lambda inner: in_object({"type": "string"}, definitions={"d": inner}),
    "default": lambda inner: {**inner, "default": [[1]], "description": "One. Two.\n\nThree."},
}


def wrap(inner: Json, kinds: list[str], levels: int) -> Json:
    for level in range(levels):
        inner = WRAPPERS[kinds[level % len(kinds)]](inner)
    return {"type": "object", "properties": {"x": inner}, "required": ["x"]}


LEAF: Json = {"type": "object", "properties": {"a": {"enum": ["one", "two"]}, "b": {"type": "string", "pattern": "^a"}}}


@settings(max_examples=12, deadline=None)
@given(st.lists(st.sampled_from(sorted(WRAPPERS.keys() - {"mixed types"})), min_size=1, max_size=3), st.data())
def test_a_schema_that_is_nested_twice_as_deep_takes_twice_the_work(kinds: list[str], data: st.DataObject):
    walker = data.draw(st.sampled_from(sorted(WALKERS)))
    assert_linear(walker, wrap(LEAF, kinds, 8), wrap(LEAF, kinds, 16), 2)


@each_case("walker", sorted(WALKERS))
def test_no_walker_multiplies_what_is_nested(walker: str):
    for kind in sample(sorted(WRAPPERS.keys() - {"mixed types"}), 8):
        assert_linear(walker, wrap(LEAF, [kind], 8), wrap(LEAF, [kind], 16), 2)
    # Here the schema itself is written twice at each level, so its size doubles.
    assert_linear(walker, wrap(LEAF, ["mixed types"], 3), wrap(LEAF, ["mixed types"], 5), 4)


# Width


def properties(count: int, schema: Json) -> Json:
    return {name(): schema for _ in range(count)}


def define(count: int, write: Callable[[int], Any], **more: Any) -> Json:
    return {"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, **more, "$defs": dict(write(count))}


def make_wide() -> dict[str, Callable[[int], Json]]:
    large = {"type": "object", "properties": properties(30, {"type": "string"})}
    return {
        "optional": lambda count: {"type": "object", "properties": properties(count, {"type": "string"})},
        "required": lambda count: {
            "type": "object",
            "properties": (given := properties(count, {"type": ["string", "null"]})),
            "required": list(map(CountedText, given)),
        },
        "enum": lambda count: {"properties": {"x": {"enum": [f"v{each}" for each in range(count)]}}},
        "types": lambda count: {"properties": {"x": {"type": ["object", "null"] * count, **large}}},
        "anyOf": lambda count: {"properties": {"x": {"anyOf": [{"const": each} for each in range(count)]}}},
        "allOf": lambda count: {"properties": {"x": {"allOf": [{"type": "object"}] * count}}},
        "references": lambda count: {
            "properties": {f"p{each}": {"$ref": "#/$defs/d"} for each in range(count)},
            "$defs": {"d": large},
        },
        "references in other words": lambda count: {
            "properties": {"x": {"anyOf": [{"$ref": f"{each}/$defs/d"} for each in range(count)]}},
            "$defs": {"d": large},
        },
        "references with more": lambda count: {
            "properties": {f"p{each}": {"$ref": "#/$defs/d", "description": "D."} for each in range(count)},
            "$defs": {"d": large},
        },
        "a chain": lambda count: define(
            count, lambda count: ((f"d{each}", {"allOf": [{"$ref": f"#/$defs/d{each + 1}"}]}) for each in range(count))
        ),
        "a chain that doubles": lambda count: define(
            count,
            lambda count: (
                (f"d{each}", {"properties": {key: {"$ref": f"#/$defs/d{each + 1}"} for key in "ab"}})
                for each in range(count)
            ),
        ),
        "a circle": lambda count: define(
            count,
            lambda count: (
                (f"d{each}", {"anyOf": [{"$ref": f"#/$defs/d{(each + step) % count}"} for step in (1, 2)]})
                for each in range(count)
            ),
        ),
        "description": lambda count: {"properties": {"x": {"description": "a.\n \n`{example}` " * count}}},
        "space": lambda count: {"properties": {"x": {"description": "\n" * 50 * count + "x"}}},
        "default": lambda count: {"properties": {"x": {"default": [[each] for each in range(count)]}}},
        "patterns": lambda count: {"properties": {f"p{each}": {"pattern": f"^{each}$"} for each in range(count)}},
        "odd names": lambda count: {"properties": {f"a\n{each}": {"type": "string"} for each in range(count)}},
    }


@pytest.mark.slow
@each_case("walker", sorted(WALKERS))
def test_a_schema_that_is_four_times_as_wide_takes_four_times_the_work(walker: str):
    for kind, make in sample(make_wide().items(), 6):
        try:
            assert_linear(walker, make(50), make(200), 4)
        except AssertionError as failed:
            pytest.fail(f"{kind}: {failed}")


# Anything

SIMPLE: list[Any] = [
    {"type": "string"},
    {"type": "integer", "minimum": 1},
    {"type": ["string", "null"] * 3},
    {"enum": ["a", 1, None]},
    {"const": {"a": [1]}},
    {"$ref": "#/$defs/a"},
    {"$ref": "#/$defs/b", "description": "B."},
    {},
    True,
    None,
    3,
]


def extend(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    keys = st.sampled_from(["a", "b", "c\n", "```", "{example}"])
    parts = st.lists(inner, max_size=3)
    kinds = st.lists(st.sampled_from(["object", "array", "null", "string", "x", 3]), max_size=6)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": st.one_of(kinds, st.sampled_from(["object", "array"])),
            "properties": st.dictionaries(keys, inner, max_size=3),
            "required": st.lists(st.one_of(keys, st.integers()), max_size=3),
            "items": inner,
            "prefixItems": parts,
            "additionalProperties": inner,
            "anyOf": parts,
            "oneOf": parts,
            "allOf": parts,
            "enum": parts,
            "default": inner,
            "description": st.text(st.sampled_from("a.` \n{}"), max_size=20),
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "b"]), inner, max_size=1),
        },
    )


schemas = st.recursive(st.sampled_from(SIMPLE), extend, max_leaves=25)


@settings(max_examples=60, deadline=None)
@given(schemas, st.dictionaries(st.sampled_from("ab"), schemas, max_size=2), st.sampled_from(sorted(WALKERS)))
def test_the_work_for_any_schema_is_in_proportion_to_its_size(inner: Any, definitions: Json, walker: str):
    schema = {"type": "object", "properties": {"x": inner}, "$defs": definitions}
    size = count_nodes(schema) + len(json.dumps(schema)) // 8
    warm_up(walker)
    free = FREE_INLINED_STEPS if walker == "endpoints" else FREE_STEPS
    assert count_work(walker, schema) <= 300 * size + free
