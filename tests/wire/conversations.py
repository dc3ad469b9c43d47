"""Conversations and answers for the tests of both wires: one with everything in it, and any."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from toolspeak.values.events import (
    ArgsDelta,
    CallReady,
    CallStarted,
    Event,
    FinishReason,
    TextDelta,
    ThinkingDelta,
    TurnEnded,
    Usage,
)
from toolspeak.values.messages import (
    Call,
    Extra,
    Media,
    Message,
    Opaque,
    Part,
    Result,
    Text,
    Thinking,
    ToolCall,
    system,
    user,
)
from toolspeak.values.origin import Origin
from toolspeak.values.pieces import ApiCall
from toolspeak.values.spec import ToolSpec
from toolspeak.wire.chat_request import NO_QUIRKS, ChatRequest, Quirks
from toolspeak.wire.schemas import NO_CHANGES, SchemaRules

WEATHER = ToolSpec(
    name="get_weather",
    description="The weather in a town.",
    origin=Origin.FOREIGN_DESCRIPTION,
    parameters={
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer", "default": 1}},
        "required": ["city"],
        "additionalProperties": False,
    },
)
NOW = ToolSpec(
    name="now",
    description="The time.",
    origin=Origin.FOREIGN_DESCRIPTION,
    parameters={"type": "object", "properties": {}, "additionalProperties": False},
)
TOOLS = (WEATHER, NOW)
PATCH = ToolSpec(
    name="apply_patch",
    description="Changes files.",
    origin=Origin.FOREIGN_DESCRIPTION,
    parameters={"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]},
    raw="input",
)


def tools_of(vendor: str) -> tuple[ToolSpec, ...]:
    """The tools of a conversation. Only one API has tools that take a raw text."""
    return (*TOOLS, PATCH) if vendor == "openai-responses" else TOOLS


PNG = Media(mime="image/png", data=b"\x89PNG")
PHOTO = Media(mime="image/jpeg", url="https://example.org/photo.jpg")
PDF = Media(mime="application/pdf", data=b"%PDF-1.7")
SOUND = Media(mime="audio/wav", data=b"RIFF")
NOTES = Media(mime="text/plain", data="Straße".encode())


def body_of(
    wire: Any,
    messages: Sequence[Message],
    *,
    tools: Sequence[ToolSpec] = (),
    quirks: Quirks = NO_QUIRKS,
    rules: SchemaRules = NO_CHANGES,
    vendor: str | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """The body of a request to the model "m"."""
    request = ChatRequest(model="m", messages=tuple(messages), tools=tuple(tools), **fields)
    return wire.request_body(request, quirks=quirks, rules=rules, vendor=vendor or wire.VENDOR)


def read_back(wire: Any, request: ChatRequest) -> ChatRequest:
    """A request as the server side reads what the client side writes."""
    return wire.read_request(json.loads(json.dumps(wire.request_body(request))), wire.request_path(request))


def call(call_id: str, name: str = "get_weather", extra: Extra | None = None, /, **arguments: Any) -> Call:
    return Call(call=ToolCall(id=call_id, name=name, arguments=arguments), extra=extra)


def result(call_id: str, *content: str | Media, is_error: bool = False) -> Result:
    shown = tuple(Text(text=each) if isinstance(each, str) else each for each in content)
    return Result(call_id=call_id, content=shown, is_error=is_error)


def message(role: Any, *parts: Part | str) -> Message:
    return Message(role=role, parts=tuple(Text(text=part) if isinstance(part, str) else part for part in parts))


def everything(vendor: str) -> tuple[Message, ...]:
    """A conversation with every sort of part, among them those of another vendor."""
    other = Extra(vendor="another", data={"signature": "theirs", "field": "reasoning"})
    signed = Extra(vendor="anthropic", data={"signature": "c2ln"})
    return (
        system("Be brief."),
        system("Be kind."),
        message("user", "What is this?", PNG, PHOTO, PDF, NOTES, SOUND),
        message(
            "assistant",
            Thinking(text="Hm.", extra=signed if vendor == "anthropic" else None),
            Thinking(text="Theirs.", extra=other),
            Opaque(vendor="another", data={"type": "block"}),
            "A picture.",
            call("call_1", city="Köln"),
            call("call_2", "now", other),
        ),
        message("tool", result("call_1", "12 °C", PNG), result("call_2", "It broke.", is_error=True), "Be quick."),
        message("assistant", Thinking(text="Only thoughts.")),
        message("assistant", "It is 12 °C."),
        user("Thanks."),
        user("And tomorrow?"),
    )


# Any conversation

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12).filter(str.strip)
SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    SCALARS | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4) | st.just("$call"), inner, max_size=3)
    ),
    max_leaves=5,
)
ARGUMENTS = st.dictionaries(st.text(max_size=5), JSON, max_size=3)
IMAGES = st.builds(
    Media, mime=st.sampled_from(["image/png", "image/webp"]), data=st.binary(min_size=1, max_size=8)
) | st.builds(
    Media,
    mime=st.just("image/gif"),
    url=st.sampled_from(["https://example.org/a.gif", "http://example.org/b.gif?c=.png"]),
)


@st.composite
def user_messages(draw: st.DrawFn) -> Message:
    if draw(st.booleans()):
        return user(draw(TEXTS))
    parts: list[Part] = [draw(IMAGES)]
    if draw(st.booleans()):
        parts.insert(draw(st.integers(0, 1)), Text(text=draw(TEXTS)))
    return Message(role="user", parts=tuple(parts))


@st.composite
def answers(draw: st.DrawFn, vendor: str, first_id: int = 0) -> Message:
    """An assistant message as a wire gives it back."""
    parts: list[Part] = []
    if draw(st.booleans()):
        text = draw(TEXTS)
        parts.append(Thinking(text=text, extra=Extra(vendor=vendor, data=draw(reasoning_data(vendor, text)))))
    count = draw(st.integers(0, 3))
    if draw(st.booleans()) or not count:
        parts.append(Text(text=draw(TEXTS), extra=item_id(vendor, f"msg_{first_id}") or draw(signatures(vendor))))
    for number in range(first_id, first_id + count):
        name = draw(st.sampled_from([tool.name for tool in tools_of(vendor)]))
        is_raw = name == PATCH.name
        arguments = {"input": draw(st.text(st.characters(exclude_categories=["Cs"])))} if is_raw else draw(ARGUMENTS)
        more = {"type": "custom_tool_call"} if is_raw else {}
        called = ToolCall(id=f"call_{number}", name=name, arguments=arguments)
        own = item_id(vendor, f"{'ctc' if is_raw else 'fc'}_{number}", **more) or draw(signatures(vendor))
        parts.append(Call(call=called, extra=own))
    return Message(role="assistant", parts=tuple(parts))


def reasoning_data(vendor: str, text: str) -> st.SearchStrategy[dict[str, Any]]:
    """What a vendor puts on reasoning."""
    match vendor:
        case "anthropic":
            return TEXTS.map(lambda signature: {"signature": signature})
        case "openai-responses":
            content = [{"type": "reasoning_text", "text": text}]
            item = {"id": "rs_1", "summary": [], "content": content}
            return st.sampled_from([item, {**item, "encrypted_content": "ZW5j"}])
        case "gemini":
            return st.just({"thought": True})
        case _:
            return st.just({"field": "reasoning_content"})


def signatures(vendor: str) -> st.SearchStrategy[Extra | None]:
    """What one vendor puts on some texts and calls."""
    signed = TEXTS.map(lambda signature: Extra(vendor=vendor, data={"thoughtSignature": signature}))
    return st.none() | signed if vendor == "gemini" else st.none()


def item_id(vendor: str, own: str, **more: str) -> Extra | None:
    """Every item of an answer has an id in one of the APIs."""
    return Extra(vendor=vendor, data={"id": own, **more}) if vendor == "openai-responses" else None


def without_ids(parts: Sequence[Part]) -> tuple[Part, ...]:
    """The parts without the ids of their items, which a stream gives before the vendor's ids are known."""
    changed: list[Part] = []
    for part in parts:
        if isinstance(part, Text | Thinking | Call) and part.extra is not None:
            data = {key: value for key, value in part.extra.data.items() if key != "id"}
            part = replace(part, extra=replace(part.extra, data=data) if data else None)
        changed.append(part)
    return tuple(changed)


@st.composite
def conversations(draw: st.DrawFn, vendor: str) -> tuple[Message, ...]:
    messages = [system(draw(TEXTS))] if draw(st.booleans()) else []
    messages.append(draw(user_messages()))
    calls = 0
    for _ in range(draw(st.integers(0, 3))):
        said = draw(answers(vendor, calls))
        messages.append(said)
        calls += len(said.calls)
        if said.calls:
            results = tuple(
                Result(call_id=each.id, content=(Text(text=draw(TEXTS)),), is_error=vendor in ("anthropic", "gemini") and draw(st.booleans()))
                for each in said.calls
            )  # fmt: skip
            messages.append(Message(role="tool", parts=results))
        else:
            messages.append(draw(user_messages()))
    return tuple(messages)


# An answer as it is told


@st.composite
def tellings(draw: st.DrawFn, vendor: str) -> tuple[Message, list[Event]]:
    """An answer, and events that tell it."""
    said = draw(answers(vendor))
    events: list[Event] = []
    for part in said.parts:
        if isinstance(part, Call):
            events += told_call(part.call, draw(st.integers(0, 3)))
        elif isinstance(part, Text | Thinking):
            sort = TextDelta if isinstance(part, Text) else ThinkingDelta
            events += [sort(text=piece) for piece in pieces(part.text, draw(st.integers(1, 4)))]
    usage = draw(
        st.builds(
            Usage, input_tokens=st.integers(10, 99), output_tokens=st.integers(0, 9), cached_tokens=st.integers(0, 9)
        )
    )
    finish: FinishReason = (
        "tool_calls" if said.calls else draw(st.sampled_from(["stop", "length", "refused", "closed"]))
    )
    return said, [*events, TurnEnded(message=said, finish=finish, usage=usage)]


def told_call(called: ToolCall, manner: int) -> list[Event]:
    """The events of a call: all at once, announced, or piece by piece."""
    events: list[Event] = [] if manner == 0 else [CallStarted(call_id=called.id, name=called.name)]
    if manner > 1:
        spelled = pieces(json.dumps(called.arguments, ensure_ascii=False), manner)
        events += [ArgsDelta(call_id=called.id, text=piece) for piece in spelled]
    return [*events, CallReady(call=called)]


def pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def understood(parts: Sequence[Part | ApiCall]) -> tuple[Part, ...]:
    """The parts of an answer with its calls read."""
    return tuple(
        Call(call=ToolCall(id=part.id, name=part.name, arguments=json.loads(part.arguments)), extra=part.extra)
        if isinstance(part, ApiCall)
        else part
        for part in parts
    )
