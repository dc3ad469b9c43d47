"""The training of word vectors, on a tiny vocabulary. Needs torch."""

import random
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed: training needs it, toolspeak does not")

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "training"))

import word_vectors

from toolspeak.dialects.tool_index import list_parts
from toolspeak.dialects.word_vectors import MeaningIndex, WordVectors
from toolspeak.values.spec import ToolSpec

TOOLS = [
    ToolSpec(name="get_forecast", description="Weather of a city.", parameters={}),
    ToolSpec(name="play_song", description="Plays music.", parameters={}),
    ToolSpec(name="send_money", description="Transfers an amount.", parameters={}),
]
QUESTIONS = ["umbrella oslo", "melody shakira", "pay anna"]
MEANINGS = [[["weather"], ["wetter"]], [["music"], ["musik"]], [["money"], ["geld"]]]
SETTINGS: dict[str, Any] = {
    "steps": 60,
    "batch": 3,
    "others": 2,
    "translated": 0.0,
    "replaced": 0.3,
    "heat": 0.05,
    "meanings": 0.5,
    "learning_rate": 2e-2,
}


def train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[WordVectors, str]:
    monkeypatch.setattr(word_vectors, "LANGUAGES", 2)
    texts = [*QUESTIONS, *(text for spec in TOOLS for text, _ in list_parts(spec))]
    known = [word for meaning in MEANINGS for words in meaning for word in words]
    forms = word_vectors.choose_words(texts * 2, known, [], 100)
    apart = np.eye(len(forms), dtype=np.float32)  # no word is like another one to begin with
    model = word_vectors.Embedding(word_vectors.reduce_dimensions(apart, (len(forms) - 1) // 2 * 2))
    pairs = [
        word_vectors.Pair(text, (place,), tuple(each for each in range(3) if each != place))
        for place, text in enumerate(QUESTIONS)
    ]
    lines: list[str] = []
    word_vectors.train_pairs(model, list(forms), pairs, TOOLS, MEANINGS, SETTINGS, random.Random(1), lines.append)
    path = tmp_path / "vectors.bin"
    digest = word_vectors.write_vectors(path, list(forms), *model.finish())
    assert len(lines) == 1
    return WordVectors(path.read_bytes()), digest


def test_questions_find_the_tools_that_they_were_trained_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    vectors, _ = train(tmp_path, monkeypatch)
    index = MeaningIndex(vectors, [list_parts(spec) for spec in TOOLS])
    assert [int(row.argmax()) for row in index.measure(QUESTIONS)] == [0, 1, 2]
    assert [int(row.argmax()) for row in index.measure(["Wetter", "Musik", "Geld"])] == [0, 1, 2]


def test_two_trainings_give_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert train(tmp_path, monkeypatch)[1] == train(tmp_path, monkeypatch)[1]


def test_words_are_chosen_from_the_known_the_used_and_the_frequent_ones():
    forms = word_vectors.choose_words(["Oslo oslo OSLO rare", "oslo"], ["Wetter"], ["the", "Haus", "haus"], 4)
    assert list(forms) == ["wetter", "oslo", "the", "haus"]
    assert forms["oslo"] == ["oslo", "Oslo"]
    assert forms["wetter"] == ["Wetter"]


def test_a_folder_without_the_teacher_is_refused(tmp_path: Path):
    with pytest.raises(SystemExit, match="does not hold the teacher"):
        word_vectors.Teacher(tmp_path, "")
