"""Requests as a server reads them: what clients send, and what they get wrong."""

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.cases import each_case
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
from toolspeak.values.origin import Origin
from toolspeak.values.spec import ToolSpec
from toolspeak.wire import anthropic_messages, gemini_content, openai_chat, openai_responses
from toolspeak.wire.chat_request import AnswerFormat, ChatRequest
from toolspeak.wire.fields import FieldError, check_unique_names

HI = [{"role": "user", "content": "Hi"}]
FUNCTION = {
    "type": "function",
    "function": {"name": "f", "description": "F.", "parameters": {"type": "object", "properties": {}}},
}
SECOND = {"type": "function", "function": {"name": "g"}}
F = ToolSpec(
    name="f",
    description="F.",
    parameters={"type": "object", "properties": {}},
    origin=Origin.FOREIGN_DESCRIPTION,
)
G = replace(F, name="g", description="")
CALLED = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
}
TOOL = {"name": "f", "description": "F.", "input_schema": {"type": "object", "properties": {}}}
USED = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]}


def openai(**body: Any) -> ChatRequest:
    return openai_chat.read_request({"model": "m", "messages": HI, **body})


def anthropic(**body: Any) -> ChatRequest:
    return anthropic_messages.read_request({"model": "m", "max_tokens": 9, "messages": HI, **body})


def named(*names: str) -> ToolChoice:
    return ToolChoice(mode="named", names=names)


def test_the_least_request():
    assert openai() == ChatRequest(model="m", messages=(user("Hi"),))
    assert anthropic() == ChatRequest(model="m", messages=(user("Hi"),), max_tokens=9, include_usage=True)


def test_fields_of_openai():
    asked = openai(
        n=1, stream=True, stream_options={"include_usage": True}, max_tokens=3, max_completion_tokens=4, temperature=2,
        top_p=0.5, seed=-1, stop="x", parallel_tool_calls=False, user="u", tool_choice=None, response_format={"type": "text"},
    )  # fmt: skip
    assert asked == ChatRequest(
        model="m", messages=(user("Hi"),), stream=True, include_usage=True, max_tokens=4, temperature=2, top_p=0.5, seed=-1,
        stop=("x",), parallel=False, extra={"user": "u", "response_format": {"type": "text"}},
    )  # fmt: skip


def test_fields_of_anthropic():
    search = {"type": "web_search_20250305", "name": "web_search"}
    asked = anthropic(
        stream=True, temperature=0, top_p=1, stop_sequences=["x", "y"], metadata={"user_id": "u"}, tools=[TOOL, search],
        tool_choice={"type": "auto", "disable_parallel_tool_use": True}, thinking={"type": "enabled", "budget_tokens": 1024},
    )  # fmt: skip
    assert asked == ChatRequest(
        model="m", messages=(user("Hi"),), stream=True, max_tokens=9, temperature=0, top_p=1, stop=("x", "y"), tools=(F,),
        parallel=False, include_usage=True,
        extra={"metadata": {"user_id": "u"}, "thinking": {"type": "enabled", "budget_tokens": 1024}, "tools": [search]},
    )  # fmt: skip


AGE = {"type": "object", "properties": {"age": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("form", "read"),
    [
        ({"type": "text"}, None),
        (None, None),
        ({"type": "json_object"}, AnswerFormat()),
        ({"type": "json_schema", "json_schema": {"name": "a"}}, AnswerFormat()),
        (
            {"type": "json_schema", "json_schema": {"name": "a", "schema": AGE, "strict": True}},
            AnswerFormat(schema=AGE, path="response_format.json_schema.schema"),
        ),
        (
            {"type": "json_schema", "json_schema": {"name": "a", "schema": AGE}},
            AnswerFormat(schema=AGE, path="response_format.json_schema.schema"),
        ),
        (
            {"type": "json_schema", "json_schema": {"name": "a", "schema": AGE, "strict": False}},
            AnswerFormat(schema=AGE, is_strict=False, path="response_format.json_schema.schema"),
        ),
    ],
)
def test_the_form_of_an_answer_of_openai(form: Any, read: AnswerFormat | None):
    assert openai(response_format=form).answer_format == read


def test_the_form_of_an_answer_of_anthropic():
    form = {"type": "json_schema", "schema": AGE}
    config = {"format": form, "effort": "low"}
    assert anthropic(output_config=config).answer_format == AnswerFormat(schema=AGE, path="output_config.format.schema")
    assert anthropic(output_format=form).answer_format == AnswerFormat(schema=AGE, path="output_format.schema")
    assert anthropic(output_config={"effort": "low"}).answer_format is None
    assert anthropic(output_config=config).extra == {"output_config": config}  # for an endpoint that knows the field


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"type": "yaml"}, "response_format.type: 'yaml' is none of text, json_object, json_schema"),
        ({}, "response_format.type: is missing"),
        ("json", "response_format: expected an object"),
        ({"type": "json_schema"}, "response_format.json_schema: is missing"),
        (
            {"type": "json_schema", "json_schema": {"schema": []}},
            "response_format.json_schema.schema: expected an object",
        ),
    ],
)
def test_a_form_of_an_answer_that_is_wrong(form: Any, words: str):
    with pytest.raises(UsageError, match=words):
        openai(response_format=form)


def allowed(mode: str, *names: str) -> dict[str, Any]:
    tools = [{"type": "function", "function": {"name": name}} for name in names]
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": tools}}


@pytest.mark.parametrize(
    ("choice", "tools", "read"),
    [
        ("auto", (F, G), AUTO),
        ("none", (F, G), ToolChoice(mode="none")),
        ("required", (F, G), ToolChoice(mode="required")),
        ({"type": "function", "function": {"name": "g"}}, (F, G), named("g")),
        (allowed("auto", "f"), (F,), AUTO),
        (allowed("required", "f", "g"), (F, G), ToolChoice(mode="required")),
        (allowed("required", "g"), (G,), ToolChoice(mode="required")),
    ],
)
def test_the_choice_of_openai(choice: Any, tools: tuple[ToolSpec, ...], read: ToolChoice):
    asked = openai(tools=[FUNCTION, SECOND], tool_choice=choice)
    assert (asked.tools, asked.choice) == (tools, read)


@pytest.mark.parametrize(
    ("choice", "read", "parallel"),
    [
        ({"type": "auto"}, AUTO, True),
        ({"type": "none"}, ToolChoice(mode="none"), True),
        ({"type": "any", "disable_parallel_tool_use": True}, ToolChoice(mode="required"), False),
        ({"type": "tool", "name": "f", "disable_parallel_tool_use": False}, named("f"), True),
    ],
)
def test_the_choice_of_anthropic(choice: Any, read: ToolChoice, parallel: bool):
    asked = anthropic(tools=[{**TOOL, "type": "custom"}], tool_choice=choice)
    assert (asked.tools, asked.choice, asked.parallel) == ((F,), read, parallel)


def test_messages_of_openai():
    calls = [
        {"id": each, "type": "function", "function": {"name": "f", "arguments": '{"$x":1}' if each == "a" else ""}}
        for each in "ab"
    ]
    messages = [
        {"role": "developer", "content": "D"},
        {"role": "system", "content": [{"type": "text", "text": "S"}]},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Look"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,MQ==", "detail": "low"}},
                {"type": "image_url", "image_url": {"url": "https://example.org/x"}},
                {"type": "input_audio", "input_audio": {"data": "MQ==", "format": "mp3"}},
                {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,MQ=="}},
            ],
        },
        {"role": "assistant", "content": "", "reasoning_content": "R", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "b", "content": [{"type": "text", "text": "2"}]},
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "assistant", "content": [{"type": "text", "text": "A"}], "refusal": "No"},
    ]  # fmt: skip
    detail = Extra(vendor="openai", data={"detail": "low"})
    assert openai(messages=messages).messages == (
        system("D"),
        system("S"),
        Message(
            role="user",
            parts=(
                Text(text="Look"),
                Media(mime="image/png", data=b"1", extra=detail),
                Media(mime="image/*", url="https://example.org/x"),
                Media(mime="audio/mpeg", data=b"1"),
                Media(mime="application/pdf", data=b"1", name="a.pdf"),
            ),
        ),
        Message(
            role="assistant",
            parts=(
                Thinking(text="R", extra=Extra(vendor="openai", data={"field": "reasoning_content"})),
                Call(call=ToolCall(id="a", name="f", arguments={"$x": 1})),
                Call(call=ToolCall(id="b", name="f", arguments={})),
            ),
        ),
        Message(
            role="tool",
            parts=(Result(call_id="a", content=(Text(text="1"),)), Result(call_id="b", content=(Text(text="2"),))),
        ),
        Message(
            role="assistant",
            parts=(Text(text="A"), Text(text="No", extra=Extra(vendor="openai", data={"refusal": True}))),
        ),
    )


def test_messages_of_anthropic():
    redacted = {"type": "redacted_thinking", "data": "x"}
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "MQ=="}}
    two = {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": each, "name": "f", "input": {}} for each in "ab"],
    }
    messages = [
        {"role": "user", "content": [image, {"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "T", "signature": "s"}, redacted, {"type": "text", "text": "A"}]},
        {"role": "user", "content": [{"type": "document", "source": {"type": "url", "url": "https://example.org/x"}}]},
        two,
        {"role": "user", "content": [{"type": "text", "text": "Note"}, {"type": "tool_result", "tool_use_id": "b", "content": [image]}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "is_error": True}]},
        {"role": "assistant", "content": "B"},
    ]  # fmt: skip
    png = Media(mime="image/png", data=b"1")
    asked = anthropic(system=[{"type": "text", "text": "S"}], messages=messages)
    assert asked.messages == (
        system("S"),
        Message(role="user", parts=(png, Text(text="Hi", extra=Extra(vendor="anthropic", data={"cache_control": {"type": "ephemeral"}})))),
        Message(
            role="assistant",
            parts=(
                Thinking(text="T", extra=Extra(vendor="anthropic", data={"signature": "s"})),
                Opaque(vendor="anthropic", data=redacted),
                Text(text="A"),
            ),
        ),
        Message(role="user", parts=(Media(mime="application/pdf", url="https://example.org/x"),)),
        Message(role="assistant", parts=tuple(Call(call=ToolCall(id=each, name="f", arguments={})) for each in "ab")),
        Message(role="tool", parts=(Result(call_id="a", content=(), is_error=True), Result(call_id="b", content=(png,)), Text(text="Note"))),
        assistant("B"),
    )  # fmt: skip
    assert anthropic(system="S").messages[0] == system("S")
    assert anthropic(system="").messages == (user("Hi"),)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ([], "the request: expected an object, found a list"),
        ({}, "model: is missing"),
        ({"model": 5}, "model: expected text, found a whole number"),
        ({"messages": None}, "messages: is missing"),
        ({"messages": []}, "messages: is empty"),
        ({"messages": {}}, "messages: expected a list, found an object"),
        ({"messages": ["Hi"]}, "messages[0]: expected an object, found text"),
        ({"messages": [{}]}, "messages[0].role: is missing"),
        ({"messages": [{"role": "bot"}]}, "messages[0].role: 'bot' is none of system, developer, user, assistant, tool"),
        ({"messages": [{"role": "user"}]}, "messages[0].content: is missing"),
        ({"messages": [{"role": "user", "content": 5}]}, "messages[0].content: expected a list, found a whole number"),
        ({"messages": [{"role": "user", "content": [{"type": "video"}]}]}, "messages[0].content[0].type: 'video' is not allowed here"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages[0].content[0].image_url: is missing"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,?"}}]}]},
            "messages[0].content[0].image_url.url: not a valid data URL",
        ),
        ({"messages": [{"role": "user", "content": [{"type": "input_audio", "input_audio": {"format": "ogg"}}]}]}, "messages[0].content[0].input_audio.format: 'ogg'"),
        ({"messages": [{"role": "tool", "tool_call_id": "a", "content": "1"}]}, "messages[0].tool_call_id: the message before has no call 'a'"),
        ({"messages": [*HI, CALLED, *[{"role": "tool", "tool_call_id": "a", "content": "1"}] * 2]}, "messages[3].tool_call_id: 'a' has a result already"),
        ({"messages": [{"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{"}}]}]}, "messages[0].tool_calls[0].function.arguments: not JSON"),
        ({"messages": [{"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "[]"}}]}]}, "messages[0].tool_calls[0].function.arguments: expected an object"),
        ({"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}]}, "messages[0].tool_calls[0].id: is missing"),
        ({"messages": [{"role": "assistant", "tool_calls": [{"id": "a", "type": "other"}]}]}, "messages[0].tool_calls[0].type: only function calls"),
        ({"messages": [{"role": "assistant", "tool_calls": [{"id": "a", "type": "custom"}]}]}, "messages[0].tool_calls[0].custom: is missing"),
        ({"n": 5}, "n: at most 4 answers can be requested"),
        ({"n": 0}, "n: must be at least 1"),
        ({"functions": []}, "functions: is not supported; use tools"),
        ({"stream": "yes"}, "stream: expected true or false, found text"),
        ({"stream": 1}, "stream: expected true or false, found a whole number"),
        ({"max_tokens": 0}, "max_tokens: must be at least 1, not 0"),
        ({"max_tokens": 1.5}, "max_tokens: expected a whole number, found a number"),
        ({"max_tokens": True}, "max_tokens: expected a whole number, found true or false"),
        ({"temperature": 3}, "temperature: must be from 0 to 2, not 3"),
        ({"top_p": "1"}, "top_p: expected a number, found text"),
        ({"stop": [1]}, "stop[0]: expected text, found a whole number"),
        ({"tools": [{"type": 5}]}, "tools[0].type: expected text, found a whole number"),
        ({"tools": [{"type": "function"}]}, "tools[0].function: is missing"),
        ({"tools": [{"type": "function", "function": {"name": ""}}]}, "tools[0].function.name: is empty"),
        ({"tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "array"}}}]}, "tools[0].function.parameters.type: must be object"),
        ({"tools": [FUNCTION, FUNCTION]}, "tools: the name 'f' is given twice"),
        ({"tool_choice": "required"}, "tool_choice: a call is required, but there are no tools"),
        ({"tool_choice": "sometimes"}, "tool_choice: 'sometimes' is none of auto, none, required"),
        ({"tool_choice": {"type": "function", "function": {"name": "x"}}}, "tool_choice.function.name: there is no tool 'x' in tools"),
        ({"tool_choice": allowed("required", "x")}, "tool_choice.allowed_tools.tools: there is no tool 'x' in tools"),
        ({"tools": [FUNCTION], "tool_choice": allowed("never", "f")}, "tool_choice.allowed_tools.mode: 'never'"),
        ({"tool_choice": {"type": "other"}}, "tool_choice.type: 'other' is not supported"),
        ({"tool_choice": {"type": "custom"}}, "tool_choice.custom: is missing"),
        ({"tool_choice": {"type": "custom", "custom": {"name": "x"}}}, "tool_choice.custom.name: there is no tool 'x' in tools"),
    ],
)  # fmt: skip
def test_what_openai_clients_get_wrong(body: Any, said: str):
    if isinstance(body, dict) and body:
        body = {"model": "m", "messages": HI, **body}
    with pytest.raises(UsageError) as raised:
        openai_chat.read_request(body)
    assert str(raised.value).startswith(said)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("text", "the request: expected an object, found text"),
        ({}, "model: is missing"),
        ({"max_tokens": None}, "max_tokens: is missing"),
        ({"max_tokens": -1}, "max_tokens: must be at least 1, not -1"),
        ({"temperature": 1.5}, "temperature: must be from 0 to 1, not 1.5"),
        ({"system": 5}, "system: expected a list, found a whole number"),
        ({"system": [{"type": "image"}]}, "system[0].type: 'image' is not allowed here; only text is"),
        ({"messages": []}, "messages: is empty"),
        ({"messages": [{"role": "tool", "content": ""}]}, "messages[0].role: 'tool' is none of user, assistant, system"),
        ({"messages": [{"role": "user", "content": [{}]}]}, "messages[0].content[0].type: is missing"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages[0].content[0].text: is missing"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "base64", "data": "?", "media_type": "image/png"}}]}]},
            "messages[0].content[0].source.data: not base64",
        ),
        ({"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]}]}, "messages[0].content[0].tool_use_id: the message before has no call 'a'"),
        ({"messages": [USED, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}] * 2}]}, "messages[1].content: a call has two results"),
        ({"messages": [USED, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": [{}]}]}]}, "messages[1].content[0].content[0].type: is missing"),
        ({"thread": {"type": "create"}}, "thread: no conversation is kept here"),
        ({"messages": [{"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": "{}"}]}]}, "messages[0].content[0].input: expected an object"),
        ({"tools": [{"name": "f"}]}, "tools[0].input_schema: is missing"),
        ({"tools": [TOOL, TOOL]}, "tools: the name 'f' is given twice"),
        ({"tool_choice": "auto"}, "tool_choice: expected an object, found text"),
        ({"tool_choice": {"type": "all"}}, "tool_choice.type: 'all' is none of auto, any, tool, none"),
        ({"tool_choice": {"type": "tool", "name": "x"}}, "tool_choice.name: there is no tool 'x' in tools"),
        ({"tool_choice": {"type": "auto", "disable_parallel_tool_use": "no"}}, "tool_choice.disable_parallel_tool_use: expected true or false"),
    ],
)  # fmt: skip
def test_what_anthropic_clients_get_wrong(body: Any, said: str):
    if isinstance(body, dict) and body:
        body = {"model": "m", "max_tokens": 9, "messages": HI, **body}
    with pytest.raises(UsageError) as raised:
        anthropic_messages.read_request(body)
    assert str(raised.value).startswith(said)


def test_whole_numbers_may_be_written_with_a_point():
    assert anthropic(max_tokens=100.0).max_tokens == 100
    assert openai(max_tokens=100.0, seed=3.0, n=1.0) == openai(max_tokens=100, seed=3)


def test_tools_of_a_vendor_are_kept_apart():
    hosted = {"type": "web_search", "name": "web_search"}
    assert openai(tools=[FUNCTION, hosted]).extra == {"tools": [hosted]}
    assert openai(tools=[FUNCTION, hosted]).tools == (F,)
    shell = {"type": "bash_20250124", "name": "bash"}
    chosen = anthropic(tools=[shell], tool_choice={"type": "tool", "name": "bash"})
    assert (chosen.choice, chosen.extra) == (named("bash"), {"tools": [shell]})


REFERENCE = {"type": "tool_reference", "tool_name": "g"}
FOUND = {
    "type": "search_result",
    "title": "Oslo",
    "source": "https://example.org/oslo",
    "content": [{"type": "text", "text": "A city."}, {"type": "text", "text": "In Norway."}],
}
ODD = {"type": "odd", "number": 5}


@pytest.mark.parametrize(
    ("block", "shown"),
    [
        (REFERENCE, "The tool g can be called."),
        (FOUND, "Oslo (https://example.org/oslo)\nA city.\nIn Norway."),
        (ODD, '{"type":"odd","number":5}'),
    ],
)
def test_blocks_that_only_anthropic_has_are_shown_as_text_in_results(block: dict[str, Any], shown: str):
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": [block]}]}
    request = anthropic(messages=[USED, result])
    part = request.messages[1].parts[0]
    assert isinstance(part, Result)
    assert [each.text for each in part.content if isinstance(each, Text)] == [shown]
    sent = anthropic_messages.request_body(request)["messages"][1]["content"][0]["content"]
    assert sent == [block]  # to servers of the vendor it goes as it came
    said = openai_chat.request_body(request)["messages"][1]
    assert (said["role"], said["content"]) == ("tool", shown)


def test_a_search_result_of_the_user_is_shown_as_text():
    request = anthropic(messages=[{"role": "user", "content": [FOUND, {"type": "text", "text": "Where?"}]}])
    assert "In Norway." in request.messages[0].text
    assert anthropic_messages.request_body(request)["messages"][0]["content"][0] == FOUND


def test_tools_may_come_and_go_in_messages_of_the_system():
    added = {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "f"}}
    inline = {
        "type": "tool_addition",
        "tool": {"type": "tool_definition", "definition": {"name": "h", "input_schema": {}}},
    }
    removed = {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "f"}}
    system_message = {"role": "system", "content": [added, inline, removed]}
    request = anthropic(messages=[*HI, system_message], tools=[TOOL])
    assert [tool.name for tool in request.tools] == ["f", "h"]
    assert [part.text for part in request.messages[1].parts if isinstance(part, Text)] == [
        "From here on the tool f can be called.",
        "From here on the tool h can be called.",
        "From here on the tool f cannot be called.",
    ]
    many = [{"type": "tool_addition", "tool": {"definition": {"name": f"t{number}"}}} for number in range(1000)]
    with pytest.raises(UsageError, match="has 1,001 tools; at most 1,000"):
        anthropic(messages=[*HI, {"role": "system", "content": many}], tools=[TOOL])


def test_what_is_asked_is_read_from_plain_json_without_tags():
    arguments = {"$call": "x", "$concat": ["a"]}
    said = {
        "role": "assistant",
        "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": json.dumps(arguments)}}],
    }
    assert openai(messages=[said]).messages[0].calls[0].arguments == arguments


# Limits


class CountedName(str):
    """A name that counts how often it is compared."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        CountedName.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_names_are_compared_a_few_times_each():
    names = [CountedName(f"t{number}") for number in range(2000)]
    CountedName.compared = 0
    check_unique_names([ToolSpec(name=name, description="", parameters={}) for name in names])
    assert CountedName.compared < 2 * len(names)


LIMITED = {
    "tools": ([{"name": f"t{number}", "input_schema": {}} for number in range(1001)], "has 1,001 tools; at most 1,000"),
    "values": (
        [{"name": "t", "input_schema": {"properties": {"x": {"enum": list(range(50_000))}}}}],
        "hold more than 50,000 values",
    ),
}


@pytest.mark.parametrize("name", LIMITED)
def test_tools_are_limited(name: str):
    tools, problem = LIMITED[name]
    wrapped = [{"type": "function", "function": {"name": t["name"], "parameters": t["input_schema"]}} for t in tools]
    body = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "Hi"}]}
    for read, given in ((anthropic_messages.read_request, tools), (openai_chat.read_request, wrapped)):
        with pytest.raises(UsageError, match=problem):
            read({**body, "tools": given})


def test_stop_texts_are_limited():
    body = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "Hi"}]}
    for read, field in ((anthropic_messages.read_request, "stop_sequences"), (openai_chat.read_request, "stop")):
        assert len(read({**body, field: ["a"] * 256}).stop) == 256
        with pytest.raises(UsageError, match=f"{field}: has 257 texts; at most 256 are allowed"):
            read({**body, field: ["a"] * 257})


def in_messages(part: Any) -> Any:
    return [{"role": "user", "content": [part]}]


def ask_anthropic(part: Any) -> ChatRequest:
    return anthropic(messages=in_messages(part))


def ask_gemini(part: Any) -> ChatRequest:
    return gemini_content.read_request({"contents": [{"parts": [part]}]}, "/v1beta/models/m:generateContent")


def ask_responses(item: Any) -> ChatRequest:
    items = item if isinstance(item, list) else in_messages(item)
    return openai_responses.read_request({"model": "m", "input": items})


def answer_of_tool(part: Any) -> list[Any]:
    call = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
    return [call, {"type": "function_call_output", "call_id": "a", "output": [part]}]


ADDRESSES: dict[str, tuple[Any, Any, str]] = {
    "image of openai": (
        lambda url: openai(messages=in_messages({"type": "image_url", "image_url": {"url": url}})),
        "messages[0].content[0].image_url.url",
        "https://example.org/a.png",
    ),
    "file of openai": (
        lambda url: openai(messages=in_messages({"type": "file", "file": {"file_data": url}})),
        "messages[0].content[0].file.file_data",
        "data:text/plain,hi",
    ),
    "beside a file of openai": (
        lambda url: openai(
            messages=in_messages({"type": "file", "file": {"file_data": "data:,x", "more": [{"file_url": url}]}})
        ),
        "messages[0].content[0].file.more.file_url",
        "http://example.org/a",
    ),
    "image of responses": (
        lambda url: ask_responses({"type": "input_image", "image_url": url}),
        "input[0].content[0].image_url",
        "HTTPS://example.org/a.png",
    ),
    "file of responses": (
        lambda url: ask_responses({"type": "input_file", "file_url": url}),
        "input[0].content[0].file_url",
        "https://example.org/a.pdf",
    ),
    "image in a result of responses": (
        lambda url: ask_responses(answer_of_tool({"type": "input_image", "image_url": url})),
        "input[1].output[0].image_url",
        "https://example.org/a.png",
    ),
    "screen of responses": (
        lambda url: ask_responses(
            [{"type": "computer_call_output", "call_id": "a", "output": {"type": "x", "image_url": url}}]
        ),
        "input[0].output.image_url",
        "data:image/png;base64,AAAA",
    ),
    "image of anthropic": (
        lambda url: ask_anthropic({"type": "image", "source": {"type": "url", "url": url}}),
        "messages[0].content[0].source.url",
        "https://example.org/a.png",
    ),
    "document of anthropic": (
        lambda url: ask_anthropic({"type": "document", "source": {"type": "url", "url": url}}),
        "messages[0].content[0].source.url",
        "https://example.org/a.pdf",
    ),
    "what only anthropic has": (
        lambda url: ask_anthropic({"type": "video", "source": {"type": "url", "url": url}}),
        "messages[0].content[0].source.url",
        "https://example.org/a.mp4",
    ),
    "result of anthropic": (
        lambda url: anthropic(
            tools=[TOOL],
            messages=[
                *HI,
                USED,
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "a",
                            "content": [{"type": "image", "source": {"type": "url", "url": url}}],
                        }
                    ],
                },
            ],
        ),
        "messages[2].content[0].content[0].source.url",
        "https://example.org/a.png",
    ),
    "file of gemini": (
        lambda url: ask_gemini({"file_data": {"file_uri": url}}),
        "contents[0].parts[0].fileData.fileUri",
        "https://example.org/a.png",
    ),
    "what only gemini has": (
        lambda url: ask_gemini({"videoData": {"fileUri": url}}),
        "contents[0].parts[0].videoData.fileUri",
        "https://example.org/a.mp4",
    ),
}
WRONG_ADDRESSES = [
    "file:///etc/passwd",
    "FILE:/etc/passwd",
    "/etc/passwd",
    "ftp://h/a",
    " https://h",
    "gopher://h",
    "\\\\h\\a",
]


@each_case("read, path, url", ADDRESSES)
def test_images_and_files_have_addresses_on_the_web_or_hold_their_data(read: Any, path: str, url: str):
    read(url)
    for wrong in WRONG_ADDRESSES:
        with pytest.raises(FieldError) as refused:
            read(wrong)
        assert refused.value.param == path
        assert "does not begin with https://, http:// or data:; send the file itself, as a data URL" in str(
            refused.value
        )


def test_a_schema_that_nests_too_much_is_refused_with_its_field():
    schema: dict[str, Any] = {}
    for _ in range(200):
        schema = {"items": schema}
    with pytest.raises(FieldError) as refused:
        openai(tools=[{"type": "function", "function": {"name": "f", "parameters": schema}}])
    assert refused.value.param == "tools[0].function.parameters"
    assert "is nested more than 128 levels deep" in str(refused.value)
