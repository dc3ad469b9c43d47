"""OpenAI's responses API: answers that a server of ours streams, and streams of all sorts that a client of ours reads."""

import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.responses import Response, ResponseErrorEvent, ResponseFailedEvent

from tests.growth import assert_linear
from tests.wire.conversations import NOW, PATCH, TOOLS, WEATHER, message, pieces, told_call, understood
from tests.wire.loopback import Server, serving
from tests.wire.reading import assert_told, read_stream
from toolspeak.dialects import NATIVE
from toolspeak.turns import TurnReader
from toolspeak.values.errors import EndpointDown, ProviderError, RateLimited
from toolspeak.values.events import (
    ArgsDelta,
    CallReady,
    CallStarted,
    Event,
    TextDelta,
    ThinkingDelta,
    ToolChoice,
    TurnEnded,
    Usage,
)
from toolspeak.values.messages import Call, Extra, Message, Opaque, Text, Thinking, ToolCall, assistant
from toolspeak.values.pieces import ApiCall
from toolspeak.values.spec import ToolSpec
from toolspeak.wire import openai_responses
from toolspeak.wire.chat_request import ChatRequest, ToolNamespace
from toolspeak.wire.errors import ErrorReport
from toolspeak.wire.framing import SseReader, encode_event
from toolspeak.wire.raw_text import RawInputReader

PATCH_TEXT = '*** Begin Patch\n+say("hi")\t\\n 🙂\n*** End Patch\n'
SEND = ToolSpec(name="mail__send", description="Sends.", parameters={"type": "object", "properties": {}})
REQUEST = ChatRequest(
    model="m",
    messages=(),
    tools=(*TOOLS, PATCH, SEND),
    namespaces=(ToolNamespace(name="mail", description="Mail.", tools=("mail__send",)),),
    choice=ToolChoice(mode="named", names=("apply_patch",)),
    parallel=False,
    max_tokens=9,
    temperature=0.5,
    extra={"metadata": {"a": "b"}, "reasoning": {"effort": "low"}, "text": {"format": {"type": "json_object"}}},
)
CALLS = [
    ToolCall(id="call_1", name="get_weather", arguments={"city": "Köln 🙂", "days": 2}),
    ToolCall(id="call_2", name="apply_patch", arguments={"input": PATCH_TEXT}),
    ToolCall(id="call_3", name="mail__send", arguments={}),
]
USAGE = Usage(input_tokens=40, output_tokens=20, cached_tokens=8, cache_write_tokens=3, reasoning_tokens=5)
SAID = message("assistant", Thinking(text="Hm – so."), "Grüße 🙂", *(Call(call=call) for call in CALLS))


def told(manner: int = 2) -> list[Event]:
    return [
        ThinkingDelta(text="Hm – "), ThinkingDelta(text="so."), TextDelta(text="Grüße "), TextDelta(text="🙂"),
        *(event for call in CALLS for event in told_call(call, manner)),
        TurnEnded(message=SAID, finish="tool_calls", usage=USAGE),
    ]  # fmt: skip


def encoder(request: ChatRequest | None = REQUEST) -> openai_responses.Encoder:
    return openai_responses.Encoder("served", id="resp_1", created=1_700_000_000, request=request)


def stream_of(events: list[Event], request: ChatRequest | None = REQUEST) -> bytes:
    writer = encoder(request)
    return writer.start() + writer.feed(events)


def data_of(stream: bytes) -> list[dict[str, Any]]:
    reader = SseReader()
    return [json.loads(payload) for payload in [*reader.feed(stream), *reader.close()]]


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def client(server: Server) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="key", max_retries=0, timeout=60) as client:
        yield client


def check(response: Response) -> None:
    Response.model_validate(response.to_dict(), strict=True)
    assert (response.id, response.model, response.status, response.created_at) == ("resp_1", "served", "completed", 1_700_000_000)  # fmt: skip
    reasoning, said, weather, patch, send = response.output
    assert (reasoning.type, said.type, weather.type, patch.type, send.type) == (
        "reasoning", "message", "function_call", "custom_tool_call", "function_call",
    )  # fmt: skip
    assert reasoning.content is not None
    assert [part.text for part in reasoning.content] == ["Hm – so."]
    assert (response.output_text, said.status) == ("Grüße 🙂", "completed")
    assert (weather.call_id, weather.name, json.loads(weather.arguments)) == ("call_1", "get_weather", CALLS[0].arguments)  # fmt: skip
    assert (patch.call_id, patch.name, patch.input) == ("call_2", "apply_patch", PATCH_TEXT)
    assert (send.call_id, send.namespace, send.name, send.arguments) == ("call_3", "mail", "send", "{}")
    assert len({item.id for item in response.output}) == 5
    usage = response.usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (40, 20, 60)
    assert (usage.input_tokens_details.cached_tokens, usage.output_tokens_details.reasoning_tokens) == (8, 5)


def check_repeated_options(response: Response) -> None:
    assert (response.metadata, response.max_output_tokens, response.temperature) == ({"a": "b"}, 9, 0.5)
    assert (response.parallel_tool_calls, response.store) == (False, False)
    assert [tool.type for tool in response.tools] == ["function", "function", "custom", "namespace"]
    assert response.to_dict()["tool_choice"] == {"type": "custom", "name": "apply_patch"}
    assert response.text is not None
    assert response.text.format is not None
    assert response.text.format.type == "json_object"


# What a client of OpenAI reads


def test_a_plain_answer(server: Server, client: openai.OpenAI):
    server.answer = encoder().response(SAID, "tool_calls", USAGE)
    response = client.responses.create(model="m", input="Hi")
    check(response)
    check_repeated_options(response)


@pytest.mark.parametrize("manner", [0, 1, 2, 3])
def test_a_stream(server: Server, client: openai.OpenAI, manner: int):
    server.answer = stream_of(told(manner))
    with client.responses.create(model="m", input="Hi", stream=True) as stream:
        events = list(stream)
    for event in events:
        type(event).model_validate(event.to_dict(), strict=True)
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert [event.type for event in events[:2]] == ["response.created", "response.in_progress"]
    last = events[-1]
    assert last.type == "response.completed"
    check(last.response)
    check_repeated_options(last.response)
    items = {event.output_index: event.item for event in events if event.type == "response.output_item.done"}
    assert [items[index] for index in range(5)] == last.response.output
    with client.responses.stream(model="m", input="Hi") as gathered:
        check(gathered.get_final_response())


def test_every_event_of_an_item_names_it():
    data = data_of(stream_of(told()))
    ids = {each["output_index"]: each["item"]["id"] for each in data if each["type"] == "response.output_item.added"}
    opened: list[int] = []
    for each in data[2:-1]:
        index = each["output_index"]
        if each["type"] == "response.output_item.added":
            opened.append(index)
            continue
        own = each["item"]["id"] if "item" in each else each["item_id"]
        assert own == ids[index]
        assert index in opened
        if each["type"] == "response.output_item.done":
            opened.remove(index)
    assert opened == []
    assert [each["id"] for each in data[-1]["response"]["output"]] == [ids[index] for index in range(5)]


def test_a_custom_tool_is_streamed_as_raw_text():
    data = data_of(stream_of(told(3)))
    deltas = [each["delta"] for each in data if each["type"] == "response.custom_tool_call_input.delta"]
    assert len(deltas) > 10
    assert "".join(deltas) == PATCH_TEXT
    (done,) = (each for each in data if each["type"] == "response.custom_tool_call_input.done")
    assert done["input"] == PATCH_TEXT
    functions = [each["item"]["name"] for each in data if each.get("item", {}).get("type") == "function_call"]
    assert "apply_patch" not in functions


def test_reasoning_is_a_summary_for_those_who_ask_for_one(server: Server, client: openai.OpenAI):
    request = ChatRequest(model="m", messages=(), extra={"reasoning": {"summary": "auto"}})
    said = message("assistant", Thinking(text="Hm."), "Hi")
    events: list[Event] = [ThinkingDelta(text="Hm."), TextDelta(text="Hi"), TurnEnded(message=said, finish="stop")]
    server.answer = stream_of(events, request)
    with client.responses.create(model="m", input="Hi", stream=True) as stream:
        heard = list(stream)
    for event in heard:
        type(event).model_validate(event.to_dict(), strict=True)
    kinds = [event.type for event in heard if "reasoning" in event.type]
    assert [kind.removeprefix("response.reasoning_summary_") for kind in kinds] == ["part.added", "text.delta", "text.done", "part.done"]  # fmt: skip
    whole = encoder(request).response(said, "stop")
    assert whole["output"][0]["summary"] == [{"type": "summary_text", "text": "Hm."}]
    assert heard[-1].to_dict()["response"]["output"] == whole["output"]


@pytest.mark.parametrize(
    ("finish", "status", "reason"),
    [("stop", "completed", None), ("length", "incomplete", "max_output_tokens"), ("refused", "incomplete", "content_filter")],
)  # fmt: skip
def test_how_it_ended(server: Server, client: openai.OpenAI, finish: Any, status: str, reason: str | None):
    server.answer = encoder().response(assistant("Hi"), finish)
    response = client.responses.create(model="m", input="Hi")
    streamed = data_of(stream_of([TextDelta(text="Hi"), TurnEnded(message=assistant("Hi"), finish=finish)]))
    assert response.status == status
    assert (response.incomplete_details.reason if response.incomplete_details else None) == reason
    assert streamed[-1]["type"] == f"response.{status}"
    assert streamed[-1]["response"] == server.answer | {"usage": streamed[-1]["response"]["usage"]}


def test_a_stream_that_failed(server: Server, client: openai.OpenAI):
    writer = encoder()
    begun: list[Event] = [TextDelta(text="partial"), CallStarted(call_id="a", name="now")]
    server.answer = (
        writer.start() + writer.feed(begun) + writer.error(ErrorReport(failure="upstream_failed", message="It broke."))
    )
    kinds: list[str] = []
    with (
        pytest.raises(openai.APIError, match="It broke"),
        client.responses.create(model="m", input="Hi", stream=True) as stream,
    ):
        kinds.extend(event.type for event in stream)
    assert kinds[-1] == "response.output_item.done"
    told, last = data_of(server.answer)[-2:]  # clients that go on after the error see the failed response as well
    ResponseErrorEvent.model_validate(told, strict=True)
    event = ResponseFailedEvent.model_validate(last, strict=True)
    assert (told["message"], told["code"]) == ("It broke.", "server_error")
    assert event.response.error is not None
    assert (event.response.status, event.response.error.message) == ("failed", "It broke.")
    assert [item.type for item in event.response.output] == ["message", "function_call"]


def test_arguments_that_changed_when_they_were_read_are_told_at_the_end():
    call = ToolCall(id="a", name="apply_patch", arguments={"input": "right"})
    events: list[Event] = [
        CallStarted(call_id="a", name="apply_patch"),
        ArgsDelta(call_id="a", text='{"input": {"x": "wrong"}}'),
        CallReady(call=call),
        TurnEnded(message=message("assistant", Call(call=call)), finish="tool_calls"),
    ]
    data = data_of(stream_of(events))
    assert data[-1]["response"]["output"][0]["input"] == "right"
    assert [each["delta"] for each in data if each["type"].endswith("delta")] == ["right"]


# What a client of ours reads


def decode(*events: dict[str, Any], tools: tuple[ToolSpec, ...] = ()) -> Any:
    decoder = openai_responses.Decoder(tools=tools)
    pieces = decoder.feed_all([json.dumps(event) for event in events])
    answer = decoder.close()
    assert_told(pieces, answer)
    return answer


def item(kind: str, index: int, **data: Any) -> dict[str, Any]:
    return {"type": f"response.output_item.{kind}", "output_index": index, "item": data}


def completed(*output: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"type": "response.completed", "response": {"status": "completed", "output": list(output), **fields}}


FUNCTION = {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "now"}


def test_arguments_may_come_in_any_way():
    whole = {**FUNCTION, "arguments": '{"a":1}'}
    added = item("added", 0, **FUNCTION, arguments="")
    delta = {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": '{"a"'}
    done = {"type": "response.function_call_arguments.done", "output_index": 0, "arguments": '{"a":1}'}
    ended = item("done", 0, **whole)
    ways = [
        (added, delta, done, ended, completed(whole)),
        (added, done, ended, completed(whole)),
        (added, delta, ended, completed(whole)),
        (ended, completed(whole)),
        (added, completed(whole)),
        (completed(whole),),
        (added, delta, done, completed()),
    ]
    for events in ways:
        (part,) = decode(*events).parts
        assert (part.id, part.name, part.arguments) == ("a", "now", '{"a":1}')


def test_the_raw_text_of_a_custom_tool_is_the_argument_that_it_names():
    patch = ToolSpec(
        name="edit", description="", raw="patch",
        parameters={"type": "object", "properties": {"patch": {"type": "string"}}, "required": ["patch"]},
    )  # fmt: skip
    call = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "a", "name": "edit"}
    delta = {"type": "response.custom_tool_call_input.delta", "output_index": 0}
    events = (
        item("added", 0, **call, input=""), {**delta, "delta": '"a"\n'}, {**delta, "delta": "\\b"},
        item("done", 0, **call, input='"a"\n\\b'), completed(),
    )  # fmt: skip
    (part,) = decode(*events, tools=(patch,)).parts
    assert json.loads(part.arguments) == {"patch": '"a"\n\\b'}
    (other,) = decode(*events).parts
    assert json.loads(other.arguments) == {"input": '"a"\n\\b'}


def incomplete(*output: dict[str, Any]) -> dict[str, Any]:
    return {"type": "response.incomplete", "response": {"status": "incomplete", "output": list(output)}}


CUT = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "a", "name": "apply_patch", "input": "rm -rf /tmp/"}
DELTA = {"type": "response.custom_tool_call_input.delta", "output_index": 0, "delta": "rm -rf /tmp/"}


@pytest.mark.parametrize(
    "events",
    [
        (item("added", 0, **CUT), DELTA, item("done", 0, **CUT, status="incomplete"), incomplete()),
        (item("done", 0, **CUT, status="incomplete"), completed()),
        (item("added", 0, **CUT), DELTA, item("done", 0, **CUT), incomplete()),
        (item("done", 0, **CUT), incomplete(CUT)),
        (item("added", 0, **CUT), DELTA, incomplete()),
        (incomplete({**CUT, "status": "incomplete"}),),
        (incomplete(CUT),),
    ],
    ids=[
        "in a stream", "in a complete answer", "no status", "no status in the whole answer", "no end", "whole",
        "whole, no status",
    ],
)  # fmt: skip
def test_a_custom_call_that_was_cut_is_not_completed(events: tuple[dict[str, Any], ...]):
    answer = decode(*events, tools=(PATCH,))
    assert answer.parts[0].arguments == '{"input":"rm -rf /tmp/'
    *_, malformed, ended = TurnReader(NATIVE, [PATCH]).feed([answer])
    assert (malformed.kind, ended.kind) == ("call_malformed", "turn_ended")


def test_a_complete_custom_call_before_a_cut_is_kept():
    whole, cut = {**CUT, "status": "completed"}, {**CUT, "call_id": "b", "status": "incomplete"}
    first, second = decode(item("done", 0, **whole), item("done", 1, **cut), incomplete(whole, cut)).parts
    assert (first.arguments, second.arguments) == ('{"input":"rm -rf /tmp/"}', '{"input":"rm -rf /tmp/')


def test_items_of_the_vendors_tools_are_kept_in_their_places():
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    said = {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]}
    opaque, text = decode(completed(search, said)).parts
    assert opaque == Opaque(vendor="openai-responses", data=search)
    assert text == Text(text="Hi", extra=Extra(vendor="openai-responses", data={"id": "msg_1"}))
    assert decode(item("added", 0, **search)).parts == ()  # it was cut


def test_a_refusal():
    content = [{"type": "refusal", "refusal": "No."}]
    answer = decode(completed({"type": "message", "id": "m", "role": "assistant", "content": content}))
    assert (answer.parts[0].text, answer.finish) == ("No.", "refused")


@pytest.mark.parametrize(
    ("details", "finish"),
    [({"reason": "max_output_tokens"}, "length"), ({"reason": "content_filter"}, "refused"), (None, "length")],
)
def test_an_incomplete_answer(details: Any, finish: str):
    response = {"status": "incomplete", "output": [], "incomplete_details": details}
    assert decode({"type": "response.incomplete", "response": response}).finish == finish


@pytest.mark.parametrize(
    ("event", "error"),
    [
        ({"type": "error", "code": "rate_limit_exceeded", "message": "Slow down."}, RateLimited),
        ({"type": "error", "error": {"code": "invalid_prompt", "message": "Slow down."}}, ProviderError),
        ({"type": "response.failed", "response": {"status": "failed", "error": {"code": "server_error", "message": "Slow down."}}}, EndpointDown),
        ({"error": {"message": "Slow down."}}, EndpointDown),
    ],
)  # fmt: skip
def test_errors_in_a_stream(event: dict[str, Any], error: type[Exception]):
    decoder = openai_responses.Decoder()
    with pytest.raises(error, match="Slow down"):
        decoder.feed(json.dumps(event))
    assert not decoder.ended


def test_bodies_that_are_no_answer():
    for body in ({}, [], {"output": "Hi"}, {"choices": []}):
        with pytest.raises(ProviderError, match="no output"):
            openai_responses.read_response(body)
    with pytest.raises(ProviderError, match="It broke"):
        openai_responses.read_response(
            openai_responses.error_body(ErrorReport(failure="bad_request", message="It broke."))
        )
    failed = {"status": "failed", "output": [], "error": {"code": "server_error", "message": "It broke."}}
    with pytest.raises(EndpointDown, match="It broke"):
        openai_responses.read_response(failed)


@pytest.mark.parametrize(
    ("added", "delta"),
    [
        ({"type": "message", "id": "m"}, "output_text"), (FUNCTION, "function_call_arguments"),
        ({"type": "reasoning", "id": "r"}, "reasoning_text"), (CUT, "custom_tool_call_input"),
    ],
    ids=["message", "function call", "reasoning", "custom call"],
)  # fmt: skip
def test_the_work_of_reading_a_text_is_linear_in_it(added: dict[str, Any], delta: str):
    event = json.dumps({"type": f"response.{delta}.delta", "output_index": 0, "delta": "abcdefghij" * 200})

    def read(deltas: int) -> None:
        decoder = openai_responses.Decoder()
        decoder.feed(json.dumps(item("added", 0, **added)))
        for _ in range(deltas):
            decoder.feed(event)
        decoder.close()

    assert_linear(read, 300)


# The raw text within arguments


def test_the_work_of_reading_a_raw_text_is_linear_in_it():
    def read(deltas: int) -> None:
        reader = RawInputReader()
        reader.feed('{"input":"')
        for _ in range(deltas):
            reader.feed("abcdefghij" * 200)

    assert_linear(read, 300)


def test_arguments_whose_text_does_not_begin_are_not_kept():
    reader = RawInputReader()
    assert [reader.feed(piece) for piece in ('{"', *["long "] * 300, 'key":"text')] == [""] * 302


@given(st.text(), st.integers(1, 7), st.booleans())
def test_a_raw_text_is_read_out_of_its_json_in_any_pieces(text: str, size: int, ascii: bool):
    encoded = json.dumps({"input": text}, ensure_ascii=ascii)
    reader = RawInputReader()
    assert "".join(reader.feed(piece) for piece in pieces(encoded, size)) == text


def test_what_is_no_raw_text_is_left_alone():
    for encoded in ('{"input": {"a": "b"}}', '{"input": 5, "b": "c"}', "[]", "nonsense", '"text"'):
        assert RawInputReader().feed(encoded) == ""


def test_a_long_patch_is_the_same_on_both_ends():
    text = "".join(f'+{number}\t"line" \\{number} – ünd 🙂 {{}} `` ``` \r\n' for number in range(300))
    call = ToolCall(id="a", name="apply_patch", arguments={"input": text})
    said = Message(role="assistant", parts=(Call(call=call),))
    for size in (1, 7, 1000):
        events: list[Event] = [CallStarted(call_id="a", name="apply_patch")]
        events += [ArgsDelta(call_id="a", text=piece) for piece in pieces(json.dumps({"input": text}), size)]
        events += [CallReady(call=call), TurnEnded(message=said, finish="tool_calls")]
        _, decoder = read_stream(openai_responses, [stream_of(events)])
        (part,) = understood(decoder.close().parts)
        assert isinstance(part, Call)
        assert part.call.arguments == {"input": text}


def test_the_tools_that_are_offered():
    functions = openai_responses.tool_definitions([WEATHER, NOW, PATCH], strict=True)
    assert [(tool["type"], tool["name"], tool.get("strict")) for tool in functions] == [
        ("function", "get_weather", True), ("function", "now", True), ("custom", "apply_patch", None),
    ]  # fmt: skip


def test_an_event_that_is_no_object_is_counted():
    decoder = openai_responses.Decoder()
    decoder.feed_all(["[DONE]", "nonsense", "5"])
    assert (decoder.skipped, decoder.ended) == (2, False)
    _, again = read_stream(openai_responses, [encode_event("[DONE]")])
    assert again.skipped == 0


def test_calls_are_numbered_in_the_order_in_which_they_begin():
    one, two = {**FUNCTION, "arguments": "{}"}, {**FUNCTION, "id": "fc_2", "call_id": "b", "arguments": "{}"}
    parts = decode(completed(one, two)).parts
    assert [(part.index, part.id) for part in parts if isinstance(part, ApiCall)] == [(0, "a"), (1, "b")]
