"""What a client gets when a request cannot be answered: over HTTP, with the official SDKs, in each API's own form."""

import json
import logging
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import anthropic
import openai
import pytest

from tests.cases import each_case
from toolspeak.dialects import TYPESCRIPT
from toolspeak.gateway import app
from toolspeak.gateway.errors import describe_refusal, report_error
from toolspeak.gateway.exchange import AnswerNotRepaired, CallNotRepaired
from toolspeak.gateway.guard import RequestRefused
from toolspeak.models.cassettes import CassetteNotWritten
from toolspeak.testing import ScriptedModel, says
from toolspeak.values.errors import (
    ContextExceeded,
    EndpointDown,
    EndpointTimeout,
    ModelError,
    ProviderError,
    RateLimited,
    ReplayMiss,
    StreamInterrupted,
    ToolError,
    UsageError,
)
from toolspeak.wire.errors import FAILURES, FailureName
from toolspeak.wire.fields import FieldError

from .conversing import OPENAI_TOOLS, QUESTION
from .hosting import ask, gateway, serve_model
from .upstream import PATIENT, Upstream, drips, sends, upstream

ONCE = replace(PATIENT, attempts=1)
BODY: dict[str, Any] = {"model": "scripted", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9}
TOO_LONG = "request (5021 tokens) exceeds the available context size (4096 tokens), try increasing it"

ERRORS: list[tuple[Exception, FailureName]] = [
    (RequestRefused("key_wrong", "no"), "key_wrong"),
    (UsageError("no"), "bad_request"),
    (CassetteNotWritten("no"), "gateway_failed"),
    (FieldError("n", "no"), "bad_request"),
    (FieldError("thread", "no", failure="thread_unsupported"), "thread_unsupported"),
    (ContextExceeded("no", status=400), "context_exceeded"),
    (ContextExceeded("no", status=500), "context_exceeded"),
    (CallNotRepaired("no"), "call_not_repaired"),
    (AnswerNotRepaired("no"), "answer_not_repaired"),
    (ProviderError("no", status=400), "upstream_refused"),
    (ProviderError("no", status=401), "upstream_key_refused"),
    (ProviderError("no", status=402), "upstream_unpaid"),
    (ProviderError("no", status=403), "upstream_forbidden"),
    (ProviderError("no", status=404), "upstream_model_unknown"),
    (ProviderError("no", status=413), "upstream_too_large"),
    (ProviderError("no", status=418), "upstream_refused"),
    (ProviderError("no", status=302), "upstream_failed"),
    (ProviderError("no"), "upstream_failed"),
    (RateLimited("no"), "upstream_busy"),
    (RateLimited("no", status=429), "upstream_busy"),
    (RateLimited("no", status=529), "upstream_overloaded"),
    (EndpointDown("no", status=503), "upstream_failed"),
    (EndpointDown("no"), "upstream_unreachable"),
    (EndpointTimeout("no"), "upstream_timeout"),
    (StreamInterrupted("no"), "upstream_interrupted"),
    (ModelError("no"), "upstream_failed"),
    (ToolError("no"), "gateway_failed"),
    (ZeroDivisionError("a secret"), "gateway_failed"),
]


@pytest.mark.parametrize(("error", "failure"), ERRORS, ids=lambda each: repr(each))
def test_each_exception_has_its_row(error: Exception, failure: FailureName):
    report = report_error(error)
    assert report.failure == failure
    assert ("secret" in report.message) is False


def test_every_row_of_an_endpoint_is_found_by_some_exception():
    found = {failure for _, failure in ERRORS}
    assert {name for name in FAILURES if name.startswith(("upstream", "context", "call"))} <= found


# An endpoint, over HTTP


def answers(status: int, body: Any, *headers: str) -> Any:
    data = json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} X", f"content-length: {len(data)}", *headers]
    return sends("\r\n".join(lines).encode() + b"\r\n\r\n" + data)


@pytest.fixture
def behind() -> Iterator[Upstream]:
    with upstream() as made:
        yield made


UPSTREAM: dict[str, tuple[Any, type[openai.OpenAIError], str, type[anthropic.AnthropicError]]] = {
    "400": (answers(400, {"error": {"message": "odd"}}), openai.BadRequestError, "upstream_refused", anthropic.BadRequestError),
    "401": (answers(401, {"error": {"message": "no"}}), openai.AuthenticationError, "invalid_api_key", anthropic.AuthenticationError),
    "402": (answers(402, {"error": {"message": "no"}}), openai.APIStatusError, "insufficient_quota", anthropic.APIStatusError),
    "403": (answers(403, {"error": {"message": "no"}}), openai.PermissionDeniedError, "upstream_forbidden", anthropic.PermissionDeniedError),
    "404": (answers(404, {"error": "model 'x' not found"}), openai.NotFoundError, "model_not_found", anthropic.NotFoundError),
    "429": (answers(429, {"error": {"message": "slow"}}), openai.RateLimitError, "rate_limit_exceeded", anthropic.RateLimitError),
    "500": (answers(500, {"error": {"message": "oh"}}), openai.InternalServerError, "upstream_error", anthropic.InternalServerError),
    "503": (answers(503, {"error": {"message": "Loading model"}}), openai.InternalServerError, "upstream_error", anthropic.InternalServerError),
    "529": (answers(529, {}), openai.InternalServerError, "server_is_overloaded", anthropic.InternalServerError),
    "silence": (drips(b"", 0.1, b""), openai.InternalServerError, "upstream_timeout", anthropic.InternalServerError),
    "hangs up": (sends(), openai.InternalServerError, "upstream_unreachable", anthropic.InternalServerError),
    "too long": (answers(400, {"error": {"message": TOO_LONG}}), openai.BadRequestError, "context_length_exceeded", anthropic.BadRequestError),
    "too long, 500": (answers(500, {"error": {"message": TOO_LONG}}), openai.BadRequestError, "context_length_exceeded", anthropic.BadRequestError),
}  # fmt: skip


@pytest.mark.parametrize("name", UPSTREAM)
def test_the_sdks_raise_what_the_endpoint_meant(behind: Upstream, name: str):
    behind.plays, openai_error, code, anthropic_error = UPSTREAM[name]
    retry = replace(ONCE, read_timeout=0.3) if name == "silence" else ONCE
    with gateway(serve_model(behind.model(retry), TYPESCRIPT)) as url:
        with (
            openai.OpenAI(base_url=f"{url}/v1", api_key="none") as client,
            pytest.raises(openai_error) as raised,
        ):
            client.chat.completions.create(**BODY)
        assert isinstance(raised.value, openai.APIError)
        assert raised.value.code == code
        with (
            anthropic.Anthropic(base_url=url, api_key="none") as other,
            pytest.raises(anthropic_error) as missed,
        ):
            other.messages.create(**BODY)
        assert isinstance(missed.value, anthropic.APIStatusError)
        assert ("prompt is too long" in str(missed.value)) == ("too long" in name)
    assert behind.asked == 2  # neither the gateway nor the clients have multiplied the requests


def test_the_time_to_wait_is_passed_on(behind: Upstream):
    behind.plays = answers(429, {"error": {"message": "slow"}}, "retry-after: 7.2")
    reply = ask(app([serve_model(behind.model(ONCE), TYPESCRIPT)]), BODY)
    assert (reply.status, reply.headers["retry-after"]) == (429, "8")
    behind.plays = answers(429, {"error": {"message": "slow"}}, "retry-after: inf")
    reply = ask(app([serve_model(behind.model(retry=ONCE), TYPESCRIPT)]), BODY)
    assert (reply.status, "retry-after" in reply.headers) == (429, False)


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages", "/v1/responses"])
def test_an_error_within_a_stream_keeps_its_type(behind: Upstream, path: str):
    start = b'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: {"choices":[{"delta":{"content":"Once"}}]}\n\n'
    error = {"error": {"type": "exceed_context_size_error", "message": TOO_LONG}}
    behind.plays = sends(start, b"data: " + json.dumps(error).encode() + b"\n\n")
    body = {"model": "any", "input": "Hi"} if path == "/v1/responses" else BODY
    reply = ask(app([serve_model(behind.model(ONCE), TYPESCRIPT)]), {**body, "stream": True}, path=path)
    last = reply.chunks[-1]
    assert reply.status == 200
    if path == "/v1/responses":
        assert (last["type"], last["response"]["error"]["code"]) == ("response.failed", "context_length_exceeded")
        return
    assert TOO_LONG in last["error"]["message"]
    if path == "/v1/messages":
        assert (last["type"], last["error"]["type"]) == ("error", "invalid_request_error")
    else:
        assert (last["error"]["type"], last["error"]["code"]) == ("invalid_request_error", "context_length_exceeded")


@pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
def test_a_turn_that_was_not_mended_is_not_asked_for_again(streamed: bool):
    model = ScriptedModel([says("```typescript\nget_weather({city: \n```")] * 3, dialect="typescript")
    asks: dict[str, Any] = {"messages": [{"role": "user", "content": QUESTION}], "tools": OPENAI_TOOLS}
    with (
        gateway(serve_model(model, TYPESCRIPT, max_repairs=1)) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=5) as client,
        pytest.raises(openai.UnprocessableEntityError, match="did not manage a call") as raised,
    ):
        client.chat.completions.create(model="scripted", stream=streamed, tool_choice="required", **asks)
    assert raised.value.code == "tool_use_failed"
    assert len(model.requests) == 2  # once, and once again by the gateway


# Requests that are wrong


@pytest.mark.parametrize(
    ("wrong", "param", "code"),
    [
        ({"messages": None}, "messages", "missing_required_parameter"),
        ({"messages": [{"role": "bot"}]}, "messages[0].role", "invalid_value"),
        ({"temperature": "hot"}, "temperature", "invalid_type"),
        ({"n": 5}, "n", "unsupported_value"),
        ({"functions": []}, "functions", "unsupported_parameter"),
        (
            {"tool_choice": {"type": "function", "function": {"name": "x"}}},
            "tool_choice.function.name",
            "invalid_value",
        ),
    ],
)
def test_a_wrong_field_is_named(wrong: dict[str, Any], param: str, code: str):
    reply = ask(app([serve_model(ScriptedModel([says("Hello.")]), TYPESCRIPT)]), {**BODY, **wrong})
    error = reply.json["error"]
    assert (reply.status, error["type"], error["param"], error["code"]) == (400, "invalid_request_error", param, code)


def test_what_anthropic_clients_look_for_in_vain_is_told_in_their_form():
    application = app([serve_model(ScriptedModel([says("Hello.")]), TYPESCRIPT)])
    version = [("anthropic-version", "2023-06-01")]
    for path, headers in (("/v1/messages/batches", []), ("/v1/files", version)):
        reply = ask(application, b"", path=path, headers=headers)
        assert (reply.status, reply.json["type"], reply.json["error"]["type"]) == (404, "error", "not_found_error")
    reply = ask(application, b"", path="/v1/models/x", method="GET", headers=version)
    assert (reply.status, reply.json["type"]) == (404, "error")
    reply = ask(application, b"", path="/v1/messages", method="GET")
    assert (reply.status, reply.json["error"]["type"]) == (405, "invalid_request_error")
    reply = ask(application, b"", path="/v1/files")
    assert reply.json["error"]["code"] == "unknown_url"


# What the log says


@each_case(
    "error, line",
    [
        (FieldError("n", "must be at most 1, not 2"), "n: must be at most 1, not 2"),
        (
            FieldError("messages[0].role", "'Tell me \\'all\\'' is none of user"),
            "messages[0].role: '…' is none of user",
        ),
        (FieldError("a.enum", '["Tell", "me", "al'), "a.enum: ['…', '…', '…'"),
        (FieldError("a\nb", "is missing"), "a b: is missing"),
        (RequestRefused("bad_request", "'utf-8' codec can't decode"), "'…' codec can't decode"),
        (RequestRefused("model_unknown", "there is no model 'gpt-5'"), "there is no model 'gpt-5'"),
        (RequestRefused("key_wrong", "the key is missing or wrong"), "the key is missing or wrong"),
        (ContextExceeded("Tell me all", status=400), "context_exceeded"),
        (ProviderError("Incorrect API key: sk-1", status=401), "upstream_key_refused, the endpoint answered 401"),
        (EndpointDown("Tell me all"), "upstream_unreachable (EndpointDown)"),
        (AnswerNotRepaired("it said: Tell me all"), "answer_not_repaired (AnswerNotRepaired)"),
        (ReplayMiss("- Tell me all"), "bad_request (ReplayMiss)"),
    ],
)
def test_the_log_has_the_reason_without_texts_of_others(error: Exception, line: str):
    assert describe_refusal(error) == line


def test_a_refusal_is_one_line_with_its_reason(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO, "toolspeak.gateway")
    application = app([serve_model(ScriptedModel([]), TYPESCRIPT)])
    reply = ask(application, {**BODY, "n": 5})
    ask(application, b"no json")
    ask(application, BODY, path="/v1/noth\x1bing")
    first, second, third = (record.getMessage() for record in caplog.records)
    request_id = reply.headers["x-request-id"]
    assert re.fullmatch(rf"{request_id} POST /v1/chat/completions 400 \d+ ms: n: .*", first)
    assert second.endswith(" ms: the body is not JSON: Expecting value: line 1 column 1 (char 0)")
    assert third.endswith(r" POST '/v1/noth\x1bing' 404: route_unknown")
