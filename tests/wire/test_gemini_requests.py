"""Requests in Gemini's API: what the client side writes, and what the server side takes from clients of others."""

import json
from functools import partial
from typing import Any

import pytest

from tests.growth import count_steps
from tests.wire.conversations import NOW, PNG, WEATHER, body_of, call, message, result
from toolspeak.values.errors import UsageError
from toolspeak.values.events import ToolChoice
from toolspeak.values.messages import Call, Extra, Media, Message, Result, Text, Thinking, ToolCall, user
from toolspeak.wire import gemini_content
from toolspeak.wire.chat_request import AnswerFormat, ChatRequest
from toolspeak.wire.gemini_content.client import UNSIGNED
from toolspeak.wire.gemini_content.server import convert_schema

HI = (user("Hi"),)
ASKED = {"contents": [{"parts": [{"text": "Hi"}]}]}


def written(*messages: Message, model: str = "m", **fields: Any) -> dict[str, Any]:
    return gemini_content.request_body(ChatRequest(model=model, messages=messages, **fields))


def read(body: dict[str, Any], path: str = "/v1beta/models/m:generateContent") -> ChatRequest:
    return gemini_content.read_request(json.loads(json.dumps(body)), path)


def signed(signature: str, vendor: str = "gemini") -> Extra:
    return Extra(vendor=vendor, data={"thoughtSignature": signature})


@pytest.mark.parametrize(
    ("model", "stream", "path"),
    [
        ("gemini-2.5-pro", False, "/models/gemini-2.5-pro:generateContent"),
        ("gemini-2.5-pro", True, "/models/gemini-2.5-pro:streamGenerateContent?alt=sse"),
        ("models/x", False, "/models/x:generateContent"),
        ("tunedModels/x", False, "/tunedModels/x:generateContent"),
        ("a/b:c", False, "/models/a/b:c:generateContent"),
        ("a?key=b#ü", False, "/models/a%3Fkey%3Db%23%C3%BC:generateContent"),
    ],
)
def test_the_model_is_in_the_path(model: str, stream: bool, path: str):
    request = ChatRequest(model=model, messages=HI, stream=stream)
    assert gemini_content.request_path(request) == path
    again = gemini_content.read_request(gemini_content.request_body(request), f"/v1beta{path}")
    assert (again.model, again.stream) == (model.removeprefix("models/"), stream)


def test_the_key_is_a_header_and_nowhere_else():
    assert gemini_content.request_headers("secret") == {"x-goog-api-key": "secret"}
    assert gemini_content.request_headers(None) == {}


def test_settings_of_the_answer():
    extra = {"thinkingConfig": {"thinkingBudget": 0}, "top_k": 5, "safetySettings": [], "generationConfig": {"new": 1}}
    body = written(*HI, max_tokens=9, temperature=0.5, top_p=0.9, seed=7, stop=("a", ""), extra=extra)
    assert body["safetySettings"] == []
    assert body["generationConfig"] == {
        "maxOutputTokens": 9,
        "temperature": 0.5,
        "topP": 0.9,
        "seed": 7,
        "stopSequences": ["a"],
        "thinkingConfig": {"thinkingBudget": 0},
        "topK": 5,
        "new": 1,
    }
    assert read(body).extra == extra
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    held = {"responseMimeType": "application/json", "responseJsonSchema": schema}
    assert written(*HI, json_schema=schema)["generationConfig"] == held
    assert "generationConfig" not in written(*HI)


def test_tools_and_the_choice_among_them():
    body = written(*HI, tools=(WEATHER, NOW), choice=ToolChoice(mode="named", names=("now", "get_weather")))
    ((name, functions),) = body["tools"][0].items()
    assert (name, [each["name"] for each in functions]) == ("functionDeclarations", ["get_weather", "now"])
    assert functions[0]["parametersJsonSchema"] == WEATHER.parameters
    chosen = {"mode": "ANY", "allowedFunctionNames": ["now", "get_weather"]}
    assert body["toolConfig"] == {"functionCallingConfig": chosen}
    assert "toolConfig" not in written(*HI, tools=(NOW,))
    more = {"toolConfig": {"retrievalConfig": {"languageCode": "de"}}, "tools": [{"googleSearch": {}}]}
    body = written(*HI, tools=(NOW,), choice=ToolChoice(mode="required"), extra=more)
    assert body["toolConfig"] == {"functionCallingConfig": {"mode": "ANY"}, "retrievalConfig": {"languageCode": "de"}}
    assert body["tools"][1] == {"googleSearch": {}}
    assert read(body).extra == more


def test_signatures_go_back_on_their_parts_and_to_their_vendor_only():
    said = message(
        "assistant",
        Thinking(text="Hm.", extra=Extra(vendor="gemini", data={"thought": True})),
        Thinking(text="Theirs.", extra=signed("no", "another")),
        Text(text="Hello", extra=signed("dGV4dA==")),
        call("c1", "now", signed("c2ln")),
        call("c2", "now", signed("no", "another")),
    )
    parts = written(*HI, said)["contents"][1]["parts"]
    assert parts == [
        {"text": "Hm.", "thought": True},
        {"text": "Hello", "thoughtSignature": "dGV4dA=="},
        {"functionCall": {"id": "c1", "name": "now", "args": {}}, "thoughtSignature": "c2ln"},
        {"functionCall": {"id": "c2", "name": "now", "args": {}}},
    ]


@pytest.mark.parametrize(
    ("model", "signatures"),
    [
        ("gemini-3-pro-preview", [UNSIGNED, None]),
        ("gemini-3.5-flash", [UNSIGNED, None]),
        ("gemini-2.5-pro", [None, None]),
        ("some-model", [None, None]),
    ],
)
def test_calls_of_other_models_are_marked_where_a_model_wants_signatures(model: str, signatures: list[str | None]):
    said = message("assistant", call("c1", "now"), call("c2", "now"))
    parts = written(*HI, said, model=model)["contents"][1]["parts"]
    assert [part.get("thoughtSignature") for part in parts] == signatures


def test_results_name_their_tools_and_carry_their_images():
    asked = message("assistant", call("c1", city="Köln"), call("c2", "now"))
    results = message("tool", result("c1", "12 °C", PNG), result("c2", "It broke.", is_error=True), "Be quick.")
    image = {"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}}
    first, second, note = written(*HI, asked, results)["contents"][2]["parts"]
    shown = {"id": "c1", "name": "get_weather", "response": {"output": "12 °C"}}
    assert first == {"functionResponse": {**shown, "parts": [image]}}
    assert second == {"functionResponse": {"id": "c2", "name": "now", "response": {"error": "It broke."}}}
    assert note == {"text": "Be quick."}
    older = written(*HI, asked, results, model="gemini-2.5-flash")["contents"][2]["parts"]
    assert older == [{"functionResponse": shown}, second, image, note]


def test_files():
    photo = Media(mime="image/*", url="https://example.org/x")
    notes = Media(mime="text/plain", data=b"Hi", name="notes.txt")
    parts = body_of(gemini_content, [message("user", photo, notes)])["contents"][0]["parts"]
    assert parts == [
        {"fileData": {"fileUri": "https://example.org/x"}},
        {"text": "File notes.txt:"},
        {"inlineData": {"mimeType": "text/plain", "data": "SGk="}},
    ]
    assert gemini_content.explain_unsupported(photo) is None


# The server side


def test_names_with_underscores_and_lists_of_one():
    request = read(
        {
            "system_instruction": {"parts": {"text": "Be brief."}},
            "contents": {"role": "user", "parts": [{"inline_data": {"mime_type": "image/png", "data": "iVBORw"}}]},
            "tools": {"function_declarations": {"name": "f", "parameters": {"type": "OBJECT", "properties": {"a_b": {"type": "STRING"}}}}},
            "tool_config": {"function_calling_config": {"mode": "any", "allowed_function_names": ["f"]}},
            "generation_config": {"max_output_tokens": 5, "stop_sequences": ["x"], "top_k": 3},
            "safety_settings": [{"some_name": 1}],
        }
    )  # fmt: skip
    assert request.messages == (message("system", "Be brief."), message("user", PNG))
    assert request.tools[0].parameters == {"type": "object", "properties": {"a_b": {"type": "string"}}}
    assert request.choice == ToolChoice(mode="named", names=("f",))
    assert (request.max_tokens, request.stop) == (5, ("x",))
    assert request.extra == {"top_k": 3, "safetySettings": [{"some_name": 1}]}


def test_calls_and_results_without_ids():
    called = {"functionCall": {"name": "now"}}
    contents = [
        {"role": "model", "parts": [called, {"functionCall": {"name": "f", "args": {"a": 1}}}, called]},
        {"role": "user", "parts": [{"functionResponse": {"name": "now", "response": {"result": 1}}}]},
        {"role": "function", "parts": [{"functionResponse": {"name": "now", "response": {"a": "b"}}}, {"text": "Go."}]},
        {"role": "user", "parts": [{"functionResponse": {"id": "theirs", "name": "f", "response": {"output": "x"}}}]},
        {"role": "model", "parts": [called]},
    ]
    said, results, last = read({"contents": contents}).messages
    assert [each.id for each in (*said.calls, *last.calls)] == ["call_1", "call_2", "call_3", "call_4"]
    assert results.parts == (
        Result(call_id="call_1", content=(Text(text="1"),), extra=Extra(vendor="gemini", data={"response": {"result": 1}})),
        Result(call_id="call_2", content=(Text(text="x"),)),
        Result(call_id="call_3", content=(Text(text='{"a":"b"}'),), extra=Extra(vendor="gemini", data={"response": {"a": "b"}})),
        Text(text="Go."),
    )  # fmt: skip
    again = written(said, results)["contents"][1]["parts"]
    assert [each["functionResponse"]["response"] for each in again[:3]] == [{"result": 1}, {"output": "x"}, {"a": "b"}]


def test_the_chunks_of_a_streamed_answer_are_one_message():
    chunks = [
        [{"text": "Hm.", "thought": True}],
        [{"text": "I "}],
        [{"text": "look."}, {"text": "Signed", "thoughtSignature": "czE="}],
        [{"text": ". "}],
        [],
        [{"functionCall": {"id": "a", "name": "now"}}],
        [{"functionCall": {"id": "b", "name": "now"}}],
    ]
    contents = [*ASKED["contents"], *({"role": "model", "parts": parts} for parts in chunks), *ASKED["contents"]]
    assert read({"contents": contents}).messages == (
        *HI,
        Message(
            role="assistant",
            parts=(
                Thinking(text="Hm.", extra=Extra(vendor="gemini", data={"thought": True})),
                Text(text="I look."),
                Text(text="Signed", extra=signed("czE=")),
                Text(text=". "),
                call("a", "now"),
                call("b", "now"),
            ),
        ),
        *HI,
    )


def test_an_id_that_is_given_is_not_given_again():
    contents = [{"role": "model", "parts": [{"functionCall": {"id": "call_2", "name": "f"}}, {"functionCall": {"name": "f"}}]}]  # fmt: skip
    calls = [part.call for part in read({"contents": contents}).messages[0].parts if isinstance(part, Call)]
    assert calls == [ToolCall(id="call_2", name="f", arguments={}), ToolCall(id="call_3", name="f", arguments={})]


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, None),
        ({"responseMimeType": "text/plain"}, None),
        ({"responseMimeType": "application/json"}, AnswerFormat()),
        (
            {"responseJsonSchema": {"type": "array"}},
            AnswerFormat(schema={"type": "array"}, path="generationConfig.responseJsonSchema"),
        ),
        (
            {"responseSchema": {"type": "ARRAY"}},
            AnswerFormat(schema={"type": "array"}, path="generationConfig.responseSchema"),
        ),
    ],
)
def test_the_form_of_an_answer(config: dict[str, Any], expected: AnswerFormat | None):
    assert read({**ASKED, "generationConfig": config}).answer_format == expected


def test_schemas_of_openapi():
    given = {
        "type": "OBJECT",
        "property_ordering": ["a"],
        "properties": {
            "a": {"type": "STRING", "nullable": True, "format": "enum", "enum": ["x"]},
            "nullable": {"type": "ARRAY", "items": {"type": "INTEGER", "format": "int32"}, "minItems": "2"},
            "c": {"anyOf": [{"type": "NUMBER"}], "nullable": True},
            "d": {"type": "TYPE_UNSPECIFIED", "description": "Anything."},
        },
        "required": ["a"],
    }
    assert convert_schema(given) == {
        "type": "object",
        "properties": {
            "a": {"type": ["string", "null"], "enum": ["x", None]},
            "nullable": {"type": "array", "items": {"type": "integer", "format": "int32"}, "minItems": 2},
            "c": {"anyOf": [{"type": "number"}, {"type": "null"}]},
            "d": {"description": "Anything."},
        },
        "required": ["a"],
    }


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({}, "contents: is missing"),
        ({"contents": []}, "contents: is empty"),
        ({"contents": [{"role": "system", "parts": []}]}, "contents[0].role: 'system' is none of user, model"),
        ({"contents": [{"parts": [{"text": 5}]}]}, "contents[0].parts[0].text: expected text"),
        ({"contents": [{"parts": [{"inlineData": {"mimeType": "image/png", "data": "!"}}]}]}, "contents[0].parts[0].inlineData.data: not base64"),
        ({"contents": [{"parts": [{"functionResponse": {"name": "f"}}]}]}, "contents[0].parts[0].functionResponse.name: no call of 'f' is open"),
        ({"contents": [{"parts": [{"functionResponse": {"id": "x", "name": "f"}}]}]}, "functionResponse.id: the message before has no call 'x'"),
        ({**ASKED, "generationConfig": {"candidateCount": 5}}, "generationConfig.candidateCount: at most 4 answers"),
        ({**ASKED, "generationConfig": {"temperature": 3}}, "generationConfig.temperature: must be from 0 to 2"),
        ({**ASKED, "generationConfig": {"responseMimeType": "text/x.enum"}}, "generationConfig.responseMimeType: text/x.enum needs a responseSchema with an enum"),
        ({**ASKED, "toolConfig": {"functionCallingConfig": {"mode": "SOME"}}}, "toolConfig.functionCallingConfig.mode: 'SOME' is none of"),
        ({**ASKED, "tools": [{"functionDeclarations": [{"name": ""}]}]}, "tools[0].functionDeclarations[0].name: is empty"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(body: dict[str, Any], problem: str):
    with pytest.raises(UsageError) as raised:
        read(body)
    assert problem in str(raised.value)


def answers_and_results(count: int) -> dict[str, Any]:
    calls = [{"functionCall": {"name": "f"}} for _ in range(count)]
    results = [{"functionResponse": {"name": "f", "response": {"output": str(each)}}} for each in range(count)]
    return {"contents": [{"role": "model", "parts": calls}, {"role": "user", "parts": results}]}


def calls_with_ids_that_are_taken(count: int) -> dict[str, Any]:
    given = [{"functionCall": {"name": "f", "id": f"call_{count + each + 1}"}} for each in range(count)]
    return {
        "contents": [{"role": "model", "parts": [*given, *({"functionCall": {"name": "f"}} for _ in range(count))]}]
    }


def chunks_of_text(count: int) -> dict[str, Any]:
    return {"contents": [{"role": "model", "parts": [{"text": "a"}]}] * count}


@pytest.mark.parametrize("make", [answers_and_results, calls_with_ids_that_are_taken, chunks_of_text])
def test_the_work_for_a_conversation_grows_with_its_length(make: Any):
    def read(count: int) -> None:
        gemini_content.read_request(make(count), "/v1beta/models/m:generateContent")

    steps = [count_steps(partial(read, count)) for count in (50, 100, 400)]
    assert steps[2] - steps[1] <= 6.5 * (steps[1] - steps[0])


def test_results_without_ids_belong_to_the_calls_of_their_tool_in_order():
    request = gemini_content.read_request(answers_and_results(3), "/v1beta/models/m:generateContent")
    results = [part for part in request.messages[1].parts if isinstance(part, Result)]
    assert [(each.call_id, each.content[0].text) for each in results] == [
        ("call_1", "0"),
        ("call_2", "1"),
        ("call_3", "2"),
    ]


def test_a_text_in_chunks_is_one_text_again():
    parts = [[{"text": "a"}], [{"text": "b"}, {"functionCall": {"name": "f"}}], [{"text": "c"}], [], [{"text": "d"}]]
    contents = [{"role": "model", "parts": each} for each in parts]
    (message,) = gemini_content.read_request({"contents": contents}, "/v1beta/models/m:generateContent").messages
    assert [part.text if isinstance(part, Text) else "call" for part in message.parts] == ["ab", "call", "cd"]


def test_a_result_under_another_name_belongs_to_the_first_open_call():
    calls = [{"functionCall": {"name": name, "args": {}}} for name in ("a", "b", "c")]
    results = [{"functionResponse": {"name": name, "response": {"output": name}}} for name in ("b", "run", "c")]
    body = {"contents": [{"parts": [{"text": "Hi"}]}, {"role": "model", "parts": calls}, {"parts": results}]}
    *_, told = gemini_content.read_request(body, "/v1beta/models/m:generateContent").messages
    contents = [part.content for part in told.parts if isinstance(part, Result)]
    assert contents == [(Text(text=text),) for text in ("run", "b", "c")]
