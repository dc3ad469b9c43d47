"""The check of an answer: each keyword of JSON Schema, in words for the model."""

import json
import random
from typing import Any

import jsonschema
import pytest

from tests.cases import each_case
from toolspeak.gateway.answer_patterns import measure_pattern
from toolspeak.gateway.answer_schema import AnswerCheck, AnswerSchema
from toolspeak.gateway.answer_text import PrefixReader
from toolspeak.values.validation import TOO_MANY_COMBINATIONS
from toolspeak.values.work_budget import WorkBudget
from toolspeak.wire.fields import FieldError

CASES: list[tuple[dict[str, Any], Any, Any, str]] = [
    ({"type": "integer"}, 1, "1", 'answer: got "1"; needs integer'),
    ({"type": ["string", "null"]}, None, 1, "answer: got 1; needs string or null"),
    ({"const": {"a": [1]}}, {"a": [1]}, {"a": [2]}, 'answer: got {"a": [2]}; needs {"a": [1]}'),
    ({"enum": [1, "a"]}, "a", True, 'answer: got true; needs 1 or "a"'),
    ({"minimum": 1}, 1, 0, "answer: got 0; needs at least 1"),
    ({"maximum": 1}, 1, 2, "answer: got 2; needs at most 1"),
    ({"exclusiveMinimum": 1}, 1.5, 1, "answer: got 1; needs more than 1"),
    ({"exclusiveMaximum": 1}, 0, 1, "answer: got 1; needs less than 1"),
    ({"multipleOf": 0.1}, 0.3, 0.25, "answer: got 0.25; needs a multiple of 0.1"),
    ({"minLength": 2}, "ab", "a", "answer: has 1 characters; needs at least 2"),
    ({"maxLength": 2}, "ab", "abc", "answer: has 3 characters; at most 2 are allowed"),
    ({"pattern": "^a+$"}, "aa", "ab", 'answer: got "ab"; must match the pattern ^a+$'),
    ({"format": "date"}, "2024-02-29", "2023-02-29", 'answer: got "2023-02-29"; needs a date'),
    ({"format": "date-time"}, "2024-02-29T10:00:00Z", "yesterday", 'answer: got "yesterday"; needs a date-time'),
    ({"format": "time"}, "10:00:00", "25:00:00", 'answer: got "25:00:00"; needs a time'),
    ({"format": "uuid"}, "12345678-1234-1234-1234-123456789abc", "1", 'answer: got "1"; needs a uuid'),
    ({"minItems": 1}, [1], [], "answer: has 0 items; needs at least 1"),
    ({"uniqueItems": True}, [1, True], [{"a": 1}, {"a": 1.0}], "answer: has an item twice"),
    ({"items": {"type": "string"}}, ["a"], ["a", 1], "answer[1]: got 1; needs string"),
    ({"prefixItems": [{"type": "string"}], "items": False}, ["a"], ["a", 1], "answer[1]: not allowed"),
    ({"contains": {"const": 1}}, [0, 1], [0], "answer: items that are 1: 0; needs 1 to inf"),
    ({"required": ["a"]}, {"a": 1}, {}, "answer.a: missing; needs any value"),
    ({"minProperties": 1}, {"a": 1}, {}, "answer: has 0 keys; needs at least 1"),
    ({"additionalProperties": False}, {}, {"b": 1}, "answer.b: no such key; the keys are: none"),
    ({"patternProperties": {"^a": {"type": "null"}}}, {"b": 1}, {"ab": 1}, "answer.ab: got 1; needs null"),
    ({"propertyNames": {"maxLength": 1}}, {"a": 1}, {"ab": 1}, "the key answer.ab: has 2 characters; at most 1"),
    ({"dependentRequired": {"a": ["b"]}}, {"b": 1}, {"a": 1}, "answer.b: missing; needed beside a"),
    ({"dependentSchemas": {"a": {"maxProperties": 1}}}, {"a": 1}, {"a": 1, "b": 2}, "answer: has 2 keys; at most 1"),
    ({"allOf": [{"minimum": 1}, {"maximum": 3}]}, 2, 4, "answer: got 4; needs at most 3"),
    ({"anyOf": [{"type": "string"}, {"minimum": 3}]}, 3, 2, "answer: got 2; needs string or any value"),
    ({"oneOf": [{"minimum": 1}, {"maximum": 3}]}, 0, 2, "answer: got 2; fits several alternatives"),
    ({"not": {"type": "null"}}, 1, None, "answer: got null; not allowed"),
    ({"if": {"type": "string"}, "then": {"minLength": 1}, "else": {"minimum": 0}}, "a", -1, "needs at least 0"),
    ({"$ref": "#/$defs/n", "maximum": 3, "$defs": {"n": {"maximum": 5, "minimum": 2}}}, 3, 4, "needs at most 3"),
    ({"$ref": "#/$defs/n", "maximum": 3, "$defs": {"n": {"maximum": 5, "minimum": 2}}}, 2, 1, "needs at least 2"),
    ({"properties": {"a": {"minimum": None, "type": "integer"}}}, {"a": 1}, {"a": "x"}, 'answer.a: got "x"'),
]


@pytest.mark.parametrize(("schema", "good", "bad", "words"), CASES, ids=[str(next(iter(each[0]))) for each in CASES])
def test_every_keyword(schema: dict[str, Any], good: Any, bad: Any, words: str):
    check = AnswerSchema(schema, "schema")
    assert check.find_problems(good) == []
    assert check.is_valid(good, check.root)
    (problem,) = check.find_problems(bad)
    assert words in problem


def test_of_alternatives_the_one_with_the_type_of_the_value_is_explained():
    schema = {"anyOf": [{"type": "object", "properties": {"a": {"type": "integer"}}}, {"type": "null"}]}
    assert AnswerSchema(schema, "schema").find_problems({"a": "x"}) == ['answer.a: got "x"; needs integer']


def test_only_the_first_problems_are_told():
    assert len(AnswerSchema({"items": False}, "schema").find_problems([1] * 100)) == 8


def test_alternatives_that_multiply_are_each_tried_once():
    tree: dict[str, Any] = {"$ref": "#/$defs/t", "$defs": {"t": {}}}
    item = {"type": "array", "items": {"$ref": "#/$defs/t"}}
    tree["$defs"]["t"] = {"anyOf": [{**item, "maxItems": 9}, {**item, "minItems": 0}, {"type": "string"}]}
    value: Any = 1
    for _ in range(60):
        value = [value]
    assert AnswerSchema(tree, "schema").find_problems(value)[0].startswith("answer: got [[[")


def make_schema(chance: random.Random, depth: int = 0) -> Any:
    """A schema of a few keywords at random."""

    def sub() -> Any:
        return make_schema(chance, depth + 1)

    leaves: list[Any] = [
        {"type": "string", "minLength": chance.randrange(3), "maxLength": 2 + chance.randrange(3)},
        {"type": "integer", "minimum": chance.randrange(-2, 2), "exclusiveMaximum": chance.randrange(1, 5)},
        {"enum": [1, "a", None, True, [1], {"a": 1}]},
        {"type": ["string", "null"], "pattern": "^a"},
        {"type": "number", "multipleOf": 2},
        {"$ref": "#/$defs/x", "description": "d"},
    ]
    if depth > 2 or chance.random() < 0.4:
        return chance.choice(leaves)
    names = "abc"[: chance.randrange(4)]
    more_keys: list[dict[str, Any]] = [
        {},
        {"additionalProperties": False},
        {"additionalProperties": sub()},
        {"patternProperties": {"^a": sub()}},
        {"propertyNames": {"maxLength": 1}},
        {"minProperties": 1},
        {"dependentRequired": {"a": ["b"]}},
    ]
    more_items: list[dict[str, Any]] = [
        {},
        {"minItems": 1},
        {"uniqueItems": True},
        {"prefixItems": [sub()]},
        {"contains": sub(), "maxContains": 1},
    ]
    return chance.choice(
        [
            {
                "type": "object",
                "properties": {name: sub() for name in names},
                "required": chance.sample("ab", chance.randrange(3)),
                **chance.choice(more_keys),
            },
            {"type": "array", "items": sub(), **chance.choice(more_items)},
            {"anyOf": [sub(), sub()], **chance.choice([{}, {"type": "object"}])},
            {"oneOf": [sub(), sub()]},
            {"allOf": [sub(), sub()]},
            {"not": sub()},
            {"if": sub(), "then": sub(), "else": sub()},
        ]
    )


def make_value(chance: random.Random, depth: int = 0) -> Any:
    kinds: list[Any] = [chance.randrange(-2, 6), chance.choice(["", "a", "ab", "b", "abcd"]), None, True, 2.5, 1]
    if depth < 3:
        kinds.append([make_value(chance, depth + 1) for _ in range(chance.randrange(3))])
        names = chance.sample(["a", "b", "c", "aa"], chance.randrange(4))
        kinds += [{name: make_value(chance, depth + 1) for name in names}] * 2
    return chance.choice(kinds)


def test_it_agrees_with_a_validator_of_the_whole_standard():
    chance = random.Random(7)
    outcomes: dict[bool, int] = {True: 0, False: 0}
    for _ in range(200):
        schema = {**make_schema(chance), "$defs": {"x": {"type": ["object", "integer"], "required": ["a"]}}}
        check, reference = AnswerSchema(schema, "schema"), jsonschema.Draft202012Validator(schema)
        for value in (make_value(chance) for _ in range(8)):
            is_valid = reference.is_valid(value)
            outcomes[is_valid] += 1
            assert (check.find_problems(value) == []) == is_valid, (schema, value)
    assert min(outcomes.values()) > 100


def fields(pattern: Any, count: int) -> dict[str, Any]:
    return {"type": "object", "properties": {f"p{place}": {"pattern": pattern(place)} for place in range(count)}}


@each_case(
    "schema, words",
    {
        "many large ones": (fields(lambda place: f"\\w{{200}}x{place}", 60), "too large together; use fewer"),
        "one larger one": (fields(lambda place: "(?:\\w{20}){20}", 1), "too large together"),
        "nested counts": (fields(lambda place: "(((a{100}){100}){100})", 1), "too large together"),
        "counts of counts": (fields(lambda place: "a{100}{100}{100}", 1), "too large together"),
        "a large count": (fields(lambda place: "a{999999999999}", 1), "too large together"),
        "classes by one letter": (fields(lambda place: "\\pL{300}", 1), "too large together"),
        "in names of keys": ({"patternProperties": {"\\w{999}": True}}, "too large together"),
        "many small ones": (fields(lambda place: f"^{place}$", 1_000), "too large together"),
        "comments": (fields(lambda place: "(?x) a # )", 1), "without comments"),
        "deep": (fields(lambda place: "(" * 500 + ")" * 500, 1), "and flatter"),
        "look-around": (fields(lambda place: "(?=a)", 1), "without look-around"),
        "no text": (fields(lambda place: 3, 1), "3 is no value of this keyword"),
    },
)
def test_patterns_are_refused_before_they_are_compiled_if_they_are_too_large(schema: dict[str, Any], words: str):
    with pytest.raises(FieldError, match=words) as refused:
        AnswerSchema(schema, "schema")
    assert refused.value.param.startswith("schema")


ORDINARY = [
    r"^[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}$",
    r"^[\w.+-]+@[\w-]+\.[\w.-]+$",
    r"^\+?[1-9]\d{1,14}$",
    r"^\d{4}-\d{2}-\d{2}$",
    r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
    r"^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$",
    r"^(?:https?://)?(?:[a-z0-9-]+\.)+[a-z]{2,}(?:/\S*)?$",
    r"^.{1,2000}$",
    r"^[^\s@]+$",
    r"^(?P<year>\d+)-(\p{L}|\x{41})[]x]*$",
]


def test_ordinary_patterns_are_allowed_and_one_that_is_written_twice_counts_once():
    check = AnswerSchema(fields(lambda place: ORDINARY[place % len(ORDINARY)], 5_000), "schema")
    assert check.find_problems({"p0": "a@example.org", "p2": "+4930123", "p3": "2024-02-29"}) == []
    assert len(check.find_problems({"p0": "a", "p2": "0", "p3": "24"})) == 3


def test_the_size_of_a_pattern_is_what_it_is_compiled_to():
    sizes = {
        "abc": (3, 3),
        "a{3}": (3, 3),
        "a{2,5}": (6, 6),
        "(ab|c){10}": (50, 40),
        "[a-z]{4}": (12, 4),
        "[^]a]": (17, 1),
        r"\w": (900, 1),
        r"[\w-]{2}": (1802, 2),
        r"\p{Greek}\x{41}{3}": (903, 4),
        r"\{3}": (3, 3),
        r"\b{start}a": (2, 2),
        "(?i)ab": (21, 4),
    }
    for pattern, (compiled, places) in sizes.items():
        size = measure_pattern(pattern)
        assert size is not None
        assert (size.compiled, size.places) == (compiled, places), pattern


def test_matching_is_counted_so_that_a_long_text_and_a_large_pattern_end():
    schema = AnswerSchema({"type": "string", "pattern": "^[ab]*a[ab]{5000}c$"}, "schema")
    budget = WorkBudget()
    assert AnswerCheck(schema, budget).find_problems("ab" * 50_000) == [f"answer: {TOO_MANY_COMBINATIONS}"]
    assert AnswerSchema({"type": "string", "pattern": "^.{1,5000}$"}, "schema").find_problems("x" * 5_000) == []


@each_case(
    "reference, is_allowed",
    {
        "#/$defs/a": True,
        "#/definitions/b": True,
        "#/properties/x/items": True,
        "#": True,
        "#/default": False,
        "#/default/inner": False,
        "#/$defs": False,
        "other.json#/$defs/a": False,
        "#/$defs/missing": False,
    }.items(),
)
def test_a_reference_leads_to_a_schema_and_not_to_data(reference: str, is_allowed: bool):
    schema: dict[str, Any] = {
        "default": {"inner": {"pattern": "a{9}"}, "pattern": "b"},
        "$defs": {"a": {"type": "string"}},
        "definitions": {"b": {"type": "string"}},
        "properties": {"x": {"items": {"type": "integer"}}, "y": {"$ref": reference}},
    }
    if is_allowed:
        assert AnswerSchema(schema, "schema").find_problems({"x": []}) == []
        return
    with pytest.raises(FieldError, match="is not a definition within the schema"):
        AnswerSchema(schema, "schema")


def test_a_list_of_types_counts_each_type_once_and_an_enum_is_read_once():
    schema = AnswerSchema({"items": {"type": ["string", "null"] * 1_000, "enum": [*map(str, range(2_000)), None]}}, "s")
    assert schema.root["items"]["type"] == ["string", "null"]
    budget = WorkBudget()
    assert AnswerCheck(schema, budget).find_problems([str(place) for place in range(2_000)]) == []
    assert budget.steps < 10_000


def test_parts_that_are_valid_are_not_checked_again_with_the_whole():
    schema: dict[str, Any] = {"type": "integer"}
    value: Any = 1
    for _ in range(30):
        schema, value = {"type": "array", "items": schema}, [value, 1] if isinstance(value, int) else [value]
    schema = {"type": "array", "items": {"$ref": "#/$defs/n", "description": "N."}, "$defs": {"n": schema}}
    steps: list[int] = []
    for count in (20, 40):
        reader = PrefixReader(AnswerSchema(schema, "schema"))
        reader.send(json.dumps([value] * count))
        assert reader.is_complete
        steps.append(reader.check.budget.steps)
    assert steps[1] <= 2.1 * steps[0]
    assert steps[1] <= 40 * 31 * 8


@each_case("keyword, value", [("required", [[]]), ("dependentRequired", {"a": 3}), ("required", [3])], ids=repr)
def test_names_are_texts(keyword: str, value: Any):
    with pytest.raises(FieldError, match="is no list of names"):
        AnswerSchema({keyword: value}, "schema")


def test_a_number_of_hundreds_of_digits_is_no_multiple():
    assert len(AnswerSchema({"multipleOf": 0.5}, "schema").find_problems(10**400)) == 1
