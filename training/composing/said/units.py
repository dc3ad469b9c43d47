"""Parameters for lengths, weights, volumes, times and prices in other units than the wanted ones, with their words.

A set of tools decides what is wanted, and its description tells how a foreign unit counts: an ounce may be 28 or 30
grams.
"""

# ruff: noqa: E501 (the words for one value are one line)

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from composing.said.days import LANGUAGES, Talk, pick
from composing.said.slots import Kind, Slot, clean, digits, number_words, one


@dataclass(frozen=True)
class Factor:
    """How a said unit counts in the wanted one: the factor, and what the description says of it."""

    number: str
    rule: str
    is_rounded: bool = False


@dataclass(frozen=True)
class Measure:
    """A unit that is said: its words, those for some values, and how it counts in the wanted unit."""

    words: str
    factors: Sequence[Factor]
    spoken: Mapping[str, str]


MEASURES = {
    "inches": Measure(
        "inches|in|inch / Zoll / pouces / pulgadas",
        (Factor("2.5", "in centimetres; count an inch as 2.5 cm"), Factor("25", "in millimetres; count an inch as 25 mm"),
         Factor("2.54", "in centimetres, exactly (2.54 cm to the inch)"), Factor("25.4", "in millimetres, exact")),
        {"0.5": "half an inch / ein halber Zoll / un demi-pouce / media pulgada",
         "1.5": "an inch and a half|one and a half inches / anderthalb Zoll / un pouce et demi / pulgada y media"},
    ),
    "feet": Measure(
        "feet|ft|foot / Fuß / pieds / pies",
        (Factor("30", "in centimetres; count a foot as 30 cm"), Factor("0.3", "in metres; count a foot as 0.3 m"),
         Factor("30.48", "in whole centimetres, rounded", is_rounded=True)),
        {"1.5": "a foot and a half|one and a half feet / anderthalb Fuß / un pied et demi / pie y medio"},
    ),
    "miles": Measure(
        "miles|mi / Meilen / miles / millas",
        (Factor("1.6", "in kilometres; count a mile as 1.6 km"), Factor("1600", "in metres; count a mile as 1600 m"),
         Factor("1.609344", "in whole kilometres, rounded", is_rounded=True)),
        {"0.5": "half a mile / eine halbe Meile / un demi-mile / media milla",
         "1.5": "a mile and a half|one and a half miles / anderthalb Meilen / un mile et demi / milla y media"},
    ),
    "pounds": Measure(
        "pounds|lb|lbs / englische Pfund|lb / livres anglaises|lb / libras inglesas|lb",
        (Factor("450", "in grams; count a pound (lb) as 450 g"), Factor("0.45", "in kilograms; count a pound (lb) as 0.45 kg"),
         Factor("453.59237", "in grams, rounded to whole grams (a pound, lb, is 453.6 g)", is_rounded=True)),
        {"0.5": "half a pound / ein halbes englisches Pfund / une demi-livre anglaise / media libra inglesa"},
    ),
    "ounces": Measure(
        "ounces|oz|oz / Unzen / onces / onzas",
        (Factor("28", "in grams; count an ounce as 28 g"), Factor("30", "in grams; count an ounce as 30 g"),
         Factor("28.35", "in grams, rounded to whole grams (an ounce is 28.35 g)", is_rounded=True)),
        {"0.5": "half an ounce / eine halbe Unze / une demi-once / media onza"},
    ),
    "gallons": Measure(
        "gallons|gal / Gallonen / gallons / galones",
        (Factor("3.8", "in litres; count a gallon as 3.8 l"), Factor("4", "in litres; count a gallon as 4 l"),
         Factor("4.5", "in litres; count a gallon as 4.5 l")),
        {"0.5": "half a gallon / eine halbe Gallone / un demi-gallon / medio galón"},
    ),
    "kilos": Measure(
        "kilos|kg / Kilo|kg / kilos|kg / kilos|kg",
        (Factor("1000", "in grams"), Factor("1", "in kilograms"), Factor("0.001", "in tonnes")),
        {"0.5": "half a kilo / ein halbes Kilo / un demi-kilo / medio kilo",
         "1.5": "a kilo and a half / anderthalb Kilo / un kilo et demi / un kilo y medio",
         "0.25": "a quarter of a kilo / ein Viertelkilo / un quart de kilo / un cuarto de kilo"},
    ),
    "litres": Measure(
        "litres|l / Liter|l / litres|l / litros|l",
        (Factor("1000", "in millilitres"), Factor("10", "in decilitres"), Factor("1", "in litres")),
        {"0.5": "half a litre / ein halber Liter / un demi-litre / medio litro",
         "0.75": "three quarters of a litre / ein Dreiviertelliter / trois quarts de litre / tres cuartos de litro"},
    ),
    "metres": Measure(
        "metres|m / Meter|m / mètres|m / metros|m",
        (Factor("100", "in centimetres"), Factor("1000", "in millimetres"), Factor("1", "in metres")),
        {"0.5": "half a metre / einen halben Meter / un demi-mètre / medio metro",
         "1.5": "a metre and a half / anderthalb Meter / un mètre et demi / un metro y medio",
         "1.8": "1m80|a metre eighty / 1,80 m|einen Meter achtzig / 1m80|un mètre quatre-vingts / 1,80 m",
         "2.2": "2m20|two metres twenty / 2,20 m|zwei Meter zwanzig / 2m20 / 2,20 m|dos metros veinte"},
    ),
    "hours": Measure(
        "hours|h / Stunden|h / heures|h / horas|h",
        (Factor("60", "in minutes"), Factor("3600", "in seconds"), Factor("1", "in hours, e.g. 3.25")),
        {"0.5": "half an hour / eine halbe Stunde / une demi-heure / media hora",
         "0.75": "three quarters of an hour / eine Dreiviertelstunde / trois quarts d'heure / tres cuartos de hora",
         "1.5": "an hour and a half|1h30|one and a half hours / anderthalb Stunden|1,5 Stunden / une heure et demie|1h30"
         " / una hora y media|hora y media",
         "2.5": "two and a half hours|2h30|two hours and a half / zweieinhalb Stunden / deux heures et demie|2h30"
         " / dos horas y media",
         "1.25": "an hour and a quarter|75 minutes / fünf viertel Stunden|75 Minuten / une heure et quart / una hora y cuarto"},
    ),
}  # fmt: skip


PARTS = {"": slice(None), "first two": slice(2), "last two": slice(1, None)}


def measure(about: str, said: str, values: Sequence[str], only: str = "") -> Kind:
    """Return a parameter for an amount that is said in one unit and wanted as the set tells.

    With `only` (`first two`, `last two`), some of the wanted units are drawn.
    """

    def make(rng: random.Random, name: str) -> Slot:
        unit = MEASURES[said]
        factor = rng.choice(list(unit.factors)[PARTS[only]])

        def say(talk: Talk) -> tuple[str, int | float]:
            value = talk.rng.choice(values)
            number = Decimal(value)
            talk.values += factor.number != "1"
            if value in unit.spoken and (number < 1 or talk.rng.random() < 0.8):
                words = pick(talk, unit.spoken[value])
            elif number == int(number) and number < 60 and talk.rng.random() < 0.4:
                noun = unit.words.split(" / ")[LANGUAGES.index(talk.lang)].split("|")[0]
                words = f"{number_words(talk.lang, int(number))} {noun}"
            else:
                words = f"{digits(talk, number)} {pick(talk, unit.words)}"
            wanted = number * Decimal(factor.number)
            return words, clean(wanted.to_integral_value(ROUND_HALF_UP) if factor.is_rounded else wanted)

        return one(name, {"type": "number", "description": f"{about}, {factor.rule}"}, say)

    return make


def height(about: str, low: int = 2, high: int = 7) -> Kind:
    """Return a parameter for a length that is said in feet and inches and wanted in centimetres."""

    def make(rng: random.Random, name: str) -> Slot:
        def say(talk: Talk) -> tuple[str, int | float]:
            talk.values += 1
            feet, inches = talk.rng.randint(low, high), talk.rng.choice([2, 4, 6, 8, 10])
            f, i = number_words(talk.lang, feet), number_words(talk.lang, inches)
            words = pick(talk, f"{feet} ft {inches}|{f} foot {i}|{feet}'{inches}\"|{f} feet and {i} inches"
                         f" / {f} Fuß {i} Zoll|{feet} Fuß {inches} / {f} pieds {i} pouces|{feet} pieds {inches}"
                         f" / {f} pies y {i} pulgadas")  # fmt: skip
            return words, clean(Decimal(feet * 30) + Decimal(inches) * Decimal("2.5"))

        rule = "in centimetres; count a foot as 30 cm and an inch as 2.5 cm"
        return one(name, {"type": "number", "description": f"{about}, {rule}"}, say)

    return make


def price(about: str, low: int = 1, high: int = 90) -> Kind:
    """Return a parameter for euros and cents as they are spoken, wanted in cents or euros."""

    def make(rng: random.Random, name: str) -> Slot:
        is_cents = rng.random() < 0.75
        label = rng.choice(["in cents", "in euro cents, a whole number"]) if is_cents else "in euros, e.g. 7.95"

        def say(talk: Talk) -> tuple[str, int | float]:
            talk.values += is_cents
            euros, cents = talk.rng.randint(max(2, low), high), talk.rng.choice([0, 0, 5, 20, 50, 50, 80, 90, 99])
            number = Decimal(euros) + Decimal(cents) / 100
            e, c = number_words(talk.lang, euros), number_words(talk.lang, cents)
            written = digits(talk, number, 2 if cents else 0)
            ways = (
                f"€{written}|{written} euros|{e} euros / {written} €|{written} Euro|{e} Euro / {written} €|{e} euros"
                f" / {written} €|{e} euros"
            )
            if cents:
                ways = (
                    f"€{written}|{e} euros and {c} cents|{euros} euros {cents}|{written} euros"
                    f" / {written} €|{euros} Euro {cents}|{e} Euro und {c} Cent / {written} €|{euros} euros {cents:02}"
                    f" / {written} €|{e} euros con {c}"
                )
                ways = ways.replace(f"|{euros} euros {cents}|", "|") if cents == 5 else ways
                ways = ways.replace(f"|{euros} Euro {cents}|", "|") if cents == 5 else ways
            return pick(talk, ways), clean(number * 100 if is_cents else number)

        return one(name, {"type": "integer" if is_cents else "number", "description": f"{about}, {label}"}, say)

    return make
