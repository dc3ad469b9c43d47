"""The conversation that every client has: the weather in two cities, and a sum."""

from typing import Any

from toolspeak.models import Request
from toolspeak.testing import ScriptedModel, ScriptedReply, calls, says
from toolspeak.values.messages import Text

QUESTION = "What's the weather like in Paris and London? Also convert 20C to Fahrenheit."
BEFORE = "Let me see."
ANSWER = "Paris has 21 °C, London has 15 °C, and 20 °C are 68 °F."

WEATHER = {"Paris": "sunny, 21 °C", "London": "rain, 15 °C"}
MADE = [("get_weather", "Paris"), ("get_weather", "London"), ("calculator", "20 * 9 / 5 + 32")]
RESULTS = ["sunny, 21 °C", "rain, 15 °C", "68.0"]


def parameters(name: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}


OPENAI_TOOLS: list[Any] = [
    {"type": "function", "function": {"name": name, "description": about, "parameters": parameters(argument)}}
    for name, about, argument in (
        ("get_weather", "The current weather in a city.", "city"),
        ("calculator", "The value of an arithmetic expression.", "expression"),
    )
]
ANTHROPIC_TOOLS: list[Any] = [
    {
        "name": tool["function"]["name"],
        "description": tool["function"]["description"],
        "input_schema": tool["function"]["parameters"],
    }
    for tool in OPENAI_TOOLS
]


class Tools:
    """The client's tools, and which of them ran."""

    def __init__(self) -> None:
        self.ran: list[tuple[str, str]] = []

    def get_weather(self, city: str) -> str:
        """The current weather in a city.

        Args:
            city: The city.
        """
        self.ran.append(("get_weather", city))
        return WEATHER[city]

    def calculator(self, expression: str) -> str:
        """The value of an arithmetic expression.

        Args:
            expression: The expression.
        """
        self.ran.append(("calculator", expression))
        assert expression == "20 * 9 / 5 + 32"
        return "68.0"

    def run(self, name: str, arguments: dict[str, str]) -> str:
        return getattr(self, name)(**arguments)


def in_the_end(request: Request) -> ScriptedReply:
    """The answer, if the results have come, as TypeScript tells them."""
    *_, said, results = request.shown.messages
    assert isinstance(results.parts[0], Text)
    shown = 'get_weather({city: "Paris"}) → sunny, 21 °C' in results.text and results.text.count("→") == 3
    spoken = said.role == "assistant" and 'get_weather({city: "London"})' in said.text
    return says(ANSWER if shown and spoken else f"This is what came: {said.text!r} {results.text!r}")


def scripted() -> ScriptedModel:
    """A model that speaks TypeScript in the prompt, and knows no tools of any API."""
    asked = [("get_weather", {"city": "Paris"}), ("get_weather", {"city": "London"})]
    first = calls(*asked, ("calculator", {"expression": "20 * 9 / 5 + 32"}), text=BEFORE)
    return ScriptedModel([first, in_the_end], dialect="typescript", chunk=5)
