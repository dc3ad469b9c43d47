"""The questions whose values are worked out: the labels are what the words and the descriptions say."""

import random
import re
from collections import Counter
from datetime import date, timedelta
from decimal import Decimal
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.cases import each_case, sample
from tests.lab.test_field import find_problems
from tests.training.test_pairs import compose_suite, is_right, make_pairs

kinds: Any = import_module("composing.kinds")
spoken: Any = import_module("composing.spoken")
stays: Any = import_module("composing.stays")
talks: Any = import_module("composing.talk")

SAMPLE = 8
"""One question in so many is answered and judged."""

NEW_YEARS_EVE = date(2026, 12, 31)


def make_slot(kind: str, seed: int = 1, **entry: Any) -> Any:
    """Make the slot that the set of a seed makes of a parameter of one kind."""
    [slot] = kinds.make_slots({"value": {"kind": kind, **entry}}, random.Random(seed)).values()
    return slot


PLANKS: Any = make_slot("tally", description="Planks", noun="planks / Bretter / planches / tablas")


def test_the_questions_have_right_answers(tmp_path: Path):
    suite = compose_suite("sums", tmp_path)
    assert len(suite.questions) > 1400
    assert [problem for each in sample(suite.questions, 150) for problem in find_problems(each)] == []
    chosen = sample(suite.questions[::SAMPLE], 60)
    assert [
        each.id for each in chosen if not is_right(suite, each, "python", make_pairs.make_target(each, "python"))
    ] == []
    categories = Counter(each.category for each in suite.questions)
    assert set(categories) == {"messy", "parallel", "single"}
    assert categories["parallel"] > 100
    assert all(len(each.expected) == 2 for each in suite.questions if each.category == "parallel")


def test_there_are_many_tools_in_many_areas():
    assert len({each.name for each in spoken.SUMS.tools}) == len(spoken.SUMS.tools) >= 40
    assert len({each.area for each in spoken.SUMS.tools}) >= 15


@each_case("tool", spoken.SUMS.tools, ids=lambda tool: tool.name)
def test_each_sentence_says_what_its_tool_requires(tool: Any):
    needed = {key for key in tool.values if not key.endswith("?")}
    known = {key.rstrip("?") for key in tool.values}
    assert len(tool.list_frames("en")) >= 5
    for lang in talks.LANGUAGES:
        assert tool.list_frames(lang)
        assert bool(tool.list_frames(lang, is_pair=True)) == bool(tool.pairs)
        for frame in tool.list_frames(lang):
            assert needed <= find_places(frame), frame
            assert set(re.findall(r"{(\w+)}", frame)) <= known, frame
        for frame in tool.list_frames(lang, is_pair=True):
            places = find_places(frame)
            assert needed <= places, frame
            second = {each[:-1] for each in places if each.endswith("2")}
            assert len(second) > 1, frame
            assert second <= known, frame


def find_places(frame: str) -> set[str]:
    """Return the places of a sentence that are always filled."""
    return set(re.findall(r"{(\w+)}", re.sub(r"\[[^\]]*\]", "", frame)))


@cache
def draw_words(say: Any, lang: str, today: date = NEW_YEARS_EVE, count: int = 6000) -> dict[str, Any]:
    """Draw many times; return the words with what they stand for."""
    rng = random.Random(5)
    return {words: rest for words, *rest in (say(talks.Talk(rng, lang, today)) for _ in range(count))}


def draw_slot(slot: Any, lang: str, count: int = 6000) -> dict[str, Any]:
    """Draw many times from the slot that one set makes of a parameter."""
    return {words: rest[0] for words, rest in draw_words(slot.say, lang, count=count).items()}


@each_case(
    "lang, words, ahead, nights",
    [
        ("en", "tonight only", 0, 1),
        ("en", "from tomorrow for three nights", 1, 3),
        ("en", "from tomorrow for four nights, no, make it six", 1, 6),
        ("en", "from tomorrow for two nights plus one extra night at the end", 1, 3),
        ("en", "from tomorrow for a week", 1, 7),
        ("en", "from this coming Sunday for two nights", 3, 2),
        ("de", "nur heute Nacht", 0, 1),
        ("de", "ab morgen für drei Nächte", 1, 3),
        ("fr", "à partir de demain, une semaine", 1, 7),
        ("es", "desde mañana, dos noches", 1, 2),
    ],
)
def test_a_stay_is_what_the_words_say(lang: str, words: str, ahead: int, nights: int):
    assert draw_words(stays.say_nights, lang)[words] == [NEW_YEARS_EVE + timedelta(ahead), nights]


@each_case(
    "way, words, start",
    [
        (stays.say_between, "from December 31, 2025 to January 2nd", date(2025, 12, 31)),
        (stays.say_between, "arriving 2026-01-31, leaving 2 February", date(2026, 1, 31)),
        (stays.say_backwards, "two nights, leaving on 1 January 2026", date(2025, 12, 30)),
        (stays.say_until_weekday, "from Wednesday, 31 December 2025, until Friday", date(2025, 12, 31)),
    ],
)
def test_stays_go_over_the_end_of_a_month_and_a_year(way: Any, words: str, start: date):
    def say(talk: Any) -> Any:
        return way(talk, 2)

    assert draw_words(say, "en", date(2025, 12, 2))[words] == [start, 2]


@each_case(
    "mode, value",
    [
        ("leave", {"arrive": "2027-01-01", "leave": "2027-01-04"}),
        ("nights", {"first_night": "2027-01-01", "nights": 3}),
        ("last", {"first_night": "2027-01-01", "last_night": "2027-01-03"}),
    ],
)
def test_a_set_decides_which_days_of_a_stay_are_wanted(mode: str, value: dict[str, Any]):
    slots = (make_slot("nights", seed, modes=[mode]) for seed in range(99))
    slot = next(each for each in slots if "YYYY-MM-DD" in str(each.schemas))
    assert draw_slot(slot, "en")["from tomorrow for three nights"] == value


@each_case(
    "lang, words, ages",
    [
        ("en", "me, my wife and the twins (7)", [30, 30, 7, 7]),
        ("en", "me and my nephew, who is 13", [30, 13]),
        ("en", "both parents plus the kids (9 and 13)", [30, 30, 9, 13]),
        ("en", "just myself", [30]),
        ("de", "mein Mann, ich und die Zwillinge (14)", [30, 30, 14, 14]),
    ],
)
def test_a_group_is_who_the_words_say(lang: str, words: str, ages: list[int]):
    assert draw_words(say_party, lang)[words] == [ages]


def say_party(talk: Any) -> Any:
    return stays.say_party(talk, 14, 0)


def test_the_ages_that_a_description_tells_divide_a_group():
    for seed in range(30):
        slot = make_slot("party", seed, third="seniors")
        low, high = map(int, re.findall(r"\d+", slot.schemas["adults"]["description"]))
        words, found = slot.say(talks.Talk(random.Random(seed), "en", NEW_YEARS_EVE))
        ages = [int(each) for each in re.findall(r"\d+", words)]
        if len(ages) == sum(found.values()):
            assert found.get("children", 0) == sum(each < low for each in ages)
            assert found["adults"] == sum(low <= each <= high for each in ages)
            assert found.get("seniors", 0) == sum(each > high for each in ages)


@each_case(
    "lang, words, number",
    [
        ("en", "half a dozen planks", 6),
        ("en", "two and a half dozen planks", 30),
        ("en", "twice as many planks as last time, and that was 40", 80),
        ("en", "five fewer planks than the 20 of last time", 15),
        ("en", "planks, one for each of the eleven of us and two spare", 13),
        ("en", "planks, three each for the nine of us", 27),
        ("en", "enough planks for 4 boxes of 6", 24),
        ("de", "zwei Dutzend Bretter", 24),
        ("fr", "une demi-douzaine de planches", 6),
        ("es", "el triple que el año pasado, que fueron 12 tablas", 36),
    ],
)
def test_a_number_of_things_is_added_up(lang: str, words: str, number: int):
    assert draw_slot(PLANKS, lang)[words] == {"value": number}


def test_people_fall_ill_and_pairs_are_two():
    people = draw_slot(make_slot("heads", description="People"), "en")
    assert people["we were twenty-five and three are ill"] == {"value": 22}
    begun = "twenty to begin with, two dropped out, four joined"
    assert people[begun] == {"value": 22}
    pairs = draw_slot(make_slot("tally", description="Stones", noun="stones", has_pairs=True), "en")
    assert pairs["eight pairs of stones"] == {"value": 16}


@each_case(
    "lang, ways",
    [
        ("en", {"48,213.7", "48213.7", "48 213.7", "48.213,7"}),
        ("de", {"48.213,7", "48213,7", "48 213,7"}),
        ("fr", {"48 213,7", "48213,7"}),
        ("es", {"48.213,7", "48213,7", "48 213,7"}),
    ],
)
def test_a_figure_is_written_without_doubt(lang: str, ways: set[str]):
    def say(talk: Any) -> Any:
        return kinds.write_figure(talk, Decimal("48213.7"), 1), 0

    assert set(draw_words(say, lang, count=500)) == ways


def test_decimals_are_dropped_rounded_or_kept_as_the_description_tells():
    seen: set[str] = set()
    for seed in range(40):
        slot = make_slot("figure", seed, description="Reading", unit="units", low=100, high=900)
        words, found = slot.say(talks.Talk(random.Random(seed), "en", NEW_YEARS_EVE))
        whole, tenth = words.split(".")
        description = slot.schemas["value"]["description"]
        rule = next(each for each in ("dropped", "not rounded", "nearest", "all decimals") if each in description)
        wanted = {"nearest": int(whole) + (tenth > "5"), "all decimals": float(words)}.get(rule, int(whole))
        assert found == {"value": wanted}
        seen.add(rule)
    assert len(seen) == 4


def test_a_code_is_written_as_the_description_tells():
    assert [kinds.write_code(form, "C", "44002") for _, form in talks.WORDS["code_forms"]["letters"]] == [
        "C-44002", "C44002", "c44002", "44002/C", "44002",
    ]  # fmt: skip
    assert [kinds.write_code(form, "", "600718") for _, form in talks.WORDS["code_forms"]["digits"]] == [
        "600718", "600-718", "000600718",
    ]  # fmt: skip


@each_case(
    "words",
    ["c44002", "c 44002", "C 44 002", "C 4 4 0 0 2", "c 4 4 0 0 2", "c double four double oh two", "c dash 44002"],
)
def test_a_code_is_dictated(words: str):
    assert words in draw_words(say_code, "en")


def say_code(talk: Any) -> Any:
    return kinds.say_code(talk, "C", "44002"), 0


@each_case("minutes, name", [(719, "morning"), (720, "afternoon"), (1019, "afternoon"), (1020, "evening")])
def test_the_hours_of_a_description_divide_the_day(minutes: int, name: str):
    names, hours = talks.WORDS["splits"][0]
    told = "morning = 8:00 to 11:59, afternoon = 12:00 to 16:59, evening = 17:00 to 20:59"
    assert kinds.tell_parts(names, hours) == told
    assert kinds.find_part(minutes, names, hours) == name


@each_case(
    "said, rule, words, number",
    [
        ("inches", "2.54 cm", "ten inches", 25.4),
        ("inches", "as 2.5 cm", "ten inches", 25),
        ("feet", "whole centimetres", "ten feet", 305),
        ("miles", "as 1600 m", "ten miles", 16_000),
        ("miles", "rounded", "ten miles", 16),
        ("pounds", "453.6", "ten pounds", 4536),
        ("ounces", "as 28 g", "ten ounces", 280),
        ("gallons", "as 4.5 l", "ten gallons", 45),
        ("hours", "in minutes", "an hour and a half", 90),
        ("kilos", "in tonnes", "10 kg", 0.01),
    ],
)
def test_a_unit_counts_as_the_description_tells(said: str, rule: str, words: str, number: float):
    entry = {"description": "Amount", "said": said, "values": ["10", "1.5"]}
    slots = (make_slot("measure", seed, **entry) for seed in range(60))
    slot = next(each for each in slots if rule in each.schema["description"])
    assert draw_slot(slot, "en", count=500)[words] == {"value": number}


def test_a_correction_changes_one_of_two_calls():
    tool = next(each for each in spoken.SUMS.tools if each.name == "ribbon_roll")
    offer = spoken.Offer(tool, kinds.make_slots(tool.values, random.Random(1)), "snake")
    lengths = draw_words(offer.slots["length"].say, "en")
    checked = 0
    for seed in range(400):
        draft = spoken.fill_pair(offer, talks.Talk(random.Random(seed), "en", NEW_YEARS_EVE))
        if found := re.search(r"Oh wait, (\w+): (.+), not (.+)\.$", draft.text):
            who, right, wrong = found.groups()
            by_colour = {each["arguments"]["colour"]: each["arguments"]["length"] for each in draft.calls}
            assert by_colour[who] == lengths[right][0]["length"] != lengths[wrong][0]["length"]
            assert len(by_colour) == 2
            checked += 1
    assert checked > 10
