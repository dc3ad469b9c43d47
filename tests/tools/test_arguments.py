"""From what a model sends to what a function gets: coercion by the schema, and words for what cannot be used."""

import itertools
import json
import math
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field
from tests.cases import RUNS_ALL, each_case, sample

from toolspeak import InvalidArguments, Tool
from toolspeak.tools.arguments import MAX_ERROR_LINES
from toolspeak.values.errors import ToolError


class Unit(Enum):
    CELSIUS = "celsius"
    DEEP_COLD = "deep-cold"


class Level(Enum):
    LOW = 1
    HIGH = 2


class Swapped(Enum):
    A = "B"
    B = "A"


class Address(BaseModel):
    street: str
    number: int = 1


class Order(BaseModel):
    name: str
    tags: list[str] = []
    to: Address
    amounts: dict[str, int] = {}


@dataclass
class Point:
    x: int
    y: float = 0.0


class Tree(BaseModel):
    label: str
    children: list["Tree"] = []


def takes(annotation: Any, *default: Any) -> Tool[..., Any]:
    """A tool with one parameter, `x`."""

    def function(x):
        return x

    function.__annotations__ = {"x": annotation}
    function.__defaults__ = default or None
    return Tool(function)


def got(annotation: Any, sent: Any) -> Any:
    made = takes(annotation)
    bound = made.bind({"x": sent})
    return made.function(*bound.args, **bound.kwargs)


def refused(made: Tool[..., Any], sent: Any) -> InvalidArguments:
    with pytest.raises(InvalidArguments) as caught:
        made.bind(sent)
    return caught.value


# What is coerced


@pytest.mark.parametrize(
    ("annotation", "sent", "received"),
    [
        # numbers as strings
        (int, "3", 3),
        (int, " 3 ", 3),
        (int, "-3", -3),
        (int, "3.0", 3),
        (int, "1e3", 1000),
        (int, "1,500", 1500),
        (int, "12,345,678", 12345678),
        (float, "0.5", 0.5),
        (float, "1,500.25", 1500.25),
        (float, "-.5", -0.5),
        (int | None, "3", 3),
        (Annotated[int, Field(ge=1)], "1,500", 1500),
        (list[int], ["1", "2,000"], [1, 2000]),
        (dict[str, int], {"a": "1,000"}, {"a": 1000}),
        # a whole float for an integer
        (int, 3.0, 3),
        (int, 1e3, 1000),
        (list[int], [1.0], [1]),
        # an unquoted number where text is asked for
        (str, 3, "3"),
        (list[str], [1, "b"], ["1", "b"]),
        # booleans in words
        (bool, "true", True),
        (bool, "True", True),
        (bool, "YES", True),
        (bool, "yes", True),
        (bool, "on", True),
        (bool, "1", True),
        (bool, 1, True),
        (bool, "false", False),
        (bool, "No", False),
        (bool, "off", False),
        (bool, 0, False),
        # arrays and objects as text
        (list[int], "[1,2]", [1, 2]),
        (list[int], " [1, 2]\n", [1, 2]),
        (list[str], '["a", "b"]', ["a", "b"]),
        (list[str], "['a', 'b']", ["a", "b"]),
        (list[int], '["1", "2"]', [1, 2]),
        (set[int], "[1,2,2]", {1, 2}),
        (tuple[int, str], '[1, "a"]', (1, "a")),
        (tuple[int, ...], "[1, 2]", (1, 2)),
        (list[list[int]], ["[1,2]", [3]], [[1, 2], [3]]),
        (list[list[int]], '["[1,2]", "[3]"]', [[1, 2], [3]]),
        (dict[str, int], '{"a": 1}', {"a": 1}),
        (dict[str, list[int]], {"a": "[1]"}, {"a": [1]}),
        (dict[str, bool], "{'a': True, 'b': False}", {"a": True, "b": False}),
        (Address, '{"street": "A", "number": "2"}', Address(street="A", number=2)),
        (Point, '{"x": "1,000"}', Point(1000)),
        (list[Address], '[{"street": "A"}]', [Address(street="A")]),
        (list[Address], ['{"street": "A"}'], [Address(street="A")]),
        (Address | None, '{"street": "A"}', Address(street="A")),
        (list[int] | None, "[1]", [1]),
        # inside objects
        (
            Order,
            {"name": "[1]", "tags": '["a"]', "to": '{"street": "{}", "number": 2.0}', "amounts": '{"x": "1,000"}'},
            Order(name="[1]", tags=["a"], to=Address(street="{}", number=2), amounts={"x": 1000}),
        ),
        (
            Tree,
            {"label": "a", "children": '[{"label": "b", "children": "[]"}]'},
            Tree(label="a", children=[Tree(label="b")]),
        ),
        # enums by name and in another case
        (Unit, "CELSIUS", Unit.CELSIUS),
        (Unit, "Celsius", Unit.CELSIUS),
        (Unit, "deep cold", Unit.DEEP_COLD),
        (Unit, "DEEP_COLD", Unit.DEEP_COLD),
        (Unit, "Deep-Cold", Unit.DEEP_COLD),
        (Unit, " celsius ", Unit.CELSIUS),
        (Level, "HIGH", Level.HIGH),
        (Level, "high", Level.HIGH),
        (Level, "2", Level.HIGH),
        (Level, 2.0, Level.HIGH),
        (Swapped, "A", Swapped.B),  # a value comes before a name
        (list[Unit], ["CELSIUS"], [Unit.CELSIUS]),
        (list[Unit], "CELSIUS", [Unit.CELSIUS]),
        (Unit | None, "CELSIUS", Unit.CELSIUS),
        (dict[str, Level], {"a": "LOW"}, {"a": Level.LOW}),
        (Literal["km", "mi"], "KM", "km"),
        (Literal[1, 2], "2", 2),
        # a bare scalar where an array of such is asked for
        (list[int], 3, [3]),
        (list[int], "3", [3]),
        (list[str], "a", ["a"]),
        (list[str], "a, b", ["a, b"]),
        (set[str], "a", {"a"}),
        (list[Address], {"street": "A"}, [Address(street="A")]),
        (list[date], "2024-01-02", [date(2024, 1, 2)]),
        # null in words, where null is allowed and text is not
        (int | None, "null", None),
        (int | None, "None", None),
        (int | None, "", None),
    ],
)
def test_a_form_is_changed_where_its_meaning_is_beyond_doubt(annotation: Any, sent: Any, received: Any):
    value = got(annotation, sent)
    assert value == received
    assert type(value) is type(received)


@pytest.mark.parametrize(
    "text",
    ["3", "3.0", "[1]", "[1,2]", "null", "None", "true", "yes", '{"a":1}', "", " ", "1,500", '"quoted"', "{}", "NaN"],
)
@pytest.mark.parametrize(
    ("annotation", "wrap"),
    [
        (str, lambda text: text),
        (str | None, lambda text: text),
        (str | int, lambda text: text),
        (int | str, lambda text: text),
        (str | list[int], lambda text: text),
        (Annotated[str, Field(min_length=0)], lambda text: text),
        (list[str], lambda text: [text]),
        (dict[str, str], lambda text: {"k": text}),
        (tuple[str, int], lambda text: [text, 3]),
        (str | bool | None, lambda text: text),
        (Any, lambda text: text),
    ],
)
def test_a_string_stays_where_a_string_is_allowed(annotation: Any, wrap: Any, text: str):
    received = got(annotation, wrap(text))
    assert received == (tuple(wrap(text)) if annotation == tuple[str, int] else wrap(text))


@pytest.mark.parametrize("text", ["3", "[1]", "null", "true", '{"a":1}'])
def test_a_string_stays_also_when_another_argument_is_coerced(text: str):
    def function(a: str, b: list[int], c: Address):
        return a, b, c

    bound = Tool(function).bind({"a": text, "b": "[1,2]", "c": {"street": text, "number": "1,000"}})
    assert bound.kwargs == {"a": text, "b": [1, 2], "c": Address(street=text, number=1000)}


# All arguments at once


def no_parameters():
    return "done"


@pytest.mark.parametrize("sent", [{}, None, "", [], "{}", "[]", [{}], {"arguments": {}}, {"arguments": None}])
def test_a_tool_without_parameters_takes_every_way_of_saying_nothing(sent: Any):
    assert Tool(no_parameters).bind(sent).kwargs == {}


def route(start: str, stops: list[str] = [], fast: bool = False):  # noqa: B006 (a list as a default is what the shape is about)
    return start, stops, fast


@pytest.mark.parametrize(
    "sent",
    [
        {"start": "A", "fast": True},
        {"arguments": {"start": "A", "fast": True}},
        {"arguments": '{"start": "A", "fast": "yes"}'},
        {"parameters": {"start": "A", "fast": True}},
        {"input": {"start": "A", "fast": True}},
        {"arguments": {"arguments": {"start": "A", "fast": True}}},
        [{"start": "A", "fast": True}],
        '{"start": "A", "fast": true}',
        "{'start': 'A', 'fast': True}",
    ],
)
def test_arguments_wrapped_once_too_often_are_unwrapped(sent: Any):
    assert Tool(route).bind(sent).kwargs == {"start": "A", "fast": True}


def test_a_parameter_that_has_the_name_of_a_wrapper_is_not_unwrapped():
    def run(arguments: dict[str, Any]):
        return arguments

    assert Tool(run).bind({"arguments": {"arguments": {"a": 1}}}).kwargs == {"arguments": {"arguments": {"a": 1}}}


def test_none_for_a_parameter_with_a_default_is_its_default():
    made = Tool(route)
    bound = made.bind({"start": "A", "stops": None, "fast": None})
    assert made.function(*bound.args, **bound.kwargs) == ("A", [], False)


def test_none_for_a_field_with_a_default_is_its_default():
    assert got(Address, {"street": "A", "number": None}) == Address(street="A")


def test_none_stays_where_none_is_allowed():
    assert takes(int | None, 3).bind({"x": None}).kwargs == {"x": None}


def test_what_came_is_not_changed_in_place():
    sent = {"start": "A", "stops": "[1]", "fast": "yes"}
    Tool(route).bind(sent)
    assert sent == {"start": "A", "stops": "[1]", "fast": "yes"}


# What is not coerced


@pytest.mark.parametrize(
    ("annotation", "sent"),
    [
        (int, "three"),
        (int, "15 km"),
        (int, "3.5"),
        (int, 3.5),
        (int, "1,50"),
        (int, ",500"),
        (int, ""),
        (int, "١٢ km"),
        (int, [3]),
        (int, None),
        (int, "9" * 5000),
        (float, "1.500,25"),
        (float, {}),
        (str, ["a"]),
        (str, {"a": 1}),
        (str, True),
        (bool, "maybe"),
        (bool, 2),
        (list[int], "[1, 2"),
        (list[int], "1, 2"),
        (list[int], [1, "x"]),
        (list[int], None),
        (dict[str, int], "[1]"),
        (dict[str, int], "{broken"),
        (dict[str, int], 3),
        (tuple[int, int], [1]),
        (tuple[int, int], 1),
        (Unit, "kelvin"),
        (Unit, 3),
        (Unit, ["celsius", "celsius"]),
        (Level, "3"),
        (Literal["km"], "miles"),
        (Address, []),
        (Address, {}),
        (date, "tomorrow"),
        (Decimal, "much"),
        (Annotated[int, Field(ge=1)], 0),
    ],
)
def test_what_is_in_doubt_is_refused(annotation: Any, sent: Any):
    error = refused(takes(annotation), {"x": sent})
    assert error.problems[0].startswith("x")


# What a model is told


@pytest.mark.parametrize(
    ("annotation", "sent", "lines"),
    [
        (int, "three", ['x: got "three"; needs integer']),
        (int | None, "three", ['x: got "three"; needs integer or null']),
        (str, ["a"], ['x: got ["a"]; needs string']),
        (Unit, "kelvin", ['x: got "kelvin"; needs "celsius" or "deep-cold"']),
        (Literal[1, "a", None], 2, ['x: got 2; needs 1, "a" or null']),
        (list[int], [1, "b", "c"], ['x[1]: got "b"; needs integer', 'x[2]: got "c"; needs integer']),
        (dict[str, list[bool]], {"k": ["maybe"]}, ['x.k[0]: got "maybe"; needs boolean']),
        (Address, {"number": "many"}, ["x.street: missing; needs string", 'x.number: got "many"; needs integer']),
        (Address, 7, ["x: got 7; needs object with keys street, number"]),
        (Address | None, {"number": 1}, ["x.street: missing; needs string"]),
        (
            Order,
            {"name": "n", "to": {"street": [], "number": None}},
            ["x.to.street: got []; needs string"],
        ),
        (date, "tomorrow", ['x: got "tomorrow"; Input should be a valid date or datetime']),
        (Annotated[int, Field(ge=1, le=9)], 10, ["x: got 10; Input should be less than or equal to 9"]),
        (list[Annotated[int, Field(ge=1)]], [5, 0], ["x[1]: got 0; Input should be greater than or equal to 1"]),
        (tuple[int, int], [1], ["x[1]: got [1]; Field required"]),
    ],
)
def test_each_line_names_the_field_what_came_and_what_is_allowed(annotation: Any, sent: Any, lines: list[str]):
    error = refused(takes(annotation), {"x": sent})
    assert len(error.problems) == len(lines)
    for told, expected in zip(error.problems, lines, strict=True):
        assert told.startswith(expected)


def test_every_bad_field_is_named_and_no_good_one():
    def many(good: int, text: str, number: float, flag: bool, when: date, unit: Unit, needed: str):
        """Take many."""

    error = refused(
        Tool(many),
        {"good": "1", "text": [], "number": "x", "flag": "perhaps", "when": "now", "unit": "K", "Unit ": 1},
    )
    assert str(error).splitlines()[0] == "The arguments of many are not valid:"
    named = {line.partition(":")[0].strip() for line in error.problems}
    assert named == {"text", "number", "flag", "when", "unit", "Unit", "needed"}
    assert "needed: missing; needs string" in error.problems


def test_the_error_is_the_text_a_model_gets():
    error = refused(takes(int), {"x": "y"})
    assert str(error) == 'The arguments of function are not valid:\n- x: got "y"; needs integer'
    assert error.tool == "function"
    assert isinstance(error, ToolError)


@pytest.mark.parametrize(
    ("key", "cure"),
    [
        ("Start", "did you mean start?"),
        ("starts", "did you mean start?"),
        ("fast_", "did you mean fast?"),
        ("zzz", "the keys are: start, stops, fast"),
    ],
)
def test_an_unknown_key_is_named_with_the_nearest_right_one(key: str, cure: str):
    arguments = {key: 1} if "start" in cure and "keys" not in cure else {"start": "A", key: 1}
    assert f"{key}: no such key; {cure}" in refused(Tool(route), arguments).problems


def test_an_unknown_key_of_a_tool_without_parameters():
    assert refused(Tool(no_parameters), {"x": 1}).problems == ("x: no such key; the keys are: none",)


@pytest.mark.parametrize("sent", [3, True, "text", [1, 2], ["a"], 1.5, "[1, 2]"])
def test_arguments_that_are_no_object_are_refused_with_the_keys(sent: Any):
    error = refused(Tool(route), sent)
    assert len(error.problems) == 1
    assert "must be a JSON object with keys start, stops, fast" in str(error)


def test_the_error_has_few_lines_however_much_is_wrong():
    error = refused(takes(list[int]), {"x": ["bad"] * 1000})
    assert len(error.problems) == MAX_ERROR_LINES
    assert error.problems[-1] == "and more"
    assert len(str(error).splitlines()) == MAX_ERROR_LINES + 1


def test_a_long_value_is_cut():
    error = refused(takes(int), {"x": "many " * 100})
    assert "…" in str(error)
    assert len(str(error)) < 200


def test_a_value_with_line_breaks_stays_on_its_line():
    error = refused(takes(int), {"x": "a\nb\u2028c\r\nd", "key\nwith\rbreaks": 1})
    assert len(str(error).splitlines()) == 1 + len(error.problems) == 3


class Line(BaseModel):
    size: Literal["S", "M"]
    count: int = Field(1, le=10)


class Basket(BaseModel):
    lines: list[Line]
    code: int | list[Line] | None = None


def test_what_only_pydantic_knows_is_told_beside_what_the_schema_says():
    def put(basket: Basket) -> None: ...

    lines = [{"size": "S", "count": 11}, {"size": "XL", "count": 12}, {"size": "M"}]
    with pytest.raises(InvalidArguments) as caught:
        Tool(put).bind({"basket": {"lines": lines, "code": [{"size": "XS", "count": 13}]}})
    assert sorted(line.partition(":")[0] for line in caught.value.problems) == [
        "basket.code[0].size",
        "basket.lines[0].count",
        "basket.lines[1].count",
        "basket.lines[1].size",
    ]


# Whatever a validator or a value does


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even this")


def raising(error: BaseException):
    def validator(value: Any) -> Any:
        raise error

    return validator


@pytest.mark.parametrize("kind", [BeforeValidator, AfterValidator])
@pytest.mark.parametrize(
    "error",
    [
        ValueError("too plain"),
        ValueError("line one\nline two"),
        AssertionError(),
        TypeError("a type"),
        KeyError("k"),
        ZeroDivisionError("division"),
        RuntimeError("a\nb"),
        StopIteration(),
        RecursionError("deep"),
        MemoryError(),
        OSError(2, "no such file"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
        Unprintable(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_validator_may_raise_anything(kind: Any, error: Exception):
    made = takes(Annotated[int, kind(raising(error))])
    told = refused(made, {"x": 1})
    assert len(str(told).splitlines()) == 2


def test_a_validator_that_raises_is_told_with_its_words():
    made = takes(Annotated[int, AfterValidator(raising(ZeroDivisionError("by zero")))])
    assert refused(made, {"x": 1}).problems == ("x: ZeroDivisionError: by zero",)


def nested(levels: int, leaf: Any, wrap: Any) -> Any:
    value = leaf
    for _ in range(levels):
        value = wrap(value)
    return value


DEEP = 10_000
DEEP_VALUES = {
    "lists": nested(DEEP, 1, lambda value: [value]),
    "objects": nested(DEEP, 1, lambda value: {"a": value}),
    "trees": nested(DEEP, {"label": "leaf"}, lambda value: {"label": "a", "children": [value]}),
    "text of lists": "[" * DEEP + "]" * DEEP,
    "text of objects": '{"a":' * DEEP + "1" + "}" * DEEP,
    "text never closed": "[" * DEEP,
    "text in Python": "(" * DEEP + ")" * DEEP,
}
HUGE_TEXT = "a" * 5_000_000
HOSTILE_VALUES = {
    "NaN": math.nan,
    "infinity": math.inf,
    "minus infinity": -math.inf,
    "huge integer": 10**5000,
    "large float": 1e308,
    "lone surrogate": "\ud800",
    "lone surrogate in a list": ["\udfff"],
    "lone surrogate as a key": {"\ud800": 1},
    "NUL": "\x00",
    "5 MB of text": HUGE_TEXT,
    "5 MB of digits": "1" * 5_000_000,
    "5 MB of JSON": json.dumps(["a" * 1000] * 5000),
    "5 MB in a bracket": "[" + HUGE_TEXT,
    "5 MB as a key": {HUGE_TEXT: 1},
    "many keys": {str(number): number for number in range(10_000)},
}
TOOLS = {
    str(annotation): takes(annotation)
    for annotation in (
        int,
        float,
        str,
        bool,
        bytes,
        Any,
        date,
        Decimal,
        Unit,
        Level,
        Literal["a", 1],
        int | None,
        list[int],
        list[str],
        set[str],
        list[Any],
        tuple[int, str],
        dict[str, int],
        dict[str, Any],
        Address,
        Point,
        Tree,
        Tree | int | None,
        list[list[Tree]],
    )
}


@each_case("tool, value", sample(itertools.product(TOOLS, DEEP_VALUES | HOSTILE_VALUES), 60))
def test_nothing_but_invalid_arguments_leaves(tool: str, value: str):
    told = ""
    try:
        TOOLS[tool].bind({"x": (DEEP_VALUES | HOSTILE_VALUES)[value]})
    except InvalidArguments as error:
        told = str(error)
    assert len(told) < 4000
    assert len(told.splitlines()) <= MAX_ERROR_LINES + 1
    told.encode()


@each_case("value", DEEP_VALUES | HOSTILE_VALUES)
def test_nothing_but_invalid_arguments_leaves_when_it_is_all_there_is(value: Any):
    for made in (Tool(route), Tool(no_parameters)):
        error = refused(made, value)
        assert len(str(error)) < 4000
        assert len(str(error).splitlines()) <= MAX_ERROR_LINES + 1


def test_a_huge_unknown_key_is_cut():
    error = refused(Tool(route), {"start": "A", HUGE_TEXT: 1})
    assert len(str(error)) < 200


def test_of_a_million_bad_items_a_few_are_told_soon():
    error = refused(takes(list[int]), {"x": ["bad"] * (1_000_000 if RUNS_ALL else 100_000)})
    assert error.problems[0] == 'x[0]: got "bad"; needs integer'
    assert len(error.problems) == MAX_ERROR_LINES


def test_what_a_validator_says_is_cut():
    made = takes(Annotated[int, AfterValidator(raising(ValueError("no " * 10_000)))])
    assert len(str(refused(made, {"x": 1}))) < 500


class Num(BaseModel):
    value: int


class Add(BaseModel):
    op: Literal["add"]
    left: "Expression"
    right: "Expression"


class Mul(BaseModel):
    op: Literal["mul"]
    left: "Expression"
    right: "Expression"


Expression = Num | Add | Mul
Add.model_rebuild()
Mul.model_rebuild()


def sum_of(depth: int, leaf: Any) -> Any:
    value: Any = {"value": leaf}
    for _ in range(depth):
        value = {"op": "add", "left": value, "right": {"value": 1}}
    return value


class Refusing:
    """A validator that must not be asked."""

    def validate_python(self, value: Any) -> Any:
        raise AssertionError("pydantic would try each alternative on all below it")


@pytest.mark.parametrize("depth", [10, 12, 60])
def test_a_wrong_leaf_of_a_deep_recursive_union_is_refused_without_pydantic(depth: int):
    made = takes(Expression)
    object.__setattr__(made._checker, "validators", {"x": Refusing()})
    [problem] = refused(made, {"x": sum_of(depth, "no")}).problems
    assert problem.startswith('x: got {"op": "add", "left": {"op": "add"')
    assert problem.endswith("needs object with keys value or object with keys op, left, right")


def test_a_recursive_union_too_deep_for_pydantic_is_refused_in_words():
    made = takes(Expression)
    assert made.bind({"x": sum_of(8, 1)}).kwargs["x"].left.left.op == "add"
    object.__setattr__(made._checker, "validators", {"x": Refusing()})
    assert refused(made, {"x": sum_of(40, 1)}).problems == (
        "x: nested too deeply; there are too many combinations of alternatives to check",
    )


def test_a_union_with_a_discriminator_may_be_as_deep_as_pydantic_follows():
    class Leaf(BaseModel):
        kind: Literal["leaf"]

    class Box(BaseModel):
        kind: Literal["box"]
        inside: Annotated["Leaf | Box | Sack", Field(discriminator="kind")]

    class Sack(BaseModel):
        kind: Literal["sack"]
        inside: Annotated["Leaf | Box | Sack", Field(discriminator="kind")]

    Box.model_rebuild()
    value: Any = {"kind": "leaf"}
    for _ in range(40):
        value = {"kind": "box", "inside": value}
    made = takes(Box)
    assert made._checker.is_recursive
    assert made.bind({"x": value}).kwargs["x"].inside.kind == "box"


def test_a_large_flat_value_of_a_recursive_type_is_allowed():
    value: Any = {"op": "add", "left": {"value": 1}, "right": {"value": 2}}
    assert len(takes(list[Expression]).bind({"x": [dict(value) for _ in range(3_000)]}).kwargs["x"]) == 3_000
