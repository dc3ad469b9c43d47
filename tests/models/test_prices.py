"""What runs cost: tokens from both APIs over real HTTP, prices by the address, and the limit of the cost."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from toolspeak.models import EmbeddedModel, connect
from toolspeak.run import Agent, Chain
from toolspeak.testing import ScriptedModel, calls, says
from toolspeak.values.codec import dump_facts, load_facts
from toolspeak.values.errors import UsageError
from toolspeak.values.events import TurnEnded, Usage
from toolspeak.values.limits import Limits

from .asking import answer, at
from .recorded import events
from .server import Api, Server, answers, streams

THOUSAND = Usage(input_tokens=1000, output_tokens=1000)
OPENAI_USAGE = {
    "prompt_tokens": 50,
    "completion_tokens": 20,
    "prompt_tokens_details": {"cached_tokens": 30, "cache_write_tokens": 5},
    "completion_tokens_details": {"reasoning_tokens": 12},
}
ANTHROPIC_USAGE = {
    "input_tokens": 15,
    "cache_read_input_tokens": 30,
    "cache_creation_input_tokens": 5,
    "output_tokens": 20,
    "output_tokens_details": {"thinking_tokens": 12},
}
WHOLE = {
    "openai": {"choices": [{"message": {"content": "Hi."}, "finish_reason": "stop"}], "usage": OPENAI_USAGE},
    "anthropic": {"content": [{"type": "text", "text": "Hi."}], "stop_reason": "end_turn", "usage": ANTHROPIC_USAGE},
}
STREAMED = {
    "openai": events(
        {"choices": [{"delta": {"content": "Hi."}, "finish_reason": "stop"}]},
        {"choices": [], "usage": OPENAI_USAGE},
        "[DONE]",
    ),
    "anthropic": events(
        {"type": "message_start", "message": {"usage": {**ANTHROPIC_USAGE, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hi."}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 20}},
        {"type": "message_stop"},
    ),
}


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "plain"])
@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_cached_and_reasoning_tokens_of_both_apis(server: Server, api: Api, stream: bool):
    server.plays(streams(STREAMED[api]) if stream else answers(200, WHOLE[api]))
    assert answer(at(server, api), stream=stream).usage == Usage(
        input_tokens=50, output_tokens=20, cached_tokens=30, cache_write_tokens=5, reasoning_tokens=12
    )


def test_the_address_says_whose_price_list_holds():
    dear = connect("anthropic:claude-sonnet-4-5", key="k").cost(THOUSAND)
    assert dear is not None
    assert dear > 0
    cached = connect("anthropic:claude-sonnet-4-5", key="k").cost(
        Usage(input_tokens=1000, output_tokens=1000, cached_tokens=900)
    )
    assert cached is not None
    assert 0 < cached < dear
    assert connect("openai:a-model-that-is-not-there", key="k").cost(THOUSAND) is None
    assert connect("claude-sonnet-4-5", at="http://127.0.0.1:9000/v1").cost(THOUSAND) is None
    assert connect("claude-sonnet-4-5", at="https://proxy.example/v1").cost(THOUSAND) is None


def test_what_runs_on_this_machine_costs_nothing(tmp_path: Path):
    assert connect("ollama:gemma3").cost(THOUSAND) == 0.0
    assert EmbeddedModel(tmp_path / "m.gguf").cost(THOUSAND) == 0.0


def test_the_price_list_is_imported_at_first_use():
    code = (
        "import sys, json; from toolspeak.models import connect; from toolspeak.run import Agent\n"
        "model = connect('openai:gpt-5.1', key='k'); Agent(model)\n"
        "print(json.dumps('genai_prices' in sys.modules))"
    )
    source = str(Path(__file__).parents[2] / "src")
    printed = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {source!r})\n{code}"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert json.loads(printed) is False


def look(city: str) -> str:
    "Look at a city."
    return "mild"


SCRIPT = [
    calls(("look", {"city": "Wien"}), usage=Usage(input_tokens=60, output_tokens=40)),
    says("Mild.", usage=Usage(input_tokens=150, output_tokens=50)),
]


def test_the_cost_of_turns_and_runs():
    outcome = Agent(ScriptedModel(SCRIPT, price=0.5), [look]).run("Go.")
    costs = [fact.cost for fact in outcome.facts if isinstance(fact, TurnEnded)]
    assert (costs, outcome.cost, outcome.stop_reason) == ([50.0, 100.0], 150.0, "answered")
    assert load_facts(dump_facts(outcome.facts)) == outcome.facts
    assert Agent(ScriptedModel(SCRIPT), [look]).run("Go.").cost is None


def test_a_run_ends_when_it_has_cost_too_much_and_keeps_its_limit_when_resumed():
    model = ScriptedModel(SCRIPT, price=0.5)
    outcome = Agent(model, [look], limits=Limits(cost=50)).run("Go.")
    assert (outcome.stop_reason, outcome.cost) == ("limit", 50.0)
    assert outcome.detail == "the run may cost $50, and has cost $50"
    assert Agent(model, [look], limits=Limits(cost=50.5)).run("Go.").stop_reason == "answered"
    with pytest.raises(UsageError, match="the price of scripted is unknown"):
        Agent(ScriptedModel(SCRIPT), [look]).resume(outcome.facts[:-1])


def test_an_unknown_price_beside_a_limit_is_refused_before_anything_is_sent():
    unknown = ScriptedModel(SCRIPT, name="unknown")
    agent = Agent([ScriptedModel(SCRIPT, price=1.0), unknown], [look])
    with pytest.raises(UsageError, match=r"Limits\(cost=2\): the price of unknown is unknown"):
        agent.run("Go.", limits=Limits(cost=2))
    assert unknown.requests == []
    with pytest.raises(UsageError, match=r"Limits\(cost=-1\)"):
        Agent(unknown, limits=Limits(cost=-1))


def test_the_cost_of_a_chain():
    priced, unknown = ScriptedModel([SCRIPT[1]], price=0.5), ScriptedModel([SCRIPT[1]])
    assert Chain("Go.").llm(priced).run().cost == 100.0
    assert Chain("Go.").llm(unknown).run().cost is None


def test_the_price_of_a_model_behind_a_proxy_is_given():
    model = connect("gpt-5.1", at="https://proxy.example/v1", cost=lambda usage: usage.output_tokens * 0.001)
    assert model.cost(THOUSAND) == 1.0
    with pytest.raises(UsageError, match="cost must be a function that takes a Usage"):
        connect("gpt-5.1", at="https://proxy.example/v1", cost=0.001)  # pyright: ignore[reportArgumentType]  # the wrong type is what is tested


def ask_free_model(how: str) -> Agent:
    unpriced = Agent(ScriptedModel([says("Cheap.")], name="unpriced"))
    middle = Agent(ScriptedModel([says("Cheap.")], name="middle", price=0.1), [unpriced.as_tool("deep", "Knows.")])
    tools = {"sub-agent": unpriced.as_tool("inner"), "hand-over": unpriced.as_handoff("inner")}
    tools["sub-agent of a sub-agent"] = middle.as_tool("inner")
    return Agent(ScriptedModel([says("Never asked.")], price=0.1), [tools[how]])


@pytest.mark.parametrize("how", ["sub-agent", "hand-over", "sub-agent of a sub-agent"])
def test_an_unknown_price_of_another_agent_is_refused_before_anything_is_sent(how: str):
    agent = ask_free_model(how)
    with pytest.raises(UsageError, match=r"the price of unpriced is unknown, .*connect\(name, at=…, cost="):
        agent.run("Go.", limits=Limits(cost=1))
    assert isinstance(agent.model, ScriptedModel)
    assert agent.model.requests == []
    facts = agent.run("Go.").facts
    with pytest.raises(UsageError, match="the price of unpriced is unknown"):
        agent.resume(facts, limits=Limits(cost=1))
