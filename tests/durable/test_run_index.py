"""The index of runs: what it finds, what it forgets, and what it does with a file that it cannot use."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cases import each_case
from toolspeak.durable.log import ConversationStore
from toolspeak.durable.run_index import BEGIN_MARK, END_MARK, RunIndex, RunText, build_query, find_index
from toolspeak.values.errors import StoreUnavailable

TEXTS = {
    "paid": 'Pay the invoice of Müller. pay {"invoice": "INV-417"} paid 262.5',
    "weather": "How is the weather in Zürich? get_weather sunny résumé",
    "chinese": "今天天气很好。",
    "hostile": "<script>alert(1)</script> half \ud800 null \x00 marks \x02 and \x03",
}


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunIndex]:
    monkeypatch.setenv("TOOLSPEAK_CACHE_FOLDER", str(tmp_path / "cache"))
    opened = RunIndex("a place")
    opened.store(RunText(run_id, "1", "{}", text) for run_id, text in TEXTS.items())
    yield opened
    opened.close()


FOUND = {
    "invoice": ["paid"],
    "INVOI": ["paid"],
    "INV-417": ["paid"],
    "muller": ["paid"],
    "zurich weath": ["weather"],
    "get_weather": ["weather"],
    '"get weather"': ["weather"],
    '"weather get"': [],
    "resume": ["weather"],
    "invoice weather": [],
    "天气": ["chinese"],
    "气天": [],
    "script": ["hostile"],
    "half null": ["hostile"],
    "eather": [],
    "s": [],
}


@each_case("words, expected", FOUND.items())
def test_words_are_found_from_their_beginning_whatever_their_accents(
    index: RunIndex, words: str, expected: list[str]
) -> None:
    assert [each.run_id for each in index.search(words, 10)] == expected


def test_an_excerpt_marks_what_was_found(index: RunIndex) -> None:
    [found] = index.search("inv-417", 10)
    assert f"{BEGIN_MARK}INV-417{END_MARK}" in found.excerpt
    [chinese] = index.search("天气", 10)
    assert chinese.excerpt == f"今天{BEGIN_MARK}天气{END_MARK}很好。"
    assert [each.excerpt for each in index.search("invoice", 0)] == [""]


def test_excerpts_are_given_for_the_runs_that_are_listed_first(index: RunIndex) -> None:
    """Runs are indexed the newest first, and later ones after them: the order of the index says nothing."""
    index.store(RunText(name, "1", "{}", "the same words") for name in ("newest", "older", "oldest", "gone"))
    found = index.search("words", 2, order=("newest", "older", "oldest"))
    assert [(each.run_id, bool(each.excerpt)) for each in found] == [
        ("newest", True),
        ("older", True),
        ("oldest", False),
        ("gone", False),
    ]


@pytest.mark.parametrize("words", ["", "   ", '"', "*", "( ) ^ :", "\x00", "\ud800"])
def test_what_is_no_word_finds_nothing(index: RunIndex, words: str) -> None:
    assert index.search(words, 10) == []


@pytest.mark.parametrize("words", ["a OR b", "NEAR(a b)", "text:x", 'x" OR "y', "-x", "a* ^b", "x" * 5000])
def test_no_words_are_obeyed_as_a_query(index: RunIndex, words: str) -> None:
    assert index.search(words, 10) == []
    assert "OR" not in build_query(words).replace('"OR"', "")


def test_a_run_that_is_stored_again_or_removed_is_no_longer_found_by_its_old_words(index: RunIndex) -> None:
    index.store([RunText("paid", "2", '{"turns": 3}', "another text")])
    assert index.search("invoice", 10) == []
    assert index.load()["paid"] == ("2", '{"turns": 3}')
    index.remove(["paid", "nobody"])
    assert index.search("another", 10) == []
    assert sorted(index.load()) == ["chinese", "hostile", "weather"]


def test_an_index_is_kept_and_one_that_is_damaged_is_made_anew(index: RunIndex) -> None:
    path = find_index("a place")
    assert path.stat().st_mode & 0o077 == 0
    index.close()
    again = RunIndex("a place")
    assert len(again.load()) == 4
    again.close()
    path.write_bytes(b"not a database, but long enough to look like one" * 100)
    anew = RunIndex("a place")
    assert anew.load() == {}
    anew.close()


def test_an_index_that_cannot_be_written_is_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TOOLSPEAK_CACHE_FOLDER", str(tmp_path / "file"))
    index = RunIndex("a place")
    index.store([RunText("one", "1", "{}", "hello")])
    assert [each.run_id for each in index.search("hello", 1)] == ["one"]
    index.close()
    with pytest.raises(StoreUnavailable, match="the index of runs cannot be used"):
        index.load()


def test_deleting_conversations_deletes_the_index_of_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLSPEAK_CACHE_FOLDER", str(tmp_path / "cache"))
    path = tmp_path / "log.sqlite"
    index = RunIndex(str(path))
    index.store([RunText("one", "1", "{}", "a secret")])
    index.close()
    with ConversationStore(path) as store:
        assert find_index(str(path)).exists()
        store.delete(["anything"])
    assert not list(find_index(str(path)).parent.iterdir())
