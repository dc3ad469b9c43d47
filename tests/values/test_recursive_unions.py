"""Coercion and validation by recursive unions: the steps are counted, and stay in proportion to the value."""

import inspect
import json
from typing import Any

import pytest

from toolspeak.values import work_budget
from toolspeak.values.coercion import Coercion, coerce, coerce_arguments
from toolspeak.values.validation import Validation, describe, find_problems, is_valid
from toolspeak.values.work_budget import count_nodes


def ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{name}"}


def node(constant: str, *below: str) -> dict[str, Any]:
    properties: dict[str, Any] = {"op": {"const": constant}}
    properties |= {name: {"anyOf": [ref("Num"), ref("Add"), ref("Mul"), ref("Neg")]} for name in below}
    return {"type": "object", "properties": properties, "required": list(properties)}


TAGGED = {
    "type": "object",
    "properties": {"x": {"anyOf": [ref("Num"), ref("Add"), ref("Mul"), ref("Neg")]}},
    "$defs": {
        "Num": {"type": "object", "properties": {"value": {"type": "integer"}}, "required": ["value"]},
        "Add": node("add", "left", "right"),
        "Mul": node("mul", "left", "right"),
        "Neg": node("neg", "of"),
    },
}
"""A union with a tag, as pydantic describes one."""

SIMILAR = {
    "type": "object",
    "properties": {"x": ref("N")},
    "$defs": {
        "N": {
            "anyOf": [
                {"type": "object", "properties": {"x": ref("N"), f"k{i}": {"type": "string"}}, "required": ["x"]}
                for i in range(4)
            ]
        }
    },
}
"""A union whose alternatives no key and no constant tells apart."""

ALL_OF = {
    "type": "object",
    "properties": {"x": ref("N")},
    "$defs": {"N": {"allOf": [{"type": "object", "properties": {"x": ref("N")}} for _ in range(3)]}},
}

WRAPPED = {
    "type": "object",
    "properties": {"x": ref("N")},
    "$defs": {
        "N": {"anyOf": [{"type": "array", "items": ref("N")}, {"type": "object", "properties": {"x": ref("N")}}]}
    },
}

TYPES = {
    "type": "object",
    "properties": {"x": ref("N")},
    "$defs": {"N": {"type": ["object", "array", "integer"], "properties": {"x": ref("N")}, "items": ref("N")}},
}


def tagged(depth: int, leaf: Any) -> Any:
    value: Any = {"value": leaf}
    for level in range(depth):
        value = {"op": ("add", "mul", "ADD")[level % 3], "left": value, "right": {"value": 1}}
    return value


def boxed(depth: int, leaf: Any) -> Any:
    value = leaf
    for _ in range(depth):
        value = {"x": value}
    return value


def encoded(depth: int, leaf: Any) -> Any:
    value = leaf
    for level in range(depth):
        value = {"x": json.dumps(value) if level < 6 else value}
    return value


FORMS = {
    "tagged": (TAGGED, tagged),
    "similar": (SIMILAR, boxed),
    "allOf": (ALL_OF, boxed),
    "wrapped": (WRAPPED, boxed),
    "types": (TYPES, boxed),
    "encoded": (SIMILAR, encoded),
}


def size_of(schema: Any) -> int:
    return count_nodes(schema)


def count_steps(value: Any, schema: Any) -> int:
    coercion, check = Coercion(value, schema), Validation(value, schema)
    coercion.coerce(value, schema)
    check.is_valid(value, schema)
    list(check.find_problems(value, schema, ""))
    return coercion.steps + check.steps


@pytest.mark.parametrize("leaf", [3, "3", "x", None, [], {}], ids=repr)
@pytest.mark.parametrize("form", FORMS)
def test_the_steps_grow_with_the_depth_and_not_with_its_power(form: str, leaf: Any):
    schema, make = FORMS[form]
    steps = {depth: count_steps({"x": make(depth, leaf)}, schema) for depth in (10, 20, 40)}
    assert steps[20] <= 2.5 * steps[10] + 100
    assert steps[40] <= 2.5 * steps[20] + 100
    assert steps[40] <= 2 * size_of(make(40, leaf)) * size_of(schema)


def test_one_wrong_leaf_is_found_below_forty_levels():
    assert list(find_problems({"x": boxed(40, 3)}, TYPES, TYPES)) == []
    [problem] = find_problems({"x": boxed(40, "no")}, TYPES, TYPES)
    assert problem.startswith(f'x{".x" * 40}: got "no"; needs ')


def test_a_deep_tree_is_coerced_as_a_shallow_one():
    given, meant = tagged(40, "7"), tagged(40, 7)
    text = json.dumps(meant).replace('"ADD"', '"add"')
    assert coerce_arguments({"x": given}, TAGGED) == {"x": json.loads(text)}


LOOPS = {
    "an alternative of itself": {"anyOf": [ref("N")]},
    "alternatives of one another": {"anyOf": [ref("M"), ref("N")]},
    "a part of itself": {"allOf": [ref("N")]},
    "an array of itself": {"type": "array", "items": ref("N")},
    "an array of itself, or a number": {"anyOf": [{"type": "array", "items": ref("N")}, {"type": "integer"}]},
}


@pytest.mark.parametrize("value", [3, "3", "x", None, {}, {"x": 1}, True], ids=repr)
@pytest.mark.parametrize("name", LOOPS)
def test_a_schema_that_leads_back_to_itself_ends(name: str, value: Any):
    root = {"type": "object", "$defs": {"N": LOOPS[name], "M": {"anyOf": [ref("N"), ref("M")]}}}
    coerced = coerce(value, ref("N"), root)
    assert coerced == ([3] if value == "3" and "number" in name else value)
    assert is_valid(value, ref("N"), root) == (not list(find_problems(value, ref("N"), root)))
    assert describe(ref("N"), root)


def test_alternatives_of_alternatives_are_described_in_bounds():
    layers = {
        f"d{i}": {"anyOf": [{"const": f"{i}.{j}" * 5} for j in range(6)] + [ref(f"d{i + 1}"), ref(f"d{i + 2}")]}
        for i in range(60)
    }
    assert len(describe(ref("d0"), {"type": "object", "$defs": layers})) < 200_000
    around = {f"d{i}": {"anyOf": [ref(f"d{j}") for j in range(12)]} for i in range(12)}
    assert describe(ref("d0"), {"type": "object", "$defs": around}) == "any value"


def test_beyond_the_allowed_steps_a_value_stays_and_the_refusal_says_why(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(work_budget, "FREE_STEPS", 50)
    monkeypatch.setattr(work_budget, "STEPS_PER_NODE", 0)
    value = tagged(12, "7")
    assert coerce({"x": value}, TAGGED, TAGGED) == {"x": value}
    assert coerce_arguments({"x": value}, TAGGED) == {"x": value}
    assert not is_valid({"x": tagged(12, 7)}, TAGGED, TAGGED)
    assert list(find_problems(boxed(40, 3), ref("N"), SIMILAR, "x")) == [
        "x: nested too deeply; there are too many combinations of alternatives to check"
    ]


def test_a_large_value_is_allowed_more_steps(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(work_budget, "FREE_STEPS", 50)
    value = {"x": [str(number) for number in range(2_000)]}
    schema = {"type": "object", "properties": {"x": {"type": "array", "items": {"type": "integer"}}}}
    assert coerce(value, schema, schema) == {"x": list(range(2_000))}


def test_a_part_that_occurs_twice_is_counted_and_checked_once():
    shared: Any = 3
    for _ in range(40):
        shared = [shared, shared]
    schema = {"$defs": {"N": {"anyOf": [{"type": "array", "items": ref("N")}, {"type": "integer"}]}}}
    check = Validation(shared, schema)
    assert check.is_valid(shared, ref("N"))
    assert check.steps < 1_000
    assert count_nodes(shared) == 81


def test_deep_values_need_few_frames():
    depth = len(inspect.stack(0))
    levels = (900 - depth) // 5
    assert coerce({"x": tagged(levels, "7")}, TAGGED, TAGGED)["x"] != tagged(levels, "7")
