"""What is worked out from results is shown to a model that was taught to read it, in every request of a run."""

from pathlib import Path

import pytest

from tests.cases import each_case
from toolspeak import Agent
from toolspeak.dialects import DIALECTS, dialect
from toolspeak.dialects.text import show_figures
from toolspeak.models import EmbeddedModel
from toolspeak.models.adapters import QWEN_CODER_CALLS, Adapter
from toolspeak.testing import ScriptedModel, calls, says
from toolspeak.values.events import RunStarted

LINE = "celsius: lowest Oslo (-3.5) < highest Paris (11.0); difference 14.5, sum 7.5, mean 3.75"
SCRIPT = [calls(("look", {"city": "Paris"}), ("look", {"city": "Oslo"})), says("Oslo is.")]


class Reader(ScriptedModel):
    reads_figures = True


def look(city: str) -> dict[str, float]:
    """The temperature in a city."""
    return {"celsius": {"Oslo": -3.5, "Paris": 11.0}[city]}


@pytest.mark.parametrize("name", DIALECTS)
def test_a_model_that_reads_figures_is_shown_them_in_the_text_dialects(name: str):
    model = Reader(SCRIPT, dialect=name)
    outcome = Agent(model, [look]).run("Which is colder?")
    [started] = [fact for fact in outcome.facts if isinstance(fact, RunStarted)]
    shown = "\n".join(message.text for message in model.requests[1].shown.messages)
    assert started.figures
    assert (LINE in shown) is DIALECTS[name].in_text


def test_a_dialect_that_shows_figures_is_kept_with_the_run():
    model = ScriptedModel(SCRIPT)
    outcome = Agent(model, [look], dialect=show_figures(dialect("python"))).run("Which is colder?")
    resumed = ScriptedModel(SCRIPT, dialect="python")
    facts = list(outcome.facts)
    Agent(resumed, [look]).resume(facts[: [fact.kind for fact in facts].index("turn_started", 3)])
    assert LINE in model.requests[1].shown.messages[-1].text
    assert resumed.requests[-1].shown.messages[-1].text == model.requests[1].shown.messages[-1].text


def test_another_model_is_not():
    model = ScriptedModel(SCRIPT, dialect="python")
    outcome = Agent(model, [look]).run("Which is colder?")
    assert not any(isinstance(fact, RunStarted) and fact.figures for fact in outcome.facts)
    assert LINE not in model.requests[1].shown.messages[-1].text


def test_a_resumed_run_shows_what_the_run_showed():
    agent = Agent(Reader(SCRIPT, dialect="python"), [look])
    facts = list(agent.run("Which is colder?").facts)
    ends = [place for place, fact in enumerate(facts) if fact.kind == "turn_started"]
    model = ScriptedModel(SCRIPT, dialect="python")
    Agent(model, [look]).resume(facts[: ends[1]])
    assert LINE in model.requests[0].shown.messages[-1].text


def test_the_same_dialect_shows_figures_each_time():
    assert show_figures(dialect("python")) is show_figures(dialect("python"))
    assert show_figures(dialect("native")) is dialect("native")


@each_case(
    "adapter, reads",
    {
        "one that teaches it": (Adapter(path=Path("own.gguf"), reads_figures=True), True),
        "another": (Adapter(path=Path("own.gguf")), False),
        "that of the package": (QWEN_CODER_CALLS, True),
        "none": (None, False),
    },
)
def test_the_embedded_model_reads_figures_with_an_adapter_that_teaches_it(adapter, reads, tmp_path):
    assert EmbeddedModel(tmp_path / "model.gguf", adapter=adapter).reads_figures is reads
