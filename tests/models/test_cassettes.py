"""Cassettes: what is recorded over HTTP is replayed without a server."""

import asyncio
import json
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cases import each_case, sample
from tests.run.playing import SPOKEN, play, summarize, until
from tests.run.test_figures import LINE as FIGURES_LINE
from tests.run.test_figures import SCRIPT as FIGURES_SCRIPT
from tests.run.test_figures import look
from tests.run.test_scenarios import SCENARIOS, TOOLS, Scenario
from toolspeak.models import EmbeddedModel, Endpoint, HttpModel, RetryPolicy, connect, resolve_model, transport
from toolspeak.models.adapters import Adapter
from toolspeak.models.cassettes import (
    Exchange,
    TapePlayer,
    TapeWriter,
    load_tape,
    record_model,
    replay_model,
    replay_named_model,
)
from toolspeak.models.cassettes.exchange import RecordedModel
from toolspeak.models.embedded import make_endpoint
from toolspeak.run import Agent, Chat
from toolspeak.testing import FakeClock, ScriptedModel, cassette, says
from toolspeak.values.codec import IncompleteLineWarning
from toolspeak.values.errors import EndpointDown, ModelError, ProviderError, RateLimited, ReplayMiss, UsageError
from toolspeak.values.events import RunStarted

from .asking import IMPATIENT, KEY, QUICK, Plain, at, collect_pieces, question, run_within
from .recorded import RECORDED, STREAMS, delta, events
from .server import APIS, Act, Api, Connection, Post, Server, answers, hangs_up, plays, resets, silence, streams
from .small_context import SmallContext
from .taping import NOWHERE, SAID, ask, gone, record, without_ids

# Scenarios


CHOSEN = list(SCENARIOS)[:10]


@pytest.mark.parametrize("manner", ["streamed", "plain"])
@each_case("name, api", sample([(name, api) for name in CHOSEN for api in APIS], 8))
def test_scenarios_are_replayed_without_a_server(server: Server, tmp_path: Path, name: str, api: Api, manner: str):
    scenario: Scenario = SCENARIOS[name]
    file = tmp_path / "run.jsonl"
    for dialect in scenario.spoken:
        server.plays(plays(scenario.script, dialect))
        file.unlink(missing_ok=True)

        def agent(model: Any, dialect: str = dialect) -> Agent:
            made = cassette(model, file)
            return Agent(made if manner == "streamed" else Plain(made), TOOLS, dialect=dialect, **scenario.options)

        recorded = play(agent(at(server, api)))
        asked = len(server.posts)
        replayed = play(agent(gone(at(server, api))))
        assert len(server.posts) == asked
        assert without_ids(replayed.facts) == without_ids(recorded.facts)
        assert summarize(replayed) == summarize(recorded)
        assert KEY not in file.read_text()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


FAULTS: dict[str, tuple[Act, ...]] = {
    "429, then an answer": (answers(429, {"error": {"message": "slow down"}}, retry_after="0"), streams(SAID)),
    "500 twice, then an answer": (answers(500, b"oops"), answers(502, b"oops"), streams(SAID)),
    "a reset, then an answer": (resets, streams(SAID)),
    "a closed connection, then an answer": (hangs_up, streams(SAID)),
    "429 with a long wait": (answers(429, b"{}", retry_after="3600"),),
    "429 for ever": (answers(429, {"error": {"message": "slow down"}}),),
    "401": (answers(401, {"error": {"message": "no such key"}}),),
    "a redirect": (answers(307, b"", location="http://127.0.0.1:9/there"),),
    "a stream that is cut": (streams(events(delta(content="Hm.")), ending="close"),),
    "a stream that is reset": (streams(events(delta(content="Hm.")), ending="reset"),),
    "a stream that falls silent": (streams(events(delta(content="Hm.")), ending="silence"),),
    "silence": (silence,),
    "an error in a stream": (streams(events(delta(content="Hm."), {"error": {"message": "overloaded"}})),),
    "no answer": (answers(200, b"<html>"),),
    "an answer whose connection stays open": (streams(SAID, ending="hold"),),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_replayed(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str):
    monkeypatch.setattr(transport, "TRAILER_TIMEOUT_SECONDS", 0.1)
    server.plays(*FAULTS[name])
    retry = IMPATIENT if "silen" in name else QUICK
    model = at(server, retry=retry)

    def ask(mode: Any) -> tuple[Any, str]:
        try:
            return type(None), Agent(cassette(model, tmp_path / "run.jsonl", mode=mode)).run("Go on.").text
        except ModelError as error:
            return type(error), str(error)

    recorded = ask("record")
    asked = len(server.posts)
    assert ask("replay") == recorded
    assert len(server.posts) == asked
    assert KEY not in (tmp_path / "run.jsonl").read_text()


def test_waits_between_tries_are_not_replayed(server: Server, tmp_path: Path):
    server.plays(answers(429, b"{}", retry_after="0"), streams(SAID))
    file = tmp_path / "run.jsonl"
    Agent(cassette(at(server), file)).run("Go on.")
    file.write_text(file.read_text().replace('"retry-after": "0"', '"retry-after": "50"'))
    clock = FakeClock()
    patient = at(server, retry=RetryPolicy())
    assert clock.run(Agent(cassette(gone(patient), file)).arun("Go on.")).text == "Hello."
    assert clock.seconds < 1


# Times


def test_times_are_replayed_by_the_clock(server: Server, tmp_path: Path):
    has_read = threading.Event()

    async def act(post: Post, connection: Connection) -> None:
        connection.head(kind="text/event-stream")
        first, rest = SAID.split(b"\n\n", 1)
        await connection.write(first + b"\n\n")
        while not has_read.is_set():  # or both might arrive as one
            await asyncio.sleep(0.02)
        await connection.write(rest)
        await connection.end()

    server.plays(act)
    file = tmp_path / "run.jsonl"

    async def read() -> None:
        async for _ in cassette(at(server), file).ask(question()):
            has_read.set()

    run_within(read())
    *rest, line = file.read_text().splitlines()
    recording = json.loads(line)
    chunks = recording["response"]["chunks"]
    assert [seconds for seconds, _ in chunks] == sorted(seconds for seconds, _ in chunks)
    assert chunks[-1][0] > chunks[0][0]
    for number, chunk in enumerate(chunks):
        chunk[0] = 100.0 + number
    recording["response"]["head_seconds"] = 60.0
    file.write_text("\n".join([*rest, json.dumps(recording)]) + "\n")

    clock = FakeClock()
    model = cassette(gone(at(server, retry=replace(QUICK, total_timeout=None))), file, realtime=True)
    assert clock.run(collect_pieces(model))[-1].parts[0].text == "Hello."
    assert clock.seconds == pytest.approx(100.0 + len(chunks) - 1, abs=0.5)

    late = cassette(gone(at(server, retry=replace(QUICK, total_timeout=80.0))), file, realtime=True)
    with pytest.raises(ModelError, match="had 80 s for an answer"):
        FakeClock().run(collect_pieces(late))


# Files


def test_a_cut_last_line_is_told(server: Server, tmp_path: Path):
    file = record(tmp_path, server, "One", "Two")
    whole = file.read_bytes()
    file.write_bytes(whole[:-40])
    with pytest.warns(IncompleteLineWarning, match="line 3 was cut"):
        model = cassette(gone(at(server)), file)
    assert ask(model, "One") == "To One"
    with pytest.raises(ReplayMiss):
        ask(model, "Two")


@pytest.mark.slow
def test_a_process_that_dies_leaves_whole_lines(server: Server, tmp_path: Path):
    server.plays(streams(SAID), streams(events(delta(content="Hm.")), ending="silence"))
    file = tmp_path / "run.jsonl"
    program = (
        "import sys; from toolspeak import Agent, connect; from toolspeak.testing import cassette\n"
        "model = cassette(connect('m', at=sys.argv[1], dialect='native'), sys.argv[2])\n"
        "print(Agent(model).run('One').text, flush=True)\n"
        "for event in Agent(model).stream('Two'): print(event.kind, flush=True)\n"
    )
    command = [sys.executable, "-c", program, f"{server.url}/v1", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "Hello.\n"
        until(lambda: len(server.posts) == 2)
        process.kill()
    assert [type(entry).__name__ for entry in load_tape(file)] == ["RecordedModel", "Exchange"]


def test_a_changed_line_is_named(tmp_path: Path):
    file = tmp_path / "run.jsonl"
    file.write_text('{"v": 1, "kind": "model", "name": "m", "dialect": "native"}\nnonsense\n')
    with pytest.raises(UsageError, match="line 2: not JSON"):
        cassette(at(NOWHERE), file)
    file.write_text('{"v": 2, "kind": "exchange"}\n')
    with pytest.raises(UsageError, match="line 1: recorded in format 2 by a newer toolspeak"):
        cassette(at(NOWHERE), file)
    file.write_text('{"v": 1, "kind": "exchange"}\n')
    with pytest.raises(UsageError, match="line 1: not a line of a cassette"):
        cassette(at(NOWHERE), file)


def test_a_cut_line_is_dropped_before_more_is_appended(server: Server, tmp_path: Path):
    file = record(tmp_path, server, "One")
    with file.open("a") as opened:
        opened.write('{"v": 1, "ki')
    server.plays(streams(SAID))
    run_within(collect_pieces(record_model(at(server), TapeWriter(file, appends=True)), "Two"))
    model = replay_model(gone(at(server)), TapePlayer(load_tape(file), "tape"))
    assert [ask(model, "One"), ask(model, "Two")] == ["To One", "Hello."]


def test_a_recording_is_renewed_as_a_new_file(server: Server, tmp_path: Path):
    file = record(tmp_path, server, "One")
    file.chmod(0o644)
    assert record(tmp_path, server, "Two") == file
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with pytest.raises(ReplayMiss):
        ask(cassette(gone(at(server)), file), "One")


def test_two_writers_of_one_new_file_share_it(tmp_path: Path):
    file = tmp_path / "run.jsonl"
    file.write_text("old\n")
    writers = [TapeWriter(file), TapeWriter(file)]
    for number in (0, 1, 0):
        when = datetime.now(UTC)
        writers[number].add_exchange(Exchange(at=when, path=f"/{number}", body={}, status=200))
    assert [entry.path for entry in load_tape(file) if isinstance(entry, Exchange)] == ["/0", "/1", "/0"]
    TapeWriter(file).add_exchange(Exchange(at=datetime.now(UTC), path="/new", body={}, status=200))
    assert len(load_tape(file)) == 1


def test_failures_alone_leave_no_file(server: Server, tmp_path: Path):
    file = tmp_path / "runs" / "run.jsonl"
    with pytest.raises(EndpointDown):
        Agent(cassette(at(NOWHERE), file)).run("Go on.")
    server.plays(answers(401, b"{}"))
    with pytest.raises(ProviderError):
        Agent(cassette(at(server), file)).run("Go on.")
    assert not file.exists()
    server.plays(answers(429, b"{}"))
    with pytest.raises(RateLimited):
        Agent(cassette(at(server), file, mode="record")).run("Go on.")
    with pytest.raises(RateLimited):
        Agent(cassette(gone(at(server)), file)).run("Go on.")


# Modes


def test_modes(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "run.jsonl"
    with pytest.raises(UsageError, match=r"there is no cassette .* record it"):
        cassette(at(server), file, mode="replay")
    monkeypatch.setenv("TOOLSPEAK_CASSETTES", "replay")
    with pytest.raises(UsageError, match="TOOLSPEAK_CASSETTES=replay"):
        cassette(at(server), file)
    monkeypatch.setenv("TOOLSPEAK_CASSETTES", "often")
    with pytest.raises(UsageError, match="TOOLSPEAK_CASSETTES is once, replay, record, not 'often'"):
        cassette(at(server), file)
    with pytest.raises(UsageError, match="mode is once, replay, record, not 'never'"):
        cassette(at(server), file, mode="never")  # type: ignore[call-overload]  # the wrong mode is what is tested
    monkeypatch.delenv("TOOLSPEAK_CASSETTES")
    with pytest.raises(UsageError, match=r"sends no HTTP requests .*replay\(facts\)"):
        cassette(ScriptedModel([says("Hi.")]), file)


def test_a_model_by_its_name(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    server.plays(plays([says("Hello.")]))
    file = tmp_path / "run.jsonl"
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-by-name")
    assert Agent(cassette("openai:gpt-x", file)).run("Go on.").text == "Hello."
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.delenv("OPENAI_API_KEY")
    assert Agent(cassette("openai:gpt-x", file)).run("Go on.").text == "Hello."
    assert "planted" not in file.read_text()


def test_the_dialect_that_a_server_was_asked_about(server: Server, tmp_path: Path):
    server.plays(plays([says("Hello.")]))
    server.abilities["/api/show"] = answers(200, {"capabilities": ["tools"]})
    file = tmp_path / "run.jsonl"
    name = f"{server.url}/v1#{tmp_path.name}"  # a name that no other test has asked about
    recorded = Agent(cassette(resolve_model(name), file)).run("Go on.")
    other = resolve_model(f"{NOWHERE}/v1#{tmp_path.name}")
    model = HttpModel(
        replace(other.endpoint, name=resolve_model(name).endpoint.name), other.model, other.own_dialect_choice
    )
    replayed = Agent(cassette(model, file)).run("Go on.")
    dialects = [fact.dialect for each in (recorded, replayed) for fact in each.facts if isinstance(fact, RunStarted)]
    assert dialects == ["native", "native"]


class Loaded(EmbeddedModel):
    """An embedded model whose server is one of the tests."""

    url = ""

    async def find_endpoint(self) -> Endpoint:
        return make_endpoint(f"{self.url}/v1", KEY)


def test_an_embedded_model_is_replayed_without_its_weights(server: Server, tmp_path: Path):
    scenario = SCENARIOS["research within five iterations"]
    server.plays(plays(scenario.script, "python"))
    file = tmp_path / "run.jsonl"
    model = Loaded(tmp_path / "qwen.gguf", dialect="python")
    model.url = server.url
    recorded = Agent(cassette(model, file), TOOLS, **scenario.options).run("Go on.")
    for each in ("local:qwen.gguf", "local:/elsewhere/qwen.gguf", model):
        replayed = Agent(cassette(each, file), TOOLS, **scenario.options).run("Go on.")
        assert without_ids(replayed.facts) == without_ids(recorded.facts)
        assert replayed.cost == 0
    with pytest.raises(ReplayMiss, match=r"the model local was not recorded; .*: local:qwen.gguf"):
        cassette("local", file)


def test_an_embedded_model_is_replayed_without_its_adapters(server: Server, tmp_path: Path):
    server.plays(plays(FIGURES_SCRIPT, "python"))
    file = tmp_path / "run.jsonl"
    paths = [tmp_path / "calls.gguf", tmp_path / "results.gguf"]
    adapter = Adapter(path=paths[0], after_results=Adapter(path=paths[1]), reads_figures=True)
    model = Loaded(tmp_path / "qwen.gguf", dialect="python", adapter=adapter)
    model.url = server.url
    recorded = Agent(cassette(model, file), [look]).run("Which is colder?")
    assert [post.body["id_slot"] for post in server.posts] == [0, 1]
    assert FIGURES_LINE in server.posts[-1].body["messages"][-1]["content"]
    replayed = Agent(cassette("local:qwen.gguf", file), [look]).run("Which is colder?")
    assert without_ids(replayed.facts) == without_ids(recorded.facts)


def test_two_embedded_models_of_one_name_are_told_apart_by_their_figures(server: Server, tmp_path: Path):
    file = tmp_path / "run.jsonl"
    adapter = Adapter(path=tmp_path / "calls.gguf", reads_figures=True)
    models = [Loaded(tmp_path / "qwen.gguf", dialect="python", slots=2, adapter=each) for each in (None, adapter)]
    recorded: list[list[Any]] = []
    for model in models:
        server.plays(plays(FIGURES_SCRIPT, "python"))
        model.url = server.url
    for each in cassette(models, file):
        server.plays(plays(FIGURES_SCRIPT, "python"))
        recorded.append(without_ids(Agent(each, [look]).run("Which is colder?").facts))
    assert not any("id_slot" in post.body for post in server.posts)
    replayed = [without_ids(Agent(each, [look]).run("Which is colder?").facts) for each in cassette(models, file)]
    assert replayed == recorded


def test_an_embedded_model_keeps_its_context(server: Server, tmp_path: Path):
    server.plays(SmallContext(lambda sent: says("So it is. " * 20), context=2048))
    file = tmp_path / "run.jsonl"
    model = Loaded(tmp_path / "qwen.gguf", dialect="native", context=2048)
    model.url = server.url

    def talk(model: Any) -> Chat[None]:
        chat = Agent(model).chat()
        for number in range(16):
            chat.run(f"Is {number} a number? " + "Think about it. " * 20)
        return chat

    recorded = talk(cassette(model, file))
    assert recorded.compacted is not None
    replayed = talk(cassette("local:qwen.gguf", file))
    assert (replayed.messages, replayed.compacted) == (recorded.messages, recorded.compacted)


def test_several_models_share_a_file(server: Server, tmp_path: Path):
    file = tmp_path / "run.jsonl"
    server.plays(answers(503, b"{}"), streams(SAID))
    once = replace(QUICK, attempts=1)
    other = HttpModel(at(server, retry=once).endpoint, "second")
    recorded = Agent(cassette([at(server, retry=once), other], file)).run("Go on.")
    replayed = Agent(cassette([gone(at(server, retry=once)), gone(other)], file)).run("Go on.")
    assert recorded.text == replayed.text == "Hello."
    assert [fact.kind for fact in replayed.facts] == [fact.kind for fact in recorded.facts]
    assert "turn_restarted" in [fact.kind for fact in replayed.facts]


# Concurrency


def test_concurrent_agents_with_one_cassette(server: Server, tmp_path: Path):
    script = SCENARIOS["research within five iterations"]
    server.plays(plays(script.script))
    file = tmp_path / "run.jsonl"

    async def run_all(model: Any) -> list[Any]:
        agents = [Agent(model, TOOLS, system=f"You are {number}.", **script.options) for number in range(8)]
        return await asyncio.gather(*(agent.arun("Go on.") for agent in agents))

    recorded = run_within(run_all(cassette(at(server), file)))
    replayed = run_within(run_all(cassette(gone(at(server)), file)))
    assert [without_ids(each.facts) for each in replayed] == [without_ids(each.facts) for each in recorded]


def test_two_equal_requests_at_once(server: Server, tmp_path: Path):
    second_answered = asyncio.Event()

    async def answer_first(post: Post, connection: Connection) -> None:
        await second_answered.wait()
        await streams(events(delta(content="first"), delta("stop"), "[DONE]"))(post, connection)

    async def answer_second(post: Post, connection: Connection) -> None:
        await streams(events(delta(content="second"), delta("stop"), "[DONE]"))(post, connection)
        second_answered.set()

    server.plays(answer_first, answer_second)
    file = tmp_path / "run.jsonl"

    async def ask_both(model: Any, is_asked: Callable[[], bool]) -> list[str]:
        first = asyncio.create_task(collect_pieces(model))
        while not is_asked() and not first.done():
            await asyncio.sleep(0.01)
        second = await collect_pieces(model)
        return [answer[-1].parts[0].text for answer in (await first, second)]

    assert run_within(ask_both(cassette(at(server), file), lambda: bool(server.posts))) == ["first", "second"]
    assert run_within(ask_both(cassette(gone(at(server)), file), lambda: False)) == ["first", "second"]


# Chunks


@pytest.mark.parametrize(("api", "name"), STREAMS)
@settings(
    max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None
)
@given(data=st.data())
def test_any_chunks_are_replayed_as_they_were(server: Server, tmp_path: Path, api: Api, name: str, data: Any):
    body = RECORDED[api][name]
    cuts = sorted(data.draw(st.sets(st.integers(1, len(body) - 1), max_size=12)))
    parts = [body[start:end] for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    server.plays(streams(*parts))
    file = tmp_path / "run.jsonl"

    async def batches(model: Any) -> list[Any]:
        return [pieces async for pieces in model.ask(question())]

    recorded = run_within(batches(cassette(at(server, api), file, mode="record")))
    assert run_within(batches(cassette(gone(at(server, api)), file))) == recorded


@pytest.mark.parametrize("dialect", SPOKEN)
def test_a_stream_that_is_closed_early(server: Server, tmp_path: Path, dialect: str):
    """In a text dialect the stream is closed after a call; the replay is closed at the same place."""
    scenario = SCENARIOS["research within five iterations"]
    server.plays(plays(scenario.script, dialect, chunk=1))
    file = tmp_path / "run.jsonl"
    outcomes = [
        Agent(cassette(model, file), TOOLS, dialect=dialect, **scenario.options).run("Go on.")
        for model in (at(server), gone(at(server)))
    ]
    assert without_ids(outcomes[0].facts) == without_ids(outcomes[1].facts)


def test_a_model_that_was_not_recorded_is_named_beside_those_that_were():
    entries = [RecordedModel(name="openai:gpt-5.1", dialect="native")]
    player = TapePlayer(entries, "a recording", cure="record it")
    with pytest.raises(ReplayMiss, match=r"local was not recorded; the recorded models are: openai:gpt-5.1 .*--model"):
        replay_named_model("local", connect, player)


# A disk that is full


@pytest.mark.parametrize("manner", ["streamed", "plain"])
def test_a_run_whose_answer_cannot_be_recorded_fails(server: Server, tmp_path: Path, manner: str):
    server.plays(streams(SAID))
    file = tmp_path / "run.jsonl"
    model: Any = cassette(at(server), file)
    file.mkdir()

    with pytest.raises(UsageError, match=r"the cassette .*run.jsonl cannot be written: Is a directory"):
        Agent(model if manner == "streamed" else Plain(model)).run("Hello?")


@pytest.mark.skipif(sys.platform == "win32", reason="there is no limit for the size of files")
def test_what_a_full_disk_cuts_is_taken_back(tmp_path: Path):
    import resource

    exchange = Exchange(at=datetime(2026, 1, 2, tzinfo=UTC), path="/chat/completions", body={"messages": "x" * 4000})
    file = tmp_path / "run.jsonl"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(writer: TapeWriter, room: int) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
        try:
            with pytest.raises(UsageError, match="cannot be written: File too large"):
                writer.add_exchange(exchange)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    writer = TapeWriter(file)
    fill(writer, 100)
    assert not file.exists()  # an empty file would be replayed
    writer.add_exchange(exchange)  # both are written now that there is room
    fill(writer, file.stat().st_size + 100)
    assert load_tape(file) == [exchange, exchange]
