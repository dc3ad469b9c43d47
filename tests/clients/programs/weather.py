"""What the programs of this folder share: the conversation of the tests, its tools, and how a program reports."""

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel

url, api, scenario, mode = sys.argv[1:5]
streamed = mode == "streamed"

TOOLS = "What's the weather like in Paris and London? Also convert 20C to Fahrenheit."
SCHEMA = "How is the weather in Paris?"

WEATHER = {"Paris": "sunny, 21 °C", "London": "rain, 15 °C"}

ran: list[tuple[str, str]] = []
"""Which tools ran, in order."""


class Report(BaseModel):
    """A report of the weather."""

    city: str
    degrees: int
    words: list[str]


def get_weather(city: str) -> str:
    """The current weather in a city.

    Args:
        city: The city.
    """
    ran.append(("get_weather", city))
    return WEATHER[city]


def calculator(expression: str) -> str:
    """The value of an arithmetic expression.

    Args:
        expression: The expression.
    """
    ran.append(("calculator", expression))
    return "68.0"


FUNCTIONS: dict[str, Callable[..., str]] = {"get_weather": get_weather, "calculator": calculator}


def run_tool(name: str, arguments: str) -> str:
    return FUNCTIONS[name](**json.loads(arguments))


class Told:
    """What came of a conversation."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.object: Any = None
        self.pieces = 0

    def add(self, text: str | None) -> None:
        self.text.append(text or "")


def play(scenarios: Mapping[str, Callable[[Told], None]]) -> None:
    """Run the scenario that was asked for, and print what came of it, for the test."""
    told = Told()
    scenarios[scenario](told)
    made = told.object.model_dump() if isinstance(told.object, BaseModel) else told.object
    print(json.dumps({"text": told.text, "object": made, "pieces": told.pieces, "ran": ran}))
