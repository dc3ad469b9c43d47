"""What must hold for every signature, every value and every JSON."""

import inspect
import json
from collections.abc import Iterator
from dataclasses import dataclass, make_dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import PurePosixPath
from typing import Any, Literal, NamedTuple
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from pydantic import BaseModel, TypeAdapter, create_model
from seeing import seen
from typing_extensions import TypedDict

from toolspeak import InvalidArguments, Tool
from toolspeak.values.coercion import Coercion, coerce, coerce_arguments
from toolspeak.values.spec import strict_schema
from toolspeak.values.validation import Validation, is_valid
from toolspeak.values.work_budget import count_nodes

# Types, each with a strategy for its values


@dataclass(frozen=True)
class Kind:
    annotation: Any
    values: SearchStrategy[Any]


class Colour(Enum):
    RED = "red"
    BLUE = "BLUE"
    red = "other"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Size(StrEnum):
    SMALL = "s"
    LARGE = "SMALL"


class Pair(NamedTuple):
    left: int
    right: str = "r"


class Tree(BaseModel):
    label: str
    children: list["Tree"] = []


TREES = st.recursive(
    st.builds(Tree, label=st.text(max_size=5)),
    lambda below: st.builds(Tree, label=st.text(max_size=5), children=st.lists(below, max_size=2)),
    max_leaves=4,
)

HASHABLE = [
    Kind(str, st.text(max_size=8) | st.sampled_from(["3", "[1]", "null", "true", '{"a": 1}', "1,500", ""])),
    Kind(int, st.integers()),
    Kind(bool, st.booleans()),
    Kind(float, st.floats(allow_nan=False, allow_infinity=False)),
    Kind(date, st.dates()),
    Kind(datetime, st.datetimes(timezones=st.sampled_from([None, UTC]))),
    Kind(time, st.times()),
    Kind(timedelta, st.timedeltas(timedelta(days=-100_000), timedelta(days=100_000))),
    Kind(UUID, st.uuids()),
    Kind(Decimal, st.decimals(allow_nan=False, allow_infinity=False)),
    Kind(bytes, st.text(max_size=8).map(str.encode)),
    Kind(PurePosixPath, st.from_regex(r"/?[a-z]{1,3}(/[a-z]{1,3})?", fullmatch=True).map(PurePosixPath)),
    Kind(Colour, st.sampled_from(Colour)),
    Kind(Level, st.sampled_from(Level)),
    Kind(Size, st.sampled_from(Size)),
    Kind(Literal["a", "A", 1], st.sampled_from(["a", "A", 1])),
    Kind(int | str, st.integers() | st.text(max_size=8)),
]

PLAIN = [
    *HASHABLE,
    Kind(Pair, st.builds(Pair, st.integers(), st.text(max_size=5))),
    Kind(Tree, TREES),
    Kind(type(None), st.none()),
]

NAMES = st.sampled_from(["a", "b", "city", "from_date", "arguments", "items", "title", "type", "x"])


def containers(inner: SearchStrategy[Kind]) -> SearchStrategy[Kind]:
    return st.one_of(
        inner.map(lambda kind: Kind(list[kind.annotation], st.lists(kind.values, max_size=3))),
        inner.map(lambda kind: Kind(tuple[kind.annotation, ...], st.lists(kind.values, max_size=3).map(tuple))),
        inner.map(
            lambda kind: Kind(dict[str, kind.annotation], st.dictionaries(st.text(max_size=4), kind.values, max_size=3))
        ),
        st.tuples(inner, inner).map(
            lambda two: Kind(tuple[two[0].annotation, two[1].annotation], st.tuples(two[0].values, two[1].values))
        ),
        inner.map(lambda kind: Kind(kind.annotation | None, st.none() | kind.values)),
        st.dictionaries(NAMES, inner, min_size=1, max_size=3).flatmap(records),
    )


def records(parts: dict[str, Kind]) -> SearchStrategy[Kind]:
    """A model, a dataclass or a typed dict of these fields."""
    hints = {name: kind.annotation for name, kind in parts.items()}
    values = st.fixed_dictionaries({name: kind.values for name, kind in parts.items()})
    model = create_model("Model", **{name: (hint, ...) for name, hint in hints.items()})
    data = make_dataclass("Data", list(hints.items()))
    typed = TypedDict("typed", hints)
    return st.sampled_from(
        [
            Kind(model, values.map(lambda given: model(**given))),
            Kind(data, values.map(lambda given: data(**given))),
            Kind(typed, values),
        ]
    )


def sets() -> SearchStrategy[Kind]:
    each = st.sampled_from(HASHABLE)
    return st.one_of(
        each.map(lambda kind: Kind(set[kind.annotation], st.sets(kind.values, max_size=3))),
        each.map(lambda kind: Kind(frozenset[kind.annotation], st.frozensets(kind.values, max_size=3))),
    )


KINDS = st.recursive(st.sampled_from(PLAIN) | sets(), containers, max_leaves=4)


# Signatures


@dataclass(frozen=True)
class CallRecord:
    """A tool of a random signature, and values that may be passed to it."""

    tool: Tool[..., Any]
    kinds: dict[str, Kind]
    defaults: dict[str, Any]

    def called(self, arguments: Any) -> dict[str, Any]:
        bound = self.tool.bind(arguments)
        return self.tool.function(*bound.args, **bound.kwargs)


@st.composite
def tools(draw: st.DrawFn) -> CallRecord:
    kinds = draw(st.dictionaries(NAMES, KINDS, max_size=4))
    places = sorted(draw(st.lists(st.sampled_from([0, 1, 3]), min_size=len(kinds), max_size=len(kinds))))
    parameters: list[inspect.Parameter] = []
    defaults: dict[str, Any] = {}
    for (name, kind), place in zip(kinds.items(), places, strict=True):
        default = inspect.Parameter.empty
        # After a default, Python asks for defaults, up to the keyword-only parameters.
        if (defaults and place < 3) or draw(st.booleans()):
            default = defaults[name] = draw(kind.values)
        parameters.append(inspect.Parameter(name, inspect._ParameterKind(place), default=default))
    signature = inspect.Signature(parameters)

    def function(*args: Any, **kwargs: Any) -> dict[str, Any]:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return bound.arguments

    function.__signature__ = signature
    function.__annotations__ = {name: kind.annotation for name, kind in kinds.items()}
    return CallRecord(Tool(function), kinds, defaults)


@st.composite
def calls(draw: st.DrawFn) -> tuple[CallRecord, dict[str, Any]]:
    """A tool and values for all parameters without a default, and for some with one."""
    made = draw(tools())
    names = [name for name in made.kinds if name not in made.defaults or draw(st.booleans())]
    return made, {name: draw(made.kinds[name].values) for name in names}


def as_json(made: CallRecord, values: dict[str, Any]) -> dict[str, Any]:
    """Values as JSON by their types, through the text that a model would write."""
    dumped = {
        name: TypeAdapter(made.kinds[name].annotation).dump_python(value, mode="json") for name, value in values.items()
    }
    return json.loads(json.dumps(dumped))


# JSON


TEXTS = st.text(st.characters(), max_size=8) | st.sampled_from(
    [
        "3",
        "1,500",
        "[1,2]",
        '{"a": 1}',
        "null",
        "true",
        "yes",
        "RED",
        "low",
        "[",
        "{'a': (1,)}",
        "1e999",
        "\ud800",
        "NaN",
    ]
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | TEXTS, inner, max_size=3), max_leaves=8
)


# The properties


@given(calls())
def test_any_valid_value_survives_json_and_validation(call: tuple[CallRecord, dict[str, Any]]):
    made, values = call
    assert seen(made.called(as_json(made, values))) == seen({**made.defaults, **values})


@given(calls())
def test_what_fits_is_left_as_it_is(call: tuple[CallRecord, dict[str, Any]]):
    made, values = call
    sent, schema = as_json(made, values), made.tool.spec.parameters
    assert is_valid(sent, schema, schema)
    assert seen(coerce(sent, schema, schema)) == seen(sent)
    assert seen(coerce_arguments(sent, schema)) == seen(sent)


@given(tools(), JSON)
def test_whatever_comes_nothing_but_invalid_arguments_is_raised(made: CallRecord, arguments: Any):
    before = repr(arguments)
    try:
        made.called(arguments)
    except InvalidArguments as error:
        told = error
    else:
        told = None
    assert repr(arguments) == before
    assert told is None or (told.problems and str(told).encode())


@given(tools(), st.data())
def test_whatever_comes_for_the_right_keys_nothing_but_invalid_arguments_is_raised(
    made: CallRecord, data: st.DataObject
):
    arguments = {name: data.draw(JSON) for name in made.kinds}
    named: set[str] = set()
    try:
        made.called(arguments)
    except InvalidArguments as error:
        named = {problem.replace("[", ":").replace(".", ":").partition(":")[0] for problem in error.problems}
    assert named <= {*made.kinds, "and more"}


@given(tools(), st.data())
def test_coercion_is_idempotent(made: CallRecord, data: st.DataObject):
    schema = made.tool.spec.parameters
    arguments = {name: data.draw(JSON) for name in made.kinds}
    once = coerce(arguments, schema, schema)
    assert repr(coerce(once, schema, schema)) == repr(once)


@given(KINDS, JSON)
def test_coercion_changes_only_what_does_not_fit(kind: Kind, value: Any):
    def function(x):
        return x

    function.__annotations__ = {"x": kind.annotation}
    root = Tool(function).spec.parameters
    schema = root["properties"]["x"]
    changed = repr(coerce(value, schema, root)) != repr(value)
    assert not (changed and is_valid(value, schema, root))


@given(tools(), st.data())
def test_the_steps_of_coercion_and_validation_are_in_proportion_to_value_and_schema(
    made: CallRecord, data: st.DataObject
):
    schema = made.tool.spec.parameters
    arguments = {name: data.draw(JSON) for name in made.kinds}
    coercion, check = Coercion(arguments, schema), Validation(arguments, schema)
    coercion.coerce(arguments, schema)
    problems = list(check.find_problems(arguments, schema, ""))
    bound = count_texts(arguments) * count_nodes(schema)
    assert coercion.steps <= 2 * bound
    assert check.steps <= 2 * bound
    assert check.is_valid(arguments, schema) == (not problems)


def count_texts(value: Any) -> int:
    """The size of a value; a text may hold another value, so it counts by its length."""
    if isinstance(value, dict):
        return 1 + sum(map(count_texts, value.values()))
    if isinstance(value, list):
        return 1 + sum(map(count_texts, value))
    return 1 + len(value) if isinstance(value, str) else 1


def subschemas(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
        for key, value in schema.items():
            inner = value.values() if key in ("properties", "$defs") else value if isinstance(value, list) else [value]
            if key not in ("default", "enum", "const", "required"):
                for each in inner:
                    yield from subschemas(each)


@given(tools())
def test_a_schema_says_all_and_only_what_it_should(made: CallRecord):
    parameters = made.tool.spec.parameters
    assert json.loads(json.dumps(parameters, allow_nan=False)) == parameters
    assert list(parameters["properties"]) == list(made.kinds)
    assert parameters.get("required", []) == [name for name in made.kinds if name not in made.defaults]
    for schema in subschemas(parameters):
        assert not isinstance(schema.get("title"), str)
        assert "x-enum-names" not in schema
        if "properties" in schema:
            assert schema["additionalProperties"] is False
        if "$ref" in schema:
            assert schema["$ref"].removeprefix("#/$defs/") in parameters["$defs"]


@given(tools())
def test_the_strict_variant_requires_every_property_everywhere(made: CallRecord):
    strict = strict_schema(made.tool.spec.parameters)
    for schema in subschemas(strict):
        if "properties" in schema:
            assert schema["required"] == list(schema["properties"])
            assert schema["additionalProperties"] is False
    assert all(is_valid(None, strict["properties"][name], strict) for name in made.defaults)


@given(calls())
def test_a_null_that_the_strict_variant_asks_for_means_the_default(call: tuple[CallRecord, dict[str, Any]]):
    made, values = call
    schema = made.tool.spec.parameters
    nulls = {
        name: None
        for name in made.defaults.keys() - values.keys()
        if not is_valid(None, schema["properties"][name], schema)
    }
    assert seen(made.called(as_json(made, values) | nulls)) == seen({**made.defaults, **values})
