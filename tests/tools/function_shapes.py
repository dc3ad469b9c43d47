"""The shapes of functions that become tools: one table, a row for each. `test_function_shapes.py` tests each row.

A row is a function that gives back what it received, under the schema a model is shown, the JSON a model sends and the
Python values that must arrive.
"""

import asyncio
import functools
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, NotRequired, Optional, TypeVar, Union
from uuid import UUID

import postponed_hints
import pytest
from postponed_hints import Stay
from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field
from typing_extensions import Doc, TypedDict

from toolspeak import Context


@dataclass(frozen=True)
class Shape:
    function: Callable[..., Any]
    parameters: dict[str, Any]
    sent: dict[str, Any]
    received: Any
    context: Context[Any] | None = None


SHAPES: list[Any] = []


def shape(
    properties: dict[str, Any],
    *,
    sent: dict[str, Any],
    received: Any,
    optional: tuple[str, ...] = (),
    defs: dict[str, Any] | None = None,
    context: Context[Any] | None = None,
    title: str | None = None,
):
    """Add the function below as a row. A property is required unless it shows a default or is named `optional`."""
    required = [name for name, schema in properties.items() if "default" not in schema and name not in optional]
    parameters = {
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
        "additionalProperties": False,
        **({"$defs": defs} if defs else {}),
    }

    def add(function: Callable[..., Any]):
        row = Shape(function, parameters, sent, received, context)
        SHAPES.append(pytest.param(row, id=title or function.__name__))
        return function

    return add


# Plain values


@shape({"text": {"type": "string"}}, sent={"text": "hello"}, received="hello")
def takes_text(text: str):
    return text


@shape({"count": {"type": "integer"}}, sent={"count": 3}, received=3)
def takes_integer(count: int):
    return count


@shape({"share": {"type": "number"}}, sent={"share": 0.5}, received=0.5)
def takes_number(share: float):
    return share


@shape({"share": {"type": "number"}}, sent={"share": 2}, received=2.0)
def takes_whole_number_as_float(share: float):
    return share


@shape({"loud": {"type": "boolean"}}, sent={"loud": True}, received=True)
def takes_boolean(loud: bool):
    return loud


@shape({"anything": {}}, sent={"anything": {"a": [1, None]}}, received={"a": [1, None]})
def takes_anything(anything: Any):
    return anything


@shape({"nothing": {"type": "null"}}, sent={"nothing": None}, received=None)
def takes_null(nothing: None):
    return nothing


@shape({}, sent={}, received="done")
def takes_nothing():
    return "done"


# Defaults


@shape(
    {
        "text": {"type": "string", "default": "none"},
        "count": {"type": "integer", "default": 0},
        "share": {"type": "number", "default": 1.5},
        "loud": {"type": "boolean", "default": False},
    },
    sent={},
    received=("none", 0, 1.5, False),
)
def defaults_of_plain_values(text: str = "none", count: int = 0, share: float = 1.5, loud: bool = False):
    return text, count, share, loud


@shape({"count": {"type": "integer", "default": 3}}, sent={"count": 4}, received=4)
def default_overridden(count: int = 3):
    return count


@shape({"count": {"type": "integer", "default": None}}, sent={}, received=None)
def default_of_none_without_saying_so(count: int = None):  # noqa: RUF013 (None without saying so is what the shape is about)
    return count


@shape({"tags": {"type": "array", "items": {"type": "string"}, "default": ["a"]}}, sent={}, received=["a"])
def default_of_a_list(tags: list[str] = ["a"]):  # noqa: B006 (a list as a default is what the shape is about)
    return tags


@shape(
    {"day": {"type": "string", "format": "date", "default": "2024-02-29"}},
    sent={},
    received=date(2024, 2, 29),
)
def default_of_a_date(day: date = date(2024, 2, 29)):
    return day


class Unshowable:
    """Equal to itself only, and without a JSON form."""


UNSHOWABLE = Unshowable()


@shape({"anything": {}}, optional=("anything",), sent={}, received=UNSHOWABLE)
def default_without_a_json_form(anything: Any = UNSHOWABLE):
    return anything


@shape({"share": {"type": "number"}}, optional=("share",), sent={}, received=float("inf"))
def default_that_json_cannot_say(share: float = float("inf")):
    return share


@shape(
    {"shares": {"type": "array", "items": {"type": "number"}}, "large": {"type": "integer"}},
    optional=("shares", "large"),
    sent={},
    received=([float("inf")], 10**5000),
)
def default_that_json_cannot_say_inside(shares: list[float] = [float("inf")], large: int = 10**5000):  # noqa: B006 (a list as a default is what the shape is about)
    return shares, large


# Choices


class Colour(Enum):
    RED = "red"
    DARK_BLUE = "dark blue"


class Level(Enum):
    LOW = 1
    HIGH = 2


class Odd(Enum):
    WORD = "word"
    NUMBER = 7
    FLAG = True


class Size(StrEnum):
    SMALL = "s"
    LARGE = "l"


class Priority(IntEnum):
    LATER = 1
    NOW = 9


COLOUR = {"type": "string", "enum": ["red", "dark blue"]}


@shape({"colour": COLOUR}, sent={"colour": "dark blue"}, received=Colour.DARK_BLUE)
def takes_enum_of_text(colour: Colour):
    return colour


@shape({"level": {"type": "integer", "enum": [1, 2]}}, sent={"level": 2}, received=Level.HIGH)
def takes_enum_of_integers(level: Level):
    return level


@shape({"odd": {"enum": ["word", 7, True]}}, sent={"odd": 7}, received=Odd.NUMBER)
def takes_enum_of_mixed_values(odd: Odd):
    return odd


@shape({"size": {"type": "string", "enum": ["s", "l"]}}, sent={"size": "l"}, received=Size.LARGE)
def takes_str_enum(size: Size):
    return size


@shape({"priority": {"type": "integer", "enum": [1, 9]}}, sent={"priority": 9}, received=Priority.NOW)
def takes_int_enum(priority: Priority):
    return priority


@shape({"colour": {**COLOUR, "default": "red"}}, sent={}, received=Colour.RED)
def default_of_an_enum_is_its_value(colour: Colour = Colour.RED):
    return colour


@shape({"colours": {"type": "array", "items": COLOUR}}, sent={"colours": ["red"]}, received=[Colour.RED])
def takes_list_of_enum(colours: list[Colour]):
    return colours


@shape(
    {"stock": {"type": "object", "propertyNames": COLOUR, "additionalProperties": {"type": "integer"}}},
    sent={"stock": {"red": 2}},
    received={Colour.RED: 2},
)
def takes_dict_by_enum(stock: dict[Colour, int]):
    return stock


@shape({"unit": {"type": "string", "enum": ["km", "mi"]}}, sent={"unit": "mi"}, received="mi")
def takes_literal(unit: Literal["km", "mi"]):
    return unit


@shape({"unit": {"type": "string", "const": "km"}}, sent={"unit": "km"}, received="km")
def takes_literal_of_one(unit: Literal["km"]):
    return unit


@shape({"page": {"enum": [1, "last", None], "default": 1}}, sent={"page": None}, received=None)
def takes_literal_of_mixed_values(page: Literal[1, "last", None] = 1):
    return page


# Unions


@shape({"key": {"anyOf": [{"type": "integer"}, {"type": "string"}]}}, sent={"key": "7"}, received="7")
def takes_union_and_keeps_text(key: int | str):
    return key


@shape({"key": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}, sent={"key": 7}, received=7)
def takes_union_in_its_own_order(key: str | int):
    return key


@shape({"key": {"anyOf": [{"type": "integer"}, {"type": "string"}]}}, sent={"key": 7}, received=7)
def takes_old_union(key: Union[int, str]):  # noqa: UP007 (the old spelling is meant)
    return key


@shape(
    {"limit": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}},
    sent={"limit": None},
    received=None,
)
def takes_optional(limit: Optional[int] = None):  # noqa: UP045 (the old spelling is meant)
    return limit


@shape({"limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}, sent={"limit": 5}, received=5)
def takes_optional_without_default(limit: int | None):
    return limit


@shape(
    {"when": {"anyOf": [{"type": "string", "format": "date"}, {"type": "integer"}]}},
    sent={"when": "2024-01-02"},
    received=date(2024, 1, 2),
)
def takes_union_of_rich_types(when: date | int):
    return when


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    tricks: list[str]


CAT = {
    "type": "object",
    "properties": {"kind": {"type": "string", "const": "cat"}, "lives": {"type": "integer"}},
    "required": ["kind", "lives"],
    "additionalProperties": False,
}
DOG = {
    "type": "object",
    "properties": {
        "kind": {"type": "string", "const": "dog"},
        "tricks": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["kind", "tricks"],
    "additionalProperties": False,
}


@shape(
    {"pet": {"oneOf": [CAT, DOG]}},
    sent={"pet": {"kind": "dog", "tricks": ["sit"]}},
    received=Dog(kind="dog", tricks=["sit"]),
)
def takes_discriminated_union(pet: Annotated[Cat | Dog, Field(discriminator="kind")]):
    return pet


# Models


class Address(BaseModel):
    street: str
    number: int = 1


class Person(BaseModel):
    """Somebody."""

    name: str
    home: Address
    others: dict[str, Address] = {}


ADDRESS = {
    "type": "object",
    "properties": {"street": {"type": "string"}, "number": {"type": "integer", "default": 1}},
    "required": ["street"],
    "additionalProperties": False,
}
PERSON = {
    "type": "object",
    "description": "Somebody.",
    "properties": {
        "name": {"type": "string"},
        "home": ADDRESS,
        "others": {"type": "object", "additionalProperties": ADDRESS, "default": {}},
    },
    "required": ["name", "home"],
    "additionalProperties": False,
}


@shape({"address": ADDRESS}, sent={"address": {"street": "Storgata"}}, received=Address(street="Storgata"))
def takes_model(address: Address):
    return address


@shape(
    {"person": PERSON},
    sent={"person": {"name": "Ada", "home": {"street": "A"}, "others": {"work": {"street": "B", "number": 2}}}},
    received=Person(name="Ada", home=Address(street="A"), others={"work": Address(street="B", number=2)}),
)
def takes_nested_model(person: Person):
    return person


@shape({"address": {**ADDRESS, "default": {"street": "Main", "number": 1}}}, sent={}, received=Address(street="Main"))
def default_of_a_model(address: Address = Address(street="Main")):  # noqa: B008 (a call as a default is what the shape is about)
    return address


class Node(BaseModel):
    label: str
    children: list["Node"] = []


NODE = {
    "type": "object",
    "properties": {
        "label": {"type": "string"},
        "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}, "default": []},
    },
    "required": ["label"],
    "additionalProperties": False,
}


@shape(
    {"tree": {"$ref": "#/$defs/Node"}},
    defs={"Node": NODE},
    sent={"tree": {"label": "a", "children": [{"label": "b", "children": [{"label": "c"}]}]}},
    received=Node(label="a", children=[Node(label="b", children=[Node(label="c")])]),
)
def takes_recursive_model_and_keeps_children(tree: Node):
    return tree


@shape(
    {
        "tree": {"$ref": "#/$defs/Node"},
        "forest": {"type": "array", "items": {"$ref": "#/$defs/Node"}, "default": []},
    },
    defs={"Node": NODE},
    sent={"tree": {"label": "a"}, "forest": [{"label": "b"}]},
    received=(Node(label="a"), [Node(label="b")]),
)
def takes_recursive_model_twice(tree: Node, forest: list[Node] = []):  # noqa: B006 (a list as a default is what the shape is about)
    return tree, forest


T = TypeVar("T")


class Page(BaseModel, Generic[T]):
    items: list[T]
    next: T | None = None


@shape(
    {
        "page": {
            "type": "object",
            "properties": {
                "items": {"type": "array", "items": {"type": "integer"}},
                "next": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
            },
            "required": ["items"],
            "additionalProperties": False,
        }
    },
    sent={"page": {"items": [1, 2], "next": 3}},
    received=Page[int](items=[1, 2], next=3),
)
def takes_generic_model(page: Page[int]):
    return page


class Aliased(BaseModel):
    from_: str = Field(alias="from")


@shape(
    {
        "span": {
            "type": "object",
            "properties": {"from": {"type": "string"}},
            "required": ["from"],
            "additionalProperties": False,
        }
    },
    sent={"span": {"from": "Oslo"}},
    received=Aliased(**{"from": "Oslo"}),
)
def takes_model_with_alias(span: Aliased):
    return span


class Exact(BaseModel):
    model_config = ConfigDict(strict=True)

    day: date
    colours: set[Colour]


@shape(
    {
        "exact": {
            "type": "object",
            "properties": {
                "day": {"type": "string", "format": "date"},
                "colours": {"type": "array", "uniqueItems": True, "items": COLOUR},
            },
            "required": ["day", "colours"],
            "additionalProperties": False,
        }
    },
    sent={"exact": {"day": "2024-01-02", "colours": ["red"]}},
    received=Exact(day=date(2024, 1, 2), colours={Colour.RED}),
)
def takes_strict_model_from_json(exact: Exact):
    return exact


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")

    name: str


@shape(
    {
        "record": {
            "type": "object",
            "properties": {"name": {"type": "string"}},
            "required": ["name"],
            "additionalProperties": True,
        }
    },
    sent={"record": {"name": "a", "age": 3}},
    received=Open(name="a", age=3),
)
def takes_model_open_to_more(record: Open):
    return record


class Titled(BaseModel):
    title: str = Field(title="A title for people", description="What it is called.")


@shape(
    {
        "entry": {
            "type": "object",
            "properties": {"title": {"type": "string", "description": "What it is called."}},
            "required": ["title"],
            "additionalProperties": False,
        }
    },
    sent={"entry": {"title": "T"}},
    received=Titled(title="T"),
)
def a_property_named_title_is_not_a_title(entry: Titled):
    return entry


# Other records


@dataclass
class Point:
    x: int
    y: int = 0
    tags: list[str] = field(default_factory=list)


@shape(
    {
        "point": {
            "type": "object",
            "properties": {
                "x": {"type": "integer"},
                "y": {"type": "integer", "default": 0},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["x"],
            "additionalProperties": False,
        }
    },
    sent={"point": {"x": 1, "tags": ["a"]}},
    received=Point(1, 0, ["a"]),
)
def takes_dataclass(point: Point):
    return point


@dataclass
class Chain:
    value: int
    rest: Optional["Chain"] = None


@shape(
    {"chain": {"$ref": "#/$defs/Chain"}},
    defs={
        "Chain": {
            "type": "object",
            "properties": {
                "value": {"type": "integer"},
                "rest": {"anyOf": [{"$ref": "#/$defs/Chain"}, {"type": "null"}], "default": None},
            },
            "required": ["value"],
            "additionalProperties": False,
        }
    },
    sent={"chain": {"value": 1, "rest": {"value": 2}}},
    received=Chain(1, Chain(2)),
)
def takes_recursive_dataclass(chain: Chain):
    return chain


class Movie(TypedDict):
    name: str
    year: NotRequired[int]


@shape(
    {
        "movie": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "year": {"type": "integer"}},
            "required": ["name"],
            "additionalProperties": False,
        }
    },
    sent={"movie": {"name": "Alien"}},
    received={"name": "Alien"},
)
def takes_typed_dict(movie: Movie):
    return movie


class Pair(NamedTuple):
    left: int
    right: str = "r"


@shape(
    {
        "pair": {
            "type": "array",
            "prefixItems": [{"type": "integer"}, {"type": "string", "default": "r"}],
            "minItems": 1,
            "maxItems": 2,
        }
    },
    sent={"pair": [1, "b"]},
    received=Pair(1, "b"),
)
def takes_named_tuple(pair: Pair):
    return pair


# Values that JSON has no type for


@shape(
    {"at": {"type": "string", "format": "date-time"}},
    sent={"at": "2024-01-02T03:04:05Z"},
    received=datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC),
)
def takes_datetime(at: datetime):
    return at


@shape({"day": {"type": "string", "format": "date"}}, sent={"day": "2024-01-02"}, received=date(2024, 1, 2))
def takes_date(day: date):
    return day


@shape({"at": {"type": "string", "format": "time"}}, sent={"at": "03:04:05"}, received=time(3, 4, 5))
def takes_time(at: time):
    return at


@shape({"wait": {"type": "string", "format": "duration"}}, sent={"wait": "PT90S"}, received=timedelta(seconds=90))
def takes_timedelta(wait: timedelta):
    return wait


SOME_UUID = "12345678-1234-5678-1234-567812345678"


@shape({"key": {"type": "string", "format": "uuid"}}, sent={"key": SOME_UUID}, received=UUID(SOME_UUID))
def takes_uuid(key: UUID):
    return key


@shape({"file": {"type": "string", "format": "path"}}, sent={"file": "/etc/hosts"}, received=Path("/etc/hosts"))
def takes_path(file: Path):
    return file


@shape({"file": {"type": "string", "format": "path", "default": "a/b"}}, sent={}, received=Path("a/b"))
def default_of_a_path(file: Path = Path("a/b")):
    return file


DECIMAL = {"anyOf": [{"type": "number"}, {"type": "string"}]}


@shape({"price": DECIMAL}, sent={"price": "1.10"}, received=Decimal("1.10"))
def takes_decimal_without_losing_a_digit(price: Decimal):
    return price


@shape({"data": {"type": "string", "format": "binary"}}, sent={"data": "héllo"}, received="héllo".encode())
def takes_bytes(data: bytes):
    return data


# Containers


@shape({"items": {"type": "array", "items": {}}}, sent={"items": [1, "a"]}, received=[1, "a"])
def takes_bare_list(items: list):
    return items


@shape(
    {"grid": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}},
    sent={"grid": [[1], [2, 3]]},
    received=[[1], [2, 3]],
)
def takes_list_of_lists(grid: list[list[int]]):
    return grid


@shape(
    {"names": {"type": "array", "uniqueItems": True, "items": {"type": "string"}}},
    sent={"names": ["a", "b", "a"]},
    received={"a", "b"},
)
def takes_set(names: set[str]):
    return names


@shape(
    {
        "days": {
            "type": "array",
            "uniqueItems": True,
            "items": {"type": "string", "format": "date"},
            "default": ["2024-01-02"],
        }
    },
    sent={},
    received=frozenset({date(2024, 1, 2)}),
)
def default_of_a_frozenset(days: frozenset[date] = frozenset({date(2024, 1, 2)})):
    return days


@shape(
    {
        "place": {
            "type": "array",
            "prefixItems": [{"type": "number"}, {"type": "number"}, {"type": "string"}],
            "minItems": 3,
            "maxItems": 3,
        }
    },
    sent={"place": [59.9, 10, "Oslo"]},
    received=(59.9, 10.0, "Oslo"),
)
def takes_fixed_tuple(place: tuple[float, float, str]):
    return place


@shape({"numbers": {"type": "array", "items": {"type": "integer"}}}, sent={"numbers": [1, 2]}, received=(1, 2))
def takes_variadic_tuple(numbers: tuple[int, ...]):
    return numbers


@shape({"queue": {"type": "array", "items": {"type": "integer"}}}, sent={"queue": [1, 2]}, received=deque([1, 2]))
def takes_deque(queue: deque[int]):
    return queue


@shape(
    {"table": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "integer"}}}},
    sent={"table": {"a": [1]}},
    received={"a": [1]},
)
def takes_dict_of_lists(table: dict[str, list[int]]):
    return table


@shape(
    {"table": {"type": "object", "additionalProperties": {"type": "string"}}},
    sent={"table": {"1": "one"}},
    received={1: "one"},
)
def takes_dict_by_integer(table: dict[int, str]):
    return table


@shape({"table": {"type": "object", "additionalProperties": True}}, sent={"table": {"a": 1}}, received={"a": 1})
def takes_bare_dict(table: dict):
    return table


@shape({"numbers": {"type": "array", "items": {"type": "integer"}}}, sent={"numbers": [1, 2]}, received=[1, 2])
def takes_iterable_checked_before_the_call(numbers: Iterable[int]):
    return numbers


@shape(
    {"numbers": {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}], "default": None}},
    sent={"numbers": [1, 2]},
    received=[1, 2],
)
def takes_optional_iterable(numbers: Iterable[int] | None = None):
    return numbers


@shape(
    {"numbers": {"type": "array", "items": {"type": "integer"}, "description": "Some."}},
    sent={"numbers": [1, 2]},
    received=[1, 2],
)
def takes_iterable_with_field(numbers: Annotated[Iterable[int], Field(description="Some.")]):
    return numbers


@shape({"numbers": {"type": "array", "items": {"type": "integer"}}}, sent={"numbers": [1, 2]}, received=[1, 2])
def takes_sequence(numbers: Sequence[int]):
    return numbers


@shape(
    {"table": {"type": "object", "additionalProperties": {"type": "integer"}}},
    sent={"table": {"a": 1}},
    received={"a": 1},
)
def takes_mapping(table: Mapping[str, int]):
    return table


# What annotations add


@shape({"city": {"type": "string", "description": "Its name."}}, sent={"city": "Oslo"}, received="Oslo")
def bare_text_is_a_description(city: Annotated[str, "Its name."]):
    return city


@shape({"city": {"type": "string", "description": "Its name."}}, sent={"city": "Oslo"}, received="Oslo")
def doc_is_a_description(city: Annotated[str, Doc("Its name.")]):
    return city


@shape(
    {"count": {"type": "integer", "minimum": 1, "maximum": 10, "description": "How many.", "default": 2}},
    sent={},
    received=2,
)
def annotated_field(count: Annotated[int, Field(ge=1, le=10, description="How many.")] = 2):
    return count


@shape({"count": {"type": "integer", "exclusiveMinimum": 0, "default": 5}}, sent={}, received=5)
def field_as_default(count: int = Field(5, gt=0)):
    return count


@shape({"count": {"type": "integer", "description": "How many."}}, sent={"count": 1}, received=1)
def field_as_default_without_one(count: int = Field(description="How many.")):
    return count


@shape({"count": {"type": "integer", "default": 7}}, sent={}, received=7)
def default_inside_the_field(count: Annotated[int, Field(default=7)]):
    return count


@shape({"tags": {"type": "array", "items": {"type": "string"}, "default": []}}, sent={}, received=[])
def default_factory(tags: list[str] = Field(default_factory=list)):  # noqa: B008 (a call as a default is what the shape is about)
    return tags


@shape({"from": {"type": "string"}}, sent={"from": "Oslo"}, received="Oslo")
def alias_is_what_a_model_sees(from_: Annotated[str, Field(alias="from")]):
    return from_


@shape({"city": {"type": "string"}}, sent={"city": "Oslo"}, received="Oslo")
def alias_choices_leave_the_name(city: Annotated[str, Field(validation_alias=AliasChoices("town", "place"))]):
    return city


@shape({"code": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 3}}, sent={"code": "abc"}, received="abc")
def constrained_text(code: Annotated[str, Field(pattern="^[a-z]+$", max_length=3)]):
    return code


@shape({"name": {"type": "string", "description": "Any case."}}, sent={"name": "ada"}, received="ADA")
def validator_and_text(name: Annotated[str, AfterValidator(str.upper), "Any case."]):
    return name


@shape(
    {"counts": {"type": "array", "items": {"type": "integer", "minimum": 0}}},
    sent={"counts": [0, 1]},
    received=[0, 1],
)
def constrained_items(counts: list[Annotated[int, Field(ge=0)]]):
    return counts


UserId = NewType("UserId", int)


@shape({"user": {"type": "integer"}}, sent={"user": 4}, received=4)
def takes_new_type(user: UserId):
    return user


# Kinds of parameters


@shape(
    {"a": {"type": "integer"}, "b": {"type": "integer", "default": 2}},
    sent={"a": 1, "b": 3},
    received=(1, 3),
)
def keyword_only(*, a: int, b: int = 2):
    return a, b


@shape({"a": {"type": "integer"}, "b": {"type": "string"}}, sent={"b": "x", "a": 1}, received=(1, "x"))
def positional_only(a: int, b: str, /):
    return a, b


@shape(
    {
        "a": {"type": "integer"},
        "b": {"type": "integer", "default": 2},
        "c": {"type": "integer", "default": 3},
        "d": {"type": "integer", "default": 4},
    },
    sent={"a": 1, "c": 30},
    received=(1, 2, 30, 4),
)
def positional_only_with_a_gap(a: int, b: int = 2, c: int = 3, /, d: int = 4):
    return a, b, c, d


@shape(
    {
        "tags": {"type": "array", "items": {"type": "string"}, "default": []},
        "colour": {**COLOUR, "default": "red"},
    },
    sent={"colour": "dark blue"},
    received=([], Colour.DARK_BLUE),
)
def positional_only_factory_in_the_gap(tags: list[str] = Field(default_factory=list), colour: Colour = Colour.RED, /):  # noqa: B008 (a call as a default is what the shape is about)
    return tags, colour


@shape(
    {"a": {"type": "integer"}, "b": {"type": "integer"}, "c": {"type": "integer"}},
    sent={"a": 1, "b": 2, "c": 3},
    received=(1, 2, 3),
)
def all_three_kinds(a: int, /, b: int, *, c: int):
    return a, b, c


# Kinds of callables


@shape({"count": {"type": "integer"}}, sent={"count": 3}, received=6)
async def async_function(count: int):
    await asyncio.sleep(0)
    return count * 2


class Shop:
    def __init__(self, name: str):
        self.name = name

    def price(self, item: str, day: date | None = None):
        return self.name, item, day

    async def order(self, item: str):
        return self.name, item

    @classmethod
    def opened(cls, year: int):
        return cls, year

    @staticmethod
    def rounded(amount: float):
        return round(amount)

    def __call__(self, greeting: str):
        return self.name, greeting


class AsyncShop:
    async def __call__(self, item: str):
        return item


SHOP = Shop("corner")

shape(
    {
        "item": {"type": "string"},
        "day": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}], "default": None},
    },
    sent={"item": "tea", "day": "2024-01-02"},
    received=("corner", "tea", date(2024, 1, 2)),
    title="bound_method",
)(SHOP.price)
shape({"item": {"type": "string"}}, sent={"item": "tea"}, received=("corner", "tea"), title="async_bound_method")(
    SHOP.order
)
shape({"year": {"type": "integer"}}, sent={"year": 1999}, received=(Shop, 1999), title="class_method")(Shop.opened)
shape({"amount": {"type": "number"}}, sent={"amount": 2.6}, received=3, title="static_method")(Shop.rounded)
shape({"greeting": {"type": "string"}}, sent={"greeting": "hi"}, received=("corner", "hi"), title="callable_object")(
    SHOP
)
shape({"item": {"type": "string"}}, sent={"item": "tea"}, received="tea", title="async_callable_object")(AsyncShop())


def send(to: str, text: str, token: str, copies: int = 1):
    return to, text, token, copies


shape(
    {"to": {"type": "string"}, "text": {"type": "string"}, "copies": {"type": "integer", "default": 1}},
    sent={"to": "a", "text": "b"},
    received=("a", "b", "secret", 1),
    title="partial_hides_its_keywords",
)(functools.partial(send, token="secret"))
shape(
    {"text": {"type": "string"}, "copies": {"type": "integer", "default": 1}},
    sent={"text": "b", "copies": 2},
    received=("a", "b", "secret", 2),
    title="partial_of_positions_and_keywords",
)(functools.partial(functools.partial(send, "a"), token="secret"))
shape(
    {"greeting": {"type": "string"}},
    sent={"greeting": "hi"},
    received=("corner", "hi"),
    title="partial_of_a_callable_object",
)(functools.partial(SHOP))
shape({"item": {"type": "string"}}, sent={"item": "tea"}, received=("corner", "tea"), title="partial_of_async_method")(
    functools.partial(SHOP.order)
)


def counted(function: Callable[..., Any]):
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any):
        return "counted", function(*args, **kwargs)

    return wrapper


@shape({"colour": COLOUR}, sent={"colour": "red"}, received=("counted", Colour.RED))
@counted
def wrapped_function(colour: Colour):
    return colour


# Hints that are text


@shape({"colour": COLOUR}, sent={"colour": "red"}, received=Colour.RED)
def hint_in_quotes(colour: "Colour"):
    return colour


STAY = {
    "type": "object",
    "properties": {"start": {"type": "string", "format": "date"}, "nights": {"type": "integer", "default": 1}},
    "required": ["start"],
    "additionalProperties": False,
}
shape(
    {"stay": STAY, "rooms": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}},
    sent={"stay": {"start": "2024-01-02"}},
    received=(Stay(date(2024, 1, 2)), None),
    title="postponed_hints",
)(postponed_hints.book)
shape(
    {"key": {"type": "string"}},
    sent={"key": "k"},
    received=("k", {"k": "v"}),
    context=Context(deps={"k": "v"}),
    title="postponed_context",
)(postponed_hints.whose)
shape(
    {"day": {"type": "string", "format": "date"}},
    sent={"day": "2024-01-02"},
    received=("Ritz", date(2024, 1, 2)),
    title="postponed_hints_of_an_async_method",
)(postponed_hints.Hotel("Ritz").cancel)


# Context

CONTEXT = Context(deps={"user": "ada"}, call_id="call_1")


@shape({"key": {"type": "string"}}, sent={"key": "k"}, received=("k", CONTEXT), context=CONTEXT)
def context_last(key: str, context: Context):
    return key, context


@shape({"key": {"type": "string"}}, sent={"key": "k"}, received=("k", CONTEXT), context=CONTEXT)
def context_first_with_deps(context: Context[dict[str, str]], key: str):
    return key, context


@shape({"key": {"type": "string"}}, sent={"key": "k"}, received=("k", CONTEXT), context=CONTEXT)
def context_annotated(key: str, *, context: Annotated[Context[dict[str, str]], "Filled by the run."]):
    return key, context


@shape({}, sent={}, received=CONTEXT, context=CONTEXT)
def context_optional(context: Context | None = None):
    return context


@shape({"key": {"type": "string"}}, sent={"key": "k"}, received=(CONTEXT, "k"), context=CONTEXT)
def context_by_position(context: Context, key: str, /):
    return context, key


@shape(
    {"a": {"type": "integer", "default": 1}, "b": {"type": "integer", "default": 2}},
    sent={"b": 3},
    received=(1, CONTEXT, 3),
    context=CONTEXT,
)
def context_by_position_between_others(a: int = 1, context: Context | None = None, b: int = 2, /):
    return a, context, b
