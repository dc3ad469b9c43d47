"""Steps that feed each other: a tool called by hand, a model, a function.

$ python examples/chain.py
flowchart TD
    start((start))
    step1[["get_weather"]]
    …
    step5 --> answer

tool: {'city': 'Paris', 'celsius': 20}
tool: 68.0
prompt: It is 68.0 degrees Fahrenheit in Paris. In one short sentence: what should I wear?
llm: A light jacket.
transform: A light jacket.
"""

from toolspeak import Chain, Model, previous


def get_weather(city: str) -> dict[str, object]:
    """Get the current weather for a given city.

    Args:
        city: The name of the city.
    """
    return {"city": city, "celsius": 20}


def to_fahrenheit(celsius: float) -> float:
    """Convert degrees Celsius to Fahrenheit.

    Args:
        celsius: The temperature.
    """
    return celsius * 9 / 5 + 32


def main(model: str | Model | None = None) -> None:
    chain = (
        Chain()
        .with_tools([get_weather, to_fahrenheit])
        .tool("get_weather", city="Paris")
        .tool("to_fahrenheit", celsius=previous["celsius"])
        .prompt(
            "It is {previous} degrees Fahrenheit in Paris. In one short sentence: what should I wear?"
        )
        .llm(model, tool_choice="none")
        .transform(str.strip)
    )
    print(chain.graph())
    outcome = chain.run()
    for step in outcome.steps:
        print(f"{step.step.kind}: {step.value}")


if __name__ == "__main__":
    main()
