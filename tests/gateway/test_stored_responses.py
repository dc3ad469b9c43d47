"""Answers of the responses API that are kept: who may refer to them, how, and how many there are."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import openai
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.applications import Starlette

from toolspeak.cli.serve import open_response_store
from toolspeak.cli.server_options import ServeOptions
from toolspeak.dialects import TYPESCRIPT
from toolspeak.gateway import app
from toolspeak.gateway.response_store import MEMORY_LIMITS, ResponseStore, StoredResponse, StoreLimits, name_owner
from toolspeak.models import Request
from toolspeak.testing import ScriptedModel, ScriptedReply, calls, says
from toolspeak.values.errors import UsageError

from .conversing import ANSWER, BEFORE, OPENAI_TOOLS, QUESTION, RESULTS
from .hosting import ask, host_app, serve_model

TOOLS: list[Any] = [{"type": "function", "strict": False, **tool["function"]} for tool in OPENAI_TOOLS]
PATH = "/v1/responses"
both = pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])


def repeat_shown(request: Request) -> ScriptedReply:
    """Answer with all that the model was shown of the conversation."""
    texts = [f"{message.role}: {message.text}" for message in request.shown.messages]
    return says(json.dumps(texts))


def parrot(store: Any = "memory", **options: Any) -> Starlette:
    """Return a gateway before a model that answers with what it was shown."""
    model = ScriptedModel([repeat_shown] * 20, dialect="typescript")
    return app([serve_model(model, TYPESCRIPT)], store=store, **options)


def post(gateway: Starlette, text: Any, key: str = "mine", **fields: Any) -> Any:
    body = {"model": "m", "input": text, **fields}
    return ask(gateway, body, path=PATH, headers=[("authorization", f"Bearer {key}")])


def get(gateway: Starlette, path: str, key: str = "mine", method: str = "GET") -> Any:
    return ask(gateway, b"", path=f"{PATH}/{path}", method=method, headers=[("authorization", f"Bearer {key}")])


def read_text(reply: Any) -> str:
    (item,) = reply.json["output"]
    return item["content"][0]["text"]


def shown(reply: Any) -> list[str]:
    return json.loads(read_text(reply))


class TestClient:
    """OpenAI's own client, by `previous_response_id`."""

    @pytest.fixture
    def client(self) -> Iterator[openai.OpenAI]:
        def answer(request: Request) -> ScriptedReply:
            told = "\n".join(message.text for message in request.shown.messages)
            return says(ANSWER if all(result in told for result in (QUESTION, *RESULTS)) else f"This came: {told!r}")

        asked = [("get_weather", {"city": "Paris"}), ("get_weather", {"city": "London"})]
        first = calls(*asked, ("calculator", {"expression": "20 * 9 / 5 + 32"}), text=BEFORE)
        model = ScriptedModel([first, answer], dialect="typescript", chunk=5)
        with (
            host_app(app([serve_model(model, TYPESCRIPT)])) as url,
            openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client,
        ):
            yield client

    @both
    def test_a_conversation_of_results_alone(self, client: openai.OpenAI, streamed: bool):
        def create(**options: Any) -> Any:
            asked: Any = {"model": "m", "tools": TOOLS, **options}
            if not streamed:
                return client.responses.create(**asked)
            with client.responses.stream(**asked) as stream:
                final: Any = stream.get_final_response()
                return final

        first = create(input=QUESTION)
        assert (first.store, first.previous_response_id) == (True, None)
        made = [item for item in first.output if item.type == "function_call"]
        outputs = [
            {"type": "function_call_output", "call_id": call.call_id, "output": result}
            for call, result in zip(made, RESULTS, strict=True)
        ]
        last = create(input=outputs, previous_response_id=first.id)
        assert (last.output_text, last.previous_response_id) == (ANSWER, first.id)
        assert client.responses.retrieve(last.id).output_text == ANSWER
        items = list(client.responses.input_items.list(last.id, order="asc", limit=2))  # several pages
        kinds = ["message", "message", *["function_call"] * 3, *["function_call_output"] * 3]
        assert [item.type for item in items] == kinds
        client.responses.delete(last.id)
        with pytest.raises(openai.NotFoundError, match="there is no response"):
            client.responses.retrieve(last.id)


def test_a_conversation_goes_on_from_any_answer():
    gateway = parrot()
    first = post(gateway, "one", instructions="Be brief.")
    second = post(gateway, [{"role": "user", "content": "two"}], previous_response_id=first.json["id"])
    other = post(gateway, "three", previous_response_id=first.json["id"])
    assert shown(first) == ["system: Be brief.", "user: one"]
    assert shown(second) == ["user: one", f"assistant: {read_text(first)}", "user: two"]  # instructions are not kept
    assert shown(other) == ["user: one", f"assistant: {read_text(first)}", "user: three"]


@both
def test_items_are_found_by_their_ids(streamed: bool):
    gateway = parrot()
    reply = post(gateway, "one", stream=streamed)
    body = reply.chunks[-1]["response"] if streamed else reply.json
    (item,) = body["output"]
    listed = get(gateway, f"{body['id']}/input_items").json["data"]
    references = [{"type": "item_reference", "id": listed[0]["id"]}, {"id": item["id"]}]
    again = post(gateway, [*references, {"role": "user", "content": "two"}])
    assert shown(again) == ["user: one", f"assistant: {item['content'][0]['text']}", "user: two"]
    # The reference is stored as such, and is found from the answer after it as well.
    third = post(gateway, "three", previous_response_id=again.json["id"])
    assert shown(third)[:2] == shown(again)[:2]
    listed = get(gateway, f"{third.json['id']}/input_items?order=asc").json["data"]
    assert [each["type"] for each in listed] == ["message"] * 5


def test_lists_of_input_have_pages():
    gateway = parrot()
    reply = post(gateway, [{"role": "user", "content": str(number)} for number in range(5)])
    path = f"{reply.json['id']}/input_items"
    texts: list[str] = []
    after, page = "", {"has_more": True}
    while page["has_more"]:
        page = get(gateway, f"{path}?limit=2{after}").json
        texts += [item["content"][0]["text"] for item in page["data"]]
        after = f"&after={page['last_id']}"
    assert texts == ["4", "3", "2", "1", "0"]
    assert get(gateway, f"{path}?limit=0").status == get(gateway, f"{path}?order=up").status == 400
    assert "there is no item" in get(gateway, f"{path}?after=msg_9").error


class TestOwners:
    @pytest.mark.parametrize("key", ["other", "", "MINE"])
    def test_nobody_else_finds_an_answer(self, key: str):
        gateway = parrot()
        mine = post(gateway, "secret").json
        item = mine["output"][0]["id"]
        assert post(gateway, "hi", key, previous_response_id=mine["id"]).json["error"]["code"] == (
            "previous_response_not_found"
        )
        assert post(gateway, [{"type": "item_reference", "id": item}], key).json["error"]["param"] == "input[0].id"
        for path, method in ((mine["id"], "GET"), (mine["id"], "DELETE"), (f"{mine['id']}/input_items", "GET")):
            reply = get(gateway, path, key, method)
            assert (reply.status, "secret" in reply.body.decode()) == (404, False)
        assert get(gateway, mine["id"]).status == 200

    def test_each_place_of_a_key_counts(self):
        places = [
            {},
            {"authorization": "Bearer a"},
            {"x-api-key": "a"},
            {"x-api-key": "a", "authorization": "Bearer a"},
        ]
        owners = {name_owner(headers) for headers in places}
        assert len(owners) == 4
        assert not any(owner == "a" for owner in owners)  # keys are not stored


class TestWhatIsKept:
    def test_store_false_is_not(self):
        gateway = parrot()
        reply = post(gateway, "one", store=False)
        assert reply.json["store"] is False
        assert get(gateway, reply.json["id"]).status == 404

    def test_nothing_without_a_store(self):
        gateway = parrot(None)
        reply = post(gateway, "one")
        assert reply.json["store"] is False
        refused = post(gateway, "two", previous_response_id=reply.json["id"])
        assert "nothing is kept here between requests" in refused.error
        refused = post(gateway, [{"type": "item_reference", "id": "rs_1"}])
        assert "there is no item 'rs_1': nothing is kept" in refused.error

    def test_errors_name_the_items_of_the_request(self):
        gateway = parrot()
        first = post(gateway, [{"role": "user", "content": "a"}] * 3).json
        wrong = [{"type": "function_call_output", "call_id": "call_9", "output": "x"}]
        refused = post(gateway, wrong, previous_response_id=first["id"])
        assert refused.json["error"]["param"] == "input[0].call_id"
        assert refused.error.startswith("input[0].call_id: no item before has the call 'call_9'")

    def test_a_file_outlives_the_gateway(self, tmp_path: Path):
        path = tmp_path / "runs.db.responses"
        store = ResponseStore(path)
        first = post(parrot(store), "one")
        store.close()
        assert path.stat().st_mode & 0o077 == 0
        store = ResponseStore(path)
        second = post(parrot(store), "two", previous_response_id=first.json["id"])
        assert shown(second)[0] == "user: one"
        store.close()

    def test_a_file_of_something_else_is_refused(self, tmp_path: Path):
        path = tmp_path / "log.sqlite"
        with closing(sqlite3.connect(path)) as other, other:
            other.execute("CREATE TABLE mine (a)")
        with pytest.raises(UsageError, match="something else than responses"):
            ResponseStore(path)

    def test_the_options_say_where(self, tmp_path: Path):
        url = f"sqlite:///{tmp_path / 'runs.db'}"
        with open_response_store(ServeOptions(store=url)) as store:
            assert store is not None
            assert store.is_file
        assert (tmp_path / "runs.db.responses").exists()
        with open_response_store(ServeOptions()) as store:
            assert store is not None
            assert not store.is_file
        with open_response_store(ServeOptions(store=url, no_store=True)) as store:
            assert store is None

    def test_a_store_that_fails_does_not_take_the_answer(self):
        store = ResponseStore()
        gateway = parrot(store)
        store.close()
        assert shown(post(gateway, "one")) == ["user: one"]


def build_response(number: int, previous: int | None = None, chars: int = 100) -> StoredResponse:
    output = [{"type": "message", "id": f"msg_{number}", "content": "x" * chars}]
    before = f"resp_{previous}" if previous is not None else ""
    return StoredResponse(body={"id": f"resp_{number}", "output": output}, input=(), previous=before)


class Clock:
    """A clock that moves on by one second each time it is read."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


class TestLimits:
    def build(self, **limits: Any) -> ResponseStore:
        wide: dict[str, Any] = dict.fromkeys(("owner_responses", "responses"), 99)
        wide |= dict.fromkeys(("owner_bytes", "bytes"), 1_000_000) | {"seconds": 1e9}
        return ResponseStore(limits=StoreLimits(**(wide | limits)), clock=Clock())

    def list_kept(self, store: ResponseStore, owner: str = "a") -> list[int]:
        return [number for number in range(30) if store.find(owner, f"resp_{number}") is not None]

    def test_the_answers_of_an_owner(self):
        store = self.build(owner_responses=3)
        store.add("b", build_response(0))
        for number in range(10):
            store.add("a", build_response(number))
        assert (self.list_kept(store), self.list_kept(store, "b")) == ([7, 8, 9], [0])
        assert store.find_by_item("a", "msg_3") is None

    def test_the_bytes_of_an_owner(self):
        store = self.build(owner_bytes=2_000)
        for number in range(10):
            store.add("a", build_response(number, chars=500))
        assert self.list_kept(store) == [7, 8, 9]
        store.add("a", build_response(20, chars=5_000))  # larger than all that is allowed: others are not dropped
        assert self.list_kept(store) == [7, 8, 9]

    def test_the_answers_of_all(self):
        store = self.build(responses=4)
        for number in range(6):
            store.add(f"owner {number}", build_response(number))
        assert [store.count(f"owner {number}")[0] for number in range(6)] == [0, 0, 1, 1, 1, 1]
        assert store.count()[0] == 4

    def test_what_is_used_is_dropped_last(self):
        store = self.build(owner_responses=3)
        for number in range(3):
            store.add("a", build_response(number))
        store.use("a", ["resp_0"])
        store.add("a", build_response(3))
        assert self.list_kept(store) == [0, 2, 3]

    def test_time(self):
        clock = Clock()
        limits = StoreLimits(owner_responses=9, owner_bytes=9_999, responses=9, bytes=9_999, seconds=100)
        store = ResponseStore(limits=limits, clock=clock)
        store.add("a", build_response(0))
        store.add("a", build_response(1))
        clock.now += 60
        store.use("a", ["resp_1"])
        clock.now += 60
        assert self.list_kept(store) == [1]
        store.add("a", build_response(2))
        assert store.count("a")[0] == 2  # the old one is gone, not only hidden

    @given(
        st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9), st.integers(0, 900), st.booleans()), max_size=60)
    )
    @settings(max_examples=60, deadline=None)
    def test_totals_are_right_and_within_the_limits_whatever_happens(self, steps: list[tuple[str, int, int, bool]]):
        store = self.build(owner_responses=4, responses=7, owner_bytes=2_000, bytes=3_000)
        kept: set[str] = set()
        for owner, number, chars, is_deletion in steps:
            if is_deletion or store.find(owner, f"resp_{number}"):
                store.delete(owner, f"resp_{number}")
            else:
                store.add(owner, build_response(number, chars=chars))
            kept.add(owner)
            counts = [store.count(each) for each in sorted(kept)]
            assert store.count() == (sum(each[0] for each in counts), sum(each[1] for each in counts))
            assert all(count <= 4 and size <= 2_000 for count, size in counts)
            assert store.count()[0] <= 7
            assert store.count()[1] <= 3_000
            assert [count for count, _ in counts] == [len(self.list_kept(store, each)) for each in sorted(kept)]
        store.close()

    def test_a_chain_whose_beginning_is_gone_is_refused_in_words(self):
        gateway = parrot(ResponseStore(limits=replace(MEMORY_LIMITS, responses=2), clock=Clock()))
        first = post(gateway, "one").json["id"]
        second = post(gateway, "two", previous_response_id=first).json["id"]
        post(gateway, "other")
        refused = post(gateway, "three", previous_response_id=second)
        assert f"there is no response '{first}', which '{second}' goes on from" in refused.error


def test_tokens_are_counted_with_what_is_referred_to():
    gateway = parrot()
    first = post(gateway, "one " * 500)
    alone = ask(gateway, {"model": "m", "input": "two"}, path=f"{PATH}/input_tokens").json
    headers = [("authorization", "Bearer mine")]
    body = {"model": "m", "input": "two", "previous_response_id": first.json["id"]}
    together = ask(gateway, body, path=f"{PATH}/input_tokens", headers=headers).json
    assert alone["object"] == "response.input_tokens"
    assert together["input_tokens"] > alone["input_tokens"] + 500
