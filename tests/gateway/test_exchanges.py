"""Exchanges that are shown as lines of JSON, or kept for those who watch the gateway."""

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import anthropic
import httpx
import openai
import pytest

from toolspeak.cli import http_server
from toolspeak.cli.http_server import LineWriter
from toolspeak.dialects import DIALECTS, TYPESCRIPT
from toolspeak.gateway import AccessRules, app
from toolspeak.gateway.exchange_report import ExchangeHistory
from toolspeak.models import connect
from toolspeak.testing import ScriptedModel, ScriptedReply, breaks, calls, says
from toolspeak.values.codec import decode
from toolspeak.values.errors import EndpointDown, UsageError
from toolspeak.values.events import Usage
from toolspeak.values.messages import Message

from .conversing import ANTHROPIC_TOOLS, BEFORE, OPENAI_TOOLS, QUESTION, scripted
from .hosting import Reply, ask, gateway, host_app, send_request, serve_model, until
from .test_serve import KEY, expect_refusal, home, start_gateway

__all__ = ["home"]

both = pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])

PARIS = ("get_weather", {"city": "Paris"})


def body(**more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "tools": OPENAI_TOOLS, **more}


def report_exchanges(
    model: Any, given: Any = None, dialect: str = "typescript", **options: Any
) -> tuple[Reply, dict[str, Any]]:
    """What a client got, and the report of it."""
    lines: list[str] = []
    reply = ask(app([serve_model(model, DIALECTS[dialect])], on_exchange=lines.append), given or body(), **options)
    [line] = lines
    assert "\n" not in line
    return reply, json.loads(line)


# What is in a report


@both
def test_an_exchange_is_reported_from_the_request_to_the_response(streamed: bool):
    usage = Usage(input_tokens=40, output_tokens=7)
    model = ScriptedModel([calls(PARIS, text="Let me see.", usage=usage)], chunk=3)
    given = body(stream=streamed, user="me", colour="red")

    reply, report = report_exchanges(model, given)

    assert report["request"] == given
    assert (report["v"], report["id"]) == (1, reply.headers["x-request-id"])
    assert (report["api"], report["path"], report["stream"]) == ("openai", "/v1/chat/completions", streamed)
    assert (report["model"], report["dialect"], report["status"]) == ("scripted", "typescript", 200)
    assert report["notices"] == reply.headers["x-toolspeak-notice"] == "fields ignored: colour"
    assert (report["usage"]["input_tokens"], report["usage"]["output_tokens"]) == (40, 7)
    assert 0 <= report["first_seconds"] <= report["seconds"]
    [turn] = report["turns"]
    shown = model.requests[0].shown
    assert tuple(decode({"v": 1, **each}) for each in turn["shown"]["messages"]) == shown.messages
    assert turn["text"] == 'Let me see.\n\n```typescript\nget_weather({city: "Paris"});\n```'
    read = decode({"v": 1, **turn["read"]})
    assert isinstance(read, Message)
    assert [(call.name, call.arguments) for call in read.calls] == [PARIS]
    assert (turn["problem"], turn["finish"], turn["usage"]["output_tokens"]) == ("", "stop", 7)
    if not streamed:
        assert report["response"] == reply.json
    [call] = report["response"]["choices"][0]["message"]["tool_calls"]
    assert (call["function"]["name"], json.loads(call["function"]["arguments"])) == PARIS
    assert call["id"] in reply.body.decode()


def test_api_calls_are_reported_as_the_endpoint_sent_them():
    _, report = report_exchanges(ScriptedModel([calls(PARIS)]), dialect="native")

    [turn] = report["turns"]
    [call] = turn["api_calls"]
    assert (call["name"], json.loads(call["arguments"])) == PARIS
    assert [tool["name"] for tool in turn["shown"]["tools"]] == ["get_weather", "calculator"]


@both
def test_each_turn_is_reported_with_its_problem(streamed: bool):
    model = ScriptedModel([says("```typescript\nget_weather({city: \n```"), calls(PARIS)])

    _, report = report_exchanges(model, body(stream=streamed))

    first, second = report["turns"]
    assert "the message ended inside the call" in first["problem"]
    assert second["problem"] == ""
    assert len(second["shown"]["messages"]) == len(first["shown"]["messages"]) + 2


@both
def test_failures_are_reported(streamed: bool):
    _, down = report_exchanges(ScriptedModel([breaks(EndpointDown("it is down"))]), body(stream=streamed))
    _, cut = report_exchanges(ScriptedModel([breaks(EndpointDown("it is down"), text="Well, ")]), body(stream=streamed))
    _, wrong = report_exchanges(ScriptedModel([]), body(n=5))
    _, broken = report_exchanges(ScriptedModel([]), b"{")

    assert (down["status"], down["response"]) == (502, None)
    assert down["error"]["error"]["code"] == "upstream_unreachable"
    assert cut["status"] == (200 if streamed else 502)
    assert cut["turns"][0]["text"] == ("Well, " if streamed else "")
    assert (wrong["status"], wrong["error"]["error"]["param"], wrong["turns"]) == (400, "n", [])
    assert wrong["request"]["n"] == 5
    assert (broken["status"], broken["request"], broken["model"]) == (400, None, None)


@both
def test_a_client_that_leaves_is_reported(streamed: bool):
    lines: list[str] = []
    model = ScriptedModel([ScriptedReply(text="Well.", after=60.0)])
    application = app([serve_model(model, TYPESCRIPT)], on_exchange=lines.append)

    async def leave() -> None:
        leaves = asyncio.Event()
        asyncio.get_running_loop().call_later(0.3, leaves.set)
        await send_request(application, body(stream=streamed), leaves=leaves)

    asyncio.run(leave())

    [report] = map(json.loads, lines)
    assert (report["status"], report["response"], report["error"]) == (499, None, None)


def test_keys_are_in_no_report():
    secret, key = "sk-upstream-1234567890", "gateway-key-1234567890"
    lines: list[str] = []
    with gateway(serve_model(ScriptedModel([says(f"Your keys are {secret} and {key}.")] * 2), TYPESCRIPT)) as upstream:
        there = connect("scripted", at=f"{upstream}/v1", key=secret)
        application = app([serve_model(there, TYPESCRIPT)], AccessRules(key=key), on_exchange=lines.append, watch=True)
        headers = [("authorization", f"Bearer {key}")]
        ask(application, body(user=key), headers=headers)
        listed = ask(application, b"", path="/exchanges", method="GET", headers=headers)
        kept = ask(application, b"", path=f"/exchanges/{json.loads(lines[0])['id']}", method="GET", headers=headers)

    for text in (lines[0], listed.body.decode(), kept.body.decode()):
        assert secret not in text
        assert key not in text
    assert lines[0].count("<key>") >= 3


# Watching, over HTTP


def test_exchanges_of_the_sdks_can_be_watched():
    application = app([serve_model(scripted(), TYPESCRIPT)], AccessRules(key=KEY), watch=True)
    with (
        host_app(application) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0) as chat,
        anthropic.Anthropic(base_url=url, api_key=KEY, max_retries=0) as messages,
        httpx.Client(base_url=url, headers={"authorization": f"Bearer {KEY}"}, timeout=60) as watcher,
    ):
        question: Any = [{"role": "user", "content": QUESTION}]
        with chat.chat.completions.stream(model="m", messages=question, tools=OPENAI_TOOLS) as stream:
            completion = stream.get_final_completion()
        message = messages.messages.create(model="m", messages=question, tools=ANTHROPIC_TOOLS, max_tokens=99)
        response = chat.responses.create(model="m", input="Hi")
        until(lambda: len(watcher.get("/exchanges").json()["exchanges"]) == 3)
        latest = watcher.get("/exchanges").json()["exchanges"]
        reports = [watcher.get(f"/exchanges/{each['id']}").json() for each in latest[::-1]]
        missing = watcher.get("/exchanges/req_0")
        paths = ("/exchanges", f"/exchanges/{latest[0]['id']}")
        keyless = [httpx.get(f"{url}{path}", timeout=60).status_code for path in paths]

    assert [each["api"] for each in reports] == ["openai", "anthropic", "openai-responses"]
    assert [each["turns"] for each in latest] == [1, 1, 1]
    assert reports[0]["response"]["choices"][0]["message"]["content"] == completion.choices[0].message.content == BEFORE
    assert anthropic.types.Message.model_validate(reports[1]["response"]) == message
    assert reports[2]["response"]["id"] == response.id
    assert (missing.status_code, keyless) == (404, [401, 401])


def test_exchanges_are_not_served_unless_they_are_watched():
    assert ask(app([serve_model(scripted(), TYPESCRIPT)]), b"", path="/exchanges", method="GET").status == 404


def test_exchanges_are_not_served_without_a_key():
    with pytest.raises(UsageError, match="only behind a key"):
        app([serve_model(scripted(), TYPESCRIPT)], watch=True)


def test_the_history_is_bounded_in_number_and_bytes():
    history = ExchangeHistory(max_exchanges=3, max_bytes=100)
    for number in range(5):
        history.add({"id": f"req_{number}"}, f'"{number}"')
    assert [each["id"] for each in history.list_summaries()] == ["req_4", "req_3", "req_2"]
    assert (history.find("req_1"), history.find("req_2")) == (None, '"2"')

    history.add({"id": "large"}, "x" * 95)
    assert [each["id"] for each in history.list_summaries()] == ["large", "req_4"]

    history.add({"id": "huge"}, "x" * 101)
    kept = history.find("huge")
    assert kept is not None
    assert json.loads(kept)["left_out"] == "the report has 101 bytes, too many to be kept"


# The command


@pytest.mark.slow
def test_the_command_shows_exchanges_and_nothing_else_on_standard_output(home: Path):
    arguments = ["--port", "0", "--model", "there", "--show", "--watch", "--key-env", "GATEWAY_KEY"]
    with start_gateway(home, *arguments, GATEWAY_KEY=KEY) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            line = next(line for line in process.stderr if " serves " in line)
            url = line.partition("/v1 serves")[0]
            with openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0) as client:
                question: Any = [{"role": "user", "content": QUESTION}]
                for _ in range(2):
                    client.chat.completions.create(model="there", messages=question, tools=OPENAI_TOOLS)
                reports = [json.loads(process.stdout.readline()) for _ in range(2)]
            kept = httpx.get(f"{url}/exchanges", headers={"x-api-key": KEY}, timeout=60).json()["exchanges"]
        finally:
            process.kill()

    assert [report["status"] for report in reports] == [200, 200]
    assert [each["id"] for each in kept] == [report["id"] for report in reports[::-1]]
    assert KEY not in json.dumps(reports)


def test_watching_needs_a_key(home: Path):
    assert "--watch serves whole conversations, so it needs a key" in expect_refusal(home, "--watch")


class SlowReader:
    """A stream whose reader takes nothing until it is told to, and then goes away after some lines."""

    def __init__(self, lines: int) -> None:
        self.is_asked, self.opened = threading.Event(), threading.Event()
        self.written: list[str] = []
        self._lines = lines

    def write(self, text: str) -> int:
        self.is_asked.set()
        self.opened.wait(60)
        if len(self.written) >= self._lines:
            raise BrokenPipeError
        self.written.append(text)
        return len(text)

    def flush(self) -> None:
        pass


def test_a_slow_reader_holds_up_nobody(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(http_server, "MAX_CLOSING_SECONDS", 60.0)
    stream: Any = SlowReader(lines=3)
    with LineWriter(stream, max_waiting=5) as lines:
        lines.write("0")
        assert stream.is_asked.wait(60)  # so that nothing is taken while the other lines come
        for number in range(1, 50):
            lines.write(str(number))
        stream.opened.set()

    assert stream.written == ["0\n", "1\n", "2\n"]
    assert [record.getMessage()[:31] for record in caplog.records] == ["exchanges are not shown any mor"]
