"""Parameters for counts, figures, codes and parts of a day, drawn with the words that say them.

A set of tools decides the form that a description tells: whether decimals are dropped, how a code is written, where the
afternoon begins.
"""

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal
from typing import Any

from composing.said.days import TEENS, WORDS, Talk, number_words, pick, say, say_one_of, say_time
from composing.said.slots import Slot, clean, kind, one


def of(noun: str) -> str:
    """Put the French `de` before a noun."""
    return f"d'{noun}" if noun[0].lower() in "aeéiouhœ" else f"de {noun}"


Counted = Callable[[Talk, str], tuple[str, int]]
"""Says a number of things: the talk and the noun."""


def say_plain(talk: Talk, noun: str) -> tuple[str, int]:
    number = talk.rng.randint(3, 60)
    written = number_words(talk.lang, number) if talk.rng.random() < 0.6 else str(number)
    return f"{written} {noun}", number


def say_dozens(talk: Talk, noun: str) -> tuple[str, int]:
    number, words = talk.rng.choice(WORDS["dozens"])
    return pick(talk, words).format(noun, of=of(noun)), number


def say_like_last_time(talk: Talk, noun: str) -> tuple[str, int]:
    """Say a number by that of the last time."""
    base, more = talk.rng.choice([12, 14, 20, 24, 30, 36, 40, 50]), talk.rng.choice([2, 4, 5, 8, 10])
    meanings = [base * 2, base // 2, base + more, base - more, base * 3]
    return say_one_of(talk, "like_last_time", meanings, noun, b=base, m=number_words(talk.lang, more))


def say_for_each(talk: Talk, noun: str) -> tuple[str, int]:
    """Say how many for each of some people, and how many to spare."""
    heads, spare, each = talk.rng.randint(7, 16), talk.rng.choice([2, 3, 4]), talk.rng.choice([2, 3])
    h, s, n = (number_words(talk.lang, number) for number in (heads, spare, each))
    boys = talk.rng.randint(5, 14)
    meanings = [heads + spare, heads * each, heads + boys]
    return say_one_of(talk, "for_each", meanings, noun, h=h, s=s, n=n, heads=heads, boys=boys)


def say_together(talk: Talk, noun: str) -> tuple[str, int]:
    """Say two numbers that are added up."""
    a, b = talk.rng.randint(4, 20), talk.rng.randint(3, 12)
    return say(talk, "together", noun, a=a, b=b), a + b


def say_boxes(talk: Talk, noun: str) -> tuple[str, int]:
    """Say how many boxes of so many are filled."""
    boxes, size = talk.rng.randint(2, 6), talk.rng.randint(5, 10)
    return say(talk, "boxes", noun, boxes=boxes, size=size), boxes * size


def say_pairs(talk: Talk, noun: str) -> tuple[str, int]:
    number = talk.rng.randint(2, 14)
    return say(talk, "pairs", noun, n=number_words(talk.lang, number), of=of(noun)), number * 2


THINGS: tuple[Counted, ...] = (
    say_plain, say_dozens, say_dozens, say_like_last_time, say_for_each, say_together, say_boxes,
)  # fmt: skip


@kind
def tally(
    rng: random.Random,
    name: str,
    about: str,
    noun: str,
    has_pairs: bool = False,
    is_personal: bool = True,
    **more: Any,
) -> Slot:
    """Return a parameter for a number of things that is said with a sum.

    Things that are not personal are not counted by the people who get them.
    """
    ways = (say_plain, say_dozens, say_pairs, say_pairs) if has_pairs else THINGS
    ways = ways if is_personal else (say_plain, say_dozens, say_like_last_time, say_boxes)

    def draw(talk: Talk) -> tuple[str, int]:
        talk.values += 1
        return talk.rng.choice(ways)(talk, pick(talk, noun))

    return one(name, {"type": "integer", "description": about, **more}, draw, is_fixable=False)


@kind
def heads(rng: random.Random, name: str, about: str) -> Slot:
    """Return a parameter for a number of people of whom some drop out or join."""

    def draw(talk: Talk) -> tuple[str, int]:
        talk.values += 1
        number, ill, new = talk.rng.randint(9, 48), talk.rng.randint(2, 5), talk.rng.randint(2, 4)
        n, i, j = (number_words(talk.lang, each) for each in (number, ill, new))
        meanings = [number - ill, number + new, number - ill + new, number]
        return say_one_of(talk, "heads", meanings, n=n, i=i, j=j)

    return one(name, {"type": "integer", "description": about}, draw, is_fixable=False)


@kind
def figure(rng: random.Random, name: str, about: str, unit: str, low: int, high: int, places: int = 1) -> Slot:
    """Return a parameter for a number with decimals, which are dropped, kept or rounded as the set tells."""
    rule = rng.choice(["drop", "drop", "round", "keep"])
    dropped = rng.choice([f"in whole {unit}; decimals are dropped", f"full {unit} only, without decimals, not rounded"])
    round_label, keep_label = "rounded to the nearest whole number", "with all decimals that are told"
    label = {"drop": dropped, "round": f"in {unit}, {round_label}", "keep": f"in {unit}, {keep_label}"}[rule]

    def draw(talk: Talk) -> tuple[str, int | float]:
        talk.values += 1
        number = Decimal(talk.rng.randint(low, high)) + Decimal(talk.rng.choice([1, 2, 3, 4, 6, 7, 8, 9])) / 10
        if places == 2 and talk.rng.random() < 0.7:
            number += Decimal(talk.rng.randint(1, 9)) / 100 if str(number)[-1] not in "45" else 0
        written = write_figure(talk, number, -int(number.as_tuple().exponent))
        if rule == "keep":
            return written, clean(number)
        return written, int(number.to_integral_value(ROUND_DOWN if rule == "drop" else ROUND_HALF_UP))

    return one(name, {"type": "number" if rule == "keep" else "integer", "description": f"{about}, {label}"}, draw)


def write_figure(talk: Talk, number: Decimal, length: int) -> str:
    """Write a number with decimals in one of the ways that leave no doubt: with both separators, or with none."""
    english = f"{number:,.{length}f}"
    german = english.translate({ord(","): ".", ord("."): ","})
    ways = {
        "en": [english, english, english.replace(",", ""), english.replace(",", " "), german],
        "de": [german, german, german.replace(".", ""), german.replace(".", " ")],
        "fr": [german.replace(".", " "), german.replace(".", " "), german.replace(".", "")],
        "es": [german, german.replace(".", ""), german.replace(".", " ")],
    }
    usual = [each for each in ways[talk.lang] if number >= 1000 or each.count(".") + each.count(",") == 1]
    return talk.rng.choice([english] if talk.lang == "en" and number < 1000 else usual)


@kind
def large(rng: random.Random, name: str, about: str, low: int = 1000, high: int = 50_000) -> Slot:
    """Return a parameter for a large whole number as people shorten it: 1.2k, eleven hundred."""

    def draw(talk: Talk) -> tuple[str, int]:
        talk.values += 1
        if talk.rng.random() < 0.5:
            number = talk.rng.randrange(low + 50, min(high, 9950), 50)
            comma, point, space = (f"{number:,}".replace(",", each) for each in ",. ")
            short = f"{Decimal(number) / 1000:f}k" if number % 100 == 0 else comma
            return say(talk, "large", number, comma=comma, point=point, space=space, short=short), number
        number, words = talk.rng.choice([each for each in WORDS["round"] if low <= each[0] <= high])
        return pick(talk, words), number

    return one(name, {"type": "integer", "description": f"{about}, in digits, e.g. 7300"}, draw)


@dataclass(frozen=True)
class CodeForm:
    """How a set writes a code: what its description says, and how letters and digits are put together."""

    rule: str
    write: Callable[[str, str], str]


def code_forms(letters: int, length: int) -> list[CodeForm]:
    """Return the forms of a code of letters and digits, each with an example in its rule."""
    sample, figures, half = "KRT"[:letters], "9174063528"[:length], length // 2
    what = "the letter" if letters == 1 else "the letters"
    if letters:
        forms: list[tuple[str, Callable[[str, str], str]]] = [
            (f"{what} in upper case, a hyphen, {length} digits", lambda a, b: f"{a}-{b}"),
            (f"{what} in upper case and {length} digits, nothing between", lambda a, b: a + b),
            (f"{what} in lower case and {length} digits", lambda a, b: a.lower() + b),
            (f"the {length} digits, a slash, {what} in upper case", lambda a, b: f"{b}/{a}"),
            (f"only the {length} digits, without {what}", lambda _, b: b),
        ]
    else:
        forms = [
            (f"{length} digits, without spaces or dots", lambda _, b: b),
            (f"{half} digits, a hyphen and the other {length - half} digits", lambda _, b: f"{b[:half]}-{b[half:]}"),
            (f"{length + 3} digits, filled up with zeros in front", lambda _, b: b.zfill(length + 3)),
        ]
    return [CodeForm(f"{rule}, e.g. {write(sample, figures)}", write) for rule, write in forms]


@kind
def ident(rng: random.Random, name: str, about: str, letters: Sequence[str], length: int) -> Slot:
    """Return a parameter for a code that is dictated or sloppily written; `letters` are what it may begin with."""
    form = rng.choice(code_forms(len(letters[0]), length))

    def draw(talk: Talk) -> tuple[str, str]:
        talk.values += 1
        front = talk.rng.choice(letters)
        figures = str(talk.rng.randint(1, 9)) + "".join(str(talk.rng.randint(0, 9)) for _ in range(length - 1))
        return say_code(talk, front, figures), form.write(front, figures)

    return one(name, {"type": "string", "description": f"{about}: {form.rule}"}, draw)


def say_code(talk: Talk, front: str, figures: str) -> str:
    """Write or dictate a code."""
    apart, half = " ".join(front), len(figures) // 2
    spelled = " ".join(TEENS[talk.lang][int(each)] for each in figures)
    if talk.lang == "en" and talk.rng.random() < 0.4:
        spelled = spelled.replace("zero", "oh")
    if talk.lang == "en" and talk.rng.random() < 0.5:
        spelled = re.sub(r"\b(\w+) \1\b", r"double \1", spelled)
    grouped = f"{figures[:half]} {figures[half:]}"
    dash = say(talk, "dash")
    if not front:
        dotted = f"{figures[:2]}.{figures[2:]}" if len(figures) < 6 else f"{figures[:2]}.{figures[2:4]}.{figures[4:]}"
        before = say(talk, "before_number") if talk.rng.random() < 0.5 else ""
        return before + talk.rng.choice([figures, grouped, spelled, " ".join(figures), dotted])
    ways = [
        f"{front.lower()}{figures}", f"{front.lower()} {figures}", f"{front} {grouped}", f"{apart} {' '.join(figures)}",
        f"{apart.lower()} {' '.join(figures)}", f"{apart.lower()} {spelled}", f"{front.lower()} {dash} {figures}",
        f"{front}-{figures}", f"{front.lower()}-{grouped}",
    ]  # fmt: skip
    return talk.rng.choice(ways)


@dataclass(frozen=True)
class DaySplit:
    """Parts of a day: their names, and the hour at which each begins and the last one ends."""

    names: Sequence[str]
    hours: Sequence[int]

    def tell(self) -> str:
        spans = zip(self.names, self.hours[:-1], self.hours[1:], strict=True)
        return ", ".join(f"{name} = {low}:00 to {high - 1}:59" for name, low, high in spans)

    def find(self, minutes: int) -> str:
        return next(name for name, end in zip(self.names, self.hours[1:], strict=True) if minutes < end * 60)


SPLITS = [DaySplit(*each) for each in WORDS["splits"]]


@kind
def part(rng: random.Random, name: str, about: str) -> Slot:
    """Return a parameter for a part of the day that follows from a time."""
    split = rng.choice(SPLITS)

    def draw(talk: Talk) -> tuple[str, str]:
        talk.values += 1
        chance = talk.rng.random()
        plain = [each for each in split.names if each in WORDS["parts_of_day"] and len(split.names) == 3]
        if chance < 0.12 and plain and "midday" not in split.names:
            name = talk.rng.choice(plain)
            return pick(talk, WORDS["parts_of_day"][name]), name
        if chance < 0.27:
            minutes, ways = talk.rng.choice(WORDS["around_noon"])
            return pick(talk, ways), split.find(minutes)
        words, minutes = say_time(talk, split.hours[0], split.hours[-1] - 1)
        return say(talk, "at_time", words), split.find(minutes)

    description = f"{about}: {split.tell()}"
    return one(name, {"type": "string", "description": description, "enum": list(split.names)}, draw)
