"""`frozen` makes classes that behave as those of `dataclass(frozen=True, slots=True, kw_only=True)`."""

import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, fields, is_dataclass, replace
from typing import Any

import pytest

from toolspeak.values.frozen import frozen


class Fields:
    """The fields of the two classes that are compared."""

    name: str
    secret: str = field(default="", repr=False)
    tags: list[str] = field(default_factory=list[str])
    origin: str = field(default="", compare=False)
    rate: float = 1.0

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("a name is needed")


Ours: Any = frozen(type("Place", (), dict(Fields.__dict__)))
Theirs: Any = dataclass(frozen=True, slots=True, kw_only=True)(type("Place", (), dict(Fields.__dict__)))

VALUES = ({"name": "a"}, {"name": "a", "secret": "s", "tags": ["x"], "origin": "o", "rate": 2.0})


@frozen
class Pair:
    left: Any = None
    right: Any = None


@frozen
class Named(Pair):
    name: str

    def __repr__(self) -> str:
        return f"<{self.name}>"


@pytest.mark.parametrize("values", VALUES)
def test_a_value_is_shown_as_a_dataclass_shows_it(values: dict[str, Any]) -> None:
    assert repr(Ours(**values)) == repr(Theirs(**values))


def test_fields_are_those_of_a_dataclass() -> None:
    assert [each.name for each in fields(Ours)] == [each.name for each in fields(Theirs)]
    assert list(inspect.signature(Ours).parameters) == list(inspect.signature(Theirs).parameters)
    assert replace(Ours(name="a"), rate=3.0) == Ours(name="a", rate=3.0)
    assert Ours.__slots__ == Theirs.__slots__


def test_the_signature_is_known_before_the_first_value_and_after_it() -> None:
    @frozen
    class Point:
        x: int
        y: int = 0

    class Shifted(Point):
        def __init__(self, by: int) -> None:
            super().__init__(x=by)

    for _ in range(2):
        assert str(inspect.signature(Point)) == "(*, x: int, y: int = 0) -> None"
        assert str(inspect.signature(Shifted)) == "(by: int) -> None"
        assert (Point(x=1).y, Shifted(by=3).x) == (0, 3)


def test_a_value_takes_no_positional_arguments() -> None:
    @frozen
    class Point:
        x: int

    for _ in range(2):
        with pytest.raises(TypeError, match=r"Point\.__init__\(\) takes 1 positional argument but 2 were given"):
            Point(1)  # type: ignore[misc]  # pyright: ignore[reportCallIssue] (what is tested)
        assert Point(x=1).x == 1


def test_a_value_is_a_dataclass() -> None:
    assert is_dataclass(Ours(name="a"))


def test_equality_leaves_out_what_is_not_compared() -> None:
    assert Ours(name="a", origin="x") == Ours(name="a", origin="y")
    assert Ours(name="a") != Ours(name="b")
    assert Ours(name="a") != Theirs(name="a")
    assert hash(Pair(left=1)) == hash(Pair(left=1))
    with pytest.raises(TypeError, match="unhashable"):
        hash(Ours(name="a"))


def test_each_value_has_a_default_of_its_own() -> None:
    assert Ours(name="a").tags is not Ours(name="b").tags


def test_a_value_cannot_be_changed() -> None:
    pair = Pair(left=1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'left'"):
        pair.left = 2  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue] (what is tested)
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'left'"):
        del pair.left  # pyright: ignore[reportAttributeAccessIssue] (what is tested)
    assert pair.left == 1


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(TypeError, match=r"Named\.__init__\(\) missing 1 required keyword-only argument: 'name'"):
        Named()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue] (what is tested)
    with pytest.raises(TypeError, match="unexpected keyword argument 'middle'"):
        Pair(middle=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue] (what is tested)
    with pytest.raises(ValueError, match="a name is needed"):
        Ours(name="")


def test_a_value_can_be_copied_and_pickled() -> None:
    pair = Pair(left=[1], right=Named(name="n", left=2))
    for again in (copy.copy(pair), copy.deepcopy(pair), pickle.loads(pickle.dumps(pair))):
        assert again == pair


def test_a_class_inherits_fields_and_keeps_its_own_methods() -> None:
    assert repr(Named(name="n", right=3)) == "<n>"
    assert Named(name="n", right=3).right == 3


def test_a_value_that_contains_itself_can_be_shown() -> None:
    items: list[Any] = []
    pair = Pair(left=items)
    items.append(pair)
    assert repr(pair) == "Pair(left=[...], right=None)"
