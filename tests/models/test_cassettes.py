"""Cassettes: what is recorded over HTTP is replayed without a server, and holds no key."""

import asyncio
import json
import re
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.run.playing import SPOKEN, essence, play, until
from tests.run.test_scenarios import SCENARIOS, TOOLS, Scenario
from toolspeak.attachments import image
from toolspeak.codec import IncompleteLineWarning, dump_facts
from toolspeak.dialects import NATIVE
from toolspeak.errors import EndpointDown, ModelError, ProviderError, RateLimited, ReplayMiss, UsageError
from toolspeak.events import Fact, RunStarted
from toolspeak.messages import user
from toolspeak.models import EmbeddedModel, Endpoint, HttpModel, Request, connect, resolve_model
from toolspeak.models.cassettes import (
    Exchange,
    TapePlayer,
    TapeWriter,
    load_tape,
    record_model,
    replay_model,
    replay_named_model,
)
from toolspeak.models.cassettes.canonical import canonicalize
from toolspeak.models.cassettes.exchange import RecordedModel
from toolspeak.models.cassettes.redaction import Redactor, collect_secrets
from toolspeak.models.embedded import make_endpoint
from toolspeak.run import Agent, Chat
from toolspeak.testing import FakeClock, ScriptedModel, calls, cassette, says

from .asking import IMPATIENT, KEY, QUICK, Plain, at, heard, question, within
from .recorded import RECORDED, STREAMS, delta, events
from .server import APIS, Act, Api, Server, answers, hangs_up, plays, resets, silence, streams
from .small_context import SmallContext

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


# Scenarios


CHOSEN = list(SCENARIOS)[:10]


@pytest.mark.parametrize("manner", ["streamed", "plain"])
@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("name", CHOSEN)
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
        assert essence(replayed) == essence(recorded)
        assert KEY not in file.read_text()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


FAULTS: dict[str, tuple[Act, ...]] = {
    "429, then an answer": (answers(429, {"error": {"message": "slow down"}}, retry_after="0"), streams(SAID)),
    "500 twice, then an answer": (answers(500, b"oops"), answers(502, b"oops"), streams(SAID)),
    "a reset, then an answer": (resets, streams(SAID)),
    "a closed connection, then an answer": (hangs_up, streams(SAID)),
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
def test_faults_are_replayed(server: Server, tmp_path: Path, name: str):
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
    file.write_text(file.read_text().replace('"retry-after": "0"', '"retry-after": "3600"'))
    clock = FakeClock()
    assert clock.run(Agent(cassette(gone(at(server)), file)).arun("Go on.")).text == "Hello."
    assert clock.seconds < 1


# Times


def test_times_are_replayed_by_the_clock(server: Server, tmp_path: Path):
    server.plays(streams(*[line + b"\n\n" for line in SAID.split(b"\n\n")], pause=0.02))
    file = tmp_path / "run.jsonl"
    Agent(cassette(at(server), file)).run("Go on.")
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
    assert clock.run(Agent(model).arun("Go on.")).text == "Hello."
    assert clock.seconds == pytest.approx(100.0 + len(chunks) - 1, abs=0.5)

    late = cassette(gone(at(server, retry=replace(QUICK, total_timeout=80.0))), file, realtime=True)
    with pytest.raises(ModelError, match="had 80 s for an answer"):
        FakeClock().run(Agent(late).arun("Go on."))


# Keys


PLANTED = 'sk-planted/4711+äbc"d'


def split_over_events(text: str) -> bytes:
    return events(*(delta(content=each) for each in text), delta("stop"), "[DONE]")


KEY_PLACES: dict[str, Callable[[str], Act]] = {
    "in a whole answer": lambda key: answers(
        200, {"choices": [{"message": {"content": f"Your key is {key}."}, "finish_reason": "stop"}]}
    ),
    "escaped": lambda key: answers(
        200,
        b'{"choices": [{"message": {"content": "'
        + "".join(f"\\u{ord(each):04x}" for each in key).encode()
        + b'"}, "finish_reason": "stop"}]}',
    ),
    "in one event": lambda key: streams(events(delta(content=f"Your key is {key}."), delta("stop"), "[DONE]")),
    "over events": lambda key: streams(split_over_events(f"Your key is {key}.")),
    "over chunks": lambda key: streams(
        *(bytes([each]) for each in events(delta(content=key), delta("stop"), "[DONE]"))
    ),
    "in an error": lambda key: answers(401, {"error": {"message": f"{key} is not valid"}}),
    "in a page": lambda key: answers(401, f"<html>{key}</html>".encode(), kind="text/html"),
    "in a header": lambda key: answers(307, b"", location=f"http://127.0.0.1:9/?key={key.encode().hex()}"),
    "in a comment": lambda key: streams(f": {key}\n\n".encode(), SAID),
}


@pytest.mark.parametrize("place", KEY_PLACES)
@pytest.mark.parametrize("origin", ["key", "header", "environment"])
def test_a_planted_key_is_in_no_file(
    server: Server, tmp_path: Path, place: str, origin: str, monkeypatch: pytest.MonkeyPatch
):
    key = "sk-planted/4711+xyz" if origin != "environment" else PLANTED
    if origin == "environment":
        monkeypatch.setenv("SOME_SERVICE_TOKEN", key)
    options: dict[str, Any] = {"key": key} if origin == "key" else {"key": KEY, "headers": {"X-Team": f"Bearer {key}"}}
    if origin == "environment":
        options = {"key": None}
    server.plays(KEY_PLACES[place](key))
    model = cassette(at(server, **options), tmp_path / "run.jsonl", mode="record")
    try:
        text = Agent(model).run(f"My key is {key}, and {json.dumps(key)} in JSON.").text
    except ModelError:
        text = ""
    written = (tmp_path / "run.jsonl").read_text()
    for form in (key, json.dumps(key)[1:-1], key.encode().hex(), "planted", "4711"):
        assert form not in written
    assert all(each not in written for each in ("authorization", "Bearer"))
    replayed = cassette(gone(at(server, **options)), tmp_path / "run.jsonl", mode="replay")
    if text:
        said = Agent(replayed).run(f"My key is {key}, and {json.dumps(key)} in JSON.").text
        assert said == text.replace(key, "<key>")


@pytest.mark.parametrize("manner", ["streamed", "plain"])
@pytest.mark.parametrize("api", APIS)
def test_a_key_that_a_model_spells_out_is_in_no_file(server: Server, tmp_path: Path, api: Api, manner: str):
    file, key = tmp_path / "run.jsonl", "sk-spelled-out-0815"
    spelled = [calls(("search", {"query": f"is {key} a key?"}), text=f"I see {key}."), says(f"It is {key}.")]
    server.plays(plays(spelled, chunk=1))

    def run(model: Any) -> Any:
        made = cassette(model, file)
        return Agent(made if manner == "streamed" else Plain(made), TOOLS).run(f"Which is it, {key}?")

    recorded = run(at(server, api, key=key))
    assert key in recorded.text
    written = file.read_text()
    assert key not in written
    assert (
        "".join(re.findall(r'"(?:content|text|delta|partial_json|arguments)\\": ?\\"(.)\\"', written)).count("0815")
        == 0
    )
    replayed = run(gone(at(server, api, key=key)))
    assert replayed.text == "It is <key>."
    assert [each.arguments for each in replayed.calls] == [{"query": "is <key> a key?"}]


def chat(*choices: Any) -> list[Any]:
    return [{"choices": [each]} for each in choices]


HEAD, TAIL = "sk-split-", "over-1234"
LOOSE_PLACES: dict[str, list[Any]] = {
    "another item id": [
        {"item_id": "a1", "output_index": 0, "delta": HEAD}, {"item_id": "b2", "output_index": 0, "delta": TAIL},
    ],
    "no index in the first choice": chat({"delta": {"content": HEAD}}, {"index": 0, "delta": {"content": TAIL}}),
    "the index of a call only in its first piece": chat(
        {"index": 0, "delta": {"tool_calls": [{"index": 1, "function": {"arguments": HEAD}}]}},
        {"index": 0, "delta": {"tool_calls": [{"function": {"arguments": TAIL}}]}},
    ),
    "the beginning in the start of a block": [
        {"index": 0, "content_block": {"type": "text", "text": HEAD}},
        {"index": 0, "delta": {"type": "text_delta", "text": TAIL}},
    ],
    "interleaved": chat(
        {"index": 0, "delta": {"content": HEAD}}, {"index": 1, "delta": {"content": "Hello "}},
        {"index": 0, "delta": {"content": TAIL}}, {"index": 1, "delta": {"content": "there."}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("place", LOOSE_PLACES)
def test_a_key_is_removed_where_servers_are_loose_about_places(place: str):
    body = events(*LOOSE_PLACES[place])
    ((_, cleaned),) = Redactor({HEAD + TAIL}).redact_chunks([(0.0, body)])
    assert cleaned.count(b"<key>") == 1
    assert HEAD.encode() not in cleaned
    assert TAIL.encode() not in cleaned


def test_the_value_of_a_cookie_is_a_secret():
    headers = {"Cookie": 'session=supersecretvalue; other="quoted-value"'}
    endpoint = Endpoint(name="x", base_url="http://127.0.0.1/v1", headers=headers)
    assert {"supersecretvalue", "quoted-value"} <= collect_secrets(endpoint, {})
    assert "session" not in collect_secrets(endpoint, {})


def nested(levels: int, text: str) -> Any:
    data: Any = text
    for _ in range(levels):
        data = {"a": [data]}
    return data


@pytest.mark.parametrize("levels", [40, 450, 20_000])
def test_deep_json_holds_no_key(levels: int):
    redactor, key = Redactor({"sk-deep-1234"}), b"sk-deep-1234"
    body = b'{"a":[' * levels + b'"' + key + b'"' + b"]}" * levels
    redacted = redactor.redact_body(body)
    assert redacted == (nested(levels, "<key>") if levels == 40 else body.replace(key, b"<key>").decode())
    assert "<key>" in canonicalize("/", redacted, datetime.now(UTC))
    ((_, cleaned),) = redactor.redact_chunks([(0.0, b"data: " + body + b"\n\n")])
    assert (b"<key>" in cleaned, key in cleaned) == (True, False)


@given(data=st.data())
def test_a_key_is_removed_wherever_chunks_are_cut(data: Any):
    key = data.draw(st.text('ab/"é', min_size=6, max_size=9))
    texts = data.draw(st.lists(st.text("xy é", max_size=5), min_size=2, max_size=4))
    said = key.join(texts)
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=len(said), max_size=len(said)))
    parts, place = [], 0
    for size in sizes:
        parts += [said[place : place + size]] if place < len(said) else []
        place += size
    body = events(*(delta(content=part) for part in parts), delta("stop"), "[DONE]")
    cuts = sorted(data.draw(st.sets(st.integers(1, len(body) - 1), max_size=20)))
    chunks = [(0.0, body[start:end]) for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    cleaned = b"".join(chunk for _, chunk in Redactor({key}).redact_chunks(chunks))
    lines = [json.loads(line[6:]) for line in cleaned.decode().split("\n") if line.startswith("data: {")]
    left = "".join(line["choices"][0]["delta"].get("content", "") for line in lines)
    assert left == said.replace(key, "<key>")
    kept = b"".join(chunk for _, chunk in Redactor({"other-key"}).redact_chunks(chunks))
    assert kept == body


def test_texts_without_a_key_stay_as_they_are(server: Server, tmp_path: Path):
    said = events(delta(content="Grüße, sk-"), delta(content="canary"), delta("stop"), "[DONE]")
    server.plays(streams(said))
    within(heard(cassette(at(server), tmp_path / "run.jsonl")))
    chunks = json.loads((tmp_path / "run.jsonl").read_text().splitlines()[-1])["response"]["chunks"]
    assert "".join(text for _, text in chunks).encode() == said


# Requests that are compared


def record(tmp_path: Path, server: Server, *prompts: str, **options: Any) -> Path:
    server.plays(*(streams(events(delta(content=f"To {each}"), delta("stop"), "[DONE]")) for each in prompts))
    file = tmp_path / "run.jsonl"
    model = cassette(at(server, **options), file, mode="record")
    for prompt in prompts:
        within(heard(model, prompt))
    return file


def ask(model: Any, prompt: str) -> str:
    return within(heard(model, prompt))[-1].parts[0].text


def test_a_miss_shows_the_difference(server: Server, tmp_path: Path):
    file = record(tmp_path, server, "How warm is it in Oslo?", "What is 6 * 7?")
    with pytest.raises(ReplayMiss) as caught:
        ask(cassette(gone(at(server)), file), "How warm is it in Rome?")
    text = str(caught.value)
    assert f"{file} has no request like this one (2 recorded, 2 not yet used)" in text
    assert "The nearest is request 1:\n--- recorded\n+++ sent" in text
    assert re.search(r'^- +"content": "How warm is it in Oslo\?"', text, re.MULTILINE)
    assert re.search(r'^\+ +"content": "How warm is it in Rome\?"', text, re.MULTILINE)
    assert "mode='record'" in text
    with pytest.raises(ReplayMiss, match="no request like this"):
        Agent(cassette(gone(at(server)), file)).run("How warm is it in Rome?")


def test_a_long_difference_is_short(server: Server, tmp_path: Path):
    long = "All work and no play. " * 200
    file = record(tmp_path, server, f"{long}One.{long}")
    with pytest.raises(ReplayMiss) as caught:
        ask(cassette(gone(at(server)), file), f"{long}Two.{long}")
    assert "One." in str(caught.value)
    assert "Two." in str(caught.value)
    assert len(str(caught.value)) < 2_000


def test_each_answer_is_used_once_in_order(server: Server, tmp_path: Path):
    server.plays(*(streams(events(delta(content=each), delta("stop"), "[DONE]")) for each in "12"))
    file = tmp_path / "run.jsonl"
    model = cassette(at(server), file)
    assert [ask(model, "Count."), ask(model, "Count.")] == ["1", "2"]
    model = cassette(gone(at(server)), file)
    assert [ask(model, "Count."), ask(model, "Count.")] == ["1", "2"]
    with pytest.raises(ReplayMiss, match="this request was recorded 2 times, and is sent once more"):
        ask(model, "Count.")


def conversation(call_id: str, text: str = "18 degrees") -> list[Any]:
    return [
        {"role": "user", "content": "How warm?"},
        {"role": "assistant", "tool_calls": [{"id": call_id, "type": "function", "function": {"name": "t"}}]},
        {"role": "tool", "tool_call_id": call_id, "content": text},
    ]


def take(player: TapePlayer, messages: Any, **more: Any) -> Any:
    return player.take("/chat/completions", {"model": "m", "messages": messages, **more})


def tape(tmp_path: Path, messages: Any, at: datetime | None = None, **more: Any) -> TapePlayer:
    file = tmp_path / "tape.jsonl"
    body = {"model": "m", "messages": messages, **more}
    when = at or datetime.now(UTC)
    TapeWriter(file).add_exchange(Exchange(at=when, path="/chat/completions", body=body, status=200))
    return TapePlayer(load_tape(file), "tape")


def test_ids_are_compared_by_their_places(tmp_path: Path):
    assert take(tape(tmp_path, conversation("call_a1b2")), conversation("toolu_zz"))
    mixed = conversation("toolu_zz")
    mixed[2]["tool_call_id"] = "toolu_other"
    with pytest.raises(ReplayMiss, match="id 2"):
        take(tape(tmp_path, conversation("call_a1b2")), mixed)
    one, other = "0b1f7f56-3e0c-4c3a-9d5e-0a1b2c3d4e5f", "11111111-2222-3333-4444-555555555555"
    assert take(tape(tmp_path, conversation("c", f"order {one}")), conversation("c", f"order {other}"))


def test_names_are_no_ids(tmp_path: Path):
    def named(name: str) -> Any:
        return [{"role": "assistant", "tool_calls": [{"function": {"name": name}}], "content": f"I use {name}."}]

    for one, other in (("call_customer_support", "call_customer_service"), ("msg_send_v2_all1", "msg_send_v2_all2")):
        assert take(tape(tmp_path, named(one)), named(one))
        with pytest.raises(ReplayMiss, match=other):
            take(tape(tmp_path, named(one)), named(other))


def test_ids_in_arguments_are_a_part_of_the_question(tmp_path: Path):
    def called(order: str) -> Any:
        return [{"role": "assistant", "content": [{"type": "tool_use", "id": "x", "input": {"id": order}}]}]

    assert take(tape(tmp_path, called("7")), called("7"))
    with pytest.raises(ReplayMiss):
        take(tape(tmp_path, called("7")), called("8"))


@pytest.mark.parametrize(
    "form", ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M", "%A, %B %d, %Y", "%d %B %Y", "%B %d, %Y at %H:%M"]
)
def test_todays_date_is_not_compared(tmp_path: Path, form: str):
    then = datetime(2024, 2, 29, 13, 5, 7, tzinfo=UTC)
    player = tape(tmp_path, conversation("c", f"It is {then.strftime(form)}."), at=then)
    assert take(player, conversation("c", f"It is {datetime.now().strftime(form)}."))


def test_other_dates_are_compared(tmp_path: Path):
    then = datetime(2024, 2, 29, tzinfo=UTC)
    player = tape(tmp_path, conversation("c", "born 1990-05-01"), at=then)
    with pytest.raises(ReplayMiss, match="1990-05-01"):
        take(player, conversation("c", "born 1990-05-02"))
    assert take(player, conversation("c", "born 1990-05-01"))


def test_cache_keys_are_not_compared(tmp_path: Path):
    player = tape(tmp_path, conversation("c"), prompt_cache_key="a", user="me")
    assert take(player, conversation("c"), prompt_cache_key="b")
    with pytest.raises(ReplayMiss, match="temperature"):
        take(tape(tmp_path, conversation("c")), conversation("c"), temperature=0.5)


def test_attachments_are_compared_by_their_content(server: Server, tmp_path: Path):
    server.plays(streams(SAID))
    pictures = [image(b"\x89PNG\r\n\x1a\n" + bytes([each]) * 100_000) for each in (1, 2)]

    async def show(model: Any, picture: Any) -> Any:
        shown = NATIVE.render((), [user("What is this?", picture)])
        return [piece async for pieces in model.ask(Request(shown=shown)) for piece in pieces][-1]

    file = tmp_path / "run.jsonl"
    recorded = within(show(cassette(at(server), file), pictures[0]))
    assert file.stat().st_size < 5_000
    assert within(show(cassette(gone(at(server)), file), pictures[0])) == recorded
    with pytest.raises(ReplayMiss, match="sha256"):
        within(show(cassette(gone(at(server)), file), pictures[1]))


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
    within(heard(record_model(at(server), TapeWriter(file, appends=True)), "Two"))
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
        cassette(at(server), file, mode="never")  # type: ignore[call-overload]
    monkeypatch.delenv("TOOLSPEAK_CASSETTES")
    with pytest.raises(UsageError, match=r"sends no requests over HTTP .*replay\(facts\)"):
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

    recorded = within(run_all(cassette(at(server), file)))
    replayed = within(run_all(cassette(gone(at(server)), file)))
    assert [without_ids(each.facts) for each in replayed] == [without_ids(each.facts) for each in recorded]


def test_two_equal_requests_at_once(server: Server, tmp_path: Path):
    slow = streams(events(delta(content="first"), delta("stop"), "[DONE]"), pause=0.2)
    server.plays(slow, streams(events(delta(content="second"), delta("stop"), "[DONE]")))
    file = tmp_path / "run.jsonl"

    async def ask_both(model: Any) -> list[str]:
        async def later() -> Any:
            await asyncio.sleep(0.05)
            return await heard(model)

        answers = await asyncio.gather(heard(model), later())
        return [answer[-1].parts[0].text for answer in answers]

    assert within(ask_both(cassette(at(server), file))) == ["first", "second"]
    assert within(ask_both(cassette(gone(at(server)), file))) == ["first", "second"]


# Chunks


@pytest.mark.parametrize(("api", "name"), STREAMS)
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_any_chunks_are_replayed_as_they_were(server: Server, tmp_path: Path, api: Api, name: str, data: Any):
    body = RECORDED[api][name]
    cuts = sorted(data.draw(st.sets(st.integers(1, len(body) - 1), max_size=12)))
    parts = [body[start:end] for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    server.plays(streams(*parts))
    file = tmp_path / "run.jsonl"

    async def batches(model: Any) -> list[Any]:
        return [pieces async for pieces in model.ask(question())]

    recorded = within(batches(cassette(at(server, api), file, mode="record")))
    assert within(batches(cassette(gone(at(server, api)), file))) == recorded


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
