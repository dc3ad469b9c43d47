"""A request that is put together from parts is the same, byte for byte, as one that is written at once."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import RUNS_ALL
from tests.wire.conversations import NOTES, NOW, PNG, TOOLS, WEATHER, answers, call, conversations, everything, result
from toolspeak.dialects import Constraint, Shown
from toolspeak.models.endpoint import Endpoint
from toolspeak.models.model import Request, Sampling, SentMessages
from toolspeak.models.request_encoder import RequestEncoder
from toolspeak.values.events import ToolChoice
from toolspeak.values.messages import Call, Message, Opaque, Part, Ref, Text, Thinking, ToolCall, system, user
from toolspeak.wire.api import CLIENT_WIRES, ApiName
from toolspeak.wire.chat_request import NO_QUIRKS, ChatRequest, Quirks
from toolspeak.wire.openai_chat.client import encode_message, write_message
from toolspeak.wire.schemas import SchemaRules

APIS: tuple[ApiName, ...] = ("openai", "anthropic", "openai-responses", "gemini", "ollama")


def endpoint_of(api: ApiName, **fields: Any) -> Endpoint:
    return Endpoint(name="home", base_url="http://127.0.0.1/v1", api=api, **fields)


def write_at_once(endpoint: Endpoint, request: Request) -> bytes:
    """Write the whole body with one call of `json.dumps`."""
    wire = CLIENT_WIRES[endpoint.api]
    shown, sampling, constraint = request.shown, request.sampling, request.shown.constraint
    chat_request = ChatRequest(
        model="m",
        messages=shown.messages,
        tools=shown.tools,
        choice=shown.choice,
        parallel=shown.parallel,
        stream=request.stream,
        include_usage=True,
        max_tokens=sampling.max_tokens,
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        seed=sampling.seed,
        stop=sampling.stop,
        json_schema=constraint.json_schema if constraint else None,
        grammar=constraint.grammar if constraint else None,
        extra={**endpoint.extra, **(sampling.extra or {})} or None,
    )
    vendor = endpoint.vendor or wire.VENDOR
    body = wire.request_body(chat_request, quirks=endpoint.quirks, rules=endpoint.rules, vendor=vendor)
    return json.dumps(body).encode()


QUIRKS = st.sampled_from([NO_QUIRKS, Quirks(developer_role=True), Quirks(echo_reasoning=False), Quirks(tools=False)])
RULES = st.builds(SchemaRules, strict=st.booleans())
SHOWN: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "tools": st.sampled_from([(), TOOLS, (NOW,), (WEATHER,)]),
        "choice": st.sampled_from(
            [ToolChoice(), ToolChoice(mode="required"), ToolChoice(mode="named", names=("now",))]
        ),
        "parallel": st.booleans(),
        "constraint": st.sampled_from([None, Constraint(json_schema={"type": "object"}), Constraint(grammar="root")]),
    }
)
EXTRA: st.SearchStrategy[dict[str, Any] | None] = st.sampled_from(
    [
        None,
        {"top_k": 3},
        {"tools": [{"type": "web_search"}]},
        {"messages": []},
        {"model": {"messages": []}},
        {"metadata": {"messages": []}},
    ]
)
SAMPLING = st.builds(
    Sampling,
    max_tokens=st.sampled_from([None, 9]),
    temperature=st.sampled_from([None, 0, 0.0, 1, True]),
    stop=st.sampled_from([(), ("\n",)]),
    extra=EXTRA,
)


@settings(max_examples=60 if RUNS_ALL else 12)
@given(st.data(), st.sampled_from(APIS))
def test_the_requests_of_a_run_are_the_same_as_if_each_were_written_at_once(data: st.DataObject, api: ApiName):
    vendor = CLIENT_WIRES[api].VENDOR
    endpoint = endpoint_of(api, quirks=data.draw(QUIRKS), rules=data.draw(RULES), extra=data.draw(EXTRA) or {})
    encoders = [RequestEncoder(endpoint, "m"), RequestEncoder(endpoint_of(api, quirks=Quirks(seed=False)), "m")]
    endpoints = [endpoint, endpoint_of(api, quirks=Quirks(seed=False))]
    messages = [
        *data.draw(conversations(vendor)),
        *(data.draw(conversations(vendor)) if data.draw(st.booleans()) else ()),
    ]
    shown, sampling = data.draw(SHOWN), data.draw(SAMPLING)
    sent = SentMessages()
    for length in data.draw(st.lists(st.integers(1, len(messages)), max_size=5).map(sorted)):
        if data.draw(st.booleans()):
            shown, sampling = data.draw(SHOWN), data.draw(SAMPLING)
        if data.draw(st.booleans()):  # as a compaction or a hand-over does
            messages[0] = system("Be brief.")
        place = data.draw(st.sampled_from([0, 0, 0, 1]))  # now and then another model is asked
        stream = data.draw(st.booleans())
        request = Request(
            shown=Shown(messages=tuple(messages[:length]), **shown), stream=stream, sampling=sampling, sent=sent
        )
        path, body, is_broken = encoders[place].encode(request)
        assert body == write_at_once(endpoints[place], request)
        assert encoders[place].encode(replace(request, sent=None)) == (path, body, is_broken)
        assert not is_broken


@pytest.mark.parametrize("api", APIS)
def test_a_conversation_with_everything_is_the_same(api: ApiName):
    endpoint = endpoint_of(api)
    encoder, sent = RequestEncoder(endpoint, "m"), SentMessages()
    messages = everything(CLIENT_WIRES[api].VENDOR)
    for length in range(len(messages) + 1):
        request = Request(shown=Shown(messages=messages[:length], tools=TOOLS), sent=sent)
        assert encoder.encode(request).body == write_at_once(endpoint, request)


# One message


def texts_of(message: Message, quirks: Quirks = NO_QUIRKS) -> tuple[str, str]:
    return encode_message(message, quirks, "openai"), json.dumps(write_message(message, quirks, "openai"))[1:-1]


@given(answers("openai"), QUIRKS)
def test_an_answer_is_the_same(answer: Message, quirks: Quirks):
    text, expected = texts_of(answer, quirks)
    assert text == expected


REFERENCE = Call(call=ToolCall(id="call_1", name="f", arguments={"of": Ref(call="call_0"), "to": "Köln\n\ud800"}))


@pytest.mark.parametrize(
    "parts",
    [
        (),
        (Text(text=""),),
        (Text(text="a\u2028"), call("c1", city="é"), Text(text='"b"')),
        (Text(text=""), call("c1")),
        (Thinking(text="Hm."), call("c1")),
        (Opaque(vendor="openai", data={"audio": {"id": 1}}), call("c1")),
        (REFERENCE,),
        (result("c1"), result("c2", "a", "b", is_error=True)),
        (result("c1", "a", PNG),),
        (result("c1", "a"), Text(text="a note")),
        (Text(text="\ud83d\ude00\x7f"),),
        (Text(text="a"), Text(text="b")),
        (Text(text="a"), NOTES),
    ],
)
@pytest.mark.parametrize("role", ["system", "user", "assistant", "tool"])
def test_a_message_is_the_same(parts: tuple[Part, ...], role: Any):
    text, expected = texts_of(Message(role=role, parts=parts))
    assert text == expected


# What is kept


def test_a_message_is_written_once_in_a_run():
    written: list[Message] = []

    def write(message: Message) -> str:
        written.append(message)
        return message.text

    first, second, third = user("1"), user("2"), user("3")
    sent = SentMessages()
    assert sent.write((first,), write) == ["1"]
    assert sent.write((first, second, third), write) == ["1", "2", "3"]
    assert written == [first, second, third]
    assert sent.write((user("0"), second), write) == ["0", "2"]
    assert sent.write((user("0"), second), lambda message: f"<{message.text}>") == ["<0>", "<2>"]
    assert sent.write((), write) == []


def test_equal_settings_that_are_written_differently_are_told_apart():
    encoder = RequestEncoder(endpoint_of("openai"), "m")
    shown = Shown(messages=(user("Hi."),))
    bodies = [encoder.encode(Request(shown=shown, sampling=Sampling(temperature=value))).body for value in (1, 1.0)]
    assert [b'"temperature": 1}' in body for body in bodies] == [True, False]


def test_fields_that_a_program_changes_between_two_requests_are_sent_as_they_are():
    extra = {"reasoning": {"effort": "low"}}
    encoder = RequestEncoder(endpoint_of("openai", extra=extra), "m")
    request = Request(shown=Shown(messages=(user("Hi."),)))
    assert b'"effort": "low"' in encoder.encode(request).body
    extra["reasoning"]["effort"] = "high"
    assert b'"effort": "high"' in encoder.encode(request).body
