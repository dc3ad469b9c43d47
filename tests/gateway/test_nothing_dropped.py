"""Every part of a request reaches the model, or the client is told that it does not: in a header or in an error."""

import base64
import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolspeak.dialects import TYPESCRIPT
from toolspeak.gateway import app
from toolspeak.gateway.passthrough import IGNORABLE_FIELDS
from toolspeak.models import Request
from toolspeak.testing import ScriptedModel, ScriptedReply, says

from .hosting import Reply, ask, serve_model

Part = Callable[[str], dict[str, Any]]


def encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def read_file(mark: str) -> dict[str, Any]:
    return {"type": "base64", "media_type": "application/pdf", "data": encode(mark)}


ANTHROPIC: dict[str, Part] = {
    "text": lambda mark: {"type": "text", "text": mark},
    "image": lambda mark: {"type": "image", "source": {**read_file(mark), "media_type": "image/png"}},
    "image.url": lambda mark: {"type": "image", "source": {"type": "url", "url": f"https://a.example/{mark}.png"}},
    "image.file": lambda mark: {"type": "image", "source": {"type": "file", "file_id": mark}},
    "document": lambda mark: {"type": "document", "source": read_file(mark)},
    "document.text": lambda mark: {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": mark}},
    "document.content": lambda mark: {"type": "document", "source": {"type": "content", "content": mark}},
    "document.blocks": lambda mark: {
        "type": "document",
        "source": {"type": "content", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": mark}]},
    },
    "document.image": lambda mark: {
        "type": "document",
        "source": {"type": "content", "content": [{"type": "image", "source": read_file(mark)}]},
    },
    "document.context": lambda mark: {"type": "document", "source": read_file("other"), "context": mark},
    "document.file": lambda mark: {"type": "document", "source": {"type": "file", "file_id": mark}},
    "container_upload.file_id": lambda mark: {"type": "container_upload", "file_id": mark},
    "search_result": lambda mark: {
        "type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": mark}]
    },
    "new_block": lambda mark: {"type": "new_block", "words": mark},
}  # fmt: skip
RESPONSES: dict[str, Part] = {
    "input_text": lambda mark: {"type": "input_text", "text": mark},
    "input_image": lambda mark: {"type": "input_image", "image_url": f"data:image/png;base64,{encode(mark)}"},
    "input_image.file_id": lambda mark: {"type": "input_image", "file_id": mark},
    "input_file": lambda mark: {"type": "input_file", "filename": "a.pdf", "file_data": encode(mark)},
    "input_file.url": lambda mark: {"type": "input_file", "file_url": f"https://a.example/{mark}"},
    "input_file.file_id": lambda mark: {"type": "input_file", "file_id": mark},
    "new_part": lambda mark: {"type": "new_part", "words": mark},
}
CHAT: dict[str, Part] = {
    "text": lambda mark: {"type": "text", "text": mark},
    "image_url": lambda mark: {"type": "image_url", "image_url": {"url": f"https://a.example/{mark}.png"}},
    "input_audio": lambda mark: {"type": "input_audio", "input_audio": {"format": "wav", "data": encode(mark)}},
    "file": lambda mark: {"type": "file", "file": {"file_data": f"data:text/plain;base64,{encode(mark)}"}},
    "file.file_id": lambda mark: {"type": "file", "file": {"file_id": mark}},
    "new_part": lambda mark: {"type": "new_part", "words": mark},
}
GEMINI: dict[str, Part] = {
    "text": lambda mark: {"text": mark},
    "inlineData": lambda mark: {"inlineData": {"mimeType": "image/png", "data": encode(mark)}},
    "fileData": lambda mark: {"fileData": {"fileUri": f"https://a.example/{mark}", "mimeType": "image/png"}},
    "newPart": lambda mark: {"newPart": {"words": mark}},
}
RESULT_ONLY: dict[str, Part] = {"tool_reference": lambda mark: {"type": "tool_reference", "tool_name": mark}}


class Place(NamedTuple):
    """Where parts stand in a request: the path, what parts there may be, and the body with these parts."""

    path: str
    parts: dict[str, Part]
    build: Callable[[list[Any]], dict[str, Any]]


def build_chat_result(parts: list[Any]) -> dict[str, Any]:
    function = {"name": "look", "arguments": "{}"}
    called = {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": function}]}
    result = {"role": "tool", "tool_call_id": "c1", "content": parts}
    return {"model": "m", "messages": [{"role": "user", "content": "Hi"}, called, result]}


def build_anthropic_result(parts: list[Any]) -> dict[str, Any]:
    called = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "look", "input": {}}]}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": parts}]}
    return {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}, called, result]}


def build_responses_result(parts: list[Any]) -> dict[str, Any]:
    called = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}
    return {"model": "m", "input": [called, {"type": "function_call_output", "call_id": "c1", "output": parts}]}


def build_gemini_result(parts: list[Any]) -> dict[str, Any]:
    called = {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}}}]}
    response = {"functionResponse": {"name": "look", "response": {}, "parts": parts}}
    return {"contents": [{"parts": [{"text": "Hi"}]}, called, {"role": "user", "parts": [response]}]}


GEMINI_PATH = "/v1beta/models/m:generateContent"
PLACES = {
    "chat": Place(
        "/v1/chat/completions", CHAT, lambda parts: {"model": "m", "messages": [{"role": "user", "content": parts}]}
    ),
    "chat result": Place("/v1/chat/completions", CHAT, build_chat_result),
    "messages": Place(
        "/v1/messages",
        ANTHROPIC,
        lambda parts: {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": parts}]},
    ),
    "messages result": Place("/v1/messages", ANTHROPIC | RESULT_ONLY, build_anthropic_result),
    "responses": Place(
        "/v1/responses", RESPONSES, lambda parts: {"model": "m", "input": [{"role": "user", "content": parts}]}
    ),
    "responses result": Place("/v1/responses", RESPONSES, build_responses_result),
    "gemini": Place(GEMINI_PATH, GEMINI, lambda parts: {"contents": [{"parts": parts}]}),
    "gemini result": Place(GEMINI_PATH, GEMINI, build_gemini_result),
}


def ask_listening(body: dict[str, Any], path: str, *, strict: bool = False) -> tuple[Reply, str, list[Request]]:
    """Send a request; return the answer, all that the model was shown, and what it was asked."""
    requests: list[Request] = []

    def listen(request: Request) -> ScriptedReply:
        requests.append(request)
        return says("Fine.")

    model = ScriptedModel([listen] * 20, dialect="typescript")
    reply = ask(app([serve_model(model, TYPESCRIPT)], strict=strict), body, path=path)
    return reply, "".join(repr(request.shown.messages) for request in requests), requests


def send(place: Place, kinds: list[str], *, strict: bool = False) -> tuple[Reply, str]:
    """Send parts, each with a mark of its own; return the answer, and all that the model was shown."""
    body = place.build([place.parts[kind](f"mark{number}x") for number, kind in enumerate(kinds)])
    reply, shown, _ = ask_listening(body, place.path, strict=strict)
    return reply, shown


def reaches_model(mark: str, shown: str) -> bool:
    return mark in shown or encode(mark) in shown


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_every_part_reaches_the_prompt_a_notice_or_an_error(place: Place, data: st.DataObject):
    kinds = data.draw(st.lists(st.sampled_from([*place.parts]), min_size=1, max_size=4))
    reply, shown = send(place, kinds)
    if reply.status != 200:
        assert reply.status == 400
        assert any(word in reply.error for word in ("type", "content", "parts", "file_data"))  # it names the field
        return
    notice = reply.headers.get("x-toolspeak-notice", "")
    for number, kind in enumerate(kinds):
        assert reaches_model(f"mark{number}x", shown) or kind in notice, (kind, notice)


# Items of the responses API, tools and fields


def build_pair(call: dict[str, Any], output: dict[str, Any]) -> Callable[[str], list[Any]]:
    """Items of a call and its result, both with a mark, and with an id of their own."""

    def build(mark: str) -> list[Any]:
        written = json.dumps([{"call_id": f"id{mark}", **call}, {"call_id": f"id{mark}", **output}])
        return json.loads(written.replace("MARK", mark))

    return build


ITEMS: dict[str, Callable[[str], list[Any]]] = {
    "message": lambda mark: [{"role": "user", "content": mark}],
    "answer": lambda mark: [{"role": "assistant", "content": [{"type": "output_text", "text": mark}]}],
    "developer": lambda mark: [{"role": "developer", "content": mark}],
    "function_call": build_pair(
        {"type": "function_call", "name": "look", "arguments": '{"a": "MARKcall"}'},
        {"type": "function_call_output", "output": "MARKresult"},
    ),
    "custom_tool_call": build_pair(
        {"type": "custom_tool_call", "name": "write", "input": "MARKcall"},
        {"type": "custom_tool_call_output", "output": "MARKresult"},
    ),
    "shell_call": build_pair(
        {"type": "shell_call", "action": {"commands": ["ls", "MARKcall"]}},
        {
            "type": "shell_call_output",
            "output": [{"stdout": "MARKresult", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}],
        },
    ),
    "local_shell_call": build_pair(
        {"type": "local_shell_call", "action": {"type": "exec", "command": ["cat", "MARKcall"], "env": {}}},
        {"type": "local_shell_call_output", "output": "MARKresult"},
    ),
    "apply_patch_call": build_pair(
        {"type": "apply_patch_call", "operation": {"type": "update_file", "path": "a", "diff": "+MARKcall"}},
        {"type": "apply_patch_call_output", "status": "failed", "output": "MARKresult"},
    ),
    "web_search_call": lambda mark: [{"type": "web_search_call", "action": {"query": mark}}],
    "new_item": lambda mark: [{"type": "new_item", "words": mark}],
}
VENDOR_ITEMS = ("web_search_call", "new_item")


@given(kinds=st.lists(st.sampled_from([*ITEMS]), min_size=1, max_size=5))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_every_item_reaches_the_prompt_or_a_notice(kinds: list[str]):
    marks = [f"mark{number}x" for number in range(len(kinds))]
    items = [item for kind, mark in zip(kinds, marks, strict=True) for item in ITEMS[kind](mark)]
    reply, shown, _ = ask_listening({"model": "m", "input": items}, "/v1/responses")
    assert reply.status == 200, reply.body
    notice = reply.headers.get("x-toolspeak-notice", "")
    for kind, mark in zip(kinds, marks, strict=True):
        if kind in VENDOR_ITEMS:
            assert kind in notice
        elif kind.endswith("_call"):
            assert f"{mark}call" in shown
            assert f"{mark}result" in shown
        else:
            assert mark in shown


TOOLS: dict[str, dict[str, Callable[[str], dict[str, Any]]]] = {
    "/v1/responses": {
        "function": lambda mark: {"type": "function", "name": f"f{mark}", "parameters": {}},
        "custom": lambda mark: {"type": "custom", "name": f"f{mark}"},
        "namespace": lambda mark: {
            "type": "namespace", "name": f"n{mark}", "tools": [{"type": "function", "name": "f", "parameters": {}}],
        },
        "run_shell": lambda mark: {"type": "shell"},
        "run_local_shell": lambda mark: {"type": "local_shell"},
        "apply_patch": lambda mark: {"type": "apply_patch"},
        "web_search": lambda mark: {"type": "web_search"},
        "new_tool": lambda mark: {"type": "new_tool", "words": mark},
    },
    "/v1/chat/completions": {
        "function": lambda mark: {"type": "function", "function": {"name": f"f{mark}"}},
        "custom": lambda mark: {"type": "custom", "custom": {"name": f"f{mark}"}},
        "new_tool": lambda mark: {"type": "new_tool", "words": mark},
    },
    "/v1/messages": {
        "function": lambda mark: {"name": f"f{mark}", "input_schema": {}},
        "bash": lambda mark: {"type": "bash_20250124", "name": "bash"},
        "web_search": lambda mark: {"type": "web_search_20250305", "name": "web_search"},
        "new_tool": lambda mark: {"type": "new_tool", "words": mark},
    },
    GEMINI_PATH: {
        "function": lambda mark: {"functionDeclarations": [{"name": f"f{mark}"}]},
        "googleSearch": lambda mark: {"googleSearch": {}},
        "newTool": lambda mark: {"newTool": {"words": mark}},
    },
}  # fmt: skip
BODIES: dict[str, dict[str, Any]] = {
    "/v1/responses": {"model": "m", "input": "Hi"},
    "/v1/chat/completions": {"model": "m", "messages": [{"role": "user", "content": "Hi"}]},
    "/v1/messages": {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]},
    GEMINI_PATH: {"contents": [{"parts": [{"text": "Hi"}]}]},
}


@pytest.mark.parametrize("path", TOOLS)
@given(data=st.data())
@settings(max_examples=40, deadline=None, derandomize=True)
def test_every_tool_reaches_the_prompt_or_a_notice(path: str, data: st.DataObject):
    kinds = data.draw(st.lists(st.sampled_from([*TOOLS[path]]), min_size=1, max_size=5))
    tools = [TOOLS[path][kind](f"mark{number}x") for number, kind in enumerate(kinds)]
    reply, shown, _ = ask_listening({**BODIES[path], "tools": tools}, path)
    assert reply.status == 200, reply.body
    notice = reply.headers.get("x-toolspeak-notice", "")
    for number, kind in enumerate(kinds):
        assert f"mark{number}x" in shown or kind in shown or kind in notice, (kind, notice)


NAMES = st.sampled_from(
    "user metadata top_k seed reasoning_effort thinking frequency_penalty logprobs background prompt conversation "
    "web_search_options new_field guided_json response_format service_tier".split()
)


def spell(name: str) -> tuple[str, str]:
    """The name of a field, and the same as Gemini's API spells it."""
    first, *others = name.split("_")
    return name, first + "".join(other.title() for other in others)


@pytest.mark.parametrize("path", BODIES)
@given(fields=st.dictionaries(NAMES, st.sampled_from(["mark", 3, True, {"a": "mark"}, ["mark"]]), max_size=4))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_every_field_reaches_the_model_a_notice_or_an_error(path: str, fields: dict[str, Any]):
    reply, _, requests = ask_listening({**BODIES[path], **fields}, path)
    if reply.status != 200:
        assert reply.status == 400
        assert any(each in reply.error for name in fields for each in spell(name))
        return
    told = reply.headers.get("x-toolspeak-notice", "") + repr([request.sampling for request in requests])
    for name in fields:
        assert name in IGNORABLE_FIELDS or any(each in told for each in spell(name)), (name, told)


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_what_is_announced_is_refused_if_strict(place: Place):
    for kind in place.parts:
        reply, _ = send(place, [kind])
        strict, _ = send(place, [kind], strict=True)
        is_whole = reply.status == 200 and "x-toolspeak-notice" not in reply.headers
        assert strict.status == (200 if is_whole else 400)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("messages", "document.file"),
        ("messages", "new_block"),
        ("responses", "input_file.file_id"),
        ("responses", "input_image.file_id"),
        ("gemini", "newPart"),
    ],
)
def test_notices_name_the_part(name: str, kind: str):
    reply, _ = send(PLACES[name], [kind, kind, next(iter(PLACES[name].parts))])
    assert reply.headers["x-toolspeak-notice"] == f"parts of messages left out: {kind}"
    refused, _ = send(PLACES[name], [kind], strict=True)
    assert f"only servers of the vendor can read '{kind}'; send the content itself" in refused.error


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("messages", "document.content"),
        ("messages", "document.blocks"),
        ("chat result", "image_url"),
        ("responses result", "input_file.file_id"),
        ("gemini result", "text"),
    ],
)
def test_what_can_be_read_is(name: str, kind: str):
    reply, shown = send(PLACES[name], [kind])
    assert (reply.status, reaches_model("mark0x", shown)) == (200, True)


def test_calls_of_the_old_form_are_refused_in_words():
    old = {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": "{}"}}
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}, old]}
    reply = ask(app([serve_model(ScriptedModel([says("x")]), TYPESCRIPT)]), body)
    assert (reply.status, reply.error) == (400, "messages[1].function_call: is not supported; use tool_calls")
