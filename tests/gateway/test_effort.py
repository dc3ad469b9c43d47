"""How hard a model should think: what the client's API says goes out as the endpoint's API says it."""

import json
from typing import Any

import pytest

from toolspeak.dialects import NATIVE, TYPESCRIPT
from toolspeak.gateway import app
from toolspeak.gateway.passthrough import EFFORT_REMARK, read_effort, write_effort
from toolspeak.models import Endpoint, HttpModel
from toolspeak.testing import ScriptedModel, says
from toolspeak.values.errors import ProviderError
from toolspeak.values.messages import Text
from toolspeak.values.pieces import Answer
from toolspeak.wire.api import CLIENT_WIRES
from toolspeak.wire.chat_request import ChatRequest

from .hosting import Reply, ask, serve_model

CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "chat": ("/v1/chat/completions", {**CHAT, "reasoning_effort": "high"}),
    "chat of others": ("/v1/chat/completions", {**CHAT, "reasoning": {"effort": "high"}}),
    "responses": ("/v1/responses", {"model": "m", "input": "Hi", "reasoning": {"effort": "high"}}),
    "messages": ("/v1/messages", {**CHAT, "max_tokens": 9, "output_config": {"effort": "high"}}),
    "messages by budget": (
        "/v1/messages",
        {**CHAT, "max_tokens": 30_000, "thinking": {"type": "enabled", "budget_tokens": 20_000}},
    ),
    "gemini": (
        "/v1beta/models/m:generateContent",
        {
            "contents": [{"parts": [{"text": "Hi"}]}],
            "generationConfig": {"thinkingConfig": {"thinkingLevel": "HIGH"}},
        },
    ),
}


class Thinker(HttpModel):
    """A model behind an endpoint, which may refuse to be told how hard to think."""

    def __init__(self, api: Any = "openai", *, refuses: int = 0) -> None:
        super().__init__(Endpoint(name="there", base_url="http://127.0.0.1:1/v1", api=api), "m")
        self.refuses = refuses
        self.extras: list[Any] = []

    async def ask(self, request: Any) -> Any:
        self.extras.append(request.sampling.extra)
        if self.refuses and request.sampling.extra:
            raise ProviderError("reasoning_effort: is no field", status=self.refuses)
        yield [Answer(parts=(Text(text="Fine."),), finish="stop")]


def send(model: Any, case: str, dialect: Any = TYPESCRIPT) -> Reply:
    path, body = REQUESTS[case]
    return ask(app([serve_model(model, dialect)]), body, path=path)


@pytest.mark.parametrize("case", REQUESTS)
def test_effort_reaches_an_endpoint_of_another_api(case: str):
    model = Thinker()
    reply = send(model, case)
    assert (reply.status, "x-toolspeak-notice" in reply.headers) == (200, False)
    assert model.extras == [{"reasoning_effort": "high"}]


WRITTEN: dict[str, list[tuple[Any, dict[str, Any]]]] = {
    "openai": [("low", {"reasoning_effort": "low"}), ("none", {"reasoning_effort": "none"})],
    "openai-responses": [("xhigh", {"reasoning": {"effort": "xhigh"}})],
    "anthropic": [
        ("none", {"thinking": {"type": "disabled"}}),
        ("minimal", {"output_config": {"effort": "low"}}),
        ("medium", {"output_config": {"effort": "medium"}}),
        ("xhigh", {"output_config": {"effort": "max"}}),
    ],
    "gemini": [
        ("none", {"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}}),
        ("medium", {"generationConfig": {"thinkingConfig": {"thinkingBudget": 8192}}}),
    ],
    "ollama": [("none", {"think": False}), ("minimal", {"think": "low"}), ("xhigh", {"think": "high"})],
}


@pytest.mark.parametrize("api", WRITTEN)
def test_effort_is_written_as_each_api_has_it(api: Any):
    wire = CLIENT_WIRES[api]
    for effort, expected in WRITTEN[api]:
        request = ChatRequest(model="m", messages=(), max_tokens=9, extra=write_effort(effort, api, "m"))
        body = wire.request_body(request)
        found = {key: body[key] for key in expected}
        if "generationConfig" in found:
            found["generationConfig"] = {"thinkingConfig": found["generationConfig"]["thinkingConfig"]}
        assert found == expected


def test_newer_models_of_google_have_levels():
    assert write_effort("xhigh", "gemini", "gemini-3-pro") == {"thinkingConfig": {"thinkingLevel": "high"}}
    assert write_effort("low", "gemini", "gemini-2.5-pro") == {"thinkingConfig": {"thinkingBudget": 2048}}


@pytest.mark.parametrize(
    ("fields", "effort"),
    [
        ({}, None),
        ({"reasoning_effort": "max"}, "xhigh"),
        ({"reasoning_effort": "much"}, None),
        ({"reasoning": {"summary": "auto"}}, None),
        ({"reasoning": {"enabled": False}}, "none"),
        ({"thinking": {"type": "disabled"}}, "none"),
        ({"thinking": {"type": "adaptive"}}, None),
        ({"thinking": {"type": "enabled", "budget_tokens": 1024}}, "low"),
        ({"thinking": {"type": "enabled", "budget_tokens": 99_999}}, "high"),
        ({"thinkingConfig": {"thinkingBudget": 0}}, "none"),
        ({"thinkingConfig": {"thinkingBudget": -1, "includeThoughts": True}}, None),
    ],
)
def test_effort_is_read_from_every_api(fields: dict[str, Any], effort: str | None):
    assert read_effort(fields) == effort


@pytest.mark.parametrize("status", [400, 422])
def test_a_model_that_refuses_it_is_asked_without_it_and_the_client_is_told(status: int):
    model = Thinker(refuses=status)
    served = app([serve_model(model, TYPESCRIPT)])
    replies = [ask(served, {**CHAT, "reasoning_effort": "high"}) for _ in range(2)]
    assert [reply.status for reply in replies] == [200, 200]
    assert model.extras == [{"reasoning_effort": "high"}, None, None]
    assert replies[1].headers["x-toolspeak-notice"] == EFFORT_REMARK


def test_another_refusal_is_an_error():
    reply = send(Thinker(refuses=401), "chat")
    assert reply.status == 401


@pytest.mark.parametrize("case", REQUESTS)
def test_a_model_that_has_no_such_setting_is_asked_and_the_client_is_told(case: str):
    reply = send(ScriptedModel([says("Fine.")]), case)
    assert (reply.status, reply.headers["x-toolspeak-notice"]) == (200, EFFORT_REMARK)


def test_who_wants_no_effort_is_told_nothing():
    reply = ask(app([serve_model(ScriptedModel([says("Fine.")]), TYPESCRIPT)]), {**CHAT, "reasoning_effort": "none"})
    assert "x-toolspeak-notice" not in reply.headers


def test_the_fields_of_the_same_api_are_passed_on_as_they_are():
    model = Thinker("openai-responses")
    body = {"model": "m", "input": "Hi", "reasoning": {"effort": "high", "summary": "auto"}}
    reply = ask(app([serve_model(model, NATIVE)]), body, path="/v1/responses")
    assert reply.status == 200, json.dumps(reply.json)
    assert model.extras == [{"reasoning": {"effort": "high", "summary": "auto"}}]
