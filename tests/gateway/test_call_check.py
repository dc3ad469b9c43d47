"""The arguments of calls are checked against the schemas of their tools, and asked for again if they do not fit."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from toolspeak.dialects import DIALECTS
from toolspeak.gateway import app
from toolspeak.gateway.gate import CallCheck
from toolspeak.testing import ScriptedModel, calls
from toolspeak.values.messages import ToolCall
from toolspeak.values.spec import ToolSpec

from .hosting import Reply, ask, serve_model

spoken = pytest.mark.parametrize("dialect", DIALECTS)
both = pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])

PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "guests": {"type": "integer"},
        "board": {"type": "string", "enum": ["none", "full"]},
        "note": {"type": ["string", "null"]},
    },
    "required": ["city", "guests", "board", "note"],
    "additionalProperties": False,
}
GOOD = {"city": "Oslo", "guests": 2, "board": "full", "note": "late"}
FAULTS = {
    "missing": ({"city": "Oslo", "board": "full", "note": None}, "guests: missing; needs integer"),
    "unknown": ({**GOOD, "pets": 1}, "pets: no such key; the keys are: city, guests, board, note"),
    "enum": ({**GOOD, "board": "half"}, 'board: got "half"; needs "none" or "full"'),
    "type": ({**GOOD, "guests": "many"}, 'guests: got "many"; needs integer'),
}
faulty = pytest.mark.parametrize(("wrong", "fault"), FAULTS.values(), ids=FAULTS)


def send(model: ScriptedModel, dialect: str, *, strict: bool, mends: int = 2, **more: Any) -> Reply:
    function = {"name": "book", "parameters": PARAMETERS, "strict": strict}
    body = {"model": "m", "messages": [{"role": "user", "content": "Book a room."}], **more}
    served = serve_model(model, DIALECTS[dialect], max_repairs=mends)
    return ask(app([served]), {**body, "tools": [{"type": "function", "function": function}]})


def list_calls(reply: Reply) -> list[Any]:
    """Return the arguments of all calls of a reply."""
    assert reply.status == 200, reply.body
    if b"chat.completion.chunk" not in reply.body:
        made = reply.json["choices"][0]["message"].get("tool_calls", ())
        return [json.loads(call["function"]["arguments"]) for call in made]
    texts: dict[int, str] = {}
    for chunk in reply.chunks:
        for call in chunk["choices"][0]["delta"].get("tool_calls", ()) if chunk.get("choices") else ():
            texts[call["index"]] = texts.get(call["index"], "") + call["function"].get("arguments", "")
    return [json.loads(text) for text in texts.values()]


@spoken
@both
@faulty
def test_a_strict_call_that_does_not_fit_is_asked_for_again(dialect: str, streamed: bool, wrong: Any, fault: str):
    model = ScriptedModel([calls(("book", wrong)), calls(("book", GOOD))], chunk=5)
    assert list_calls(send(model, dialect, strict=True, stream=streamed)) == [GOOD]
    told = repr(model.requests[1].shown.messages[-1])
    assert fault.replace('"', "") in told.replace('\\"', "").replace('"', "")


@spoken
@both
def test_a_strict_call_that_never_fits_is_an_error(dialect: str, streamed: bool):
    wrong, fault = FAULTS["enum"]
    model = ScriptedModel([calls(("book", wrong))] * 3, chunk=5)
    reply = send(model, dialect, strict=True, stream=streamed)
    assert len(model.requests) == 3
    error = reply.chunks[-1]["error"] if reply.status == 200 else reply.json["error"]
    assert (error["code"], fault in error["message"]) == ("tool_use_failed", True)
    assert b"tool_calls" not in reply.body


@spoken
@both
def test_strict_calls_are_checked_without_any_repair(dialect: str, streamed: bool):
    model = ScriptedModel([calls(("book", FAULTS["type"][0]))], chunk=5)
    assert b"tool_use_failed" in send(model, dialect, strict=True, mends=0, stream=streamed).body


@spoken
@both
def test_what_a_strict_call_leaves_out_is_null_where_it_may_be(dialect: str, streamed: bool):
    short = {key: value for key, value in GOOD.items() if key != "note"}
    model = ScriptedModel([calls(("book", short))], chunk=5)
    assert list_calls(send(model, dialect, strict=True, stream=streamed)) == [{**GOOD, "note": None}]


NOTE = {"anyOf": [{"type": "string"}, {"type": "null"}]}
ROOM = {"type": "object", "properties": {"beds": {"type": "integer"}, "note": NOTE}, "required": ["beds", "note"]}
NESTED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "rooms": {"type": "array", "items": {"$ref": "#/$defs/room"}},
        "best": {"anyOf": [{"$ref": "#/$defs/room"}, {"type": "null"}]},
        "either": {"anyOf": [{"$ref": "#/$defs/room"}, {"type": "object"}]},
        "guest": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    },
    "required": ["rooms", "best"],
    "$defs": {"room": ROOM},
}


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"rooms": []}, {"rooms": [], "best": None}),
        ({"rooms": [{"beds": 1}], "best": {"beds": 2}}, {"rooms": [{"beds": 1, "note": None}], "best": {"beds": 2, "note": None}}),
        ({"rooms": [{"beds": 1, "note": "x"}], "best": None}, {"rooms": [{"beds": 1, "note": "x"}], "best": None}),
        ({"rooms": [], "either": {"beds": 1}}, {"rooms": [], "either": {"beds": 1}, "best": None}),
    ],
    ids=["at the top", "in a list and behind a choice", "nothing is missing", "which is meant is not known"],
)  # fmt: skip
def test_what_is_left_out_in_inner_objects_is_null_too(given: dict[str, Any], sent: dict[str, Any]):
    tool = ToolSpec(name="book", description="", parameters=NESTED)
    check = CallCheck([tool], ["book"], checks_all=False)
    before = json.dumps(given)
    completed = check.complete(ToolCall(id="c", name="book", arguments=given))
    assert completed.arguments == sent
    assert json.dumps(given) == before


def test_what_may_not_be_null_stays_missing():
    tool = ToolSpec(name="book", description="", parameters=NESTED)
    check = CallCheck([tool], ["book"], checks_all=False)
    call = ToolCall(id="c", name="book", arguments={"rooms": [], "best": None, "guest": {}})
    assert check.complete(call) is call
    assert "guest.name: missing" in check.find_fault(call, is_first=True)


@spoken
@both
def test_after_a_call_that_was_sent_only_strict_clients_are_spared(dialect: str, streamed: bool):
    wrong = FAULTS["unknown"][0]
    for strict, sent in ((True, [GOOD, GOOD]), (False, [GOOD, wrong, GOOD])):
        model = ScriptedModel([calls(("book", GOOD), ("book", wrong), ("book", GOOD))], chunk=5)
        assert list_calls(send(model, dialect, strict=strict, stream=streamed)) == sent


@spoken
@faulty
def test_other_calls_are_asked_for_again_too(dialect: str, wrong: Any, fault: str):
    model = ScriptedModel([calls(("book", wrong)), calls(("book", GOOD))], chunk=5)
    assert list_calls(send(model, dialect, strict=False)) == [GOOD]


@spoken
@faulty
def test_in_a_stream_other_calls_are_asked_for_again_unless_they_were_sent(dialect: str, wrong: Any, fault: str):
    model = ScriptedModel([calls(("book", wrong)), calls(("book", GOOD))], chunk=5)
    sent = [GOOD] if dialect in ("python", "typescript") else [wrong]
    assert list_calls(send(model, dialect, strict=False, stream=True)) == sent


@spoken
@both
@pytest.mark.parametrize("mends", [0, 1, 2])
def test_the_last_call_is_passed_on_as_it_is(dialect: str, streamed: bool, mends: int):
    wrong = FAULTS["type"][0]
    model = ScriptedModel([calls(("book", wrong))] * 3, chunk=5)
    assert list_calls(send(model, dialect, strict=False, mends=mends, stream=streamed)) == [wrong]
    is_held = dialect in ("python", "typescript") or not streamed
    assert len(model.requests) == (1 + mends if is_held else 1)


STRICT_REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "messages": (
        "/v1/messages",
        {
            "max_tokens": 9,
            "messages": [{"role": "user", "content": "Hi"}],
            "tools": [{"name": "book", "input_schema": PARAMETERS, "strict": True}],
        },
    ),
    "responses": (
        "/v1/responses",
        {"input": "Hi", "tools": [{"type": "function", "name": "book", "parameters": PARAMETERS, "strict": True}]},
    ),
    "namespace": (
        "/v1/responses",
        {
            "input": "Hi",
            "tools": [
                {
                    "type": "namespace",
                    "name": "hotel",
                    "tools": [{"type": "function", "name": "book", "parameters": PARAMETERS, "strict": True}],
                }
            ],
        },
    ),
    "gemini": (
        "/v1beta/models/m:generateContent",
        {
            "contents": [{"parts": [{"text": "Hi"}]}],
            "tools": [{"functionDeclarations": [{"name": "book", "parametersJsonSchema": PARAMETERS}]}],
            "toolConfig": {"functionCallingConfig": {"mode": "VALIDATED"}},
        },
    ),
}


@pytest.mark.parametrize("case", STRICT_REQUESTS)
def test_every_api_can_demand_it(case: str):
    path, body = STRICT_REQUESTS[case]
    name = "hotel__book" if case == "namespace" else "book"
    model = ScriptedModel([calls((name, FAULTS["type"][0]))] * 3)
    reply = ask(app([serve_model(model, DIALECTS["json"])]), {"model": "m", **body}, path=path)
    assert (reply.status, len(model.requests)) == (422, 3)
    good = ScriptedModel([calls((name, GOOD))])
    accepted = ask(app([serve_model(good, DIALECTS["json"])]), {"model": "m", **body}, path=path)
    assert accepted.status == 200
    if "responses" in path:
        told = accepted.json["tools"][0]
        assert told.get("tools", [told])[0]["strict"] is True


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "full", "2"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
    max_leaves=4,
)


@given(arguments=st.dictionaries(st.sampled_from([*PARAMETERS["properties"], "pets"]), JSON_VALUES), data=st.data())
@settings(max_examples=60, deadline=None, derandomize=True)
def test_whatever_a_model_writes_a_strict_client_gets_a_call_that_fits_or_an_error(arguments: Any, data: Any):
    dialect, streamed = data.draw(st.sampled_from([*DIALECTS])), data.draw(st.booleans())
    model = ScriptedModel([calls(("book", arguments))] * 3, chunk=7)
    reply = send(model, dialect, strict=True, stream=streamed)
    if b"tool_use_failed" not in reply.body:
        validator: Any = Draft202012Validator(PARAMETERS)
        assert [*map(validator.is_valid, list_calls(reply))] == [True]
