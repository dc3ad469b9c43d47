"""Parameters for lengths, weights, volumes, times and prices in other units than the wanted ones, with their words.

A set of tools decides what is wanted, and its description tells how a foreign unit counts: an ounce may be 28 or 30
grams. In `tables/words.toml`, `measures` has for each unit that is said its words, those for some values, and how it
counts in the wanted units: a factor and what the description says of it. A factor that ends in `~` is rounded.
"""

import random
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal

from composing.said.days import WORDS, Talk, digits, list_ways, number_words, pick, say
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
