"""A chain, and the types of its outcome."""

from typing import assert_type

from toolspeak import Chain, Limits, Stream, previous
from toolspeak.run import CallRecord, ChainOutcome
from toolspeak.testing import ScriptedModel, says


def get_weather(city: str) -> dict[str, int]:
    """Get the weather in a city."""
    return {"celsius": 20}


def to_fahrenheit(celsius: float) -> float:
    """Convert degrees Celsius to Fahrenheit."""
    return celsius * 9 / 5 + 32


chain = (
    Chain()
    .with_tools([get_weather, to_fahrenheit])
    .with_limits(Limits(seconds=5))
    .with_max_iterations(3)
    .tool("get_weather", city="{city}")
    .tool("to_fahrenheit", celsius=previous["celsius"])
    .prompt("It is {previous} degrees.")
    .llm(ScriptedModel([says("Take a jacket. ")]), tool_choice="none")
    .transform(str.strip)
)
outcome = chain.run(city="Oslo")
assert_type(outcome, ChainOutcome)
assert_type(outcome.text, str)
assert_type(outcome.calls, tuple[CallRecord, ...])
assert outcome.text == "Take a jacket."
assert [step.step.kind for step in outcome.steps] == ["tool", "tool", "prompt", "llm", "transform"]

with chain.stream(city="Oslo") as stream:
    assert_type(stream, Stream[ChainOutcome])
    kinds = [event.kind for event in stream]
assert kinds.count("tool_finished") == 2
assert stream.outcome.text == "Take a jacket."
