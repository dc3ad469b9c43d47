"""A request that does not fit into the context of the model: refused in words, never cut; and a long answer limited."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from tests.gateway.hosting import gateway, serve_model
from tests.models.ollama import Ollama
from tests.models.server import Server, answers, plays, serving
from tests.models.small_context import count_tokens
from toolspeak.dialects import NATIVE, PYTHON
from toolspeak.models import connect, resolve_model
from toolspeak.testing import ScriptedModel, says
from toolspeak.values.messages import assistant

CONTEXT = 4096
TOOL = {"type": "object", "properties": {"city": {"type": "string", "description": "A town. " * 100}}}


@pytest.fixture
def server() -> Iterator[Server]:
    """A server of its own for each test: what a server says is remembered for the process."""
    with serving() as server:
        yield server


def ask(url: str, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    request = urllib.request.Request(url + path, json.dumps(body).encode(), {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request) as response:
            data = response.read()
            return response.status, {} if body.get("stream") else json.loads(data)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def chat(text: str, **fields: Any) -> tuple[str, dict[str, Any]]:
    return "/v1/chat/completions", {"model": "m", "messages": [{"role": "user", "content": text}], **fields}


def messages(text: str, **fields: Any) -> tuple[str, dict[str, Any]]:
    body = {"model": "m", "max_tokens": 500, "messages": [{"role": "user", "content": text}], **fields}
    return "/v1/messages", body


def responses(text: str, **fields: Any) -> tuple[str, dict[str, Any]]:
    return "/v1/responses", {"model": "m", "input": text, **fields}


class LlamaCpp:
    """What a server of llama.cpp does: it says its context, and counts tokens, here one for each word."""

    def __init__(self, server: Server, context: int = CONTEXT) -> None:
        self.server = server
        server.plays(plays([says("Hello.")], chunk=None))
        server.abilities["/props"] = answers(body={"default_generation_settings": {"n_ctx": context}, "total_slots": 1})
        server.abilities["/tokenize"] = self.tokenize

    async def tokenize(self, post: Any, connection: Any) -> None:
        await answers(body={"tokens": list(range(len(post.body["content"].split())))})(post, connection)

    @property
    def asked(self) -> list[str]:
        return [post.path.partition("?")[0] for post in self.server.ability_posts]

    def model(self) -> Any:
        return resolve_model("llamacpp:m", environ={"LLAMACPP_BASE_URL": f"{self.server.url}/v1"})


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("dialect", [NATIVE, PYTHON])
def test_a_long_request_is_refused_with_the_numbers(server: Server, dialect: Any, stream: bool):
    llamacpp = LlamaCpp(server)
    long = "word " * 5000
    with gateway(serve_model(llamacpp.model(), dialect)) as url:
        status, body = ask(url, *chat(long, stream=stream))
        assert (status, body["error"]["code"], body["error"]["type"]) == (
            400,
            "context_length_exceeded",
            "invalid_request_error",
        )
        assert "5004 tokens > 4096 maximum" in body["error"]["message"]
        status, body = ask(url, *messages(long, stream=stream))
        assert (status, body["type"], body["error"]["type"]) == (400, "error", "invalid_request_error")
        assert body["error"]["message"].startswith("prompt is too long: 5004 tokens > 4096 maximum: ")
        status, body = ask(url, *responses(long, stream=stream))
        assert (status, body["error"]["code"]) == (400, "context_length_exceeded")
        assert "5004 tokens > 4096 maximum" in body["error"]["message"]
    assert server.posts == []


def test_the_server_is_asked_once(server: Server):
    llamacpp = LlamaCpp(server)
    with gateway(serve_model(llamacpp.model(), NATIVE)) as url:
        for _ in range(3):
            for form in (chat, messages, responses):
                status, _ = ask(url, *form("Hello?"))
                assert status == 200
    assert llamacpp.asked == ["/props"]
    assert len(server.posts) == 9


def test_tools_count(server: Server):
    llamacpp = LlamaCpp(server, context=2000)
    tools = [{"type": "function", "function": {"name": f"f{n}", "parameters": TOOL}} for n in range(20)]
    with gateway(serve_model(llamacpp.model(), NATIVE)) as url:
        assert ask(url, *chat("Hello?", tools=tools[:2]))[0] == 200
        status, body = ask(url, *chat("Hello?", tools=tools))
    assert (status, body["error"]["code"]) == (400, "context_length_exceeded")
    assert len(server.posts) == 1


def test_an_answer_is_limited_to_what_is_left(server: Server):
    llamacpp = LlamaCpp(server)
    with gateway(serve_model(llamacpp.model(), NATIVE)) as url:
        ask(url, *chat("Hello?", max_tokens=128_000))
        ask(url, *chat("Hello?", max_tokens=100))
        ask(url, *chat("Hello?"))
        ask(url, *messages("word " * 1000, max_tokens=128_000))
    limits = [post.body.get("max_tokens") for post in server.posts]
    assert 4000 < limits[0] < CONTEXT
    assert limits[1:3] == [100, None]
    assert CONTEXT // 8 <= limits[3] < 4000
    assert llamacpp.asked == ["/props"]


def test_without_a_tokenizer_only_what_cannot_fit_is_refused(server: Server):
    """The bytes of a token are learned from the counts of the endpoint."""
    server.plays(plays([says("Hello.")], chunk=None))
    server.abilities["/v1/models"] = answers(body={"data": [{"id": "m", "max_model_len": CONTEXT}]})
    model = resolve_model("vllm:m", environ={"VLLM_BASE_URL": f"{server.url}/v1"})
    with gateway(serve_model(model, NATIVE)) as url:
        assert ask(url, *chat("a" * 5 * CONTEXT))[0] == 400
        assert ask(url, *chat("a" * 3 * CONTEXT))[0] == 200
        assert [post.path for post in server.ability_posts] == ["/v1/models"]


def test_ollama_never_cuts(server: Server):
    """An older server, which cuts without notice: the tokens that it counts are the measure for the next request."""
    ollama = Ollama(lambda _: assistant("Hello."), knows_truncate=False)
    ollama.play_on(server)
    model = resolve_model("ollama:qwen3", environ={"OLLAMA_HOST": server.url})
    with gateway(serve_model(model, NATIVE)) as url:
        statuses = [ask(url, *chat("words, more words. " * count))[0] for count in (10, 100, 400, 550, 600, 5000)]
    assert statuses == [200, 200, 200, 200, 400, 400]
    assert (ollama.cuts, ollama.loaded) == (0, CONTEXT)
    assert max(map(count_tokens, ollama.posts)) <= CONTEXT
    assert sorted(post.path for post in server.ability_posts) == ["/api/ps", "/api/ps", "/api/show", "/api/show"]


def test_a_server_of_unknown_context_gets_everything(server: Server):
    server.plays(plays([says("Hello.")], chunk=None))
    with gateway(serve_model(connect("m", at=f"{server.url}/v1"), NATIVE)) as url:
        assert ask(url, *chat("word " * 50_000, max_tokens=128_000))[0] == 200
        asked = len(server.ability_posts)
        assert ask(url, *chat("Hello?"))[0] == 200
    assert server.posts[0].body["max_tokens"] == 128_000
    assert len(server.ability_posts) == asked


def test_a_model_that_says_its_context():
    model = ScriptedModel([says("Hello.")])
    model.context_tokens = CONTEXT  # pyright: ignore[reportAttributeAccessIssue] (any model may have it)
    with gateway(serve_model(model, NATIVE)) as url:
        status, body = ask(url, *chat("word " * 50_000))
        assert (status, body["error"]["code"]) == (400, "context_length_exceeded")
        assert ask(url, *chat("Hello?"))[0] == 200
