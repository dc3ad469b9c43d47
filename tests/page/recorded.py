"""Recorded runs, as `toolspeak run --record` writes them: small ones that an agent has really made, and one very long."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from toolspeak import Agent, codec
from toolspeak.page.document import RunDocument
from toolspeak.testing import ScriptedModel
from toolspeak.testing.scripted import Line, says
from toolspeak.values.events import (
    CallReady,
    CallStarted,
    Fact,
    RunEnded,
    RunStarted,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    TurnStarted,
    Usage,
)
from toolspeak.values.messages import Call, Message, Raw, Text, ToolCall, ToolResult, user
from toolspeak.values.spec import ToolSpec


def make_document(facts: Iterable[Fact]) -> RunDocument:
    """Return a run of which a fact happened every tenth of a second."""
    document = RunDocument()
    for number, fact in enumerate(facts):
        document.add(fact, number / 10)
    return document


def get_weather(city: str, days: int = 1) -> dict[str, object]:
    """Get the weather of a city.

    Args:
        city: The name of the city.
        days: How many days.
    """
    if city == "Atlantis":
        raise LookupError("there is no station in Atlantis")
    return {"city": city, "days": [{"high": 21 + day, "sky": "clear"} for day in range(days)]}


def convert(celsius: float) -> float:
    """Convert degrees to Fahrenheit."""
    return celsius * 9 / 5 + 32


TWO_CITIES: tuple[Line, ...] = (
    says(
        "I will look both up.\n```python\nparis = get_weather(city='Paris', days='2')\n"
        "atlantis = get_weather(city=\"Atlantis\")\nconvert(celsius=paris['days'][0]['high'])\n```",
        usage=Usage(input_tokens=412, output_tokens=61),
    ),
    says(
        "Paris is clear, 21 °C (69.8 °F). There is no station in Atlantis.",
        usage=Usage(input_tokens=640, output_tokens=24),
    ),
)


def write_facts(path: Path, facts: Iterable[Fact], times: Sequence[float] | None = None) -> Path:
    """Write facts as a record, a tenth of a second apart if no times are given."""
    with path.open("w") as file:
        for number, fact in enumerate(facts):
            at = times[number] if times is not None else number / 10
            file.write(json.dumps({"t": at, "fact": codec.encode(fact)}) + "\n")
    return path


def record_run(path: Path, script: Sequence[Line] = TWO_CITIES, prompt: str = "How is the weather in Paris?") -> Path:
    """Write the facts of a run in the Python dialect, which an agent has made."""
    agent = Agent(
        ScriptedModel(script, dialect="python", name="small-model", on_tool_error="tell"), tools=[get_weather, convert]
    )
    return write_facts(path, agent.run(prompt).facts)


def write_long_run(path: Path, turns: int = 2000, size: int = 50_000_000) -> Path:
    """Write a run of so many turns, each with a call, and about so many bytes."""
    spec = ToolSpec(name="read_page", description="Read.", parameters={"properties": {"number": {"type": "integer"}}})
    words = "the quick brown fox jumps over the lazy dog and reads on; "
    page = words * (size // turns // len(words))

    def facts() -> Iterable[Fact]:
        yield RunStarted(
            run_id="long",
            model="patient-model",
            dialect="python",
            messages=(user("Read all pages."),),
            tools=(spec,),
            in_text=True,
        )
        for turn in range(1, turns + 1):
            call = ToolCall(id=f"call_{turn}_1", name="read_page", arguments={"number": turn})
            raw = f"Next page.\n```python\nread_page(number={turn})\n```"
            message = Message(
                role="assistant", parts=(Text(text="Next page."), Call(call=call)), raw=Raw(dialect="python", text=raw)
            )
            yield TurnStarted(turn=turn, model="patient-model", dialect="python", in_text=True)
            yield CallStarted(call_id=call.id, name=call.name)
            yield CallReady(call=call)
            yield TurnEnded(message=message, finish="stop", usage=Usage(input_tokens=900 + turn, output_tokens=20))
            yield ToolStarted(call_id=call.id)
            yield ToolFinished(result=ToolResult(call_id=call.id, output=f"page {turn}: {page}"))
        yield RunEnded(reason="limit", detail=f"{turns} turns")

    return write_facts(path, facts())
