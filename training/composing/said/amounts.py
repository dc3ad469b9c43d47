"""Parameters for amounts, codes, flags, choices and names, drawn with the words that say them."""

import random
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from composing.said.days import LANGUAGES, Talk, pick
from composing.said.slots import TEENS, Kind, Slot, clean, digits, number_words, one

DOZENS = (
    (6, "half a dozen / ein halbes Dutzend"),
    (12, "a dozen / ein Dutzend"),
    (18, "a dozen and a half / eineinhalb Dutzend"),
    (24, "two dozen / zwei Dutzend"),
    (36, "three dozen / drei Dutzend"),
)

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


def amount(about: str, said: str, values: Sequence[str], wanted: Sequence[str]) -> Kind:
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
            words = pick(talk, f"€{written}|{written} euros|{written} € / {written} €|{written} Euro"
                         f" / {written} €|{written} euros"
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


def count(
    about: str, low: int, high: int, noun: str = "", *, dozens: bool = False, cancelled: str = "", **more: Any
) -> Kind:
    """Return a parameter for a number of things. The noun is said with it; `cancelled` says how some drop out."""

    def make(rng: random.Random, name: str) -> Slot:
        def say(talk: Talk) -> tuple[str, int]:
            number = talk.rng.randint(low, high)
            named = f" {pick(talk, noun)}" if noun else ""
            if dozens and talk.lang in ("en", "de") and talk.rng.random() < 0.5:
                talk.values += 1
                number, words = talk.rng.choice(DOZENS)
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
        rule = (
            "digits only, as dialled"
            if is_plain
            else f"as {prefix}… without spaces; a leading 0 is replaced by {prefix} ({country} numbers)"
        )

        def say(talk: Talk) -> tuple[str, str]:
            talk.values += 1
            area, first, second = (talk.rng.randint(low, high) for low, high in ((150, 179), (200, 999), (1000, 9999)))
            words = talk.rng.choice(
                [f"0{area} {first} {second}", f"0{area}-{first}{second}", f"0{area}/{first} {second}"]
            )
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


def word(about: str, values: Sequence[str]) -> Kind:
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
