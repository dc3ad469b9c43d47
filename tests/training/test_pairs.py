"""What an adapter is trained on: prompts as the dialects render them, and answers that the judge finds right."""

import importlib.util
import json
import random
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from toolspeak.dialects import DIALECTS
from toolspeak.evaluation.answers import RecordedAnswer
from toolspeak.evaluation.questions import Question, Suite
from toolspeak.evaluation.suites import load_suite
from toolspeak.evaluation.templates import render_qwen
from toolspeak.evaluation.trials import Trial

TRAINING = Path(__file__).parent.parent.parent / "training"
SAMPLE = 8
"""One question in so many is looked at."""


def load_script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, TRAINING / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


make_pairs: Any = load_script("make_pairs")
SUITE = load_suite("field-train")


def by_toolset() -> list[list[Question]]:
    found: dict[int, list[Question]] = {}
    for each in SUITE.questions:
        found.setdefault(id(each.tools), []).append(each)
    return list(found.values())


def is_right(suite: Suite, question: Question, dialect: str, text: str) -> bool:
    trial = Trial(suite=suite, question=question, dialect=dialect)
    return trial.judge(RecordedAnswer(id=trial.id, text=text)).verdict.right


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_answers_are_right_as_they_are_written(dialect: str):
    wrong = [
        each.id
        for each in SUITE.questions[::SAMPLE]
        if not is_right(SUITE, each, dialect, make_pairs.make_target(each, dialect))
    ]
    assert wrong == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_group_shares_its_system_message(dialect: str):
    for questions in by_toolset()[::SAMPLE]:
        group = make_pairs.make_group(SUITE, questions, dialect)
        for question, example in zip(questions, group["examples"], strict=True):
            prompt = render_qwen(Trial(suite=SUITE, question=question, dialect=dialect).render())
            assert group["system"] + example["rest"] == prompt
            assert example["rest"].startswith("<|im_start|>user\n")
            assert "<|im_end|>" not in example["target"]


def test_with_other_tools_the_right_answers_stay_right():
    offers = [questions[0].tools for questions in by_toolset()]
    sizes: list[tuple[int, int]] = []
    for number, questions in enumerate(by_toolset()[::SAMPLE]):
        groups = list(make_pairs.vary_groups(questions, offers, random.Random(number)))
        assert sorted(each.id for group in groups for each in group) == sorted(each.id for each in questions)
        for group in groups:
            for each in group:
                sizes.append((len(each.tools), len(questions[0].tools)))
                names = {spec.name for spec in each.tools}
                assert make_pairs.called_names(each) <= names
                assert len(names) == len(each.tools)
                assert is_right(SUITE, each, "python", make_pairs.make_target(each, "python"))
    assert any(now < before for now, before in sizes)
    assert any(now > before for now, before in sizes)


def test_each_epoch_shows_the_tools_in_another_order():
    questions = [replace(each, id=f"{each.id}") for each in max(by_toolset(), key=lambda found: len(found[0].tools))]
    suite = replace(SUITE, questions=tuple(questions))
    settings = {"plain_epochs": 2, "varied_epochs": 0, "dialects": ["python"], "group_size": len(questions)}
    first, second = make_pairs.make_groups(suite, settings, random.Random(7))
    assert (first["epoch"], second["epoch"]) == (0, 1)
    assert first["system"] != second["system"]
    assert sorted(first["system"].splitlines()) == sorted(second["system"].splitlines())
    assert first["toolset_rank"] == second["toolset_rank"]
    again = list(make_pairs.make_groups(suite, settings, random.Random(7)))
    assert json.dumps(again) == json.dumps([first, second])


def test_a_question_without_an_answer_is_refused():
    silent = replace(SUITE.questions[0], expected=(), reply="")
    settings = {"plain_epochs": 1, "varied_epochs": 0, "dialects": ["python"], "group_size": 1}
    with pytest.raises(ValueError, match="nothing is expected, and no reply is given"):
        list(make_pairs.make_groups(replace(SUITE, questions=(silent,)), settings, random.Random(7)))
