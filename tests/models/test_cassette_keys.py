"""Cassettes hold no key, wherever a server or a model repeats it."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.run.test_scenarios import TOOLS
from toolspeak.models import Endpoint
from toolspeak.models.cassettes.exchange import canonicalize
from toolspeak.models.cassettes.redaction import Redactor, collect_secrets
from toolspeak.run import Agent
from toolspeak.testing import calls, cassette, says
from toolspeak.values.errors import ModelError

from .asking import KEY, Plain, at, collect_pieces, run_within
from .recorded import delta, events
from .server import APIS, Act, Api, Server, answers, plays, streams
from .taping import SAID, gone

PLANTED = 'sk-planted/47q11+äbc"d'


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
    key = "sk-planted/47q11+xyz" if origin != "environment" else PLANTED
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
    for form in (key, json.dumps(key)[1:-1], key.encode().hex(), "planted", "47q11"):
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


def test_many_keys_in_many_chunks_are_removed_in_one_pass():
    # What looks at all keys for each chunk runs into the time limit of the test.
    chunks = [(0.0, b'data: {"a": "sk-many-1234"}\n' if number % 2 else b"sk-many-1234\n") for number in range(20_000)]
    cleaned = b"".join(chunk for _, chunk in Redactor({"sk-many-1234"}).redact_chunks(chunks))
    assert cleaned == b'<key>\ndata: {"a": "<key>"}\n' * 10_000


def test_texts_without_a_key_stay_as_they_are(server: Server, tmp_path: Path):
    said = events(delta(content="Grüße, sk-"), delta(content="canary"), delta("stop"), "[DONE]")
    server.plays(streams(said))
    run_within(collect_pieces(cassette(at(server), tmp_path / "run.jsonl")))
    chunks = json.loads((tmp_path / "run.jsonl").read_text().splitlines()[-1])["response"]["chunks"]
    assert "".join(text for _, text in chunks).encode() == said
