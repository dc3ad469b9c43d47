"""Parameters for counts, figures, codes and parts of a day, drawn with the words that say them.

A set of tools decides the form that a description tells: whether decimals are dropped, how a code is written, where the
afternoon begins.
"""

# ruff: noqa: E501 (the words for one value are one line)

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal
from typing import Any

from composing.said.days import Talk, pick, say_time
from composing.said.slots import TEENS, Kind, Slot, clean, number_words, one

DOZENS = (
    (6, "half a dozen {} / ein halbes Dutzend {} / une demi-douzaine {of} / media docena de {}"),
    (12, "a dozen {} / ein Dutzend {} / une douzaine {of} / una docena de {}"),
    (18, "a dozen and a half {} / eineinhalb Dutzend {} / une douzaine et demie {of} / docena y media de {}"),
    (24, "two dozen {} / zwei Dutzend {} / deux douzaines {of} / dos docenas de {}"),
    (30, "two and a half dozen {} / zweieinhalb Dutzend {} / deux douzaines et demie {of} / dos docenas y media de {}"),
    (36, "three dozen {} / drei Dutzend {} / trois douzaines {of} / tres docenas de {}"),
    (48, "four dozen {} / vier Dutzend {} / quatre douzaines {of} / cuatro docenas de {}"),
    (60, "five dozen {} / fünf Dutzend {} / cinq douzaines {of} / cinco docenas de {}"),
)


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
    number, words = talk.rng.choice(DOZENS)
    return pick(talk, words).format(noun, of=of(noun)), number


def say_like_last_time(talk: Talk, noun: str) -> tuple[str, int]:
    """Say a number by that of the last time."""
    base, more = talk.rng.choice([12, 14, 20, 24, 30, 36, 40, 50]), talk.rng.choice([2, 4, 5, 8, 10])
    ways = {
        "twice as many {} as last time, and that was {b}|double last time's {b} {}"
        " / doppelt so viele {} wie beim letzten Mal, das waren {b}"
        " / le double de la dernière fois, c'était {b} {} / el doble que la última vez, que fueron {b} {}": base * 2,
        "half as many {} as last time, that was {b} / halb so viele {} wie letztes Mal, da waren es {b}"
        " / la moitié de la dernière fois, c'était {b} {} / la mitad que la última vez, que fueron {b} {}": base // 2,
        "{m} more {} than last time, when we took {b}"
        " / {m} {} mehr als letztes Mal, da waren es {b} / {m} {} de plus que la dernière fois, c'était {b}"
        " / {m} {} más que la última vez, que fueron {b}": base + more,
        "{m} fewer {} than the {b} of last time / {m} {} weniger als letztes Mal, da waren es {b}"
        " / {m} {} de moins que la dernière fois, c'était {b} / {m} {} menos que la última vez, que fueron {b}": (
            base - more
        ),
        "three times as many {} as last year, that was {b} / dreimal so viele {} wie letztes Jahr, da waren es {b}"
        " / le triple de l'an dernier, c'était {b} {} / el triple que el año pasado, que fueron {b} {}": base * 3,
    }
    way = talk.rng.choice(list(ways))
    return pick(talk, way).format(noun, b=base, m=number_words(talk.lang, more)), ways[way]


def say_for_each(talk: Talk, noun: str) -> tuple[str, int]:
    """Say how many for each of some people, and how many to spare."""
    heads, spare, each = talk.rng.randint(7, 16), talk.rng.choice([2, 3, 4]), talk.rng.choice([2, 3])
    h, s = number_words(talk.lang, heads), number_words(talk.lang, spare)
    n = number_words(talk.lang, each)
    boys = talk.rng.randint(5, 14)
    ways = {
        "{}, one for each of the {h} of us and {s} spare / {}, für jeden von uns {h} einmal und {s} in Reserve"
        " / {}, un exemplaire pour chacun de nous {h} et {s} de réserve"
        " / {}, una unidad para cada uno de los {h} y {s} de reserva": heads + spare,
        "{}, {n} each for the {h} of us / {}, je {n} für uns {h} / {}, {n} par personne, nous sommes {h}"
        " / {}, {n} por persona, somos {h}": heads * each,
        "{}, one each for {heads} girls and {boys} boys / {}, je ein Stück für {heads} Mädchen und {boys} Jungen"
        " / {}, un exemplaire par enfant, {heads} filles et {boys} garçons"
        " / {}, una unidad por niño, {heads} niñas y {boys} niños": heads + boys,
    }
    way = talk.rng.choice(list(ways))
    return pick(talk, way).format(noun, h=h, s=s, n=n, heads=heads, boys=boys), ways[way]


def say_together(talk: Talk, noun: str) -> tuple[str, int]:
    """Say two numbers that are added up."""
    a, b = talk.rng.randint(4, 20), talk.rng.randint(3, 12)
    words = pick(
        talk,
        f"{a} {noun} for us plus {b} for the neighbours, all in one order"
        f" / {a} {noun} für uns plus {b} für die Nachbarn, alles in einer Bestellung"
        f" / {a} {noun} pour nous plus {b} pour les voisins, en une seule commande"
        f" / {a} {noun} para nosotros más {b} para los vecinos, todo en un pedido",
    )
    return words, a + b


def say_boxes(talk: Talk, noun: str) -> tuple[str, int]:
    """Say how many boxes of so many are filled."""
    boxes, size = talk.rng.randint(2, 6), talk.rng.randint(5, 10)
    words = pick(
        talk,
        f"enough {noun} for {boxes} boxes of {size} / {noun} für {boxes} Kartons zu je {size} Stück"
        f" / {noun}, de quoi remplir {boxes} boîtes de {size} / {noun} para llenar {boxes} cajas de {size}",
    )
    return words, boxes * size


def say_pairs(talk: Talk, noun: str) -> tuple[str, int]:
    number = talk.rng.randint(2, 14)
    n = number_words(talk.lang, number)
    return pick(
        talk, f"{n} pairs of {noun} / {n} Paar {noun} / {n} paires {of(noun)} / {n} pares de {noun}"
    ), number * 2


THINGS: tuple[Counted, ...] = (
    say_plain, say_dozens, say_dozens, say_like_last_time, say_for_each, say_together, say_boxes,
)  # fmt: skip


def tally(about: str, noun: str, *, has_pairs: bool = False, is_personal: bool = True, **more: Any) -> Kind:
    """Return a parameter for a number of things that is said with a sum.

    Things that are not personal are not counted by the people who get them.
    """

    def make(rng: random.Random, name: str) -> Slot:
        ways = (say_plain, say_dozens, say_pairs, say_pairs) if has_pairs else THINGS
        ways = ways if is_personal else (say_plain, say_dozens, say_like_last_time, say_boxes)

        def say(talk: Talk) -> tuple[str, int]:
            talk.values += 1
            return talk.rng.choice(ways)(talk, pick(talk, noun))

        return one(name, {"type": "integer", "description": about, **more}, say, is_fixable=False)

    return make


def heads(about: str) -> Kind:
    """Return a parameter for a number of people of whom some drop out or join."""

    def make(rng: random.Random, name: str) -> Slot:
        def say(talk: Talk) -> tuple[str, int]:
            talk.values += 1
            number, ill, new = talk.rng.randint(9, 48), talk.rng.randint(2, 5), talk.rng.randint(2, 4)
            n, i, j = (number_words(talk.lang, each) for each in (number, ill, new))
            ways = {
                f"we were {n} and {i} are ill|we'd be {n}, but {i} of us can't make it"
                f"|{n} signed up, {i} cancelled / wir waren {n}, {i} sind krank|wir wären {n}, aber {i} fallen aus"
                f" / nous étions {n}, mais {i} sont malades / éramos {n}, pero {i} están enfermos": number - ill,
                f"there were {n} of us and {j} more joined"
                f" / wir waren {n}, jetzt kommen noch {j} dazu / nous étions {n} et {j} de plus viennent"
                f" / éramos {n} y se apuntan {j} más": number + new,
                f"{n} to begin with, {i} dropped out, {j} joined / anfangs {n}, {i} abgesprungen, {j} dazugekommen"
                f" / {n} au départ, {i} se sont désistés, {j} se sont ajoutés"
                f" / {n} al principio, {i} se borraron, {j} se apuntaron": number - ill + new,
                f"{n} in all|{n} of us / insgesamt {n}|wir sind {n} / {n} en tout|nous sommes {n}"
                f" / {n} en total|somos {n}": number,
            }  # fmt: skip
            way = talk.rng.choice(list(ways))
            return pick(talk, way), ways[way]

        return one(name, {"type": "integer", "description": about}, say, is_fixable=False)

    return make


def figure(about: str, unit: str, low: int, high: int, places: int = 1) -> Kind:
    """Return a parameter for a number with decimals, which are dropped, kept or rounded as the set tells."""

    def make(rng: random.Random, name: str) -> Slot:
        rule = rng.choice(["drop", "drop", "round", "keep"])
        label = {
            "drop": rng.choice([f"in whole {unit}; decimals are dropped", f"full {unit} only, without decimals, not rounded"]),
            "round": f"in {unit}, rounded to the nearest whole number",
            "keep": f"in {unit}, with all decimals that are told",
        }[rule]  # fmt: skip

        def say(talk: Talk) -> tuple[str, int | float]:
            talk.values += 1
            number = Decimal(talk.rng.randint(low, high)) + Decimal(talk.rng.choice([1, 2, 3, 4, 6, 7, 8, 9])) / 10
            if places == 2 and talk.rng.random() < 0.7:
                number += Decimal(talk.rng.randint(1, 9)) / 100 if str(number)[-1] not in "45" else 0
            length = -int(number.as_tuple().exponent)
            written = write_figure(talk, number, length)
            if rule == "drop":
                return written, int(number.to_integral_value(ROUND_DOWN))
            return written, int(number.to_integral_value(ROUND_HALF_UP)) if rule == "round" else clean(number)

        return one(name, {"type": "number" if rule == "keep" else "integer", "description": f"{about}, {label}"}, say)

    return make


def write_figure(talk: Talk, number: Decimal, length: int) -> str:
    """Write a number with decimals in one of the ways that leave no doubt: with both separators, or with none."""
    english = f"{number:,.{length}f}"
    german = english.replace(",", "\0").replace(".", ",").replace("\0", ".")
    ways = {
        "en": [english, english, english.replace(",", ""), english.replace(",", " "), german],
        "de": [german, german, german.replace(".", ""), german.replace(".", " ")],
        "fr": [german.replace(".", " "), german.replace(".", " "), german.replace(".", "")],
        "es": [german, german.replace(".", ""), german.replace(".", " ")],
    }
    usual = [each for each in ways[talk.lang] if number >= 1000 or each.count(".") + each.count(",") == 1]
    if talk.lang == "en" and number < 1000:
        usual = [english]
    return talk.rng.choice(usual)


ROUND = {
    1100: "eleven hundred|1.1k|1 100|1,100 / elfhundert|1.100 / onze cents|1 100 / mil cien|1.100",
    1200: "1.2k|twelve hundred|1 200 / zwölfhundert|1.200|1,2k / 1 200|mille deux cents / mil doscientos|1.200",
    1250: "1 250|1,250|twelve hundred and fifty|1.25k / 1.250|1 250 / 1 250 / 1.250|mil doscientos cincuenta",
    1500: "fifteen hundred|1.5k|one and a half thousand / anderthalbtausend|fünfzehnhundert|1.500 / quinze cents|1 500"
    " / mil quinientos|1.500",
    1800: "eighteen hundred|1.8k|1 800 / achtzehnhundert|1.800|1,8k / 1 800|mille huit cents / mil ochocientos|1.800",
    2400: "2.4k|two thousand four hundred|2 400 / 2.400|2,4k / 2 400 / 2.400|dos mil cuatrocientos",
    2500: "two and a half thousand|2.5k|twenty-five hundred|2 500 / zweieinhalbtausend|2.500|2,5k / 2 500"
    "|deux mille cinq cents / dos mil quinientos|2.500",
    3600: "3.6k|thirty-six hundred|3 600 / 3.600|3,6k / 3 600 / 3.600|tres mil seiscientos",
    4500: "four and a half thousand|4.5k|4 500 / viereinhalbtausend|4.500 / 4 500|quatre mille cinq cents"
    " / cuatro mil quinientos|4.500",
    12000: "12k|twelve thousand|12 000|12,000 / 12.000|zwölftausend|12k / 12 000|douze mille / doce mil|12.000",
    12500: "12.5k|twelve and a half thousand|12 500 / 12.500|12,5k / 12 500 / 12.500|doce mil quinientos",
    48000: "48k|48 000|48,000 / 48.000|48k / 48 000 / 48.000|cuarenta y ocho mil",
}


def large(about: str, low: int = 1000, high: int = 50_000) -> Kind:
    """Return a parameter for a large whole number as people shorten it: 1.2k, eleven hundred."""

    def make(rng: random.Random, name: str) -> Slot:
        def say(talk: Talk) -> tuple[str, int]:
            talk.values += 1
            if talk.rng.random() < 0.5:
                number = talk.rng.randrange(low + 50, min(high, 9950), 50)
                comma, point, space = (f"{number:,}".replace(",", each) for each in ",. ")
                short = f"{Decimal(number) / 1000:f}k" if number % 100 == 0 else comma
                ways = (
                    f"{comma}|{space}|{number}|{short} / {point}|{space}|{number} / {space}|{number} / {point}|{number}"
                )
                return pick(talk, ways), number
            number = talk.rng.choice([each for each in ROUND if low <= each <= high])
            return pick(talk, ROUND[number]), number

        return one(name, {"type": "integer", "description": f"{about}, in digits, e.g. 7300"}, say)

    return make


@dataclass(frozen=True)
class CodeForm:
    """How a set writes a code: what its description says, and how letters and digits are put together."""

    rule: str
    write: Callable[[str, str], str]


def code_forms(letters: int, length: int) -> list[CodeForm]:
    """Return the forms of a code of letters and digits, each with an example in its rule."""
    sample, figures = "KRT"[:letters], "9174063528"[:length]
    if not letters:
        half = length // 2
        return [
            CodeForm(f"{length} digits, without spaces or dots, e.g. {figures}", lambda _, digits: digits),
            CodeForm(
                f"{half} digits, a hyphen and the other {length - half} digits, e.g. {figures[:half]}-{figures[half:]}",
                lambda _, digits: f"{digits[:half]}-{digits[half:]}",
            ),
            CodeForm(
                f"{length + 3} digits, filled up with zeros in front, e.g. 000{figures}",
                lambda _, digits: digits.zfill(length + 3),
            ),
        ]
    what = "the letter" if letters == 1 else "the letters"
    return [
        CodeForm(f"{what} in upper case, a hyphen, {length} digits, e.g. {sample}-{figures}", lambda a, b: f"{a}-{b}"),
        CodeForm(f"{what} in upper case and {length} digits, nothing between, e.g. {sample}{figures}", lambda a, b: a + b),
        CodeForm(f"{what} in lower case and {length} digits, e.g. {sample.lower()}{figures}", lambda a, b: a.lower() + b),
        CodeForm(f"the {length} digits, a slash, {what} in upper case, e.g. {figures}/{sample}", lambda a, b: f"{b}/{a}"),
        CodeForm(f"only the {length} digits, without {what}, e.g. {figures}", lambda _, b: b),
    ]  # fmt: skip


def ident(about: str, letters: Sequence[str], length: int) -> Kind:
    """Return a parameter for a code that is dictated or sloppily written; `letters` are what it may begin with."""

    def make(rng: random.Random, name: str) -> Slot:
        form = rng.choice(code_forms(len(letters[0]), length))

        def say(talk: Talk) -> tuple[str, str]:
            talk.values += 1
            front = talk.rng.choice(letters)
            figures = str(talk.rng.randint(1, 9)) + "".join(str(talk.rng.randint(0, 9)) for _ in range(length - 1))
            return say_code(talk, front, figures), form.write(front, figures)

        return one(name, {"type": "string", "description": f"{about}: {form.rule}"}, say)

    return make


def say_code(talk: Talk, front: str, figures: str) -> str:
    """Write or dictate a code."""
    apart = " ".join(front)
    half = len(figures) // 2
    spelled = " ".join(TEENS[talk.lang][int(each)] for each in figures)
    if talk.lang == "en" and talk.rng.random() < 0.4:
        spelled = spelled.replace("zero", "oh")
    if talk.lang == "en" and talk.rng.random() < 0.5:
        spelled = re.sub(r"\b(\w+) \1\b", r"double \1", spelled)
    grouped = f"{figures[:half]} {figures[half:]}"
    dash = pick(talk, "dash|hyphen / Strich|Bindestrich / tiret / guion")
    if not front:
        dotted = f"{figures[:2]}.{figures[2:]}" if len(figures) < 6 else f"{figures[:2]}.{figures[2:4]}.{figures[4:]}"
        before = pick(talk, "nr |number | / Nr. | / n° | / n.º |") if talk.rng.random() < 0.5 else ""
        return before + talk.rng.choice([figures, grouped, spelled, " ".join(figures), dotted])
    ways = [
        f"{front.lower()}{figures}", f"{front.lower()} {figures}", f"{front} {grouped}", f"{apart} {' '.join(figures)}",
        f"{apart.lower()} {' '.join(figures)}", f"{apart.lower()} {spelled}", f"{front.lower()} {dash} {figures}",
        f"{front}-{figures}", f"{front.lower()}-{grouped}",
    ]  # fmt: skip
    return talk.rng.choice(ways)


@dataclass(frozen=True)
class DaySplit:
    """Parts of a day: their names, and the minute at which each begins and the last one ends."""

    names: Sequence[str]
    hours: Sequence[int]

    def tell(self) -> str:
        spans = zip(self.names, self.hours[:-1], self.hours[1:], strict=True)
        return ", ".join(f"{name} = {low}:00 to {high - 1}:59" for name, low, high in spans)

    def find(self, minutes: int) -> str:
        return next(name for name, end in zip(self.names, self.hours[1:], strict=True) if minutes < end * 60)


SPLITS = (
    DaySplit(("morning", "afternoon", "evening"), (8, 12, 17, 21)),
    DaySplit(("morning", "afternoon", "evening"), (7, 13, 18, 22)),
    DaySplit(("morning", "midday", "afternoon"), (8, 11, 14, 19)),
    DaySplit(("early", "late"), (8, 15, 21)),
    DaySplit(("A", "B", "C", "D"), (7, 10, 13, 16, 20)),
    DaySplit(("S1", "S2", "S3"), (9, 12, 16, 20)),
    DaySplit(("forenoon", "afternoon"), (8, 13, 18)),
)


PARTS_OF_DAY = {
    "morning": "in the morning / vormittags / le matin / por la mañana",
    "afternoon": "in the afternoon / nachmittags / l'après-midi / por la tarde",
    "evening": "in the evening / abends / le soir / por la noche",
}

AROUND_NOON = (
    (
        660,
        "an hour before noon / eine Stunde vor Mittag, also um elf / une heure avant midi / una hora antes del mediodía",
    ),
    (
        690,
        "half an hour before noon / um halb zwölf mittags / une demi-heure avant midi / media hora antes del mediodía",
    ),
    (720, "at noon sharp / Punkt zwölf Uhr mittags / à midi pile / a las doce en punto del mediodía"),
    (840, "two hours after noon / um zwei nachmittags / deux heures après midi / dos horas después del mediodía"),
    (900, "three hours after noon / um drei nachmittags / trois heures après midi / tres horas después del mediodía"),
)


def part(about: str) -> Kind:
    """Return a parameter for a part of the day that follows from a time."""

    def make(rng: random.Random, name: str) -> Slot:
        split = rng.choice(SPLITS)

        def say(talk: Talk) -> tuple[str, str]:
            talk.values += 1
            chance = talk.rng.random()
            plain = [each for each in split.names if each in PARTS_OF_DAY and len(split.names) == 3]
            if chance < 0.12 and plain and "midday" not in split.names:
                name = talk.rng.choice(plain)
                return pick(talk, PARTS_OF_DAY[name]), name
            if chance < 0.27:
                minutes, ways = talk.rng.choice(AROUND_NOON)
                return pick(talk, ways), split.find(minutes)
            words, minutes = say_time(talk, split.hours[0], split.hours[-1] - 1)
            return pick(talk, f"at {words} / um {words} / à {words} / a {words}"), split.find(minutes)

        description = f"{about}: {split.tell()}"
        return one(name, {"type": "string", "description": description, "enum": list(split.names)}, say)

    return make
