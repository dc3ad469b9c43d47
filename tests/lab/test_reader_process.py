"""A run ends, whatever a reader does."""

from pathlib import Path

import pytest

from toolspeak.lab.conformance import (
    MAX_FAILURES_IN_A_ROW,
    OURS,
    ReaderProcess,
    SpokenRecord,
    build_record,
    check_reader,
)
from toolspeak.values.errors import UsageError

FOREIGN = Path(__file__).parent / "foreign.py"
TOOL = {
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


def records(*texts: str) -> list[SpokenRecord]:
    return [
        build_record(
            {
                "id": text,
                "tools": [TOOL],
                "text": text,
                "expected": [{"name": "get_weather", "arguments": {"city": text}}],
            }
        )
        for text in texts
    ]


def check(function: str, *texts: str, timeout_s: float = 30.0) -> list[tuple[str, str]]:
    """What a reader of `foreign.py` made of texts: each judgement with its error."""
    reader = ReaderProcess(f"{FOREIGN}:{function}", timeout_s=timeout_s)
    return [(each.judgement, each.error) for each in check_reader(reader, records(*texts)).results]


def test_a_reader_that_raises_has_answered():
    assert check("raises", "a", "b") == [("error", "ValueError: cannot\nread this")] * 2


def test_a_reader_that_leaves_has_answered():
    assert check("leaves", "a", "b") == [("error", "SystemExit: 3")] * 2


@pytest.mark.slow
def test_a_reader_that_hangs_is_started_again_for_the_next_text():
    results = check("hangs_once", "hang", "on", timeout_s=5)
    assert results == [("error", "no answer after 5 s"), ("missed", "")]


def test_a_reader_that_always_hangs_is_not_asked_for_ever():
    results = check("hangs", *"abcdefghij", timeout_s=0.05)
    assert results[:MAX_FAILURES_IN_A_ROW] == [("error", "no answer after 0.05 s")] * MAX_FAILURES_IN_A_ROW
    assert {error for _, error in results[MAX_FAILURES_IN_A_ROW:]} == {
        "not asked: it did not answer for 5 texts in a row"
    }


def test_a_reader_that_ends_its_process_is_started_again():
    assert check("dies", "die", "live", "die") == [
        ("error", "its process ended"),
        ("missed", ""),
        ("error", "its process ended"),
    ]


@pytest.mark.parametrize("function", ["returns_nothing", "returns_words", "returns_objects", "returns_depth"])
def test_nonsense_is_an_error(function: str):
    [(judgement, error), second] = check(function, "a", "b")
    assert (judgement, bool(error)) == ("error", True)
    assert second == (judgement, error)


def test_what_a_reader_prints_is_no_answer():
    assert check("prints", "Oslo", "Rome") == [("right", ""), ("right", "")]


def test_our_reader_is_asked_in_the_same_way():
    record = build_record(
        {"id": "r", "tools": [TOOL], "text": "get_weather(city='é\ud83d')", "expected": []},
    )
    report = check_reader(ReaderProcess(OURS), [record, *records("nothing")])
    assert (report.name, [each.judgement for each in report.results]) == (OURS, ["wrong", "missed"])


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("json", "'json' is not a reader: write module:function"),
        ("json:", "is not a reader"),
        (":loads", "is not a reader"),
        ("nowhere_at_all:read", "cannot load the reader nowhere_at_all:read: ModuleNotFoundError"),
        ("json:nothing", "cannot load the reader json:nothing: AttributeError"),
        ("nowhere.py:read", "cannot load the reader nowhere.py:read: FileNotFoundError"),
    ],
)
def test_a_reader_that_cannot_be_loaded_is_named(target: str, message: str):
    with pytest.raises(UsageError, match=message):
        check_reader(ReaderProcess(target), records("a"))
