"""`SpanFold` for any facts: spans end, lie within their parents, and have ids of their own."""

import asyncio
from collections.abc import Sequence
from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from toolspeak.telemetry import SpanFold, TraceSpan, build_spans
from toolspeak.telemetry.names import split_model_name
from toolspeak.values.events import (
    ApprovalGiven,
    ApprovalNeeded,
    CallMalformed,
    CallQuoted,
    CallReady,
    CallStarted,
    Compacted,
    Fact,
    Guided,
    HandedOver,
    Interrupted,
    NestedFact,
    OwnFact,
    RunEnded,
    RunResumed,
    RunStarted,
    SaidInThought,
    ToolFinished,
    ToolStarted,
    ToolSuspended,
    TurnEnded,
    TurnRestarted,
    TurnStarted,
    WaitOver,
)
from toolspeak.values.limits import Usage
from toolspeak.values.messages import ToolCall, ToolResult, assistant, user

from .test_tracing import CASES
from .traced import Recorded

IDS = ("a", "b")


def own_facts() -> list[OwnFact]:
    """Return a fact of each kind, for two calls."""
    facts: list[OwnFact] = [
        RunStarted(run_id="r", model="openai:gpt", dialect="python", messages=(user("?"),)),
        RunResumed(),
        Compacted(through=2, dropped=2, summary="So far.", usage=Usage(input_tokens=9)),
        TurnStarted(turn=1, model="openai:gpt"),
        TurnRestarted(turn=1, failed="openai:gpt", reason="gone", model="local:q"),
        SaidInThought(),
        Guided(cause="repeated", step="told", tools=("tool a",)),
        TurnEnded(message=assistant("Yes."), finish="stop", usage=Usage(output_tokens=1)),
        Interrupted(cause="cancelled"),
        RunEnded(reason="answered"),
        RunEnded(reason="error", detail="gone"),
    ]
    for name in IDS:
        call = ToolCall(id=name, name=f"tool {name}", arguments={})
        facts += [
            CallStarted(call_id=name, name=call.name),
            CallReady(call=call, repair="quotes"),
            CallQuoted(call_id=name, result_id="x"),
            CallMalformed(call_id=name, name=None, raw="{", reason="it is cut"),
            ApprovalNeeded(call=call),
            ApprovalGiven(call_id=name, approved=False),
            ToolStarted(call_id=name),
            ToolSuspended(call_id=name, number=1, signal="paid"),
            WaitOver(call_id=name, number=1, signal="paid", came=True),
            ToolFinished(result=ToolResult(call_id=name, error="ValueError: no")),
            HandedOver(call_id=name, agent="desk", model="m", dialect="json"),
        ]
    return facts


def put_inside(fact: OwnFact, path: list[str]) -> Fact:
    return NestedFact(path=tuple(path), event=fact) if path else fact


ANY_FACT = st.builds(put_inside, st.sampled_from(own_facts()), st.lists(st.sampled_from(IDS), max_size=2))


def check(spans: Sequence[TraceSpan]) -> None:
    """Check what holds for the spans of any facts."""
    known = {span.id: span for span in spans}
    assert len(known) == len(spans)
    for span in spans:
        assert span.end is not None
        assert span.end >= span.start
        assert all(span.start <= event.at <= span.end for event in span.events)
        if span.parent_id is not None:
            parent = known[span.parent_id]
            assert parent.end is not None
            assert parent.start <= span.start
            assert span.end <= parent.end
            assert span.trace_id == parent.trace_id


@given(facts=st.lists(ANY_FACT, max_size=25), steps=st.lists(st.integers(-2, 9), min_size=25, max_size=25))
@settings(deadline=None, max_examples=150)
def test_any_facts_in_any_order_give_spans_that_end_within_their_parents(facts: list[Fact], steps: list[int]):
    at, timed = 1000, list[tuple[Fact, int]]()
    for fact, step in zip(facts, steps, strict=False):
        at += step  # the clock may be set back
        timed.append((fact, at))
    check(build_spans(timed, content=True))


def test_an_inner_run_that_is_resumed_ends_the_spans_that_were_open():
    started = RunStarted(run_id="r", model="openai:gpt", dialect="python", messages=())
    facts = [started, ToolStarted(call_id="a"), put_inside(started, ["a"]), put_inside(RunResumed(), ["a"])]
    spans = build_spans([(fact, 10 * number) for number, fact in enumerate(facts, 1)])
    check(spans)
    assert [(span.name, span.start, span.end) for span in spans if span.parent_id != spans[0].id] == [
        ("invoke_agent", 10, 40),
        ("invoke_agent", 30, 30),
        ("invoke_agent", 40, 40),
    ]


@cache
def recorded() -> list[list[tuple[Fact, int]]]:
    """Return the facts of runs of all sorts: nested, resumed, cancelled, restarted, …"""
    from toolspeak import Agent

    runs: list[list[tuple[Fact, int]]] = []
    for options, how in CASES.values():
        record = Recorded()
        asyncio.run(how(Agent(**options()), record))
        runs.append(record.facts)
    return runs


def test_any_beginning_of_a_run_gives_the_spans_of_the_whole_as_far_as_they_go():
    for facts in recorded():
        whole = build_spans(facts)
        for length in range(len(facts) + 1):
            spans = build_spans(facts[:length])
            check(spans)
            assert [(each.id, each.name, each.start) for each in spans] == [
                (each.id, each.name, each.start) for each in whole[: len(spans)]
            ]


def test_a_listener_hears_of_each_span_at_its_start_and_once_at_its_end():
    for facts in recorded():
        started, ended = list[TraceSpan](), list[TraceSpan]()
        fold = SpanFold()
        fold.listen(lambda span, started=started: started.append(span), ended.append)
        for fact, at in facts:
            fold.add(fact, at)
        fold.close()
        fold.close()
        assert sorted(span.id for span in started) == sorted(span.id for span in ended)


def test_a_run_that_is_resumed_elsewhere_needs_its_earlier_facts_only():
    timed = next(facts for facts in recorded() if any(isinstance(fact, RunResumed) for fact, _ in facts))
    at = next(place for place, (fact, _) in enumerate(timed) if isinstance(fact, RunResumed))
    later = list[TraceSpan]()
    fold = SpanFold()
    for fact, _ in timed[:at]:
        fold.add(fact, 0)
    fold.forget_spans()
    fold.listen(later.append)
    for fact, time in timed[at:]:
        fold.add(fact, time)
    whole = build_spans(timed)
    assert later == whole[-len(later) :]
    assert len(later) < len(whole)


def test_the_summary_of_a_long_conversation_counts_as_a_request():
    facts: list[Fact] = [
        RunStarted(run_id="r", model="openai:gpt", dialect="python", messages=(user("?"),)),
        Compacted(through=2, dropped=2, summary="So far.", usage=Usage(input_tokens=9, output_tokens=2), cost=0.5),
        RunEnded(reason="answered"),
    ]
    run, summary = build_spans((fact, 10 * number) for number, fact in enumerate(facts, 1))
    assert (summary.name, summary.start, summary.end) == ("chat gpt", 10, 20)
    assert summary.attributes["gen_ai.usage.input_tokens"] == 9
    assert summary.attributes["toolspeak.cost"] == 0.5
    assert run.events[0].attributes == {"toolspeak.messages.dropped": 2, "toolspeak.results.shortened": 0}


def test_the_name_of_a_model_says_who_provides_it():
    assert split_model_name("ollama:qwen3:8b")[:2] == ("ollama", "qwen3:8b")
    assert split_model_name("program")[:2] == ("toolspeak", "program")
    assert split_model_name("localhost:8000:a:b") == ("localhost:8000", "a:b", "localhost", 8000)


def test_a_call_that_waits_has_a_span_for_each_time_that_it_runs() -> None:
    facts: list[Fact] = [
        RunStarted(run_id="r", model="m", dialect="python", messages=(user("?"),)),
        CallReady(call=ToolCall(id="a", name="ship", arguments={})),
        ToolStarted(call_id="a"),
        ToolSuspended(call_id="a", number=1, signal="paid"),
        RunResumed(),
        WaitOver(call_id="a", number=1, signal="paid", came=True),
        ToolStarted(call_id="a"),
        ToolFinished(result=ToolResult(call_id="a", output="sent")),
        RunEnded(reason="answered"),
    ]
    spans = build_spans((fact, at) for at, fact in enumerate(facts))
    assert [(span.name, span.start, span.end) for span in spans] == [
        ("invoke_agent", 0, 3),
        ("execute_tool ship", 2, 3),
        ("invoke_agent", 4, 8),
        ("execute_tool ship", 6, 7),
    ]
    assert [[event.name for event in span.events] for span in spans if span.events] == [
        ["toolspeak.tool_suspended"],
        ["toolspeak.wait_over"],
    ]
