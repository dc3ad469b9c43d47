"""Spans of runs in a tracer of OpenTelemetry, against the GenAI conventions and against the recorded facts."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider

from toolspeak import Agent, Limits, Outcome, Tool
from toolspeak.telemetry import Tracing, build_spans
from toolspeak.testing import ScriptedModel, ScriptedReply, breaks, calls, says
from toolspeak.tools import tool
from toolspeak.values.errors import EndpointDown, RunPaused, UsageError
from toolspeak.values.limits import Usage
from toolspeak.values.messages import ToolCall
from toolspeak.values.pieces import ApiCall

from .traced import Collected, Recorded, show_live, show_spans

USAGE = Usage(input_tokens=90, output_tokens=7, cached_tokens=60, cache_write_tokens=5, reasoning_tokens=3)


@tool(effect="read")
def look(city: str) -> str:
    """Look at a city.

    More about it.
    """
    return f"mild in {city}"


async def wait(seconds: float) -> str:
    "Wait."
    await asyncio.sleep(seconds)
    return "waited"


def fail() -> str:
    "Fail."
    raise LookupError("the secret is 42")


@tool(approve=True)
def launch(rocket: str) -> str:
    "Launch a rocket."
    return f"{rocket} flies"


def refuse(call: ToolCall) -> str:
    return f"no secret rockets such as {call.arguments['rocket']}"


def scripted(*lines: Any, name: str = "openai:gpt-5.1", **options: Any) -> ScriptedModel:
    return ScriptedModel(lines, name=name, on_tool_error="tell", **options)


async def run(agent: Agent[Any], record: Recorded, **options: Any) -> Outcome[Any] | None:
    return await agent.arun("Secret question.", record=record.record, **options)


async def leave_stream(agent: Agent[Any], record: Recorded) -> None:
    async with agent.astream("Secret question.", record=record.record) as stream:
        async for event in stream:
            if event.kind == "text_delta":
                break


async def cancel_run(agent: Agent[Any], record: Recorded) -> None:
    task = asyncio.create_task(run(agent, record))
    while not any(fact.kind == "tool_started" for fact, _ in record.facts):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def pause_and_resume(agent: Agent[Any], record: Recorded) -> None:
    with pytest.raises(RunPaused) as paused:
        await run(agent, record)
    approvals = {call.id: True for call in paused.value.calls}
    await agent.aresume(paused.value.facts, approvals=approvals, record=record.record)


async def fail_run(agent: Agent[Any], record: Recorded) -> None:
    with pytest.raises(EndpointDown):
        await run(agent, record)


def expert() -> Tool[..., Any]:
    model = scripted(calls(("look", {"city": "Bonn"})), says("Secret answer."), name="gemini:flash")
    return Agent(model, [look]).as_tool("expert", "Knows cities.")


def desk() -> Tool[..., Any]:
    model = scripted(says(""), calls(("wait", {"seconds": 0})), says("Secret answer."), name="mistral:small")
    return Agent(model, [wait]).as_handoff("desk", "For all else.")


Play = Callable[[Agent[Any], Recorded], Coroutine[Any, Any, Any]]

MALFORMED = ScriptedReply(calls=(ApiCall(index=0, id="a", name="look", arguments="{secret"),))

CASES: dict[str, tuple[Callable[[], dict[str, Any]], Play]] = {
    "answered": (
        lambda: {"model": scripted(calls(("look", {"city": "Rome"})), says("Mild.", usage=USAGE)), "tools": [look]},
        run,
    ),
    "calls that fail": (
        lambda: {
            "model": scripted(calls(("fail", {}), ("look", {"town": "Rome"}), ("unknown", {})), says("Sorry.")),
            "tools": [look, fail],
        },
        run,
    ),
    "changed to fit": (
        lambda: {
            "model": scripted(calls(("wait", {"seconds": "0"}), ("looks", {"city": "Rome"})), says("Sorry.")),
            "tools": [look, wait],
        },
        run,
    ),
    "written as text": (
        lambda: {
            "model": scripted(says("```python\nwait(seconds='0')\n```"), says("Mild.")),
            "tools": [look, wait],
            "dialect": "python",
        },
        run,
    ),
    "malformed": (lambda: {"model": scripted(MALFORMED, says("Sorry.")), "tools": [look]}, run),
    "nested": (
        lambda: {
            "model": scripted(calls(("expert", {"prompt": "?"}), ("look", {"city": "Rome"})), says("Done.")),
            "tools": [expert(), look],
        },
        run,
    ),
    "nested and stopped": (
        lambda: {
            "model": scripted(calls(("slow", {"prompt": "?"}))),
            "tools": [Agent(scripted(calls(("wait", {"seconds": 60}))), [wait]).as_tool("slow", "Slow.", timeout=0.05)],
            "limits": Limits(turns=1),
        },
        run,
    ),
    "handed over": (lambda: {"model": scripted(calls(("desk", {}))), "tools": [desk()]}, run),
    "left": (lambda: {"model": scripted(says("A long answer.", usage=USAGE), chunk=1), "tools": [look]}, leave_stream),
    "cancelled": (lambda: {"model": scripted(calls(("wait", {"seconds": 60}))), "tools": [wait]}, cancel_run),
    "paused": (
        lambda: {"model": scripted(calls(("launch", {"rocket": "A"})), says("It flies.")), "tools": [launch]},
        pause_and_resume,
    ),
    "refused": (
        lambda: {
            "model": scripted(calls(("launch", {"rocket": "A"})), says("Not allowed.")),
            "tools": [launch],
            "approve": refuse,
        },
        run,
    ),
    "restarted": (
        lambda: {
            "model": [scripted(breaks(EndpointDown("gone"), text="So")), scripted(says("Mild."), name="local:qwen")],
            "tools": [look],
        },
        run,
    ),
    "failed": (lambda: {"model": scripted(breaks(EndpointDown("gone"), text="So")), "tools": [look]}, fail_run),
    "limited": (
        lambda: {"model": scripted(calls(("look", {"city": "Rome"}))), "tools": [look], "limits": Limits(turns=1)},
        run,
    ),
}


def play(name: str, *, content: bool = False) -> tuple[list[ReadableSpan], Recorded]:
    """Play a case, and return its live spans and its facts with their times."""
    options, how = CASES[name]
    collected, recorded = Collected(), Recorded()
    agent = Agent(**options(), tracer=Tracing(collected.provider, content=content))
    asyncio.run(how(agent, recorded))
    return collected.spans, recorded


@pytest.mark.parametrize("content", [False, True], ids=["without content", "with content"])
@pytest.mark.parametrize("name", CASES)
def test_a_tracer_and_the_recorded_facts_give_the_same_spans(name: str, content: bool):
    live, recorded = play(name, content=content)
    assert show_live(live) == show_spans(build_spans(recorded.facts, content=content))
    assert live


@pytest.mark.parametrize("name", CASES)
def test_without_content_nothing_that_was_written_is_in_a_span(name: str):
    live, _ = play(name)
    shown = "\n".join(span.to_json() for span in live).lower()
    assert not any(word in shown for word in ("secret", "rome", "mild", "long answer"))
    with_content, _ = play(name, content=True)
    assert "secret question." in "\n".join(span.to_json() for span in with_content).lower()


@pytest.mark.parametrize("name", CASES)
def test_spans_have_what_the_conventions_require(name: str):
    live, _ = play(name)
    for span in live:
        given = dict(span.attributes or {})
        operation = str(given["gen_ai.operation.name"])
        subject = {"invoke_agent": "gen_ai.agent.name", "chat": "gen_ai.request.model"}
        assert span.name == f"{operation} {given.get(subject.get(operation, 'gen_ai.tool.name'), '')}".strip()
        assert span.kind is (trace.SpanKind.CLIENT if operation == "chat" else trace.SpanKind.INTERNAL)
        assert span.status.is_unset or given["error.type"]
        if operation != "execute_tool":
            assert given["gen_ai.provider.name"] in ("openai", "gcp.gemini", "mistral_ai", "local")
        if operation != "chat":
            assert not [key for key in given if key.startswith("gen_ai.usage.")]
        assert (span.start_time or 0) <= (span.end_time or -1)


def test_the_tokens_of_a_turn_are_those_of_the_endpoint():
    chat = play("answered")[0][-1]
    given = dict(chat.attributes or {})
    assert {key: value for key, value in given.items() if key.startswith("gen_ai.usage.")} == {
        "gen_ai.usage.input_tokens": 90,
        "gen_ai.usage.output_tokens": 7,
        "gen_ai.usage.cache_read.input_tokens": 60,
        "gen_ai.usage.cache_creation.input_tokens": 5,
        "gen_ai.usage.reasoning.output_tokens": 3,
    }
    assert given["gen_ai.response.finish_reasons"] == ("stop",)
    assert given["gen_ai.request.model"] == "gpt-5.1"


def find(name: str, case: str, **options: Any) -> ReadableSpan:
    return next(span for span in play(case, **options)[0] if span.name == name)


@pytest.mark.parametrize(
    ("case", "name", "error"),
    [
        ("calls that fail", "execute_tool fail", "LookupError"),
        ("calls that fail", "execute_tool look", "not_run"),
        ("restarted", "chat gpt-5.1", "restarted"),
        ("failed", "invoke_agent", "error"),
        ("left", "invoke_agent", "cancelled"),
        ("left", "chat gpt-5.1", "broke_off"),
        ("cancelled", "invoke_agent", "cancelled"),
        ("limited", "invoke_agent", "limit"),
    ],
)
def test_what_fails_says_so(case: str, name: str, error: str):
    span = find(name, case)
    assert (span.status.status_code.name, dict(span.attributes or {})["error.type"]) == ("ERROR", error)


def test_a_refused_call_is_an_event():
    events = find("chat gpt-5.1", "malformed").events
    assert [(event.name, dict(event.attributes or {})) for event in events] == [
        ("toolspeak.call_refused", {"toolspeak.call.refusal": "malformed"})
    ]
    asked, answered = find("invoke_agent", "refused").events
    assert dict(asked.attributes or {}) == {"gen_ai.tool.name": "launch"}
    assert dict(answered.attributes or {}) == {"gen_ai.tool.name": "launch", "toolspeak.approved": False}


def test_a_run_that_is_resumed_has_a_span_for_each_part():
    parts = [span for span in play("paused")[0] if span.name == "invoke_agent"]
    ids = [dict(span.attributes or {})["gen_ai.conversation.id"] for span in parts]
    assert [dict(span.attributes or {}).get("toolspeak.unfinished") for span in parts] == [True, None]
    assert ids[0] == ids[1]


def test_content_holds_what_was_new_in_each_turn():
    spans = play("answered", content=True)[0]
    given = [dict(span.attributes or {}) for span in spans]
    assert json.loads(str(given[1]["gen_ai.input.messages"])) == [
        {"role": "user", "parts": [{"type": "text", "content": "Secret question."}]}
    ]
    assert json.loads(str(given[2]["gen_ai.tool.call.arguments"])) == {"city": "Rome"}
    assert json.loads(str(given[2]["gen_ai.tool.call.result"])) == "mild in Rome"
    [result] = json.loads(str(given[3]["gen_ai.input.messages"]))
    assert result["parts"][0]["response"] == "mild in Rome"
    [answer] = json.loads(str(given[3]["gen_ai.output.messages"]))
    assert (answer["parts"], answer["finish_reason"]) == ([{"type": "text", "content": "Mild."}], "stop")
    assert [each["name"] for each in json.loads(str(given[0]["gen_ai.tool.definitions"]))] == ["look"]


@pytest.mark.parametrize("content", [False, True], ids=["without content", "with content"])
def test_a_function_that_fails_is_an_exception(content: bool):
    [event] = find("execute_tool fail", "calls that fail", content=content).events
    message = {"exception.message": "the secret is 42"} if content else {}
    assert (event.name, dict(event.attributes or {})) == ("exception", {"exception.type": "LookupError", **message})
    assert find("execute_tool look", "calls that fail").events == ()  # it did not run


def test_content_holds_arguments_as_the_model_wrote_them():
    call = dict(find("execute_tool wait", "changed to fit", content=True).attributes or {})
    assert (call["gen_ai.tool.call.arguments"], call["toolspeak.call.written"]) == ('{"seconds":0}', '{"seconds": "0"}')
    first, second = (span for span in play("changed to fit", content=True)[0] if span.name == "chat gpt-5.1")
    [written] = json.loads(str(dict(first.attributes or {})["gen_ai.output.messages"]))
    assert [part["arguments"] for part in written["parts"]] == [{"seconds": "0"}, {"city": "Rome"}]
    replies = json.loads(str(dict(second.attributes or {})["gen_ai.input.messages"]))
    assert {part["id"]: part["response"] for each in replies for part in each["parts"]} == {
        written["parts"][0]["id"]: "waited",
        written["parts"][1]["id"]: "there is no tool 'looks'. Did you mean look?",
    }
    text = dict(find("chat gpt-5.1", "written as text", content=True).attributes or {})["toolspeak.message.written"]
    assert text == "```python\nwait(seconds='0')\n```"


def test_spans_of_tools_are_below_their_calls_and_runs_below_the_caller():
    collected = Collected()
    own = collected.provider.get_tracer("own")

    def in_thread() -> str:
        "Work in a thread."
        with own.start_as_current_span("thread work"):
            return "done"

    async def in_loop() -> str:
        "Work in the event loop."
        with own.start_as_current_span("task work"):
            await asyncio.sleep(0)
            return "done"

    inner = Agent(scripted(calls(("in_thread", {}), ("in_loop", {})), says("Yes.")), [in_thread, in_loop])
    model = scripted(calls(("inner", {"prompt": "?"}), ("in_thread", {})), says("Done."))
    with own.start_as_current_span("caller"):
        Agent(model, [inner.as_tool("inner", "Inner."), in_thread], tracer=collected.provider).run("Go.")
    paths = [shown.path for shown in show_live(collected.spans)]
    outer = ("caller", "invoke_agent")
    below = (*outer, "execute_tool inner", "invoke_agent inner")
    assert (*outer, "execute_tool in_thread", "thread work") in paths
    assert (*below, "execute_tool in_thread", "thread work") in paths
    assert (*below, "execute_tool in_loop", "task work") in paths


def test_an_inner_agent_with_a_tracer_is_traced_once():
    collected, alone = Collected(), Collected()

    def build(outer: TracerProvider | None, inner: TracerProvider) -> Agent[Any]:
        expert = Agent(scripted(says("Yes.")), tracer=inner)
        model = scripted(calls(("expert", {"prompt": "?"})), says("Done."))
        return Agent(model, [expert.as_tool("expert", "Knows.")], tracer=outer)

    build(collected.provider, collected.provider).run("Go.")
    assert [span.name for span in collected.spans].count("invoke_agent expert") == 1
    build(None, alone.provider).run("Go.")
    assert [span.name for span in alone.spans] == ["invoke_agent", "chat gpt-5.1"]


def test_a_stream_that_is_left_and_forgotten_ends_its_spans():
    collected = Collected()
    stream = Agent(scripted(says("A long answer."), chunk=1), tracer=collected.provider).stream("Go.")
    next(event for event in stream if event.kind == "text_delta")
    del stream
    assert [span.name for span in collected.spans] == ["invoke_agent", "chat gpt-5.1"]


class FailingProcessor(SpanProcessor):
    """Fails at each span."""

    def on_start(self, span: Span, parent_context: Any = None) -> None:
        raise RuntimeError("no disk")


def test_a_tracer_that_fails_does_not_end_the_run(caplog: pytest.LogCaptureFixture):
    provider = TracerProvider()
    provider.add_span_processor(FailingProcessor())
    outcome = Agent(scripted(calls(("look", {"city": "Rome"})), says("Mild.")), [look], tracer=provider).run("Go.")
    assert outcome.text == "Mild."
    assert [record.message for record in caplog.records].count("the tracer failed, and the run goes on without it") == 1


def test_something_else_is_no_tracer():
    with pytest.raises(UsageError, match="tracer is a Tracer or a TracerProvider"):
        Agent(scripted(says("Yes.")), tracer=print)  # type: ignore[arg-type]  # that is what is refused


def test_a_tool_call_of_any_name_makes_a_span_that_can_be_sent():
    name = "\ud800" * 300
    reply = ScriptedReply(calls=(ToolCall(id="", name=name, arguments={}),))
    collected = Collected()
    Agent(scripted(reply, says("Sorry.")), [look], tracer=Tracing(collected.provider, content=True)).run("Go.")
    for span in collected.spans:
        span.to_json().encode()
        assert len(span.name) < 250
        assert span.name.encode()
