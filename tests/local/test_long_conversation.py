"""A conversation with the embedded model that is longer than its context."""

import pytest

from toolspeak import Agent, Limits, Sampling

CONTEXT = 768

DEGREES = {
    "Oslo": 3, "Paris": 14, "London": 11, "Rome": 19, "Madrid": 21, "Berlin": 8,
    "Vienna": 9, "Prague": 7, "Lisbon": 18, "Athens": 23, "Dublin": 10, "Warsaw": 5,
}  # fmt: skip


def get_weather(city: str) -> str:
    "Get the weather of a city."
    return f"{city}: {DEGREES[city]} degrees now. " + "The station stands on a roof and reports every ten minutes. " * 6


@pytest.mark.long
@pytest.mark.timeout(1800)  # twelve minutes on two cores
def test_twelve_turns_in_a_small_context():
    agent = Agent("local", tools=[get_weather], limits=Limits(context=CONTEXT), sampling=Sampling(max_tokens=40))
    chat = agent.chat()
    inputs: list[int] = []
    compactions = 0
    for city, degrees in DEGREES.items():
        outcome = chat.run(f"What is the temperature in {city} now?")
        inputs += [fact.usage.input_tokens for fact in outcome.facts if fact.kind == "turn_ended"]
        compactions += sum(fact.kind == "compacted" for fact in outcome.facts)
        calls = [call for message in outcome.messages for call in message.calls]
        assert outcome.stop_reason == "answered"
        assert str(degrees) in outcome.text
        assert calls[-1].arguments == {"city": city}
    assert chat.compacted is not None
    assert chat.compacted.dropped > 0
    assert compactions <= 6
    assert max(inputs) <= CONTEXT
    assert len(chat.messages) >= 4 * len(DEGREES)
