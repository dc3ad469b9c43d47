"""The kinds of parameters that tables name: each draws the words for a value, and the value.

A set of tools decides the form that a description tells (`DD/MM/YYYY`, metres or kilometres, whether decimals are
dropped, where the afternoon begins), so that the same words have different values in different sets: an ounce may be 28
or 30 grams. The words are in `tables/words.toml`. There, `measures` has for each unit that is said its words, those for
some values, and how it counts in the wanted units: a factor and what the description says of it. A factor that ends in
`~` is rounded.
"""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal
from typing import Any

from composing.talk import (
    MONTHS,
    TEENS,
    WORDS,
    Talk,
    join_words,
    list_plain_days,
    list_ways,
    say_duration,
    say_future,
    say_past,
    say_time,
)

Schema = dict[str, Any]

Drawn = tuple[str, Any]  # the words for a value, and the value

Form = Callable[..., tuple[Schema, Any]]
"""Draws what a set wants: what the schema says of it, and what that means to the function that draws values."""


@dataclass(frozen=True)
class Slot:
    """A place in a sentence: the parameters that it fills, and what draws the words and the values of all of them.

    It is fixable if a speaker may name a wrong value first; `optional` parameters may be left out alone.
    """

    schemas: Mapping[str, Schema]
    say: Callable[[Talk], tuple[str, dict[str, Any]]]
    is_fixable: bool = True
    optional: frozenset[str] = frozenset()

    @property
    def schema(self) -> Schema:
        """Return the schema of the only parameter."""
        [schema] = self.schemas.values()
        return schema

    def draw(self, talk: Talk) -> Drawn:
        """Draw the words and the value of the only parameter."""
        words, values = self.say(talk)
        [value] = values.values()
        return words, value


KINDS: dict[str, Callable[..., Slot]] = {}
"""The kinds that tables name: each takes the chance of a set, the name of a parameter, and what its table has."""


def make_slots(values: Mapping[str, Mapping[str, Any]], rng: random.Random | None = None) -> dict[str, Slot]:
    """Make the slots of a tool; a name that ends in `?` is that of an optional parameter.

    Only kinds of which each set wants another form need the chance of a set.
    """
    names = {key: key.rstrip("?") for key in values}
    return {name: KINDS[values[key]["kind"]](rng, name, **values[key]) for key, name in names.items()}


def parameter(form: Form = lambda *_, **__: ({}, ()), *, is_fixable: bool = True, **base: Any) -> Callable[..., Any]:
    """Let tables name a function that draws one parameter.

    Its schema has what `base` and the form say, descriptions appended to the one of the table; the rest of the table's
    entry goes to the form and to the function.
    """

    def register(draw: Callable[..., Drawn]) -> Callable[..., Drawn]:
        def make(rng: random.Random, name: str, kind: str, description: str, asks: str = "", **entry: Any) -> Slot:
            is_slot_fixable = entry.pop("is_fixable", is_fixable)
            default = {"default": entry.pop("default")} if "default" in entry else {}
            more, wanted = form(rng, **entry)
            more = {**more, "description": description + base.get("description", "") + more.get("description", "")}

            def say_one(talk: Talk) -> tuple[str, dict[str, Any]]:
                words, value = draw(talk, *wanted, **entry)
                return words, {name: value}

            return Slot({name: {**base, "description": "", **more, **default}}, say_one, is_slot_fixable)

        KINDS[draw.__name__] = make
        return draw

    return register


def several(make: Callable[..., Slot]) -> Callable[..., Slot]:
    """Let tables name a function that makes a slot of several parameters."""
    KINDS[make.__name__] = lambda rng, _name, kind, **entry: make(rng, **entry)
    return make


def clean(number: Decimal | float) -> int | float:
    return int(number) if number == int(number) else float(number)


# Texts, choices and flags


@parameter(type="string")
def text(talk: Talk, values: Sequence[Any]) -> Drawn:
    """Draw one of some values: a text or number as it is said, or a list of the words and the value."""
    drawn = talk.rng.choice(values)
    if isinstance(drawn, list):
        return drawn[0], drawn[1]
    if isinstance(drawn, str):
        said = list_ways(talk.lang, drawn)[0]
        return said, said
    return str(drawn) if talk.lang == "en" else str(drawn).replace(".", ","), drawn


def list_choices(_: random.Random, values: Any) -> tuple[Schema, Any]:
    return {"enum": list(dict.fromkeys(each[1] if isinstance(each, list) else each for each in values))}, ()


@parameter(list_choices, type="string")
def choice(talk: Talk, values: Any) -> Drawn:
    """Draw one of the texts that a parameter takes, with words of its own or those that a table has for it."""
    if not isinstance(values, Mapping):
        return text(talk, values)
    value = talk.rng.choice(list(values))
    words = talk.pick(values[value])
    talk.values += value not in words
    return words, value


@parameter(type="boolean", is_fixable=False)
def flag(talk: Talk, yes: str = "", no: str = "") -> Drawn:
    """Draw whether something is so, with the words for it; it is so where there are no words for the contrary."""
    value = not no or talk.rng.random() < 0.5
    words = yes if value else no
    return talk.pick(words) if words else "", value


@parameter(type="array", items={"type": "string"})
def texts(talk: Talk, values: Sequence[str], counts: Sequence[int] = (2, 3, 3, 4)) -> Drawn:
    drawn = talk.rng.sample([list_ways(talk.lang, each)[0] for each in values], talk.rng.choice(counts))
    return join_words(talk.lang, drawn), drawn


# Numbers


@parameter(type="integer")
def integer(talk: Talk, low: int = 0, high: int = 0, step: int = 1, values: Sequence[Any] = ()) -> Drawn:
    """Draw a whole number of a range, or one of some values."""
    if values:
        return text(talk, values)
    number = talk.rng.randrange(low, high + 1, step)
    return f"{number:,}" if number > 9999 and talk.rng.random() < 0.5 else str(number), number


def find_number_type(_: random.Random, values: Sequence[Any]) -> tuple[Schema, Any]:
    return {"type": "integer" if all(isinstance(each, int) for each in values) else "number"}, ()


@parameter(find_number_type, type="number")
def number(talk: Talk, values: Sequence[Any]) -> Drawn:
    return text(talk, values)


@parameter(type="number")
def decimal(talk: Talk, low: float, high: float) -> Drawn:
    number = clean(round(talk.rng.uniform(low, high), talk.rng.choice([0, 1])))
    return str(number), number


@parameter(type="array", items={"type": "integer"})
def numbers(talk: Talk, low: int, high: int) -> Drawn:
    drawn = [talk.rng.randint(low, high) for _ in range(talk.rng.randint(4, 7))]
    return str(drawn) if talk.rng.random() < 0.5 else join_words(talk.lang, list(map(str, drawn))), drawn


@parameter(type="number")
def reading(talk: Talk, low: int, high: int) -> Drawn:
    """Draw a counter with one decimal, written as the language does."""
    number = Decimal(talk.rng.randint(low * 10, high * 10)) / 10
    talk.values += talk.lang != "en"
    return talk.digits(number, 1), clean(number)


@parameter(type="integer", description=", in digits, e.g. 7300")
def large(talk: Talk, low: int = 1000, high: int = 50_000) -> Drawn:
    """Draw a large whole number as people shorten it: 1.2k, eleven hundred."""
    talk.values += 1
    if talk.rng.random() < 0.5:
        number = talk.rng.randrange(low + 50, min(high, 9950), 50)
        comma, point, space = (f"{number:,}".replace(",", each) for each in ",. ")
        short = f"{Decimal(number) / 1000:f}k" if number % 100 == 0 else comma
        return talk.say("large", number, comma=comma, point=point, space=space, short=short), number
    number, words = talk.rng.choice([each for each in WORDS["round"] if low <= each[0] <= high])
    return talk.pick(words), number


def choose_rounding(rng: random.Random, unit: str, **_: Any) -> tuple[Schema, Any]:
    """Choose whether decimals are dropped, kept or rounded."""
    rule = rng.choice(["drop", "drop", "round", "keep"])
    dropped = rng.choice([f"in whole {unit}; decimals are dropped", f"full {unit} only, without decimals, not rounded"])
    rounded, kept = f"in {unit}, rounded to the nearest whole number", f"in {unit}, with all decimals that are told"
    told = {"drop": dropped, "round": rounded, "keep": kept}[rule]
    return {"type": "number" if rule == "keep" else "integer", "description": f", {told}"}, (rule,)


@parameter(choose_rounding, type="integer")
def figure(talk: Talk, rule: str, unit: str, low: int, high: int, places: int = 1) -> Drawn:
    """Draw a number with decimals."""
    talk.values += 1
    number = Decimal(talk.rng.randint(low, high)) + Decimal(talk.rng.choice([1, 2, 3, 4, 6, 7, 8, 9])) / 10
    if places == 2 and talk.rng.random() < 0.7:
        number += Decimal(talk.rng.randint(1, 9)) / 100 if str(number)[-1] not in "45" else 0
    written = write_figure(talk, number, -int(number.as_tuple().exponent))
    if rule == "keep":
        return written, clean(number)
    return written, int(number.to_integral_value(ROUND_DOWN if rule == "drop" else ROUND_HALF_UP))


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


# Amounts


def choose_factor(rng: random.Random, said: str, only: str = "", **_: Any) -> tuple[Schema, Any]:
    """Choose one of the wanted units, or with `only` (`first two`, `last two`) one of some of them."""
    chosen = {"": slice(None), "first two": slice(2), "last two": slice(1, None)}[only]
    factor, rule = rng.choice(WORDS["measures"][said]["factors"][chosen])
    return {"description": f", {rule}"}, (factor,)


@parameter(choose_factor, type="number")
def measure(talk: Talk, factor: str, said: str, values: Sequence[str], only: str = "") -> Drawn:
    """Draw an amount that is said in one unit and wanted as the set tells."""
    unit, value = WORDS["measures"][said], talk.rng.choice(values)
    number = Decimal(value)
    talk.values += factor != "1"
    if value in unit["spoken"] and (number < 1 or talk.rng.random() < 0.8):
        words = talk.pick(unit["spoken"][value])
    elif number == int(number) and number < 60 and talk.rng.random() < 0.4:
        words = f"{talk.number_words(int(number))} {list_ways(talk.lang, unit['words'])[0]}"
    else:
        words = f"{talk.digits(number)} {talk.pick(unit['words'])}"
    wanted = number * Decimal(factor.rstrip("~"))
    return words, clean(wanted.to_integral_value(ROUND_HALF_UP) if factor.endswith("~") else wanted)


def choose_unit(rng: random.Random, wanted: Sequence[str], **_: Any) -> tuple[Schema, Any]:
    unit = rng.choice(wanted)
    return {"description": f", in {WORDS['units'][unit][1]}"}, (unit,)


@parameter(choose_unit, type="number")
def amount(talk: Talk, unit: str, said: str, values: Sequence[str], wanted: Sequence[str]) -> Drawn:
    """Draw a length, weight or volume that is said in one unit and wanted in another."""
    (size, _, ways), halves = WORDS["units"][said], WORDS["halves"].get(said, {})
    value = talk.rng.choice(values)
    talk.values += said != unit
    number = Decimal(value)
    words = f"{talk.digits(number)} {talk.pick(ways)}"
    if value in halves and talk.rng.random() < 0.6:
        words = talk.pick(halves[value])
    elif number == number.to_integral_value() and number < 60 and talk.rng.random() < 0.35:
        words = f"{talk.number_words(int(number))} {list_ways(talk.lang, ways)[0]}"
    return words, clean(number * size / WORDS["units"][unit][0])


@parameter(type="number", description=", in centimetres; count a foot as 30 cm and an inch as 2.5 cm")
def height(talk: Talk, low: int = 2, high: int = 7) -> Drawn:
    """Draw a length that is said in feet and inches."""
    talk.values += 1
    feet, inches = talk.rng.randint(low, high), talk.rng.choice([2, 4, 6, 8, 10])
    f, i = talk.number_words(feet), talk.number_words(inches)
    words = talk.say("height", feet=feet, inches=inches, f=f, i=i)
    return words, clean(Decimal(feet * 30) + Decimal(inches) * Decimal("2.5"))


def choose_hundredths(share: float, schema_type: str, hundredths: Sequence[str], whole: str) -> Form:
    """Let a set choose, with some chance, that cents or a fraction are wanted and not euros or percent."""

    def choose(rng: random.Random, **_: Any) -> tuple[Schema, Any]:
        is_chosen = rng.random() < share
        told = rng.choice(hundredths) if is_chosen else whole
        return {"type": schema_type if is_chosen else "number", "description": f", {told}"}, (is_chosen,)

    return choose


CENTS = choose_hundredths(0.65, "integer", ["in euro cents", "in cents (100 = 1 €)"], "in euros")
SPOKEN_CENTS = choose_hundredths(0.75, "integer", ["in cents", "in euro cents, a whole number"], "in euros, e.g. 7.95")
FRACTION = choose_hundredths(0.65, "number", ["as a fraction, e.g. 0.3", "between 0 and 1"], "in percent, e.g. 30")


@parameter(SPOKEN_CENTS, type="number")
def price(talk: Talk, is_cents: bool, low: int = 1, high: int = 90) -> Drawn:
    """Draw euros and cents as they are spoken."""
    talk.values += is_cents
    euros, cents = talk.rng.randint(max(2, low), high), talk.rng.choice([0, 0, 5, 20, 50, 50, 80, 90, 99])
    number = Decimal(euros) + Decimal(cents) / 100
    e, c = talk.number_words(euros), talk.number_words(cents)
    way = {0: "price_euros", 5: "price_few_cents"}.get(cents, "price")
    words = talk.say(way, talk.digits(number, 2 if cents else 0), e=e, c=c, euros=euros, cents=cents)
    return words, clean(number * 100 if is_cents else number)


@parameter(CENTS, type="number")
def money(talk: Talk, is_cents: bool, values: Sequence[str]) -> Drawn:
    number = Decimal(talk.rng.choice(values))
    talk.values += is_cents
    words = talk.say("money", talk.digits(number, None if number == int(number) else 2))
    return words, clean(number * 100 if is_cents else number)


@parameter(FRACTION, type="number")
def share(talk: Talk, is_fraction: bool, values: Sequence[str]) -> Drawn:
    """Draw a percentage."""
    number = Decimal(talk.rng.choice(values))
    talk.values += is_fraction
    written = talk.digits(number)
    named = talk.number_words(int(number)) if number == int(number) else written
    return talk.say("share", written=written, named=named), clean(number / 100 if is_fraction else number)


# Counts


@parameter(type="integer")
def count(talk: Talk, low: int, high: int, noun: str = "", dozens: bool = False, cancelled: str = "") -> Drawn:
    """Draw a number of things. The noun is said with it; `cancelled` says how some drop out."""
    number = talk.rng.randint(low, high)
    named = f" {talk.pick(noun)}" if noun else ""
    if dozens and talk.lang in ("en", "de") and talk.rng.random() < 0.5:
        talk.values += 1
        number, words = talk.rng.choice(WORDS["bare_dozens"])
        return talk.pick(words) + named, number
    written = talk.number_words(number) if talk.rng.random() < 0.5 else str(number)
    if cancelled and number > 4 and talk.rng.random() < 0.3:
        talk.values += 1
        less = talk.rng.randint(2, 3)
        return f"{number}{named}, {talk.pick(cancelled).format(less)},", number - less
    return written + named, number


@parameter(type="integer", is_fixable=False)
def heads(talk: Talk) -> Drawn:
    """Draw a number of people of whom some drop out or join."""
    talk.values += 1
    number, ill, new = talk.rng.randint(9, 48), talk.rng.randint(2, 5), talk.rng.randint(2, 4)
    n, i, j = (talk.number_words(each) for each in (number, ill, new))
    meanings = [number - ill, number + new, number - ill + new, number]
    return talk.say_one_of("heads", meanings, n=n, i=i, j=j)


@parameter(type="integer", is_fixable=False)
def tally(talk: Talk, noun: str, has_pairs: bool = False, is_personal: bool = True) -> Drawn:
    """Draw a number of things that is said with a sum.

    Things that are not personal are not counted by the people who get them.
    """
    talk.values += 1
    ways = ["plain", "dozens", "dozens", "like_last_time", "for_each", "together", "boxes"]
    if has_pairs:
        ways = ["plain", "dozens", "pairs", "pairs"]
    if not is_personal:
        ways = ["plain", "dozens", "like_last_time", "boxes"]
    way, named = talk.rng.choice(ways), talk.pick(noun)
    of = f"d'{named}" if named[0].lower() in "aeéiouhœ" else f"de {named}"  # in French
    return say_tally(talk, way, named, of)


def say_tally(talk: Talk, way: str, noun: str, of: str) -> tuple[str, int]:
    """Say a number of things in one of the ways."""
    rng = talk.rng
    match way:
        case "plain":
            number = rng.randint(3, 60)
            return f"{talk.number_words(number) if rng.random() < 0.6 else number} {noun}", number
        case "dozens":
            number, words = rng.choice(WORDS["dozens"])
            return talk.pick(words).format(noun, of=of), number
        case "like_last_time":
            base, more = rng.choice([12, 14, 20, 24, 30, 36, 40, 50]), rng.choice([2, 4, 5, 8, 10])
            meanings = [base * 2, base // 2, base + more, base - more, base * 3]
            return talk.say_one_of(way, meanings, noun, b=base, m=talk.number_words(more))
        case "for_each":
            heads, spare, each = rng.randint(7, 16), rng.choice([2, 3, 4]), rng.choice([2, 3])
            h, s, n = (talk.number_words(number) for number in (heads, spare, each))
            boys = rng.randint(5, 14)
            meanings = [heads + spare, heads * each, heads + boys]
            return talk.say_one_of(way, meanings, noun, h=h, s=s, n=n, heads=heads, boys=boys)
        case "together":
            a, b = rng.randint(4, 20), rng.randint(3, 12)
            return talk.say(way, noun, a=a, b=b), a + b
        case "boxes":
            boxes, size = rng.randint(2, 6), rng.randint(5, 10)
            return talk.say(way, noun, boxes=boxes, size=size), boxes * size
        case _:
            number = rng.randint(2, 14)
            return talk.say("pairs", noun, n=talk.number_words(number), of=of), number * 2


# Codes


@parameter(type="string")
def pattern(talk: Talk, pattern: str) -> Drawn:
    """Draw a code such as `K-417`: each `#` of the pattern is a digit."""
    made = re.sub("#", lambda _: str(talk.rng.randint(1, 9)), pattern)
    return made, made


@parameter(lambda _, length: ({"description": f": {length} digits, without spaces"}, ()), type="string")
def code(talk: Talk, length: int) -> Drawn:
    """Draw digits that may be spelled one by one."""
    value = "".join(str(talk.rng.randint(0, 9)) for _ in range(length))
    if talk.rng.random() < 0.6:
        talk.values += 1
        return " ".join(TEENS[talk.lang][int(each)] for each in value), value
    return f"{value[: length // 2]} {value[length // 2 :]}" if talk.rng.random() < 0.4 else value, value


def choose_prefix(rng: random.Random) -> tuple[Schema, Any]:
    prefix, country = rng.choice([("+44", "UK"), ("+49", "German"), ("+43", "Austrian"), ("+353", "Irish")])
    if rng.random() < 0.3:
        return {"description": ", digits only, as dialled"}, ("0",)
    rule = f", as {prefix}… without spaces; a leading 0 is replaced by {prefix} ({country} numbers)"
    return {"description": rule}, (prefix,)


@parameter(choose_prefix, type="string")
def phone(talk: Talk, prefix: str) -> Drawn:
    """Draw a telephone number that the description tells how to write."""
    talk.values += 1
    area, first, second = (talk.rng.randint(low, high) for low, high in ((150, 179), (200, 999), (1000, 9999)))
    words = talk.rng.choice([f"0{area} {first} {second}", f"0{area}-{first}{second}", f"0{area}/{first} {second}"])
    return words, f"{prefix}{area}{first}{second}"


def write_code(form: str, front: str, figures: str) -> str:
    half = len(figures) // 2
    return form.format(a=front, small=front.lower(), b=figures, first=figures[:half], second=figures[half:])


def choose_code_form(rng: random.Random, letters: Sequence[str], length: int) -> tuple[Schema, Any]:
    count, half = len(letters[0]), length // 2
    rule, form = rng.choice(WORDS["code_forms"]["letters" if count else "digits"])
    what = "the letter" if count == 1 else "the letters"
    rule = rule.format(what=what, length=length, half=half, rest=length - half, filled=length + 3)
    return {"description": f": {rule}, e.g. {write_code(form, 'KRT'[:count], '9174063528'[:length])}"}, (form,)


@parameter(choose_code_form, type="string")
def ident(talk: Talk, form: str, letters: Sequence[str], length: int) -> Drawn:
    """Draw a code that is dictated or sloppily written; `letters` are what it may begin with."""
    talk.values += 1
    front = talk.rng.choice(letters)
    figures = str(talk.rng.randint(1, 9)) + "".join(str(talk.rng.randint(0, 9)) for _ in range(length - 1))
    return say_code(talk, front, figures), write_code(form, front, figures)


def say_code(talk: Talk, front: str, figures: str) -> str:
    """Write or dictate a code."""
    apart, half = " ".join(front), len(figures) // 2
    spelled = " ".join(TEENS[talk.lang][int(each)] for each in figures)
    if talk.lang == "en" and talk.rng.random() < 0.4:
        spelled = spelled.replace("zero", "oh")
    if talk.lang == "en" and talk.rng.random() < 0.5:
        spelled = re.sub(r"\b(\w+) \1\b", r"double \1", spelled)
    grouped = f"{figures[:half]} {figures[half:]}"
    dash = talk.say("dash")
    if not front:
        dotted = f"{figures[:2]}.{figures[2:]}" if len(figures) < 6 else f"{figures[:2]}.{figures[2:4]}.{figures[4:]}"
        before = talk.say("before_number") if talk.rng.random() < 0.5 else ""
        return before + talk.rng.choice([figures, grouped, spelled, " ".join(figures), dotted])
    ways = [
        f"{front.lower()}{figures}", f"{front.lower()} {figures}", f"{front} {grouped}", f"{apart} {' '.join(figures)}",
        f"{apart.lower()} {' '.join(figures)}", f"{apart.lower()} {spelled}", f"{front.lower()} {dash} {figures}",
        f"{front}-{figures}", f"{front.lower()}-{grouped}",
    ]  # fmt: skip
    return talk.rng.choice(ways)


# Days and times


def choose_day_form(rng: random.Random, **_: Any) -> tuple[Schema, Any]:
    label, form = rng.choice(WORDS["day_forms"])
    return {"description": f", {label}"}, (form,)


@parameter(choose_day_form, type="string")
def day(talk: Talk, form: str, is_past: bool = False, is_limit: bool = False) -> Drawn:
    """Draw a day: after today, at the latest today (`is_past`), or said with `until`."""
    words, value = say_past(talk) if is_past else say_future(talk, is_limit)
    return words, value.strftime(form)


@parameter(type="string", description=", YYYY-MM-DD")
def date_in_full(talk: Talk, after: str = "", most: int = 20) -> Drawn:
    """Draw a day with month and year, one that comes after that of another parameter if `after` names it."""
    if after:
        value = date.fromisoformat(talk.drawn[after]) + timedelta(talk.rng.randint(2, most))
    else:
        value = date(2026, 1, 1) + timedelta(talk.rng.randrange(700))
    return talk.rng.choice(list_plain_days(talk.lang, value)), value.isoformat()


@parameter(type="string", description=", YYYY-MM")
def month(talk: Talk) -> Drawn:
    year, place = talk.rng.choice([2024, 2025, 2026]), talk.rng.randrange(12)
    return f"{MONTHS[talk.lang][place]}{' de ' if talk.lang == 'es' else ' '}{year}", f"{year}-{place + 1:02}"


def choose_time_form(rng: random.Random, **_: Any) -> tuple[Schema, Any]:
    return {"description": f", {rng.choice(WORDS['time_forms'])}"}, ()


@parameter(choose_time_form, type="string")
def clock(talk: Talk, low: int = 7, high: int = 21, is_bare: bool = False, has_midnight: bool = False) -> Drawn:
    """Draw a time of day. With `is_bare` the tool tells its hours, and the part of the day may be left out."""
    words, minutes = say_time(talk, low, high, is_bare=is_bare)
    if has_midnight and talk.rng.random() < 0.3:
        words, minutes = talk.say("midnight"), 0
    return words, write_time(minutes)


def write_time(minutes: int) -> str:
    return f"{minutes // 60:02}:{minutes % 60:02}"


@parameter(type="string", description=", HH:MM, 24 hours")
def time_in_digits(talk: Talk, hours: Sequence[int] = (7, 20), after: str = "") -> Drawn:
    """Draw a time of day in digits, one that comes after that of another parameter if `after` names it."""
    first = int(talk.drawn[after][:2]) + 1 if after else hours[0]
    hour = talk.rng.randint(first, min(23, first + 6) if after else hours[1])
    minute = talk.rng.choice([0, 0, 15, 30, 45])
    kind = {"en": " am" if hour < 12 else " pm", "fr": "" if minute else " full"}.get(talk.lang, "")
    said = talk.rng.choice(WORDS["plain_clocks"][f"{talk.lang}{kind}"])
    return said.format(hour=hour, minute=minute, twelve=(hour - 1) % 12 + 1), write_time(hour * 60 + minute)


def choose_length_unit(rng: random.Random, wanted: Sequence[str] = (), **_: Any) -> tuple[Schema, Any]:
    label = rng.choice(wanted or list(WORDS["lengths"]))
    return {"type": "number" if label.startswith("in hours") else "integer", "description": f", {label}"}, (label,)


@parameter(choose_length_unit, type="integer")
def duration(talk: Talk, label: str, low: int = 15, high: int = 180, wanted: Sequence[str] = ()) -> Drawn:
    """Draw a duration in the unit that the description tells."""
    words, minutes = say_duration(talk, low, high)
    while label.startswith("in hours") and minutes == 20:
        words, minutes = say_duration(talk, low, high)
    return words, clean(Decimal(minutes) * 60 / WORDS["lengths"][label])


@several
def hours(
    rng: random.Random, first: str, last: str, about_first: str, about_last: str, low: int = 8, high: int = 18
) -> Slot:
    """Make two parameters, beginning and end, said together: `from half past two for an hour and a half`."""
    label = rng.choice(WORDS["time_forms"])

    def draw(talk: Talk) -> tuple[str, dict[str, Any]]:
        start_words, start = say_time(talk, low, high, is_range=True)
        if talk.rng.random() < 0.6:
            words, length = say_duration(talk, 30, 180)
            end = start + length
            said = talk.say("hours_for", start_words, words)
        else:
            end_words, end = say_time(talk, high + 2, high + 4, is_range=True)
            said = talk.say("hours_from_to", start_words, end_words)
        return said, {first: write_time(start), last: write_time(end)}

    return Slot(describe_texts({first: about_first, last: about_last}, label), draw, is_fixable=False)


def describe_texts(abouts: Mapping[str, str], form: str) -> dict[str, Schema]:
    """Return the schemas of parameters that take texts of one form."""
    return {name: {"type": "string", "description": f"{about}, {form}"} for name, about in abouts.items()}


def tell_parts(names: Sequence[str], hours: Sequence[int]) -> str:
    """Tell the parts of a day, each from its hour to that of the next one."""
    spans = zip(names, hours[:-1], hours[1:], strict=True)
    return ", ".join(f"{name} = {low}:00 to {high - 1}:59" for name, low, high in spans)


def find_part(minutes: int, names: Sequence[str], hours: Sequence[int]) -> str:
    return next(name for name, end in zip(names, hours[1:], strict=True) if minutes < end * 60)


def choose_parts(rng: random.Random) -> tuple[Schema, Any]:
    names, hours = rng.choice(WORDS["splits"])
    return {"description": f": {tell_parts(names, hours)}", "enum": names}, (names, hours)


@parameter(choose_parts, type="string")
def part(talk: Talk, names: Sequence[str], hours: Sequence[int]) -> Drawn:
    """Draw a part of the day that follows from a time."""
    talk.values += 1
    chance = talk.rng.random()
    plain = [each for each in names if each in WORDS["parts_of_day"] and len(names) == 3]
    if chance < 0.12 and plain and "midday" not in names:
        name = talk.rng.choice(plain)
        return talk.pick(WORDS["parts_of_day"][name]), name
    if chance < 0.27:
        minutes, ways = talk.rng.choice(WORDS["around_noon"])
        return talk.pick(ways), find_part(minutes, names, hours)
    words, minutes = say_time(talk, hours[0], hours[-1] - 1)
    return talk.say("at_time", words), find_part(minutes, names, hours)
