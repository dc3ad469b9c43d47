"""Tools that many requests send in the same words are parsed, read and rendered once. No request may notice."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolspeak.dialects import DIALECTS, TYPESCRIPT
from toolspeak.gateway import app
from toolspeak.gateway.guard import RequestRefused, parse_body
from toolspeak.testing import ScriptedModel, says

from .hosting import ask, serve_model

NAMES = ("read_file", "write_file")


def define(name: str, **fields: Any) -> dict[str, Any]:
    properties = {"path": {"type": "string"}, "count": {"type": "integer", "default": 1}, **fields}
    return {"name": name, "description": f"Do {name}.", "parameters": {"type": "object", "properties": properties}}


DEFINED = [define(name) for name in NAMES]
HI = "Hi"
BODIES: dict[str, tuple[str, dict[str, Any], Any]] = {
    "chat": (
        "/v1/chat/completions",
        {"model": "m", "messages": [{"role": "user", "content": HI}]},
        [{"type": "function", "function": each} for each in DEFINED],
    ),
    "responses": (
        "/v1/responses",
        {"model": "m", "input": HI, "store": False},
        [{"type": "function", **each} for each in DEFINED],
    ),
    "messages": (
        "/v1/messages",
        {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": HI}]},
        [{"name": each["name"], "description": each["description"], "input_schema": each["parameters"]} for each in DEFINED],
    ),
    "gemini": (
        "/v1beta/models/m:generateContent",
        {"contents": [{"role": "user", "parts": [{"text": HI}]}]},
        [{"function_declarations": DEFINED}],
    ),
}  # fmt: skip
each_api = pytest.mark.parametrize(("path", "body", "tools"), BODIES.values(), ids=BODIES)

JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text('"tols:[]{},\\ \n', max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["tools", "a", '"tools":[', ""]), inner, max_size=3),
    max_leaves=12,
)  # fmt: skip
KEYS = st.sampled_from(['"tools"', '"tools"', '"\\u0074ools"', '"model"', '"x\\"tools"', '" \\"tools"'])
SPACES = st.sampled_from(["", " ", "\n\t", " " * 50])


@st.composite
def written_bodies(draw: st.DrawFn) -> str:
    """Bodies as texts, with keys that are there twice or look like others."""
    members = draw(st.lists(st.tuples(KEYS, SPACES, SPACES, JSONS), max_size=5))
    written = [f"{key}{before}:{after}{json.dumps(value)}" for key, before, after, value in members]
    return f"{{{draw(SPACES)}{','.join(written)}{draw(SPACES)}}}"


@given(written_bodies())
def test_a_body_is_parsed_as_by_the_parser_alone(text: str):
    for _ in range(2):  # the second time with tools that are known
        assert parse_body(text.encode()) == json.loads(text)


@given(written_bodies(), st.data())
def test_what_is_no_json_is_refused_as_by_the_parser_alone(text: str, data: st.DataObject):
    parse_body(text.encode())  # so that the tools are known
    place = data.draw(st.integers(0, len(text) - 1))
    broken = text[:place] + text[place + 1 :]
    problem = ""
    try:
        parsed = json.loads(broken)
    except ValueError as error:
        parsed, problem = None, str(error)[:200]
    if problem:
        with pytest.raises(RequestRefused, match=re.escape(f"the body is not JSON: {problem}")):
            parse_body(broken.encode())
    else:
        assert parse_body(broken.encode()) == parsed


def test_requests_with_the_same_words_share_their_tools():
    written = json.dumps([define("shared")])
    first, second = (parse_body(f'{{"a": [0], "tools": {written}, "input": ["{name}"]}}'.encode()) for name in "ab")
    assert first["tools"] is second["tools"]
    other = parse_body(f'{{"tools": {json.dumps([define("shared")], indent=1)}}}'.encode())
    assert other["tools"] == first["tools"]
    assert other["tools"] is not first["tools"]


def test_tools_that_are_too_deep_are_refused_each_time():
    deep = json.dumps({"tools": [{"x": 1}]}).replace("1", "[" * 70 + "]" * 70)
    for _ in range(2):
        with pytest.raises(RequestRefused, match="nested more than 64 deep"):
            parse_body(deep.encode())


@each_api
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_request_with_known_tools_is_shown_and_answered_like_the_first(
    path: str, body: dict[str, Any], tools: Any, dialect: str
):
    model = ScriptedModel([says("Hello.")] * 3)
    served = app([serve_model(model, DIALECTS[dialect])])
    marked = json.loads(json.dumps(tools).replace("Do ", f"In {dialect} do "))  # tools that no other test sends
    replies = [ask(served, {**body, "tools": marked}, path=path) for _ in range(3)]
    assert [reply.status for reply in replies] == [200] * 3
    shown = [request.shown for request in model.requests]
    assert shown[0] == shown[1] == shown[2]
    assert parse_body(json.dumps({"tools": marked}).encode())["tools"] == marked


@each_api
def test_tools_that_differ_only_in_their_order_are_shown_in_it(path: str, body: dict[str, Any], tools: Any):
    model = ScriptedModel([says("Hello.")] * 2)
    served = app([serve_model(model, TYPESCRIPT)])
    turned = json.loads(json.dumps(tools), object_pairs_hook=lambda pairs: dict(reversed(pairs)))
    for each in (tools, turned):
        assert ask(served, {**body, "tools": each}, path=path).status == 200
    one, other = (request.shown.messages[0].text for request in model.requests)
    assert one.index("path?:") < one.index("count?:")
    assert other.index("count?:") < other.index("path?:")


def test_a_default_of_true_is_not_shown_as_1():
    model = ScriptedModel([says("Hello.")] * 2)
    served = app([serve_model(model, TYPESCRIPT)])
    path, body, _ = BODIES["chat"]
    for default in (1, True):
        tools = [{"type": "function", "function": define("look", deep={"default": default})}]
        assert ask(served, {**body, "tools": tools}, path=path).status == 200
    one, other = (request.shown.messages[0].text for request in model.requests)
    assert ("= 1;" in one.partition("deep")[2], "= true;" in other.partition("deep")[2]) == (True, True)


def test_a_choice_of_one_request_is_none_of_the_next():
    model = ScriptedModel([says("Hello.")] * 3)
    served = app([serve_model(model, TYPESCRIPT)])
    path, body, tools = BODIES["responses"]
    allowed = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": NAMES[0]}]}
    for choice in ("auto", allowed, "auto"):
        reply = ask(served, {**body, "tools": tools, "tool_choice": choice}, path=path)
        assert reply.status == 200, reply.body
        names = [each["name"] for each in reply.json["tools"]]
        assert names == [*NAMES] if choice == "auto" else names == [NAMES[0]]
    shown = [request.shown.messages[0].text for request in model.requests]
    assert [NAMES[1] in text for text in shown] == [True, False, True]
