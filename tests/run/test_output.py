"""An answer of a type, on every dialect: given as a last call, checked, asked for again a few times."""

import asyncio
import itertools
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from typing_extensions import TypedDict

from tests.cases import each_case, sample
from toolspeak.run import Agent
from toolspeak.testing import ScriptedModel, ScriptedReply, breaks, calls, says
from toolspeak.tools import tool
from toolspeak.values.errors import OutputMissing, ProviderError, UsageError
from toolspeak.values.limits import Limits

from .playing import FACES, SPOKEN, check, collect_notes, play


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


@each_case("case, dialect", sample(itertools.product(ANSWERS, SPOKEN), 37))
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


def fail(what: str) -> str:
    "Look something up that is not there."
    raise KeyError(what)


REFUSED = "not taken: another call in the same message failed"


@pytest.mark.parametrize("dialect", SPOKEN)
@pytest.mark.parametrize("answer_is_first", [True, False])
def test_an_answer_beside_other_calls_waits_for_them(answer_is_first: bool, dialect: str):
    order: list[str] = []

    async def look_slowly(what: str) -> str:
        "Look something up."
        await asyncio.sleep(0.01)
        order.append(what)
        return "709000 people"

    class Noted(Place):
        def model_post_init(self, context: object) -> None:
            order.append("answer")

    together = [("look_slowly", {"what": "Oslo"}), GIVEN]
    model = ScriptedModel([calls(*(reversed(together) if answer_is_first else together))])
    outcome = play(Agent(model, [look_slowly], dialect=dialect), output=Noted)
    assert (outcome.output.name, order[0], len(model.requests)) == ("Oslo", "Oslo", 1)


@pytest.mark.parametrize("dialect", SPOKEN)
@pytest.mark.parametrize("other", [("fail", {"what": "Oslo"}), ("look", {"wat": "Oslo"})])
def test_an_answer_beside_a_call_that_failed_is_not_taken(other: tuple[str, dict[str, str]], dialect: str):
    first = ("final_answer", {"name": "Oslo", "people": 1})
    script = [calls(("look", {"what": "Oslo"}), other, first), calls(GIVEN)]
    outcome = play(Agent(ScriptedModel(script, on_tool_error="tell"), [look, fail], dialect=dialect), output=Place)
    assert outcome.output == OSLO
    refused = [made for made in outcome.calls if made.error and made.error.startswith(REFUSED)]
    assert [made.name for made in refused] == ["final_answer"]
    assert REFUSED in collect_notes(outcome)


def test_an_answer_beside_a_call_that_was_not_allowed_is_not_taken():
    delete = tool(look, name="delete", approve=True)
    script = [calls(GIVEN, ("delete", {"what": "Oslo"})), calls(GIVEN)]
    outcome = play(Agent(ScriptedModel(script), [delete], approve=lambda call: "no"), output=Place)
    assert [made.error for made in outcome.calls] == [
        "not taken: another call in the same message failed. Look at what it says first, and then give the answer again",
        "not run: the user did not allow it: no",
        None,
    ]


def test_an_answer_that_another_call_refers_to_does_not_wait_for_that_call():
    text = '```python\nx = final_answer(name="Oslo", people=709000)\ny = look(x)\nfail(y)\n```'
    outcome = play(Agent(ScriptedModel([says(text)]), [look, fail], dialect="python"), output=Place)
    assert outcome.output == OSLO


def test_calls_beyond_a_limit_do_not_spoil_the_answer_before_them():
    script = [calls(GIVEN, ("look", {"what": "Oslo"}))]
    assert play(Agent(ScriptedModel(script), [look], parallel_tool_calls=False), output=Place).output == OSLO
    assert play(Agent(ScriptedModel(script), [look], limits=Limits(calls=1)), output=Place).output == OSLO


@pytest.mark.parametrize("dialect", SPOKEN)
def test_what_does_not_fit_is_asked_for_again(dialect: str):
    script = [
        calls(("final_answer", {"name": "Oslo", "people": -1})),
        calls(("final_answer", {"name": "x"})),
        calls(GIVEN),
    ]
    outcome = play(Agent(ScriptedModel(script), dialect=dialect), output=Place)
    assert outcome.output == OSLO
    assert "greater than 0" in collect_notes(outcome)
    assert "people: missing" in collect_notes(outcome)


@pytest.mark.parametrize("dialect", SPOKEN)
@pytest.mark.parametrize("stubborn", ["never calls", "never fits"])
def test_but_not_for_ever(stubborn: str, dialect: str):
    bad = [calls(("final_answer", {"name": "x" * number})) for number in range(9)]
    script = bad if stubborn == "never fits" else [says("No.")] * 9
    agent = Agent(ScriptedModel(script), dialect=dialect, limits=Limits(turns=None))
    outcome = play(agent, output=Place, output_optional=True)
    assert outcome.output is None
    assert outcome.stop_reason in ("limit", "loop")
    assert len([message for message in outcome.messages if message.role == "assistant"]) <= 4


def test_a_field_validator_is_reported_like_other_bad_arguments():
    script = [calls(("final_answer", {"word": "far too long"})), calls(("final_answer", {"word": "short"}))]
    outcome = play(Agent(ScriptedModel(script)), output=Tidy)
    assert outcome.output == Tidy(word="short")
    assert outcome.calls[0].error == (
        'The arguments of final_answer are not valid:\n- word: got "far too long"; Value error, five letters at most'
    )
    assert not outcome.calls[0].result.ran


class Period(BaseModel):
    first: int
    last: int
    notes: list[Tidy] = []

    @model_validator(mode="after")
    def in_order(self) -> "Period":
        assert self.first <= self.last, "first comes after last"
        return self


@dataclass
class Even:
    number: int

    def __post_init__(self) -> None:
        if self.number % 2:
            raise ValueError("the number\nmust be even")


class Whole(BaseModel):
    amount: int

    @field_validator("amount")
    @classmethod
    def round(cls, value: int) -> int:
        raise RuntimeError("a bug in a validator")


@pytest.mark.parametrize(
    ("kind", "wrong", "told"),
    [
        (Period, {"first": 3, "last": 2}, '- got {"first": 3, "last": 2}; Assertion failed, first comes after last'),
        (
            Period,
            {"first": 1, "last": 2, "notes": [{"word": "longest"}]},
            '- notes[0].word: got "longest"; Value error, five letters at most',
        ),
        (Even, {"number": 3}, "- the number must be even"),
        (Tidy, {"word": "x" * 1000}, "five letters at most"),
    ],
    ids=["a model validator", "a nested field", "a dataclass", "a long value"],
)
def test_a_validator_of_the_whole_is_reported_like_other_bad_arguments(kind: type, wrong: Any, told: str):
    outcome = play(Agent(ScriptedModel([calls(("final_answer", wrong))] * 9)), output=kind, output_optional=True)
    error = outcome.calls[0].error
    assert error.startswith("The arguments of final_answer are not valid:\n")
    assert told in error
    assert "pydantic" not in error
    assert len(error) < 600
    assert outcome.stop_reason == "loop"


def test_a_validator_with_a_bug_does_not_end_the_run():
    script = [calls(("final_answer", {"amount": 1}))] * 9
    outcome = play(Agent(ScriptedModel(script)), output=Whole, output_optional=True)
    assert outcome.calls[0].error == "RuntimeError: a bug in a validator"


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
        with pytest.raises(UsageError, match=r"cannot be an answer .*; give a pydantic model"):  # in one line
            Agent(ScriptedModel([])).run("Go.", output=odd)


# Runs that end without an output, by their stop reason

LOOKING = [calls(("look", {"what": str(number)})) for number in range(9)]
EARLY: dict[str, tuple[list[ScriptedReply], dict[str, Any]]] = {
    "limit": (LOOKING, {"limits": Limits(turns=1)}),
    "loop": ([LOOKING[0]] * 9, {}),
    "length": ([says("Os", finish="length")], {}),
    "refused": ([says("", finish="refused")], {}),
    "error": ([says("Os", finish="error")], {}),
}


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("reason", EARLY)
def test_a_run_that_ends_without_its_output_raises(reason: str, face: str):
    script, options = EARLY[reason]
    agent = Agent(ScriptedModel(script), [look])
    with pytest.raises(OutputMissing, match=f"without its typed output .{reason}") as raised:
        play(agent, face, output=Place, **options)
    assert raised.value.stop_reason == reason
    check(raised.value.outcome, agent.toolbox)
    assert raised.value.outcome.output is None
    outcome = play(agent, face, output=Place, output_optional=True, **options)
    assert (outcome.output, outcome.stop_reason) == (None, reason)


def test_a_stream_that_is_cancelled_or_closed_has_no_output():
    agent = Agent(ScriptedModel([ScriptedReply(text="a long answer", lingers=60)], chunk=1))
    stream = agent.stream("Go.", output=Place)
    for event in stream:
        if event.kind == "text_delta":
            stream.cancel()
    with pytest.raises(OutputMissing, match="cancelled"):
        _ = stream.outcome
    with agent.stream("Go.", output=Place) as left:
        next(left)
    with pytest.raises(OutputMissing, match="cancelled"):
        _ = left.outcome


def test_an_endpoint_that_fails_is_the_error_that_is_raised():
    with pytest.raises(ProviderError) as raised:
        Agent(ScriptedModel([breaks(ProviderError("down"))])).run("Go.", output=Place)
    assert raised.value.outcome is not None
    assert raised.value.outcome.output is None


def test_an_output_that_may_be_none_is_not_missing():
    outcome = Agent(ScriptedModel([calls(("final_answer", {"answer": None}))])).run("Go.", output=int | None)
    assert (outcome.output, outcome.stop_reason) == (None, "answered")


def test_a_conversation_remembers_a_run_without_its_output():
    chat = Agent(ScriptedModel([says("Os", finish="length"), calls(GIVEN)])).chat()
    with pytest.raises(OutputMissing):
        chat.run("Which city?", output=Place)
    assert [message.text for message in chat.messages] == ["Which city?", "Os"]
    assert chat.run("Which city?", output=Place).output == OSLO


def test_a_type_whose_json_form_cannot_be_read_back_is_named():
    class Odd(BaseModel):
        word: str

        @field_validator("word")
        @classmethod
        def lower(cls, value: str) -> str:
            if not value.isupper():
                raise ValueError("upper case only")
            return value.lower()

    with pytest.raises(UsageError, match="its own JSON form cannot be read back"):
        Agent(ScriptedModel([calls(("final_answer", {"word": "OSLO"}))])).run("Go.", output=Odd)


def test_a_default_factory_is_not_called_for_the_prompt():
    made: list[int] = []

    def count_up() -> int:
        made.append(len(made))
        return len(made)

    class Numbered(BaseModel):
        word: str
        number: int = Field(default_factory=count_up)
        twice: int = Field(default_factory=lambda data: 2 * data["number"])

    @dataclass
    class Counted:
        word: str
        number: int = field(default_factory=count_up)

    for kind in (Numbered, Counted):
        made.clear()
        model = ScriptedModel([calls(("final_answer", {"word": "Oslo"}))])
        output = Agent(model).run("Go.", output=kind).output
        [spec] = model.requests[0].shown.tools
        assert "default" not in spec.parameters["properties"]["number"]
        assert spec.parameters["required"] == ["word"]
        assert isinstance(output, kind)
        assert output.number == len(made)


def test_a_printed_outcome_is_short():
    @tool
    def look(where: str) -> str:
        """Look."""
        return "x" * 1000

    outcome = Agent(ScriptedModel([calls(("look", {"where": "Oslo"})), says("It is cold.")]), [look]).run("Go.")
    answer, call, end = str(outcome).splitlines()
    assert answer == "It is cold."
    assert call.startswith("look(where='Oslo') -> 'xxx")
    assert len(call) == 100
    assert end.startswith("[answered; ")
