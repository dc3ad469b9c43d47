"""A typed answer as it streams: every prefix is valid, nothing in it changes, and the last one is the output."""

import asyncio
import itertools
import json
from dataclasses import dataclass, make_dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Any, Literal, NotRequired, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, create_model, field_validator, model_validator
from typing_extensions import TypedDict

from tests.cases import RUNS_ALL
from toolspeak.run import Agent, Partial
from toolspeak.run.output import Output
from toolspeak.run.partial_answer import PartialAnswer
from toolspeak.testing import ScriptedModel, ScriptedReply, calls, says
from toolspeak.values.events import ArgsDelta, CallStarted, Event, TurnStarted
from toolspeak.values.pieces import ApiCall

DIALECTS = ("native", "json", "typescript", "python")


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Place(BaseModel):
    name: str
    people: int = Field(gt=0)


class Trip(BaseModel):
    when: date
    stops: list[Place] = Field(min_length=2)
    price: Decimal | None = None
    note: str = "none"


TRIP = {"when": "2026-05-01", "stops": [{"name": "Oslo", "people": "3"}, {"name": "Bergen", "people": 4}], "price": 3}


def write(arguments: Any, indent: int | None = None) -> ScriptedReply:
    """Make a message with an API call of these arguments, as JSON or as the text that is given."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, indent=indent)
    return ScriptedReply(calls=(ApiCall(index=0, id="a", name="final_answer", arguments=text),))


def follow(kind: Any, *script: ScriptedReply, dialect: str = "native", chunk: int = 1, seed: int | None = None) -> Any:
    """Stream a typed answer, and return its prefixes and the output."""
    model = ScriptedModel(script, chunk=chunk, seed=seed)
    stream = Agent(model, dialect=dialect).stream("Answer.", output=kind)
    partials = list(stream.partials())
    assert stream.partial is partials[-1]
    return partials, stream.outcome.output


def is_prefix(part: Any, whole: Any) -> bool:
    kind = cast("Any", type(part))
    if kind is not type(whole):
        return False
    if kind is dict:
        return all(key in whole and is_prefix(value, whole[key]) for key, value in part.items())
    return part == (whole[: len(part)] if kind is list else whole)


def check_growth(partials: list[Partial], output: Any) -> None:
    """Check the prefixes of one attempt."""
    for before, after in itertools.pairwise(partials):
        assert is_prefix(before.value, after.value)
        assert not before.is_complete
    assert {partial.attempt for partial in partials} == {1}
    kind = cast("Any", type(output))
    fields = getattr(kind, "__dataclass_fields__", None) or getattr(kind, "model_fields", None)
    assert partials[-1].value == (output if fields is None else {name: getattr(output, name) for name in fields})
    assert partials[-1].is_complete


# Random types, each with its values as JSON


texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00$"), max_size=6)
names = st.sampled_from(["a", "b", "c", "d"])
SCALARS: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (int, st.integers(-(10**9), 10**9)),
    (float, st.floats(allow_nan=False, allow_infinity=False)),
    (str, texts),
    (bool, st.booleans()),
    (date, st.dates().map(str)),
    (Decimal, st.integers(0, 10**6)),
    (Colour, st.sampled_from(["red", "blue"])),
    (Literal["yes", "no"], st.sampled_from(["yes", "no"])),
    (int | None, st.none() | st.integers(-5, 5)),
    (int | str, st.integers(-5, 5) | texts),
]


def lists(of: Any) -> Any:
    return list[of[0]], st.lists(of[1], max_size=4)


def dicts(of: Any) -> Any:
    return dict[str, of[0]], st.dictionaries(texts, of[1], max_size=3)


def records(of: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Make a model, a dataclass and a typed dict with these fields; their last field may be left out."""
    *first, last = of
    values = st.fixed_dictionaries({name: of[name][1] for name in first}, optional={last: of[last][1]})
    hints = {name: of[name][0] for name in of}
    optional: Any = hints[last] | None
    create: Any = create_model
    model = create("Model", **{**hints, last: (optional, None)})
    data = make_dataclass("Data", [*[(name, hints[name]) for name in first], (last, optional, None)])
    create_typed_dict: Any = TypedDict
    typed = create_typed_dict("Typed", {**hints, last: NotRequired[hints[last]]})
    return st.sampled_from([(model, values), (data, values), (typed, values)])


types = st.recursive(
    st.sampled_from(SCALARS),
    lambda inner: inner.map(lists) | inner.map(dicts) | st.dictionaries(names, inner, min_size=1).flatmap(records),
    max_leaves=5,
)


@settings(max_examples=40 if RUNS_ALL else 12, deadline=None)
@given(data=st.data(), kind=types, seed=st.integers(0, 99), indent=st.sampled_from([None, 1]))
def test_each_prefix_is_valid_and_the_last_is_the_output(data: st.DataObject, kind: Any, seed: int, indent: int | None):
    annotation, values = kind
    value = data.draw(values)
    is_record = (
        isinstance(annotation, type) and hasattr(annotation, "__annotations__") and not issubclass(annotation, dict)
    )
    arguments = value if is_record and not issubclass(annotation, Enum | date | Decimal) else {"answer": value}
    partials, output = follow(annotation, write(arguments, indent), chunk=7, seed=seed)
    check_growth(partials, output)
    # All that was written was shown before the call had run.
    written = partials[-1].value if "answer" in arguments else {name: partials[-1].value[name] for name in arguments}
    assert not arguments or partials[-2].value == written


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_grows_by_complete_fields(dialect: str):
    partials, output = follow(Trip, calls(("final_answer", TRIP)), dialect=dialect)
    check_growth(partials, output)
    assert partials[0].value == {"when": date(2026, 5, 1)}
    assert partials[-1].value["note"] == "none"
    assert len(partials) >= 4


def test_a_list_grows_by_complete_items():
    partials, _ = follow(list[int], write({"answer": [10, 20]}))
    assert [partial.value for partial in partials] == [[], [10], [10, 20], [10, 20]]


def test_a_typed_dict_grows_inside_a_model():
    class Named(TypedDict):
        name: str
        tags: list[str]

    class Holder(BaseModel):
        named: Named

    partials, _ = follow(Holder, write({"named": {"name": "Ann", "tags": ["a", "b"]}}))
    assert {"named": {"name": "Ann", "tags": ["a"]}} in [partial.value for partial in partials]


def test_a_text_is_shown_when_it_is_closed():
    partials, _ = follow(str, write({"answer": "two words"}))
    assert [partial.value for partial in partials] == ["two words", "two words"]


def test_a_prefix_is_a_copy():
    model = ScriptedModel([write({"answer": [1, 2]})], chunk=1)
    stream = Agent(model).stream("Answer.", output=list[int])
    for partial in stream.partials():
        partial.value.append(0)
    assert stream.outcome.output == [1, 2]


# Attempts


def test_a_refused_answer_is_followed_by_another_attempt():
    refused = {"when": "2026-05-01", "stops": [{"name": "Oslo", "people": 3}]}  # too few stops
    stream = Agent(ScriptedModel([write(refused), calls(("final_answer", TRIP))], chunk=4)).stream("?", output=Trip)
    seen: list[tuple[str, Partial | None]] = [(event.kind, stream.partial) for event in stream]
    first = [partial for _, partial in seen if partial is not None and partial.attempt == 1]
    assert first[-1].value == {"when": date(2026, 5, 1), "stops": [Place(name="Oslo", people=3)]}
    assert not first[-1].is_complete
    assert [partial for kind, partial in seen if kind == "tool_finished"][0] is None  # noqa: RUF015 (reads as the others)
    last = seen[-1][1]
    assert last is not None
    assert (last.attempt, last.is_complete) == (2, True)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"answer": [1, 2, 3', [1, 2]),  # the message ended inside the call
        ('{"answer": [1, 2}', [1]),
        ('{"answer": [1, NaN]}', [1]),
        ('{"answer": [1, 2] [3]}', [1, 2]),
    ],
)
def test_what_cannot_be_read_is_not_shown(text: str, shown: list[int]):
    model = ScriptedModel([write(text), calls(("final_answer", {"answer": [7]}))], chunk=2)
    stream = Agent(model).stream("?", output=list[int], output_optional=True)
    first = [partial.value for partial in stream.partials() if partial.attempt == 1 and not partial.is_complete]
    assert first[-1] == shown


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2, "b": 3}', "{'a': 1, 'b': 3}", '{"A": 1, "a": 2, "b": 3}'])
def test_an_answer_that_does_not_go_on_as_it_began_is_another_attempt(text: str):
    class Pair(BaseModel):
        a: int
        b: int

    model = ScriptedModel([write(text), calls(("final_answer", {"a": 5, "b": 6}))], chunk=1)
    stream = Agent(model).stream("?", output=Pair)
    by_attempt: dict[int, list[Any]] = {}
    for partial in stream.partials():
        by_attempt.setdefault(partial.attempt, []).append(partial.value)
    for values in by_attempt.values():
        assert all(is_prefix(before, after) for before, after in itertools.pairwise(values))
    assert [*by_attempt.values()][-1][-1] == stream.outcome.output.model_dump()


@pytest.mark.parametrize(("second", "expected", "attempt"), [(2, 2, 2), ("none", 1, 3)])
def test_of_two_answers_in_one_message_the_last_valid_one_counts(second: Any, expected: int, attempt: int):
    partials, output = follow(int, calls(("final_answer", {"answer": 1}), ("final_answer", {"answer": second})))
    assert (output, partials[-1].value, partials[-1].attempt) == (expected, expected, attempt)


# Values that functions of the user's may change


class Tidy(BaseModel):
    word: str
    other: str

    @field_validator("word")
    @classmethod
    def tidy(cls, word: str) -> str:
        return word.strip()


class Sorted(BaseModel):
    numbers: list[int]
    name: str

    @model_validator(mode="after")
    def sort(self) -> "Sorted":
        self.numbers.sort()
        return self


class Stripped(BaseModel):
    model_config = ConfigDict(str_strip_whitespace=True)
    words: list[str]


@dataclass
class Doubled:
    number: int

    def __post_init__(self) -> None:
        self.number = abs(self.number)


@pytest.mark.parametrize(
    ("kind", "arguments", "shown"),
    [
        (Tidy, {"word": " a ", "other": "b"}, {"other": "b"}),
        (Sorted, {"numbers": [2, 1], "name": "x"}, None),
        (Stripped, {"words": [" a ", "b "]}, {"words": ["a", "b"]}),
        (Doubled, {"number": -2}, None),
    ],
)
def test_a_value_that_a_validator_may_change_is_held_back(kind: Any, arguments: Any, shown: Any):
    partials, output = follow(kind, write(arguments))
    check_growth(partials, output)
    assert [partial.value for partial in partials[:-1]][-1:] == ([] if shown is None else [shown])


# Streams


def test_an_answer_without_a_type_has_no_prefix():
    stream = Agent(ScriptedModel([says("Hello.")])).stream("Hello?")
    assert list(stream.partials()) == []
    assert stream.partial is None


def test_an_async_stream_has_the_same_prefixes():
    async def main() -> list[Partial]:
        async with Agent(ScriptedModel([write(TRIP)], chunk=1)).astream("?", output=Trip) as stream:
            return [partial async for partial in stream.partials()]

    assert asyncio.run(main()) == follow(Trip, write(TRIP))[0]


def test_a_reference_to_a_result_is_shown_when_it_has_its_value():
    def count() -> int:
        """Count."""
        return 7

    model = ScriptedModel(["```python\nfinal_answer(answer={'n': count()})\n```"], dialect="python")
    stream = Agent(model, tools=[count]).stream("?", output=dict[str, Any])
    assert [partial.value for partial in stream.partials()] == [{}, {"n": 7}]
    assert stream.outcome.output == {"n": 7}


def test_a_message_that_is_begun_anew_is_another_attempt():
    """A turn that starts again after its message broke off takes back what was shown of it."""
    answer = PartialAnswer(Output(list[int]))
    events: list[Event] = [TurnStarted(turn=1), CallStarted(call_id="a", name="final_answer")]
    for event in (*events, ArgsDelta(call_id="a", text='{"answer": [1, ')):
        answer.feed(event)
    assert answer.partial == Partial(value=[1], attempt=1)
    answer.feed(TurnStarted(turn=1))
    assert answer.partial is None
    answer.feed(ArgsDelta(call_id="a", text="2, 3]}"))
    assert answer.partial is None
    answer.feed(CallStarted(call_id="b", name="final_answer"))
    answer.feed(ArgsDelta(call_id="b", text='{"answer": [5, '))
    assert answer.partial == Partial(value=[5], attempt=2)
