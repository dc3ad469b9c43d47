"""What the sentences of `omissions.py` are made of: parameters that draw their values and know how to be asked for.

Texts in several languages are written in one string: `beams / de: Balken`. Where a language is not there, the first
text serves: a name or a code is the same in all of them. Several texts of one language are divided by `|`.
"""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from composing.said.days import LANGUAGES, MONTHS

Schema = dict[str, Any]
Values = Mapping[str, Any]
Say = Callable[[random.Random, str, Values], tuple[str, Any]]
"""Draws the words for a value, and the value, when the values before it are drawn."""

PIECE = re.compile(r"\[([^\]|]*)(?:\|([^\]]*))?\]")
"""A piece of a sentence that can be left out, with what is said in its place."""

PLACE = re.compile(r"{(\w+)(?::([12]))?}")
"""The place of a value; `{bike:2}` is that of the second of two calls."""


@dataclass(frozen=True)
class Part:
    """A parameter.

    Attributes:
        schema: Its schema.
        say: Draws its values.
        asks: The questions that ask for it; they may name other values: `Which day should {bike} be fetched?`
    """

    schema: Schema
    say: Say
    asks: str = ""
    after: str = ""


@dataclass(frozen=True)
class Job:
    """A tool, and the sentences that ask for it.

    Attributes:
        name: Its name, as the model sees it.
        description: What it does.
        parts: Its parameters; the name of an optional one ends in `?`.
        frames: Sentences, one a line, in English or, after `de: `, in another language. Pieces in brackets can be
            left out: `Book {bike}[ on {day}].` A `|` divides what is said from what is said instead.
        twos: Sentences that ask for two calls, each followed by `>>` and what is replied where the piece of the second
            call is left out: `{bike:1} for {hours:1} hours, {bike:2} [for {hours:2}|for longer]. >> How long is ...?`
        asks: Questions for pieces that hold two values: `{"start+end": "For which period?"}`.
    """

    name: str
    description: str
    parts: Mapping[str, Part]
    frames: str
    twos: str = ""
    asks: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def required(self) -> list[str]:
        return [key for key in self.parts if not key.endswith("?")]

    def find_part(self, key: str) -> Part:
        return self.parts[key] if key in self.parts else self.parts[f"{key}?"]

    def describe(self) -> Schema:
        """Return the definition of the tool."""
        properties = {key.rstrip("?"): part.schema for key, part in self.parts.items()}
        parameters = {"type": "object", "properties": properties, "required": self.required}
        return {"name": self.name, "description": self.description, "parameters": parameters}


@dataclass(frozen=True)
class Field:
    """Tools that one set offers, under the name of the set."""

    name: str
    jobs: Sequence[Job]


def list_lines(text: str) -> list[tuple[str, str]]:
    """Return the sentences with their languages."""
    lines = [line.strip() for line in text.strip().splitlines()]
    return [(line[:2], line[4:]) if is_marked(line) else ("en", line) for line in lines if line]


def is_marked(text: str) -> bool:
    return text[2:4] == ": " and text[:2] in LANGUAGES


def in_language(text: str, lang: str) -> list[str]:
    """Return the texts of a language; of the first one if it has none."""
    parts = text.split(" / ")
    marked = {part[:2]: part[4:] for part in parts if is_marked(part)}
    return marked.get(lang, parts[0]).split("|")


def is_in(lang: str, text: str) -> bool:
    """Whether a text is there in a language."""
    return lang == "en" or f" / {lang}: " in text


def text(description: str, values: Sequence[str], asks: str = "") -> Part:
    """Make a parameter for names and the like."""

    def say(rng: random.Random, lang: str, _: Values) -> tuple[str, Any]:
        value = in_language(rng.choice(values), lang)[0]
        return value, value

    return Part({"type": "string", "description": description}, say, asks)


def code(description: str, pattern: str, asks: str = "") -> Part:
    """Make a parameter for numbers such as `K-417`: each `#` of the pattern is a digit."""

    def say(rng: random.Random, lang: str, _: Values) -> tuple[str, Any]:
        del lang
        value = re.sub("#", lambda _: str(rng.randint(1, 9)), pattern)
        return value, value

    return Part({"type": "string", "description": description}, say, asks)


def number(description: str, values: Sequence[float], asks: str = "", default: float | None = None) -> Part:
    """Make a parameter for a number; an integer if all values are."""
    kind = "integer" if all(isinstance(each, int) for each in values) else "number"

    def say(rng: random.Random, lang: str, _: Values) -> tuple[str, Any]:
        value = rng.choice(values)
        return str(value) if lang == "en" else str(value).replace(".", ","), value

    return Part(with_default({"type": kind, "description": description}, default), say, asks)


def choice(description: str, values: Mapping[str, str], asks: str = "", default: str | None = None) -> Part:
    """Make a parameter for one of several values, each with the words for it."""

    def say(rng: random.Random, lang: str, _: Values) -> tuple[str, Any]:
        value = rng.choice(list(values))
        return rng.choice(in_language(values[value], lang)), value

    schema: Schema = {"type": "string", "description": description, "enum": list(values)}
    return Part(with_default(schema, default), say, asks)


def flag(description: str, words: str) -> Part:
    """Make an optional parameter that is true where the words are said."""

    def say(rng: random.Random, lang: str, _: Values) -> tuple[str, Any]:
        return rng.choice(in_language(words, lang)), True

    return Part({"type": "boolean", "description": description, "default": False}, say)


def several(description: str, items: Sequence[str], asks: str = "", counts: Sequence[int] = (2, 3, 3, 4)) -> Part:
    """Make a parameter for a list of things."""

    def say(rng: random.Random, lang: str, _: Values) -> tuple[str, Any]:
        drawn = rng.sample([in_language(each, lang)[0] for each in items], rng.choice(counts))
        last = {"en": " and ", "de": " und ", "fr": " et ", "es": " y "}[lang]
        return last.join([", ".join(drawn[:-1]), drawn[-1]]), drawn

    return Part({"type": "array", "items": {"type": "string"}, "description": description}, say, asks)


def day(description: str, asks: str = "", after: str = "", most: int = 20) -> Part:
    """Make a parameter for a day, one that comes after that of another parameter if `after` names it."""

    def say(rng: random.Random, lang: str, values: Values) -> tuple[str, Any]:
        if after:
            value = date.fromisoformat(values[after]) + timedelta(rng.randint(2, most))
        else:
            value = date(2026, 1, 1) + timedelta(rng.randrange(700))
        return say_day(rng, lang, value), value.isoformat()

    return Part({"type": "string", "description": f"{description}, YYYY-MM-DD"}, say, asks, after)


def say_day(rng: random.Random, lang: str, value: date) -> str:
    month = MONTHS[lang][value.month - 1]
    match lang:
        case "de":
            ways = (f"{value.day}. {month} {value.year}", f"{value:%d.%m.%Y}")
        case "fr":
            ways = (f"{'1er' if value.day == 1 else value.day} {month} {value.year}",)
        case "es":
            ways = (f"{value.day} de {month} de {value.year}",)
        case _:
            ways = (f"{value.day} {month} {value.year}", f"{month} {value.day}, {value.year}", value.isoformat())
    return rng.choice(ways)


def month(description: str, asks: str = "") -> Part:
    """Make a parameter for a month."""

    def say(rng: random.Random, lang: str, _: Values) -> tuple[str, Any]:
        year, place = rng.choice([2024, 2025, 2026]), rng.randrange(12)
        link = " de " if lang == "es" else " "
        return f"{MONTHS[lang][place]}{link}{year}", f"{year}-{place + 1:02}"

    return Part({"type": "string", "description": f"{description}, YYYY-MM"}, say, asks)


def clock(description: str, asks: str = "", hours: tuple[int, int] = (7, 20), after: str = "") -> Part:
    """Make a parameter for a time of the day, one that comes after that of another parameter if `after` names it."""

    def say(rng: random.Random, lang: str, values: Values) -> tuple[str, Any]:
        first = int(values[after][:2]) + 1 if after else hours[0]
        hour, minute = rng.randint(first, min(23, first + 6) if after else hours[1]), rng.choice([0, 0, 15, 30, 45])
        value = f"{hour:02}:{minute:02}"
        short = f"{hour}:{minute:02}"
        match lang:
            case "de":
                ways = (f"{short} Uhr",)
            case "fr":
                ways = (f"{hour}h{minute:02}" if minute else f"{hour}h",)
            case "en" if hour < 12:
                ways = (short, f"{short} am")
            case "en":
                ways = (short, f"{(hour - 1) % 12 + 1}:{minute:02} pm")
            case _:
                ways = (short,)
        return rng.choice(ways), value

    return Part({"type": "string", "description": f"{description}, HH:MM, 24 hours"}, say, asks, after)


def with_default(schema: Schema, default: Any) -> Schema:
    return schema if default is None else {**schema, "default": default}
