"""An answer of a type, on every dialect: given as a last call, checked, asked for again a few times."""

from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, field_validator
from typing_extensions import TypedDict

from toolspeak.errors import UsageError
from toolspeak.events import Limits
from toolspeak.run import Agent
from toolspeak.testing import ScriptedModel, calls, says

from .playing import FACES, SPOKEN, play, said


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Place(BaseModel):
    name: str
    people: int = Field(description="How many live there.", gt=0)


class Trip(BaseModel):
    when: date
    stops: list[Place]
    colour: Colour = Colour.RED
    price: Decimal | None = None


class Renamed(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    kind: str = Field(alias="type")


class Tidy(BaseModel):
    word: str

    @field_validator("word")
    @classmethod
    def short(cls, value: str) -> str:
        if len(value) > 5:
            raise ValueError("five letters at most")
        return value


@dataclass
class Point:
    x: int
    y: int = 0
    tags: list[str] = field(default_factory=list)


class Named(TypedDict):
    name: str
    age: int


ANSWERS: dict[str, tuple[Any, dict[str, Any], Any]] = {
    "a model": (Place, {"name": "Oslo", "people": 709_000}, Place(name="Oslo", people=709_000)),
    "a nested model": (
        Trip,
        {"when": "2026-05-01", "stops": [{"name": "Oslo", "people": 1}], "colour": "blue", "price": 3},
        Trip(when=date(2026, 5, 1), stops=[Place(name="Oslo", people=1)], colour=Colour.BLUE, price=Decimal(3)),
    ),
    "a model with an alias": (Renamed, {"answer": {"type": "x"}}, Renamed(type="x")),
    "a dataclass": (Point, {"x": 1, "tags": ["a"]}, Point(1, tags=["a"])),
    "a typed dict": (Named, {"answer": {"name": "Ann", "age": 3}}, {"name": "Ann", "age": 3}),
    "a number": (int, {"answer": "42"}, 42),
    "a text": (str, {"answer": "42"}, "42"),
    "yes or no": (bool, {"answer": True}, True),
    "a list": (list[Place], {"answer": [{"name": "a", "people": 1}]}, [Place(name="a", people=1)]),
    "a set": (set[int], {"answer": [1, 2]}, {1, 2}),
    "a tuple": (tuple[int, str], {"answer": [1, "x"]}, (1, "x")),
    "one of a few": (Literal["a", "b"], {"answer": "b"}, "b"),
    "an enum": (Colour, {"answer": "RED"}, Colour.RED),
    "nothing or a number": (int | None, {"answer": None}, None),
    "one of two models": (Place | Tidy, {"answer": {"word": "x"}}, Tidy(word="x")),
    "a number in bounds": (Annotated[int, Field(gt=3)], {"answer": 4}, 4),
    "a date": (date, {"answer": "2026-05-01"}, date(2026, 5, 1)),
    "a dictionary": (dict[str, float], {"answer": {"a": 0.5}}, {"a": 0.5}),
}


@pytest.mark.parametrize("dialect", SPOKEN)
@pytest.mark.parametrize("case", ANSWERS)
def test_an_answer_of_every_type(case: str, dialect: str):
    kind, arguments, expected = ANSWERS[case]
    agent = Agent(ScriptedModel([calls(("final_answer", arguments))]), dialect=dialect)
    for face in FACES:
        outcome = play(agent, face, output=kind)
        assert outcome.stop_reason == "answered"
        assert outcome.output == expected
        assert type(outcome.output) is type(expected)


def look(what: str) -> str:
    "Look something up."
    return f"{what} has 709000 people"


GIVEN = ("final_answer", {"name": "Oslo", "people": 709_000})
OSLO = Place(name="Oslo", people=709_000)


@pytest.mark.parametrize("dialect", SPOKEN)
def test_after_tools_and_after_a_plain_answer(dialect: str):
    script = [calls(("look", {"what": "Oslo"})), says("About 709,000."), calls(GIVEN)]
    model = ScriptedModel(script)
    outcome = play(Agent(model, [look], dialect=dialect), output=Place)
    assert outcome.output == OSLO
    assert [each.name for each in outcome.calls] == ["look", "final_answer"]
    assert "calling final_answer" in outcome.messages[-3].text


@pytest.mark.parametrize("dialect", SPOKEN)
def test_what_does_not_fit_is_asked_for_again(dialect: str):
    script = [
        calls(("final_answer", {"name": "Oslo", "people": -1})),
        calls(("final_answer", {"name": "x"})),
        calls(GIVEN),
    ]
    outcome = play(Agent(ScriptedModel(script), dialect=dialect), output=Place)
    assert outcome.output == OSLO
    assert "greater than 0" in said(outcome)
    assert "people: missing" in said(outcome)


@pytest.mark.parametrize("dialect", SPOKEN)
@pytest.mark.parametrize("stubborn", ["never calls", "never fits"])
def test_but_not_for_ever(stubborn: str, dialect: str):
    bad = [calls(("final_answer", {"name": "x" * number})) for number in range(9)]
    script = bad if stubborn == "never fits" else [says("No.")] * 9
    outcome = play(Agent(ScriptedModel(script), dialect=dialect, limits=Limits(turns=None)), output=Place)
    assert outcome.output is None
    assert outcome.stop_reason in ("limit", "loop")
    assert len([message for message in outcome.messages if message.role == "assistant"]) <= 4


def test_a_validator_of_the_user_is_heard():
    script = [calls(("final_answer", {"word": "far too long"})), calls(("final_answer", {"word": "short"}))]
    outcome = play(Agent(ScriptedModel(script)), output=Tidy)
    assert outcome.output == Tidy(word="short")
    assert "five letters at most" in said(outcome)


def test_a_tool_that_must_be_called_comes_first():
    script = [calls(GIVEN), calls(("look", {"what": "Oslo"})), calls(GIVEN)]
    outcome = play(Agent(ScriptedModel(script), [look], tool_choice="look"), output=Place)
    assert outcome.output == OSLO
    assert [each.name for each in outcome.calls] == ["final_answer", "look", "final_answer"]


def test_with_no_calls_allowed_the_answer_still_has_its_type():
    outcome = play(Agent(ScriptedModel([says("Oslo."), calls(GIVEN)]), [look], tool_choice="none"), output=Place)
    assert outcome.output == OSLO


def test_what_cannot_be_an_answer_is_told():
    class Odd:
        pass

    for odd in (Odd, 3, "Place"):
        with pytest.raises(UsageError, match="cannot be an answer"):
            Agent(ScriptedModel([])).run("Go.", output=odd)


def test_a_run_that_ends_early_has_no_typed_answer():
    outcome = play(
        Agent(ScriptedModel([calls(("look", {"what": "x"}))] * 3), [look]), output=Place, limits=Limits(turns=1)
    )
    assert (outcome.output, outcome.stop_reason) == (None, "limit")
