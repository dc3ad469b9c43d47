"""Conversations in which a record is chosen: what is expected follows from the records that are shown."""

import json
import random
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import pytest

from tests.cases import sample
from tests.lab.test_field import find_problems
from tests.training.test_pairs import is_right, make_pairs
from toolspeak.lab.suites import load_suite

compose_selections: Any = import_module("composing.selections")

SAMPLE = 25
"""One question in so many is answered."""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    written = tmp_path_factory.mktemp("selections") / "selections.jsonl"
    english = [each for each in compose_selections.DOMAINS if each.lang == "en"]
    abroad = [each for each in compose_selections.DOMAINS if each.lang != "en"]
    domains = [*sample(english, 5), *sample(abroad, 5)]
    make_pairs.write_lines(written, compose_selections.compose(11, domains))
    return written


def read_questions(path: Path) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [row for row in rows if "id" in row]


def list_leaves(value: Any) -> Iterator[Any]:
    """Yield the values that a value is made of."""
    match value:
        case dict():
            yield from list_leaves(list(cast("dict[str, Any]", value).values()))
        case list():
            for each in cast("list[Any]", value):
                yield from list_leaves(each)
        case _:
            yield value


def test_what_is_expected_fits_the_tools_and_is_judged_right(path: Path):
    suite = load_suite(str(path))
    assert [problem for each in sample(suite.questions, 150) for problem in find_problems(each)] == []
    assert set(suite.categories) == {"next", "answer", "empty"}
    for dialect in ("python", "json"):
        for each in sample(suite.questions[::SAMPLE], 60):
            assert is_right(suite, each, dialect, make_pairs.make_target(each, dialect)), each.id


def test_each_expected_call_takes_something_from_the_results(path: Path):
    for question in read_questions(path):
        shown = list(list_leaves([turn["results"] for turn in question["turns"] if "results" in turn]))
        for call in question["expected"]:
            assert any(value in shown for value in list_leaves(call["arguments"])), question["id"]
        calls = [json.dumps(call) for call in question["expected"]]
        assert len(set(calls)) == len(calls), question["id"]


def test_numbers_of_a_reply_are_those_that_were_shown(path: Path):
    for question in read_questions(path):
        if question["category"] == "answer" and question["reply"].startswith("The cheapest "):
            shown = list_leaves(question["turns"][-1]["results"])
            ident = question["reply"].partition("(")[2].partition(")")[0]
            assert ident in {str(value) for value in shown}, question["id"]


def test_a_tie_is_not_chosen_from():
    domain = compose_selections.DOMAINS[0]
    chooser = compose_selections.Chooser(domain, random.Random(3))
    best = domain.bests[0]
    assert best.pick == "min"
    records = [{best.name: value} for value in (4, 2, 2, 5)]
    assert chooser.rank([*records, {best.name: 1}], best) == [{best.name: 1}]
    # The first could be either of two, or a second one.
    for drawn, count in ((records, 1), (records, 2), ([*records, {best.name: 1}], 2)):
        with pytest.raises(compose_selections.UnclearError):
            chooser.rank(drawn, best, count)


def test_the_best_under_a_condition_is_not_the_best_of_all():
    chooser = compose_selections.Chooser(compose_selections.DOMAINS[2], random.Random(5))
    for _ in range(20):
        records, choice = chooser.draw(chooser.best_under)
        [first] = chooser.rank(records, choice.best)
        assert choice.records[0] is not first
        assert choice.condition
