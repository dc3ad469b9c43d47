"""An answer is read the same however it arrives, and the message that comes of it can always be sent again."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from tests.reading.corpus import as_record, texts
from toolspeak.dialects import DIALECTS
from toolspeak.reading.source import FREE_REWOUND_CHARS, REWOUND_PER_CHAR, Budget
from toolspeak.reading.values import MAX_VALUE_NESTING
from toolspeak.turns import TurnReader
from toolspeak.turns.native_calls import NativeCalls
from toolspeak.values.codec import dump_messages, load_messages
from toolspeak.values.events import CallMalformed, CallReady, Event, FinishReason, SaidInThought, TurnEnded, Usage
from toolspeak.values.messages import Call, Extra, Opaque, Part, Raw, Text, Thinking, ToolCall
from toolspeak.values.pieces import Answer, ApiCall, CallPiece, Piece, TextDelta, ThinkingDelta
from toolspeak.values.spec import ToolSpec
from toolspeak.values.work_budget import FREE_STEPS, STEPS_PER_NODE

WEATHER = ToolSpec(
    name="get_weather",
    description="The weather.",
    parameters={
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "more": {}},
        "required": ["city"],
        "additionalProperties": False,
    },
)
NOW = ToolSpec(
    name="now", description="The time.", parameters={"type": "object", "properties": {}, "additionalProperties": False}
)
SPECS = [WEATHER, NOW]
PARIS = '{"city": "Paris"}'


def api_calls(*arguments: str, name: str = "get_weather", ids: str | None = None) -> list[ApiCall]:
    return [
        ApiCall(index=index, id=f"id{index}" if ids is None else ids, name=name, arguments=text)
        for index, text in enumerate(arguments)
    ]


def stream(answer: Answer, size: int = 1_000_000) -> list[Piece]:
    """The pieces in which an answer may arrive."""
    pieces: list[Piece] = []
    for part in answer.parts:
        if isinstance(part, ApiCall):
            pieces.append(CallPiece(index=part.index, id=part.id, name=part.name))
            pieces += [CallPiece(index=part.index, arguments=text) for text in cut(part.arguments, size)]
        elif isinstance(part, Text):
            pieces += [TextDelta(text=text) for text in cut(part.text, size)]
        elif isinstance(part, Thinking):
            pieces += [ThinkingDelta(text=text) for text in cut(part.text, size)]
    return [*pieces, answer]


def cut(text: str, size: int) -> list[str]:
    return [text[place : place + size] for place in range(0, len(text), size)]


def read(pieces: list[Piece], dialect: str = "native", **options: Any) -> list[Event]:
    reader = TurnReader(DIALECTS[dialect], SPECS, **options)
    return reader.feed(pieces)


def facts(events: list[Event]) -> list[Event]:
    return [event for event in events if not event.kind.endswith("_delta")]


def ended(events: list[Event]) -> TurnEnded:
    [last] = [event for event in events if isinstance(event, TurnEnded)]
    assert events[-1] is last
    thought = max((place for place, event in enumerate(events) if isinstance(event, SaidInThought)), default=-1)
    told = [event for event in events[thought + 1 :] if isinstance(event, CallReady | CallMalformed)]
    ids = [event.call.id if isinstance(event, CallReady) else event.call_id for event in told]
    assert sorted(call.id for call in last.message.calls) == sorted(ids), "what is told is what the message holds"
    assert len(set(ids)) == len(ids)
    assert load_messages(dump_messages([last.message])) == (last.message,)
    json.dumps([call.arguments for call in last.message.calls], default=repr, allow_nan=False)
    for each in DIALECTS.values():
        each.render(SPECS, [last.message])
    return last


# However it arrives


@pytest.mark.parametrize("dialect", DIALECTS)
@settings(max_examples=settings().max_examples // 3)
@given(
    text=texts,
    thinking=st.text(max_size=8),
    arguments=st.lists(st.sampled_from([PARIS, "", "null", '{"city": "x}"}', "{'city': 'P}'}", "[1", "{}{}", "{}}"])),
    finish=st.sampled_from(["stop", "tool_calls", "length", "error"]),
    size=st.integers(1, 9),
)
def test_any_chunking_gives_the_same(
    dialect: str, text: str, thinking: str, arguments: list[str], finish: FinishReason, size: int
):
    note(as_record(SPECS, text))
    parts: list[Part | ApiCall] = [Thinking(text=thinking), Text(text=text), *api_calls(*arguments)]
    answer = Answer(parts=tuple(parts), finish=finish)
    at_once, whole, chunked = (read(pieces, dialect) for pieces in ([answer], stream(answer), stream(answer, size)))
    assert ended(at_once) == ended(whole) == ended(chunked)
    assert facts(whole) == facts(chunked)


@settings(max_examples=settings().max_examples // 3)
@given(text=texts, size=st.integers(1, 9))
@pytest.mark.parametrize("dialect", ["json", "typescript", "python"])
def test_reading_ends_with_the_first_call_wherever_that_is(dialect: str, text: str, size: int):
    note(as_record(SPECS, text))
    answer = Answer(parts=(Text(text=text),), finish="stop")
    at_once, chunked = (read(pieces, dialect, single=True) for pieces in ([answer], stream(answer, size)))
    assert ended(at_once) == ended(chunked)


def test_a_call_of_the_api_is_told_when_its_arguments_are_whole():
    reader = TurnReader(DIALECTS["native"], SPECS)
    assert reader.feed([CallPiece(index=0, id="a", name="get_weather")]) == []
    assert [event.kind for event in reader.feed([CallPiece(index=0, arguments='{"city": "P')])] == [
        "call_started",
        "args_delta",
    ]
    assert [event.kind for event in reader.feed([CallPiece(index=0, arguments='}"')])] == ["args_delta"]
    told = reader.feed([CallPiece(index=0, arguments="}")])
    assert told[-1] == CallReady(call=ToolCall(id="a", name="get_weather", arguments={"city": "P}"}))
    assert reader.feed([CallPiece(index=0, arguments=" \n")]) == []


def test_calls_may_be_interleaved():
    pieces = [
        CallPiece(index=0, id="a", name="get_weather"),
        CallPiece(index=1, id="b", name="now"),
        CallPiece(index=0, arguments='{"city": '),
        CallPiece(index=1, arguments="{}"),
        CallPiece(index=0, arguments='"Oslo"}'),
        Answer(
            parts=(
                ApiCall(index=0, id="a", name="get_weather", arguments='{"city": "Oslo"}'),
                ApiCall(index=1, id="b", name="now", arguments="{}"),
            ),
            finish="tool_calls",
        ),
    ]
    events = read(pieces)
    assert [event.call.id for event in events if isinstance(event, CallReady)] == ["b", "a"]
    assert [call.id for call in ended(events).message.calls] == ["a", "b"]


# Arguments

ARGUMENTS: dict[str, tuple[str, Any]] = {
    "whole": (PARIS, {"city": "Paris"}),
    "with space around": (f"\n {PARIS} \n", {"city": "Paris"}),
    "truncated in a text": ('{"city": "Par', None),
    "truncated after a value": ('{"city": "Paris"', {"city": "Paris"}),
    "truncated before a value": ('{"city": ', None),
    "empty": ("", {}),
    "null": ("null", {}),
    "an array": ("[1, 2]", None),
    "an array of one": ('["Paris"]', {"city": "Paris"}),
    "a text, where one is needed": ('"Paris"', {"city": "Paris"}),
    "double-encoded": (json.dumps(PARIS), {"city": "Paris"}),
    "encoded three times": (json.dumps(json.dumps(PARIS)), {"city": "Paris"}),
    "a number as text": ('{"city": "Paris", "days": "3"}', {"city": "Paris", "days": 3}),
    "not a number": ('{"city": "Paris", "more": NaN}', None),
    "too large a number": ('{"city": "Paris", "more": 1e999}', None),
    "a key twice": ('{"city": "Rome", "city": "Paris"}', {"city": "Paris"}),
    "a trailing comma": ('{"city": "Paris",}', {"city": "Paris"}),
    "single quotes": ("{'city': 'Pa}ris'}", {"city": "Pa}ris"}),
    "twice": (PARIS + PARIS, {"city": "Paris"}),
    "one brace too many": (PARIS + "}", {"city": "Paris"}),
    "words after it": (PARIS + " and so on", {"city": "Paris"}),
    "not JSON at all": ("Paris, please", None),
    "a lone surrogate": ('{"city": "\\ud800"}', {"city": "\ud800"}),
    "a letter of zero": ('{"city": "\\u0000"}', {"city": "\0"}),
    "10,000 deep": ('{"city": "x", "more": ' + "[" * 10_000 + "]" * 10_000 + "}", None),
    "10,000 deep and cut": ('{"city": "x", "more": ' + "[" * 10_000, None),
    "700 deep": ('{"city": "x", "more": ' + "[" * 700 + "]" * 700 + "}", None),
    "as deep as may be": (
        '{"city": "x", "more": ' + "[" * (MAX_VALUE_NESTING - 1) + "]" * (MAX_VALUE_NESTING - 1) + "}",
        ...,
    ),
    "deep in a text": ('{"city": "x", "more": ' + json.dumps("[" * 700 + "]" * 700) + "}", ...),
    "5 MB": ('{"city": "' + "x" * 5_000_000 + '"}', {"city": "x" * 5_000_000}),
    "5 MB, cut": ('{"city": "' + "x" * 5_000_000, None),
    "a million digits": ('{"city": "x", "more": ' + "1" * 1_000_000 + "}", None),
}


@pytest.mark.parametrize("size", [1_000_000, 997])
@pytest.mark.parametrize("case", ARGUMENTS)
def test_arguments_of_every_sort(case: str, size: int):
    text, meant = ARGUMENTS[case]
    answer = Answer(parts=tuple(api_calls(text)), finish="tool_calls")
    last = ended(read(stream(answer, size)))
    assert last == ended(read([answer]))
    [told] = [event for event in read([answer]) if isinstance(event, CallReady | CallMalformed)]
    if meant is None:
        assert isinstance(told, CallMalformed), told
        assert told.hint
        assert last.message.calls[0].arguments == {}
    else:
        assert isinstance(told, CallReady), told
        assert meant is ... or told.call.arguments == meant


@pytest.mark.parametrize("finish", ["length", "error", "refused"])
def test_nothing_is_completed_when_the_message_was_cut(finish: FinishReason):
    answer = Answer(parts=tuple(api_calls(PARIS, '{"city": "Rome"')), finish=finish)
    told = [type(event) for event in read([answer]) if isinstance(event, CallReady | CallMalformed)]
    assert told == [CallReady, CallMalformed]
    cut = Answer(parts=tuple(api_calls("")), finish=finish)  # before its arguments came
    assert [type(event) for event in read([cut])][1:-1] == [CallMalformed]


def test_a_wrong_case_is_forgiven_and_an_unknown_tool_is_told_the_nearest():
    events = read([Answer(parts=tuple(api_calls(PARIS, name="Get-Weather")), finish="stop")])
    [ready] = [event for event in events if isinstance(event, CallReady)]
    assert ready.call.name == "get_weather"
    events = read([Answer(parts=tuple(api_calls(PARIS, name="get_wether")), finish="stop")])
    [malformed] = [event for event in events if isinstance(event, CallMalformed)]
    assert "get_weather" in malformed.hint
    events = read([Answer(parts=tuple(api_calls("{}", name="")), finish="stop")])
    assert ended(events).message.calls[0].name == "unknown"


# Ids


@pytest.mark.parametrize("ids", ["", "same", "x" * 10_000], ids=["missing", "duplicate", "10 KB"])
def test_ids_are_made_unique(ids: str):
    answer = Answer(parts=tuple(api_calls(PARIS, PARIS, PARIS, ids=ids)), finish="tool_calls")
    assert len({call.id for call in ended(read([answer])).message.calls}) == 3
    assert all(len(call.id) <= 200 for call in ended(read(stream(answer))).message.calls)


def test_an_id_of_an_earlier_call_is_not_used_again():
    answer = Answer(parts=tuple(api_calls(PARIS, ids="used")), finish="tool_calls")
    [call] = ended(read([answer], taken={"used", "call_1"}, prefix="call")).message.calls
    assert call.id not in ("used", "call_1")


def test_calls_in_a_text_and_of_the_api_do_not_share_ids():
    answer = Answer(parts=(Text(text="```python\nnow()\n```"), *api_calls(PARIS, ids="")), finish="stop")
    assert len(ended(read([answer], "python", prefix="call_1")).message.calls) == 2


# Reasoning


@pytest.mark.parametrize("text", ["</think>", "</think>\n\n", "Let me see.</think>", "Let me see.</think>Well:"])
@pytest.mark.parametrize("size", [1_000_000, 3])
def test_a_lone_closing_tag_does_not_take_back_calls_of_the_api(text: str, size: int):
    answer = Answer(parts=(Text(text=text), *api_calls(PARIS)), finish="tool_calls")
    for pieces in ([answer], stream(answer, size)):
        events = read(pieces)
        kinds = [event.kind for event in events]
        assert "said_in_thought" not in kinds[kinds.index("call_ready") :]
        assert [call.name for call in ended(events).message.calls] == ["get_weather"]
        assert "think" not in ended(events).message.text


CALLS_NOW = '<tool_call>{"name": "now", "arguments": {}}</tool_call>'


@pytest.mark.parametrize("size", [1_000_000, 3, 1])
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("text", "in_text"),
    [
        pytest.param(
            '<think>…</think>\n\n <tool_calls>[\n    {"name": "get_weather", "arguments": {"city": "Paris", "days": 3}',
            [{"city": "Paris", "days": 3}],
            id="a call that is found at the end of the text",
        ),
        pytest.param(CALLS_NOW + "</think>", [], id="a call in the reasoning"),
        pytest.param(CALLS_NOW + "</think>\n" + CALLS_NOW, [{}], id="a call in the reasoning and one after it"),
        pytest.param("Hm.</think>\n" + CALLS_NOW, [{}], id="a call after the reasoning"),
    ],
)
def test_reasoning_never_takes_back_a_call_of_the_api(
    text: str, in_text: list[dict[str, Any]], dialect: str, size: int
):
    answer = Answer(parts=(Text(text=text), *api_calls(PARIS)), finish="stop")
    expected = [{"city": "Paris"}, *(in_text if DIALECTS[dialect].in_text else [])]
    for pieces in ([answer], stream(answer, size)):
        assert [call.arguments for call in ended(read(pieces, dialect)).message.calls] == expected


@pytest.mark.parametrize("size", [1_000_000, 3, 1])
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("text", "thinking", "said", "calls"),
    [
        (CALLS_NOW + "</think>Hello.", "", "Hello.", []),
        (CALLS_NOW + "Hm.</think>Hello.", "Hm.", "Hello.", []),
        ("Hm.</think>Hello." + CALLS_NOW, "Hm.", "Hello.", ["now"]),
    ],
)
def test_a_call_in_reasoning_does_not_count(
    text: str, thinking: str, said: str, calls: list[str], dialect: str, size: int
):
    answer = Answer(parts=(Text(text=text),), finish="stop")
    for pieces in ([answer], stream(answer, size)):
        message = ended(read(pieces, dialect)).message
        assert [part.text for part in message.parts if isinstance(part, Thinking)] == ([thinking] if thinking else [])
        assert message.text == said
        assert [call.name for call in message.calls] == calls


def test_what_was_thought_is_kept_as_reasoning():
    message = ended(read([Answer(parts=(Text(text="Hm.</think>Hello."),), finish="stop")], "json")).message
    assert message.parts == (Thinking(text="Hm."), Text(text="Hello."))
    assert message.raw == Raw(dialect="json", text="Hm.</think>Hello.")


# What it keeps


def test_what_a_vendor_said_stays_where_it_was():
    extra = Extra(vendor="v", data={"signature": "s"})
    parts = (
        Thinking(text="Hm.", extra=extra),
        Opaque(vendor="v", data={"x": 1}),
        Text(text="Look:"),
        ApiCall(index=0, id="a", name="now", arguments="{}", extra=extra),
        Text(text="Then:"),
        ApiCall(index=1, id="b", name="now", arguments="{", extra=extra),
        Text(text=""),
    )
    for pieces in ([Answer(parts=parts, finish="stop")], stream(Answer(parts=parts, finish="stop"), 2)):
        message = ended(read(pieces)).message
        kinds = [part.kind for part in message.parts]
        assert kinds == ["thinking", "opaque", "text", "call", "text", "call"]
        assert [part.extra for part in message.parts if isinstance(part, Call)] == [extra, extra]


def test_a_stream_that_ended_early_leaves_what_there_was():
    reader = TurnReader(DIALECTS["native"], SPECS)
    reader.feed([ThinkingDelta(text="Hm."), TextDelta(text="I will"), CallPiece(index=0, id="a", name="now")])
    reader.feed([CallPiece(index=1, id="b", name="get_weather", arguments='{"city": "Os')])
    last = ended(reader.close("error"))
    assert last.finish == "error"
    assert last.message.text == "I will"
    assert len(last.message.calls) == 2
    assert last.usage.estimated
    assert reader.close("error") == []


def test_usage_is_the_endpoints_or_estimated():
    said = Usage(input_tokens=7, output_tokens=2)
    assert ended(read([Answer(parts=(Text(text="12345"),), finish="stop", usage=said)])).usage == said
    assert ended(read([Answer(parts=(Text(text="12345"),), finish="stop")])).usage == Usage(
        output_tokens=2, estimated=True
    )


# Raw texts

RUN_SQL = ToolSpec(
    name="run_sql",
    description="Run a query.",
    parameters={"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
    raw="query",
)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        pytest.param("```run_sqll\nSELECT '```'\n```", "run_sqll", id="alone"),
        pytest.param("~~~~exec_run_sql\n~~~\n~~~~\n", "exec_run_sql", id="tildes"),
        pytest.param("Look:\n```run_sqll\nSELECT 1\n```", None, id="with words"),
        pytest.param("```sql\nSELECT 1\n```", None, id="a language"),
        pytest.param("```run_sqll\nSELECT 1\n", None, id="never closed"),
        pytest.param("```open_file\nSELECT 1\n```", None, id="another name"),
    ],
)
def test_a_block_with_nearly_the_name_of_a_raw_tool_is_told_the_right_one(text: str, name: str | None):
    reader = TurnReader(DIALECTS["json"], [RUN_SQL])
    events = reader.feed([Answer(parts=(Text(text=text),), finish="stop")])
    malformed = [event for event in events if isinstance(event, CallMalformed)]
    assert [(event.name, event.hint) for event in malformed] == ([(name, "Did you mean run_sql?")] if name else [])
    assert not any(isinstance(event, CallReady) for event in events)


def test_a_raw_text_is_a_call_of_the_turn_and_its_words_are_kept():
    text = 'Now:\n```run_sql\nSELECT "a"\n```'
    reader = TurnReader(DIALECTS["json"], [RUN_SQL])
    last = ended(reader.feed([Answer(parts=(Text(text=text),), finish="stop")]))
    assert [call.arguments for call in last.message.calls] == [{"query": 'SELECT "a"'}]
    assert (last.message.text, last.message.raw) == ("Now:", Raw(dialect="json", text=text))


def test_repairs_of_all_api_calls_of_an_answer_share_a_budget():
    doubtful = '{"city": "a", "more": [' + '" ' * 30 + '","1]}'
    budget = Budget()
    calls = NativeCalls({WEATHER.name: WEATHER}, prefix="call", taken=(), budget=budget)
    events: list[Event] = []
    for call in api_calls(*[doubtful] * 20):
        calls.end(call, "stop", events)
    assert all(event.reason and event.hint for event in events if isinstance(event, CallMalformed))
    assert sum(isinstance(event, CallReady | CallMalformed) for event in events) == 20
    assert budget.rewound <= FREE_REWOUND_CHARS + 2 * REWOUND_PER_CHAR * 20 * len(doubtful)


def test_the_arguments_of_all_api_calls_of_an_answer_share_the_steps_of_coercion():
    options = {"anyOf": [{"const": f"c{each}"} for each in range(1000)]}
    spec = replace(WEATHER, parameters={"type": "object", "properties": {"city": options}})
    budget = Budget()
    calls = NativeCalls({spec.name: spec}, prefix="call", taken=(), budget=budget)
    events: list[Event] = []
    for call in api_calls(*['{"city": "C 1"}'] * 60):
        calls.end(call, "stop", events)
    assert sum(isinstance(event, CallReady) for event in events) == 60
    nodes = 2 * 60
    assert FREE_STEPS < budget.coercion.steps <= FREE_STEPS + STEPS_PER_NODE * nodes + 1000  # and those of the last one
