"""The records that come with `toolspeak-trained` are those of the tests, sorted by family and kind."""

import gzip
import json
from collections import Counter

import pytest

from tests.reading.corpus import SPOKEN
from toolspeak.lab.conformance import KINDS, PACKED_RECORDS, build_record, load_records

CALL = {"name": "now", "arguments": {}}


def record(text: str = "now()", **fields: object) -> dict:
    return {"id": "r1", "tools": [{"name": "now"}], "text": text, "expected": [CALL], **fields}


def test_the_packed_records_are_those_of_the_tests():
    packed = gzip.decompress(PACKED_RECORDS.read_bytes())
    source = b"".join((SPOKEN / f"{name}.jsonl").read_bytes() for name in ("given", "own", "missed"))
    assert packed == source, "records have changed: run python scripts/pack_records.py"


def test_every_record_has_a_family_and_a_kind():
    records = load_records()
    assert len({each.id for each in records}) == len(records) > 2000
    kinds = Counter(each.kind for each in records)
    assert set(kinds) == {*KINDS, "references", "calls"}
    families = Counter(each.family for each in records)
    assert min(families[name] for name in ("hermes, qwen", "mistral", "ReAct", "code in a fence")) >= 40


@pytest.mark.parametrize(
    ("text", "dialect", "family"),
    [
        ('<tool_call>{"name": "now"}</tool_call>', "json", "hermes, qwen"),
        ('[TOOL_CALLS][{"name": "now"}]', "json", "mistral"),
        ("<|CHANNEL|>commentary to=now<|message|>{}", "json", "harmony, muse glimmer"),
        ('Action: now\nAction Input: {"a": 1}', "json", "ReAct"),
        ('```json\n{"name": "now"}\n```', "json", "JSON in a fence"),
        ('{"name": "now"}', "json", "JSON without a fence"),
        ("I do not know.", "json", "prose, other tags"),
        ("```python\nnow(text='<tool_call>')\n```", "code", "code in a fence"),
        ("now()", "code", "code without a fence"),
    ],
)
def test_the_family_follows_from_the_text(text: str, dialect: str, family: str):
    assert build_record(record(text, dialect=dialect)).family == family


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"note": "[cut] in a number", "expected": []}, "cut off"),
        ({"note": "[ReAct] plain"}, "forms"),
        ({"note": "no word in brackets"}, "calls"),
        ({}, "calls"),
        ({"expected": []}, "decoys"),
        ({"note": "[args] odd", "expected": [{"name": "now", "arguments": {"a": [{"$call": 0}]}}]}, "references"),
        ({"note": "[cut] in a number", "kind": "mine"}, "mine"),
    ],
)
def test_the_kind_follows_from_the_note_and_the_calls_unless_it_is_given(fields: dict, kind: str):
    assert build_record(record(**fields)).kind == kind


def test_a_record_may_name_its_family():
    [loaded] = load_records([json.dumps(record(family="martian")), ""])
    assert loaded.family == "martian"
