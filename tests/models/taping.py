"""What the tests of cassettes share."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from toolspeak.models import HttpModel
from toolspeak.testing import cassette
from toolspeak.values.codec import dump_facts
from toolspeak.values.events import Fact, RunStarted

from .asking import at, collect_pieces, run_within
from .recorded import delta, events
from .server import Server, streams

NOWHERE = "http://127.0.0.1:1"
"""An address at which nothing listens: what is asked there must not be sent."""

SAID = events(delta(content="Hello."), delta("stop"), "[DONE]")


def gone(model: HttpModel) -> HttpModel:
    """The same model, whose server is gone."""
    return HttpModel(replace(model.endpoint, base_url=f"{NOWHERE}/v1"), model.model, model.own_dialect_choice)


def without_ids(facts: tuple[Fact, ...]) -> list[str]:
    """The facts, but for the id of the run and the order in which tools happened to end."""
    same = (replace(fact, run_id="") if isinstance(fact, RunStarted) else fact for fact in facts)
    return sorted(dump_facts(same).splitlines())


def record(tmp_path: Path, server: Server, *prompts: str, **options: Any) -> Path:
    server.plays(*(streams(events(delta(content=f"To {each}"), delta("stop"), "[DONE]")) for each in prompts))
    file = tmp_path / "run.jsonl"
    model = cassette(at(server, **options), file, mode="record")
    for prompt in prompts:
        run_within(collect_pieces(model, prompt))
    return file


def ask(model: Any, prompt: str) -> str:
    return run_within(collect_pieces(model, prompt))[-1].parts[0].text
