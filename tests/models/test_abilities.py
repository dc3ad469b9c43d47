"""The dialect of an unknown model: the server is asked once, and what it says is used, recorded and logged.

The answers of a server are remembered for the process, so each test has a model of its own.
"""

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from toolspeak.models import Endpoint, HttpModel, RetryPolicy, connect, resolve_model
from toolspeak.run import Agent
from toolspeak.run.model_lookup import find_model
from toolspeak.settings import save_calibrated_dialect
from toolspeak.testing import calls, says
from toolspeak.values.events import Compacted, RunStarted, TurnStarted
from toolspeak.values.outcome import Outcome

from .server import ABILITY_PATHS, Act, Server, answers, hangs_up, plays, serving, silence
from .small_context import SmallContext


def look_up(city: str) -> str:
    "Look a city up."
    return f"{city} is cold"


def recorded_dialect(outcome: Outcome[Any]) -> tuple[str, bool]:
    started = outcome.facts[0]
    assert isinstance(started, RunStarted)
    return started.dialect, started.in_text


LLAMACPP_OLD = {"chat_template": "{% if tools %}{{ tools | tojson }}{% endif %}"}
LLAMACPP_NEW = {"chat_template": "", "chat_template_caps": {"supports_tools": True, "supports_tool_calls": True}}
LLAMACPP_NONE = {"chat_template": "{{ tools }}", "chat_template_caps": {"supports_tools": False}}


@pytest.mark.parametrize(
    ("path", "body", "dialect"),
    [
        ("/props", LLAMACPP_NEW, "native"),
        ("/props", LLAMACPP_OLD, "native"),
        ("/props", {"chat_template": "x", "chat_template_tool_use": "y"}, "native"),
        ("/props", LLAMACPP_NONE, "python"),
        ("/props", {"chat_template": "{{ messages }}"}, "python"),
        ("/api/show", {"capabilities": ["completion", "tools"]}, "native"),
        ("/api/show", {"capabilities": ["completion"]}, "python"),
        ("/api/v0/models/a%2Fb", {"capabilities": ["tool_use"]}, "native"),
        ("/api/v0/models/a%2Fb", {"capabilities": []}, "python"),
    ],
)
def test_what_servers_say(path: str, body: dict[str, Any], dialect: str):
    with serving() as server:
        server.plays(plays([calls(("look_up", {"city": "Oslo"})), says("Cold.")], dialect))
        server.abilities[path] = answers(body=body)
        model = connect("a/b", at=f"{server.url}/v1", key="the-key")
        agent = Agent(model, [look_up])
        assert (server.connections, agent.dialect_choice.is_guess) == (0, True)
        outcome = agent.run("How is Oslo?")
        assert outcome.calls[0].output == "Oslo is cold"
        assert recorded_dialect(outcome) == (dialect, dialect != "native")
        assert ("tools" in server.posts[0].body) == (dialect == "native")
        choice = agent.dialect_choice
        assert (agent.dialect.name, choice.name, choice.is_guess) == (dialect, dialect, False)
        assert choice.reason.startswith("asked the server: ")
        assert {post.headers["authorization"] for post in server.ability_posts} == {"Bearer the-key"}


@pytest.mark.parametrize(
    ("path", "body", "context"),
    [
        ("/props", {"default_generation_settings": {"n_ctx": 4096}, "total_slots": 4}, 4096),
        ("/props", {"default_generation_settings": {"n_ctx": 0}}, None),
        ("/api/show", {"model_info": {"a.context_length": 8192}, "parameters": "num_ctx 2048\nstop x"}, 2048),
        ("/api/show", {"model_info": {"a.context_length": 8192}, "parameters": "num_ctx 9000"}, 8192),
        ("/api/show", {"model_info": {"a.context_length": 8192}}, None),
        ("/api/show", {"model_info": {"a.context_length": 8192}, "remote_host": "https://x"}, 8192),
        ("/api/show", {"model_info": [1], "parameters": 5}, None),
        (
            "/api/ps",
            {"models": [{"name": "o:latest", "context_length": 1}, {"name": "a/b:latest", "context_length": 9}]},
            9,
        ),
        ("/api/ps", {"models": [{"name": "a/b", "context_length": 9}, None, {"name": []}]}, 9),
        ("/api/ps", {"models": [{"name": "another", "context_length": 9}]}, None),
        ("/api/v0/models/a%2Fb", {"loaded_context_length": 4000, "max_context_length": 32000}, 4000),
        ("/api/v0/models/a%2Fb", {"max_context_length": 32000, "state": "not-loaded"}, None),
        ("/v1/models", {"data": [{"id": "o", "max_model_len": 1}, {"id": "a/b", "max_model_len": 4096}]}, 4096),
        ("/v1/models", {"data": [{"id": "another-name", "context_length": 4096}]}, 4096),
        ("/v1/models", {"data": [{"id": "o", "context_length": 1}, {"id": "p", "context_length": 2}]}, None),
        ("/v1/models", {"data": [{"id": "a/b", "loaded_context_length": 5, "max_context_length": 9}]}, 5),
        ("/v1/models", {"data": [{"id": "a/b", "max_model_len": "many"}]}, None),
    ],
)
def test_the_context_that_servers_say(path: str, body: dict[str, Any], context: int | None):
    with serving() as server:
        server.plays(plays([says("Hello.")]))
        server.abilities[path] = answers(body=body)
        model = connect("a/b", at=f"{server.url}/v1")
        assert model.context_tokens is None
        assert asyncio.run(model.ask_context()) == context
        asked = len(server.ability_posts)
        assert asyncio.run(model.ask_context()) == context
        assert len(server.ability_posts) == asked


@pytest.mark.parametrize("dialect", ["auto", "native"])
def test_agents_on_llamacpp_keep_within_its_context(dialect: str):
    """A family by its name, or a dialect that is given: nothing but the context is asked for."""
    with serving() as server:
        server.plays(small := SmallContext(lambda _: says("I see. " * 30)))
        server.abilities["/props"] = answers(body={"default_generation_settings": {"n_ctx": 4096}})
        model = resolve_model("llamacpp:qwen3", environ={"LLAMACPP_BASE_URL": f"{server.url}/v1"})
        chat = Agent(model, dialect=dialect).chat()
        facts = [fact for turn in range(25) for fact in chat.run(f"Number {turn}: " + "more words " * 80).facts]
        assert any(isinstance(fact, Compacted) for fact in facts)
        assert small.refused == 0
        assert [post.path for post in server.ability_posts] == ["/props?model=qwen3&autoload=false"]


def test_the_context_of_a_fallback_is_asked_when_the_fallback_is():
    with serving() as first, serving() as second:
        second.plays(plays([says("Hello.")]))
        second.abilities["/props"] = answers(body={"default_generation_settings": {"n_ctx": 4096}})
        first.plays(answers(503))
        retry = RetryPolicy(attempts=1)
        models = [
            resolve_model("llamacpp:qwen3", environ={"LLAMACPP_BASE_URL": f"{server.url}/v1"}, retry=retry)
            for server in (first, second)
        ]
        agent = Agent(models)
        assert second.ability_posts == []
        assert agent.run("Hello?").text == "Hello."
        assert [model.context_tokens for model in models] == [None, 4096]


@pytest.mark.parametrize(
    "act",
    [
        answers(404),
        answers(500),
        answers(200, b"<html>"),
        answers(200, b"[" * 100_000),
        answers(body=b"[1]"),
        answers(body={"capabilities": 5, "chat_template": None, "chat_template_caps": [1]}),
        answers(302, b"", location="http://127.0.0.1:9/"),
        hangs_up,
    ],
)
def test_a_server_that_says_nothing_leaves_the_choice_by_name(act: Act):
    with serving() as server:
        server.plays(plays([says("Hello.")], "python"))
        server.abilities.update(dict.fromkeys(ABILITY_PATHS, act) | {"/api/v0/models/m": act})
        agent = Agent(f"{server.url}/v1#m")
        assert recorded_dialect(agent.run("Hello?")) == ("python", True)
        assert agent.dialect_choice.is_guess
        asked = len(server.ability_posts)
        assert asked >= 3
        agent.run("Again?")
        assert len(server.ability_posts) == asked


def test_a_silent_server_is_given_up():
    with serving() as server:
        server.abilities["/props"] = silence
        model = connect("m", at=f"{server.url}/v1", retry=RetryPolicy(read_timeout=0.2))
        choice = asyncio.run(model.choose_dialect())
        assert (choice.name, choice.is_guess) == ("python", True)


def test_a_server_that_is_still_loading_is_asked_again():
    with serving() as server:
        server.plays(plays([says("Hello."), says("Hello.")], "python"))
        loading = answers(503)
        server.abilities.update(dict.fromkeys(ABILITY_PATHS, loading) | {"/api/v0/models/m": loading})
        chat = Agent(f"{server.url}/v1#m").chat()
        assert recorded_dialect(chat.run("Hello?")) == ("python", True)
        server.abilities["/props"] = answers(body=LLAMACPP_NEW)
        assert recorded_dialect(chat.run("And again?")) == ("python", True)  # a conversation keeps its dialect
        assert recorded_dialect(chat.agent.run("Hello?")) == ("native", False)


def test_a_resumed_run_keeps_its_dialect():
    with serving() as server:
        server.plays(plays([says("Hello.")], "python"))
        server.abilities["/props"] = answers(503)
        endpoint = Endpoint(name="s", base_url=f"{server.url}/v1", ability_apis=("llamacpp",))
        agent = Agent(HttpModel(endpoint, "m", connect("m", at=server.url).dialect_choice))
        first = agent.run("Hello?")
        server.abilities["/props"] = answers(body=LLAMACPP_NEW)
        asked = len(server.ability_posts)
        agent.resume(first.facts[:1])
        assert (agent.dialect.name, len(server.ability_posts)) == ("python", asked)


def test_runs_at_once_ask_once():
    async def run_at_once(agent: Agent) -> list[Outcome[None]]:
        runs = [asyncio.create_task(agent.arun("Hello?")) for _ in range(10)]
        await asyncio.sleep(0)
        runs[0].cancel()  # the others still get the answer that this run asked for
        return await asyncio.gather(*runs[1:])

    with serving() as server:
        server.plays(plays([says("Hello.")] * 20))
        server.abilities["/props"] = answers(body=LLAMACPP_NEW)
        outcomes = asyncio.run(run_at_once(Agent(f"{server.url}/v1#m")))
        assert {recorded_dialect(outcome) for outcome in outcomes} == {("native", False)}
        assert sorted(post.path.partition("?")[0] for post in server.ability_posts) == [
            "/api/ps",
            "/api/show",
            "/api/v0/models/m",
            "/props",
            "/v1/models",
        ]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("HOME", "XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.setenv(name, str(tmp_path))
    return tmp_path


def test_what_is_decided_is_not_asked(server: Server, home: Path):
    server.plays(plays([says("Hello.")] * 9, "python"))
    address = f"{server.url}/v1"
    save_calibrated_dialect(address, "measured", "typescript")
    agents = [
        (Agent(f"{address}#named", dialect="json"), "json", "given with the agent"),
        (Agent(connect("named", at=address, dialect="json")), "json", "given to connect(dialect=…)"),
        (Agent(find_model(f"{address}#measured")), "typescript", "measured by toolspeak calibrate"),
        (Agent(f"{address}#gemma3"), "python", "the family of the model, by 'gemma' in its name"),
    ]
    for agent, dialect, reason in agents:
        assert recorded_dialect(agent.run("Hello?"))[0] == dialect
        assert (agent.dialect_choice.name, agent.dialect_choice.reason) == (dialect, reason)
    assert server.ability_posts == []


def test_the_choice_is_logged(caplog: pytest.LogCaptureFixture):
    with serving() as server, caplog.at_level(logging.INFO, logger="toolspeak"):
        server.plays(plays([says("Hello.")] * 9, "python"))
        Agent(guessed := connect("guessed", at=f"{server.url}/v1")).run("Hello?")
        server.abilities["/props"] = answers(body=LLAMACPP_NEW)
        Agent(asked := connect("asked", at=f"{server.url}/v1")).run("Hello?")
    lines = [record.getMessage() for record in caplog.records if record.name == "toolspeak"]
    assert lines[0] == (
        f"{guessed.name}: python dialect, the default for an unknown model on an unknown server; "
        "name a dialect if you know a better one, or let toolspeak calibrate measure it"
    )
    assert f"{asked.name}: native dialect, asked the server: it lists tool calls for the model (/props)" in lines


def test_the_server_of_a_fallback_is_asked_when_the_fallback_is():
    with serving() as first, serving() as second:
        second.plays(plays([calls(("look_up", {"city": "Oslo"})), says("Cold.")], "native"))
        second.abilities["/props"] = answers(body=LLAMACPP_NEW)
        retry = RetryPolicy(attempts=1)
        models = [connect("m", at=f"{server.url}/v1", retry=retry) for server in (first, second)]
        agent = Agent(models, [look_up])
        first.plays(answers(503))
        assert [each.name for each in agent.dialects] == ["python", "python"]
        outcome = agent.run("How is Oslo?")
        asked = [(fact.model, fact.dialect) for fact in outcome.facts if isinstance(fact, TurnStarted)]
        assert asked == [(models[0].name, "python"), (models[1].name, "native"), (models[1].name, "native")]
        assert outcome.text == "Cold."
        assert [each.name for each in agent.dialects] == ["python", "native"]
