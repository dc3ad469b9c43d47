"""The scenarios of the seeds: every face, every dialect and every chunking comes to the same."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.cases import each_case, sample
from toolspeak.run import Agent
from toolspeak.testing import ScriptedModel, ScriptedReply, calls, says
from toolspeak.tools import Toolbox, tool
from toolspeak.values.events import TurnStarted, Usage
from toolspeak.values.limits import Limits

from .playing import FACES, SPOKEN, collect_notes, play, summarize


def get_weather(city: str) -> dict[str, Any]:
    "The weather in a city."
    return {"city": city, "temperature": {"Paris": 18, "London": 12}.get(city, -25)}


def convert(celsius: float) -> float:
    "Celsius to Fahrenheit."
    return celsius * 9 / 5 + 32


@tool(effect="read")
async def search(query: str) -> list[str]:
    "Search the web."
    return [f"{query}: a page", f"{query}: another"]


TOOLS = Toolbox([get_weather, convert, search])
MARKED = ("native", "json")
"""Where a call is marked as one. In code, a function that is no tool may be code that the user asked for."""

ODD = ("get_weather", {"city": "San Jose"})


class Scenario:
    def __init__(
        self,
        *script: ScriptedReply,
        names: str,
        text: str,
        reason: str = "answered",
        turns: int,
        note: str = "",
        spoken: tuple[str, ...] = SPOKEN,
        **options: Any,
    ) -> None:
        self.script, self.options, self.spoken = script, options, spoken
        self.names, self.text, self.reason, self.turns, self.note = names.split(), text, reason, turns, note


SCENARIOS = {
    "two cities and a conversion in one turn": Scenario(
        calls(
            ("get_weather", {"city": "Paris"}),
            ("get_weather", {"city": "London"}),
            ("convert", {"celsius": 18.5}),
            text="Let me look that up.",
        ),
        says("Paris 18, London 12, and 18.5 °C are 65.3 °F."),
        names="get_weather get_weather convert",
        text="Paris 18, London 12, and 18.5 °C are 65.3 °F.",
        turns=2,
    ),
    "no tool is needed": Scenario(says("Hello!"), names="", text="Hello!", turns=1),
    "forced tool": Scenario(
        says("I would rather not."),
        calls(("convert", {"celsius": 0})),
        says("32."),
        names="convert",
        text="32.",
        turns=3,
        tool_choice="convert",
    ),
    "forced tool, satisfied at once": Scenario(
        calls(("convert", {"celsius": 0})), says("32."), names="convert", text="32.", turns=2, tool_choice="convert"
    ),
    "forced tool that never comes": Scenario(
        *[says("No.")] * 3, names="", text="No.", reason="limit", turns=3, tool_choice="convert"
    ),
    "required": Scenario(
        says("It is mild."),
        calls(("get_weather", {"city": "Paris"})),
        says("18."),
        names="get_weather",
        text="18.",
        turns=3,
        tool_choice="required",
    ),
    "none": Scenario(
        calls(("get_weather", {"city": "Paris"})),
        says("I cannot look."),
        names="get_weather",
        text="I cannot look.",
        turns=2,
        note="no calls are allowed now",
        tool_choice="none",
    ),
    "forced list of two": Scenario(
        calls(("get_weather", {"city": "Paris"})),
        says("Done."),
        calls(("convert", {"celsius": 18})),
        says("64.4 °F."),
        names="get_weather convert",
        text="64.4 °F.",
        turns=4,
        tool_choice=["get_weather", "convert"],
    ),
    "research within five iterations": Scenario(
        calls(("search", {"query": "population of Paris"}), text="I need a number first."),
        calls(("get_weather", {"city": "Paris"}), ("search", {"query": "Paris today"}), text="And the weather."),
        calls(("convert", {"celsius": 18}), text="In Fahrenheit, too."),
        says("About two million people at 64.4 °F."),
        names="search get_weather search convert",
        text="About two million people at 64.4 °F.",
        turns=4,
        limits=Limits(turns=5),
    ),
    "research that does not end": Scenario(
        *[calls(("search", {"query": f"more {number}"}), text=f"Once more, {number}.") for number in range(6)],
        names="search search search search search",
        text="Once more, 4.",
        reason="limit",
        turns=5,
        limits=Limits(turns=5),
    ),
    "unknown tool": Scenario(
        calls(("get_wether_report", {"city": "Paris"})),
        calls(("get_weather", {"city": "Paris"})),
        says("18."),
        names="get_weather",
        text="18.",
        turns=3,
        note="there is no tool",
    ),
    "an unknown tool beside a known one": Scenario(
        calls(("get_weather", {"city": "Paris"}), ("launch_rocket", {"speed": 3})),
        says("18."),
        names="get_weather",
        text="18.",
        turns=2,
        note="there is no tool",
        spoken=MARKED,
    ),
    "arguments that do not fit": Scenario(
        calls(("convert", {"celsius": "warm"})),
        calls(("convert", {"celsius": 20})),
        says("68."),
        names="convert convert",
        text="68.",
        turns=3,
        note="celsius",
    ),
    "an odd answer, tried again and again": Scenario(
        *[calls(ODD)] * 8,
        names="get_weather get_weather get_weather get_weather get_weather",
        text="",
        reason="loop",
        turns=5,
        note="going round in circles",
    ),
    "an odd answer, tried again until told": Scenario(
        *[calls(ODD)] * 3,
        says("The weather service says -25 °C for San Jose, which is almost certainly an error."),
        names="get_weather get_weather get_weather",
        text="The weather service says -25 °C for San Jose, which is almost certainly an error.",
        turns=4,
        note="get_weather (3 times)",
    ),
    "one call a turn": Scenario(
        calls(("get_weather", {"city": "Paris"})),
        calls(("get_weather", {"city": "London"})),
        says("18 and 12."),
        names="get_weather get_weather",
        text="18 and 12.",
        turns=3,
        parallel_tool_calls=False,
    ),
    "as many calls as there may be": Scenario(
        calls(("get_weather", {"city": "Paris"}), ("get_weather", {"city": "London"})),
        says("18 and 12."),
        names="get_weather get_weather",
        text="18 and 12.",
        turns=2,
        limits=Limits(calls=2),
    ),
    "more calls than there may be": Scenario(
        calls(("get_weather", {"city": "Paris"}), ("search", {"query": "Paris"}), ("convert", {"celsius": 1})),
        names="get_weather search convert",
        text="",
        reason="limit",
        turns=1,
        note="may not make any more calls",
        limits=Limits(calls=2),
    ),
}


@each_case(
    "name, dialect, chunk",
    sample(
        [
            (name, dialect, chunk)
            for name, scenario in SCENARIOS.items()
            for dialect in scenario.spoken
            for chunk in (None, 1, 7)
        ],
        70,
    ),
)
def test_every_face_comes_to_the_same(name: str, dialect: str, chunk: int | None):
    scenario = SCENARIOS[name]
    model = ScriptedModel(scenario.script, chunk=chunk)
    agent = Agent(model, TOOLS, dialect=dialect, **scenario.options)
    outcomes = [play(agent, face) for face in FACES]
    first = outcomes[0]
    assert [each.name for each in first.calls] == scenario.names
    assert (first.text, first.stop_reason) == (scenario.text, scenario.reason)
    assert sum(isinstance(fact, TurnStarted) for fact in first.facts) == scenario.turns
    assert scenario.note in collect_notes(first)
    for outcome in outcomes[1:]:
        assert summarize(outcome) == summarize(first)
        assert outcome.messages == first.messages


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_every_dialect_comes_to_the_same(scenario: Scenario):
    model = ScriptedModel(scenario.script)
    outcomes = [play(Agent(model, TOOLS, dialect=dialect, **scenario.options)) for dialect in scenario.spoken]
    assert all(summarize(outcome) == summarize(outcomes[0]) for outcome in outcomes)


def test_no_more_than_one_call_a_turn_even_if_the_model_makes_more():
    model = ScriptedModel(
        [
            calls(("get_weather", {"city": "Paris"}), ("get_weather", {"city": "London"}), ("convert", {"celsius": 1})),
            says("Done."),
        ]
    )
    for dialect in SPOKEN:
        for face in FACES:
            outcome = play(Agent(model, TOOLS, dialect=dialect, parallel_tool_calls=False), face)
            ran = [each for each in outcome.calls if each.result.ran]
            assert [each.arguments for each in ran] == [{"city": "Paris"}]
            if dialect == "native":  # what was said stays; in a text nothing is read after the first call
                assert len(outcome.calls) == 3
                assert "make only one call" in collect_notes(outcome)
            else:
                assert len(outcome.calls) == 1
                turn = next(fact for fact in outcome.facts if fact.kind == "turn_ended")
                assert turn.usage.estimated


def test_the_demand_is_shown_to_the_model_until_it_is_met():
    model = ScriptedModel(
        [calls(("get_weather", {"city": "Paris"})), calls(("convert", {"celsius": 1})), says("Done.")]
    )
    play(Agent(model, TOOLS, dialect="json", tool_choice=["get_weather", "convert"]))
    asked = [request.shown.messages[-1].text for request in model.requests]
    assert "Call all of these now: get_weather, convert." in asked[0]
    assert "Call convert now." in asked[1]
    assert "now" not in asked[2]
    assert [request.shown.constraint is not None for request in model.requests] == [True, True, False]


def test_a_demand_is_met_by_a_result_that_is_no_argument_error():
    def fails(x: int) -> int:
        "Fails."
        raise ValueError("out of order")

    script = [calls(("fails", {"x": "?"})), says("?"), calls(("fails", {"x": 1})), says("It is out of order.")]
    outcome = play(Agent(ScriptedModel(script), [fails], tool_choice="fails", on_tool_error="tell"))
    assert outcome.text == "It is out of order."
    assert [each.result.ran for each in outcome.calls] == [False, True]


@pytest.mark.parametrize("dialect", MARKED)
def test_turns_that_only_fumble_end(dialect: str):
    script = [calls((f"nothing_like_{number}", {})) for number in range(9)]
    outcome = play(Agent(ScriptedModel(script), TOOLS, dialect=dialect))
    assert (outcome.stop_reason, len(outcome.calls)) == ("loop", 0)
    assert "in a row" in outcome.detail
    assert len([message for message in outcome.messages if message.role == "assistant"]) == 5  # four were told


@pytest.mark.parametrize("dialect", ["typescript", "python"])
def test_code_that_calls_no_tool_is_an_answer(dialect: str):
    outcome = play(Agent(ScriptedModel([calls(("sort_the_list", {"by": "name"}))]), TOOLS, dialect=dialect))
    assert (outcome.stop_reason, outcome.calls) == ("answered", ())
    assert "sort_the_list(" in outcome.text


LIMITED: dict[str, tuple[Limits, Callable[[str], bool]]] = {
    "no turns at all": (Limits(turns=0), lambda detail: "0 turns" in detail),
    "turns": (Limits(turns=2), lambda detail: "2 turns" in detail),
    "calls": (Limits(calls=3), lambda detail: "3 calls" in detail),
    "tokens": (Limits(tokens=25), lambda detail: "25 tokens" in detail),
    "seconds": (Limits(seconds=0.15, turns=None), lambda detail: "0.15 s," in detail),
}


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("limit", LIMITED)
def test_limits(limit: str, face: str):
    limits, told = LIMITED[limit]

    def line(request: Any) -> ScriptedReply:
        number = len(request.shown.messages)
        once = calls(("convert", {"celsius": number}), ("convert", {"celsius": -number}))
        return ScriptedReply(calls=once.calls, after=0.02, usage=Usage(input_tokens=8, output_tokens=2))

    outcome = play(Agent(ScriptedModel([line] * 50), TOOLS), face, limits=limits)
    assert outcome.stop_reason == "limit"
    assert told(outcome.detail), outcome.detail
    assert sum(each.result.ran for each in outcome.calls) <= 60
    if limits.calls:
        assert sum(each.result.ran for each in outcome.calls) == 3
    if limits.tokens:
        assert outcome.usage == Usage(input_tokens=24, output_tokens=6)
