"""Parameters whose values are drawn with the words that say them: days, times, amounts, codes, flags, choices.

A `Kind` makes a `Slot` for a set of tools: the set decides the form that the description tells (`DD/MM/YYYY`, metres or
kilometres), so that the same words have different values in different sets.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from said_days import LANGUAGES, Talk, day_number, pick, say_duration, say_future, say_past, say_time

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
    """

    name: str
    description: str
    area: str
    values: Mapping[str, Kind]
    frames: str

    def list_frames(self, lang: str) -> list[str]:
        lines = [line.strip() for line in self.frames.strip().splitlines()]
        marked = [line if line[2:4] == ": " and line[:2] in LANGUAGES else f"en: {line}" for line in lines if line]
        return [line[4:] for line in marked if line.startswith(f"{lang}: ")]

DAY_FORMS = (
    ("YYYY-MM-DD", "%Y-%m-%d"), ("YYYY-MM-DD", "%Y-%m-%d"), ("YYYY-MM-DD", "%Y-%m-%d"), ("ISO date", "%Y-%m-%d"),
    ("DD/MM/YYYY", "%d/%m/%Y"), ("DD.MM.YYYY", "%d.%m.%Y"), ("written YYYYMMDD", "%Y%m%d"),
)  # fmt: skip

TIME_FORMS = ("HH:MM", "HH:MM, 24-hour clock", "24-hour HH:MM", "hh:mm (24 h)")

UNITS = {
    "m": (Decimal(1), "metres", "metres|m / Meter|m / mètres|m / metros|m"),
    "km": (Decimal(1000), "kilometres", "kilometres|km|km / Kilometer|km / kilomètres|km / kilómetros|km"),
    "mm": (Decimal(1), "millimetres", "millimetres|mm / Millimeter|mm / millimètres|mm / milímetros|mm"),
    "cm": (Decimal(10), "centimetres", "centimetres|cm|cm / Zentimeter|cm / centimètres|cm / centímetros|cm"),
    "g": (Decimal(1), "grams", "grams|g / Gramm|g / grammes|g / gramos|g"),
    "kg": (Decimal(1000), "kilograms", "kilos|kg|kg / Kilo|kg / kilos|kg / kilos|kg"),
    "ml": (Decimal(1), "millilitres", "millilitres|ml|mils / Milliliter|ml / millilitres|ml / mililitros|ml"),
    "l": (Decimal(1000), "litres", "litres|l|litres / Liter|l / litres|l / litros|l"),
}

HALVES = {
    ("kg", "0.5"): "half a kilo / ein halbes Kilo / un demi-kilo / medio kilo",
    ("kg", "1.5"): "a kilo and a half|one and a half kilos / anderthalb Kilo / un kilo et demi / un kilo y medio",
    ("kg", "2.5"): "two and a half kilos / zweieinhalb Kilo / deux kilos et demi / dos kilos y medio",
    ("l", "0.5"): "half a litre / einen halben Liter / un demi-litre / medio litro",
    ("l", "1.5"): "a litre and a half|one and a half litres / anderthalb Liter / un litre et demi / un litro y medio",
    ("l", "2.5"): "two and a half litres / zweieinhalb Liter / deux litres et demi / dos litros y medio",
    ("km", "1.5"): "one and a half kilometres|a kilometre and a half / anderthalb Kilometer / un kilomètre et demi"
    " / un kilómetro y medio",
    ("km", "2.5"): "two and a half kilometres / zweieinhalb Kilometer / deux kilomètres et demi"
    " / dos kilómetros y medio",
}

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


def day(about: str, *, is_past: bool = False, is_limit: bool = False) -> Kind:
    """Return a parameter for a day: after today, at the latest today (`is_past`), or said with `until`."""

    def make(rng: random.Random, name: str) -> Slot:
        label, form = rng.choice(DAY_FORMS)

        def say(talk: Talk) -> tuple[str, str]:
            words, value = say_past(talk) if is_past else say_future(talk, is_limit)
            return words, value.strftime(form)

        return one(name, {"type": "string", "description": f"{about}, {label}"}, say)

    return make


def stay(first: str, last: str, about_first: str, about_last: str) -> Kind:
    """Return two parameters, the day of arrival and that of departure, said together."""

    def make(rng: random.Random, name: str) -> Slot:
        label, form = rng.choice(DAY_FORMS)
        abouts = {first: about_first, last: about_last}
        schemas = {key: {"type": "string", "description": f"{about}, {label}"} for key, about in abouts.items()}

        def say(talk: Talk) -> tuple[str, dict[str, Any]]:
            words, start, end = say_stay(talk)
            return words, {first: start.strftime(form), last: end.strftime(form)}

        return Slot(schemas, say, is_fixable=False)

    return make


def say_stay(talk: Talk) -> tuple[str, date, date]:
    nights = talk.rng.randint(2, 9)
    talk.values += 1
    if talk.rng.random() < 0.5:
        words, start = say_future(talk)
        n = number_words(talk.lang, nights)
        return (
            pick(talk, f"{words} for {n} nights|{words}, {nights} nights / {words} für {n} Nächte"
                 f" / {words} pour {n} nuits / {words}, {n} noches"),
            start, start + timedelta(nights),
        )  # fmt: skip
    start = talk.today + timedelta(talk.rng.randint(2, 25))
    end = start + timedelta(nights)
    talk.needs_today = True
    is_later = start.month != talk.today.month
    a, b, c = (day_number(talk, each.day) for each in (start, end, end - timedelta(1)))
    month = " of next month / des nächsten Monats| nächsten Monat / du mois prochain / del mes que viene"
    tail = pick(talk, month) if is_later else ""
    tail = tail if not tail or tail.startswith(" ") else f" {tail}"
    if not is_later and end.month != start.month:
        second = pick(talk, f"the {b} of next month / {b} des nächsten Monats / {b} du mois prochain / {b} del mes que viene")
        return pick(talk, f"from the {a} of this month to {second} / vom {a} dieses Monats bis zum {second}"
                    f" / du {a} de ce mois au {second} / del {a} de este mes al {second}"), start, end  # fmt: skip
    if is_later and end.month != start.month:
        end = start + timedelta(1)
        b = day_number(talk, end.day)
        if end.month != start.month:
            return say_stay(talk)
    if nights > 3 and end - start > timedelta(3) and talk.rng.random() < 0.4:
        wrong, right = b, c
        end -= timedelta(1)
        return pick(talk, f"from the {a} to the {wrong}{tail}, hang on, back on the {right}|from the {a} to the {wrong}{tail}"
                    f", sorry, only to the {right} / vom {a} bis {wrong}{tail}, nein, nur bis zum {right}"
                    f" / du {a} au {wrong}{tail}, non, jusqu'au {right} seulement"
                    f" / del {a} al {wrong}{tail}, perdón, solo hasta el {right}"), start, end  # fmt: skip
    return pick(talk, f"from the {a} to the {b}{tail}|the {a} till the {b}{tail} / vom {a} bis zum {b}{tail}"
                f" / du {a} au {b}{tail} / del {a} al {b}{tail}"), start, end  # fmt: skip


def clock(about: str, low: int = 7, high: int = 21, *, is_bare: bool = False) -> Kind:
    """Return a parameter for a time of day. With `is_bare` the tool tells its hours, and the part of the day may be left out."""

    def make(rng: random.Random, name: str) -> Slot:
        label = rng.choice(TIME_FORMS)

        def say(talk: Talk) -> tuple[str, str]:
            words, minutes = say_time(talk, low, high, is_bare=is_bare)
            return words, write_time(minutes)

        return one(name, {"type": "string", "description": f"{about}, {label}"}, say)

    return make


def write_time(minutes: int) -> str:
    return f"{minutes // 60:02}:{minutes % 60:02}"


def hours(first: str, last: str, about_first: str, about_last: str, low: int = 8, high: int = 18) -> Kind:
    """Return two parameters, beginning and end, said together: `from half past two for an hour and a half`."""

    def make(rng: random.Random, name: str) -> Slot:
        label = rng.choice(TIME_FORMS)
        abouts = {first: about_first, last: about_last}
        schemas = {key: {"type": "string", "description": f"{about}, {label}"} for key, about in abouts.items()}

        def say(talk: Talk) -> tuple[str, dict[str, Any]]:
            start_words, start = say_time(talk, low, high)
            if talk.rng.random() < 0.6:
                words, length = say_duration(talk, 30, 180)
                end = start + length
                said = pick(talk, f"from {start_words} for {words} / ab {start_words} für {words}"
                            f" / à partir de {start_words} pendant {words} / desde {start_words} durante {words}")  # fmt: skip
            else:
                end_words, end = say_time(talk, high + 2, high + 4)
                french = f"de {start_words} jusqu'à {end_words}"
                said = pick(talk, f"from {start_words} to {end_words}|between {start_words} and {end_words}"
                            f" / von {start_words} bis {end_words} / {french} / desde {start_words} hasta {end_words}")  # fmt: skip
            return said, {first: write_time(start), last: write_time(end)}

        return Slot(schemas, say, is_fixable=False)

    return make


LENGTHS = {"in minutes": 60, "in whole minutes": 60, "in seconds": 1, "in hours, e.g. 1.25": 3600}


def duration(about: str, low: int = 15, high: int = 180, *wanted: str) -> Kind:
    """Return a parameter for a duration in the unit that the description tells."""

    def make(rng: random.Random, name: str) -> Slot:
        label = rng.choice(wanted or ("in minutes", "in whole minutes", "in seconds", "in hours, e.g. 1.25"))

        def say(talk: Talk) -> tuple[str, int | float]:
            words, minutes = say_duration(talk, low, high)
            while label.startswith("in hours") and minutes == 20:
                words, minutes = say_duration(talk, low, high)
            return words, clean(Decimal(minutes) * 60 / LENGTHS[label])

        kind = "number" if label.startswith("in hours") else "integer"
        return one(name, {"type": kind, "description": f"{about}, {label}"}, say)

    return make


def amount(about: str, said: str, values: Sequence[str], *wanted: str) -> Kind:
    """Return a parameter for a length, weight or volume that is said in one unit and wanted in another."""

    def make(rng: random.Random, name: str) -> Slot:
        unit = rng.choice(wanted)

        def say(talk: Talk) -> tuple[str, int | float]:
            value = talk.rng.choice(values)
            talk.values += said != unit
            number = Decimal(value)
            words = f"{digits(talk, number)} {pick(talk, UNITS[said][2])}"
            if (said, value) in HALVES and talk.rng.random() < 0.6:
                words = pick(talk, HALVES[said, value])
            elif number == number.to_integral_value() and number < 60 and talk.rng.random() < 0.35:
                noun = UNITS[said][2].split(" / ")[LANGUAGES.index(talk.lang)].split("|")[0]
                words = f"{number_words(talk.lang, int(number))} {noun}"
            return words, clean(number * UNITS[said][0] / UNITS[unit][0])

        return one(name, {"type": "number", "description": f"{about}, in {UNITS[unit][1]}"}, say)

    return make


def money(about: str, values: Sequence[str]) -> Kind:
    """Return a parameter for an amount of euros, wanted in euros or cents."""

    def make(rng: random.Random, name: str) -> Slot:
        is_cents = rng.random() < 0.65
        label = rng.choice(["in euro cents", "in cents (100 = 1 €)"]) if is_cents else "in euros"

        def say(talk: Talk) -> tuple[str, int | float]:
            number = Decimal(talk.rng.choice(values))
            talk.values += is_cents
            is_whole = number == number.to_integral_value()
            written = digits(talk, number, None if is_whole else 2)
            words = pick(talk, f"€{written}|{written} euros|{written} € / {written} €|{written} Euro / {written} €|{written} euros"
                         f" / {written} €|{written} euros")  # fmt: skip
            return words, clean(number * 100 if is_cents else number)

        return one(name, {"type": "integer" if is_cents else "number", "description": f"{about}, {label}"}, say)

    return make


def share(about: str, values: Sequence[str]) -> Kind:
    """Return a parameter for a percentage, wanted as a fraction or in percent."""

    def make(rng: random.Random, name: str) -> Slot:
        is_fraction = rng.random() < 0.65
        label = rng.choice(["as a fraction, e.g. 0.3", "between 0 and 1"]) if is_fraction else "in percent, e.g. 30"

        def say(talk: Talk) -> tuple[str, int | float]:
            number = Decimal(talk.rng.choice(values))
            talk.values += is_fraction
            written = digits(talk, number)
            named = number_words(talk.lang, int(number)) if number == int(number) else written
            words = pick(talk, f"{written}%|{written} percent|{named} per cent / {written} %|{named} Prozent"
                         f" / {written} %|{written} pour cent / {written} %|{written} por ciento")  # fmt: skip
            return words, clean(number / 100 if is_fraction else number)

        return one(name, {"type": "number", "description": f"{about}, {label}"}, say)

    return make


def count(about: str, low: int, high: int, noun: str = "", *, dozens: bool = False, cancelled: str = "", **more: Any) -> Kind:
    """Return a parameter for a number of things. The noun is said with it; `cancelled` says how some drop out."""

    def make(rng: random.Random, name: str) -> Slot:
        def say(talk: Talk) -> tuple[str, int]:
            number = talk.rng.randint(low, high)
            named = f" {pick(talk, noun)}" if noun else ""
            if dozens and talk.lang in ("en", "de") and talk.rng.random() < 0.5:
                talk.values += 1
                number, words = talk.rng.choice([(6, "half a dozen / ein halbes Dutzend"), (12, "a dozen / ein Dutzend"),
                                                 (24, "two dozen / zwei Dutzend"), (36, "three dozen / drei Dutzend"),
                                                 (18, "a dozen and a half / eineinhalb Dutzend")])  # fmt: skip
                return pick(talk, f"{words} / / ") + named, number
            written = number_words(talk.lang, number) if talk.rng.random() < 0.5 else str(number)
            if cancelled and number > 4 and talk.rng.random() < 0.3:
                talk.values += 1
                less = talk.rng.randint(2, 3)
                return f"{number}{named}, {pick(talk, cancelled).format(less)},", number - less
            return written + named, number

        return one(name, {"type": "integer", "description": about, **more}, say, is_fixable=not cancelled)

    return make


def code(about: str, length: int) -> Kind:
    """Return a parameter for digits that may be spelled one by one."""

    def make(rng: random.Random, name: str) -> Slot:
        def say(talk: Talk) -> tuple[str, str]:
            value = "".join(str(talk.rng.randint(0, 9)) for _ in range(length))
            if talk.rng.random() < 0.6:
                talk.values += 1
                return " ".join(TEENS[talk.lang][int(each)] for each in value), value
            return f"{value[: length // 2]} {value[length // 2 :]}" if talk.rng.random() < 0.4 else value, value

        return one(name, {"type": "string", "description": f"{about}: {length} digits, without spaces"}, say)

    return make


def phone(about: str) -> Kind:
    """Return a parameter for a telephone number that the description tells how to write."""

    def make(rng: random.Random, name: str) -> Slot:
        prefix, country = rng.choice([("+44", "UK"), ("+49", "German"), ("+43", "Austrian"), ("+353", "Irish")])
        is_plain = rng.random() < 0.3
        rule = "digits only, as dialled" if is_plain else f"as {prefix}… without spaces; a leading 0 is replaced by {prefix} ({country} numbers)"

        def say(talk: Talk) -> tuple[str, str]:
            talk.values += 1
            area, first, second = (talk.rng.randint(low, high) for low, high in ((150, 179), (200, 999), (1000, 9999)))
            words = talk.rng.choice([f"0{area} {first} {second}", f"0{area}-{first}{second}", f"0{area}/{first} {second}"])
            return words, f"0{area}{first}{second}" if is_plain else f"{prefix}{area}{first}{second}"

        return one(name, {"type": "string", "description": f"{about}, {rule}"}, say)

    return make


def flag(about: str, yes: str, no: str, **more: Any) -> Kind:
    """Return a parameter that is true or false, with the words for both."""

    def make(rng: random.Random, name: str) -> Slot:
        def say(talk: Talk) -> tuple[str, bool]:
            value = talk.rng.random() < 0.5
            return pick(talk, yes if value else no), value

        return one(name, {"type": "boolean", "description": about, **more}, say, is_fixable=False)

    return make


def enum(about: str, ways: Mapping[str, str], *, is_fixable: bool = True, **more: Any) -> Kind:
    """Return a parameter that takes one of some texts, each said in other words or another language."""

    def make(rng: random.Random, name: str) -> Slot:
        values = list(ways)

        def say(talk: Talk) -> tuple[str, str]:
            value = talk.rng.choice(values)
            words = pick(talk, ways[value])
            talk.values += value not in words
            return words, value

        return one(name, {"type": "string", "description": about, "enum": values, **more}, say, is_fixable=is_fixable)

    return make


def word(about: str, *values: str) -> Kind:
    """Return a parameter that takes a text as it is said."""

    def make(rng: random.Random, name: str) -> Slot:
        def say(talk: Talk) -> tuple[str, str]:
            value = talk.rng.choice(values)
            return value, value

        return one(name, {"type": "string", "description": about}, say)

    return make


def reading(about: str, low: int, high: int) -> Kind:
    """Return a parameter for a counter with one decimal, written as the language does."""

    def make(rng: random.Random, name: str) -> Slot:
        def say(talk: Talk) -> tuple[str, int | float]:
            number = Decimal(talk.rng.randint(low * 10, high * 10)) / 10
            talk.values += talk.lang != "en"
            return digits(talk, number, 1), clean(number)

        return one(name, {"type": "number", "description": about}, say)

    return make

