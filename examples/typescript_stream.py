"""Tools shown as TypeScript, calls written in a code block, and every event printed as it happens.

The tool changes nothing (`effect="read"`), so it starts as soon as its call is complete, while the model still writes.

$ python examples/typescript_stream.py
getWeather {"location": "San Francisco"}
→ {'location': 'San Francisco', 'daysInFuture': 0, 'weather': 'sunny'}
It is sunny in San Francisco.
23 tokens
"""

from toolspeak import Agent, Model, tool
from toolspeak.values.events import (
    ArgsDelta,
    CallReady,
    CallStarted,
    TextDelta,
    ToolFinished,
)


@tool(name="getWeather", effect="read")
def get_weather(location: str, days_in_future: int = 0) -> dict[str, object]:
    """Get weather for location today (default) or N days in the future up to 10 days.

    Args:
        location: The location to get the weather for.
        days_in_future: The number of days in the future to get the weather for.
    """
    return {"location": location, "daysInFuture": days_in_future, "weather": "sunny"}


def main(model: str | Model = "local") -> None:
    agent = Agent(model, tools=[get_weather], dialect="typescript")
    stream = agent.stream("What is the weather in San Francisco?")
    for event in stream:
        match event:
            case TextDelta(text=text):
                print(text, end="", flush=True)
            case CallStarted(name=name):
                print(f"{name} ", end="", flush=True)
            case ArgsDelta(text=text):
                print(text, end="", flush=True)
            case CallReady():
                print()
            case ToolFinished(result=result):
                print(f"→ {result.error or result.output}")
            case _:
                pass
    print(f"\n{stream.outcome.usage.output_tokens} tokens")


if __name__ == "__main__":
    main()
