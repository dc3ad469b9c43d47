"""Messages and facts survive their JSON, whatever a model or a tool said; what cannot be read is a clear error."""

import dataclasses
import json
import warnings
from dataclasses import replace
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from toolspeak import UsageError
from toolspeak.values.codec import (
    FORMAT,
    IncompleteLineWarning,
    Item,
    decode,
    dump_facts,
    dump_messages,
    encode,
    load_facts,
    load_messages,
)
from toolspeak.values.events import (
    CallReady,
    Fact,
    NestedFact,
    RunEnded,
    RunStarted,
    ToolFinished,
    TurnEnded,
    TurnStarted,
    Usage,
)
from toolspeak.values.messages import (
    Arguments,
    Call,
    Concat,
    Extra,
    Json,
    Media,
    Message,
    Part,
    Raw,
    Ref,
    Text,
    ToolCall,
    ToolResult,
    list_stretches,
    user,
)
from toolspeak.values.origin import Origin
from toolspeak.values.spec import Schema, ToolSpec

FACTS: tuple[type[Any], ...] = get_args(Fact)
PARTS: tuple[type[Any], ...] = get_args(Part)

TEXTS = st.text(max_size=6) | st.sampled_from(
    ["$call", "$concat", "$$call", "$", "path", "kind", "v", "\u2028", "a\nb"]
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=6
)
REFS = st.builds(Ref, call=TEXTS, path=st.lists(TEXTS | st.integers(), max_size=3).map(tuple))
CONCATS = st.builds(Concat, parts=st.lists(TEXTS | REFS, max_size=3).map(tuple))
VALUES = st.recursive(
    SCALARS | REFS | CONCATS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(TEXTS, VALUES, max_size=3)


@cache
def strategy(hint: Any) -> SearchStrategy[Any]:
    """Return a strategy for the values of a field, by its type."""
    if hint == Json:
        return JSON
    if hint == Arguments:
        return ARGUMENTS
    if hint == Schema:
        return st.dictionaries(TEXTS, JSON, max_size=3)
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return st.one_of(*map(strategy, args))
    if origin is tuple:
        return st.lists(strategy(args[0]), max_size=2).map(tuple)
    if origin is Literal:
        return st.sampled_from(args)
    if dataclasses.is_dataclass(hint):
        hints = get_type_hints(hint, include_extras=True)
        if hint is ToolSpec:
            hints["raw"] = NoneType  # it must name a parameter, and the schemas here have none
        values = {field.name: strategy(hints[field.name]) for field in dataclasses.fields(hint)}
        if hint is Media:  # it is never empty
            values |= {"data": st.binary(min_size=1, max_size=8)}
        if hint is NestedFact:  # it holds any other fact: too much for the text that describes a strategy
            return st.deferred(lambda: st.builds(hint, **values))
        return st.builds(hint, **values)
    if hint is Origin:
        return st.sampled_from(Origin)
    plain = {
        str: TEXTS,
        int: st.integers(),
        bool: st.booleans(),
        float: st.floats(allow_nan=False),
        bytes: st.binary(max_size=6),
        NoneType: st.none(),
    }
    return plain[hint]


SAVED_TYPES = [Message, *FACTS]


def test_a_file_without_origins_means_what_the_roles_say():
    saved = [
        {"role": "system", "parts": [{"kind": "text", "text": "s"}]},
        {"role": "user", "parts": [{"kind": "text", "text": "u"}]},
        {"role": "assistant", "parts": [{"kind": "thinking", "text": "t"}, {"kind": "text", "text": "a"}]},
        {
            "role": "tool",
            "parts": [
                {"kind": "result", "call_id": "c", "content": [{"kind": "text", "text": "r"}]},
                {"kind": "text", "text": "n"},
            ],
        },
    ]
    messages = load_messages("\n".join(json.dumps({"v": 1, "kind": "message", **each}) for each in saved))
    assert [(text, origin.value) for message in messages for text, origin in list_stretches(message)] == [
        ("s", "program"), ("u", "user"), ("t", "model"), ("a", "model"), ("r", "foreign_result"), ("n", "loop"),
    ]  # fmt: skip
    assert "origin" not in dump_messages(messages)
    assert "spans" not in dump_messages(messages)


@pytest.mark.parametrize(
    ("text", "reason"), [("not run: the user did not allow it", "not_allowed"), ("the disk is full", "")]
)
def test_a_refusal_that_was_saved_without_its_reason_gets_it(text: str, reason: str):
    result = {"kind": "result", "call_id": "c", "is_error": True, "content": [{"kind": "text", "text": text}]}
    message = decode({"v": 1, "kind": "message", "role": "tool", "parts": [result]})
    assert message.parts[0].reason == reason
    own = replace(message.parts[0], reason="")  # what a tool says itself is no refusal, however it begins
    kept = replace(message, parts=(own,))
    assert decode(encode(kept)) == kept


def test_every_kind_is_named_once():
    kinds = [saved_type.kind for saved_type in (*SAVED_TYPES, *PARTS)]
    assert len(kinds) == len(set(kinds))
    assert set(get_args(Item)) == set(SAVED_TYPES)
    assert len(FACTS) >= 14


@pytest.mark.parametrize("saved_type", SAVED_TYPES, ids=lambda saved_type: saved_type.__name__)
@given(data=st.data())
def test_every_type_survives_its_json(saved_type: type[Any], data: st.DataObject):
    item = data.draw(strategy(saved_type))
    saved = json.loads(json.dumps(encode(item)))
    assert saved["v"] == FORMAT
    assert saved["kind"] == saved_type.kind
    again = decode(saved)
    assert again == item
    assert type(again) is saved_type
    assert repr(again) == repr(item)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)
@given(data=st.data())
def test_every_part_survives_its_json(part: type[Any], data: st.DataObject):
    message = Message(role="assistant", parts=(data.draw(strategy(part)),))
    assert decode(json.loads(json.dumps(encode(message)))) == message


@given(st.lists(st.one_of(*map(strategy, FACTS)), max_size=4))
def test_a_log_survives_its_lines(facts: list[Any]):
    text = dump_facts(facts)
    assert text.count("\n") == len(facts)
    assert load_facts(text) == tuple(facts)
    assert load_facts(text.replace("\n", "\n\n")) == tuple(facts)


@given(st.lists(strategy(Message), max_size=4))
def test_messages_survive_their_lines(messages: list[Any]):
    assert load_messages(dump_messages(messages)) == tuple(messages)


def test_messages_are_no_facts_and_facts_are_no_messages():
    with pytest.raises(UsageError, match=r"^line 2: this is a message, not a fact of a run$"):
        load_facts(dump_facts([TurnStarted(turn=1)]) + dump_messages([user("hi")]))
    with pytest.raises(UsageError, match=r"^line 2: this is a fact of a run, not a message$"):
        load_messages(dump_messages([user("hi")]) + dump_facts([TurnStarted(turn=1)]))


@given(st.lists(st.one_of(*map(strategy, FACTS)), min_size=1, max_size=3), st.data())
def test_a_log_that_was_cut_is_read_up_to_the_cut(items: list[Any], data: st.DataObject):
    text = dump_facts(items)
    cut = data.draw(st.integers(0, len(text)))
    whole = text[:cut].count("\n")
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        read = load_facts(text[:cut])
    assert read == tuple(items[: len(read)])
    assert len(read) in (whole, whole + 1)
    is_torn = len(read) == whole and cut > 0 and text[cut - 1] != "\n"
    assert [str(each.message) for each in given] == [f"line {whole + 1} was cut and is left out"] * is_torn
    assert all(each.category is IncompleteLineWarning for each in given)


def test_only_a_last_line_without_an_end_is_left_out():
    line = dump_facts([TurnStarted(turn=1)])
    torn = line[:-10]
    for text in (torn + "\n", torn + "\n" + line, line + "torn", line + torn + "\n", line + "[1"):
        with pytest.raises(UsageError, match=r"^line \d: not JSON"):
            load_facts(text)
    with pytest.raises(UsageError, match=r"^line 2: unknown kind"):
        load_facts(line + '{"v": 1, "kind": "other"}')
    with pytest.raises(UsageError, match=r"^line 1: not JSON"):
        load_messages(torn)
    assert load_facts(line + line.rstrip("\n")) == (TurnStarted(turn=1),) * 2
    with pytest.warns(IncompleteLineWarning, match=r"^line 2 was cut and is left out$"):
        assert load_facts(line + torn) == (TurnStarted(turn=1),)


LOOKALIKES = [
    {"$call": "call_1"},
    {"$call": "call_1", "path": ["a"]},
    {"$concat": ["a", {"$call": "b"}]},
    {"$$call": "x", "$": 1, "$$$": {"$call": []}},
    {"kind": "message", "v": 1, "role": "user", "parts": []},
    [{"$call": "call_1"}],
    "{'$call': 'x'}",
]


@pytest.mark.parametrize("data", LOOKALIKES)
def test_data_that_looks_like_a_reference_or_a_message_stays_unchanged(data: Any):
    for item in (
        ToolFinished(result=ToolResult(call_id="c", output=data)),
        CallReady(call=ToolCall(id="c", name="n", arguments={"x": data, "$y": [data]})),
        Message(role="assistant", parts=(Text(text="t", extra=Extra(vendor="v", data=data)),)),
    ):
        assert decode(json.loads(json.dumps(encode(item)))) == item


def test_references_are_written_in_the_one_documented_way():
    call = ToolCall(id="c", name="n", arguments={"a": Ref(call="x"), "b": Ref(call="x", path=("d", 0)), "$c": "user's"})
    joined = ToolCall(id="c", name="n", arguments={"a": Concat(parts=("t", Ref(call="x")))})
    assert encode(CallReady(call=call))["call"]["arguments"] == {
        "a": {"$call": "x"},
        "b": {"$call": "x", "path": ["d", 0]},
        "$$c": "user's",
    }
    assert encode(CallReady(call=joined))["call"]["arguments"] == {"a": {"$concat": ["t", {"$call": "x"}]}}


def test_the_format_is_plain():
    message = Message(role="user", parts=(Text(text="hi"), Media(mime="image/png", data=b"\x00\xff")))
    assert encode(message) == {
        "v": 1,
        "kind": "message",
        "role": "user",
        "parts": [
            {"kind": "text", "text": "hi", "extra": None},
            {"kind": "media", "mime": "image/png", "data": "AP8=", "url": None, "extra": None, "name": None},
        ],
        "raw": None,
    }


def test_a_run_is_written_with_the_specs_of_its_tools():
    schema = {"type": "object", "properties": {"$call": {"type": "string"}}}
    spec = ToolSpec(name="find", description="Find.", parameters=schema, returns={"type": "integer"}, timeout=2)
    started = RunStarted(run_id="r", model="m", dialect="json", messages=(), tools=(spec,))
    assert encode(started)["tools"] == [
        {
            "name": "find",
            "description": "Find.",
            "parameters": schema,
            "returns": {"type": "integer"},
            "effect": "once",
            "approve": False,
            "sequential": False,
            "timeout": 2,
            "max_output": None,
            "raw": None,
        }
    ]
    assert load_facts(dump_facts([started])) == (started,)


def test_a_spec_with_a_raw_text_is_saved_and_one_from_before_there_were_raw_texts_is_read():
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    spec = ToolSpec(name="write", description="Write.", parameters=schema, raw="text")
    started = RunStarted(run_id="r", model="m", dialect="json", messages=(), tools=(spec,))
    assert load_facts(dump_facts([started])) == (started,)
    saved = encode(started)
    del saved["tools"][0]["raw"]
    assert decode(saved) == dataclasses.replace(started, tools=(dataclasses.replace(spec, raw=None),))


def test_a_run_that_was_saved_without_the_specs_of_its_tools_is_read():
    saved = {"v": 1, "kind": "run_started", "run_id": "r", "model": "m", "dialect": "json", "messages": []}
    assert decode(saved) == RunStarted(run_id="r", model="m", dialect="json", messages=())


def test_fields_with_defaults_may_be_left_out():
    assert decode({"v": 1, "kind": "run_ended", "reason": "answered"}) == RunEnded(reason="answered")
    assert decode({"v": 1, "kind": "message", "role": "user", "parts": [{"kind": "text", "text": "hi"}]}) == user("hi")


def test_fields_that_are_not_known_are_passed_over_wherever_they_stand():
    saved = encode(TurnEnded(message=user("hi"), finish="stop"))
    saved["mood"] = "good"
    saved["usage"]["thinking_tokens"] = 3
    saved["message"]["language"] = "en"
    saved["message"]["parts"][0]["citations"] = [{"kind": "citation"}]
    assert decode(saved) == TurnEnded(message=user("hi"), finish="stop")


TEXT = {"kind": "text", "text": "hi"}
MESSAGE = {"v": 1, "kind": "message", "role": "user", "parts": [TEXT]}
CALL = {"v": 1, "kind": "call_ready", "call": {"id": "c", "name": "n", "arguments": {}}}


def with_arguments(value: Any) -> dict[str, Any]:
    return {**CALL, "call": {**CALL["call"], "arguments": {"x": value}}}


@pytest.mark.parametrize(
    ("saved", "message"),
    [
        ({**MESSAGE, "v": 2}, "saved in format 2 by a newer toolspeak; this one reads format 1: upgrade toolspeak"),
        ({**MESSAGE, "v": None}, 'a saved item has the number of its format as "v", not None'),
        ({**MESSAGE, "v": True}, 'a saved item has the number of its format as "v", not True'),
        ({**MESSAGE, "v": "1"}, """a saved item has the number of its format as "v", not '1'"""),
        ({**MESSAGE, "v": 0}, 'a saved item has the number of its format as "v", not 0'),
        ({"kind": "message"}, 'a saved item has the number of its format as "v", not None'),
        ({**MESSAGE, "kind": "massage"}, "unknown kind 'massage'; the file may come from a newer toolspeak"),
        ({**MESSAGE, "kind": None}, "unknown kind None"),
        ({**MESSAGE, "kind": ["message"]}, "unknown kind ['message']"),
        ({"v": 1}, "unknown kind None"),
        ({"v": 1, "kind": "text_delta", "text": "a"}, "unknown kind 'text_delta'"),
        ({"v": 1, "kind": "message", "role": "user"}, "Message has no parts"),
        ({"v": 1, "kind": "message"}, "Message has no parts, role"),
        ({**MESSAGE, "role": "boss"}, "role: 'boss' is none of system, user, assistant, tool"),
        ({**MESSAGE, "role": ["user"]}, "role: ['user'] is none of"),
        ({**MESSAGE, "parts": TEXT}, "parts: expected list, found dict"),
        ({**MESSAGE, "parts": [TEXT, "hi"]}, "parts[1]: expected dict, found str"),
        ({**MESSAGE, "parts": [{"kind": "txt"}]}, "parts[0]: unknown kind 'txt'"),
        ({**MESSAGE, "parts": [{**TEXT, "text": 3}]}, "parts[0].text: expected str, found int"),
        ({**MESSAGE, "parts": [{**TEXT, "extra": {"vendor": "v"}}]}, "parts[0].extra: Extra has no data"),
        ({**MESSAGE, "parts": [{"kind": "media", "mime": "m", "data": "%"}]}, "parts[0].data: not base64"),
        ({**MESSAGE, "parts": [{"kind": "media", "mime": "m", "data": "é"}]}, "parts[0].data: not base64"),
        ({**MESSAGE, "raw": "text"}, "raw: expected dict, found str"),
        ({"v": 1, "kind": "turn_started", "turn": "1"}, "turn: expected int, found str"),
        ({"v": 1, "kind": "turn_started", "turn": True}, "turn: expected int, found bool"),
        (with_arguments({"$call": "c", "more": 1}), "call.arguments: not a reference to a call"),
        (with_arguments({"$call": "c", "path": 3}), "call.arguments: not a reference to a call"),
        (with_arguments({"$call": "c", "path": "ab"}), "call.arguments: not a reference to a call"),
        (with_arguments({"$call": "c", "path": [1.5]}), "call.arguments: not a reference to a call"),
        (with_arguments({"$concat": ["a", 3]}), "call.arguments: joined text holds something"),
        ({**CALL, "call": {**CALL["call"], "arguments": []}}, "call.arguments: expected dict, found list"),
        ({**CALL, "repair": "magic"}, "repair: 'magic' is none of none, syntax, quotes, closers, shape"),
        ([], "a saved item is a JSON object, not list"),
        (None, "a saved item is a JSON object, not NoneType"),
        ("message", "a saved item is a JSON object, not str"),
    ],
)
def test_what_cannot_be_read_is_an_error_that_says_where_and_why(saved: Any, message: str):
    with pytest.raises(UsageError) as caught:
        decode(saved)
    assert str(caught.value).startswith(message)
    with pytest.raises(UsageError) as caught:
        load_messages(dump_messages([user("hi")]) + json.dumps(saved) + "\n")
    assert str(caught.value).startswith(f"line 2: {message}")


@pytest.mark.parametrize("line", ['{"v": 1, "kind": "run_en', "{", "not json", '{"v": 1}}', "[" * 100_000])
def test_a_line_that_is_not_json_is_named(line: str):
    with pytest.raises(UsageError, match=r"^line 3: not JSON .* the file was cut or changed"):
        load_messages(dump_messages([user("a"), user("b")]) + line)


@given(JSON)
def test_reading_anything_raises_nothing_but_usage_errors(data: Any):
    for saved in (data, {"v": 1, "kind": data}, {**MESSAGE, "parts": data}, with_arguments(data)):
        try:
            item = decode(saved)
        except UsageError:
            continue
        assert decode(json.loads(json.dumps(encode(item)))) == item


def test_usage_adds_up():
    total = Usage(input_tokens=1, output_tokens=2) + Usage(input_tokens=3, cached_tokens=4, estimated=True)
    assert total == Usage(input_tokens=4, output_tokens=2, cached_tokens=4, estimated=True)


def test_a_message_gives_its_text_and_its_calls():
    call = ToolCall(id="c", name="n", arguments={})
    message = Message(
        role="assistant", parts=(Text(text="a"), Call(call=call), Text(text="b")), raw=Raw(dialect="json", text="…")
    )
    assert (message.text, message.calls) == ("ab", (call,))
    assert decode(encode(TurnEnded(message=message, finish="stop"))).message.raw == message.raw


@pytest.mark.parametrize("saved_type", [Message, Text, TurnStarted, Ref], ids=lambda saved_type: saved_type.__name__)
def test_values_are_frozen_slotted_and_keyword_only(saved_type: type[Any]):
    with pytest.raises(dataclasses.FrozenInstanceError):
        saved_type.__setattr__(object.__new__(saved_type), dataclasses.fields(saved_type)[0].name, None)
    assert "__slots__" in vars(saved_type)
    with pytest.raises(TypeError):
        saved_type("positional")
