"""Requests: the settings, the choice, and messages as each API wants them."""

import json
from typing import Any

import pytest

from tests.wire.conversations import NOW, PNG, TOOLS, WEATHER, body_of, call, everything, message, result
from tests.wire.reading import WIRES
from toolspeak.values.events import AUTO, ToolChoice
from toolspeak.values.messages import (
    Concat,
    Extra,
    Media,
    Message,
    Opaque,
    Ref,
    Text,
    Thinking,
    assistant,
    system,
    user,
)
from toolspeak.wire import anthropic_messages, openai_chat
from toolspeak.wire.chat_request import Quirks
from toolspeak.wire.schemas import SchemaRules

NONE, REQUIRED = ToolChoice(mode="none"), ToolChoice(mode="required")
ONE, MANY = ToolChoice(mode="named", names=("now",)), ToolChoice(mode="named", names=("now", "get_weather"))
HI = [user("Hi")]
REASONED = Extra(vendor="openai", data={"field": "reasoning"})
FUNCTION_NOW = {"type": "function", "function": {"name": "now"}}
FUNCTION_WEATHER = {"type": "function", "function": {"name": "get_weather"}}
ALLOWED = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [FUNCTION_NOW, FUNCTION_WEATHER]}}


def openai(messages: Any = HI, **given: Any) -> dict[str, Any]:
    return body_of(openai_chat, messages, **given)


def anthropic(messages: Any = HI, **given: Any) -> dict[str, Any]:
    return body_of(anthropic_messages, messages, **given)


def test_the_least_request():
    assert openai() == {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    assert anthropic() == {"model": "m", "max_tokens": 4096, "messages": [{"role": "user", "content": "Hi"}]}


def test_settings():
    given: dict[str, Any] = {
        "stream": True, "include_usage": True, "max_tokens": 5, "temperature": 0.0, "top_p": 0.5, "seed": 0, "stop": ("a",), "extra": {"top_k": 3},
    }  # fmt: skip
    assert openai(**given) == {
        **openai(), "stream": True, "stream_options": {"include_usage": True}, "max_tokens": 5, "temperature": 0.0, "top_p": 0.5,
        "seed": 0, "stop": ["a"], "top_k": 3,
    }  # fmt: skip
    quirks = Quirks(stream_options=False, max_completion_tokens=True, developer_role=True, seed=False)
    quirky = openai([system("S"), *HI], **given, quirks=quirks)
    assert quirky["messages"][0] == {"role": "developer", "content": "S"}
    assert quirky["max_completion_tokens"] == 5
    assert not quirky.keys() & {"stream_options", "max_tokens", "seed"}
    assert anthropic(**given) == {
        **anthropic(), "stream": True, "max_tokens": 5, "temperature": 0.0, "top_p": 0.5, "stop_sequences": ["a"], "top_k": 3,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("choice", "quirks", "openai_choice", "anthropic_choice"),
    [
        (AUTO, Quirks(), None, None),
        (NONE, Quirks(), "none", {"type": "none"}),
        (REQUIRED, Quirks(), "required", {"type": "any"}),
        (ONE, Quirks(), FUNCTION_NOW, {"type": "tool", "name": "now"}),
        (ONE, Quirks(named_choice=False), "required", {"type": "any"}),
        (MANY, Quirks(), ALLOWED, {"type": "any"}),
        (MANY, Quirks(allowed_tools=False), "required", {"type": "any"}),
        (REQUIRED, Quirks(tool_choice=False), None, None),
    ],
)
def test_the_choice(choice: ToolChoice, quirks: Quirks, openai_choice: Any, anthropic_choice: Any):
    for body, expected in (
        (openai(tools=TOOLS, choice=choice, quirks=quirks), openai_choice),
        (anthropic(tools=TOOLS, choice=choice, quirks=quirks), anthropic_choice),
    ):
        assert body.get("tool_choice") == expected
        assert len(body["tools"]) == 2
        assert "parallel_tool_calls" not in body
    assert not openai(choice=choice, parallel=False).keys() & {"tools", "tool_choice", "parallel_tool_calls"}
    assert not anthropic(choice=choice, parallel=False).keys() & {"tools", "tool_choice"}


@pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES)
def test_no_tools_where_none_may_be_called_and_the_server_would_not_heed_it(wire: Any):
    for quirks in (Quirks(tool_choice=False), Quirks(tools=False)):
        body = body_of(wire, HI, tools=TOOLS, choice=NONE, quirks=quirks)
        assert not body.keys() & {"tools", "tool_choice"}


def test_one_call_at_a_time():
    assert openai(tools=TOOLS, parallel=False)["parallel_tool_calls"] is False
    assert openai(tools=TOOLS, quirks=Quirks(parallel_always_sent=True))["parallel_tool_calls"] is True
    assert "parallel_tool_calls" not in openai(tools=TOOLS, parallel=False, quirks=Quirks(parallel_tool_calls=False))
    alone = {"disable_parallel_tool_use": True}
    assert anthropic(tools=TOOLS, parallel=False)["tool_choice"] == {"type": "auto", **alone}
    assert anthropic(tools=TOOLS, parallel=False, choice=ONE)["tool_choice"] == {"type": "tool", "name": "now", **alone}
    assert anthropic(tools=TOOLS, parallel=False, choice=NONE)["tool_choice"] == {"type": "none"}
    assert "tool_choice" not in anthropic(tools=TOOLS, parallel=False, quirks=Quirks(parallel_tool_calls=False))


def test_a_model_that_thinks_first_is_not_forced():
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
    body = anthropic(tools=TOOLS, choice=REQUIRED, extra=thinking)
    assert "tool_choice" not in body
    assert body["thinking"] == thinking["thinking"]


@pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES)
def test_tools_of_the_vendor_stand_beside_ours(wire: Any):
    search = {"type": "web_search_20250305", "name": "web_search"}
    body = body_of(wire, HI, tools=[NOW], extra={"tools": [search]})
    assert body["tools"] == [*wire.tool_definitions([NOW]), search]
    assert body_of(wire, HI, extra={"tools": [search]})["tools"] == [search]


def test_an_answer_can_be_held_to_a_form():
    schema = {"type": "object", "properties": {"x": {"type": "integer"}}}
    form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    llama = Quirks(grammar=True)
    assert openai(json_schema={"type": "object"})["response_format"] == {"type": "json_object"}
    assert openai(json_schema=schema)["response_format"] == form
    assert openai(json_schema=schema, grammar="root ::= x", quirks=llama).keys() == openai().keys() | {
        "response_format"
    }
    assert openai(grammar="root ::= x", quirks=llama)["grammar"] == "root ::= x"
    assert openai(grammar="root ::= x", json_schema=schema, quirks=Quirks(response_format=False)) == openai()
    strict = openai(json_schema=schema, rules=SchemaRules(strict=True))["response_format"]["json_schema"]
    assert (strict["strict"], strict["schema"]["required"]) == (True, ["x"])
    assert anthropic(json_schema=schema)["output_config"] == {"format": {"type": "json_schema", "schema": schema}}
    assert anthropic(json_schema=schema, grammar="g", quirks=Quirks(response_format=False)) == anthropic()


# Messages


def test_everything_for_openai():
    png = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}}
    weather = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "get_weather", "arguments": '{"city":"Köln"}'},
    }
    now = {"id": "call_2", "type": "function", "function": {"name": "now", "arguments": "{}"}}
    assert openai(everything("openai"))["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "system", "content": "Be kind."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is this?"},
                png,
                {"type": "image_url", "image_url": {"url": "https://example.org/photo.jpg"}},
                {
                    "type": "file",
                    "file": {"filename": "file.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjc="},
                },
                {"type": "text", "text": "Straße"},
                {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
            ],
        },
        {"role": "assistant", "content": "A picture.", "tool_calls": [weather, now]},
        {"role": "tool", "tool_call_id": "call_1", "content": "12 °C\n[what cannot be shown here follows below]"},
        {"role": "tool", "tool_call_id": "call_2", "content": "It broke."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "From the result of call_1:"},
                png,
                {"type": "text", "text": "Be quick."},
            ],
        },
        {"role": "assistant", "content": "It is 12 °C."},
        {"role": "user", "content": "Thanks."},
        {"role": "user", "content": "And tomorrow?"},
    ]


def test_everything_for_anthropic():
    png = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}}
    body = anthropic(everything("anthropic"))
    assert body["system"] == "Be brief.\n\nBe kind."
    assert body["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is this?"},
                png,
                {"type": "image", "source": {"type": "url", "url": "https://example.org/photo.jpg"}},
                {
                    "type": "document",
                    "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjc="},
                },
                {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Straße"}},
                {"type": "text", "text": "[audio/wav, which cannot be shown here]"},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
                {"type": "text", "text": "A picture."},
                {"type": "tool_use", "id": "call_1", "name": "get_weather", "input": {"city": "Köln"}},
                {"type": "tool_use", "id": "call_2", "name": "now", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "call_1", "content": [{"type": "text", "text": "12 °C"}, png]},
                {"type": "tool_result", "tool_use_id": "call_2", "content": "It broke.", "is_error": True},
                {"type": "text", "text": "Be quick."},
            ],
        },
        {"role": "assistant", "content": "It is 12 °C."},
        {"role": "user", "content": [{"type": "text", "text": "Thanks."}, {"type": "text", "text": "And tomorrow?"}]},
    ]


def test_what_a_vendor_made_goes_back_to_it_alone_and_in_order():
    redacted, searched = {"type": "redacted_thinking", "data": "x"}, {"type": "web_search_tool_result", "content": []}
    cited = Extra(vendor="anthropic", data={"citations": [{"type": "char_location"}]})
    signed = Extra(vendor="anthropic", data={"signature": "s"})
    reasoned = Extra(vendor="openai", data={"field": "reasoning", "reasoning_details": [{"index": 0}]})
    signature = Extra(vendor="openai", data={"extra_content": {"google": {"thought_signature": "t"}}})
    said = message(
        "assistant",
        Opaque(vendor="anthropic", data=redacted),
        Thinking(text="A", extra=signed),
        Thinking(text="O", extra=reasoned),
        Opaque(vendor="openai", data={"audio": {"id": "audio_1"}}),
        Opaque(vendor="anthropic", data=searched),
        Text(text="Hi", extra=cited),
        call("call_1", "now", signature),
    )
    by_anthropic = anthropic([*HI, said, message("tool", result("call_1", "12"))])["messages"][1]["content"]
    assert by_anthropic == [
        redacted,
        {"type": "thinking", "thinking": "A", "signature": "s"},
        searched,
        {"type": "text", "text": "Hi", "citations": [{"type": "char_location"}]},
        {"type": "tool_use", "id": "call_1", "name": "now", "input": {}},
    ]
    by_openai = openai([*HI, said])["messages"][1]
    spoken = {"id": "call_1", "type": "function", "function": {"name": "now", "arguments": "{}"}}
    assert by_openai == {
        "role": "assistant",
        "content": "Hi",
        "reasoning": "O",
        "reasoning_details": [{"index": 0}],
        "audio": {"id": "audio_1"},
        "tool_calls": [{**spoken, "extra_content": {"google": {"thought_signature": "t"}}}],
    }
    plain = {"role": "assistant", "content": "Hi", "tool_calls": [spoken]}
    assert openai([*HI, said], vendor="groq")["messages"][1] == plain
    silent = openai([*HI, said], quirks=Quirks(echo_reasoning=False))["messages"][1]
    assert not silent.keys() & {"reasoning", "reasoning_details"}
    assert [block["type"] for block in anthropic([*HI, said], vendor="other")["messages"][1]["content"]] == [
        "text",
        "tool_use",
    ]


def test_a_refusal_goes_back_as_one():
    said = message("assistant", Text(text="No.", extra=Extra(vendor="openai", data={"refusal": True})))
    assert openai([said])["messages"] == [{"role": "assistant", "content": None, "refusal": "No."}]
    assert openai([said], vendor="other")["messages"] == [{"role": "assistant", "content": "No."}]


def test_anthropic_is_never_sent_empty_text():
    messages = [
        system(" "),
        message("user", "", "Hi", " \n"),
        message("assistant", "", Thinking(text="t")),
        message("assistant", " ", call("call_1", "now")),
        message("tool", result("call_1"), ""),
        message("tool"),
        user(""),
        assistant("Yes \n"),
    ]
    assert anthropic(messages) == {
        "model": "m",
        "max_tokens": 4096,
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "call_1", "name": "now", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1"}]},
            {"role": "assistant", "content": "Yes"},
        ],
    }
    assert anthropic([assistant("Yes \n"), *HI])["messages"][0]["content"] == "Yes \n"  # only at the very end


def test_results_come_first_where_user_messages_are_joined():
    messages = [message("assistant", call("call_1", "now")), user("Wait."), message("tool", result("call_1", "12"))]
    assert [block["type"] for block in anthropic(messages)["messages"][1]["content"]] == ["tool_result", "text"]


def test_openai_is_sent_no_message_that_says_nothing():
    messages = [
        *HI,
        message("assistant"),
        message("assistant", Thinking(text="t")),
        message("assistant", ""),
        message("assistant", Thinking(text="t", extra=REASONED)),
        message("tool"),
    ]
    assert openai(messages)["messages"] == [{"role": "user", "content": "Hi"}]


@pytest.mark.parametrize(
    ("ids", "sent"),
    [
        (["call_1", "toolu-2"], ["call_1", "toolu-2"]),
        (["functions.now:0", "functions.now:1"], ["functions_now_0", "functions_now_1"]),
        (["a.b", "a:b", "a_b"], ["a_b", "a_b_2", "a_b_3"]),
        (["", "ü"], ["call", "_"]),
        (["x" * 70, "x" * 71], ["x" * 64, "x" * 62 + "_2"]),
    ],
)
def test_ids_that_anthropic_takes(ids: list[str], sent: list[str]):
    messages = [
        message("assistant", *(call(each, "now") for each in ids)),
        message("tool", *(result(each, "1") for each in ids)),
    ]
    said, told = anthropic(messages)["messages"]
    assert [block["id"] for block in said["content"]] == sent
    assert [block["tool_use_id"] for block in told["content"]] == sent


def test_references_are_written_out_and_keys_stay_what_they_are():
    arguments = {
        "a": Ref(call="call_0", path=("x", 1)),
        "b": [Concat(parts=("t", Ref(call="call_0")))],
        "$c": {"$call": "d"},
    }
    said = message("assistant", call("call_1", "now", None, **arguments))
    written = {
        "a": {"$call": "call_0", "path": ["x", 1]},
        "b": [{"$concat": ["t", {"$call": "call_0"}]}],
        "$c": {"$call": "d"},
    }
    assert json.loads(openai([said])["messages"][0]["tool_calls"][0]["function"]["arguments"]) == written
    assert anthropic([said])["messages"][0]["content"][0]["input"] == written


@pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES)
def test_arguments_as_deep_as_json_goes(wire: Any):
    deep = json.loads('{"a":' * 600 + "1" + "}" * 600)
    said = message("assistant", call("call_1", "now", None, **deep))
    assert json.dumps(body_of(wire, [said])).count("{") > 600
    assert json.dumps(wire.Encoder("m", id="x", created=0).response(said, "stop")).count("{") > 600


@pytest.mark.parametrize(
    ("media", "for_openai", "for_anthropic"),
    [
        (
            Media(mime="image/png", data=b"1", extra=Extra(vendor="openai", data={"detail": "low"})),
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,MQ==", "detail": "low"}},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "MQ=="}},
        ),
        (
            Media(
                mime="image/png",
                data=b"1",
                extra=Extra(vendor="anthropic", data={"cache_control": {"type": "ephemeral"}}),
            ),
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,MQ=="}},
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": "MQ=="},
                "cache_control": {"type": "ephemeral"},
            },
        ),
        (
            Media(mime="image/tiff", data=b"1"),
            {"type": "image_url", "image_url": {"url": "data:image/tiff;base64,MQ=="}},
            {"type": "text", "text": "[image/tiff, which cannot be shown here]"},
        ),
        (
            Media(mime="application/pdf", url="https://example.org/a"),
            {"type": "text", "text": "[application/pdf: https://example.org/a]"},
            {"type": "document", "source": {"type": "url", "url": "https://example.org/a"}},
        ),
        (
            Media(mime="audio/mpeg", data=b"1"),
            {"type": "input_audio", "input_audio": {"data": "MQ==", "format": "mp3"}},
            {"type": "text", "text": "[audio/mpeg, which cannot be shown here]"},
        ),
    ],
)
def test_media(media: Media, for_openai: Any, for_anthropic: Any):
    asked = [message("user", media, "?")]
    assert openai(asked)["messages"][0]["content"][0] == for_openai
    assert anthropic(asked)["messages"][0]["content"][0] == for_anthropic


def test_a_result_that_is_only_an_image():
    messages = [message("assistant", call("call_1", "now")), message("tool", result("call_1", PNG))]
    _, told, shown = openai(messages)["messages"]
    assert told["content"] == "[what cannot be shown here follows below]"
    assert [part["type"] for part in shown["content"]] == ["text", "image_url"]


def test_cached_system_text_keeps_its_mark():
    marked = Text(text="Long.", extra=Extra(vendor="anthropic", data={"cache_control": {"type": "ephemeral"}}))
    body = anthropic([message("system", marked, "Short."), *HI])
    assert body["system"] == [
        {"type": "text", "text": "Long.", "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": "Short."},
    ]


@pytest.mark.parametrize("name", WIRES)
def test_what_is_sent_for_a_shorter_history_is_the_beginning_of_a_longer_one(name: str):
    history = everything(name)
    wire = WIRES[name]

    def sent(messages: tuple[Message, ...]) -> list[Any]:
        body = body_of(wire, messages, tools=[WEATHER])
        return body[{"openai-responses": "input", "gemini": "contents"}.get(name, "messages")]

    whole = sent(history)
    for length in range(3, len(history)):  # the first two are system messages
        shorter = sent(history[:length])
        assert shorter[:-1] == whole[: len(shorter) - 1]
