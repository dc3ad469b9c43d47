"""Keys: they arrive where they belong, and are told nowhere else."""

import asyncio
import gc
import json
import logging
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import openai
import pytest

from tests.cases import each_case
from toolspeak.models import Endpoint, connect
from toolspeak.run import Agent
from toolspeak.testing import says
from toolspeak.values.codec import dump_facts, dump_messages
from toolspeak.values.errors import ModelError, UsageError

from .asking import IMPATIENT, KEY, QUICK, answer, at, run_within
from .recorded import delta, events
from .server import APIS, Act, Api, Connection, Post, Server, answers, plays, resets, silence, streams

OTHER = "second-canary-94c1"
"""A key in a header of the user's."""


async def echo_in_no_http(post: Post, connection: Connection) -> None:
    await connection.write(f"HTTP/1.1 {KEY} {KEY}\r\n{OTHER}\r\n\r\n".encode())
    connection.close()


async def echo_in_a_redirect(post: Post, connection: Connection) -> None:
    connection.head(307, length=0, location=f"http://127.0.0.1:9/?key={KEY}&other={OTHER}")


def refusal(text: str) -> Act:
    return answers(401, {"error": {"message": text}})


ESCAPED = json.dumps(KEY).replace("/", "\\/").encode()

ECHOES: dict[str, Act] = {
    "a refusal": refusal(f"{KEY} is not a key, nor is {OTHER}, says {KEY!r}."),
    "a refusal, cut in the key": refusal("x" * 490 + KEY),
    "a refusal, cut in the other": refusal("x" * 488 + OTHER),
    "a refusal, escaped": answers(403, b'{"error": {"message": ' + ESCAPED + b"}}"),
    "a refusal that is a page": answers(401, f"<html>{KEY} {OTHER}</html>".encode(), kind="text/html"),
    "too many": answers(429, {"error": {"message": f"{KEY} {OTHER}"}}),
    "a page": answers(200, f"<html>{KEY} {OTHER}".encode()),
    "a page, cut in the key": answers(200, f"<html>{'x' * 62}{KEY}".encode()),
    "an error in an answer": answers(200, {"error": {"message": f"{KEY} {OTHER}"}}),
    "an error in a stream": streams(events(delta(content="Hm."), {"error": {"message": f"{KEY} {OTHER}"}})),
    "an error in a stream, at once": streams(events({"error": {"message": f"{KEY} {OTHER}", "code": 429}})),
    "no HTTP": echo_in_no_http,
    "a redirect": echo_in_a_redirect,
    "a reset": resets,
    "silence": silence,
    "a cut stream": streams(events(delta(content="Hm.")), ending="close"),
}


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    with caplog.at_level(logging.DEBUG):
        yield caplog


def chained(error: BaseException | None) -> Iterator[BaseException]:
    """The error and all that hangs on it."""
    if error is not None:
        yield error
        yield from chained(error.__cause__)
        yield from chained(error.__context__)


def everything_said(error: ModelError) -> str:
    texts = [*traceback.format_exception(error), dump_facts(error.outcome.facts), dump_messages(error.outcome.messages)]
    texts += [error.outcome.detail, repr(error.outcome)]
    for each in chained(error):
        texts += [str(each), repr(each), repr(each.args), repr(vars(each))]
    return "\n".join(texts)


@pytest.mark.parametrize("api", APIS)
@each_case("what", ECHOES.keys(), ids=str)
def test_a_key_is_not_told(server: Server, api: Api, what: str, logged: pytest.LogCaptureFixture):
    logged.clear()
    server.plays(ECHOES[what])
    policy = IMPATIENT if what == "silence" else QUICK
    asked = at(server, api, headers={"Authorization-2": f"Bearer {OTHER}"}, retry=policy)
    agent = Agent(asked)

    async def run() -> None:
        asyncio.get_running_loop().set_debug(True)
        await agent.arun("Go on.")

    with pytest.raises(ModelError) as caught:
        run_within(run())
    said = everything_said(caught.value)
    assert "home at http://127.0.0.1" in said
    shown = "\n".join(
        [said, logged.text, repr(asked), repr(asked.endpoint), str(asked.endpoint), repr(agent), repr(vars(asked))]
    )
    assert "canary" not in shown


def test_a_key_is_not_told_when_all_goes_well(server: Server, logged: pytest.LogCaptureFixture):
    server.plays(plays([says("Hello.")]))
    outcome = run_within(Agent(at(server)).arun("Go on."))
    assert "canary" not in dump_facts(outcome.facts) + repr(outcome) + logged.text


def test_short_words_are_no_keys():
    endpoint = Endpoint(name="x", base_url="http://127.0.0.1/v1", key="none", headers={"x": "a"})
    assert endpoint.redact("none of a kind") == "none of a kind"


@pytest.mark.parametrize(
    ("api", "name", "value"), [("openai", "authorization", f"Bearer {KEY}"), ("anthropic", "x-api-key", KEY)]
)
def test_keys_arrive(server: Server, api: Api, name: str, value: str):
    server.plays(plays([says("Hello.")]))
    answer(at(server, api, headers={"X-Team": "blue", "CONTENT-TYPE": "application/json; charset=utf-8"}))
    headers = server.posts[0].headers
    assert (headers[name], headers["x-team"]) == (value, "blue")
    assert headers["content-type"] == "application/json; charset=utf-8"
    answer(at(server, api, key=None))
    assert not server.posts[1].headers.keys() & {"authorization", "x-api-key"}


# Client objects


CLIENTS: dict[str, Callable[[str], Any]] = {
    "openai": lambda url: openai.OpenAI(api_key=KEY, base_url=f"{url}/v1"),
    "openai, async": lambda url: openai.AsyncOpenAI(
        api_key=KEY, base_url=f"{url}/v1/", organization="org-1", project="proj-1", default_headers={"X-Team": "blue"}
    ),
    "anthropic": lambda url: anthropic.Anthropic(api_key=KEY, base_url=url),
    "anthropic, async": lambda url: anthropic.AsyncAnthropic(
        api_key=KEY, base_url=f"{url}/v1", default_headers={"X-Team": "blue"}
    ),
    "anthropic, with a token": lambda url: anthropic.Anthropic(auth_token=KEY, api_key=None, base_url=url),
    "a class of the user's": lambda url: Mine(api_key=KEY, base_url=f"{url}/v1"),
}


class Mine(openai.OpenAI):
    pass


@pytest.fixture(scope="module", autouse=True)
def _no_clients_left() -> Iterator[None]:
    """A client that is collected later would warn in the test of somebody else."""
    yield
    gc.collect()


@each_case("which", CLIENTS.keys(), ids=str)
def test_client_objects(server: Server, which: str):
    server.plays(plays([says("Hello.")]))
    client = CLIENTS[which](server.url)
    asked = connect("some-model", at=client, retry=QUICK)
    assert answer(asked).parts[0].text == "Hello."
    post = server.posts[0]
    assert post.body["model"] == "some-model"
    assert post.path == ("/v1/messages" if which.startswith("anthropic") else "/v1/chat/completions")
    expected = {name.lower(): value for name, value in client.auth_headers.items()}
    assert KEY in "".join(expected.values())
    if "async" in which:
        expected["x-team"] = "blue"
    if which == "openai, async":
        expected |= {"openai-organization": "org-1", "openai-project": "proj-1"}
    assert expected.items() <= post.headers.items()
    assert not [name for name in post.headers if name.startswith("x-stainless")]
    assert ("authorization" in post.headers) == ("authorization" in expected)
    assert "OpenAI/" not in post.headers["user-agent"]
    if which.startswith("anthropic"):
        assert post.headers["anthropic-version"] == "2023-06-01"
    assert "canary" not in repr(asked) + repr(asked.endpoint)
    assert asked.name == f"{'anthropic' if which.startswith('anthropic') else 'openai'}:some-model"


def test_a_key_beside_a_client(server: Server):
    server.plays(plays([says("Hello.")]))
    client = openai.AsyncOpenAI(api_key=a_key, base_url=f"{server.url}/v1")
    with pytest.raises(UsageError, match="has no key of its own"):
        connect("m", at=client)
    answer(connect("m", at=client, key="sk-mine", retry=QUICK))
    assert server.posts[0].headers["authorization"] == "Bearer sk-mine"
    answer(connect("m", at=openai.OpenAI(api_key="theirs", base_url=f"{server.url}/v1"), key="sk-mine", retry=QUICK))
    assert server.posts[1].headers["authorization"] == "Bearer sk-mine"


async def a_key() -> str:
    return "made"


@pytest.mark.parametrize(
    "client",
    [
        openai.AzureOpenAI(api_key="k", api_version="1", azure_endpoint="https://x.openai.azure.com"),
        openai.OpenAI(api_key="k", default_query={"api-version": "1"}),
        object(),
        7,
    ],
    ids=lambda client: type(client).__name__,
)
def test_client_objects_that_cannot_be_used(client: Any):
    with pytest.raises(UsageError, match="at="):
        connect("m", at=client)
