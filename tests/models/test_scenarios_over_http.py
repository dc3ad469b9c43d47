"""The scenarios of the loop, over HTTP: every API and every dialect, streamed and plain, comes to what a script does."""

import json
from dataclasses import replace

import pytest

from tests.cases import each_case, sample
from tests.run.playing import collect_notes, play, summarize
from tests.run.test_scenarios import SCENARIOS, TOOLS
from toolspeak.dialects import DIALECTS
from toolspeak.run import Agent, Outcome
from toolspeak.testing import ScriptedModel
from toolspeak.values.codec import dump_messages
from toolspeak.values.messages import Opaque, Part

from .asking import Plain, at
from .server import APIS, Api, Server, plays


def histories(outcome: Outcome) -> list[str]:
    """The history as each dialect shows it, without the ids that an API gives to its items."""
    messages = [replace(each, parts=tuple(map(without_extra, each.parts))) for each in outcome.messages]
    return [dump_messages(dialect.render(TOOLS.specs, messages).messages) for dialect in DIALECTS.values()]


def without_extra(part: Part) -> Part:
    return part if isinstance(part, Opaque) else replace(part, extra=None)


@pytest.mark.parametrize("manner", ["streamed", "plain"])
@pytest.mark.parametrize("api", APIS)
@each_case("name, dialect", sample([(name, each) for name in SCENARIOS for each in SCENARIOS[name].spoken], 8))
def test_every_scenario(server: Server, name: str, dialect: str, api: Api, manner: str):
    scenario = SCENARIOS[name]
    server.plays(plays(scenario.script, dialect))
    model = at(server, api)
    asked = model if manner == "streamed" else Plain(model)
    outcome = play(Agent(asked, TOOLS, dialect=dialect, **scenario.options))
    scripted = play(Agent(ScriptedModel(scenario.script), TOOLS, dialect=dialect, **scenario.options))

    assert summarize(outcome) == summarize(scripted)
    assert collect_notes(outcome) == collect_notes(scripted)
    assert histories(outcome) == histories(scripted)
    assert {post.streams for post in server.posts} == {manner == "streamed"}
    assert {post.api for post in server.posts} == {api}
    assert model.skipped == 0


@pytest.mark.parametrize("face", ["run", "arun", "stream", "astream"])
@pytest.mark.parametrize("api", APIS)
def test_every_face(server: Server, api: Api, face: str):
    scenario = SCENARIOS["research within five iterations"]
    server.plays(plays(scenario.script))
    outcome = play(Agent(at(server, api), TOOLS, **scenario.options), face)
    assert summarize(outcome) == summarize(play(Agent(ScriptedModel(scenario.script), TOOLS, **scenario.options)))
    assert outcome.usage.input_tokens == 9 * scenario.turns
    assert not outcome.usage.estimated


@pytest.mark.parametrize("api", APIS)
def test_what_is_sent(server: Server, api: Api):
    scenario = SCENARIOS["forced tool"]
    server.plays(plays(scenario.script))
    play(Agent(at(server, api), TOOLS, system="Be brief.", **scenario.options))
    first = server.posts[0]
    assert first.headers["content-type"] == "application/json"
    assert json.dumps(first.body).count("Be brief.") == 1
    named = {
        "openai": {"type": "function", "function": {"name": "convert"}},
        "anthropic": {"type": "tool", "name": "convert"},
        "openai-responses": {"type": "function", "name": "convert"},
        "gemini": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["convert"]}},
    }
    field = "toolConfig" if api == "gemini" else "tool_choice"
    assert [post.body.get(field) for post in server.posts] == [named[api], named[api], None]
