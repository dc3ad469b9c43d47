"""The kind of an event, or its class, tells its fields."""

from typing import assert_never, assert_type

from toolspeak import Agent, Event, ToolCall, ToolResult
from toolspeak.testing import ScriptedModel, calls, says
from toolspeak.values.events import (
    ArgsDelta,
    Delta,
    NestedDelta,
    RunEnded,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolProgress,
)
from toolspeak.values.messages import Part


def show(event: Event) -> str:
    if event.kind == "text_delta":
        assert_type(event, TextDelta)
        return event.text
    if event.kind == "call_ready":
        assert_type(event.call, ToolCall)
        return f"{event.call.name}({event.call.arguments})"
    if event.kind == "tool_finished":
        assert_type(event, ToolFinished)
        return str(event.result.output)
    if event.kind in ("run_started", "run_ended"):
        return event.kind
    return ""


def show_by_match(event: Event) -> str:
    match event.kind:
        case "text_delta" | "thinking_delta":
            return event.text
        case "run_ended":
            assert_type(event, RunEnded)
            return event.reason
        case _:
            return ""


def show_by_class(event: Event) -> str:
    match event:
        case TextDelta(text=text):
            return text
        case ToolFinished(result=result):
            assert_type(result, ToolResult)
            return result.error or ""
        case _:
            return ""


def read_delta(delta: Delta) -> str:
    """All kinds of deltas: a checker knows that there is no other."""
    if delta.kind == "text_delta":
        return delta.text
    if delta.kind == "thinking_delta":
        assert_type(delta, ThinkingDelta)
        return ""
    if delta.kind == "nested_delta":
        assert_type(delta, NestedDelta)
        return read_delta(delta.event)
    if delta.kind == "tool_progress":
        assert_type(delta, ToolProgress)
        return delta.text
    assert_type(delta, ArgsDelta)
    return delta.call_id


def read_part(part: Part) -> str:
    match part.kind:
        case "text" | "thinking":
            return part.text
        case "call":
            return part.call.name
        case "result":
            return part.call_id
        case "media":
            return part.mime
        case "opaque":
            return part.vendor
        case _:
            assert_never(part.kind)


def double(x: int) -> int:
    """Double a number."""
    return 2 * x


agent = Agent(ScriptedModel([calls(("double", {"x": 21})), says("It is 42.")]), tools=[double])
events = list(agent.stream("What is twice 21?"))
assert [text for text in map(show, events) if text] == [
    "run_started",
    "double({'x': 21})",
    "42",
    "It is 42.",
    "run_ended",
]
assert "".join(map(show_by_match, events)) == "It is 42.answered"
assert "".join(map(show_by_class, events)) == "It is 42."
