"""`explain`: what each part of a message was read as. The spans of every message tile it, whatever it holds."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings

from toolspeak.dialects import MessageSpan, Refusal, RepairPlace, explain, fold
from toolspeak.reading.explanation import encode_explanation
from toolspeak.reading.reader import Reader
from toolspeak.reading.trace import Trace
from toolspeak.values.spec import ToolSpec

from .corpus import RECORDS, at_least, for_each_record, offered, read_events, records, texts, tools_of

ALL = [*RECORDS, *records("missed.jsonl")]
WEATHER = ToolSpec(
    name="get_weather",
    description="The weather.",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)


def explained(text: str) -> list[tuple[str, str]]:
    """The kinds of the spans of a text, each with its part of the text."""
    return [(span.kind, text[span.start : span.end]) for span in explain(text, [WEATHER]).spans]


def assert_tiles(text: str, spans: tuple[MessageSpan, ...]) -> None:
    places = [0, *(place for span in spans for place in (span.start, span.end)), len(text)]
    assert places[::2] == places[1::2], "spans follow each other without gaps"
    assert all(span.start < span.end for span in spans)
    for span in spans:
        assert all(place.at is None or span.start <= place.at <= span.end for place in span.repairs)


@for_each_record(ALL)
def test_every_record_is_explained_by_spans_that_tile_its_text(record):
    text, specs = record["text"], tools_of(record)
    explanation = explain(text, specs)
    spans = explanation.spans
    assert_tiles(text, spans)
    assert explanation.content == fold(read_events(specs, [text])), "explaining changes nothing of what is read"
    ready = [ready.call for ready in explanation.content.calls]
    assert [call for span in spans for call in span.calls] == ready
    kinds = {span.kind for span in spans}
    if "dropped" not in kinds:  # a dropped call in code is shown as text as well
        shown = "".join(text[span.start : span.end] for span in spans if span.kind in ("prose", "made_up"))
        assert shown == explanation.content.text
        refused = [(refusal.name, refusal.reason) for span in spans for refusal in span.refusals]
        assert refused == [(each.name, each.reason) for each in explanation.content.malformed]
    assert json.loads(json.dumps(encode_explanation(explanation)))["text"] == text


@for_each_record(ALL[::5])
def test_letter_by_letter_the_spans_are_the_same(record):
    text, specs = record["text"], tools_of(record)
    trace = Trace()
    reader = Reader(specs, trace=trace)
    for letter in text:
        reader.feed(letter)
    reader.close()
    spans = [replace(span, repairs=()) for span in trace.spans(text)]
    whole = explain(text, specs).spans
    assert spans == [replace(span, repairs=(), near_tools=(), problems=()) for span in whole]


@settings(max_examples=at_least(200))
@given(specs=offered, text=texts)
def test_any_text_is_explained(specs, text):
    assert_tiles(text, explain(text, specs).spans)


def test_a_call_is_explained_by_its_token_its_family_and_its_repairs():
    text = 'Sure. <tool_call>{\'name\': "get_weather", "arguments": {"city": "Oslo"}</tool_call> Done.'
    before, opener, call, closer, after = explain(text, [WEATHER]).spans
    assert [span.kind for span in (before, opener, closer, after)] == ["prose", "skipped", "skipped", "prose"]
    assert (call.kind, call.rule, call.detail, call.family) == ("call", "token", "<tool_call>", "hermes, qwen")
    assert [each.arguments for each in call.calls] == [{"city": "Oslo"}]
    assert call.repairs == (
        RepairPlace(repair="syntax", at=text.index("'name'") + 1),
        RepairPlace(repair="closers", at=text.index("</tool_call>")),
    )


@pytest.mark.parametrize(
    ("text", "rule", "detail"),
    [
        ('get_weather(city="Oslo")', "line", ""),
        ('It is cold. {"name": "get_weather", "arguments": {"city": "Oslo"}}', "sentence", ""),
        ('Tool call: {"name": "get_weather", "arguments": {"city": "Oslo"}}', "label", ""),
        ('Tool call: `get_weather(city="Oslo")`\n', "backticks", ""),
        ('```python\nget_weather(city="Oslo")\n```', "fence", "python"),
        ('[TOOL_CALLS]get_weather{"city": "Oslo"}', "token", "[TOOL_CALLS]"),
        (
            '&lt;tool_call&gt;{"name": "get_weather", "arguments": {"city": "Oslo"}}',
            "escaped_token",
            "&lt;tool_call&gt;",
        ),
        ("<get_weather><city>Oslo</city></get_weather>", "tool_tag", "get_weather"),
        ('<code>\nget_weather(city="Oslo")\n</code>', "code_tag", ""),
        ('>>>get_weather{"city": "Oslo"}', "recipient", ""),
        ("Action: get_weather\nAction Input: Oslo\n", "react", ""),
        ('<|channel|>commentary to=functions.get_weather<|message|>{"city": "Oslo"}<|call|>', "harmony", ""),
    ],
)
def test_each_rule_is_named(text, rule, detail):
    [call] = [span for span in explain(text, [WEATHER]).spans if span.kind == "call"]
    assert (call.rule, call.detail) == (rule, detail)


def test_the_header_of_a_protocol_is_a_part_of_the_call():
    assert explained("Action: get_weather\nAction Input: Oslo\n") == [
        ("prose", "Action: "),
        ("call", "get_weather\nAction Input: Oslo"),
        ("prose", "\n"),
    ]


def test_a_refused_call_says_why_and_what_to_write():
    [_, span, *_] = explain('<tool_call>{"name": "get_wether", "arguments": {}}</tool_call>', [WEATHER]).spans
    assert span.kind == "malformed"
    assert span.refusals == (
        Refusal(name="get_wether", reason="there is no tool 'get_wether'", hint="The tools are: get_weather."),
    )
    assert span.unknown_tools == ("get_wether",)
    assert span.near_tools == ("get_weather",)


def test_arguments_that_the_tool_does_not_take_are_named():
    [span] = explain('get_weather(cty="Oslo")', [WEATHER]).spans
    assert (span.kind, span.problems) == (
        "call",
        ("get_weather: city: missing; needs string", "get_weather: cty: no such key; did you mean city?"),
    )


def test_an_object_that_names_no_tool_is_prose_that_says_so():
    [span] = explain('{"name": "get_wether", "arguments": {}}', [WEATHER]).spans
    assert (span.kind, span.unknown_tools) == ("prose", ("get_wether",))


def test_what_follows_a_made_up_result_is_dropped():
    text = 'get_weather(city="Oslo")\n<tool_response>-3</tool_response>\nget_weather(city="Rome")'
    assert explained(text) == [
        ("call", 'get_weather(city="Oslo")'),
        ("skipped", "\n"),
        ("made_up", "<tool_response>-3</tool_response>\n"),
        ("dropped", 'get_weather(city="Rome")'),
    ]


def test_a_lone_closing_tag_makes_all_before_it_reasoning():
    text = 'Maybe:\nget_weather(city="Oslo")\n</think>No.'
    assert [kind for kind, _ in explained(text) if kind != "skipped"] == ["thinking", "dropped", "retraction", "prose"]
    [dropped] = [span for span in explain(text, [WEATHER]).spans if span.kind == "dropped"]
    assert dropped.refusals == (Refusal(name="get_weather", reason="it turned out to be reasoning"),)


def test_calls_of_one_statement_share_a_span_and_refer_by_place():
    text = "```python\nget_weather(city=get_weather(city='Oslo'))\n```"
    [span] = [each for each in encode_explanation(explain(text, [WEATHER]))["spans"] if each["kind"] == "call"]
    assert span["calls"] == [
        {"place": 0, "name": "get_weather", "arguments": {"city": "Oslo"}},
        {"place": 1, "name": "get_weather", "arguments": {"city": {"$call": 0}}},
    ]


def test_strict_reading_is_explained_as_a_refusal():
    [span] = explain("{'name': 'get_weather', 'arguments': {'city': 'Oslo'}}", [WEATHER], strict=True).spans
    assert (span.kind, span.refusals[0].reason) == ("malformed", "it had to be repaired (syntax), which is not allowed")
