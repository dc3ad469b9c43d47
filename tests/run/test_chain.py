"""Chains: steps that feed each other, in four faces that come to the same."""

import asyncio

import pytest

from toolspeak import Chain, Limits, previous
from toolspeak.testing import ScriptedModel, breaks, calls, says
from toolspeak.values.errors import EndpointDown, ToolError, UsageError

from .playing import FACES, start


def get_weather(city: str) -> dict[str, object]:
    """The weather in a city."""
    return {"city": city, "celsius": 20, "days": [18, 21]}


def to_fahrenheit(celsius: float) -> float:
    """Degrees in Fahrenheit."""
    return celsius * 9 / 5 + 32


def fail() -> str:
    """Fail."""
    raise ValueError("no luck")


@pytest.mark.parametrize("face", FACES)
def test_each_step_feeds_the_next(face):
    model = ScriptedModel([calls(("get_weather", {"city": "Paris"})), says("20 degrees.")])
    chain = (
        Chain("What is the weather in {city}?")
        .with_tools([get_weather, to_fahrenheit])
        .llm(model)
        .transform(lambda text: int(text.split()[0]))
        .tool("to_fahrenheit", celsius=previous)
        .prompt("That is {previous} in {unit}, {not a name}.")
    )
    outcome = start(chain, face, city="Paris", unit="Fahrenheit")
    assert [step.value for step in outcome.steps] == [
        "What is the weather in Paris?",
        "20 degrees.",
        20,
        68.0,
        "That is 68.0 in Fahrenheit, {not a name}.",
    ]
    assert outcome.text == outcome.output == "That is 68.0 in Fahrenheit, {not a name}."
    assert [made.name for made in outcome.calls] == ["get_weather"]
    assert outcome.stop_reason == "answered"
    assert outcome.messages[-1].text == "20 degrees."


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        (previous["celsius"], 68.0),
        (previous["days"][1], 69.8),
        ({"nested": previous}, "celsius"),
    ],
)
def test_an_argument_may_be_a_part_of_the_step_before(argument, value):
    chain = Chain().with_tools([get_weather, to_fahrenheit]).tool("get_weather", city="Oslo")
    chain = chain.tool("to_fahrenheit", celsius=argument)
    if isinstance(value, str):
        with pytest.raises(ToolError, match="step 2 of the chain, to_fahrenheit"):
            chain.run()
    else:
        assert chain.run().output == pytest.approx(value)


def test_text_alone_is_the_value_and_text_within_text_is_text():
    chain = Chain().with_tools([get_weather]).transform(lambda _: "Rome").tool("get_weather", city="{previous}")
    assert chain.run().output["city"] == "Rome"
    chain = Chain().with_tools([get_weather]).transform(lambda _: "Rome").tool("get_weather", city="New {previous}")
    assert chain.run().output["city"] == "New Rome"


def test_a_transform_may_be_async():
    async def double(value):
        await asyncio.sleep(0)
        return value * 2

    assert Chain("ab").transform(double).run().text == "abab"


def test_a_chain_does_not_change():
    base = Chain("Hello.").with_tools([get_weather])
    longer = base.transform(str.upper)
    assert base.run().text == "Hello."
    assert longer.run().text == "HELLO."
    assert repr(longer) == "Chain(prompt → transform)"


@pytest.mark.parametrize("face", FACES)
def test_a_tool_that_fails_ends_the_chain(face):
    with pytest.raises(ToolError, match="step 1 of the chain, fail: ValueError: no luck"):
        start(Chain().with_tools([fail]).tool("fail").transform(str.upper), face)


@pytest.mark.parametrize("face", FACES)
def test_an_agent_stops_at_its_most_iterations(face):
    endless = [calls(("to_fahrenheit", {"celsius": number})) for number in range(20)]
    chain = Chain.agent("Research.", ScriptedModel(endless)).with_tools([to_fahrenheit]).with_max_iterations(5)
    outcome = start(chain.transform(str.upper), face)
    assert outcome.stop_reason == "limit"
    assert len(outcome.calls) == 5
    assert len(outcome.steps) == 2, "the steps after it are not taken"


def test_the_most_iterations_leave_the_other_limits_as_they_are():
    endless = [calls(("to_fahrenheit", {"celsius": number})) for number in range(20)]
    chain = Chain.agent("Research.", ScriptedModel(endless)).with_tools([to_fahrenheit])
    outcome = chain.with_limits(Limits(turns=2, calls=3)).with_max_iterations(5).run()
    assert len(outcome.calls) == 4
    assert "the run may make 3 calls" in outcome.detail
    assert len(chain.with_max_iterations(5).with_limits(Limits(turns=2)).run().calls) == 2


def test_a_model_that_ends_without_its_output_ends_the_chain():
    chain = Chain("?").llm(ScriptedModel([says("Os", finish="length")]), output=int).transform(str)
    outcome = chain.run()
    assert (outcome.output, outcome.stop_reason, len(outcome.steps)) == (None, "length", 2)


def test_an_agent_is_told_to_work_step_by_step():
    model = ScriptedModel([says("Done.")])
    Chain.agent("Research.", model).system("Be brief.").run()
    system = model.requests[0].shown.messages[0].text
    assert system.startswith("Be brief.\n\nWork step by step.")


@pytest.mark.parametrize("choice", ["required", "get_weather", ["get_weather"]])
def test_a_choice_holds(choice):
    model = ScriptedModel([says("No."), calls(("get_weather", {"city": "Oslo"})), says("Yes.")])
    outcome = Chain("?").with_tools([get_weather]).llm(model, tool_choice=choice).run()
    assert [made.name for made in outcome.calls] == ["get_weather"]


def test_one_model_for_all_steps_and_a_typed_answer():
    model = ScriptedModel([calls(("final_answer", {"answer": 3}))])
    chain = Chain("How many?").with_model(model).with_limits(Limits(turns=2)).llm(output=int)
    assert chain.transform(lambda number: number + 1).run().output == 4


@pytest.mark.parametrize(
    ("chain", "words"),
    [
        (Chain(), "the chain has no steps"),
        (Chain().tool("get_wether", city="Oslo").with_tools([get_weather]), "did you mean get_weather"),
    ],
)
def test_what_is_wrong_is_told_before_a_step_is_taken(chain, words):
    with pytest.raises(UsageError, match=words):
        chain.run()


def test_stopping_a_chain_keeps_what_there_is():
    model = ScriptedModel([says("a long answer")], chunk=1, pace=0.5)  # six seconds, in which it is stopped
    with Chain("?").llm(model).transform(str.upper).stream() as events:
        for event in events:
            if event.kind == "text_delta":
                events.cancel()
        outcome = events.outcome
    assert outcome.stop_reason == "cancelled"
    assert 0 < len(outcome.text) < len("a long answer")


def test_the_drawing_of_a_chain():
    chain = Chain('Say "hi" <now>').with_tools([get_weather]).llm("openai:gpt-5.1").tool("get_weather", city="x")
    assert chain.transform(str.upper).graph() == (
        "flowchart TD\n"
        "    start((start))\n"
        '    step1[/"Say #quot;hi#quot; #lt;now#gt;"/]\n'
        "    start --> step1\n"
        '    step2(["openai:gpt-5.1"])\n'
        "    step1 --> step2\n"
        '    step2 -. call .-> step2_1[["get_weather"]]\n'
        "    step2_1 -. result .-> step2\n"
        '    step3[["get_weather"]]\n'
        "    step2 --> step3\n"
        '    step4["upper"]\n'
        "    step3 --> step4\n"
        "    answer((answer))\n"
        "    step4 --> answer\n"
    )


def test_a_step_takes_several_models():
    down = ScriptedModel([breaks(EndpointDown("gone"))], name="first")
    works = ScriptedModel([says("Warm.")], name="second")
    for chain in (Chain("How is it?").llm([down, works]), Chain("How is it?").with_model([down, works]).llm()):
        assert chain.run().text == "Warm."
    assert "first, else second" in Chain("How is it?").llm([down, works]).graph()
    with pytest.raises(UsageError, match="empty list"):
        Chain("How is it?").llm([]).run()


def test_a_step_with_a_tool_that_is_not_there_is_refused_by_its_name():
    with pytest.raises(UsageError, match=r"^there is no tool 'auto'; the tools are: none$"):
        Chain().tool("auto").run()


def test_a_printed_outcome_is_its_text():
    assert str(Chain("Go.").llm(ScriptedModel([says("Gone.")])).run()) == "Gone."
    stopped = Chain("Go.").llm(ScriptedModel([says("Gone.")])).with_limits(Limits(turns=0)).run()
    assert str(stopped) == "[limit: the run may take 0 turns, and the model is not done]"
