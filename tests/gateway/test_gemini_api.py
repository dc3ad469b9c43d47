"""Gemini's API through the gateway, on models that know nothing of it."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.models.asking import at
from tests.models.recorded import DONE, RECORDED
from tests.models.server import Server, answers, serving, streams
from tests.wire.conversations import understood
from toolspeak.dialects import NATIVE, TYPESCRIPT
from toolspeak.gateway import AccessRules, app
from toolspeak.testing import ScriptedModel, says
from toolspeak.values.messages import Message
from toolspeak.wire import gemini_content

from .conversing import ANSWER, BEFORE, MADE, OPENAI_TOOLS, QUESTION, Tools, scripted
from .hosting import Reply, ask, serve_model

MODEL = "/v1beta/models/scripted"
HI: dict[str, Any] = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
FUNCTIONS = [
    {
        "name": tool["function"]["name"],
        "description": tool["function"]["description"],
        "parametersJsonSchema": tool["function"]["parameters"],
    }
    for tool in OPENAI_TOOLS
]
METHODS = {
    "plain": "generateContent",
    "events": "streamGenerateContent?alt=sse",
    "array": "streamGenerateContent",
}


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


def saying(*texts: str, **options: Any) -> Any:
    return app([serve_model(ScriptedModel([says(text) for text in texts]), TYPESCRIPT)], **options)


def read(reply: Reply, form: str) -> list[dict[str, Any]]:
    """The parts of an answer in any of the forms, as a client sends them back."""
    assert reply.status == 200, reply.body
    answer = gemini_content.read_response(reply.chunks if form == "events" else reply.json)
    assert answer.usage is not None
    said = Message(role="assistant", parts=understood(answer.parts))
    return gemini_content.Encoder("m", id="").response(said, "stop")["candidates"][0]["content"]["parts"]


@pytest.mark.parametrize("form", METHODS)
def test_the_conversation(form: str):
    tools = Tools()
    gateway = app([serve_model(scripted(), TYPESCRIPT)])
    body: dict[str, Any] = {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [{"role": "user", "parts": [{"text": QUESTION}]}],
        "tools": [{"functionDeclarations": FUNCTIONS}],
    }
    said, *calls = read(ask(gateway, body, path=f"{MODEL}:{METHODS[form]}"), form)
    assert said == {"text": BEFORE}
    results = [
        {"functionResponse": {"id": call["id"], "name": call["name"], "response": {"output": tools.run(call["name"], call["args"])}}}
        for call in (each["functionCall"] for each in calls)
    ]  # fmt: skip
    assert tools.ran == MADE
    body["contents"] += [{"role": "model", "parts": [said, *calls]}, {"role": "user", "parts": results}]
    reply = ask(gateway, body, path=f"{MODEL}:{METHODS[form]}")
    assert read(reply, form) == [{"text": ANSWER}]
    kind = "text/event-stream" if form == "events" else "application/json"
    assert reply.headers["content-type"].startswith(kind)


def test_signatures_pass_between_a_client_and_a_model_of_the_same_api(server: Server):
    recorded = RECORDED["gemini"]["thinking"]
    server.plays(streams(recorded), streams(DONE["gemini"]))
    gateway = app([serve_model(at(server, "gemini"), NATIVE)])
    body: dict[str, Any] = {**HI, "tools": [{"functionDeclarations": [{"name": "note"}]}, {"googleSearch": {}}]}
    body |= {"generationConfig": {"thinkingConfig": {"includeThoughts": True}}, "safetySettings": []}
    reply = ask(gateway, body, path=f"{MODEL}:streamGenerateContent?alt=sse")
    thought, call = read(reply, "events")
    assert thought == {"text": "Mal sehen …", "thought": True}
    assert call["thoughtSignature"] == "c2ln"
    called = {"id": call["functionCall"]["id"], "name": "note", "response": {"result": {"ok": True}}}
    body["contents"] = [*HI["contents"], {"role": "model", "parts": [thought, call]}, {"role": "user", "parts": [{"functionResponse": called}]}]  # fmt: skip
    assert read(ask(gateway, body, path=f"{MODEL}:streamGenerateContent?alt=sse"), "events") == [{"text": "Fertig."}]
    first, second = server.posts
    assert first.path == "/v1/models/m:streamGenerateContent?alt=sse"
    assert first.body["tools"][1] == {"googleSearch": {}}
    assert (first.body["generationConfig"], first.body["safetySettings"]) == (body["generationConfig"], [])
    assert second.body["contents"] == body["contents"]


def test_the_list_of_models():
    gateway = saying("x", aliases={"gemini-2.5-pro": "scripted"})
    models = ask(gateway, b"", path="/v1beta/models", method="GET").json["models"]
    assert [each["name"] for each in models] == ["models/scripted", "models/gemini-2.5-pro"]
    assert "generateContent" in models[0]["supportedGenerationMethods"]
    assert ask(gateway, b"", path="/v1beta/models/scripted", method="GET").json == models[0]
    unknown = ask(gateway, b"", path="/v1beta/models/other", method="GET")
    assert (unknown.status, unknown.json["error"]["status"]) == (404, "NOT_FOUND")


@pytest.mark.parametrize("header", ["x-goog-api-key", "x-goog-api-client"])
def test_clients_that_use_the_other_version(header: str):
    """Both versions of the API have the same paths, one of which other APIs have, too."""
    gateway, headers = saying("Hello."), [(header, "none")]
    assert read(ask(gateway, HI, path="/v1/models/scripted:generateContent"), "plain") == [{"text": "Hello."}]
    assert ask(gateway, HI, path="/v1/models/scripted:countTokens").json["totalTokens"] > 0
    assert ask(gateway, b"", path="/v1/models", method="GET", headers=headers).json.keys() == {"models"}
    assert (
        ask(gateway, b"", path="/v1/models/scripted", method="GET", headers=headers).json["name"] == "models/scripted"
    )
    wrong = ask(gateway, {}, path="/v1/models/scripted:generateContent")
    assert (wrong.status, wrong.json["error"]["status"]) == (400, "INVALID_ARGUMENT")
    assert "data" in ask(gateway, b"", path="/v1/models", method="GET").json


def test_tokens_are_counted_in_both_forms():
    gateway = saying("x")
    plain = ask(gateway, HI, path=f"{MODEL}:countTokens")
    wrapped = {"generateContentRequest": {"model": "models/scripted", **HI, "systemInstruction": {"parts": [{"text": "Be brief. " * 9}]}}}  # fmt: skip
    assert plain.status == 200
    assert ask(gateway, wrapped, path=f"{MODEL}:countTokens").json["totalTokens"] > plain.json["totalTokens"] > 0
    assert plain.headers["x-toolspeak-tokens"] == "estimated"


@pytest.mark.parametrize(
    ("headers", "query", "status"),
    [
        ([("x-goog-api-key", "sesame")], "", 200),
        ([], "?key=sesame", 200),
        ([("x-goog-api-key", "wrong")], "?key=sesame", 200),
        ([("authorization", "Bearer sesame")], "", 200),
        ([], "", 401),
        ([], "?key=wrong&key=sesame%00", 401),
        ([("x-goog-api-key", "wrong")], "", 401),
        ([("x-goog-api-key", "sesame"), ("x-goog-api-key", "sesame")], "", 400),
    ],
)
def test_the_key(headers: list[tuple[str, str]], query: str, status: int):
    gateway = saying("Hello.", rules=AccessRules(key="sesame"))
    reply = ask(gateway, HI, path=f"{MODEL}:generateContent{query}", headers=headers)
    assert reply.status == status
    if status != 200:
        names = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED"}
        assert (reply.json["error"]["code"], reply.json["error"]["status"]) == (status, names[status])


def test_a_key_in_the_query_is_for_this_api_only():
    gateway = saying("Hello.", rules=AccessRules(key="sesame"))
    assert ask(gateway, {}, path="/v1/chat/completions?key=sesame").status == 401


@pytest.mark.parametrize(
    ("body", "path", "status", "name"),
    [
        ({}, f"{MODEL}:generateContent", 400, "INVALID_ARGUMENT"),
        (b"[]", f"{MODEL}:streamGenerateContent", 400, "INVALID_ARGUMENT"),
        (HI, f"{MODEL}:embedContent", 405, "UNIMPLEMENTED"),
        (HI, "/v1beta/cachedContents", 404, "NOT_FOUND"),
        ({**HI, "cachedContent": "x"}, f"{MODEL}:generateContent", 400, "INVALID_ARGUMENT"),
        ({**HI, "generationConfig": {"responseModalities": ["AUDIO"]}}, f"{MODEL}:generateContent", 400, "INVALID_ARGUMENT"),
    ],
)  # fmt: skip
def test_errors_are_googles(body: Any, path: str, status: int, name: str):
    reply = ask(saying("x"), body, path=path)
    error = reply.json["error"]
    assert (reply.status, error["code"], error["status"]) == (status, status, name)
    assert error["details"][0]["@type"] == "type.googleapis.com/google.rpc.ErrorInfo"


@pytest.mark.parametrize("form", ["events", "array"])
def test_a_stream_that_breaks_ends_in_an_error(server: Server, form: str):
    server.plays(streams(RECORDED["openai"]["text"].partition(b"\n\n")[0] + b"\n\n", ending="close"))
    refused = ask(app([serve_model(at(server), TYPESCRIPT)]), HI, path=f"{MODEL}:{METHODS[form]}")
    assert (refused.status, refused.json["error"]["status"]) == (502, "UNAVAILABLE")
    text = b'data: {"choices":[{"delta":{"content":"Hello, this is a long text. "}}]}\n\n' * 9
    server.plays(streams(text, ending="close"))
    reply = ask(app([serve_model(at(server), TYPESCRIPT)]), HI, path=f"{MODEL}:{METHODS[form]}")
    answers = reply.chunks if form == "events" else reply.json
    assert reply.status == 200
    assert (answers[-1]["error"]["code"], answers[-1]["error"]["status"]) == (502, "UNAVAILABLE")
    assert "candidates" in answers[0]


def test_what_only_googles_servers_have_is_left_out_and_told():
    tools = [{"googleSearch": {}, "codeExecution": {}}, {"functionDeclarations": FUNCTIONS}]
    body = {**HI, "tools": tools, "safetySettings": [], "generationConfig": {"thinkingConfig": {}, "routing": 1}}
    reply = ask(saying("Hello."), body, path=f"{MODEL}:generateContent")
    assert reply.status == 200
    told = "fields ignored: generationConfig; hosted tools left out: googleSearch, codeExecution"
    assert reply.headers["x-toolspeak-notice"] == told


@pytest.mark.parametrize(
    "form",
    [
        {"responseJsonSchema": {"type": "object", "properties": {"town": {"type": "string"}}, "required": ["town"]}},
        {"responseSchema": {"type": "OBJECT", "properties": {"town": {"type": "STRING"}}, "required": ["town"]}},
    ],
)
def test_an_answer_in_a_format_is_held(form: dict[str, Any]):
    body = {**HI, "generationConfig": {"responseMimeType": "application/json", **form}}
    gateway = saying("It is Cologne.", '{"town": "Cologne"}')
    reply = ask(gateway, body, path=f"{MODEL}:generateContent")
    assert reply.status == 200, reply.body
    (part,) = reply.json["candidates"][0]["content"]["parts"]
    assert json.loads(part["text"]) == {"town": "Cologne"}


def test_the_time_to_wait_is_told(server: Server):
    busy = {"error": {"code": 429, "message": "Slow down.", "details": [{"retryDelay": "0.01s"}]}}
    server.plays(answers(429, busy))
    reply = ask(app([serve_model(at(server, "gemini"), NATIVE)]), HI, path=f"{MODEL}:generateContent")
    assert (reply.status, reply.json["error"]["status"]) == (429, "RESOURCE_EXHAUSTED")
    assert reply.json["error"]["details"][-1]["retryDelay"] == "0.01s"
    assert len(server.posts) == 4
