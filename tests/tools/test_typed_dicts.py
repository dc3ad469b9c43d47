"""`typing.TypedDict` as a parameter, on every Python that is supported."""

import sys
from typing import Annotated, Any, Generic, NotRequired, Optional, Required, TypedDict, TypeVar

import pytest
from pydantic import Field
from tests.tools.postponed_hints import Order

from toolspeak import InvalidArguments, Tool, UsageError

T = TypeVar("T")


class Place(TypedDict):
    """Where it is."""

    city: str
    country: NotRequired[Annotated[str, Field(description="Two letters.")]]


class Trip(TypedDict, total=False):
    stops: Required[list[Place]]
    start: Place | None
    end: Optional[Place]  # noqa: UP045 (the old spelling is another type)
    by_name: dict[str, Place]


class LongTrip(Trip):
    days: Annotated[int, Field(ge=2)]


class Node(TypedDict):
    """A node of a tree."""

    name: str
    children: NotRequired[list["Node"]]
    twin: NotRequired["Node | None"]


class Even(TypedDict):
    odd: NotRequired["Odd"]


class Odd(TypedDict):
    even: Even
    count: int


class Page(TypedDict, Generic[T]):
    items: list[T]


def parameter_schema(annotation: Any) -> Any:
    def f(x: Any) -> None:
        "F."

    f.__annotations__["x"] = annotation
    tool = Tool(f)
    return tool.spec.parameters["properties"]["x"]


PLACE = {
    "type": "object",
    "description": "Where it is.",
    "properties": {"city": {"type": "string"}, "country": {"type": "string", "description": "Two letters."}},
    "required": ["city"],
    "additionalProperties": False,
}


def test_fields_descriptions_and_what_is_required():
    assert parameter_schema(Place) == PLACE


@pytest.mark.parametrize("annotation", [list[Place], Annotated[list[Place], Field(min_length=0)]])
def test_inside_of_a_list(annotation: Any):
    assert parameter_schema(annotation)["items"] == PLACE


def test_inside_of_another_and_inherited():
    schema = parameter_schema(LongTrip)
    assert list(schema["properties"]) == ["stops", "start", "end", "by_name", "days"]
    assert schema["required"] == ["stops", "days"]
    assert schema["properties"]["stops"]["items"] == PLACE
    assert schema["properties"]["start"]["anyOf"] == [PLACE, {"type": "null"}]
    assert schema["properties"]["end"]["anyOf"] == [PLACE, {"type": "null"}]
    assert schema["properties"]["by_name"]["additionalProperties"] == PLACE
    assert schema["properties"]["days"] == {"type": "integer", "minimum": 2}


def test_a_tool_takes_nested_dicts():
    def plan(trip: LongTrip, home: Place | None = None) -> int:
        """Plan a trip.

        Args:
            trip: The trip.
        """
        return len(trip["stops"])

    tool = Tool(plan)
    assert tool.spec.parameters["properties"]["trip"]["description"] == "The trip."
    bound = tool.bind({"trip": {"stops": [{"city": "Oslo"}], "days": "3"}, "home": {"city": "Bonn", "country": "DE"}})
    assert bound.kwargs == {
        "trip": {"stops": [{"city": "Oslo"}], "days": 3},
        "home": {"city": "Bonn", "country": "DE"},
    }
    assert type(bound.kwargs["trip"]) is dict
    with pytest.raises(InvalidArguments, match=r"trip\.stops\[0\]\.city: missing; needs string"):
        tool.bind({"trip": {"stops": [{}], "days": 3}})
    with pytest.raises(InvalidArguments, match=r"trip\.days: missing"):
        tool.bind({"trip": {"stops": []}})


def test_a_recursive_one():
    def walk(root: Node, other: list[Node], odd: Odd) -> Node:
        "Walk."
        return root

    tool = Tool(walk)
    definition = tool.spec.parameters["$defs"]["Node"]
    assert definition["properties"]["children"] == {"type": "array", "items": {"$ref": "#/$defs/Node"}}
    assert definition["required"] == ["name"]
    assert definition["description"] == "A node of a tree."
    assert tool.spec.returns is not None
    tree = {"name": "a", "children": [{"name": "b", "twin": None}]}
    arguments = {"root": tree, "other": [tree], "odd": {"even": {"odd": {"even": {}, "count": "1"}}, "count": 2}}
    odd = {"even": {"odd": {"even": {}, "count": 1}}, "count": 2}
    assert tool.bind(arguments).kwargs == {"root": tree, "other": [tree], "odd": odd}
    with pytest.raises(InvalidArguments, match=r"root\.children\[0\]\.name"):
        tool.bind({**arguments, "root": {"name": "a", "children": [{}]}})


def test_a_generic_one():
    assert parameter_schema(Page[int])["properties"] == {"items": {"type": "array", "items": {"type": "integer"}}}
    assert parameter_schema(Page[Place])["properties"] == {"items": {"type": "array", "items": PLACE}}


def test_one_whose_annotations_are_postponed():
    def order(what: Order) -> None:
        "Order."

    definition = Tool(order).spec.parameters["$defs"]["Order"]
    assert definition["required"] == ["item"]
    assert definition["properties"]["parts"] == {"type": "array", "items": {"$ref": "#/$defs/Order"}}


def test_the_class_itself_is_not_changed():
    before = dict(vars(Place))
    parameter_schema(list[Place])
    assert dict(vars(Place)) == before
    assert type(Place).__module__ == "typing"

    class Address(Place):
        street: str

    assert parameter_schema(Address)["required"] == ["city", "street"]


def test_one_with_a_name_that_is_not_defined_is_refused():
    class Broken(TypedDict):
        x: "Nowhere"  # noqa: F821 # pyright: ignore[reportUndefinedVariable] (what the test is about)

    with pytest.raises(UsageError, match="Broken"):
        parameter_schema(Broken)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="pydantic takes them as they are")
def test_an_annotation_without_any_is_kept_as_it_is():
    from toolspeak.tools.pydantic_types import replace_typed_dicts

    for annotation in (int, list[int], dict[str, list[int]], int | None, Optional[int], Annotated[int, "x"], None):  # noqa: UP045 (the old form is tested too)
        assert replace_typed_dicts(annotation) is annotation
