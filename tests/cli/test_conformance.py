"""`toolspeak conformance`, as a real process."""

import json
from pathlib import Path

import pytest

from .test_parse import ROOT, run

TOOL = {
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
CALL = {"name": "get_weather", "arguments": {"city": "Oslo"}}
JSON_CALL = json.dumps(CALL)
RECORDS = [
    {"id": "r1", "text": f"<tool_call>{JSON_CALL}</tool_call>", "expected": [CALL]},
    {"id": "r2", "text": f"I could send `{JSON_CALL}`.\nShall I?", "expected": [], "note": "[decoy] in a sentence"},
    {"id": "r3", "text": "```python\nget_weather(city='Oslo')\n```", "dialect": "code", "expected": [CALL]},
]
READERS = '''
import json
import re

print("imported")


def first_object(text, tools):
    """Any object is a call."""
    found = re.search(r"{.*}", text)
    return [json.loads(found[0])] if found else []


def fails(text, tools):
    raise RuntimeError("no")
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = [json.dumps({"tools": [TOOL], **record}) for record in RECORDS]
    (tmp_path / "records.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "readers.py").write_text(READERS, encoding="utf-8")
    return tmp_path


def conformance(folder: Path, *arguments: str):
    return run("conformance", "--records", "records.jsonl", *arguments, cwd=folder)


def test_readers_are_counted_side_by_side_by_family_and_kind(folder: Path):
    readers = ("toolspeak", "readers:first_object", "readers.py:fails")
    done = conformance(folder, *(each for reader in readers for each in ("--reader", reader)))
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "Each cell: right / wrong / missed / error.",
        "",
        "family\trecords\ttoolspeak\tfirst_object\tfails",
        "JSON without a fence\t1\t1 / 0 / 0 / 0\t0 / 1 / 0 / 0\t0 / 0 / 0 / 1",
        "code in a fence\t1\t1 / 0 / 0 / 0\t0 / 0 / 1 / 0\t0 / 0 / 0 / 1",
        "hermes, qwen\t1\t1 / 0 / 0 / 0\t1 / 0 / 0 / 0\t0 / 0 / 0 / 1",
        "all\t3\t3 / 0 / 0 / 0\t1 / 1 / 1 / 0\t0 / 0 / 0 / 3",
        "",
        "kind\trecords\ttoolspeak\tfirst_object\tfails",
        "calls\t2\t2 / 0 / 0 / 0\t1 / 0 / 1 / 0\t0 / 0 / 0 / 2",
        "decoys\t1\t1 / 0 / 0 / 0\t0 / 1 / 0 / 0\t0 / 0 / 0 / 1",
        "all\t3\t3 / 0 / 0 / 0\t1 / 1 / 1 / 0\t0 / 0 / 0 / 3",
    ]


def test_failures_show_what_was_wrong(folder: Path):
    done = conformance(folder, "--reader", "readers:first_object", "--failures")
    text = done.stdout.split("\n\n")[-1]
    assert text.splitlines() == [
        "r2 (JSON without a fence, decoys), wrong: first_object",
        f"  │ I could send `{JSON_CALL}`.",
        "  │ Shall I?",
        "  expected  []",
        f"  got       [{JSON_CALL}]",
    ]


def test_the_counts_are_printed_as_json(folder: Path):
    done = conformance(folder, "--reader", "readers:first_object", "--json", "--failures")
    data = json.loads(done.stdout)
    [reader] = data["readers"]
    assert data["records"] == 3
    assert reader["all"] == {"right": 1, "wrong": 1, "missed": 1, "error": 0}
    assert reader["kinds"]["decoys"] == {"right": 0, "wrong": 1, "missed": 0, "error": 0}
    assert [(each["id"], each["judgement"], each["got"]) for each in reader["failures"]] == [
        ("r2", "wrong", [CALL]),
        ("r3", "missed", []),
    ]


def test_strict_fails_where_something_is_wrong_or_unanswered(folder: Path):
    assert conformance(folder, "--strict").returncode == 0
    assert conformance(folder, "--strict", "--reader", "readers:first_object").returncode == 1
    assert conformance(folder, "--strict", "--reader", "readers:fails").returncode == 1


def test_markdown_tables(folder: Path):
    lines = conformance(folder, "--markdown").stdout.splitlines()
    assert lines[2:4] == ["| family | records | toolspeak |", "| --- | ---: | ---: |"]


@pytest.mark.slow
def test_without_options_our_reader_reads_the_records_of_the_package():
    done = run("conformance", "--json", "--strict", timeout_s=80)
    [reader] = json.loads(done.stdout)["readers"]
    assert (done.returncode, reader["name"]) == (0, "toolspeak")
    assert reader["all"]["right"] > 2000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--reader", "json"), "'json' is not a reader: write module:function"),
        (("--reader", "json:nothing"), "cannot load the reader json:nothing: AttributeError"),
        (("--records", "nowhere.jsonl"), "cannot read nowhere.jsonl"),
        (("--records", str(ROOT / "README.md")), f"{ROOT / 'README.md'} is not a file of records"),
    ],
)
def test_wrong_input_is_one_line_and_exit_code_2(arguments: tuple[str, ...], message: str):
    done = run("conformance", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"toolspeak: {message}")
    assert done.stderr.count("\n") == 1
