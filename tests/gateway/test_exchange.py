"""One request: how it reaches the model, and what of the model's answer goes out."""

import asyncio
import base64
import json
import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolspeak.dialects import DIALECTS, JSON, PYTHON, TYPESCRIPT
from toolspeak.gateway import app
from toolspeak.gateway.exchange import ThoughtParser
from toolspeak.models import Endpoint, HttpModel
from toolspeak.testing import ScriptedModel, ScriptedReply, calls, says
from toolspeak.values.events import TextDelta, ThinkingDelta, Usage
from toolspeak.values.messages import Extra, Media, Ref, Text, Thinking, ToolCall
from toolspeak.values.pieces import Answer, ApiCall, CallPiece

from .conversing import ANTHROPIC_TOOLS, OPENAI_TOOLS, QUESTION
from .hosting import Reply, ask, send_request, serve_model
from .playing import Piecewise

spoken = pytest.mark.parametrize("dialect", DIALECTS)
both = pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])

PARIS = ("get_weather", {"city": "Paris"})
LONDON = ("get_weather", {"city": "London"})
SUM = ("calculator", {"expression": "1 + 1"})
BOOK = {
    "type": "function",
    "function": {
        "name": "book",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "guests": {"type": "integer"}, "name": {"type": "string"}},
            "required": ["city", "guests", "name"],
        },
    },
}


def openai_body(**more: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": QUESTION}]
    return {"model": "scripted", "messages": messages, "tools": OPENAI_TOOLS, **more}


def anthropic_body(**more: Any) -> dict[str, Any]:
    return {**openai_body(max_tokens=100), "tools": ANTHROPIC_TOOLS, **more}


def exchange(
    answering: Any, dialect: str = "typescript", *, mends: int = 2, thinks: bool = False, **more: Any
) -> Reply:
    """What a client of OpenAI's API gets."""
    return ask(app([serve_model(answering, DIALECTS[dialect], max_repairs=mends, thinks=thinks)]), openai_body(**more))


def message(reply: Reply) -> dict[str, Any]:
    """The message of a reply, streamed or plain, and how it ended."""
    assert reply.status == 200, reply.body
    if "chat.completion.chunk" not in reply.body.decode():
        choice = reply.json["choices"][0]
        said = choice["message"]
        made = [(call["function"]["name"], call["function"]["arguments"]) for call in said.get("tool_calls", ())]
        ids = [call["id"] for call in said.get("tool_calls", ())]
        text, thought = said["content"] or "", said.get("reasoning_content", "")
        finish = choice["finish_reason"]
    else:
        assert reply.body.endswith(b"data: [DONE]\n\n")
        choices = [chunk["choices"][0] for chunk in reply.chunks if chunk["choices"]]
        deltas = [choice["delta"] for choice in choices]
        text = "".join(delta.get("content") or "" for delta in deltas)
        thought = "".join(delta.get("reasoning_content") or "" for delta in deltas)
        pieces = [call for delta in deltas for call in delta.get("tool_calls", ())]
        gathered: dict[int, list[str]] = {}
        ids = []
        for call in pieces:
            if "id" in call:
                gathered[call["index"]] = [call["function"]["name"], ""]
                ids.append(call["id"])
            gathered[call["index"]][1] += call["function"].get("arguments", "")
        made = [(name, arguments) for name, arguments in gathered.values()]
        finish = choices[-1]["finish_reason"]
    parsed = [(name, json.loads(arguments)) for name, arguments in made]
    return {"text": text, "thought": thought, "calls": parsed, "ids": ids, "finish": finish}


def read_meaning(reply: Reply) -> tuple[str, list[Any], str]:
    said = message(reply)
    return said["text"], said["calls"], said["finish"]


# Calls


@spoken
@both
def test_calls_come_out_as_the_apis_own(dialect: str, streamed: bool):
    model = ScriptedModel([calls(PARIS, LONDON, SUM, text="Let me see.")], chunk=3)
    said = message(exchange(model, dialect, stream=streamed))
    assert (said["text"], said["calls"], said["finish"]) == ("Let me see.", [PARIS, LONDON, SUM], "tool_calls")
    assert len(set(said["ids"])) == 3


@spoken
@both
def test_words_come_out_as_words(dialect: str, streamed: bool):
    model = ScriptedModel([says("It is sunny.\n\nTake a hat.\n")], chunk=3)
    assert read_meaning(exchange(model, dialect, stream=streamed)) == ("It is sunny.\n\nTake a hat.\n", [], "stop")


def order(reply: Reply) -> list[str]:
    """What a stream told of calls, in order: a name, or letters of arguments."""
    pieces = [
        call for chunk in reply.chunks for c in chunk.get("choices", ()) for call in c["delta"].get("tool_calls", ())
    ]
    return [call["function"].get("name") or f"{call['index']}:{call['function']['arguments']}" for call in pieces]


@spoken
def test_the_first_call_goes_out_as_it_is_said_and_the_others_when_they_are_whole(dialect: str):
    room = ("book", {"city": "Paris", "guests": 3, "name": "Jo"})
    model = ScriptedModel([calls(room, LONDON, room)], chunk=4)
    told = order(exchange(model, dialect, stream=True, tools=[*OPENAI_TOOLS, BOOK]))
    first = told[1 : told.index("get_weather")]
    # In letters where the API marks calls, by values in JSON, and whole where it must be known what code means.
    assert len(first) >= {"native": 8, "json": 2}.get(dialect, 1)
    assert json.loads("".join(piece[2:] for piece in first)) == room[1]
    assert [piece[:2] for piece in told if piece.startswith(("1:", "2:"))] == ["1:", "2:"]


@spoken
def test_a_call_is_out_before_the_next_is_said(dialect: str):
    heard: list[bool] = []
    reply = Reply()

    class Listening(ScriptedModel):
        async def ask(self, request: Any) -> Any:
            async for pieces in super().ask(request):
                await asyncio.sleep(0)
                heard.append(b"get_weather" in reply.body)
                yield pieces

    model = Listening([calls(PARIS, LONDON, SUM)], chunk=4)
    asyncio.run(send_request(app([serve_model(model, DIALECTS[dialect])]), openai_body(stream=True), reply=reply))
    assert heard.count(True) > 8


@both
@pytest.mark.parametrize("dialect", [PYTHON, TYPESCRIPT], ids=["python", "typescript"])
def test_a_call_that_needs_the_result_of_another_ends_the_turn_before_it(dialect: Any, streamed: bool):
    needing = ToolCall(id="", name="calculator", arguments={"expression": Ref(call="one", path=("temp",))})
    first = ToolCall(id="one", name="get_weather", arguments={"city": "Paris"})
    model = ScriptedModel(
        [ScriptedReply(calls=(first, needing, ToolCall(id="", name="get_weather", arguments=LONDON[1])))]
    )
    reply = exchange(model, dialect.name, stream=streamed)
    assert read_meaning(reply) == ("", [PARIS], "tool_calls")
    assert b"$call" not in reply.body


@spoken
@both
def test_one_call_at_a_time(dialect: str, streamed: bool):
    model = ScriptedModel([calls(PARIS, LONDON, SUM)], chunk=9)
    reply = exchange(model, dialect, stream=streamed, parallel_tool_calls=False)
    assert read_meaning(reply) == ("", [PARIS], "tool_calls")
    assert model.requests[0].shown.parallel is False or "only one call" in model.requests[0].shown.messages[-1].text


def test_anthropic_says_one_call_at_a_time_in_its_own_way():
    model = ScriptedModel([calls(PARIS, LONDON)])
    body = anthropic_body(tool_choice={"type": "auto", "disable_parallel_tool_use": True})
    reply = ask(app([serve_model(model, JSON)]), body, path="/v1/messages")
    assert [block["name"] for block in reply.json["content"]] == ["get_weather"]


@spoken
@both
def test_one_call_is_passed_on_if_the_gateway_is_told_so(dialect: str, streamed: bool):
    model = ScriptedModel([calls(PARIS, LONDON, SUM, text="Let me see.")], chunk=9)
    served = serve_model(model, DIALECTS[dialect], one_call=True)
    reply = ask(app([served]), openai_body(stream=streamed, parallel_tool_calls=True))
    assert read_meaning(reply) == ("Let me see.", [PARIS], "tool_calls")
    assert model.requests[0].shown.parallel is False or "only one call" in model.requests[0].shown.messages[-1].text


# Which tools may or must be called


@spoken
@both
@pytest.mark.parametrize(
    "choice",
    [
        "required",
        {"type": "function", "function": {"name": "get_weather"}},
        {
            "type": "allowed_tools",
            "allowed_tools": {
                "mode": "required",
                "tools": [{"type": "function", "function": {"name": "get_weather"}}],
            },
        },
    ],
    ids=["required", "named", "allowed"],
)
def test_a_call_that_must_be_made_is_asked_for_until_it_is(dialect: str, streamed: bool, choice: Any):
    model = ScriptedModel([says("I had rather not."), calls(PARIS, text="Well then.")], chunk=4)
    reply = exchange(model, dialect, stream=streamed, tool_choice=choice)
    assert read_meaning(reply) == ("Well then.", [PARIS], "tool_calls")
    assert b"rather" not in reply.body
    assert len(model.requests) == 2
    assert "That did not work" in str(model.requests[1].shown.messages[-1])


@spoken
@both
def test_a_call_of_a_tool_that_was_not_chosen_does_not_go_out(dialect: str, streamed: bool):
    model = ScriptedModel([calls(SUM), calls(PARIS)], chunk=4)
    choice = {"type": "function", "function": {"name": "get_weather"}}
    reply = exchange(model, dialect, stream=streamed, tool_choice=choice)
    assert read_meaning(reply) == ("", [PARIS], "tool_calls")
    assert b"calculator" not in reply.body


@spoken
@both
def test_where_no_call_may_be_made_everything_is_text(dialect: str, streamed: bool):
    text = "Like so:\n```typescript\nget_weather({city: 1})\n```\n<tool_call>{}</tool_call> \n"
    model = ScriptedModel([says(text)], chunk=4)
    for more in ({"tool_choice": "none"}, {"tools": []}, {"tools": None}):
        assert read_meaning(exchange(model, dialect, stream=streamed, **more)) == (text, [], "stop")


@pytest.mark.parametrize(
    ("choice", "mode"),
    [({"type": "auto"}, "auto"), ({"type": "any"}, "required"), ({"type": "tool", "name": "calculator"}, "named")],
)
@spoken
def test_choices_of_anthropic(dialect: str, choice: Any, mode: str):
    model = ScriptedModel([calls(SUM)])
    reply = ask(app([serve_model(model, DIALECTS[dialect])]), anthropic_body(tool_choice=choice), path="/v1/messages")
    assert reply.json["content"][0]["input"] == SUM[1]
    assert model.requests[0].shown.choice.mode == (mode if dialect == "native" else "auto")


# Calls that cannot be understood

CUT = "```typescript\nget_weather({city: \n```"


@both
def test_a_malformed_call_is_asked_for_again_inside(streamed: bool):
    model = ScriptedModel([says(CUT), calls(PARIS)], chunk=4)
    assert read_meaning(exchange(model, stream=streamed)) == ("", [PARIS], "tool_calls")
    *_, mistaken, problem = model.requests[1].shown.messages
    assert mistaken.text == CUT
    assert "the message ended inside the call" in problem.text


@both
def test_it_is_asked_for_as_often_as_is_set(streamed: bool):
    model = ScriptedModel([says(CUT)] * 5)
    reply = exchange(model, stream=streamed, mends=3)
    assert (reply.status, len(model.requests)) == (422, 4)
    assert "did not manage a call: the message ended inside the call" in reply.error


@both
def test_it_can_be_turned_off(streamed: bool):
    model = ScriptedModel([says(CUT), calls(PARIS)])
    reply = exchange(model, stream=streamed, mends=0)
    assert (reply.status, len(model.requests)) == (422, 1)


def test_once_a_call_is_on_its_way_there_is_no_second_try():
    cut = '<tool_call>{"name": "book", "arguments": {"city": "Paris", "guests": 3, "name": "Jo'
    model = ScriptedModel([says(cut), calls(PARIS)], chunk=4)
    tools = [*OPENAI_TOOLS, BOOK]
    reply = exchange(model, "json", stream=True, tools=tools)
    assert reply.status == 200
    assert order(reply)[0] == "book"
    assert "did not manage a call" in reply.chunks[-1]["error"]["message"]
    assert len(model.requests) == 1
    assert read_meaning(exchange(model, "json", tools=tools)) == (
        "",
        [PARIS],
        "tool_calls",
    )  # a plain answer has sent nothing yet


@both
def test_a_call_of_the_api_that_nobody_offered_is_asked_for_again(streamed: bool):
    odd = ScriptedReply(calls=(ApiCall(index=0, id="x", name="launch_rocket", arguments="{}"),))
    model = ScriptedModel([odd, calls(PARIS)], chunk=4)
    assert read_meaning(exchange(model, "native", stream=streamed)) == ("", [PARIS], "tool_calls")


@both
def test_good_calls_beside_a_bad_one_go_out(streamed: bool):
    text = '```typescript\nget_weather({city: "Paris"})\ncalculator({expression: \n```'
    model = ScriptedModel([says(text)], chunk=4)
    assert read_meaning(exchange(model, stream=streamed)) == ("", [PARIS], "tool_calls")


def test_all_tries_are_counted():
    tries = [says(CUT, usage=Usage(input_tokens=10, output_tokens=2, cached_tokens=1))]
    model = ScriptedModel([*tries, says("No.", usage=Usage(input_tokens=20, output_tokens=3))])
    usage = exchange(model).json["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == (30, 5, 35)


# Reasoning


@both
@pytest.mark.parametrize("thinks", [False, True])
def test_reasoning_that_is_marked_goes_out_as_reasoning(streamed: bool, thinks: bool):
    text = '<think>get_weather({city: "Rome"})? No.</think>\nSo:\nget_weather({city: "Paris"})'
    said = message(exchange(ScriptedModel([says(text)], chunk=4), stream=streamed, thinks=thinks))
    assert said["thought"] == 'get_weather({city: "Rome"})? No.'
    assert (said["text"].strip(), said["calls"]) == ("So:", [PARIS])


@both
@pytest.mark.parametrize("dialect", ["typescript", "python", "json"])
def test_reasoning_that_began_in_the_prompt_is_held_until_it_is_known(streamed: bool, dialect: str):
    text = 'Hm.\nget_weather({city: "Rome"})\nNo.\n</think>\nSo:\nget_weather({city: "Paris"})'
    reply = exchange(ScriptedModel([says(text)], chunk=4), dialect, stream=streamed, thinks=True)
    said = message(reply)
    assert (said["text"].strip(), said["calls"], said["finish"]) == ("So:", [PARIS], "tool_calls")
    assert said["thought"].startswith("Hm.")
    if streamed:
        kinds = [key for chunk in reply.chunks for c in chunk["choices"] for key in c["delta"]]
        assert kinds.index("reasoning_content") < kinds.index("tool_calls")


@both
@spoken
@pytest.mark.parametrize("chunk", [1, 4, 1000])
@pytest.mark.parametrize(
    ("text", "thought", "answer"),
    [
        ("<think>\nHm. <b>?\n</think>\n\nIt is </think> so.\n", "Hm. <b>?\n", "It is </think> so.\n"),
        (" [THINK]Hm.[/THINK]So.", "Hm.", "So."),
        ("<think>\n\n</think>\n\nSo.", "", "So."),
        ("<think>Hm. </thin", "Hm. </thin", ""),
        ("<thinking>Hm.</thinking>So.", "", "<thinking>Hm.</thinking>So."),
        ("<thin", "", "<thin"),
        ("So. <think>Hm.</think>", "", "So. <think>Hm.</think>"),
    ],
)
def test_reasoning_is_split_off_without_tools(
    streamed: bool, dialect: str, chunk: int, text: str, thought: str, answer: str
):
    model = ScriptedModel([says(text)], chunk=chunk)
    said = message(exchange(model, dialect, stream=streamed, tools=[]))
    assert (said["thought"], said["text"]) == (thought, answer)


@both
@pytest.mark.parametrize("text", ["Hm.\n</think>\nSo.", "<think>Hm.</think>So.", "So."])
def test_without_tools_reasoning_may_begin_in_the_prompt_too(streamed: bool, text: str):
    said = message(exchange(ScriptedModel([says(text)], chunk=3), stream=streamed, tools=[], thinks=True))
    assert (said["thought"], said["text"]) == ("Hm." if "Hm" in text else "", "So.")


@given(
    st.lists(st.sampled_from(["<think>", "</think>", "</thi", "nk>", "<", " ", "\n", "so"]), max_size=8), st.booleans()
)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_reasoning_is_split_off_in_the_same_way_in_any_chunks(pieces: list[str], inside: bool):
    def read(chunks: Sequence[str]) -> tuple[str, str]:
        parser = ThoughtParser(may_begin_inside=inside)
        events = [*(event for chunk in chunks for event in parser.feed(chunk)), *parser.close()]
        thoughts = [event.text for event in events if isinstance(event, ThinkingDelta)]
        return "".join(thoughts), "".join(event.text for event in events if isinstance(event, TextDelta))

    text = "".join(pieces)
    assert read(pieces) == read(text) == read([text])


def test_without_that_it_is_an_error_and_not_a_wrong_call():
    text = 'Hm.\nget_weather({city: "Rome"})\nNo.\n</think>\nget_weather({city: "Paris"})'
    model = ScriptedModel([says(text)], chunk=4)
    reply = exchange(model, stream=True)
    assert "turned out to be reasoning" in reply.chunks[-1]["error"]["message"]
    assert "--thinks" in reply.chunks[-1]["error"]["message"]
    assert read_meaning(exchange(model))[1:] == ([PARIS], "tool_calls")  # plain, all is known before anything goes out


@both
def test_a_model_that_may_think_and_does_not_is_heard_all_the_same(streamed: bool):
    model = ScriptedModel([calls(PARIS, LONDON, text="Let me see.")], chunk=4)
    assert read_meaning(exchange(model, stream=streamed, thinks=True)) == ("Let me see.", [PARIS, LONDON], "tool_calls")


@both
def test_reasoning_that_the_api_tells_apart(streamed: bool):
    model = ScriptedModel([ScriptedReply(thinking="Hm, so.", text="Hello.")], chunk=4)
    said = message(exchange(model, "native", stream=streamed, thinks=True))
    assert (said["thought"], said["text"]) == ("Hm, so.", "Hello.")
    asking = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
    body = {**anthropic_body(stream=streamed), **asking}
    reply = ask(app([serve_model(model, TYPESCRIPT)]), body, path="/v1/messages")
    if streamed:
        deltas = [chunk["delta"] for chunk in reply.chunks if chunk["type"] == "content_block_delta"]
        assert "".join(delta.get("thinking", "") for delta in deltas) == "Hm, so."
        assert "".join(delta.get("text", "") for delta in deltas) == "Hello."
    else:
        thinking, text = reply.json["content"]
        assert (thinking["thinking"], text["text"]) == ("Hm, so.", "Hello.")


@both
@pytest.mark.parametrize("asked", [None, {"type": "disabled"}])
def test_reasoning_that_anthropics_client_did_not_ask_for_is_not_sent(streamed: bool, asked: Any):
    model = ScriptedModel([ScriptedReply(thinking="Hm, so.", text="Hello.")], chunk=4)
    body = {**anthropic_body(stream=streamed), "thinking": asked}
    reply = ask(app([serve_model(model, TYPESCRIPT)]), body, path="/v1/messages")
    assert b"Hm" not in reply.body
    assert b"thinking" not in reply.body
    if not streamed:
        assert reply.json["content"][0]["text"] == "Hello."


@both
@pytest.mark.parametrize("asked", [None, True, False])
def test_reasoning_is_sent_to_geminis_clients_if_they_ask(streamed: bool, asked: bool | None):
    model = ScriptedModel([ScriptedReply(thinking="Hm, so.", text="Hello.")], chunk=4)
    config = {} if asked is None else {"generationConfig": {"thinkingConfig": {"includeThoughts": asked}}}
    method = "streamGenerateContent" if streamed else "generateContent"
    body = {"contents": [{"parts": [{"text": "Hi"}]}], **config}
    reply = ask(app([serve_model(model, TYPESCRIPT)]), body, path=f"/v1beta/models/m:{method}")
    answers = reply.json if streamed else [reply.json]
    parts = [part for answer in answers for part in answer["candidates"][0]["content"]["parts"]]
    thoughts = "".join(part["text"] for part in parts if part.get("thought"))
    assert thoughts == ("Hm, so." if asked else "")
    assert "".join(part["text"] for part in parts if not part.get("thought")) == "Hello."


# How it ends, and what it took


@both
@pytest.mark.parametrize(
    ("finish", "openais", "anthropics"),
    [("stop", "stop", "end_turn"), ("length", "length", "max_tokens"), ("refused", "content_filter", "refusal")],
)
def test_how_it_ended(streamed: bool, finish: Any, openais: str, anthropics: str):
    model = ScriptedModel([says("Well", finish=finish)])
    assert message(exchange(model, stream=streamed))["finish"] == openais
    reply = ask(app([serve_model(model, JSON)]), anthropic_body(stream=streamed), path="/v1/messages")
    said = [chunk["delta"] for chunk in reply.chunks if chunk["type"] == "message_delta"] if streamed else [reply.json]
    assert [each["stop_reason"] for each in said] == [anthropics]


@both
def test_a_call_that_was_cut_by_a_limit_is_not_asked_for_again(streamed: bool):
    model = ScriptedModel([says('get_weather({city: "Par', finish="length")], chunk=4)
    reply = exchange(model, stream=streamed)
    assert len(model.requests) == 1
    assert reply.status == 200
    assert b'"finish_reason":"length"' in reply.body


@both
def test_usage(streamed: bool):
    model = ScriptedModel([says("Hi.", usage=Usage(input_tokens=9, output_tokens=2, cached_tokens=4))])
    reply = exchange(model, stream=streamed, stream_options={"include_usage": True} if streamed else None)
    usage = reply.chunks[-1]["usage"] if streamed else reply.json["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (9, 2)
    assert usage["prompt_tokens_details"] == {"cached_tokens": 4}
    reply = ask(app([serve_model(model, JSON)]), anthropic_body(stream=streamed), path="/v1/messages")
    usages = [chunk["usage"] for chunk in reply.chunks if chunk["type"] == "message_delta"] or [reply.json["usage"]]
    assert (usages[0]["input_tokens"], usages[0]["cache_read_input_tokens"], usages[0]["output_tokens"]) == (5, 4, 2)


# History


@spoken
def test_earlier_calls_and_results_reach_the_model_as_its_dialect_tells_them(dialect: str):
    model = ScriptedModel([says("?"), says("Done.")])
    call = {"id": "call_x", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Paris"}'}}
    history = [
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": [{"type": "text", "text": "Be kind."}]},
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_x", "content": "sunny"},
    ]
    assert read_meaning(exchange(model, dialect, messages=history))[0] == "Done."
    shown = model.requests[0].shown
    assert shown.messages[0].text.startswith("Be brief.\n\nBe kind.")
    if dialect == "native":
        assert [made.id for made in shown.messages[2].calls] == ["call_x"]
        assert shown.messages[3].role == "tool"
    else:
        assert "get_weather" in shown.messages[2].text
        assert "sunny" in shown.messages[3].text
        assert "get_weather" in shown.messages[0].text


@spoken
def test_ids_are_never_given_twice_in_a_conversation(dialect: str):
    model = ScriptedModel([calls(PARIS), calls(LONDON), calls(PARIS, LONDON), says("Done.")])
    history: list[Any] = [{"role": "user", "content": QUESTION}]
    ids: list[str] = []
    while (said := message(reply := exchange(model, dialect, messages=history)))["calls"]:
        ids += said["ids"]
        history.append(reply.json["choices"][0]["message"])
        history += [{"role": "tool", "tool_call_id": each, "content": "ok"} for each in said["ids"]]
    assert len(ids) == len(set(ids)) == 4
    assert said["text"] == "Done."


@spoken
def test_images_pass_through(dialect: str):
    data = b"\x89PNG not really"
    url = f"data:image/png;base64,{base64.b64encode(data).decode()}"
    parts = [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": url}}]
    model = ScriptedModel([says("A picture.")])
    exchange(model, dialect, messages=[{"role": "user", "content": parts}])
    shown = model.requests[0].shown.messages[-1].parts
    assert [part.data for part in shown if isinstance(part, Media)] == [data]
    source = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(data).decode()}
    body = anthropic_body(messages=[{"role": "user", "content": [{"type": "image", "source": source}]}])
    ask(app([serve_model(model, DIALECTS[dialect])]), body, path="/v1/messages")
    shown = model.requests[1].shown.messages[-1].parts
    assert [part.data for part in shown if isinstance(part, Media)] == [data]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"messages": []}, "messages: is empty"),
        ({"messages": "Hi"}, "messages: expected a list"),
        (
            {"messages": [{"role": "tool", "tool_call_id": "x", "content": "1"}]},
            r"messages\[0\].tool_call_id: the mess",
        ),
        ({"messages": [{"role": "robot", "content": "1"}]}, r"messages\[0\].role"),
        ({"messages": [{"role": "user", "content": [{"type": "video"}]}]}, r"messages\[0\].content\[0\].type"),
        ({"tools": OPENAI_TOOLS * 2}, "is given twice"),
        ({"tool_choice": {"type": "function", "function": {"name": "nope"}}}, "there is no tool 'nope'"),
        ({"n": 5}, "n: at most 4 answers"),
        ({"temperature": 9}, "temperature"),
        ({"logprobs": True}, "logprobs"),
        ({"response_format": {"type": "yaml"}}, "response_format.type: 'yaml' is none of text, json_object"),
        ({"stream": "yes"}, "stream: expected true or false"),
        ({"model": None}, "model: is missing"),
    ],
)
def test_what_cannot_be_answered_is_refused_as_the_api_would(more: Any, words: str):
    model = ScriptedModel([])
    reply = exchange(model, **more)
    assert reply.status == 400
    assert reply.json["error"]["type"] == "invalid_request_error"
    assert re.search(words, reply.error)
    assert not model.requests


def test_fields_that_only_concern_the_client_are_set_aside_and_those_of_drawing_handed_on():
    model = ScriptedModel([says("Hi.")])
    asks = {"user": "me", "metadata": {}, "store": False, "logprobs": False, "response_format": {"type": "text"}}
    reply = exchange(model, **asks, top_k=5, temperature=0, seed=7, stop=["."], max_completion_tokens=9, top_p=0.5)
    assert reply.status == 200
    sampling = model.requests[0].sampling
    assert (sampling.temperature, sampling.seed, sampling.stop, sampling.max_tokens) == (0, 7, (".",), 9)
    assert sampling.extra == {"top_k": 5}


# Passing through


class Vendor(HttpModel):
    """A model behind an endpoint that says given pieces."""

    def __init__(self, answer: Answer, vendor: str = "gemini") -> None:
        endpoint = Endpoint(name="there", base_url="http://127.0.0.1:1/v1", vendor=vendor)
        super().__init__(endpoint, "m")
        self.answer = answer
        self.requests: list[Any] = []

    async def ask(self, request: Any) -> Any:
        self.requests.append(request)
        yield [self.answer]


@both
def test_what_a_vendor_wants_back_comes_back(streamed: bool):
    signed = {"extra_content": {"google": {"thought_signature": "c2ln"}}}
    call = ApiCall(
        index=0, id="c1", name="get_weather", arguments='{"city":"Paris"}', extra=Extra(vendor="gemini", data=signed)
    )
    model = Vendor(Answer(parts=(Text(text="Hm."), call), finish="tool_calls"))
    reply = exchange(model, "native", stream=streamed, reasoning_effort="low")
    assert b"c2ln" in reply.body
    assert model.requests[0].sampling.extra == {"reasoning_effort": "low"}  # its own API: it knows what that is
    function = {"name": "get_weather", "arguments": '{"city":"Paris"}'}
    said = {"role": "assistant", "content": "Hm.", "tool_calls": [{"id": "c1", "function": function, **signed}]}
    result = {"role": "tool", "tool_call_id": "c1", "content": "sunny"}
    exchange(model, "native", messages=[{"role": "user", "content": "?"}, said, result])
    (part,) = [part for part in model.requests[1].shown.messages[1].parts if part.kind == "call"]
    assert part.extra == Extra(vendor="gemini", data=signed)


def test_calls_of_the_api_are_told_when_they_are_whole_and_keep_their_ids():
    pieces = [
        [CallPiece(index=0, id="a", name="get_weather")],
        [CallPiece(index=0, arguments='{"city": '), CallPiece(index=1, id="b", name="calculator")],
        [CallPiece(index=1, arguments='{"expression": "1'), CallPiece(index=0, arguments='"Paris"}')],
        [CallPiece(index=1, arguments=' + 1"}')],
        [
            Answer(
                parts=(
                    ApiCall(index=0, id="a", name="get_weather", arguments='{"city": "Paris"}'),
                    ApiCall(index=1, id="b", name="calculator", arguments='{"expression": "1 + 1"}'),
                ),
                finish="tool_calls",
            )
        ],
    ]
    reply = exchange(Piecewise(pieces), "native", stream=True)
    assert message(reply)["ids"] == ["a", "b"]
    assert order(reply)[-1] == '1:{"expression": "1 + 1"}'


def test_half_a_surrogate_pair_is_no_failure():
    model = Piecewise([[TextDelta(text="\ud83d")], [Answer(parts=(Text(text="\ud83d"),), finish="stop")]])
    assert message(exchange(model))["text"] == "\ud83d"
    assert message(exchange(model, stream=True))["text"] == "\ud83d"


def test_thinking_pieces_and_parts_are_one_thing():
    parts = (Thinking(text="Hm."), Text(text="Hi."))
    model = Piecewise([[ThinkingDelta(text="Hm.")], [Answer(parts=parts, finish="stop")]])
    for streamed in (False, True):
        said = message(exchange(model, "native", stream=streamed))
        assert (said["thought"], said["text"]) == ("Hm.", "Hi.")


@spoken
@pytest.mark.parametrize("reads", [False, True])
def test_a_model_that_reads_figures_is_shown_what_follows_from_the_results_of_a_client(dialect: str, reads: bool):
    kind = type("Reader", (ScriptedModel,), {"reads_figures": reads})
    model = kind([calls(PARIS, LONDON), says("London.")], dialect=dialect)
    made = [
        {"id": name, "type": "function", "function": {"name": "get_weather", "arguments": json.dumps({"city": name})}}
        for name in ("Paris", "London")
    ]
    results = [
        {"role": "tool", "tool_call_id": name, "content": json.dumps({"celsius": value})}
        for name, value in (("Paris", 11), ("London", 9))
    ]
    question = {"role": "user", "content": QUESTION}
    messages = [question, {"role": "assistant", "content": None, "tool_calls": made}, *results]
    assert message(exchange(model, dialect, messages=messages))["text"] == "London."
    shown = model.requests[0].shown.messages[-1].text
    assert ("celsius: lowest London (9) < highest Paris (11)" in shown) is (reads and DIALECTS[dialect].in_text)
