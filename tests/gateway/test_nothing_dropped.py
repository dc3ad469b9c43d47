"""Every part of a request reaches the model, or the client is told that it does not: in a header or in an error."""

import base64
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolspeak.dialects import TYPESCRIPT
from toolspeak.gateway import app
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


def send(place: Place, kinds: list[str], *, strict: bool = False) -> tuple[Reply, str]:
    """Send parts, each with a mark of its own; return the answer, and all that the model was shown."""
    shown: list[str] = []

    def listen(request: Request) -> ScriptedReply:
        shown.append(repr(request.shown.messages))
        return says("Fine.")

    model = ScriptedModel([listen] * 3, dialect="typescript")
    body = place.build([place.parts[kind](f"mark{number}x") for number, kind in enumerate(kinds)])
    reply = ask(app([serve_model(model, TYPESCRIPT)], strict=strict), body, path=place.path)
    return reply, "".join(shown)


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
