"""A dialect of a user's own works like those of the library: the contract is four members, and nothing else."""

from collections.abc import Sequence
from typing import Any

from toolspeak import Agent, Message, ToolSpec
from toolspeak.dialects import PYTHON, Dialect, Parser, Shown
from toolspeak.testing import ScriptedModel
from toolspeak.values.events import Event, FinishReason, RunStarted, TextDelta
from toolspeak.values.messages import Text


class OneLine:
    """Shows each tool on one line, and reads calls of the form `CALL name city`."""

    name = "one-line"
    in_text = True

    def render(self, specs: Sequence[ToolSpec], history: Sequence[Message], **options: Any) -> Shown:
        tools = "\n".join(f"{spec.name}({', '.join(spec.parameters['properties'])})" for spec in specs)
        prompt = Message(role="system", parts=(Text(text=f"Call a tool by a line CALL name city.\n{tools}"),))
        return Shown(messages=(prompt, *PYTHON.render([], history).messages))

    def parser(self, specs: Sequence[ToolSpec], *, prefix: str = "call") -> Parser:
        return LineParser(specs, prefix)


class LineParser:
    """Translates `CALL name city` into Python once the message has ended, and lets the Python dialect read it."""

    def __init__(self, specs: Sequence[ToolSpec], prefix: str) -> None:
        self._parser = PYTHON.parser(specs, prefix=prefix)
        self._text = ""

    def feed(self, text: str) -> list[Event]:
        self._text += text
        return []

    def close(self, finish: FinishReason = "stop") -> list[Event]:
        if not self._text.startswith("CALL "):
            return [TextDelta(text=self._text)]
        _, name, city = self._text.split()
        return [*self._parser.feed(f"{name}(city={city!r})"), *self._parser.close(finish)]


def get_weather(city: str) -> str:
    """Get the weather in a city."""
    return f"Rain in {city}."


def test_an_agent_speaks_a_dialect_of_the_users_own():
    own: Dialect = OneLine()
    model = ScriptedModel(["CALL get_weather Bergen", "It rains in Bergen."], chunk=3)
    outcome = Agent(model, tools=[get_weather], dialect=own).run("What is the weather in Bergen?")
    assert outcome.text == "It rains in Bergen."
    first, second = (request.shown for request in model.requests)
    assert first.tools == ()
    assert first.messages[0].text == "Call a tool by a line CALL name city.\nget_weather(city)"
    assert "Rain in Bergen." in second.messages[-1].text
    [started] = [fact for fact in outcome.facts if isinstance(fact, RunStarted)]
    assert (started.dialect, started.in_text) == ("one-line", True)
