"""The official SDKs as judges: what we send fits their request types, and what we serve they read."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

import anthropic
import openai
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wire.conversations import NOW, PNG, TOOLS, body_of, conversations, everything, message, told_call
from tests.wire.loopback import Server, serving
from tests.wire.sdk_types import validate
from toolspeak.values.events import AUTO, Event, TextDelta, ThinkingDelta, ToolChoice, TurnEnded, Usage
from toolspeak.values.messages import (
    Call,
    Extra,
    Message,
    Opaque,
    Result,
    Text,
    Thinking,
    ToolCall,
    assistant,
    system,
    user,
)
from toolspeak.wire import anthropic_messages, openai_chat
from toolspeak.wire.chat_request import Quirks
from toolspeak.wire.errors import FAILURES, ErrorReport
from toolspeak.wire.schemas import SchemaRules

CHOICES = [
    AUTO, ToolChoice(mode="none"), ToolChoice(mode="required"), ToolChoice(mode="named", names=("now",)),
    ToolChoice(mode="named", names=("now", "get_weather")),
]  # fmt: skip

SCHEMA = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"], "additionalProperties": False}


# What we send


def settings_of(name: str) -> dict[str, Any]:
    if name == "openai":
        return {"temperature": 0.5, "top_p": 0.9, "seed": 1, "stop": ("a",), "extra": {"user": "u", "logprobs": True}}
    # The SDK's types have no sampling any more, though the API takes it.
    return {"stop": ("a",), "extra": {"metadata": {"user_id": "u"}}}


@pytest.mark.parametrize("choice", CHOICES, ids=lambda choice: f"{choice.mode}{len(choice.names)}")
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("name", "wire"), [("openai", openai_chat), ("anthropic", anthropic_messages)])
def test_requests_fit_the_types(name: str, wire: Any, stream: bool, choice: ToolChoice):
    for parallel in (True, False):
        for quirks in (Quirks(), Quirks(developer_role=True, max_completion_tokens=True)):
            body = body_of(
                wire, everything(name), tools=TOOLS, include_usage=True, choice=choice, parallel=parallel, stream=stream,
                max_tokens=100, json_schema=SCHEMA, rules=SchemaRules(strict=True), quirks=quirks, **settings_of(name),
            )  # fmt: skip
            validate(name, body)


def test_what_anthropic_made_fits_its_types_when_it_goes_back():
    citation = {
        "type": "web_search_result_location", "cited_text": "c", "encrypted_index": "e", "title": "t", "url": "https://example.org",
    }  # fmt: skip
    found = {"type": "web_search_result", "encrypted_content": "e", "title": "t", "url": "https://example.org"}
    blocks = [
        {"type": "redacted_thinking", "data": "x"},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [found]},
    ]
    said = message(
        "assistant",
        *(Opaque(vendor="anthropic", data=block) for block in blocks),
        Text(text="T", extra=Extra(vendor="anthropic", data={"citations": [citation]})),
    )
    search = {"type": "web_search_20250305", "name": "web_search"}
    messages = [user("Hi"), said, user("Go on")]
    body = body_of(anthropic_messages, messages, tools=[NOW], extra={"tools": [search]})
    assert body["messages"][1]["content"][:3] == blocks
    validate("anthropic", body)


@given(st.data())
@settings(max_examples=60)
def test_any_conversation_fits_the_types(data: st.DataObject):
    messages = data.draw(conversations("anthropic"))
    validate("anthropic", body_of(anthropic_messages, messages, tools=TOOLS))
    # Reasoning is a field that OpenAI's own types do not have; it goes back to the servers that sent it.
    messages = data.draw(conversations("openai"))
    plain = Quirks(echo_reasoning=False)
    validate("openai", body_of(openai_chat, messages, tools=TOOLS, quirks=plain))


# What we serve

WEATHER = ToolCall(id="call_1", name="get_weather", arguments={"city": "Köln 🙂", "days": 2})
TIME = ToolCall(id="call_2", name="now", arguments={})
USAGE = Usage(input_tokens=40, output_tokens=20, cached_tokens=8)


def spoken(vendor: str) -> tuple[Message, list[Event]]:
    extra = Extra(
        vendor=vendor, data={"signature": "c2ln"} if vendor == "anthropic" else {"field": "reasoning_content"}
    )
    said = message("assistant", Thinking(text="Hm – so.", extra=extra), "Grüße 🙂", Call(call=WEATHER), Call(call=TIME))
    events: list[Event] = [
        ThinkingDelta(text="Hm – "), ThinkingDelta(text="so."), TextDelta(text="Grüße "), TextDelta(text="🙂"),
        *told_call(WEATHER, 3), *told_call(TIME, 0), TurnEnded(message=said, finish="tool_calls", usage=USAGE),
    ]  # fmt: skip
    return said, events


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def openai_client(server: Server) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="key", max_retries=0, timeout=60) as client:
        yield client


@pytest.fixture
def anthropic_client(server: Server) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=server.url, api_key="key", max_retries=0, timeout=60) as client:
        yield client


def openai_encoder() -> openai_chat.Encoder:
    return openai_chat.Encoder("served", id="chatcmpl-1", created=1_700_000_000, include_usage=True)


def anthropic_encoder() -> anthropic_messages.Encoder:
    return anthropic_messages.Encoder("served", id="msg_1", created=1_700_000_000)


OPENAI_ASKS: dict[str, Any] = {
    "model": "m",
    "messages": [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
    "tools": openai_chat.tool_definitions([NOW]),
    "tool_choice": "required",
    "parallel_tool_calls": False,
    "max_completion_tokens": 50,
}
ANTHROPIC_ASKS: dict[str, Any] = {
    "model": "m",
    "system": "Be brief.",
    "messages": [{"role": "user", "content": "Hi"}],
    "tools": anthropic_messages.tool_definitions([NOW]),
    "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
    "max_tokens": 50,
}


def test_openai_reads_a_plain_answer(server: Server, openai_client: openai.OpenAI):
    said, _ = spoken("openai")
    server.answer = openai_encoder().response(said, "tool_calls", USAGE)
    completion = openai_client.chat.completions.create(**OPENAI_ASKS)
    type(completion).model_validate(completion.to_dict(), strict=True)
    assert (completion.id, completion.created, completion.model) == ("chatcmpl-1", 1_700_000_000, "served")
    check_openai(completion)


def test_openai_reads_a_stream(server: Server, openai_client: openai.OpenAI):
    speaking, (_, events) = openai_encoder(), spoken("openai")
    server.answer = speaking.start() + speaking.feed(events)
    with openai_client.chat.completions.create(
        **OPENAI_ASKS, stream=True, stream_options={"include_usage": True}
    ) as stream:
        chunks = list(stream)
    for chunk in chunks:
        type(chunk).model_validate(chunk.to_dict(), strict=True)
        assert (chunk.id, chunk.created, chunk.model) == ("chatcmpl-1", 1_700_000_000, "served")
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == "Grüße 🙂"
    assert chunks[-1].usage is not None
    with openai_client.chat.completions.stream(**OPENAI_ASKS, stream_options={"include_usage": True}) as gathered:
        check_openai(gathered.get_final_completion())


def check_openai(completion: Any) -> None:
    (choice,) = completion.choices
    assert (choice.finish_reason, choice.message.role, choice.message.content) == (
        "tool_calls",
        "assistant",
        "Grüße 🙂",
    )
    assert [(call.id, call.function.name) for call in choice.message.tool_calls] == [
        ("call_1", "get_weather"),
        ("call_2", "now"),
    ]
    assert [json.loads(call.function.arguments) for call in choice.message.tool_calls] == [WEATHER.arguments, {}]
    usage = completion.usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (40, 20, 60)
    assert usage.prompt_tokens_details.cached_tokens == 8


def test_anthropic_reads_a_plain_answer(server: Server, anthropic_client: anthropic.Anthropic):
    said, _ = spoken("anthropic")
    server.answer = anthropic_encoder().response(said, "tool_calls", USAGE)
    answer = anthropic_client.messages.create(**ANTHROPIC_ASKS)
    type(answer).model_validate(answer.to_dict(), strict=True)
    check_anthropic(answer)


def test_anthropic_reads_a_stream(server: Server, anthropic_client: anthropic.Anthropic):
    speaking, (_, events) = anthropic_encoder(), spoken("anthropic")
    server.answer = speaking.start() + speaking.feed(events)
    with anthropic_client.messages.create(**ANTHROPIC_ASKS, stream=True) as stream:
        for event in stream:
            type(event).model_validate(event.to_dict(), strict=True)
    with anthropic_client.messages.stream(**ANTHROPIC_ASKS) as gathered:
        check_anthropic(gathered.get_final_message())


def check_anthropic(answer: Any) -> None:
    assert (answer.id, answer.model, answer.stop_reason, answer.role) == ("msg_1", "served", "tool_use", "assistant")
    thinking, text, weather, time = answer.content
    assert (thinking.type, thinking.thinking, thinking.signature) == ("thinking", "Hm – so.", "c2ln")
    assert (text.type, text.text) == ("text", "Grüße 🙂")
    assert (weather.type, weather.id, weather.name, weather.input) == (
        "tool_use",
        "call_1",
        "get_weather",
        WEATHER.arguments,
    )
    assert (time.type, time.id, time.name, time.input) == ("tool_use", "call_2", "now", {})
    usage = answer.usage
    assert (usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens) == (32, 8, 20)


@pytest.mark.parametrize(
    ("finish", "reason"), [("stop", "stop"), ("length", "length"), ("refused", "content_filter"), ("closed", "stop")]
)
def test_openai_reads_how_it_ended(server: Server, openai_client: openai.OpenAI, finish: Any, reason: str):
    server.answer = openai_encoder().response(assistant("Hi"), finish)
    assert openai_client.chat.completions.create(**OPENAI_ASKS).choices[0].finish_reason == reason


@pytest.mark.parametrize(
    ("finish", "reason"),
    [("stop", "end_turn"), ("length", "max_tokens"), ("refused", "refusal"), ("closed", "end_turn")],
)
def test_anthropic_reads_how_it_ended(server: Server, anthropic_client: anthropic.Anthropic, finish: Any, reason: str):
    server.answer = anthropic_encoder().response(assistant("Hi"), finish)
    assert anthropic_client.messages.create(**ANTHROPIC_ASKS).stop_reason == reason


@pytest.mark.parametrize(
    ("status", "openai_error", "anthropic_error"),
    [
        (400, openai.BadRequestError, anthropic.BadRequestError),
        (401, openai.AuthenticationError, anthropic.AuthenticationError),
        (404, openai.NotFoundError, anthropic.NotFoundError),
        (429, openai.RateLimitError, anthropic.RateLimitError),
        (500, openai.InternalServerError, anthropic.InternalServerError),
    ],
)
def test_refusals_are_read(
    server: Server,
    openai_client: openai.OpenAI,
    anthropic_client: anthropic.Anthropic,
    status: int,
    openai_error: Any,
    anthropic_error: Any,
):
    server.status = status
    failure = next(name for name, form in FAILURES.items() if form.status == status)
    server.answer = openai_chat.error_body(ErrorReport(failure=failure, message="It broke."))
    with pytest.raises(openai_error, match="It broke"):
        openai_client.chat.completions.create(**OPENAI_ASKS)
    server.answer = anthropic_messages.error_body(ErrorReport(failure=failure, message="It broke."))
    with pytest.raises(anthropic_error, match="It broke"):
        anthropic_client.messages.create(**ANTHROPIC_ASKS)


def heard_before(error: type[Exception], stream: Iterable[Any]) -> list[Any]:
    heard: list[Any] = []
    with pytest.raises(error, match="It broke"):
        heard.extend(stream)
    return heard


def test_an_error_in_a_stream_is_read_by_openai(server: Server, openai_client: openai.OpenAI):
    speaking = openai_encoder()
    broke = speaking.error(ErrorReport(failure="upstream_interrupted", message="It broke."))
    server.answer = speaking.start() + speaking.feed([TextDelta(text="partial")]) + broke
    with openai_client.chat.completions.create(**OPENAI_ASKS, stream=True) as stream:
        heard = heard_before(openai.APIError, stream)
    assert [chunk.choices[0].delta.content for chunk in heard] == ["", "partial"]


def test_an_error_in_a_stream_is_read_by_anthropic(server: Server, anthropic_client: anthropic.Anthropic):
    speaking = anthropic_encoder()
    broke = speaking.error(ErrorReport(failure="upstream_interrupted", message="It broke."))
    server.answer = speaking.start() + speaking.feed([TextDelta(text="partial")]) + broke
    with anthropic_client.messages.stream(**ANTHROPIC_ASKS) as stream:
        assert heard_before(anthropic.APIError, stream.text_stream) == ["partial"]


# What they send


def test_what_openai_sends_is_read(server: Server, openai_client: openai.OpenAI):
    server.answer = openai_encoder().response(assistant("Hi"), "stop")
    said = openai_client.chat.completions.create(**OPENAI_ASKS).choices[0].message
    assert server.path == "/v1" + openai_chat.PATHS[0]
    asked = openai_chat.read_request(server.asked)
    assert (asked.messages, asked.tools) == ((system("Be brief."), user("Hi")), (NOW,))
    assert (asked.choice, asked.parallel, asked.max_tokens) == (ToolChoice(mode="required"), False, 50)
    again = {**OPENAI_ASKS, "messages": [*OPENAI_ASKS["messages"], said.to_dict(), {"role": "user", "content": "More"}]}
    openai_client.chat.completions.create(**again)
    assert openai_chat.read_request(server.asked).messages[2:] == (assistant("Hi"), user("More"))


def test_what_anthropic_sends_is_read(server: Server, anthropic_client: anthropic.Anthropic):
    said, _ = spoken("anthropic")
    server.answer = anthropic_encoder().response(said, "tool_calls")
    answer = anthropic_client.messages.create(**ANTHROPIC_ASKS)
    assert server.path == "/v1" + anthropic_messages.PATHS[0]
    asked = anthropic_messages.read_request(server.asked)
    assert (asked.messages, asked.tools) == ((system("Be brief."), user("Hi")), (NOW,))
    assert (asked.choice, asked.parallel, asked.max_tokens) == (ToolChoice(mode="required"), False, 50)
    png = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}}
    results: list[Any] = [
        {"type": "tool_result", "tool_use_id": "call_2", "content": "12", "is_error": True},
        {"type": "tool_result", "tool_use_id": "call_1", "content": [png]},
    ]
    history: list[Any] = [*ANTHROPIC_ASKS["messages"], answer.to_param(), {"role": "user", "content": results}]
    anthropic_client.messages.create(**{**ANTHROPIC_ASKS, "messages": history})
    first, second = (
        Result(call_id="call_1", content=(PNG,)),
        Result(call_id="call_2", content=(Text(text="12"),), is_error=True),
    )
    assert anthropic_messages.read_request(server.asked).messages[2:] == (
        said,
        Message(role="tool", parts=(first, second)),
    )
