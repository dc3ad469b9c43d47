"""Answers in a format: JSON that fits, or an error; never something else."""

import asyncio
import json
import re
from dataclasses import replace
from typing import Any

import pytest

from toolspeak.dialects import DIALECTS
from toolspeak.gateway import app
from toolspeak.models import Endpoint, HttpModel
from toolspeak.testing import ScriptedModel, ScriptedReply, calls, says
from toolspeak.values.errors import ProviderError
from toolspeak.values.events import TextDelta, Usage
from toolspeak.values.messages import Extra, Ref, Text, ToolCall
from toolspeak.values.pieces import Answer, ApiCall
from toolspeak.wire.chat_request import Quirks

from .conversing import ANTHROPIC_TOOLS, OPENAI_TOOLS, QUESTION
from .hosting import Reply, ask, send_request, serve_model

both = pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
spoken = pytest.mark.parametrize("dialect", DIALECTS)

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer", "minimum": 0},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
FORM = {"type": "json_schema", "json_schema": {"name": "person", "schema": PERSON, "strict": True}}
ADA = {"name": "Ada Lovelace", "age": 36, "tags": ["mathematics", "engines"]}
TEXT = '{"name":"Ada Lovelace","age":36,"tags":["mathematics","engines"]}'
PARIS = ("get_weather", {"city": "Paris"})


def body(**more: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": QUESTION}]
    return {"model": "scripted", "messages": messages, "response_format": FORM, **more}


def exchange(answering: Any, dialect: str = "typescript", *, mends: int = 2, **more: Any) -> Reply:
    """What a client of OpenAI's API gets that asks for a person."""
    thinks = more.pop("thinks", False)
    return ask(app([serve_model(answering, DIALECTS[dialect], max_repairs=mends, thinks=thinks)]), body(**more))


def deltas(reply: Reply) -> list[str]:
    return [
        text for chunk in reply.chunks for c in chunk.get("choices", ()) if (text := c["delta"].get("content") or "")
    ]


def content(reply: Reply) -> tuple[str, list[str], str]:
    """The text of a reply, the names of its calls, and how it ended."""
    assert reply.status == 200, reply.body
    if "chat.completion.chunk" not in reply.body.decode():
        choice = reply.json["choices"][0]
        said = choice["message"]
        names = [call["function"]["name"] for call in said.get("tool_calls", ())]
        return said["content"] or "", names, choice["finish_reason"]
    assert reply.body.endswith(b"data: [DONE]\n\n"), reply.body
    choices = [chunk["choices"][0] for chunk in reply.chunks if chunk["choices"]]
    pieces = [call for choice in choices for call in choice["delta"].get("tool_calls", ())]
    names = [call["function"]["name"] for call in pieces if "id" in call]
    return "".join(deltas(reply)), names, choices[-1]["finish_reason"]


def final(answer: Any = ADA, name: str = "final_answer") -> ScriptedReply:
    return calls((name, answer))


# Without tools


@spoken
@both
@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        json.dumps(ADA, indent=2),
        f"```json\n{json.dumps(ADA)}\n```",
        f"Sure {{here}} it is [1]:\n\n```\n{json.dumps(ADA)}\n```\nAnything else?",
        f"<think>Is it {{}}? Or {json.dumps({**ADA, 'age': 1})}?</think>\n{json.dumps(ADA)}",
        "{'name': 'Ada Lovelace', 'age': '36', 'tags': ['mathematics', 'engines',]}",
        '{"name": "Ada Lovelace", "age": 36.0, "tags": ["mathematics", "engines"]',
    ],
    ids=["bare", "spaced", "fenced", "prose", "thought", "python", "unclosed"],
)
def test_json_goes_out_alone_however_it_was_written(dialect: str, streamed: bool, text: str):
    model = ScriptedModel([says(text)], chunk=3)
    assert content(exchange(model, dialect, stream=streamed)) == (TEXT, [], "stop")
    assert len(model.requests) == 1


@both
def test_the_model_is_told_the_type_and_its_server_is_given_the_schema(streamed: bool):
    model = ScriptedModel([says(TEXT)])
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who?"}]
    exchange(model, stream=streamed, messages=messages)
    shown = model.requests[0].shown
    assert shown.messages[0].text == (
        "Be brief.\n\nAnswer with only one JSON value of the type Answer, without any other words:\n\n```typescript\n"
        "type Answer = {\n  name: string;\n  age: integer; // at least 0\n  tags?: string[];\n}\n```"
    )
    assert shown.constraint is not None
    assert shown.constraint.json_schema == PERSON


@both
@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("She is Ada, and 36.", "the answer is not JSON"),
        ('{"name": "Ada", "age": -1}', "answer.age: got -1; needs at least 0"),
        ('{"name": "Ada", "age": "old"}', 'answer.age: got "old"; needs integer'),
        ('{"nome": "Ada", "age": 36}', "answer.name: missing; needs string"),
        ("[1, 2]", "answer: got [1, 2]; needs object with keys name, age, tags"),
    ],
)
def test_what_does_not_fit_is_mended(streamed: bool, wrong: str, told: str):
    model = ScriptedModel([says(wrong), says(json.dumps({"name": "Ada", "age": 36}))], chunk=4)
    assert content(exchange(model, stream=streamed)) == ('{"name":"Ada","age":36}', [], "stop")
    *_, mistaken, problem = model.requests[1].shown.messages
    assert mistaken.text == wrong
    assert told in problem.text


@both
def test_what_cannot_be_mended_is_refused_and_not_worth_another_try(streamed: bool):
    model = ScriptedModel([says("She is Ada.")] * 5, chunk=4)
    reply = exchange(model, stream=streamed)
    assert (reply.status, len(model.requests)) == (422, 3)
    assert "did not answer as asked: the answer is not JSON" in reply.error
    assert reply.json["error"]["type"] == "invalid_request_error"
    assert b"She is" not in reply.body


@both
def test_without_mending_it_is_checked_all_the_same(streamed: bool):
    model = ScriptedModel([says("She is Ada.")] * 5, chunk=4)
    assert (exchange(model, stream=streamed, mends=0).status, len(model.requests)) == (422, 1)


@both
def test_any_object_where_no_schema_is_given(streamed: bool):
    for form in ({"type": "json_object"}, {"type": "json_schema", "json_schema": {"name": "a"}}):
        model = ScriptedModel([says("Hm."), says('Well: {"b": {"c": [1.50, "é"]}} and {"d": 1}')], chunk=2)
        assert content(exchange(model, stream=streamed, response_format=form))[0] == '{"b":{"c":[1.5,"é"]}}'
        assert len(model.requests) == 2


LOOSE = {"type": "json_schema", "json_schema": {"name": "person", "schema": PERSON, "strict": False}}


@both
@pytest.mark.parametrize("tools", [None, OPENAI_TOOLS], ids=["alone", "with tools"])
def test_a_schema_that_is_not_strict_is_mended_and_in_the_end_any_object_will_do(streamed: bool, tools: Any):
    wrong = {"name": "Ada", "years": 36}
    line = final(wrong) if tools else says(json.dumps(wrong))
    model = ScriptedModel([line, final() if tools else says(TEXT)], chunk=2)
    if not streamed:
        assert content(exchange(model, tools=tools, response_format=LOOSE))[0] == TEXT
    model = ScriptedModel([line] * 3, chunk=2)
    reply = exchange(model, stream=streamed, tools=tools, response_format=LOOSE)
    assert content(reply)[0] == '{"name":"Ada","years":36}'
    assert len(model.requests) == 3
    model = ScriptedModel([says("No.")] * 3, chunk=2)
    assert exchange(model, stream=streamed, tools=tools, response_format=LOOSE).status == 422


def test_a_list_may_be_the_answer():
    form = {"type": "json_schema", "json_schema": {"schema": {"type": "array", "items": {"type": "integer"}}}}
    assert content(exchange(ScriptedModel([says("So: [1, 2]")]), response_format=form))[0] == "[1,2]"
    model = ScriptedModel([calls(("final_answer", {"answer": [1, 2]}))])
    assert content(exchange(model, response_format=form, tools=OPENAI_TOOLS, stream=True))[0] == "[1,2]"


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "object", "unevaluatedProperties": False}, "schema.unevaluatedProperties: cannot be checked"),
        ({"properties": {"a": {"$ref": "#/$defs/gone"}}}, r"schema.properties.a.\$ref: .* is not a definition"),
        ({"properties": {"a": {"$ref": "https://example.org/a"}}}, "is not a definition"),
        ({"$ref": "#"}, "is not a definition"),
        ({"properties": {"a": {"pattern": "(?=a)"}}}, "without look-around"),
        ({"properties": {"a": {"minimum": "1"}}}, 'schema.properties.a.minimum: "1" is no value of this keyword'),
        ({"properties": {"a": 3}}, "schema.properties.a: is no schema"),
        ({"anyOf": {}}, "schema.anyOf: is no schema"),
        ({"properties": {"a": {"type": "strng"}}}, 'schema.properties.a.type: "strng" is none of object, array'),
        ({"properties": {"a": {"exclusiveMinimum": True}}}, "is no value of this keyword"),
        ({"properties": {"a": {"$ref": "#anchor"}}}, "is not a definition"),
        ({"items": [{"type": "string"}]}, "schema.items: is no schema"),
        ({"enum": list(range(60_000))}, "holds more than 50,000 values"),
    ],
)
def test_a_schema_that_cannot_be_checked_is_refused_at_once(schema: Any, words: str):
    model = ScriptedModel([])
    reply = exchange(model, response_format={"type": "json_schema", "json_schema": {"schema": schema}})
    assert reply.status == 400
    assert re.search(words, reply.error), reply.error


# With tools


@spoken
@both
def test_beside_tools_the_answer_is_a_call_that_nobody_sees(dialect: str, streamed: bool):
    model = ScriptedModel([final()], chunk=3)
    reply = exchange(model, dialect, stream=streamed, tools=OPENAI_TOOLS)
    assert content(reply) == (TEXT, [], "stop")
    assert b"final_answer" not in reply.body


@spoken
@both
def test_beside_a_format_tools_are_called_as_ever_and_prose_stays_inside(dialect: str, streamed: bool):
    model = ScriptedModel([calls(PARIS, text="Let me see.")], chunk=3)
    reply = exchange(model, dialect, stream=streamed, tools=OPENAI_TOOLS)
    assert content(reply) == ("", ["get_weather"], "tool_calls")
    assert b"Let me" not in reply.body


@spoken
@both
def test_prose_beside_tools_is_mended(dialect: str, streamed: bool):
    model = ScriptedModel([says("She is Ada, and 36."), final()], chunk=3)
    assert content(exchange(model, dialect, stream=streamed, tools=OPENAI_TOOLS)) == (TEXT, [], "stop")
    assert "Give the answer by calling final_answer." in model.requests[1].shown.messages[-1].text


@spoken
@both
def test_json_in_the_text_counts_beside_tools_too(dialect: str, streamed: bool):
    model = ScriptedModel([says(f"So:\n```json\n{json.dumps(ADA)}\n```")], chunk=3)
    assert content(exchange(model, dialect, stream=streamed, tools=OPENAI_TOOLS)) == (TEXT, [], "stop")


@spoken
@both
def test_of_a_call_and_an_answer_the_first_counts(dialect: str, streamed: bool):
    model = ScriptedModel([calls(PARIS, ("final_answer", ADA))], chunk=3)
    assert content(exchange(model, dialect, stream=streamed, tools=OPENAI_TOOLS)) == ("", ["get_weather"], "tool_calls")
    model = ScriptedModel([calls(("final_answer", ADA), PARIS)], chunk=3)
    assert content(exchange(model, dialect, stream=streamed, tools=OPENAI_TOOLS)) == (TEXT, [], "stop")


@spoken
@both
def test_an_answer_by_call_that_does_not_fit_is_mended_or_refused(dialect: str, streamed: bool):
    model = ScriptedModel([final({"name": "Ada", "age": -1}), final({"name": "Ada", "age": 1})], chunk=3)
    reply = exchange(model, dialect, stream=streamed, tools=OPENAI_TOOLS)
    assert content(reply) == ('{"name":"Ada","age":1}', [], "stop")
    model = ScriptedModel([says("No.")] * 3)
    assert exchange(model, dialect, stream=streamed, tools=OPENAI_TOOLS).status == 422


def test_an_answer_of_results_is_not_one():
    needing = ToolCall(id="", name="final_answer", arguments={"name": Ref(call="one"), "age": 3})
    first = ScriptedReply(calls=(needing,))
    model = ScriptedModel([first, final()])
    assert content(exchange(model, "python", tools=OPENAI_TOOLS)) == (TEXT, [], "stop")


@spoken
def test_a_tool_of_the_client_keeps_its_name(dialect: str):
    own = {"type": "function", "function": {"name": "final_answer", "parameters": {"type": "object"}}}
    model = ScriptedModel([calls(("final_answer", {}))])
    assert content(exchange(model, dialect, tools=[own])) == ("", ["final_answer"], "tool_calls")
    model = ScriptedModel([final(name="final_answer_2")])
    assert content(exchange(model, dialect, tools=[own])) == (TEXT, [], "stop")


@spoken
@both
def test_a_call_that_the_client_demands_comes_without_words(dialect: str, streamed: bool):
    model = ScriptedModel([says("No."), says(TEXT), calls(PARIS, text="Well then.")], chunk=3)
    reply = exchange(model, dialect, stream=streamed, tools=OPENAI_TOOLS, tool_choice="required")
    assert content(reply) == ("", ["get_weather"], "tool_calls")
    assert "final_answer" not in str(model.requests[0].shown)


@spoken
@both
def test_where_no_call_may_be_made_the_answer_is_json(dialect: str, streamed: bool):
    model = ScriptedModel([says(json.dumps(ADA))], chunk=3)
    reply = exchange(model, dialect, stream=streamed, tools=OPENAI_TOOLS, tool_choice="none")
    assert content(reply) == (TEXT, [], "stop")
    assert "plain words" not in str(model.requests[0].shown.messages)


# Streams


@pytest.mark.parametrize("tools", [None, OPENAI_TOOLS], ids=["alone", "with tools"])
def test_json_goes_out_while_it_is_written(tools: Any):
    heard: list[str] = []
    reply = Reply()

    class Listening(ScriptedModel):
        async def ask(self, request: Any) -> Any:
            async for pieces in super().ask(request):
                await asyncio.sleep(0)
                heard.append("".join(deltas(reply)))
                yield pieces

    long = {"name": "Ada " * 20, "age": 36, "tags": ["engines"] * 5}
    line = final(long) if tools else says(f"Here:\n{json.dumps(long)}\nBye.")
    asking = body(stream=True, tools=tools)
    application = app([serve_model(Listening([line], chunk=4), DIALECTS["native"])])
    asyncio.run(send_request(application, asking, reply=reply))
    whole = "".join(deltas(reply))
    assert json.loads(whole) == long
    assert len(set(heard)) > 30
    assert all(whole.startswith(text) for text in heard)


@spoken
def test_a_value_that_may_still_be_wrong_waits_and_the_rest_does_not(dialect: str):
    model = ScriptedModel([says('{"name": "Ada", "age": -1, "tags": []}'), says('{"name": "Ada", "age": 1}')], chunk=2)
    reply = exchange(model, dialect, stream=True)
    assert deltas(reply)[:2] == ['{"name":"', "Ad"]
    assert "".join(deltas(reply)) == '{"name":"Ada","age":1}'
    told = model.requests[1].shown.messages[-1].text
    assert 'got -1; needs at least 0. Write the whole answer again, beginning with {"name":"Ada"' in told


def test_what_shows_only_at_the_end_is_mended_if_the_model_goes_on_from_there():
    model = ScriptedModel([says('{"age": 36}'), says('{"age": 36, "name": "Ada"}')], chunk=2)
    assert "".join(deltas(exchange(model, stream=True))) == '{"age":36,"name":"Ada"}'


@pytest.mark.parametrize("second", ['{"name": "Ada", "age": 36}', "I cannot."])
def test_and_otherwise_the_stream_ends_with_an_error(second: str):
    model = ScriptedModel([says('{"age": 36}'), says(second), says(second)], chunk=2)
    reply = exchange(model, stream=True)
    assert reply.status == 200
    assert "".join(deltas(reply)) == '{"age":36'
    assert b"[DONE]" not in reply.body
    assert "did not answer as asked" in reply.chunks[-1]["error"]["message"]
    assert len(model.requests) == 3


def test_no_call_follows_a_part_of_an_answer():
    model = ScriptedModel([final({"age": 36}), calls(PARIS), calls(PARIS)], chunk=3)
    reply = exchange(model, "native", stream=True, tools=OPENAI_TOOLS)
    assert b"get_weather" not in reply.body
    assert "did not answer as asked" in reply.chunks[-1]["error"]["message"]


@both
@pytest.mark.parametrize("tools", [None, OPENAI_TOOLS], ids=["alone", "with tools"])
def test_an_answer_that_is_cut_says_so(streamed: bool, tools: Any):
    model = ScriptedModel([says('Well: {"name": "Ada", "age": 3', finish="length")], chunk=3)
    reply = exchange(model, "native", stream=streamed, tools=tools)
    assert content(reply) == ('{"name":"Ada"', [], "length")


@both
def test_a_refusal_goes_out_as_one(streamed: bool):
    refusal = Text(text="I will not.", extra=Extra(vendor="openai", data={"refusal": True}))
    model = Vendor(Answer(parts=(refusal,), finish="refused"))
    assert content(exchange(model, "native", stream=streamed)) == ("I will not.", [], "content_filter")


@both
@pytest.mark.parametrize("tools", [None, OPENAI_TOOLS], ids=["alone", "with tools"])
def test_a_model_that_may_begin_in_its_reasoning(streamed: bool, tools: Any):
    text = f"Hm, {json.dumps({**ADA, 'age': 1})}? No.\n</think>\n{json.dumps(ADA)}"
    model = ScriptedModel([says(text)], chunk=4)
    assert content(exchange(model, stream=streamed, thinks=True, tools=tools))[0] == TEXT


@both
@pytest.mark.parametrize("tools", [None, OPENAI_TOOLS], ids=["alone", "with tools"])
def test_tokens_are_counted_to_the_end_of_the_message(streamed: bool, tools: Any):
    usage = Usage(input_tokens=20, output_tokens=7)
    line = replace(final(), usage=usage) if tools else says(f"{TEXT}\n\nBye.", usage=usage)
    model = ScriptedModel([line], chunk=4)
    reply = exchange(model, "native", stream=streamed, tools=tools, stream_options={"include_usage": True})
    counted = reply.chunks[-1]["usage"] if streamed else reply.json["usage"]
    assert (counted["prompt_tokens"], counted["completion_tokens"]) == (20, 7)


@pytest.mark.parametrize("rambling", [" \n", "And so on. "])
def test_a_model_that_does_not_end_after_its_answer_is_stopped(rambling: str):
    heard: list[str] = []

    class Rambling(ScriptedModel):
        async def ask(self, request: Any) -> Any:
            yield [TextDelta(text=TEXT)]
            while True:
                await asyncio.sleep(0)
                heard.append(rambling)
                yield [TextDelta(text=rambling)]

    assert content(exchange(Rambling([]), stream=True)) == (TEXT, [], "stop")
    assert len("".join(heard)) < 300


def test_an_answer_that_is_whole_is_not_cut_though_its_message_is():
    model = ScriptedModel([says(f"{TEXT}\n\nAnd the", finish="length")], chunk=4)
    assert content(exchange(model, stream=True)) == (TEXT, [], "stop")


# Anthropic's API


@spoken
@both
@pytest.mark.parametrize("tools", [None, ANTHROPIC_TOOLS], ids=["alone", "with tools"])
def test_formats_of_anthropic(dialect: str, streamed: bool, tools: Any):
    form = {"type": "json_schema", "schema": PERSON}
    for field in ({"output_config": {"format": form, "effort": "low"}}, {"output_format": form}):
        model = ScriptedModel([says("She is Ada."), final() if tools else says(f"So: {json.dumps(ADA)}")], chunk=4)
        asking = {**body(max_tokens=99, stream=streamed), **field}
        del asking["response_format"]
        if tools:
            asking["tools"] = tools
        reply = ask(app([serve_model(model, DIALECTS[dialect])]), asking, path="/v1/messages")
        assert reply.status == 200, reply.body
        if streamed:
            pieces = [event["delta"]["text"] for event in reply.chunks if event["type"] == "content_block_delta"]
            assert "".join(pieces) == TEXT
            assert [event["delta"]["stop_reason"] for event in reply.chunks if event["type"] == "message_delta"] == [
                "end_turn"
            ]
        else:
            assert reply.json["content"] == [{"type": "text", "text": TEXT}]
            assert reply.json["stop_reason"] == "end_turn"


# Vendors whose API has the field


class Vendor(HttpModel):
    """A model of a vendor that says given answers."""

    def __init__(self, *answers: Answer, leaks_calls: bool = False, quirks: Quirks = Quirks()) -> None:  # noqa: B008 (Quirks is frozen)
        endpoint = Endpoint(name="there", base_url="http://127.0.0.1:1/v1", leaks_calls=leaks_calls, quirks=quirks)
        super().__init__(endpoint, "m")
        self.answers = list(answers)
        self.requests: list[Any] = []

    async def ask(self, request: Any) -> Any:
        self.requests.append(request)
        yield [self.answers.pop(0)]


def text_answer(text: str) -> Answer:
    return Answer(parts=(Text(text=text),), finish="stop")


@both
def test_a_vendor_gets_the_field_unchanged_and_is_checked(streamed: bool):
    model = Vendor(text_answer("She is Ada."), text_answer(json.dumps(ADA)))
    reply = exchange(model, "native", stream=streamed, tools=OPENAI_TOOLS)
    assert content(reply) == (TEXT, [], "stop")
    for request in model.requests:
        assert request.sampling.extra == {"response_format": FORM}
        assert [tool.name for tool in request.shown.tools] == ["get_weather", "calculator"]
    assert len(model.requests) == 2


@both
def test_other_servers_get_a_tool_or_words_and_a_schema(streamed: bool):
    call = ApiCall(index=0, id="c", name="final_answer", arguments=json.dumps(ADA))
    model = Vendor(Answer(parts=(call,), finish="tool_calls"), leaks_calls=True)
    assert content(exchange(model, "native", stream=streamed, tools=OPENAI_TOOLS)) == (TEXT, [], "stop")
    (request,) = model.requests
    assert request.sampling.extra is None
    assert request.shown.choice.mode == "required"
    assert request.shown.constraint is None
    model = Vendor(text_answer(json.dumps(ADA)), quirks=Quirks(response_format=False))
    assert content(exchange(model, "native", stream=streamed)) == (TEXT, [], "stop")
    assert "type Answer" in model.requests[0].shown.messages[0].text


@pytest.mark.parametrize("status", [400, 422, 401])
def test_a_server_that_refuses_the_schema_is_asked_in_words_alone(status: int):
    class Refusing(ScriptedModel):
        async def ask(self, request: Any) -> Any:
            if request.shown.constraint is not None:
                raise ProviderError("response_format: is no field", status=status)
            async for pieces in super().ask(request):
                yield pieces

    model = Refusing([says("Hm."), says(TEXT)])
    reply = exchange(model)
    if status == 401:
        assert (reply.status, model.requests) == (401, [])
    else:
        assert content(reply) == (TEXT, [], "stop")
        assert len(model.requests) == 2
