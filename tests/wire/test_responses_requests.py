"""OpenAI's responses API: requests that a client of ours sends, and those that a server of ours reads."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wire.conversations import (
    NOTES,
    NOW,
    PATCH,
    PDF,
    PHOTO,
    PNG,
    TOOLS,
    WEATHER,
    body_of,
    call,
    conversations,
    everything,
    message,
    result,
)
from tests.wire.sdk_types import validate
from toolspeak import UsageError
from toolspeak.values.events import AUTO, ToolChoice
from toolspeak.values.messages import (
    Call,
    Extra,
    Media,
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
from toolspeak.values.spec import ToolSpec
from toolspeak.wire import openai_responses as wire
from toolspeak.wire.chat_request import AnswerFormat, ChatRequest, Quirks, ToolNamespace
from toolspeak.wire.openai_responses.client import encode_choice
from toolspeak.wire.schemas import SchemaRules

VENDOR = "openai-responses"
SCHEMA = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"], "additionalProperties": False}
CHOICES = [
    AUTO, ToolChoice(mode="none"), ToolChoice(mode="required"), ToolChoice(mode="named", names=("now",)),
    ToolChoice(mode="named", names=("apply_patch",)), ToolChoice(mode="named", names=("now", "apply_patch")),
]  # fmt: skip
GRAMMAR = {"syntax": "lark", "definition": 'start: "a"+'}
CUSTOM = {"type": "custom", "name": "apply_patch", "description": "Changes files.", "format": {"type": "text"}}
FUNCTION = {"type": "function", "name": "now", "description": "The time.", "strict": False, "parameters": NOW.parameters}  # fmt: skip


def extra(**data: Any) -> Extra:
    return Extra(vendor=VENDOR, data=data)


# What we send


@pytest.mark.parametrize("choice", CHOICES, ids=lambda choice: "_".join((choice.mode, *choice.names)))
@pytest.mark.parametrize("stream", [False, True])
def test_requests_fit_the_types(stream: bool, choice: ToolChoice):
    for parallel in (True, False):
        for quirks in (Quirks(), Quirks(developer_role=True, custom_tools=False)):
            body = body_of(
                wire, everything(VENDOR), tools=(*TOOLS, PATCH), choice=choice, parallel=parallel, stream=stream,
                max_tokens=100, json_schema=SCHEMA, rules=SchemaRules(strict=True), quirks=quirks, temperature=0.5,
                top_p=0.9, seed=1, stop=("a",), extra={"user": "u", "reasoning": {"effort": "low"}},
            )  # fmt: skip
            validate(VENDOR, body)


@given(st.data())
@settings(max_examples=60)
def test_any_conversation_fits_the_types(data: st.DataObject):
    validate(VENDOR, body_of(wire, data.draw(conversations(VENDOR)), tools=(*TOOLS, PATCH)))


def test_a_conversation_is_a_list_of_items():
    said = message(
        "assistant",
        Thinking(text="Hm.", extra=extra(id="rs_1", summary=[], encrypted_content="ZW5j")),
        Thinking(text="Theirs.", extra=Extra(vendor="another", data={"id": "x"})),
        Text(text="Look.", extra=extra(id="msg_1", phase="commentary")),
        call("a", "get_weather", extra(id="fc_1"), city="Köln"),
        Call(call=ToolCall(id="b", name="apply_patch", arguments={"input": "+a\n"}), extra=extra(id="ctc_1")),
    )
    results = message("tool", result("a", "12 °C", PNG), result("b", "Done.", "Really."), "Be quick.")
    body = body_of(wire, [system("Be brief."), system("Be kind."), user("Hi"), said, results], tools=(*TOOLS, PATCH))
    assert body["instructions"] == "Be brief."
    image = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw==", "detail": "auto"}
    text = {"type": "output_text", "text": "Look.", "annotations": []}
    assert body["input"] == [
        {"type": "message", "role": "system", "content": "Be kind."},
        {"type": "message", "role": "user", "content": "Hi"},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ZW5j"},
        {"type": "message", "role": "assistant", "status": "completed", "id": "msg_1", "phase": "commentary", "content": [text]},
        {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "get_weather", "arguments": '{"city":"Köln"}'},
        {"type": "custom_tool_call", "id": "ctc_1", "call_id": "b", "name": "apply_patch", "input": "+a\n"},
        {"type": "function_call_output", "call_id": "a", "output": [{"type": "input_text", "text": "12 °C"}, image]},
        {"type": "custom_tool_call_output", "call_id": "b", "output": "Done.\nReally."},
        {"type": "message", "role": "user", "content": "Be quick."},
    ]  # fmt: skip


def test_nothing_is_stored_and_reasoning_comes_encrypted():
    body = body_of(wire, [user("Hi")], extra={"include": ["message.output_text.logprobs"]})
    assert body["store"] is False
    assert body["include"] == ["reasoning.encrypted_content", "message.output_text.logprobs"]
    # Models that do not reason refuse the request for it.
    request = ChatRequest(model="gpt-4o", messages=(user("Hi"),))
    assert "include" not in wire.request_body(request)


def test_a_summary_alone_is_not_sent_back():
    thought = Thinking(text="Hm.", extra=extra(id="rs_1", summary=[{"type": "summary_text", "text": "Hm."}]))
    assert body_of(wire, [user("Hi"), message("assistant", thought, "Hi")])["input"][1:] == [
        {"type": "message", "role": "assistant", "content": "Hi"}
    ]


def test_vendor_tools_stand_beside_ours():
    search = {"type": "web_search"}
    body = body_of(wire, [user("Hi")], tools=[NOW], extra={"tools": [search]})
    assert [tool["type"] for tool in body["tools"]] == ["function", "web_search"]
    validate(VENDOR, body)


def test_a_raw_tool_with_options_is_a_function():
    parameters = {
        "type": "object",
        "properties": {"patch": {"type": "string"}, "check": {"type": "boolean", "default": True}},
        "required": ["patch"],
    }
    spec = ToolSpec(name="edit", description="", parameters=parameters, raw="patch")
    assert wire.tool_definitions([spec])[0]["type"] == "function"


def test_media_that_the_api_does_not_carry_are_described():
    sound = Media(mime="audio/wav", data=b"RIFF")
    written = Media(mime="application/pdf", url="https://example.org/a.pdf")
    parts = body_of(wire, [message("user", PHOTO, PDF, NOTES, sound, written)])["input"][0]["content"]
    assert [part["type"] for part in parts] == ["input_image", "input_file", "input_text", "input_text", "input_file"]
    assert wire.explain_unsupported(sound)
    assert wire.explain_unsupported(PDF) is None
    assert wire.explain_unsupported(written) is None
    assert wire.explain_unsupported(Media(mime="text/csv", url="https://example.org/a.csv"))


def test_a_choice_of_a_custom_tool():
    assert encode_choice(ToolChoice(mode="named", names=("apply_patch",)), [PATCH]) == {"type": "custom", "name": "apply_patch"}  # fmt: skip


# What we read


def read(**body: Any) -> ChatRequest:
    return wire.read_request({"model": "m", "input": "Hi", **body})


def test_the_least_request():
    assert read() == ChatRequest(model="m", messages=(user("Hi"),), include_usage=True, store=True)


def test_options():
    request = read(
        instructions="Be brief.", stream=True, max_output_tokens=9, temperature=0.5, top_p=0.9, store=False,
        parallel_tool_calls=False, include=["reasoning.encrypted_content"], metadata={"a": "b"},
        reasoning={"effort": "low"}, stream_options={"include_obfuscation": False}, background=False,
        previous_response_id=None,
    )  # fmt: skip
    assert request == ChatRequest(
        model="m", messages=(system("Be brief."), user("Hi")), stream=True, max_tokens=9, temperature=0.5, top_p=0.9,
        parallel=False, include_usage=True, extra={"metadata": {"a": "b"}, "reasoning": {"effort": "low"}},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"previous_response_id": "resp_1"}, "previous_response_id: nothing is kept here between requests; send the whole"),
        ({"conversation": {"id": "conv_1"}}, "conversation: no conversations are stored here"),
        ({"background": True}, "background: nothing runs here without a client"),
        ({"prompt": {"id": "p"}}, "prompt: no prompts are stored"),
        ({"input": [{"type": "item_reference", "id": "rs_1"}]}, r"input\[0\].id: nothing is kept .* store: false"),
        ({"input": []}, "input: is empty"),
        ({"input": None}, "input: is missing"),
        ({"input": [{"role": "tool", "content": "x"}]}, r"input\[0\].role: 'tool' is none of"),
        ({"input": [{"role": "user", "content": [{"type": "input_video"}]}]}, r"input\[0\].content\[0\].type"),
        ({"input": [{"role": "assistant", "content": [{"type": "input_image"}]}]}, "only text is"),
        ({"input": [{"type": "function_call_output", "call_id": "a", "output": "x"}]}, "no item before has the call 'a'"),
        ({"input": [{"type": "function_call", "call_id": "a", "name": "f", "arguments": "{"}]}, r"input\[0\].arguments: not JSON"),
        ({"input": [{"role": "user", "content": [{"type": "input_file", "file_data": "§"}]}]}, "neither a data URL nor base64"),
        ({"tools": [FUNCTION, FUNCTION]}, "the name 'now' is given twice"),
        ({"tools": [{"type": "custom", "name": ""}]}, r"tools\[0\].name: is empty"),
        ({"tools": [{"type": "namespace", "name": "", "tools": []}]}, r"tools\[0\].name: is empty"),
        ({"tool_choice": "required"}, "there are no tools"),
        ({"tool_choice": "sometimes"}, "none of auto, none, required"),
        ({"tools": [FUNCTION], "tool_choice": {"type": "function", "name": "then"}}, "there is no tool 'then'"),
        ({"tools": [FUNCTION], "tool_choice": {"type": "web_search_preview"}}, "a tool of the vendor"),
        ({"text": {"format": {"type": "xml"}}}, "none of text, json_object, json_schema"),
        ({"max_output_tokens": 0}, "at least 1"),
    ],
)  # fmt: skip
def test_what_is_refused(body: dict[str, Any], problem: str):
    with pytest.raises(UsageError, match=problem):
        read(**body)


def test_items_become_messages():
    items: list[dict[str, Any]] = [
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be kind."}]},
        {"role": "user", "content": "Hi"},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": "e", "content": None},
        {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": "Look.", "annotations": []}]},
        {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "now", "arguments": "{}", "status": "completed"},
        {"type": "custom_tool_call", "call_id": "b", "name": "apply_patch", "input": "+a\n"},
        {"type": "custom_tool_call_output", "call_id": "b", "output": "Done."},
        {"type": "function_call_output", "call_id": "a", "output": [{"type": "input_text", "text": "12"}]},
        {"role": "assistant", "content": "It is 12."},
    ]  # fmt: skip
    summary = [{"type": "summary_text", "text": "Hm."}]
    assert read(input=items).messages == (
        system("Be kind."),
        user("Hi"),
        message(
            "assistant",
            Thinking(text="Hm.", extra=extra(id="rs_1", summary=summary, encrypted_content="e")),
            Text(text="Look.", extra=extra(id="msg_1")),
            call("a", "now", extra(id="fc_1")),
            Call(call=ToolCall(id="b", name="apply_patch", arguments={"input": "+a\n"}), extra=extra(type="custom_tool_call")),
        ),
        message("tool", result("a", "12"), result("b", "Done.")),
        assistant("It is 12."),
    )  # fmt: skip


def test_a_result_that_comes_late_stands_behind_its_call():
    items = [
        {"type": "function_call", "call_id": "a", "name": "now", "arguments": "{}"},
        {"role": "user", "content": "Hurry!"},
        {"type": "function_call_output", "call_id": "a", "output": "12"},
    ]
    assert [each.role for each in read(input=items).messages] == ["assistant", "tool", "user"]


def test_ids_of_calls_may_be_used_again():
    used = [
        {"type": "function_call", "call_id": "a", "name": "now", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "12"},
    ]
    messages = read(input=[*used, *used]).messages
    assert [each.role for each in messages] == ["assistant", "tool", "assistant", "tool"]
    with pytest.raises(UsageError, match="'a' has a result already"):
        read(input=[*used, used[1]])


def test_images_and_files():
    content = [
        {"type": "input_image", "image_url": "https://example.org/photo.jpg", "detail": "high"},
        {"type": "input_image", "image_url": "data:image/png;base64,iVBORw==", "detail": "auto"},
        {"type": "input_image", "file_id": "file_1"},
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjc="},
        {"type": "input_file", "filename": "a.txt", "file_data": "SGk="},
        {"type": "input_file", "file_url": "https://example.org/b.pdf"},
    ]
    (said,) = read(input=[{"role": "user", "content": content}]).messages
    assert said.parts == (
        Media(mime="image/jpeg", url="https://example.org/photo.jpg", extra=extra(detail="high")),
        PNG,
        Opaque(vendor=VENDOR, data=content[2]),
        Media(mime="application/pdf", data=b"%PDF-1.7", name="a.pdf"),
        Media(mime="text/plain", data=b"Hi", name="a.txt"),
        Media(mime="application/pdf", url="https://example.org/b.pdf"),
    )


def test_items_of_the_vendors_tools_are_kept():
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    (said,) = read(input=[search]).messages
    assert said == message("assistant", Opaque(vendor=VENDOR, data=search))


def test_tools_of_all_sorts():
    search = {"type": "web_search"}
    grammar = {**CUSTOM, "name": "calc", "format": {"type": "grammar", **GRAMMAR}}
    members = [{"type": "function", "name": "send", "description": "Sends.", "parameters": WEATHER.parameters}, CUSTOM]
    mail = {"type": "namespace", "name": "mail", "description": "Mail.", "tools": members}
    request = read(tools=[FUNCTION, CUSTOM, search, grammar, mail])
    now, patch, calc, send, inner = request.tools
    assert (now, patch) == (NOW, PATCH)
    assert (calc.raw, calc.parameters["properties"]["input"]["x-grammar"]) == ("input", GRAMMAR)
    assert calc.description == 'Changes files.\n\nThe text must match this lark grammar:\n\nstart: "a"+'
    assert (send.name, send.parameters, inner.name, inner.raw) == (
        "mail__send",
        WEATHER.parameters,
        "mail__apply_patch",
        "input",
    )
    assert request.namespaces == (
        ToolNamespace(name="mail", description="Mail.", tools=("mail__send", "mail__apply_patch")),
    )
    assert request.extra == {"tools": [search]}
    # And back.
    body = wire.request_body(request)
    assert [tool["type"] for tool in body["tools"]] == ["function", "custom", "custom", "namespace", "web_search"]
    assert body["tools"][2] == grammar
    assert [tool["name"] for tool in body["tools"][3]["tools"]] == ["send", "apply_patch"]
    validate(VENDOR, body)
    assert wire.read_request(body).tools == request.tools


def test_calls_in_a_namespace():
    item = {"type": "function_call", "call_id": "a", "name": "send", "namespace": "mail", "arguments": "{}"}
    (said,) = read(input=[item]).messages
    assert said.calls[0].name == "mail__send"
    assert body_of(wire, [said])["input"] == [item]


@pytest.mark.parametrize(
    ("choice", "expected", "tools"),
    [
        ("auto", AUTO, 3),
        ("none", ToolChoice(mode="none"), 3),
        ("required", ToolChoice(mode="required"), 3),
        ({"type": "function", "name": "now"}, ToolChoice(mode="named", names=("now",)), 3),
        ({"type": "custom", "name": "apply_patch"}, ToolChoice(mode="named", names=("apply_patch",)), 3),
        ({"type": "function", "name": "send", "namespace": "mail"}, ToolChoice(mode="named", names=("mail__send",)), 3),
        ({"type": "function", "name": "send"}, ToolChoice(mode="named", names=("mail__send",)), 3),
        ({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "custom", "name": "apply_patch"}]}, AUTO, 1),
        ({"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "now"}, {"type": "mcp", "server_label": "x"}]}, ToolChoice(mode="required"), 1),
    ],
)  # fmt: skip
def test_choices(choice: Any, expected: ToolChoice, tools: int):
    mail = {"type": "namespace", "name": "mail", "description": "", "tools": [{"type": "function", "name": "send"}]}
    request = read(tools=[FUNCTION, CUSTOM, mail], tool_choice=choice)
    assert (request.choice, len(request.tools)) == (expected, tools)


def test_the_form_of_the_answer_stays_in_the_field_of_the_api():
    text = {"format": {"type": "json_schema", "name": "a", "schema": SCHEMA, "strict": True}, "verbosity": "low"}
    request = read(text=text)
    assert request.extra == {"text": text}
    assert request.answer_format == AnswerFormat(schema=SCHEMA, is_strict=True, path="text.format.schema")
    assert wire.request_body(request)["text"] == text
    assert read(text={"format": {"type": "text"}, "verbosity": "low"}).answer_format is None


def test_no_result_without_its_content():
    items = [
        {"type": "function_call", "call_id": "a", "name": "now", "arguments": ""},
        {"type": "function_call_output", "call_id": "a", "output": ""},
    ]
    said, results = read(input=items).messages
    assert said.calls[0].arguments == {}
    assert results == Message(role="tool", parts=(Result(call_id="a", content=(Text(text=""),)),))
