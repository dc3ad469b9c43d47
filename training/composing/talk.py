"""Words for numbers, days, times of day and durations in four languages, with the values that they stand for.

A day is drawn relative to the `today` of a talk; whatever cannot be known without it sets `needs_today`. Only words
with one meaning are used: "this coming Friday", never "next Friday"; a weekday is never that of today. The words are in
`tables/words.toml`.
"""

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from composing.tables import read_table

LANGUAGES = ("en", "de", "fr", "es")

WORDS = read_table("words")

MONTHS, WEEKDAYS, SMALL = WORDS["months"], WORDS["weekdays"], WORDS["small"]
TEENS, TENS = WORDS["teens"], WORDS["tens"]


@dataclass
class Talk:
    """What one message is drawn with.

    A message needs `today` or the day of the week if a word in it is only clear to who knows them; `values` counts the
    values that are not said in their plain form, and `drawn` has those of the parameters that were drawn so far.
    """

    rng: random.Random
    lang: str = "en"
    today: date = date(2026, 1, 1)
    needs_today: bool = False
    needs_weekday: bool = False
    values: int = 0
    drawn: dict[str, Any] = field(default_factory=dict[str, Any])

    def pick(self, ways: str) -> str:
        """Choose one of the ways of the talk's language."""
        return self.rng.choice(list_ways(self.lang, ways))

    def say(self, name: str, /, *places: Any, **values: Any) -> str:
        """Choose one of the ways of a phrase of `words.toml`, and fill its places."""
        return self.pick(WORDS[name]).format(*places, **values)

    def tell(self, name: str, /, *places: Any, **values: Any) -> str:
        """Fill the places of a phrase that has one way in the language: nothing is drawn."""
        [way] = list_ways(self.lang, WORDS[name])
        return way.format(*places, **values)

    def say_one_of(self, name: str, meanings: Sequence[Any], /, *places: Any, **values: Any) -> tuple[str, Any]:
        """Choose one of the phrases of a list of `words.toml`; return it, and what it means."""
        phrase, meaning = self.rng.choice(list(zip(WORDS[name], meanings, strict=True)))
        return self.pick(phrase).format(*places, **values), meaning

    def number_words(self, number: int) -> str:
        """Write a whole number in words where that is short, else in digits."""
        if 1 < number < len(TEENS[self.lang]):
            return TEENS[self.lang][number]
        if self.lang not in TENS or not 20 <= number < 100:
            return str(number)
        tens, ones = TENS[self.lang][number // 10], number % 10
        if not ones:
            return tens
        if self.lang == "en":
            return f"{tens}-{TEENS['en'][ones]}"
        return f"{'ein' if ones == 1 else TEENS['de'][ones]}und{tens}"

    def digits(self, number: Decimal | int, places: int | None = None) -> str:
        """Write a number in digits as the language does: 48.213,7 in German."""
        plain = f"{number:,.{places}f}" if places is not None else f"{number:,}"
        if "." in plain and places is None:
            plain = plain.rstrip("0").rstrip(".")
        if abs(number) < 10_000 and self.lang != "de":
            plain = plain.replace(",", "")
        if self.lang == "en":
            return plain
        return plain.translate({ord(","): " " if self.lang == "fr" else ".", ord("."): ","})

    def day_number(self, day: int) -> str:
        """Write the number of a day without its month, as it follows `on the`, `am`, `le` or `el`."""
        return {"en": ordinal(day), "de": f"{day}.", "fr": "1er" if day == 1 else str(day), "es": str(day)}[self.lang]

    def name_weekday(self, day: date) -> str:
        return WEEKDAYS[self.lang][day.weekday()]

    def month_day(self, day: date) -> str:
        """Write a day with its month and without the year."""
        month, number = MONTHS[self.lang][day.month - 1], self.day_number(day.day)
        return (self.say if self.lang == "en" else self.tell)("month_day", day=day.day, number=number, month=month)

    def full_day(self, day: date) -> str:
        """Write a day with month and year."""
        month = MONTHS[self.lang][day.month - 1]
        return self.say("full_day", day=day, number=self.day_number(day.day), month=month, short=month[:3])


def list_ways(lang: str, ways: str) -> list[str]:
    """List the ways of a language: `one|another / deutsch / français / español`, or `one|another / de: deutsch`.

    Where languages are named and one is not there, the first serves: a name or a code is the same in all of them.
    """
    parts = ways.split(" / ")
    named = {part[:2]: part[4:] for part in parts if is_marked(part)}
    if named or len(parts) == 1:
        return named.get(lang, parts[0]).split("|")
    return parts[LANGUAGES.index(lang)].split("|")


def is_marked(text: str) -> bool:
    """Whether a text begins with its language, as `de: ` does."""
    return text[2:4] == ": " and text[:2] in LANGUAGES


def list_sentences(text: str) -> list[tuple[str, str]]:
    """List the sentences of a text, which stand one a line, with their languages."""
    return [(line[:2], line[4:]) if is_marked(line) else ("en", line) for line in text.split("\n") if line]


def join_words(lang: str, words: Sequence[str], link: str = "and") -> str:
    """Join words as a sentence does: with commas, and `and` or `or` before the last."""
    if len(words) < 2:
        return "".join(words)
    return ", ".join(words[:-1]) + f" {WORDS[link][lang]} {words[-1]}".replace(" y Ida", " e Ida")


def capitalise(text: str) -> str:
    return text[:1].upper() + text[1:]


def lower_first(text: str, names: Sequence[str] = ()) -> str:
    """Write the first letter small, unless the first word is `I`, begins a name or is written in capitals."""
    first = text.split()[0].rstrip(",.:;!?") if text.strip() else ""
    is_name = any(first in name for name in names) or first.isupper() or re.match(r"I('|\b)", text)
    return text if is_name else text[:1].lower() + text[1:]


def ordinal(number: int) -> str:
    ending = "th" if 10 < number < 14 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def list_plain_days(lang: str, day: date) -> list[str]:
    """List the plain ways to write a day with month and year; the first one is the usual one."""
    named = {"month": MONTHS[lang][day.month - 1], "first": "1er" if day.day == 1 else day.day}
    return [way.format(day=day, **named) for way in WORDS["plain_days"][lang]]


def last_of_month(day: date) -> date:
    return (day.replace(day=28) + timedelta(4)).replace(day=1) - timedelta(1)


Spoken = tuple[str, date]
Way = Callable[[Talk, int, bool], Spoken]
"""A way to say a day: the talk, a number between 1 and 6, and whether it is a limit ("until …")."""


def say_on(talk: Talk, words: str, is_limit: bool = False) -> str:
    """Put `on` or `until` before a day."""
    return talk.tell("until_day", words) if is_limit else talk.say("on_day", words)


def say_near(talk: Talk, number: int, is_limit: bool) -> Spoken:
    """Say tomorrow or the day after."""
    ahead = 1 if number < 4 else 2
    words = talk.say("tomorrow" if ahead == 1 else "day_after_tomorrow")
    return talk.tell("until", words) if is_limit else words, talk.today + timedelta(ahead)


def say_weekday(talk: Talk, number: int, is_limit: bool) -> Spoken:
    """Say the coming day of that name: two to six days ahead."""
    day = talk.today + timedelta(max(number, 2))
    talk.needs_weekday = True
    is_this_week = day.weekday() > talk.today.weekday()
    is_weekend = talk.today.weekday() < 4 and day.weekday() > 4
    kind = "until" if is_limit else "on_weekend" if is_weekend else "this" if is_this_week else "on"
    return talk.say(f"{kind}_weekday", talk.name_weekday(day)), day


def say_days_ahead(talk: Talk, number: int, is_limit: bool) -> Spoken:
    ahead = 3 + number % 4  # not eight: "in acht Tagen" and "dans huit jours" are a week
    if is_limit:
        return say_near(talk, number, is_limit)
    return talk.say("days_ahead", n=SMALL[talk.lang][ahead], ahead=ahead), talk.today + timedelta(ahead)


def say_weeks(talk: Talk, number: int, is_limit: bool) -> Spoken:
    """Say a day that is whole weeks away, or a week from tomorrow."""
    if is_limit:
        return say_month_end(talk, number, is_limit)
    ahead, words = WORDS["weeks_ahead"][number - 1 if number < 5 else 1]
    return talk.pick(words), talk.today + timedelta(ahead)


def say_this_month(talk: Talk, number: int, is_limit: bool) -> Spoken:
    """Say a later day of this month by its number; near the end of a month, one of the next month."""
    last = last_of_month(talk.today)
    if talk.today.day > last.day - 3:
        return say_next_month(talk, number, is_limit)
    day = talk.today.replace(day=talk.rng.randint(talk.today.day + 2, last.day))
    n = talk.day_number(day.day)
    end = talk.rng.choice(["", "", " of this month"]) if talk.lang == "en" else ""
    if is_limit:
        return say_on(talk, f"the {n}" if talk.lang == "en" else n, is_limit) + end, day
    return talk.say("this_month", n=n, end=end), day


def say_next_month(talk: Talk, number: int, is_limit: bool) -> Spoken:
    first = last_of_month(talk.today) + timedelta(1)
    day = first.replace(day=number + talk.rng.choice([0, 0, 6, 12]))
    n = talk.day_number(day.day)
    return say_on(talk, talk.say("of_next_month", n), True) if is_limit else talk.say("next_month", n), day


def say_month_end(talk: Talk, number: int, is_limit: bool) -> Spoken:
    last = last_of_month(talk.today)
    if (last - talk.today).days < 3:
        return say_next_month(talk, number, is_limit)
    return talk.say("until_month_end" if is_limit else "month_end"), last


def say_month_day(talk: Talk, number: int, is_limit: bool) -> Spoken:
    """Say day and month; the year is that of the next such day."""
    day = talk.today + timedelta(talk.rng.randint(3, 80) + number)
    return say_on(talk, talk.month_day(day), is_limit), day


def say_full(talk: Talk, number: int, is_limit: bool) -> Spoken:
    """Say day, month and year."""
    day = talk.today + timedelta(talk.rng.randint(3, 120) + number)
    return say_on(talk, talk.full_day(day), is_limit), day


FUTURE: tuple[Way, ...] = (
    say_near, say_near, say_weekday, say_weekday, say_weekday, say_days_ahead, say_weeks, say_this_month,
    say_this_month, say_next_month, say_month_end, say_month_day, say_full,
)  # fmt: skip


def say_future(talk: Talk, is_limit: bool = False) -> Spoken:
    """Say a day after today: `on Friday`, or with `is_limit` `until Friday`."""
    way = talk.rng.choice(FUTURE)
    words, day = way(talk, talk.rng.randint(1, 6), is_limit)
    if way is not say_full:
        talk.needs_today = True
        talk.values += 1
    return words, day


def say_past(talk: Talk) -> Spoken:
    """Say a day before today, or today."""
    talk.needs_today = True
    talk.values += 1
    back = talk.rng.choice([0, 1, 1, 2, 3, 4, 5, 6, 7, 14, 30])
    day = talk.today - timedelta(back)
    if str(back) in WORDS["days_back"]:
        return talk.pick(WORDS["days_back"][str(back)]), day
    is_last_week = day.weekday() > talk.today.weekday()  # "lundi dernier" may be doubtful in the same week
    if back < 7 and (is_last_week or talk.lang in ("en", "de")) and talk.rng.random() < 0.5:
        talk.needs_weekday = True
        return talk.say("past_weekday", talk.name_weekday(day)), day
    if back < 7:
        return talk.say("days_ago", n=SMALL[talk.lang][back], back=back), day
    return say_on(talk, talk.month_day(day)), day


def say_time(talk: Talk, low: int, high: int, *, is_bare: bool = False, is_range: bool = False) -> tuple[str, int]:
    """Say a time between two hours, as it follows `at`, `um`, `à` and `a`; return it in minutes since midnight.

    With `is_bare` the part of the day is left out where the hours leave no doubt. With `is_range` there is no "ten to
    four", which would read as a range itself.
    """
    hour = talk.rng.randint(low, high)
    minutes = [0, 0, 15, 30, 30, 45, 45] + ([] if is_range else [10, 20, 40, 50])
    minute = talk.rng.choice(minutes) if hour < high else 0
    if talk.rng.random() < 0.3:
        pm, twelve = "pm" if hour > 11 else "am", (hour - 1) % 12 + 1
        name = "digits_of_hour" if minute == 0 else "digits_of_time"
        return talk.say(name, hour=hour, minute=minute, twelve=twelve, pm=pm), hour * 60 + minute
    talk.values += 1
    later = hour + 1 if hour in (17, 18, 19) and minute > 30 else hour
    part = next(name for end, name in WORDS["parts_of_hours"][talk.lang] if later < end)
    other = hour + 12 if hour < 12 else hour - 12
    if is_bare and not low <= other <= high and talk.rng.random() < 0.6:
        part = ""
    if hour == 12 and minute == 0:
        return talk.say("noon"), 720
    return say_clock(talk, hour, minute, f" {part}" if part else ""), hour * 60 + minute


def say_clock(talk: Talk, hour: int, minute: int, part: str) -> str:
    """Say a time with the names of the hour and of the next one."""
    this, after = (WORDS["hours"][talk.lang][each % 12] for each in (hour, hour + 1))
    if talk.lang == "fr":
        this, after = ("midi" if each == 12 else name for each, name in ((hour, this), (hour + 1, after)))
    full = "ein" if this == "eins" else this
    if talk.lang == "en" and minute == 0 and not part:
        return f"{this} o'clock"
    ways = WORDS["clock"][talk.lang][str(minute)].split("|")
    said = (talk.rng.choice(ways) if talk.lang == "en" else ways[0]).format(this, after, full=full)
    return said.replace("demie", "demi") if "midi" in said else said + part


def say_duration(talk: Talk, low: int, high: int) -> tuple[str, int]:
    """Say a duration; return it in minutes."""
    minutes, words = talk.rng.choice([each for each in WORDS["durations"] if low <= each[0] <= high])
    talk.values += 1
    return talk.pick(words), minutes
