"""A model without tool support of its own learns of a function in its prompt, and answers with JSON.

$ python examples/weather_json.py
You: What's the weather like in Tokyo in celsius?
  get_weather({'city': 'Tokyo', 'unit': 'celsius'}) → {'city': 'Tokyo', 'temperature': 25, 'unit': 'celsius'}
Assistant: It is 25 degrees Celsius in Tokyo.

You: What is the capital of France?
Assistant: Paris.
"""

from typing import Literal

from toolspeak import Agent, Model

TEMPERATURES = {"chicago": 12, "tokyo": 25}


def get_weather(
    city: str, unit: Literal["celsius", "fahrenheit"] = "celsius"
) -> dict[str, object]:
    """Get the current weather for a given city.

    Args:
        city: The name of the city.
        unit: The temperature unit.
    """
    if city.lower() not in TEMPERATURES:
        raise ValueError(
            f"the weather in {city} is not known; known are: {', '.join(TEMPERATURES)}"
        )
    degrees = TEMPERATURES[city.lower()]
    return {
        "city": city,
        "temperature": degrees if unit == "celsius" else degrees * 9 / 5 + 32,
        "unit": unit,
    }


def main(model: str | Model = "local") -> None:
    agent = Agent(model, tools=[get_weather], dialect="json")
    for question in (
        "What's the weather like in Tokyo in celsius?",
        "What is the capital of France?",
    ):
        outcome = agent.run(question)
        print(f"You: {question}")
        for call in outcome.calls:
            print(f"  {call.name}({call.arguments}) → {call.error or call.output}")
        print(f"Assistant: {outcome.text}\n")


if __name__ == "__main__":
    main()
