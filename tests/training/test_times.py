"""The questions about days, times and units: their labels are computed, and they are what the words say."""

import random
import re
from collections import Counter
from datetime import date, timedelta
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.cases import each_case, sample
from tests.lab.test_field import find_problems
from tests.training.test_pairs import compose_suite, is_right, make_pairs

talks: Any = import_module("composing.talk")
spoken: Any = import_module("composing.spoken")

SAMPLE = 8
"""One question in so many is answered and judged."""

WEDNESDAY = date(2026, 9, 9)


def test_the_questions_have_right_answers(tmp_path: Path):
    suite = compose_suite("times", tmp_path)
    assert len(suite.questions) > 1900
    assert len({spec.name.lower() for each in suite.questions for spec in each.tools}) >= 45
    assert [problem for each in sample(suite.questions, 150) for problem in find_problems(each)] == []
    chosen = sample(suite.questions[::SAMPLE], 60)
    assert [
        each.id for each in chosen if not is_right(suite, each, "python", make_pairs.make_target(each, "python"))
    ] == []
    assert Counter(each.category for each in suite.questions)["messy"] > 1000


@each_case("tool", spoken.TIMES.tools, ids=lambda tool: tool.name)
def test_each_sentence_says_what_its_tool_requires(tool: Any):
    assert len(tool.list_frames("en")) >= 6
    for frame in (each for lang in talks.LANGUAGES for each in tool.list_frames(lang)):
        always = set(re.findall(r"{(\w+)}", re.sub(r"\[[^\]]*\]", "", frame)))
        assert {key for key in tool.values if not key.endswith("?")} <= always, frame
        assert set(re.findall(r"{(\w+)}", frame)) <= {key.rstrip("?") for key in tool.values}, frame


@cache
def draw_words(say: Any, lang: str, today: date = WEDNESDAY) -> dict[str, Any]:
    """Draw many times; return the words with what they stand for."""
    rng = random.Random(3)
    return dict(say(talks.Talk(rng, lang, today)) for _ in range(3000))


@each_case(
    "lang, words, days",
    [
        ("en", "tomorrow", 1),
        ("en", "this coming Friday", 2),
        ("en", "on Monday", 5),
        ("en", "this Saturday", 3),
        ("en", "in a fortnight", 14),
        ("en", "on the last day of the month", 21),
        ("en", "on the 3rd of next month", 24),
        ("de", "übermorgen", 2),
        ("de", "am kommenden Freitag", 2),
        ("fr", "après-demain", 2),
        ("es", "este viernes", 2),
    ],
)
def test_a_day_is_what_the_words_say(lang: str, words: str, days: int):
    assert draw_words(talks.say_future, lang)[words] == WEDNESDAY + timedelta(days)


def test_no_weekday_is_that_of_today():
    assert not [each for each in draw_words(talks.say_future, "en") if "Wednesday" in each]


def test_days_cross_the_end_of_a_year():
    found = draw_words(talks.say_future, "en", date(2026, 12, 30))
    assert found["in three days"] == date(2027, 1, 2)
    assert found["on the 5th of next month"] == date(2027, 1, 5)


@each_case(
    "lang, words, minutes",
    [
        ("en", "half past six in the evening", 18 * 60 + 30),
        ("en", "half four in the afternoon", 16 * 60 + 30),
        ("en", "quarter to six in the evening", 17 * 60 + 45),
        ("en", "noon", 12 * 60),
        ("de", "halb acht abends", 19 * 60 + 30),
        ("de", "viertel vor sechs abends", 17 * 60 + 45),
        ("fr", "19h30", 19 * 60 + 30),
        ("fr", "midi et demi", 12 * 60 + 30),
        ("es", "las siete y media de la tarde", 19 * 60 + 30),
        ("es", "la una menos cuarto del mediodía", 12 * 60 + 45),
    ],
)
def test_a_time_is_what_the_words_say(lang: str, words: str, minutes: int):
    assert draw_words(say_time, lang)[words] == minutes


def say_time(talk: Any) -> Any:
    return talks.say_time(talk, 7, 22)
