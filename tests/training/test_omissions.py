"""The requests that lack a value: what is left out is not said, its twin says it, and the reply asks for it."""

import random
import re
from collections import Counter
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.cases import RUNS_ALL, each_case, sample
from tests.lab.test_field import find_problems
from tests.training.test_pairs import compose_suite, is_right, make_pairs

omissions: Any = import_module("composing.omissions")
talk: Any = import_module("composing.talk")

JOBS: list[Any] = [job for jobs in omissions.FIELDS.values() for job in jobs]

SAMPLE = 8
"""One question in so many is answered and judged."""

CUT = re.compile(r"  |^[ ,.:;]|,\s*[.,?;]|\s[.,]|\(\s*\)")
LOOSE_ENDS = re.compile(
    r"(?<!\d )\b(at|by|for|from|in|into|of|on|to|until|with|and|or|a|the|am|auf|bis|für|mit|um|und|von|zu|ab"
    r"|à|de|du|et|le|la|pour|vers|el|para|y|con)(?=[.,?:;]|$)"
)
"""What is left where a piece was cut out of a sentence."""


def is_in(lang: str, text: str) -> bool:
    """Whether a text is there in a language."""
    return lang == "en" or f" / {lang}: " in text


def draw(seed: int) -> list[Any]:
    """Return all twins of a seed; in `make test`, those of one seed for all tests."""
    return draw_twins(seed if RUNS_ALL else 5)


@cache
def draw_twins(seed: int) -> list[Any]:
    return [twins for _, twins in omissions.draw_all(random.Random(seed))]


def test_the_questions_have_right_answers(tmp_path: Path):
    suite = compose_suite("omissions", tmp_path)
    assert len(suite.questions) > 1300
    assert [problem for each in sample(suite.questions, 150) for problem in find_problems(each)] == []
    counts = Counter(each.category for each in suite.questions)
    assert set(counts) == {"missing", "single", "parallel"}
    assert 0.45 < counts["missing"] / len(suite.questions) < 0.55
    chosen = sample(suite.questions[::SAMPLE], 60)
    assert [
        each.id for each in chosen if not is_right(suite, each, "python", make_pairs.make_target(each, "python"))
    ] == []


def test_the_sets_have_two_to_six_tools_of_many_fields(tmp_path: Path):
    sets = {len(each.tools) for each in compose_suite("omissions", tmp_path, seed=3).questions}
    assert sets == {2, 3, 4, 5, 6}
    assert len(omissions.FIELDS) >= 15
    assert len({job.name for job in JOBS}) == len(JOBS) >= 45


def test_what_is_left_out_is_said_by_the_twin_alone():
    for twins in draw(5):
        assert twins.dropped
        arguments = twins.calls[-1]["arguments"]
        for key, said in twins.dropped.items():
            [value] = arguments[key]
            assert said in twins.whole, twins.whole
            assert not omissions.is_said(said, twins.lacking), twins.lacking
            assert not omissions.is_said(str(value), twins.lacking), twins.lacking


def test_of_a_choice_that_is_left_out_no_value_is_said():
    for twins in (each for each in draw(6) if len(each.calls) == 1):
        for key in twins.dropped:
            for value in twins.job.slots[key].schema.get("enum", ()):
                assert len(value) == 1 or not omissions.is_said(value, twins.lacking), twins.lacking


def test_what_is_said_is_in_the_call_and_what_is_optional_only_then():
    unsaid = 0
    for twins in draw(8):
        for call in twins.calls:
            optional = {key.rstrip("?") for key in twins.job.parts if key.endswith("?")}
            assert set(twins.job.required) <= set(call["arguments"]) <= {*twins.job.required, *optional}
            unsaid += bool(optional - set(call["arguments"]))
    assert unsaid > 300


def test_no_sentence_looks_cut():
    for twins in draw(9):
        for text in (twins.whole, twins.lacking, twins.reply):
            assert not CUT.search(text), text
        assert set(LOOSE_ENDS.findall(twins.lacking)) <= set(LOOSE_ENDS.findall(twins.whole)), twins.lacking
        assert twins.lacking != twins.whole
        assert "?" in twins.reply, twins.reply


@each_case("job", JOBS, ids=lambda job: job.name)
def test_each_sentence_says_what_its_tool_requires(job: Any):
    lines = talk.list_sentences(job.frames)
    assert len(lines) >= 5
    assert {lang for lang, _ in lines} > {"en"}
    for lang, frame in lines:
        assert set(omissions.list_keys(frame)) >= set(job.required), frame
        pieces = omissions.list_pieces(job, frame)
        assert pieces, frame
        for key in {each for piece in pieces for each in omissions.list_keys(piece)}:
            asks = job.find(key, "asks")
            assert is_in(lang, asks), (frame, key)
            assert len(talk.list_ways(lang, asks)) >= 2, (frame, key)
    for _, line in talk.list_sentences(job.twos):
        frame, _, replies = line.partition(" >> ")
        assert set(omissions.list_keys(frame)) >= set(job.required), frame
        assert len(replies.split(" | ")) >= 2, line


def test_a_question_names_only_what_was_said():
    job = next(each for each in JOBS if each.name == "airfield_park")
    frame = "Reserve a place[ for {registration}][ in the {hangar}] from {from_date} to {to_date}."
    for seed in range(60):
        rng = random.Random(seed)
        pieces = omissions.list_pieces(job, frame)
        twins = omissions.draw_twins(job, "en", frame, pieces[:1], rng)
        assert not re.search(r"[A-Z]{1,2}-[A-Z]{3,4}", twins.reply), twins.reply


def test_two_calls_differ_in_what_is_named_twice():
    doubles = [each for each in draw(4) if len(each.calls) == 2]
    assert len(doubles) > 100
    for twins in doubles:
        first, second = twins.calls
        assert first["arguments"] != second["arguments"], twins.whole
        assert set(first["arguments"]) == set(second["arguments"])


def test_what_ends_comes_after_what_begins():
    ends = 0
    for twins in (each for seed in (range(3) if RUNS_ALL else (5, 0)) for each in draw_twins(seed)):
        for key, part in twins.job.parts.items():
            for call in twins.calls if "after" in part else ():
                assert call["arguments"][key] > call["arguments"][part["after"]], twins.whole
                ends += 1
    assert ends > 100
