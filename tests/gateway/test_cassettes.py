"""The gateway as a recording proxy: what the models behind it answered is replayed without them."""

import asyncio
import json
import re
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from tests.models.recorded import delta, events
from tests.models.server import Act, Connection, Post, Server, answers, plays, streams
from tests.models.server import serving as serving_model
from toolspeak.dialects import DIALECTS
from toolspeak.gateway import ServedModel, app
from toolspeak.models import Endpoint, HttpModel, Model, RetryPolicy
from toolspeak.models.cassettes import Exchange, FolderWriter, TapePlayer, load_folder, record_model, replay_model
from toolspeak.testing import calls, says
from toolspeak.values.errors import UsageError

from .conversing import ANTHROPIC_TOOLS, MADE, OPENAI_TOOLS, QUESTION
from .hosting import Reply, ask, gateway
from .test_serve import expect_refusal, home, serving

assert home  # a fixture

KEY = "sk-planted-4711-upstream"
CLIENT_KEY = "planted-0815-client"
QUICK = RetryPolicy(first_wait=0.002, max_wait=0.05)
SCRIPT = [
    calls(("get_weather", {"city": "Paris"}), ("calculator", {"expression": "1 + 1"}), text="Let me see."),
    says("It is 21 °C, and 2."),
]
SAID = events(delta(content="Hello."), delta("stop"), "[DONE]")


@pytest.fixture(scope="module")
def _upstream() -> Iterator[Server]:
    with serving_model() as server:
        yield server


@pytest.fixture
def behind(_upstream: Server) -> Server:
    """The server of the model behind the gateway."""
    _upstream.plays()
    return _upstream


def model_at(server: Server, api: Any = "openai") -> HttpModel:
    return HttpModel(Endpoint(name="there", base_url=f"{server.url}/v1", api=api, key=KEY, retry=QUICK), "m")


def nowhere(model: HttpModel) -> HttpModel:
    endpoint = Endpoint(name="there", base_url="http://127.0.0.1:1/v1", api=model.endpoint.api, retry=QUICK)
    return HttpModel(endpoint, model.model)


def recording(model: HttpModel, folder: Path, dialect: str) -> Any:
    return app([_served(record_model(model, FolderWriter(folder)), dialect)])


def replaying(model: HttpModel, folder: Path, dialect: str) -> Any:
    player = TapePlayer(load_folder(folder), str(folder), repeats=True)
    return app([_served(replay_model(nowhere(model), player), dialect)])


def _served(model: Model, dialect: str) -> ServedModel:
    return ServedModel(name="scripted", model=model, dialect=DIALECTS[dialect])


def body_of(client: str, *, stream: bool, messages: list[Any] | None = None) -> dict[str, Any]:
    body: dict[str, Any] = {"model": "scripted", "stream": stream, "max_tokens": 100}
    body["messages"] = messages or [{"role": "user", "content": QUESTION}]
    return {**body, "tools": OPENAI_TOOLS if client == "openai" else ANTHROPIC_TOOLS}


PATHS = {"openai": "/v1/chat/completions", "anthropic": "/v1/messages"}


def plain(reply: Reply) -> str:
    """A reply without what differs each time."""
    text = re.sub(r"(req|call)_[0-9a-f]{8,16}", r"\1_x", reply.body.decode())
    return re.sub(r'"created": ?\d+', '"created":0', text)


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("dialect", ["native", "json", "typescript", "python"])
@pytest.mark.parametrize(("client", "api"), [("openai", "openai"), ("anthropic", "openai"), ("openai", "anthropic")])
def test_a_conversation_is_replayed_without_the_model(
    behind: Server, tmp_path: Path, client: str, api: str, dialect: str, stream: bool
):
    behind.plays(plays(SCRIPT, dialect))
    model, path = model_at(behind, api), PATHS[client]

    def converse(application: Any) -> list[str]:
        first = ask(application, body_of(client, stream=stream), path=path)
        assert first.status == 200, first.body
        if client == "anthropic" or stream:  # the first answer is enough
            return [plain(first)]
        message = first.json["choices"][0]["message"]
        results = [{"role": "tool", "tool_call_id": call["id"], "content": "21"} for call in message["tool_calls"]]
        messages = [{"role": "user", "content": QUESTION}, message, *results]
        return [plain(first), plain(ask(application, body_of(client, stream=stream, messages=messages), path=path))]

    recorded = converse(recording(model, tmp_path, dialect))
    asked = len(behind.posts)
    replayed = converse(replaying(model, tmp_path, dialect))
    assert replayed == recorded
    assert "get_weather" in recorded[0]
    assert len(behind.posts) == asked
    again = replaying(model, tmp_path, dialect)
    assert converse(again) == converse(again)  # as often as a client asks


FAULTS: dict[str, tuple[Act, ...]] = {
    "429, then an answer": (answers(429, b"{}", retry_after="0"), streams(SAID)),
    "500, then an answer": (answers(500, b"oops"), streams(SAID)),
    "429": (answers(429, {"error": {"message": "slow down"}}),),
    "500": (answers(500, {"error": {"message": f"no luck with {KEY}"}}),),
    "401": (answers(401, {"error": {"message": f"{KEY} is no key"}}),),
    "cut": (streams(events(delta(content="Hm.")), ending="close"),),
}


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_replayed(behind: Server, tmp_path: Path, name: str, stream: bool):
    behind.plays(*FAULTS[name])
    model, body = model_at(behind), body_of("openai", stream=stream)
    recorded = ask(recording(model, tmp_path, "native"), body)
    replayed = ask(replaying(model, tmp_path, "native"), body)
    masked = re.compile(r"http://127.0.0.1:\d+|<key>|\\u2026")  # the address, and what stands for a key
    assert (replayed.status, masked.sub("", plain(replayed))) == (recorded.status, masked.sub("", plain(recorded)))
    (file,) = tmp_path.iterdir()
    assert "planted" not in file.read_text()


def test_a_miss_is_told_in_the_api_of_the_client(behind: Server, tmp_path: Path):
    behind.plays(plays([says("Hello.")]))
    model = model_at(behind)
    ask(recording(model, tmp_path, "native"), body_of("openai", stream=False))
    player = TapePlayer(load_folder(tmp_path), str(tmp_path), repeats=True, cure="record it")
    with gateway(_served(replay_model(nowhere(model), player), "native")) as url:
        question: Any = [{"role": "user", "content": "How warm is it on the moon?"}]
        for stream in (False, True):
            with (
                openai.OpenAI(base_url=f"{url}/v1", api_key="none") as client,
                pytest.raises(openai.BadRequestError) as caught,
            ):
                client.chat.completions.create(model="scripted", messages=question, stream=stream)
            assert "has no request like this one" in caught.value.message
            assert "on the moon" in caught.value.message
            assert QUESTION in caught.value.message
        with (
            anthropic.Anthropic(base_url=url, api_key="none") as client,
            pytest.raises(anthropic.BadRequestError) as refused_by,
        ):
            client.messages.create(model="scripted", messages=question, max_tokens=9)
        assert "on the moon" in str(refused_by.value)


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
def test_a_recording_that_cannot_be_written_is_no_fault_of_the_client(
    behind: Server, tmp_path: Path, stream: bool, caplog: pytest.LogCaptureFixture
):
    reply = Reply()

    async def speak(post: Post, connection: Connection) -> None:
        """End the answer, and so let the recording fail, when the client has got words."""
        connection.head(kind="text/event-stream")
        await connection.write(events(delta(content="Hello there, how are you?")))
        while b"Hello" not in reply.body:
            await asyncio.sleep(0.01)
        await connection.write(events(delta("stop"), "[DONE]"))
        await connection.end()

    behind.plays(speak if stream else plays([says("Hello.")]))
    app = recording(model_at(behind), tmp_path / "gone", "native")
    (tmp_path / "gone").rmdir()
    (tmp_path / "gone").write_text("")
    ask(app, body_of("openai", stream=stream), reply=reply)
    shown = plain(reply)
    assert "could not record" in shown
    assert str(tmp_path) not in shown
    assert str(tmp_path) in caplog.text
    assert reply.status == (200 if stream else 500)


def test_one_file_for_each_day(tmp_path: Path):
    writer = FolderWriter(tmp_path / "runs")
    for day in (1, 2):
        at = datetime(2026, 3, day, 12, tzinfo=UTC)
        writer.add_exchange(Exchange(at=at, path="/x", body={"day": day}, status=200))
    files = sorted((tmp_path / "runs").iterdir())
    assert [file.name for file in files] == ["2026-03-01.jsonl", "2026-03-02.jsonl"]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    player = TapePlayer(load_folder(tmp_path / "runs"), "runs")
    assert [player.take("/x", {"day": day}).at.day for day in (2, 1)] == [2, 1]


def test_folders_that_cannot_be_used(tmp_path: Path):
    with pytest.raises(UsageError, match="is no folder; record one: toolspeak serve --record"):
        load_folder(tmp_path / "none")
    with pytest.raises(UsageError, match="has no recording"):
        load_folder(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot record in"):
        FolderWriter(tmp_path / "file")


@pytest.mark.slow
def test_the_command_records_and_replays(home: Path):
    asks: dict[str, Any] = {"messages": [{"role": "user", "content": QUESTION}], "tools": OPENAI_TOOLS}
    config = home / ".config" / "toolspeak" / "config.toml"
    config.write_text(config.read_text().replace('model = "scripted"', 'model = "scripted"\nkey_env = "THEIR_VALUE"'))
    options = ("--model", "there", "--key-env", "OUR_VALUE")
    variables = {"THEIR_VALUE": KEY, "OUR_VALUE": CLIENT_KEY}

    def converse(url: str) -> Any:
        with openai.OpenAI(base_url=f"{url}/v1", api_key=CLIENT_KEY, max_retries=0) as client:
            created = client.chat.completions.create(model="there", user=CLIENT_KEY, **asks)
            return [
                (call.function.name, call.function.arguments) for call in created.choices[0].message.tool_calls or ()
            ]

    with serving(home, *options, "--record", "runs", **variables) as (url, line, _):
        assert ", recorded in runs; Ctrl-C" in line
        recorded = converse(url)
        assert [name for name, _ in recorded] == [name for name, _ in MADE]
    (file,) = (home / "runs").iterdir()
    assert "planted" not in file.read_text()
    config.write_text(re.sub(r'base_url = ".*"', 'base_url = "http://127.0.0.1:1/v1"', config.read_text(), count=1))
    with serving(home, *options, "--replay", "runs", **variables) as (url, line, _):
        assert ", replayed from runs; Ctrl-C" in line
        assert [converse(url), converse(url)] == [recorded, recorded]
    both = expect_refusal(home, "--model", "there", "--record", "runs", "--replay", "runs")
    assert "--record and --replay: give one of them" in both
    assert "is no folder" in expect_refusal(home, "--model", "there", "--replay", "none")
    assert json.loads(file.read_text().splitlines()[0])["name"] == "there:scripted"
