"""What clients send beside a conversation: hosted tools, fields of vendors, names of models, preflights, probes."""

import json
import logging
import threading
from typing import Any

import anthropic
import httpx
import openai
import pytest

from toolspeak.dialects import DIALECTS, JSON, NATIVE, TYPESCRIPT
from toolspeak.gateway import AccessRules, ServedModel, app
from toolspeak.models import connect
from toolspeak.testing import ScriptedModel, ScriptedReply, calls, says
from toolspeak.values.errors import UsageError
from toolspeak.values.events import Usage
from toolspeak.values.messages import Text
from toolspeak.values.pieces import Answer
from toolspeak.values.spec import ToolSpec
from toolspeak.wire import openai_chat

from .conversing import ANSWER, ANTHROPIC_TOOLS, MADE, QUESTION, Tools, scripted
from .hosting import Reply, SlowModel, ask, gateway, host_app, serve_model, until
from .playing import Piecewise
from .upstream import sends, upstream

BODY: dict[str, Any] = {"model": "scripted", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9}
SEARCH = {"type": "web_search_20250305", "name": "web_search"}
PAGE = "https://chat.example"
WEATHER = ToolSpec(name="get_weather", description="Weather.", parameters={"properties": {"city": {"type": "string"}}})


def post_body(body: dict[str, Any], path: str = "/v1/chat/completions", **options: Any) -> tuple[Reply, ScriptedModel]:
    model = ScriptedModel([says("Hello.")])
    given: dict[str, Any] = {"model": "any", "input": "Hi"} if path == "/v1/responses" else BODY
    return ask(app([serve_model(model, TYPESCRIPT)], **options), {**given, **body}, path=path), model


# Threads


@pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
def test_the_tool_runner_of_anthropic(streamed: bool):
    tools = Tools()
    with (
        gateway(serve_model(scripted(), TYPESCRIPT)) as url,
        anthropic.Anthropic(base_url=url, api_key="none", max_retries=0) as client,
    ):
        runnable = [anthropic.beta_tool(tools.get_weather), anthropic.beta_tool(tools.calculator)]
        asks: dict[str, Any] = {"model": "any", "max_tokens": 500, "messages": [{"role": "user", "content": QUESTION}]}
        if streamed:
            runner: Any = client.beta.messages.tool_runner(**asks, tools=runnable, stream=True)
            last = [stream.get_final_message() for stream in runner][-1]
        else:
            last = client.beta.messages.tool_runner(**asks, tools=runnable).until_done()
    assert tools.ran == MADE
    assert [block.text for block in last.content if block.type == "text"] == [ANSWER]


def test_a_thread_is_refused_so_that_clients_go_on_without():
    with (
        gateway(serve_model(scripted(), TYPESCRIPT)) as url,
        anthropic.Anthropic(base_url=url, api_key="none", max_retries=0) as client,
        pytest.raises(anthropic.BadRequestError) as raised,
    ):
        client.messages.create(**{**BODY, "tools": ANTHROPIC_TOOLS}, extra_body={"thread": {"type": "create"}})
    body: Any = raised.value.body
    assert body["error"]["details"] == {"error_code": "thread_unsupported_request"}


# Tools of vendors, and fields


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages", "/v1/responses"])
def test_hosted_tools_are_left_out_and_named(path: str, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO, "toolspeak.gateway")
    reply, model = post_body({"tools": [SEARCH]}, path)
    assert (reply.status, reply.headers["x-toolspeak-notice"]) == (200, "hosted tools left out: web_search")
    assert "hosted tools left out: web_search" in caplog.text
    assert "web_search" not in model.requests[0].shown.messages[0].text
    reply, _ = post_body({"tools": [SEARCH]}, path, strict=True)
    assert (reply.status, "tools: 'web_search' runs on servers of its vendor" in reply.error) == (400, True)


@pytest.mark.parametrize(
    ("tool", "name", "arguments"),
    [
        ({"type": "bash_20250124", "name": "bash"}, "bash", {"command": "ls"}),
        (
            {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"},
            "str_replace_based_edit_tool",
            {"command": "view", "path": "/a"},
        ),
        ({"type": "text_editor_20250124", "name": "str_replace_editor"}, "str_replace_editor", {"command": "view", "path": "/a"}),
        ({"type": "memory_20250818", "name": "memory"}, "memory", {"command": "delete", "path": "/memories/a"}),
        ({"type": "computer_20250124", "name": "computer", "display_width_px": 800, "display_height_px": 600}, "computer", {"action": "screenshot"}),
    ],
)  # fmt: skip
def test_tools_that_the_client_runs_are_offered_by_their_schema(tool: Any, name: str, arguments: Any):
    model = ScriptedModel([calls((name, arguments))], dialect="typescript")
    with (
        gateway(serve_model(model, TYPESCRIPT)) as url,
        anthropic.Anthropic(base_url=url, api_key="none", max_retries=0) as client,
    ):
        asks: dict[str, Any] = {"tools": [tool], "tool_choice": {"type": "tool", "name": name}}
        message = client.messages.create(**BODY, **asks)
    assert [(block.name, block.input) for block in message.content if block.type == "tool_use"] == [(name, arguments)]


def test_a_hosted_tool_cannot_be_chosen():
    reply, _ = post_body({"tools": [SEARCH], "tool_choice": {"type": "tool", "name": "web_search"}}, "/v1/messages")
    assert reply.status == 400
    assert "'web_search' runs on servers of its vendor" in reply.error


def test_fields_of_vendors_are_ignored_and_named():
    fields = {"enable_thinking": True, "keep_alive": "5m", "guided_json": {}, "user": "me", "top_k": 3}
    reply, model = post_body(fields)
    assert reply.headers["x-toolspeak-notice"] == "fields ignored: enable_thinking, keep_alive, guided_json"
    assert model.requests[0].sampling.extra == {"top_k": 3}
    reply, _ = post_body(fields, strict=True)
    assert (reply.status, reply.json["error"]["param"]) == (400, "enable_thinking")
    assert reply.json["error"]["code"] == "unknown_parameter"
    reply, _ = post_body({"user": "me", "top_k": 3}, strict=True)
    assert (reply.status, "x-toolspeak-notice" in reply.headers) == (200, False)


def test_names_of_fields_cannot_forge_headers():
    reply, _ = post_body({"a\r\nset-cookie: x": 1, "ü\ud800": 1, **{f"f{number}": 1 for number in range(30)}})
    notice = reply.headers["x-toolspeak-notice"]
    assert notice.startswith("fields ignored: a??set-cookie:?x, ??, f0")
    assert notice.endswith("and 12 more")


@pytest.mark.parametrize(
    ("field", "value"), [("logprobs", True), ("top_logprobs", 3), ("modalities", ["text", "audio"]), ("audio", {})]
)
def test_another_form_of_answer_is_refused_in_words(field: str, value: Any):
    reply, model = post_body({field: value})
    error = reply.json["error"]
    assert (reply.status, error["param"], error["code"]) == (400, field, "unsupported_parameter")
    assert model.requests == []


def test_an_endpoint_of_the_same_api_gets_everything_as_it_is():
    with gateway(serve_model(ScriptedModel([says("Hello.")]), JSON)) as behind:
        there = connect("scripted", at=f"{behind}/v1", api="anthropic", key="none")
        reply = ask(app([serve_model(there, NATIVE)]), {**BODY, "tools": [SEARCH], "odd": 1}, path="/v1/messages")
    assert (reply.status, "x-toolspeak-notice" in reply.headers) == (200, False)


# Stop texts


@pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
def test_the_stop_text_that_ended_an_answer_is_told(streamed: bool):
    model = Piecewise([[Answer(parts=(Text(text="One"),), finish="stop", stop_text="END")]])
    with gateway(serve_model(model, TYPESCRIPT)) as behind:
        there = connect("scripted", at=f"{behind}/v1", api="anthropic", key="none")
        with (
            gateway(serve_model(there, TYPESCRIPT)) as url,
            anthropic.Anthropic(base_url=url, api_key="none", max_retries=0) as client,
        ):
            asks: dict[str, Any] = {**BODY, "stop_sequences": ["END"]}
            if streamed:
                with client.messages.stream(**asks) as stream:
                    message: Any = stream.get_final_message()
            else:
                message = client.messages.create(**asks)
    assert (message.stop_reason, message.stop_sequence) == ("stop_sequence", "END")


# Names of models


def two() -> list[ServedModel]:
    return [
        ServedModel(name=name, model=ScriptedModel([says(f"I am {name}.")] * 9), dialect=JSON)
        for name in ("small", "http://127.0.0.1:9/v1#large")
    ]


def test_models_are_listed_and_found_by_name_and_alias():
    with (
        host_app(app(two(), aliases={"gpt-4o": "small"})) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client,
        anthropic.Anthropic(base_url=url, api_key="none", max_retries=0) as other,
    ):
        names = ["small", "http://127.0.0.1:9/v1#large", "gpt-4o"]
        assert [each.id for each in client.models.list()] == names
        assert [each.id for each in other.models.list()] == names
        assert client.models.retrieve("gpt-4o").id == "gpt-4o"
        assert other.models.retrieve("small").display_name == "small"
        with pytest.raises(openai.NotFoundError) as missed:
            client.models.retrieve("gpt-5")
        assert missed.value.code == "model_not_found"
        with pytest.raises(anthropic.NotFoundError):
            other.models.retrieve("claude")
        for name, answer in (("gpt-4o", "I am small."), ("http://127.0.0.1:9/v1#large", f"I am {names[1]}.")):
            said = client.chat.completions.create(model=name, messages=[{"role": "user", "content": "Hi"}])
            assert (said.model, said.choices[0].message.content) == (name, answer)
        with pytest.raises(openai.NotFoundError, match="did you mean small"):
            client.chat.completions.create(model="smal", messages=[{"role": "user", "content": "Hi"}])


@pytest.mark.parametrize(
    ("aliases", "problem"),
    [({"small": "small"}, "is the name of a model"), ({"x": "smal"}, "not served; did you mean small?")],
)
def test_an_alias_stands_for_a_model_that_is_served(aliases: dict[str, str], problem: str):
    with pytest.raises(UsageError, match=problem):
        app(two(), aliases=aliases)


# Probes and browsers


def test_probes_need_no_key():
    application = app([serve_model(ScriptedModel([]), JSON)], AccessRules(key="a long secret"))
    with host_app(application) as url:
        assert httpx.head(f"{url}/").status_code == 200
        assert httpx.get(f"{url}/health").json() == {"status": "ok"}
        assert httpx.get(f"{url}/ready").json() == {"status": "ok"}
        assert httpx.get(f"{url}/v1/models").status_code == 401


def test_a_gateway_is_ready_when_its_models_are_loaded(caplog: pytest.LogCaptureFixture):
    model = SlowModel("the file secret.gguf is broken")
    with host_app(app([serve_model(model, JSON)], AccessRules(key="a long secret"))) as url:

        def ask_ready() -> tuple[int, str]:
            reply = httpx.get(f"{url}/ready")
            return reply.status_code, reply.json().get("message", "")

        assert ask_ready() == (503, "a model is being loaded; ask again in a few seconds")
        assert httpx.get(f"{url}/health").status_code == 200
        model.has_weights.set()
        until(lambda: "could not be loaded" in ask_ready()[1])
        assert "secret.gguf is broken" in caplog.text
        model.problem = ""
        until(lambda: ask_ready()[0] == 200)  # each question tries again
        model.is_loaded = False  # its process has died
        until(lambda: ask_ready()[0] == 200)


def test_a_page_of_an_allowed_origin_may_ask_and_read():
    rules = AccessRules(key="a long secret", origins=frozenset({PAGE}))
    with host_app(app([serve_model(ScriptedModel([says("Hello.")]), JSON)], rules)) as url:
        asks = {"origin": PAGE, "access-control-request-method": "POST", "access-control-request-headers": "x-api-key"}
        preflight = httpx.options(f"{url}/v1/messages", headers=asks)
        assert preflight.status_code == 204
        assert preflight.headers["access-control-allow-origin"] == PAGE
        assert preflight.headers["access-control-allow-headers"] == "x-api-key"
        assert "POST" in preflight.headers["access-control-allow-methods"]
        sent = httpx.post(f"{url}/v1/messages", json=BODY, headers={"origin": PAGE, "x-api-key": "a long secret"})
        assert (sent.status_code, sent.headers["access-control-allow-origin"]) == (200, PAGE)
        assert "x-request-id" in sent.headers["access-control-expose-headers"]
        refused = httpx.post(f"{url}/v1/messages", json=BODY, headers={"origin": PAGE})
        assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, PAGE)


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "https://chat.example.evil", "http://chat.example"])
def test_pages_of_other_origins_get_no_leave(origin: str):
    rules = AccessRules(origins=frozenset({PAGE}))
    reply = ask(app([serve_model(ScriptedModel([]), JSON)], rules), b"", method="OPTIONS", headers=[("origin", origin)])
    assert (reply.status, "access-control-allow-origin" in reply.headers) == (403, False)


def test_a_preflight_under_another_name_is_refused():
    rules = AccessRules(origins=frozenset({PAGE}))
    headers = [("origin", PAGE)]
    reply = ask(
        app([serve_model(ScriptedModel([]), JSON)], rules), b"", method="OPTIONS", headers=headers, host="evil.example"
    )
    assert reply.status == 403


# Tokens


def test_tokens_are_estimated_where_no_server_counts_them():
    with (
        gateway(serve_model(scripted(), TYPESCRIPT)) as url,
        anthropic.Anthropic(base_url=url, api_key="none", max_retries=0) as client,
    ):
        asks: dict[str, Any] = {"model": "any", "messages": [{"role": "user", "content": "x" * 4000}]}
        alone = client.messages.with_raw_response.count_tokens(**asks)
        assert alone.headers["x-toolspeak-tokens"] == "estimated"
        assert alone.parse().input_tokens == 1004
        assert client.messages.count_tokens(**asks, tools=ANTHROPIC_TOOLS, system="S").input_tokens > 1104
        with pytest.raises(anthropic.BadRequestError, match="messages: is empty"):
            client.messages.count_tokens(model="any", messages=[])


@pytest.mark.parametrize(
    ("answer", "tokens", "how"),
    [({"tokens": [1, 2, 3]}, 7, "counted"), ({"count": 9}, 13, "counted"), ({"error": "no"}, 5, "estimated")],
)
def test_a_server_counts_tokens_by_its_tokenizer(answer: Any, tokens: int, how: str):
    data = json.dumps(answer).encode()
    with upstream() as behind:
        behind.plays = sends(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(data) + data)
        application = app([serve_model(behind.model(ability_apis=("llamacpp",)), TYPESCRIPT)])
        body = {"model": "any", "messages": BODY["messages"]}
        reply = ask(application, body, path="/v1/messages/count_tokens")
    assert (reply.json, reply.headers["x-toolspeak-tokens"]) == ({"input_tokens": tokens}, how)


def test_the_tokens_that_were_read_anew_are_told(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO, "toolspeak.gateway")
    usage = Usage(input_tokens=5021, cached_tokens=5000, output_tokens=3)
    model = Piecewise([[Answer(parts=(Text(text="One"),), finish="stop", usage=usage)]])
    reply = ask(app([serve_model(model, TYPESCRIPT)]), BODY)
    assert reply.headers["x-toolspeak-tokens"] == "input=5021, cached=5000, anew=21"
    ask(app([serve_model(model, TYPESCRIPT)]), {**BODY, "stream": True})
    assert caplog.text.count("tokens: input=5021, cached=5000, anew=21") == 2
    silent = Piecewise([[Answer(parts=(Text(text="One"),), finish="stop")]])
    assert "x-toolspeak-tokens" not in ask(app([serve_model(silent, TYPESCRIPT)]), BODY).headers


def test_what_llama_cpp_had_in_its_cache_is_read_from_its_timings():
    body = {
        "choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 50, "completion_tokens": 1},
        "timings": {"cache_n": 40, "prompt_n": 10},
    }
    usage = openai_chat.read_response(body).usage
    assert usage is not None
    assert (usage.input_tokens, usage.cached_tokens) == (50, 40)


def test_plain_completions_are_refused_in_words():
    with (
        gateway(serve_model(scripted(), TYPESCRIPT)) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client,
        pytest.raises(openai.NotFoundError, match="/v1/chat/completions") as raised,
    ):
        client.completions.create(model="any", prompt="Hi")
    assert raised.value.code == "unknown_url"


# Large requests


class NotingDialect:
    """A dialect that notes in which threads tools are written."""

    name = TYPESCRIPT.name
    in_text = True

    def __init__(self) -> None:
        self.threads: set[int] = set()

    def render(self, *arguments: Any, **options: Any) -> Any:
        self.threads.add(threading.get_ident())
        return TYPESCRIPT.render(*arguments, **options)

    def parser(self, *arguments: Any, **options: Any) -> Any:
        return TYPESCRIPT.parser(*arguments, **options)


@pytest.mark.parametrize("count", [1, 4_000])
def test_what_a_large_request_shows_the_model_is_written_in_a_thread(count: int):
    """Other requests are answered meanwhile. A thread for each small one would only cost."""
    dialect, model = NotingDialect(), ScriptedModel([says("Hello.")])
    properties = {f"parameter_{number}": {"type": "string"} for number in range(count)}
    tool = {"type": "function", "function": {"name": "f", "parameters": {"properties": properties}}}
    reply = ask(app([ServedModel(name="m", model=model, dialect=dialect)]), {**BODY, "tools": [tool]})
    assert reply.status == 200
    assert (dialect.threads == {threading.get_ident()}) == (count == 1)
    assert f"parameter_{count - 1}" in model.requests[0].shown.messages[0].text


BOMBS: dict[str, tuple[dict[str, Any], str]] = {
    "patterns": (
        {"properties": {f"p{each}": {"pattern": f"\\w{{200}}{each}"} for each in range(60)}},
        "too large together",
    ),
    "no definition": ({"$ref": "#/default", "default": {"pattern": "a"}}, "is not a definition within the schema"),
    "no schema": ({"properties": {"a": {"anyOf": [3]}}}, "is no schema"),
}


@pytest.mark.parametrize("name", BOMBS)
@pytest.mark.parametrize("api", ["openai", "responses", "anthropic", "gemini"])
def test_a_schema_that_cannot_be_checked_is_refused_in_the_form_of_the_api(api: str, name: str):
    schema, words = BOMBS[name]
    form: dict[str, Any] = {"type": "json_schema", "schema": schema, "name": "a"}
    path, body = {
        "openai": ("/v1/chat/completions", {"response_format": {"type": "json_schema", "json_schema": form}}),
        "responses": ("/v1/responses", {"text": {"format": form}}),
        "anthropic": ("/v1/messages", {"output_config": {"format": form}}),
        "gemini": (
            "/v1beta/models/m:generateContent",
            {
                "contents": [{"parts": [{"text": "Hi"}]}],
                "generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": schema},
            },
        ),
    }[api]
    model = ScriptedModel([says("{}")])
    given = {} if api == "gemini" else {"model": "any", "input": "Hi"} if api == "responses" else BODY
    reply = ask(app([serve_model(model, TYPESCRIPT)]), {**given, **body}, path=path)
    assert (reply.status, words in reply.error) == (400, True)
    assert model.requests == []


# Several answers


class Various(ScriptedModel):
    """A model that answers the same question in another way each time."""

    def __init__(self, *answers: ScriptedReply) -> None:
        self._answers = iter(answers)
        super().__init__([lambda request: next(self._answers)] * 9, chunk=4)


@pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
def test_several_answers_are_asked_for_one_by_one(streamed: bool):
    tools: Any = openai_chat.tool_definitions([WEATHER])
    model = Various(says("One."), calls(("get_weather", {"city": "Oslo"})), says("Three."))
    with gateway(serve_model(model, TYPESCRIPT)) as url, openai.OpenAI(base_url=f"{url}/v1", api_key="none") as client:
        messages: Any = [{"role": "user", "content": "Hi"}]
        asked: dict[str, Any] = {"model": "m", "messages": messages, "tools": tools, "n": 3, "seed": 7}
        if not streamed:
            whole = client.chat.completions.create(**asked)
        else:
            with client.chat.completions.stream(**asked, stream_options={"include_usage": True}) as stream:
                whole = stream.until_done().get_final_completion()
    assert [choice.index for choice in whole.choices] == [0, 1, 2]
    assert [choice.message.content or "" for choice in whole.choices] == ["One.", "", "Three."]
    assert [choice.finish_reason for choice in whole.choices] == ["stop", "tool_calls", "stop"]
    (call,) = whole.choices[1].message.tool_calls or []
    assert call.type == "function"
    assert json.loads(call.function.arguments) == {"city": "Oslo"}
    assert [request.sampling.seed for request in model.requests] == [7, 8, 9]
    assert whole.usage is not None
    assert whole.usage.completion_tokens > 3


@pytest.mark.parametrize("form", ["generateContent", "streamGenerateContent?alt=sse", "streamGenerateContent"])
def test_several_answers_by_gemini_s_api(form: str):
    function = {"name": "get_weather", "parametersJsonSchema": WEATHER.parameters}
    model = Various(says("One."), calls(("get_weather", {"city": "Oslo"})), says("Three."))
    body = {
        "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
        "tools": [{"functionDeclarations": [function]}],
        "generationConfig": {"candidateCount": 3, "seed": 7},
    }
    reply = ask(app([serve_model(model, TYPESCRIPT)]), body, path=f"/v1beta/models/m:{form}")
    assert reply.status == 200, reply.body
    answers = reply.chunks if form.endswith("sse") else [reply.json] if form == "generateContent" else reply.json
    parts: dict[int, list[Any]] = {}
    reasons: dict[int, str] = {}
    for candidate in (each for answer in answers for each in answer["candidates"]):
        parts.setdefault(candidate["index"], []).extend(candidate["content"]["parts"])
        if "finishReason" in candidate:
            reasons[candidate["index"]] = candidate["finishReason"]
    assert "".join(part["text"] for part in parts[0]) == "One."
    assert [part["functionCall"]["args"] for part in parts[1]] == [{"city": "Oslo"}]
    assert "".join(part["text"] for part in parts[2]) == "Three."
    assert reasons == {0: "STOP", 1: "STOP", 2: "STOP"}
    assert [request.sampling.seed for request in model.requests] == [7, 8, 9]
    assert [answer["usageMetadata"]["candidatesTokenCount"] > 3 for answer in answers if "usageMetadata" in answer] == [
        True
    ]


# Tools that are not allowed

PAINT = ToolSpec(name="paint", description="Paint.", parameters={"properties": {"what": {"type": "string"}}})


@pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_call_of_a_tool_that_is_not_allowed_is_asked_for_again(dialect: str, streamed: bool):
    tools: Any = openai_chat.tool_definitions([WEATHER, PAINT])
    allowed = {"mode": "auto", "tools": [{"type": "function", "function": {"name": "get_weather"}}]}
    choice = {"type": "allowed_tools", "allowed_tools": allowed}
    model = ScriptedModel([calls(("paint", {"what": "a wall"})), says("Fine.")], chunk=4)
    body = {**BODY, "tools": tools, "tool_choice": choice, "stream": streamed}
    reply = ask(app([serve_model(model, DIALECTS[dialect])]), body)
    assert reply.status == 200
    assert b"paint" not in reply.body
    choices = [each["choices"][0] for each in (reply.chunks if streamed else [reply.json])]
    said = [choice["delta" if streamed else "message"] for choice in choices]
    assert "".join(each.get("content", "") for each in said) == "Fine."
    assert "paint may not be called now. Call one of get_weather" in repr(model.requests[1].shown.messages[-1])


def test_the_responses_api_forbids_tools_too():
    tools = [{"type": "function", "name": name, "parameters": {}} for name in ("get_weather", "paint")]
    choice = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "get_weather"}]}
    model = ScriptedModel([calls(("paint", {})), says("I may not.")])
    body = {"model": "m", "input": "Hi", "tools": tools, "tool_choice": choice}
    reply = ask(app([serve_model(model, TYPESCRIPT)]), body, path="/v1/responses")
    assert [item["content"][0]["text"] for item in reply.json["output"]] == ["I may not."]


# Fields with values that there are not


@pytest.mark.parametrize("value", ["auto", "disabled", None])
def test_truncation_is_repeated(value: str | None):
    reply, _ = post_body({"truncation": value}, "/v1/responses")
    assert reply.json["truncation"] == (value or "disabled")


def test_another_truncation_is_refused():
    reply, _ = post_body({"truncation": "middle"}, "/v1/responses")
    assert (reply.status, reply.error) == (400, "truncation: 'middle' is none of auto, disabled")


# One of some texts


@pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("with_tools", [False, True])
def test_gemini_gets_one_of_some_texts(streamed: bool, with_tools: bool):
    schema = {"type": "STRING", "enum": ["wood", "brass"]}
    config = {"responseMimeType": "text/x.enum", "responseSchema": schema}
    tools = [{"functionDeclarations": [{"name": "look", "description": "Look."}]}] if with_tools else []
    said = 'final_answer({choice: "brass"})' if with_tools else 'It is {"choice": "brass"}.'
    model = ScriptedModel([says("Brass, I think."), says(said)], chunk=3)
    body = {"contents": [{"parts": [{"text": "What is a horn?"}]}], "generationConfig": config, "tools": tools}
    method = "streamGenerateContent?alt=sse" if streamed else "generateContent"
    reply = ask(app([serve_model(model, TYPESCRIPT)]), body, path=f"/v1beta/models/m:{method}")
    assert reply.status == 200, reply.body
    answers = reply.chunks if streamed else [reply.json]
    parts = [part for answer in answers for part in answer["candidates"][0]["content"]["parts"]]
    assert "".join(part["text"] for part in parts) == "brass"
    assert answers[-1]["candidates"][0]["finishReason"] == "STOP"


def test_gemini_is_told_if_there_are_no_texts_to_choose():
    body = {"contents": [{"parts": [{"text": "?"}]}], "generationConfig": {"responseMimeType": "text/x.enum"}}
    reply = ask(app([serve_model(ScriptedModel([says("x")]), TYPESCRIPT)]), body, path="/v1/models/m:generateContent")
    assert (reply.status, "needs a responseSchema with an enum" in reply.error) == (400, True)
