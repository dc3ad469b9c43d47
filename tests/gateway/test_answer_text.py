"""The JSON of an answer, however it is cut: what goes out early is the beginning of what goes out in the end."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.cases import RUNS_ALL
from tests.growth import assert_linear
from toolspeak.dialects import DIALECTS
from toolspeak.gateway import app
from toolspeak.gateway.answer_schema import AnswerSchema
from toolspeak.gateway.answer_text import AnswerFinder, PrefixReader, encode_answer
from toolspeak.testing import ScriptedModel, calls, says

from .conversing import OPENAI_TOOLS
from .hosting import Reply, ask, send_request, serve_model

NAMES = ["a", "b", "été", 'q"', "back\\slash", "$ref", "name", "arguments"]
texts = st.text(st.characters(codec="utf-8"), max_size=12)
scalars: st.SearchStrategy[tuple[Any, Any]] = st.one_of(
    texts.map(lambda value: ({"type": "string"}, value)),
    texts.map(lambda value: ({"type": "string", "minLength": len(value)}, value)),
    st.integers(-(2**70), 2**70).map(lambda value: ({"type": "integer"}, value)),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda value: ({"type": "number"}, value)),
    st.booleans().map(lambda value: ({"type": "boolean"}, value)),
    st.just(({"type": ["null", "string"]}, None)),
    texts.map(lambda value: ({"enum": [value, 1]}, value)),
    texts.map(lambda value: ({}, value)),
    texts.map(lambda value: ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, value)),
)


def build_object(parts: dict[str, tuple[Any, Any]]) -> tuple[Any, Any]:
    schema = {"type": "object", "properties": {name: part[0] for name, part in parts.items()}}
    return {**schema, "additionalProperties": False, "required": list(parts)}, {n: part[1] for n, part in parts.items()}


def nest(inner: st.SearchStrategy[tuple[Any, Any]]) -> st.SearchStrategy[tuple[Any, Any]]:
    objects = st.dictionaries(st.sampled_from(NAMES), inner, max_size=3).map(build_object)
    lists = st.tuples(inner, st.integers(0, 3)).map(
        lambda each: ({"type": "array", "items": each[0][0], "maxItems": 3}, [each[0][1]] * each[1])
    )
    return st.one_of(objects, lists)


answers = st.dictionaries(st.sampled_from(NAMES), st.recursive(scalars, nest, max_leaves=6), max_size=4).map(
    build_object
)
"""A schema of an object, and a value that fits."""


def cut(text: str, sizes: list[int]) -> list[str]:
    pieces: list[str] = []
    while text:
        size = sizes[len(pieces) % len(sizes)]
        pieces.append(text[:size])
        text = text[size:]
    return pieces


sizes = st.lists(st.integers(1, 9), min_size=1, max_size=5)
styles: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [{}, {"indent": 1}, {"ensure_ascii": False}, {"separators": (",", ":")}]
)


@given(answers, sizes, styles)
def test_each_prefix_is_one_of_the_whole(answer: tuple[Any, Any], sizes: list[int], style: dict[str, Any]):
    schema, value = answer
    reader = PrefixReader(AnswerSchema(schema, "schema"))
    sent: list[str] = []
    for piece in cut(json.dumps(value, **style), sizes):
        reader.send(piece)
        sent.append(reader.take_new())
    assert reader.is_complete
    assert "".join(sent) == reader.text == encode_answer(value)


@given(answers, sizes, styles, st.sampled_from(["{}", "Well {so}:\n```json\n{}\n```\nBye.", "<think>[{{</think>{}"]))
def test_it_is_found_among_other_words(answer: Any, sizes: list[int], style: dict[str, Any], around: str):
    schema, value = answer
    if not value:
        return
    finder = AnswerFinder(AnswerSchema(schema, "schema"))
    grown: list[str] = []
    for piece in cut(around.replace("{}", json.dumps(value, **style)), sizes):
        finder.feed(piece)
        grown.append(finder.text)
    assert finder.close(ended_well=True).text == encode_answer(value)
    assert all(encode_answer(value).startswith(text) for text in grown)


@given(st.text(st.sampled_from('{}[]",:1a \\n')), answers, sizes)
def test_whatever_is_written_what_went_out_stays_true(text: str, answer: Any, sizes: list[int]):
    schema = AnswerSchema(answer[0], "schema")
    finder = AnswerFinder(schema)
    grown = [""]
    for piece in cut(text, sizes):
        finder.feed(piece)
        assert finder.text.startswith(grown[-1])
        grown.append(finder.text)
    result = finder.close(ended_well=True)
    assert bool(result.text) != bool(result.problem)
    if result.text:
        assert schema.find_problems(json.loads(result.text)) == []


@pytest.mark.parametrize("with_tools", [False, True])
@given(answers, st.integers(1, 9), st.sampled_from(list(DIALECTS)), st.integers())
@settings(max_examples=30 if RUNS_ALL else 8)
def test_a_streamed_answer_is_the_plain_one(with_tools: bool, answer: Any, chunk: int, dialect: str, seed: int):
    schema, value = answer
    assume(not (with_tools and "$ref" in str(schema)))  # the script would escape such a key in a call
    form = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
    is_wrapped = not schema["properties"]
    line = (
        calls(("final_answer", {"answer": value} if is_wrapped else value)) if with_tools else says(json.dumps(value))
    )
    body: dict[str, Any] = {"model": "scripted", "messages": [{"role": "user", "content": "?"}]}
    body |= {"response_format": form, **({"tools": OPENAI_TOOLS} if with_tools else {})}
    model = ScriptedModel([line], chunk=chunk, seed=seed)
    application = app([serve_model(model, DIALECTS[dialect], max_repairs=0)])
    plain = ask(application, body)
    assert plain.status == 200, (plain.body, schema, value)
    text = plain.json["choices"][0]["message"]["content"]
    assert AnswerSchema(schema, "schema").find_problems(json.loads(text)) == []
    reply = Reply()
    asyncio.run(send_request(application, {**body, "stream": True}, reply=reply))
    pieces = [choice["delta"].get("content") or "" for chunk in reply.chunks for choice in chunk["choices"]]
    assert "".join(pieces) == text


@pytest.mark.parametrize(
    ("text", "begins", "whole"),
    [
        ('{"a": "one "two" three"}', '{"a":"one ', ""),  # the quote may belong to the text
        ('{"a": "one\ntwo"}', '{"a":"one', '{"a":"one\\ntwo"}'),
        ('{"a": "\\ud83d\\ude00\\ud83d"}', '{"a":"😀\ud83d"}', '{"a":"😀\ud83d"}'),
        ('{"a": "x", "a": "y"}', '{"a":"x"', ""),  # nobody knows which was meant
        ('{"a": "x", "c": 1}', '{"a":"x"', ""),
        ('{"b": "3", "a": "x"}', "", '{"b":3,"a":"x"}'),
        ('{"b": null, "a": "x"}', "", '{"a":"x"}'),  # the default
        ('{"a": "x", "b": NaN}', '{"a":"x"', ""),
        ('{"a": "x", "b": 1e999}', '{"a":"x"', ""),
        ('{"a": "x"', '{"a":"x', '{"a":"x"}'),
        ('[{"a": "x"}]', '{"a":"x"}', '{"a":"x"}'),
    ],
)
def test_what_is_certain_early_and_what_in_the_end(text: str, begins: str, whole: str):
    properties = {"a": {"type": "string"}, "b": {"type": "integer"}}
    schema = {"type": "object", "properties": properties, "required": ["a"], "additionalProperties": False}
    finder = AnswerFinder(AnswerSchema(schema, "schema"))
    for char in text:
        finder.feed(char)
    assert (finder.text, finder.close(ended_well=True).text) == (begins, whole)


def test_brackets_without_end_cost_no_more_than_their_length():
    finder = AnswerFinder(AnswerSchema({"anyOf": [{"type": "object"}]}, "schema"))
    for _ in range(30_000):
        finder.feed('{"a')
    assert finder.close(ended_well=True).problem


@pytest.mark.parametrize(("depth", "is_read"), [(100, True), (101, False), (5_000, False)])
def test_nesting_has_an_end(depth: int, is_read: bool):
    reader = PrefixReader(AnswerSchema({"type": "object"}, "schema"))
    reader.send('{"a":' * depth + "1" + "}" * depth)
    assert reader.is_complete == is_read
    assert reader.is_stopped


@pytest.mark.parametrize("value", ["1e999", "-1e999", '{"b": [1e999]}'])
@pytest.mark.parametrize("schema", [{"type": "object"}, {"properties": {"a": {"anyOf": [{"type": "number"}, {}]}}}])
def test_a_number_that_json_cannot_give_back_is_no_answer(schema: dict[str, Any], value: str):
    finder = AnswerFinder(AnswerSchema(schema, "schema"))
    finder.feed(f'{{"a": {value}}}')
    assert finder.text == ""
    assert finder.close(ended_well=True).problem


@pytest.mark.parametrize(
    ("begins", "schema"),
    [
        ("<think>", {"type": "object"}),
        ("So: ", {"type": "object"}),
        ('{"a":"', {"type": "object"}),
        ('{"a":"', {"anyOf": [{"type": "object"}, {"type": "array"}]}),
    ],
    ids=["reasoning", "prose", "answer", "answer that is certain at its end"],
)
def test_the_work_of_finding_an_answer_is_linear_in_the_message(begins: str, schema: dict[str, Any]):
    def find(chunks: int) -> None:
        finder = AnswerFinder(AnswerSchema(schema, ""))
        finder.feed(begins)
        for _ in range(chunks):
            finder.feed("abcdefghij" * 200)

    assert_linear(find, 300)


@given(st.lists(st.sampled_from(["<think>", "</think>", "</thi", "nk>", "{", '{"a":1}', "[", " ", "so ", '"'])))
def test_reasoning_is_skipped_however_a_message_is_cut(pieces: list[str]):
    schema = AnswerSchema({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}, "")
    found: list[str] = []
    for chunks in (pieces, list("".join(pieces))):
        finder = AnswerFinder(schema)
        for chunk in chunks:
            finder.feed(chunk)
        found.append(finder.close(ended_well=True).text)
    assert found[0] == found[1]
