"""Parameters for nights and for groups of people, drawn with the words that say them.

A set of tools decides what is wanted: the day of departure, the last night or the number of nights; up to which age
somebody is a child. The same words have different values in different sets.
"""

import random
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

from composing.kinds import Schema, Slot, describe_texts, several
from composing.talk import WORDS, Talk, join_words, last_of_month, say_future

Stay = tuple[str, date, int]  # the words for a stay, the first night and the number of nights


@several
def nights(rng: random.Random, modes: Sequence[str] = ("leave", "nights", "last")) -> Slot:
    """Make the parameters of a stay: `leave` (two days), `nights` (a day and a number) or `last` (two nights)."""
    label, form = rng.choice(WORDS["day_forms"])
    mode = rng.choice(modes)
    if mode == "leave":
        about = rng.choice(["Day of departure", "Day of departure, the morning after the last night"])
        schemas = describe_texts({"arrive": "Day of arrival", "leave": about}, label)
    elif mode == "nights":
        schemas = describe_texts({"first_night": "First night"}, label)
        schemas["nights"] = {"type": "integer", "description": "Number of nights"}
    else:
        last = "Last night that is slept here, not the day of departure"
        schemas = describe_texts({"first_night": "First night", "last_night": last}, label)

    def draw(talk: Talk) -> tuple[str, dict[str, Any]]:
        words, start, number = say_nights(talk)
        end = start + timedelta(number - (mode == "last"))
        values = [start.strftime(form), number if mode == "nights" else end.strftime(form)]
        return words, dict(zip(schemas, values, strict=True))

    return Slot(schemas, draw, is_fixable=False)


def say_nights(talk: Talk) -> Stay:
    """Say a stay."""
    talk.values += 1
    number = talk.rng.choice([1, 2, 2, 3, 3, 4, 5, 6])
    ways = (say_tonight, say_from, say_from, say_from, say_until_weekday, say_until_weekday, say_between, say_between)
    return talk.rng.choice((*ways, say_backwards, say_two_nights, say_week))(talk, number)


def draw_start(talk: Talk, number: int) -> date:
    """Draw a first night; half of the stays go over the end of a month or a year."""
    day = talk.today + timedelta(talk.rng.randint(3, 150))
    if talk.rng.random() < 0.2:
        day = date(talk.today.year, 12, 1)
    if talk.rng.random() < 0.55:
        day = last_of_month(day) - timedelta(talk.rng.randint(0, max(0, number - 1)))
    return day if day > talk.today else day + timedelta(366)


def begin(talk: Talk, number: int) -> tuple[str, date]:
    """Say the first night: `from 14 May 2026`."""
    way = talk.rng.random()
    if way < 0.15:
        talk.needs_today = True
        return talk.say("from_tomorrow"), talk.today + timedelta(1)
    if way < 0.3:
        talk.needs_today = talk.needs_weekday = True
        day = talk.today + timedelta(talk.rng.randint(2, 6))
        return talk.say("from_weekday", talk.name_weekday(day)), day
    day = draw_start(talk, number)
    return talk.say("from_day", talk.full_day(day), name=talk.name_weekday(day)), day


def say_tonight(talk: Talk, number: int) -> Stay:
    talk.needs_today = True
    return talk.say("tonight"), talk.today, 1


def say_from(talk: Talk, number: int) -> Stay:
    """Say the first night and how many there are, some of them in two steps."""
    words, start = begin(talk, number)
    if number == 1:
        return talk.say("one_night", words), start, 1
    n, more = talk.number_words(number), talk.number_words(number + 2)
    chance = talk.rng.random()
    if chance < 0.65:
        return talk.say("nights", words, n=n, number=number), start, number
    if chance < 0.85:
        return talk.say("nights_fixed", words, n=n, more=more), start, number + 2
    return talk.say("nights_and_one", words, n=n), start, number + 1


def say_until_weekday(talk: Talk, number: int) -> Stay:
    """Say the first day with its date, and the day of departure by its name."""
    start = draw_start(talk, number)
    first, last = (talk.name_weekday(each) for each in (start, start + timedelta(number)))
    return talk.say("stay_until_weekday", talk.full_day(start), first=first, last=last), start, number


def say_between(talk: Talk, number: int) -> Stay:
    """Say both days; the second one without its month where that is the same."""
    start = draw_start(talk, number)
    end = start + timedelta(number)
    a = talk.full_day(start)
    b = talk.day_number(end.day) if end.month == start.month else talk.month_day(end)
    the = "the " if talk.lang == "en" and end.month == start.month else ""
    wrong = end + timedelta(1)
    if end.month == start.month == wrong.month and talk.rng.random() < 0.4:
        return talk.say("between_fixed", a=a, b=b, c=talk.day_number(wrong.day)), start, number
    return talk.say("between", a=a, b=b, the=the), start, number


def say_backwards(talk: Talk, number: int) -> Stay:
    """Say the day of departure and the number of nights before it."""
    number = max(2, number)
    start = draw_start(talk, number)
    end = talk.full_day(start + timedelta(number))
    return talk.say("backwards", n=talk.number_words(number), end=end), start, number


def say_two_nights(talk: Talk, number: int) -> Stay:
    """Name two nights in a row."""
    start = draw_start(talk, 2)
    if talk.rng.random() < 0.5:
        first, second = (talk.name_weekday(each) for each in (start, start + timedelta(1)))
        return talk.say("two_weekdays", talk.full_day(start), first=first, second=second), start, 2
    if (start + timedelta(1)).month != start.month:
        start -= timedelta(1)
    words = talk.full_day(start + timedelta(1))
    return talk.say("two_nights", words, a=talk.day_number(start.day)), start, 2


def say_week(talk: Talk, number: int) -> Stay:
    if talk.rng.random() < 0.35:
        start = draw_start(talk, 7)
        return talk.say("week_later", talk.full_day(start), name=talk.name_weekday(start)), start, 7
    words, start = begin(talk, 7)
    return talk.say("one_week" if number % 2 else "two_weeks", words), start, 7 if number % 2 else 14


@several
def stay(rng: random.Random, first: str, last: str, about_first: str, about_last: str, has_nights: bool = True) -> Slot:
    """Make two parameters, the day of arrival and that of departure, said together."""
    label, form = rng.choice(WORDS["day_forms"])

    def draw(talk: Talk) -> tuple[str, dict[str, Any]]:
        words, start, end = say_stay(talk, has_nights=has_nights)
        return words, {first: start.strftime(form), last: end.strftime(form)}

    return Slot(describe_texts({first: about_first, last: about_last}, label), draw, is_fixable=False)


def say_stay(talk: Talk, *, has_nights: bool) -> tuple[str, date, date]:
    """Say the first and the last day: from one to the other, or with a number of nights."""
    nights = talk.rng.randint(2, 9)
    talk.values += 1
    if has_nights and talk.rng.random() < 0.5:
        words, start = say_future(talk)
        n = talk.number_words(nights)
        return talk.say("stay_nights", words, n=n, nights=nights), start, start + timedelta(nights)
    start = talk.today + timedelta(talk.rng.randint(2, 25))
    end = start + timedelta(nights)
    talk.needs_today = True
    is_later = start.month != talk.today.month
    a, b, c = (talk.day_number(each.day) for each in (start, end, end - timedelta(1)))
    tail = f" {talk.say('in_next_month')}" if is_later else ""
    if not is_later and end.month != start.month:
        return talk.say("stay_over_month", a, talk.say("of_next_month", b)), start, end
    if is_later and end.month != start.month:
        end = start + timedelta(1)
        b = talk.day_number(end.day)
        if end.month != start.month:
            return say_stay(talk, has_nights=has_nights)
    if nights > 3 and end - start > timedelta(3) and talk.rng.random() < 0.4:
        return talk.say("stay_shortened", a=a, wrong=b, tail=tail, right=c), start, end - timedelta(1)
    return talk.say("stay_days", a=a, b=b, tail=tail), start, end


CHILD_LIMITS = (12, 14, 15, 16, 18)
SENIOR_LIMITS = (60, 63, 65, 67)


@several
def party(
    rng: random.Random, adults: str = "adults", children: str = "children", third: str = "", is_loose: bool = True
) -> Slot:
    """Make the numbers of adults and children, and of seniors or toddlers if they are named.

    Seniors are told from adults by their age alone: where they are counted, all ages are said.
    """
    limit, old, small = rng.choice(CHILD_LIMITS), rng.choice(SENIOR_LIMITS), rng.choice([3, 4, 6])
    has_seniors, has_toddlers = third.startswith("senior"), bool(third) and not third.startswith("senior")
    top = rng.choice([f"aged {limit} and over", f"from {limit} years"])
    if has_seniors:
        top = f"from {limit} to {old - 1} years"
    low = rng.choice([f"under {limit}", f"up to and including {limit - 1} years"])
    if has_toddlers:
        low = f"from {small} to {limit - 1} years"
    abouts = {adults: top, children: low}
    if third:
        abouts[third] = f"{old} and older" if has_seniors else f"under {small}"
    schemas: dict[str, Schema] = {
        key: {"type": "integer", "description": f"Number of people {about}"} for key, about in abouts.items()
    }
    optional = frozenset({children, third} - {""}) if is_loose and rng.random() < 0.6 else frozenset[str]()
    for key in optional:
        schemas[key]["default"] = 0

    def draw(talk: Talk) -> tuple[str, dict[str, Any]]:
        talk.values += 1
        words, ages = say_party(talk, limit, old if has_seniors else 0)
        senior = sum(each >= old for each in ages) if has_seniors else 0
        toddlers = sum(each < small for each in ages) if has_toddlers else 0
        young = sum(each < limit for each in ages) - toddlers
        found = {adults: len(ages) - senior - young - toddlers, children: young}
        found |= {third: senior + toddlers} if third else {}
        return words, {key: value for key, value in found.items() if value or key not in optional}

    return Slot(schemas, draw, is_fixable=False, optional=optional)


GROWN = 30  # the age that counts for a grown-up whose age is not said


def list_ages(talk: Talk, ages: Sequence[int]) -> str:
    is_spelled = talk.rng.random() < 0.35
    written = [talk.number_words(each) if is_spelled and each > 1 else str(each) for each in ages]
    return join_words(talk.lang, written)


def say_party(talk: Talk, limit: int, old: int) -> tuple[str, list[int]]:
    """Say who comes; return the words and the ages."""
    near = [limit - 1, limit, limit + 1]
    kids = sorted(min(17, talk.rng.choice([2, 3, 5, 7, 8, 9, 10, 11, 13, *near, *near])) for _ in range(3))
    kids = kids[: talk.rng.choice([2, 3])]
    if old or talk.rng.random() < 0.3:
        return say_all_ages(talk, kids, old)
    if talk.rng.random() < 0.15:
        return talk.say_one_of("grown", [[GROWN] * 2, [GROWN], [GROWN] * 4])
    one, twin, listed = kids[0], kids[-1], list_ages(talk, kids)
    big = min(17, one + talk.rng.choice([1, 2, 4]))
    parents = [GROWN, GROWN]
    meanings = [[*parents, *kids], [*parents, twin, twin], [GROWN, one], [GROWN, *[one] * 3, big], [GROWN] * 3 + kids]
    n = talk.number_words(len(kids))
    return talk.say_one_of("party", meanings, k=listed, n=n, twin=twin, o=one, b=big)


def say_all_ages(talk: Talk, kids: Sequence[int], old: int) -> tuple[str, list[int]]:
    """Say the age of everybody."""
    limits = [old - 1, old, old + 1] if old else []
    grown = sorted(talk.rng.choice([24, 31, 38, 44, 52, *limits]) for _ in range(talk.rng.randint(1, 3)))
    elder = talk.rng.choice([old - 1, old, old + 1, 72, 80] if old else [66, 70])
    if talk.rng.random() < 0.5:
        ages = [*kids, *grown]
        talk.rng.shuffle(ages)
        names = talk.rng.sample(WORDS["people"], len(ages))
        form = talk.rng.choice(["{} {}", "{} ({})"])
        return join_words(talk.lang, [form.format(*each) for each in zip(names, ages, strict=True)]), ages
    me = talk.rng.choice([29, 33, 36])
    words = talk.pick(WORDS["all_ages"])
    return words.format(m=me, e=elder, k=list_ages(talk, kids)), [me, elder, *kids]
