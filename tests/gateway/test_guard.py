"""Who may ask, and what a request must be before it is looked at."""

import asyncio
import json
import logging
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolspeak.gateway
from tests.cases import each_case
from toolspeak.dialects import JSON
from toolspeak.gateway import AccessRules, ServedModel, app
from toolspeak.gateway.guard import LARGE_BODY_BYTES, MAX_BODY_BYTES, RequestRefused, check_size
from toolspeak.gateway.server import check_exposure, is_loopback
from toolspeak.testing import ScriptedModel, says
from toolspeak.values.errors import UsageError

from .hosting import Reply, ask, send_request, serve_model

KEY = "correct-horse-battery-staple"
BODY: dict[str, Any] = {"model": "scripted", "messages": [{"role": "user", "content": "Hi"}]}
PATHS = ("/v1/chat/completions", "/v1/messages", "/v1/models", "/health")


def method(path: str) -> str:
    return "GET" if path in ("/v1/models", "/health") else "POST"


def guarded(rules: AccessRules, body: Any = None, headers: Any = (), path: str = PATHS[0], **more: Any) -> Reply:
    body = {**BODY, "max_tokens": 5} if body is None else body
    application = app([serve_model(ScriptedModel([says("Hello.")]), JSON)], rules)
    return ask(application, body, headers=list(headers), path=path, method=method(path), **more)


# Keys


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([], 401),
        ([("authorization", "Bearer wrong")], 401),
        ([("authorization", f"Bearer {KEY}x")], 401),
        ([("authorization", f"Bearer {KEY[:-1]}")], 401),
        ([("authorization", f"Basic {KEY}")], 401),
        ([("authorization", KEY)], 401),
        ([("authorization", "Bearer ")], 401),
        ([("authorization", "Bearer \xff\xfe")], 401),
        ([("x-api-key", "")], 401),
        ([("x-api-key", KEY.upper())], 401),
        ([("authorization", f"Bearer {KEY}")], 200),
        ([("authorization", f"bearer {KEY}")], 200),
        ([("x-api-key", KEY)], 200),
        ([("authorization", "Bearer sk-of-another-service"), ("x-api-key", KEY)], 200),
        ([("authorization", f"Bearer {KEY}"), ("x-api-key", "sk-of-another-service")], 200),
        ([("authorization", "Bearer wrong"), ("x-api-key", "wrong")], 401),
    ],
)
def test_every_route_asks_for_the_key(path: str, headers: Any, status: int):
    reply = guarded(AccessRules(key=KEY), headers=headers, path=path)
    if path == "/health":
        status = 200  # whatever watches over the gateway need not have the key
    assert reply.status == status
    if status == 401:
        assert reply.json["error"]["type"] == "authentication_error"
        assert KEY not in reply.body.decode()
        assert reply.headers["x-request-id"] == reply.json["request_id"]


def test_a_key_may_have_any_letters():
    assert (
        guarded(AccessRules(key="schlüssel"), headers=[("x-api-key", "schlüssel".encode().decode("latin-1"))]).status
        == 200
    )


@pytest.mark.parametrize("key", ["", "  "])
def test_an_empty_key_is_none(key: str):
    with pytest.raises(UsageError, match="the key is empty"):
        app([serve_model(ScriptedModel([]), JSON)], AccessRules(key=key))


def test_keys_are_compared_in_constant_time():
    source = Path(toolspeak.gateway.__file__).with_name("guard.py").read_text()
    assert "compare_digest" in source
    assert source.count("rules.key") == 2  # whether there is one, and the comparison


def test_others_are_served_only_with_a_key():
    for host in ("127.0.0.1", "::1", "localhost", "127.8.8.8"):
        assert is_loopback(host)
        check_exposure(host, None)
    for host in ("0.0.0.0", "::", "192.168.1.5", "example.org", ""):
        assert not is_loopback(host)
        with pytest.raises(UsageError, match="a key is needed"):
            check_exposure(host, None)
        check_exposure(host, KEY)


# Names and pages


STRANGE = (
    "a/?x#|localhost/?x#|evil.example|evil@localhost|localhost.evil.example|127.0.0.1.nip.io||[::1|localhost:80:80|"
    "localhost:|127.0.0.1#|localhost\\evil|2130706433|0x7f000001|[::2]| "
).split("|")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("host", STRANGE)
def test_it_answers_only_under_its_own_names(path: str, host: str):
    application = app([serve_model(ScriptedModel([says("Hello.")]), JSON)])
    body = {**BODY, "max_tokens": 5}
    reply = ask(application, body, path=path, method=method(path), host=host)
    assert reply.status == 403
    assert "Hello" not in reply.body.decode()


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8080", "127.0.0.1:1", "[::1]:65535", "[::1]"])
def test_its_own_names(host: str):
    application = app([serve_model(ScriptedModel([says("Hello.")]), JSON)])
    assert ask(application, BODY, host=host).status == 200


def test_with_a_key_any_name_will_do():
    application = app([serve_model(ScriptedModel([says("Hello.")]), JSON)], AccessRules(key=KEY))
    assert ask(application, BODY, host="gateway.example", headers=[("x-api-key", KEY)]).status == 200


@pytest.mark.parametrize("key", [None, KEY])
@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:8080", "http://localhost", ""])
def test_web_pages_may_not_ask(origin: str, key: str | None):
    headers = [("origin", origin), *([("x-api-key", key)] if key else [])]
    assert guarded(AccessRules(key=key), headers=headers).status == 403


def test_but_those_that_are_allowed_may():
    rules = AccessRules(origins=frozenset({"https://chat.example"}))
    assert guarded(rules, headers=[("origin", "https://chat.example")]).status == 200


@pytest.mark.parametrize(
    "headers",
    [
        [("authorization", "Bearer a"), ("authorization", f"Bearer {KEY}")],
        [("x-api-key", KEY), ("x-api-key", KEY)],
        [("origin", "https://a.example"), ("origin", "https://b.example")],
        [("host", "evil.example")],
        [("content-length", "3"), ("content-length", "4")],
        [("content-length", "3"), ("transfer-encoding", "chunked")],
        [("transfer-encoding", "chunked"), ("transfer-encoding", "identity")],
    ],
)
def test_headers_that_contradict_each_other_are_refused(headers: Any):
    reply = guarded(AccessRules(key=KEY), headers=headers)
    assert (reply.status, reply.headers["connection"]) == (400, "close")


# Bodies


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b'"text"', b"null", b"\xff\xfe", b'{"model": NaN}', b'{"a": 1e999}{', b"{'a': 1}", b'{"a": ]'],
)
@pytest.mark.parametrize("path", PATHS[:2])
def test_a_body_that_is_no_json_object(path: str, body: bytes):
    reply = guarded(AccessRules(), body=body, path=path)
    assert reply.status == 400
    assert reply.json["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize("path", PATHS[:2])
@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b'{"model":"scripted","messages":' + b"[" * 64 + b"]" * 64 + b"}",
    ],
)
def test_a_deep_body(path: str, body: bytes):
    assert guarded(AccessRules(), body=body, path=path).status == 400


def test_a_body_as_deep_as_may_be():
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(28):
        schema = {"type": "object", "properties": {"x": schema}}
    tool = {"type": "function", "function": {"name": "f", "parameters": schema}}
    assert guarded(AccessRules(), body={**BODY, "tools": [tool]}).status == 200


@pytest.mark.parametrize("path", PATHS[:2])
def test_a_large_body(path: str):
    large = json.dumps({**BODY, "messages": [{"role": "user", "content": "x" * MAX_BODY_BYTES}]}).encode()
    reply = guarded(AccessRules(), body=large, path=path)
    assert (reply.status, reply.headers["connection"]) == (413, "close")
    said = guarded(AccessRules(), headers=[("content-length", str(2 << 30))], path=path)
    assert said.status == 413


JSONS = st.recursive(
    st.none() | st.text('"\\[]{}a\u00fc', max_size=8) | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('"\\[]{}', max_size=4), inner, max_size=3),
    max_leaves=30,
)


@given(JSONS)
def test_depth_is_told_without_reading(value: Any):
    def depth(value: Any) -> int:
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
        return 0 if inner is None else 1 + max(map(depth, inner), default=0)

    text = json.dumps(value, ensure_ascii=False)
    check_size(text, depth(value))
    if depth(value):
        with pytest.raises(RequestRefused, match=f"nested more than {depth(value) - 1} deep"):
            check_size(text, depth(value) - 1)


@given(st.text('"\\[]{}', max_size=200))
def test_depth_of_anything_is_told_at_once(text: str):
    check_size(text, max_nesting=1000)


def test_depth_is_told_in_time_that_grows_with_the_text_and_no_faster():
    # Whatever is not linear runs into the time limit of the test.
    for text in ('"' + '\\"' * 1_000_000, "[" * 2_000_000, "[]" * 1_000_000, '"a",' * 500_000, '{"a":[]},' * 200_000):
        with suppress(RequestRefused):
            check_size(text)


@each_case("start", {"strings without commas": '"" "" ""', "what was never begun": "[]]"})
def test_what_is_not_json_is_not_searched_further(start: str):
    check_size(f"{start}[[[", max_nesting=2)


def test_a_body_with_too_many_values_is_not_parsed():
    check_size(json.dumps([[1, 2], {"a": [3, "4,,,[[["]}]), max_values=7)
    with pytest.raises(RequestRefused, match="holds more than 6 values"):
        check_size(json.dumps([[1, 2], {"a": [3, "4,,,[[["]}]), max_values=6)
    reply = guarded(AccessRules(), b'{"a":[' + b"[]," * 1_000_000 + b"[]]}")
    assert (reply.status, reply.error) == (400, "the body holds more than 500,000 values")
    reply = guarded(AccessRules(), b"[" * 5_000_000 + b"]" * 4_900_000)
    assert (reply.status, reply.error) == (400, "the body is nested more than 64 deep")


@pytest.mark.parametrize("large", [False, True])
def test_a_large_body_does_not_hold_up_others(large: bool):
    """While it is parsed, the event loop goes round; a small body is parsed in one go."""
    rounds = 0

    async def count_rounds() -> None:
        nonlocal rounds
        while True:
            rounds += 1
            await asyncio.sleep(0)

    async def main() -> int:
        counting = asyncio.create_task(count_rounds())
        content = "x" * (LARGE_BODY_BYTES if large else 10)
        body = {**BODY, "messages": [{"role": "user", "content": content}], "temperature": "hot"}
        await asyncio.sleep(0)
        before = rounds
        reply = await send_request(app([serve_model(ScriptedModel([]), JSON)]), body)
        assert reply.error == "temperature: expected a number, found text"
        counting.cancel()
        return rounds - before

    assert (asyncio.run(main()) > 0) == large


# Web pages


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("site", "status"), [("cross-site", 403), ("same-site", 403), ("", 403), ("same-origin", 200), ("none", 200)]
)
def test_a_page_of_another_site_is_refused(path: str, site: str, status: int):
    """Browsers say so with every request, also with those that have no `Origin`."""
    assert guarded(AccessRules(), headers=[("sec-fetch-site", site)], path=path).status == status
    assert (
        guarded(AccessRules(key=KEY), headers=[("sec-fetch-site", site), ("x-api-key", KEY)], path=path).status
        == status
    )


def test_a_page_that_is_allowed_is_of_another_site():
    headers = [("origin", "https://app.example"), ("sec-fetch-site", "cross-site")]
    assert guarded(AccessRules(origins=frozenset({"https://app.example"})), headers=headers).status == 200
    assert guarded(AccessRules(), headers=headers).status == 403
    twice = [("sec-fetch-site", "none"), ("sec-fetch-site", "cross-site")]
    assert guarded(AccessRules(), headers=twice).status == 400


# Nothing but forwarding


INSIDE = [
    f"{scheme}://{host}{path}"
    for scheme in ("http", "https", "file", "gopher", "ftp")
    for host, path in (
        ("127.0.0.1:1", "/"),
        ("169.254.169.254", "/latest/meta-data/"),
        ("[::1]", "/"),
        ("metadata.google.internal", "/"),
        ("0", "/"),
        ("localhost", "/etc/passwd"),
    )
]


@pytest.mark.parametrize("url", INSIDE)
def test_addresses_in_a_request_are_never_opened(url: str):
    """An image's address goes to the model as it is, if it is one of the web; a model's address is no model.

    No socket would be allowed here.
    """
    model = ScriptedModel([says("Hello.")])
    another = ServedModel(name="another", model=model, dialect=JSON)
    application = app([serve_model(model, JSON), another])
    image = [{"type": "image_url", "image_url": {"url": url}}]
    reply = ask(application, {**BODY, "messages": [{"role": "user", "content": image}]})
    is_web = url.startswith("http")
    assert reply.status == (200 if is_web else 400)
    if is_web:
        assert model.requests[0].shown.messages[-1].parts[0].url == url
    else:
        assert reply.error.startswith(f"messages[0].content[0].image_url.url: {url!r} does not begin with https://")
    assert ask(application, {**BODY, "model": f"{url}#gpt"}).status == 404
    for field in ("base_url", "api_base", "endpoint", "url", "command"):  # never opened: left out, and named
        reply = ask(app([serve_model(ScriptedModel([says("Hello.")]), JSON)]), {**BODY, field: url})
        assert (reply.status, reply.headers["x-toolspeak-notice"]) == (200, f"fields ignored: {field}")
    assert len(model.requests) == is_web


def test_no_request_starts_a_process():
    folder = str(Path(toolspeak.gateway.__file__).parent)
    words = r"subprocess|os\.system|popen|exec\(|eval\(|pickle|__import__|importlib"
    found = subprocess.run(["grep", "-rnE", words, folder, "--include=*.py"], capture_output=True, text=True)
    assert found.stdout == ""


@pytest.mark.parametrize(
    "name", ["local", "openai:gpt", "local:/etc/passwd", "http://127.0.0.1/v1#x", "../scripted", ""]
)
def test_only_what_is_served_can_be_asked(name: str):
    another = ServedModel(name="another", model=ScriptedModel([]), dialect=JSON)
    reply = ask(app([serve_model(ScriptedModel([]), JSON), another]), {**BODY, "model": name})
    assert reply.status == 404
    assert (reply.json["error"]["type"], reply.json["error"]["code"]) == ("not_found_error", "model_not_found")
    assert guarded(AccessRules(), body={**BODY, "model": name}).json["choices"][0]["message"]["content"] == "Hello."


def test_one_model_answers_to_any_name():
    application = app([serve_model(ScriptedModel([says("Hello.")]), JSON)])
    assert ask(application, {**BODY, "model": "gpt-4o\ud800"}).json["model"] == "gpt-4o\ud800"


def test_two_of_one_name_and_none_at_all_are_refused():
    with pytest.raises(UsageError, match="two models are served as 'scripted'"):
        app([serve_model(ScriptedModel([]), JSON)] * 2)
    with pytest.raises(UsageError, match="no model to serve"):
        app([])


@pytest.mark.parametrize(
    ("path", "verb"), [("/", "POST"), ("/v1/embeddings", "POST"), ("/nowhere", "GET"), ("/v1/models", "POST")]
)
def test_elsewhere_is_nothing(path: str, verb: str):
    reply = ask(app([serve_model(ScriptedModel([]), JSON)]), BODY, path=path, method=verb)
    assert reply.status in (404, 405)
    assert "is not served here" in reply.error


# Logs


def test_neither_bodies_nor_keys_nor_answers_are_logged(caplog: pytest.LogCaptureFixture):
    canary = "canary-of-mine"
    caplog.set_level(logging.DEBUG)

    class Broken(ScriptedModel):
        async def ask(self, request: Any) -> Any:
            raise KeyError(request.shown.messages[-1].text)
            yield

    body = {**BODY, "messages": [{"role": "user", "content": canary}]}
    for model in (ScriptedModel([says(canary)]), Broken([])):
        application = app([serve_model(model, JSON)], AccessRules(key=KEY))
        for streamed in (False, True):
            for key in (KEY, f"{KEY}-wrong"):
                reply = ask(application, {**body, "stream": streamed}, headers=[("x-api-key", key)])
                assert reply.headers["x-request-id"] in caplog.text
    assert canary not in caplog.text
    assert KEY not in caplog.text
    assert "failed with KeyError" in caplog.text
