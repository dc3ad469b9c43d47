"""Questions whose answers are computed: the written answers are right by the checker, and what is measured is kept apart."""

import random
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.cases import each_case, sample
from tests.lab.test_field import find_problems
from tests.training.test_pairs import compose_suite, is_right, make_pairs
from toolspeak.dialects import DIALECTS
from toolspeak.lab.claims import find_false_claim
from toolspeak.lab.questions import Question, Suite
from toolspeak.lab.suites import ANSWERS_FILE, load_suite
from toolspeak.run.output import NAME

answers: Any = import_module("composing.answers")
told: Any = import_module("composing.told")
TRAINED = told.load_source(answers.TABLES, "train")
KEPT = told.load_source(("kept",), "kept")


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    return compose_suite("answers", tmp_path_factory.mktemp("answers"))


def test_there_are_many_kinds_in_four_languages(suite: Suite):
    assert len(suite.questions) > 6000
    kinds = Counter(each.category for each in suite.questions)
    assert kinds["compare"] > 1500
    assert kinds["typed"] > 1000
    assert min(kinds.values()) > 100
    langs = Counter(each.id.split("-")[2] for each in suite.questions)
    assert all(langs[lang] > 200 for lang in ("de", "fr", "es"))
    assert langs["en"] > 2 * (langs["de"] + langs["fr"] + langs["es"])


def test_the_checker_finds_the_written_answers_right(suite: Suite):
    judged = [each for each in (*sample(suite.questions, 900), *load_suite("answers").questions) if each.claims]
    assert [each.id for each in judged if each.claims and find_false_claim(each.reply, each.claims)] == []


def test_the_checker_finds_other_numbers_wrong(suite: Suite):
    """The values of two things are exchanged: what was right is wrong, and the reason is that of the checker."""
    compared = [each for each in suite.questions if each.category == "compare" and each.claims and each.claims.winner]
    for each in sample(compared, 60):
        assert each.claims
        other = next(name for name in map(told_name, each.claims.things) if name not in each.claims.winner)
        swapped = (
            each.reply.replace(each.claims.winner[0], "§").replace(other, each.claims.winner[0]).replace("§", other)
        )
        assert find_false_claim(swapped, each.claims), (each.id, swapped)


def told_name(names: str) -> str:
    return names.partition("|")[0]


@each_case("dialect", list(DIALECTS))
def test_the_answers_are_right_as_a_dialect_writes_them(suite: Suite, dialect: str):
    chosen = sample(suite.questions[::16], 40)
    wrong = [e.id for e in chosen if not is_right(suite, e, dialect, make_pairs.make_target(e, dialect))]
    assert wrong == []
    assert [problem for each in chosen for problem in find_problems(each)] == []


def test_the_tool_of_a_typed_answer_is_the_last(suite: Suite):
    typed = [each for each in suite.questions if each.category == "typed"]
    assert all(each.tools[-1].name == NAME for each in typed)
    shuffled = make_pairs.shuffle_tools(typed[0].tools, random.Random(1))
    assert shuffled[-1].name == NAME
    offered = [[tool for tool in typed[0].tools if tool.name == NAME]]
    [plain] = [each for each in sample(suite.questions, 4000) if each.category == "next"][:1]
    for group in make_pairs.vary_groups([plain, plain], offered, random.Random(1)):
        assert all(tool.name != NAME for each in group for tool in each.tools)


def test_what_is_measured_is_kept_apart():
    def list_names(source: Any) -> set[str]:
        return {name for each in (*source.subjects, *source.records) for name in each.names}

    def list_tools(source: Any) -> set[str]:
        named = {tool[0] for each in source.subjects for tool in (*each.tools, each.listing)}
        return named | {each.tool[0] for each in source.records}

    def list_frames(source: Any) -> set[str]:
        frames = {frame for asked in source.questions.values() for group in asked.values() for frame in group}
        own = {
            frame for each in source.subjects for words in each.words.values() for frame in words.ask + words.two_more
        }
        return frames | own | {asked[0] for each in source.records for asked in each.asks}

    for listed in (list_names, list_tools, list_frames):
        assert listed(TRAINED) & listed(KEPT) == set(), listed.__name__


def test_the_suite_is_what_the_tables_compose():
    questions = load_suite("answers").questions
    assert len(questions) == 300
    compared = [each for each in questions if each.category == "compare"]
    asked: dict[frozenset[str], list[Question]] = {}
    for each in compared:
        assert each.claims
        key = frozenset(f"{name} {values}" for name, values in each.claims.things.items())
        asked.setdefault(key, []).append(each)
    assert all(len(each) % 2 == 0 for each in asked.values())  # each is asked in both orders


def test_the_suite_can_be_written_again(tmp_path: Path):
    path = tmp_path / "answers.jsonl"
    make_pairs.write_lines(path, answers.compose_kept(7))
    assert path.read_text() == ANSWERS_FILE.read_text()
