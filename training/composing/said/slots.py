"""What a tool, its parameters and the places in its sentences are, and how numbers are written.

A `Kind` makes a `Slot` for a set of tools: the set decides the form that the description tells (`DD/MM/YYYY`, metres or
kilometres), so that the same words have different values in different sets.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from composing.said.days import LANGUAGES, Talk

Schema = dict[str, Any]


@dataclass(frozen=True)
class Slot:
    """A place in a sentence: the parameters that it fills, and how it is drawn."""

    schemas: Mapping[str, Schema]
    say: Callable[[Talk], tuple[str, dict[str, Any]]]
    is_fixable: bool = True
    """Whether a speaker may name a wrong value first and correct it."""


Kind = Callable[[random.Random, str], Slot]
"""Makes the slot of a parameter: the chance of the set, and the name of the parameter."""


@dataclass(frozen=True)
class Tool:
    """A tool and how people ask for it.

    Attributes:
        name: The name of the tool, in snake case.
        description: What it does, as the model reads it.
        area: Where it is used, as a system message says it: "a cattery". Tools of other areas do not serve a request.
        values: The places in the sentences and the parameters that they fill. Parameters are required unless their
            name ends in `?`.
        frames: Sentences, one a line, in English or, after `de: `, in another language. What stands in brackets is
            said in some of the requests only: `Book {day}[ at {time}].`
        pairs: Sentences for two calls of the tool, written in the same way: `{item2}` is the item of the second call;
            what is named without a number is said once for both.
    """

    name: str
    description: str
    area: str
    values: Mapping[str, Kind]
    frames: str
    pairs: str = ""

    def list_frames(self, lang: str, *, is_pair: bool = False) -> list[str]:
        lines = [line.strip() for line in (self.pairs if is_pair else self.frames).strip().splitlines()]
        marked = [line if line[2:4] == ": " and line[:2] in LANGUAGES else f"en: {line}" for line in lines if line]
        return [line[4:] for line in marked if line.startswith(f"{lang}: ")]


TENS = {
    "en": "x ten twenty thirty forty fifty sixty seventy eighty ninety".split(),
    "de": "x zehn zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig".split(),
}
TEENS = {
    "en": "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    " seventeen eighteen nineteen".split(),
    "de": "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn"
    " siebzehn achtzehn neunzehn".split(),
    "fr": "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize".split(),
    "es": "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince".split(),
}


def number_words(lang: str, number: int) -> str:
    """Write a whole number in words where that is short, else in digits."""
    if 1 < number < len(TEENS[lang]):
        return TEENS[lang][number]
    if lang not in TENS or not 20 <= number < 100:
        return str(number)
    tens, ones = TENS[lang][number // 10], number % 10
    if not ones:
        return tens
    if lang == "en":
        return f"{tens}-{TEENS['en'][ones]}"
    return f"{'ein' if ones == 1 else TEENS['de'][ones]}und{tens}"


def digits(talk: Talk, number: Decimal | int, places: int | None = None) -> str:
    """Write a number in digits as the language does: 48.213,7 in German."""
    plain = f"{number:,.{places}f}" if places is not None else f"{number:,}"
    if "." in plain and places is None:
        plain = plain.rstrip("0").rstrip(".")
    if abs(number) < 10_000 and talk.lang != "de":
        plain = plain.replace(",", "")
    if talk.lang == "en":
        return plain
    thousands = {"de": ".", "fr": " ", "es": "."}[talk.lang]
    return plain.replace(",", "\0").replace(".", ",").replace("\0", thousands)


def clean(number: Decimal) -> int | float:
    return int(number) if number == number.to_integral_value() else float(number)


def one(name: str, schema: Schema, say: Callable[[Talk], tuple[str, Any]], *, is_fixable: bool = True) -> Slot:
    """Make the slot of one parameter."""

    def say_one(talk: Talk) -> tuple[str, dict[str, Any]]:
        words, value = say(talk)
        return words, {name: value}

    return Slot({name: schema}, say_one, is_fixable)
