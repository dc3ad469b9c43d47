"""Several models over real HTTP: when one is down, the next one answers, and nothing that must happen once happens twice."""

import asyncio
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cases import sample
from tests.run.playing import check
from toolspeak.dialects import Shown
from toolspeak.models import Endpoint, HttpModel, Request, RetryPolicy, Sampling
from toolspeak.run import Agent
from toolspeak.testing import ScriptedModel, calls, says
from toolspeak.values.codec import dump_facts, load_facts
from toolspeak.values.errors import EndpointDown, ModelError, ProviderError
from toolspeak.values.events import RunStarted, TextDelta, TurnEnded, TurnRestarted, TurnStarted
from toolspeak.values.messages import user
from toolspeak.wire.api import WIRES

from .asking import run_within
from .server import Act, Api, Connection, Post, Server, Telling, answers, plays, serving, streams
from .test_cuts import Ran, every

ONCE = RetryPolicy(connect_timeout=30, read_timeout=30, total_timeout=60, attempts=1)
SCRIPT = [calls(("look", {"city": "Wien"}), ("note", {"text": "x"}), text="So."), says("Fertig.")]


@pytest.fixture(scope="module")
def _second() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def second(_second: Server) -> Server:
    _second.plays()
    return _second


def model(server: Server | str, name: str, api: Api = "openai", dialect: str = "native") -> HttpModel:
    url = server if isinstance(server, str) else server.url
    return HttpModel(Endpoint(name=name, base_url=f"{url}/v1", api=api, retry=ONCE), "m", dialect)


def write_answer(api: Api, dialect: str, *, stream: bool) -> bytes:
    """The body of a whole answer: the first line of the script."""
    wire, telling = WIRES[api], Telling()
    encoder = wire.Encoder("m", id="answer_1", created=1)

    async def write() -> bytes:
        body = encoder.start()
        async for pieces in ScriptedModel(SCRIPT).ask(Request(shown=Shown(messages=(user("Go."),)), dialect=dialect)):
            for event in [event for piece in pieces for event in telling.events(piece)]:
                if stream:
                    body += encoder.feed([event])
                elif isinstance(event, TurnEnded):
                    return json.dumps(encoder.response(event.message, event.finish, event.usage)).encode()
        return body

    return asyncio.run(write())


def cut_by_prompt(data: bytes, whole: Act) -> Act:
    """Cut the first answer after as many bytes as the prompt says; later answers are whole."""

    async def act(post: Post, connection: Connection) -> None:
        last = WIRES[post.api].read_request(post.body, post.path).messages[-1].text
        if not last.isdigit():
            return await whole(post, connection)
        cut = int(last)
        connection.head(kind="text/event-stream" if post.streams else "application/json", length=len(data))
        await connection.write(data[:cut])
        return connection.close() if cut < len(data) else None

    return act


@pytest.mark.parametrize("start", sample(range(3), 2))
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "plain"])
@pytest.mark.parametrize(
    ("first_side", "second_side"),
    [(("openai", "native"), ("anthropic", "json")), (("anthropic", "typescript"), ("openai", "native"))],
    ids=["native to json", "typescript to native"],
)
def test_an_outage_at_every_byte(
    server: Server,
    second: Server,
    first_side: tuple[Api, str],
    second_side: tuple[Api, str],
    stream: bool,
    start: int,
):
    data = write_answer(*first_side, stream=stream)
    server.plays(cut_by_prompt(data, plays(SCRIPT, first_side[1], chunk=None)))
    second.plays(plays(SCRIPT, second_side[1], chunk=None))
    models = [model(server, "a", *first_side), model(second, "b", *second_side)]
    restarted: list[int] = []

    async def cut_at(cut: int) -> None:
        ran = Ran()
        tools = ran.tools() if stream else ran.tools()[:1]  # nothing gains by streaming without a tool that only reads
        script_calls = ["look", "note"] if stream else ["note"]
        outcome = await Agent(models, tools).arun(str(cut))
        if cut % 16 == start:  # it takes a while
            check(outcome)
        assert outcome.text == "Fertig."
        assert [made.name for made in outcome.calls if made.result.ran] == script_calls
        assert ran.notes == ["x"]
        assert ran.looks[:1] == ["Wien"] * stream
        names = [fact.model for fact in outcome.facts if isinstance(fact, TurnStarted)]
        if any(isinstance(fact, TurnRestarted) for fact in outcome.facts):
            restarted.append(cut)
            assert names == ["a:m", "b:m", "b:m"]  # the run stays with the model that works
        else:
            assert names == ["a:m", "a:m"]

    cuts = sample(range(start, len(data) + 1, 3), 9)
    run_within(every(cuts, cut_at))
    assert len(restarted) > len(cuts) * 3 // 4
    assert len(data) not in restarted


def test_a_rate_limit_passes_the_message_on(server: Server, second: Server, caplog: pytest.LogCaptureFixture):
    server.plays(answers(429, {"error": {"message": "slow down"}}, retry_after="0"))
    second.plays(plays([says("Hallo.")]))
    agent = Agent([model(server, "a"), model(second, "b", "anthropic")], sampling=Sampling(extra={"top_k": 3}))
    with caplog.at_level(logging.WARNING, logger="toolspeak"):
        stream = agent.stream("Go.")
        events = list(stream)
    assert stream.outcome.text == "Hallo."
    kinds = [event.kind for event in events if not isinstance(event, TextDelta | RunStarted)]
    assert kinds == ["turn_started", "turn_restarted", "turn_started", "turn_ended", "run_ended"]
    (record,) = (each for each in caplog.records if each.name == "toolspeak")
    where = f"run {stream.outcome.run_id}, turn 1"
    assert record.getMessage() == f"{where}: a:m failed (RateLimited); asking b:m"
    assert server.posts[0].body["top_k"] == 3
    assert "top_k" not in second.posts[0].body  # a field that only the first endpoint knows


def test_all_are_down(server: Server, second: Server):
    server.plays(answers(503, {"error": {"message": "on fire"}}))
    second.plays(answers(429, {"error": {"message": "slow down"}}))
    models = [model(server, "a"), model(second, "b"), model("http://127.0.0.1:1", "c")]
    with pytest.raises(ModelError) as caught:
        Agent(models).run("Go.")
    first, *reasons = str(caught.value).split("\n")
    assert first == "none of 3 models answered:"
    assert [reason.split(" at ")[0] for reason in reasons] == ["- a:m: a", "- b:m: b", "- c:m: c"]
    assert ["on fire" in reasons[0], "slow down" in reasons[1], "is it running?" in reasons[2]] == [True] * 3
    outcome: Any = caught.value.outcome
    assert outcome.detail == str(caught.value)
    server.plays(plays([says("Hallo.")]))  # a run that is resumed asks the first model first
    assert Agent(models).resume(outcome.facts).text == "Hallo."


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413])
def test_a_refused_request_is_not_passed_on(server: Server, second: Server, status: int):
    server.plays(answers(status, {"error": {"message": "no"}}))
    with pytest.raises(ProviderError, match=f"answered {status}: no") as caught:
        Agent([model(server, "a"), model(second, "b")]).run("Go.")
    assert not isinstance(caught.value, EndpointDown)
    assert second.posts == []


def test_a_refusal_after_an_outage_names_both(server: Server, second: Server):
    server.plays(answers(500, {"error": {"message": "on fire"}}))
    second.plays(answers(401, {"error": {"message": "who?"}}))
    with pytest.raises(ProviderError, match=r"(?s)none of 2 models.*on fire.*who\?"):
        Agent([model(server, "a"), model(second, "b")]).run("Go.")


def test_an_error_in_the_stream_is_an_outage_unless_it_blames_the_request(server: Server, second: Server):
    models = [model(server, "a"), model(second, "b")]
    second.plays(plays([says("Hallo.")]))
    server.plays(streams(b'data: {"error": {"message": "boom", "code": 502}}\n\n'))
    assert Agent(models).run("Go.").text == "Hallo."
    server.plays(streams(b'data: {"error": {"message": "too long", "code": "context_length_exceeded"}}\n\n'))
    with pytest.raises(ProviderError, match="too long"):
        Agent(models).run("Go.")


def test_the_last_model_that_worked_fails_and_the_first_is_asked_again(server: Server, second: Server):
    down = answers(500, {"error": {"message": "down"}})
    server.plays(down, plays(SCRIPT))
    second.plays(plays(SCRIPT), down)
    ran = Ran()
    outcome = Agent([model(server, "a"), model(second, "b")], ran.tools()).run("Go.")
    assert (outcome.text, ran.notes) == ("Fertig.", ["x"])
    names = [fact.model for fact in outcome.facts if isinstance(fact, TurnStarted)]
    assert names == ["a:m", "b:m", "b:m", "a:m"]


def test_facts_with_a_restarted_turn_resume_from_every_place(server: Server, second: Server):
    data = write_answer("openai", "native", stream=True)
    server.plays(cut_by_prompt(data, plays(SCRIPT)))
    second.plays(plays(SCRIPT))
    models = [model(server, "a"), model(second, "b", "anthropic")]
    agent = Agent(models, Ran().tools())
    outcome = agent.run(str(len(data) // 2))
    facts = load_facts(dump_facts(outcome.facts))
    assert facts == outcome.facts
    place = next(index for index, fact in enumerate(facts) if isinstance(fact, TurnRestarted))
    for count in (place, place + 1, place + 2, len(facts) - 2):
        again = Agent(models, Ran().tools()).resume(facts[:count])
        assert (again.text, again.stop_reason) == ("Fertig.", "answered")
        check(again)
