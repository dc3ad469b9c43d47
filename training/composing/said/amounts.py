"""Parameters for amounts, codes, flags, choices, names, days and times, drawn with the words that say them.

A set of tools decides what is wanted, and its description tells how a foreign unit counts: an ounce may be 28 or 30
grams. In `tables/words.toml`, `measures` has for each unit that is said its words, those for some values, and how it
counts in the wanted units: a factor and what the description says of it. A factor that ends in `~` is rounded.
"""

import random
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from composing.said.days import (
    TEENS,
    WORDS,
    Talk,
    day_number,
    digits,
    list_ways,
    number_words,
    pick,
    say,
    say_duration,
    say_future,
    say_past,
    say_time,
)
from composing.said.slots import Slot, clean, kind, one

CHOSEN = {"": slice(None), "first two": slice(2), "last two": slice(1, None)}


@kind
def measure(rng: random.Random, name: str, about: str, said: str, values: Sequence[str], only: str = "") -> Slot:
    """Return a parameter for an amount that is said in one unit and wanted as the set tells.

    With `only` (`first two`, `last two`), some of the wanted units are drawn.
    """
    unit = WORDS["measures"][said]
    factor, rule = rng.choice(unit["factors"][CHOSEN[only]])

    def draw(talk: Talk) -> tuple[str, int | float]:
        value = talk.rng.choice(values)
        number = Decimal(value)
        talk.values += factor != "1"
        if value in unit["spoken"] and (number < 1 or talk.rng.random() < 0.8):
            words = pick(talk, unit["spoken"][value])
        elif number == int(number) and number < 60 and talk.rng.random() < 0.4:
            words = f"{number_words(talk.lang, int(number))} {list_ways(talk, unit['words'])[0]}"
        else:
            words = f"{digits(talk, number)} {pick(talk, unit['words'])}"
        wanted = number * Decimal(factor.rstrip("~"))
        return words, clean(wanted.to_integral_value(ROUND_HALF_UP) if factor.endswith("~") else wanted)

    return one(name, {"type": "number", "description": f"{about}, {rule}"}, draw)


@kind
def height(rng: random.Random, name: str, about: str, low: int = 2, high: int = 7) -> Slot:
    """Return a parameter for a length that is said in feet and inches and wanted in centimetres."""

    def draw(talk: Talk) -> tuple[str, int | float]:
        talk.values += 1
        feet, inches = talk.rng.randint(low, high), talk.rng.choice([2, 4, 6, 8, 10])
        f, i = number_words(talk.lang, feet), number_words(talk.lang, inches)
        words = say(talk, "height", feet=feet, inches=inches, f=f, i=i)
        return words, clean(Decimal(feet * 30) + Decimal(inches) * Decimal("2.5"))

    rule = "in centimetres; count a foot as 30 cm and an inch as 2.5 cm"
    return one(name, {"type": "number", "description": f"{about}, {rule}"}, draw)


@kind
def price(rng: random.Random, name: str, about: str, low: int = 1, high: int = 90) -> Slot:
    """Return a parameter for euros and cents as they are spoken, wanted in cents or euros."""
    is_cents = rng.random() < 0.75
    label = rng.choice(["in cents", "in euro cents, a whole number"]) if is_cents else "in euros, e.g. 7.95"

    def draw(talk: Talk) -> tuple[str, int | float]:
        talk.values += is_cents
        euros, cents = talk.rng.randint(max(2, low), high), talk.rng.choice([0, 0, 5, 20, 50, 50, 80, 90, 99])
        number = Decimal(euros) + Decimal(cents) / 100
        e, c = number_words(talk.lang, euros), number_words(talk.lang, cents)
        way = {0: "price_euros", 5: "price_few_cents"}.get(cents, "price")
        written = digits(talk, number, 2 if cents else 0)
        words = say(talk, way, written, e=e, c=c, euros=euros, cents=cents)
        return words, clean(number * 100 if is_cents else number)

    return one(name, {"type": "integer" if is_cents else "number", "description": f"{about}, {label}"}, draw)


@kind
def amount(rng: random.Random, name: str, about: str, said: str, values: Sequence[str], wanted: Sequence[str]) -> Slot:
    """Return a parameter for a length, weight or volume that is said in one unit and wanted in another."""
    unit = rng.choice(wanted)
    (size, _, ways), (wanted_size, wanted_name, _) = WORDS["units"][said], WORDS["units"][unit]
    halves = WORDS["halves"].get(said, {})

    def draw(talk: Talk) -> tuple[str, int | float]:
        value = talk.rng.choice(values)
        talk.values += said != unit
        number = Decimal(value)
        words = f"{digits(talk, number)} {pick(talk, ways)}"
        if value in halves and talk.rng.random() < 0.6:
            words = pick(talk, halves[value])
        elif number == number.to_integral_value() and number < 60 and talk.rng.random() < 0.35:
            words = f"{number_words(talk.lang, int(number))} {list_ways(talk, ways)[0]}"
        return words, clean(number * size / wanted_size)

    return one(name, {"type": "number", "description": f"{about}, in {wanted_name}"}, draw)


@kind
def money(rng: random.Random, name: str, about: str, values: Sequence[str]) -> Slot:
    """Return a parameter for an amount of euros, wanted in euros or cents."""
    is_cents = rng.random() < 0.65
    label = rng.choice(["in euro cents", "in cents (100 = 1 €)"]) if is_cents else "in euros"

    def draw(talk: Talk) -> tuple[str, int | float]:
        number = Decimal(talk.rng.choice(values))
        talk.values += is_cents
        is_whole = number == number.to_integral_value()
        words = say(talk, "money", digits(talk, number, None if is_whole else 2))
        return words, clean(number * 100 if is_cents else number)

    return one(name, {"type": "integer" if is_cents else "number", "description": f"{about}, {label}"}, draw)


@kind
def share(rng: random.Random, name: str, about: str, values: Sequence[str]) -> Slot:
    """Return a parameter for a percentage, wanted as a fraction or in percent."""
    is_fraction = rng.random() < 0.65
    label = rng.choice(["as a fraction, e.g. 0.3", "between 0 and 1"]) if is_fraction else "in percent, e.g. 30"

    def draw(talk: Talk) -> tuple[str, int | float]:
        number = Decimal(talk.rng.choice(values))
        talk.values += is_fraction
        written = digits(talk, number)
        named = number_words(talk.lang, int(number)) if number == int(number) else written
        return say(talk, "share", written=written, named=named), clean(number / 100 if is_fraction else number)

    return one(name, {"type": "number", "description": f"{about}, {label}"}, draw)


@kind
def count(
    rng: random.Random,
    name: str,
    about: str,
    low: int,
    high: int,
    noun: str = "",
    dozens: bool = False,
    cancelled: str = "",
    **more: Any,
) -> Slot:
    """Return a parameter for a number of things. The noun is said with it; `cancelled` says how some drop out."""

    def draw(talk: Talk) -> tuple[str, int]:
        number = talk.rng.randint(low, high)
        named = f" {pick(talk, noun)}" if noun else ""
        if dozens and talk.lang in ("en", "de") and talk.rng.random() < 0.5:
            talk.values += 1
            number, words = talk.rng.choice(WORDS["bare_dozens"])
            return pick(talk, words) + named, number
        written = number_words(talk.lang, number) if talk.rng.random() < 0.5 else str(number)
        if cancelled and number > 4 and talk.rng.random() < 0.3:
            talk.values += 1
            less = talk.rng.randint(2, 3)
            return f"{number}{named}, {pick(talk, cancelled).format(less)},", number - less
        return written + named, number

    return one(name, {"type": "integer", "description": about, **more}, draw, is_fixable=not cancelled)


@kind
def code(rng: random.Random, name: str, about: str, length: int) -> Slot:
    """Return a parameter for digits that may be spelled one by one."""

    def draw(talk: Talk) -> tuple[str, str]:
        value = "".join(str(talk.rng.randint(0, 9)) for _ in range(length))
        if talk.rng.random() < 0.6:
            talk.values += 1
            return " ".join(TEENS[talk.lang][int(each)] for each in value), value
        return f"{value[: length // 2]} {value[length // 2 :]}" if talk.rng.random() < 0.4 else value, value

    return one(name, {"type": "string", "description": f"{about}: {length} digits, without spaces"}, draw)


@kind
def phone(rng: random.Random, name: str, about: str) -> Slot:
    """Return a parameter for a telephone number that the description tells how to write."""
    prefix, country = rng.choice([("+44", "UK"), ("+49", "German"), ("+43", "Austrian"), ("+353", "Irish")])
    is_plain = rng.random() < 0.3
    rule = f"as {prefix}… without spaces; a leading 0 is replaced by {prefix} ({country} numbers)"

    def draw(talk: Talk) -> tuple[str, str]:
        talk.values += 1
        area, first, second = (talk.rng.randint(low, high) for low, high in ((150, 179), (200, 999), (1000, 9999)))
        words = talk.rng.choice([f"0{area} {first} {second}", f"0{area}-{first}{second}", f"0{area}/{first} {second}"])
        return words, f"{'0' if is_plain else prefix}{area}{first}{second}"

    about = f"{about}, {'digits only, as dialled' if is_plain else rule}"
    return one(name, {"type": "string", "description": about}, draw)


@kind
def flag(rng: random.Random, name: str, about: str, yes: str, no: str, **more: Any) -> Slot:
    """Return a parameter that is true or false, with the words for both."""

    def draw(talk: Talk) -> tuple[str, bool]:
        value = talk.rng.random() < 0.5
        return pick(talk, yes if value else no), value

    return one(name, {"type": "boolean", "description": about, **more}, draw, is_fixable=False)


@kind
def enum(
    rng: random.Random, name: str, about: str, ways: Mapping[str, str], is_fixable: bool = True, **more: Any
) -> Slot:
    """Return a parameter that takes one of some texts, each said in other words or another language."""
    values = list(ways)

    def draw(talk: Talk) -> tuple[str, str]:
        value = talk.rng.choice(values)
        words = pick(talk, ways[value])
        talk.values += value not in words
        return words, value

    return one(name, {"type": "string", "description": about, "enum": values, **more}, draw, is_fixable=is_fixable)


@kind
def word(rng: random.Random, name: str, about: str, values: Sequence[str]) -> Slot:
    """Return a parameter that takes a text as it is said."""

    def draw(talk: Talk) -> tuple[str, str]:
        value = talk.rng.choice(values)
        return value, value

    return one(name, {"type": "string", "description": about}, draw)


@kind
def reading(rng: random.Random, name: str, about: str, low: int, high: int) -> Slot:
    """Return a parameter for a counter with one decimal, written as the language does."""

    def draw(talk: Talk) -> tuple[str, int | float]:
        number = Decimal(talk.rng.randint(low * 10, high * 10)) / 10
        talk.values += talk.lang != "en"
        return digits(talk, number, 1), clean(number)

    return one(name, {"type": "number", "description": about}, draw)


@kind
def day(rng: random.Random, name: str, about: str, is_past: bool = False, is_limit: bool = False) -> Slot:
    """Return a parameter for a day: after today, at the latest today (`is_past`), or said with `until`."""
    label, form = rng.choice(WORDS["day_forms"])

    def draw(talk: Talk) -> tuple[str, str]:
        words, value = say_past(talk) if is_past else say_future(talk, is_limit)
        return words, value.strftime(form)

    return one(name, {"type": "string", "description": f"{about}, {label}"}, draw)


@kind
def stay(
    rng: random.Random,
    name: str,
    first: str,
    last: str,
    about_first: str,
    about_last: str,
    has_nights: bool = True,
) -> Slot:
    """Return two parameters, the day of arrival and that of departure, said together."""
    label, form = rng.choice(WORDS["day_forms"])
    abouts = {first: about_first, last: about_last}
    schemas = {key: {"type": "string", "description": f"{about}, {label}"} for key, about in abouts.items()}

    def draw(talk: Talk) -> tuple[str, dict[str, Any]]:
        words, start, end = say_stay(talk, has_nights=has_nights)
        return words, {first: start.strftime(form), last: end.strftime(form)}

    return Slot(schemas, draw, is_fixable=False)


def say_stay(talk: Talk, *, has_nights: bool) -> tuple[str, date, date]:
    """Say the first and the last day: from one to the other, or with a number of nights."""
    nights = talk.rng.randint(2, 9)
    talk.values += 1
    if has_nights and talk.rng.random() < 0.5:
        words, start = say_future(talk)
        n = number_words(talk.lang, nights)
        return say(talk, "stay_nights", words, n=n, nights=nights), start, start + timedelta(nights)
    start = talk.today + timedelta(talk.rng.randint(2, 25))
    end = start + timedelta(nights)
    talk.needs_today = True
    is_later = start.month != talk.today.month
    a, b, c = (day_number(talk, each.day) for each in (start, end, end - timedelta(1)))
    tail = f" {say(talk, 'in_next_month')}" if is_later else ""
    if not is_later and end.month != start.month:
        return say(talk, "stay_over_month", a, say(talk, "of_next_month", b)), start, end
    if is_later and end.month != start.month:
        end = start + timedelta(1)
        b = day_number(talk, end.day)
        if end.month != start.month:
            return say_stay(talk, has_nights=has_nights)
    if nights > 3 and end - start > timedelta(3) and talk.rng.random() < 0.4:
        return say(talk, "stay_shortened", a=a, wrong=b, tail=tail, right=c), start, end - timedelta(1)
    return say(talk, "stay_days", a=a, b=b, tail=tail), start, end


@kind
def clock(
    rng: random.Random,
    name: str,
    about: str,
    low: int = 7,
    high: int = 21,
    is_bare: bool = False,
    has_midnight: bool = False,
) -> Slot:
    """Return a parameter for a time of day.

    With `is_bare` the tool tells its hours, and the part of the day may be left out.
    """
    label = rng.choice(WORDS["time_forms"])

    def draw(talk: Talk) -> tuple[str, str]:
        words, minutes = say_time(talk, low, high, is_bare=is_bare)
        if has_midnight and talk.rng.random() < 0.3:
            words, minutes = say(talk, "midnight"), 0
        return words, write_time(minutes)

    return one(name, {"type": "string", "description": f"{about}, {label}"}, draw)


def write_time(minutes: int) -> str:
    return f"{minutes // 60:02}:{minutes % 60:02}"


@kind
def hours(
    rng: random.Random,
    name: str,
    first: str,
    last: str,
    about_first: str,
    about_last: str,
    low: int = 8,
    high: int = 18,
) -> Slot:
    """Return two parameters, beginning and end, said together: `from half past two for an hour and a half`."""
    label = rng.choice(WORDS["time_forms"])
    abouts = {first: about_first, last: about_last}
    schemas = {key: {"type": "string", "description": f"{about}, {label}"} for key, about in abouts.items()}

    def draw(talk: Talk) -> tuple[str, dict[str, Any]]:
        start_words, start = say_time(talk, low, high, is_range=True)
        if talk.rng.random() < 0.6:
            words, length = say_duration(talk, 30, 180)
            end = start + length
            said = say(talk, "hours_for", start_words, words)
        else:
            end_words, end = say_time(talk, high + 2, high + 4, is_range=True)
            said = say(talk, "hours_from_to", start_words, end_words)
        return said, {first: write_time(start), last: write_time(end)}

    return Slot(schemas, draw, is_fixable=False)


@kind
def duration(
    rng: random.Random, name: str, about: str, low: int = 15, high: int = 180, wanted: Sequence[str] = ()
) -> Slot:
    """Return a parameter for a duration in the unit that the description tells."""
    seconds = WORDS["lengths"]
    label = rng.choice(wanted or list(seconds))

    def draw(talk: Talk) -> tuple[str, int | float]:
        words, minutes = say_duration(talk, low, high)
        while label.startswith("in hours") and minutes == 20:
            words, minutes = say_duration(talk, low, high)
        return words, clean(Decimal(minutes) * 60 / seconds[label])

    schema_type = "number" if label.startswith("in hours") else "integer"
    return one(name, {"type": schema_type, "description": f"{about}, {label}"}, draw)
