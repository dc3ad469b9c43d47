"""Parameters for nights and for groups of people, drawn with the words that say them.

A set of tools decides what is wanted: the day of departure, the last night or the number of nights; up to which age
somebody is a child. The same words have different values in different sets.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from composing.said.days import LANGUAGES, WEEKDAYS, Talk, day_number, full_day, last_of_month, month_day, pick
from composing.said.moments import DAY_FORMS
from composing.said.slots import Kind, Schema, Slot, number_words

PEOPLE = ("Ida", "Tom", "Lena", "Malik", "Greta", "Ayla", "Ruben", "Oskar", "Nina", "Samir", "Edda", "Jonas", "Pia")


@dataclass(frozen=True)
class LooseSlot(Slot):
    """A slot of several parameters, of which some may be left out."""

    optional: frozenset[str] = frozenset()


def nights(modes: Sequence[str] = ("leave", "nights", "last")) -> Kind:
    """Return the parameters of a stay: `leave` (two days), `nights` (a day and a number) or `last` (two nights)."""

    def make(rng: random.Random, name: str) -> Slot:
        label, form = rng.choice(DAY_FORMS)
        mode = rng.choice(modes)
        first = {"type": "string", "description": f"{'Day of arrival' if mode == 'leave' else 'First night'}, {label}"}
        schemas: dict[str, Schema]
        if mode == "leave":
            about = rng.choice(["Day of departure", "Day of departure, the morning after the last night"])
            schemas = {"arrive": first, "leave": {"type": "string", "description": f"{about}, {label}"}}
        elif mode == "nights":
            schemas = {"first_night": first, "nights": {"type": "integer", "description": "Number of nights"}}
        else:
            about = f"Last night that is slept here, not the day of departure, {label}"
            schemas = {"first_night": first, "last_night": {"type": "string", "description": about}}

        def say(talk: Talk) -> tuple[str, dict[str, Any]]:
            words, start, number = say_nights(talk)
            end = start + timedelta(number - (mode == "last"))
            values = [start.strftime(form), number if mode == "nights" else end.strftime(form)]
            return words, dict(zip(schemas, values, strict=True))

        return Slot(schemas, say, is_fixable=False)

    return make


def say_nights(talk: Talk) -> tuple[str, date, int]:
    """Say a stay; return the words, the first night and the number of nights."""
    talk.values += 1
    number = talk.rng.choice([1, 2, 2, 3, 3, 4, 5, 6])
    ways = (say_tonight, say_from, say_from, say_from, say_until_weekday, say_until_weekday, say_between, say_between)
    return talk.rng.choice((*ways, say_backwards, say_two_nights, say_week))(talk, number)


def draw_start(talk: Talk, number: int) -> date:
    """Draw a first night; half of the stays go over the end of a month or a year."""
    day = talk.today + timedelta(talk.rng.randint(3, 150))
    if talk.rng.random() < 0.2:
        day = date(talk.today.year, 12, 1)
    if talk.rng.random() < 0.55:
        day = last_of_month(day) - timedelta(talk.rng.randint(0, max(0, number - 1)))
    return day if day > talk.today else day + timedelta(366)


def begin(talk: Talk, number: int) -> tuple[str, date]:
    """Say the first night: `from 14 May 2026`."""
    way = talk.rng.random()
    if way < 0.15:
        talk.needs_today = True
        return pick(talk, "from tomorrow / ab morgen / à partir de demain / desde mañana"), talk.today + timedelta(1)
    if way < 0.3:
        talk.needs_today = talk.needs_weekday = True
        day = talk.today + timedelta(talk.rng.randint(2, 6))
        name = WEEKDAYS[talk.lang][day.weekday()]
        ways = f"from this coming {name} / ab kommendem {name} / à partir de {name} / desde el {name}"
        return pick(talk, ways), day
    day = draw_start(talk, number)
    words = full_day(talk, day)
    name = WEEKDAYS[talk.lang][day.weekday()]
    return pick(talk, f"from {words}|arriving {words}|arriving {name} {words}|from {words}"
                f" / ab {words}|Anreise {words}|Anreise {name}, {words} / à partir du {words}|arrivée le {words}"
                f" / desde el {words}|llegada el {words}"), day  # fmt: skip


def say_tonight(talk: Talk, number: int) -> tuple[str, date, int]:
    talk.needs_today = True
    words = pick(talk, "tonight only|just for tonight|only tonight, off again in the morning|one night, tonight"
                 " / nur heute Nacht|nur für heute Nacht|eine Nacht, gleich heute"
                 " / cette nuit seulement|juste pour cette nuit / solo esta noche|una noche, hoy mismo")  # fmt: skip
    return words, talk.today, 1


def say_from(talk: Talk, number: int) -> tuple[str, date, int]:
    """Say the first night and how many there are, some of them in two steps."""
    words, start = begin(talk, number)
    n, more, is_one = number_words(talk.lang, number), number_words(talk.lang, number + 2), number == 1
    if is_one:
        return pick(talk, f"{words}, one night|{words} for a single night / {words}, eine Nacht|{words} für eine Nacht"
                    f" / {words}, une nuit / {words}, una noche"), start, 1  # fmt: skip
    plain = (
        f"{words} for {n} nights|{words}, {number} nights|{n} nights {words} / {words} für {n} Nächte"
        f"|{words}, {number} Nächte / {words}, {n} nuits / {words}, {n} noches"
    )
    chance = talk.rng.random()
    if chance < 0.65:
        return pick(talk, plain), start, number
    if chance < 0.85:
        fixed = (
            f"{words} for {n} nights, no, make it {more}|{words}, {n} nights, sorry, {more} nights"
            f" / {words} für {n} Nächte, nein, {more} / {words}, {n} nuits, non, {more}"
            f" / {words}, {n} noches, no, {more}"
        )
        return pick(talk, fixed), start, number + 2
    added = (
        f"{words} for {n} nights plus one extra night at the end|{words}, {n} nights and then one more"
        f" / {words} für {n} Nächte und am Ende noch eine dazu / {words}, {n} nuits, plus une de plus à la fin"
        f" / {words}, {n} noches y una más al final"
    )
    return pick(talk, added), start, number + 1


def say_until_weekday(talk: Talk, number: int) -> tuple[str, date, int]:
    """Say the first day with its date, and the day of departure by its name."""
    start = draw_start(talk, number)
    first, last = (WEEKDAYS[talk.lang][each.weekday()] for each in (start, start + timedelta(number)))
    words = full_day(talk, start)
    return pick(talk, f"from {first}, {words}, until {last}|arriving on {first}, {words}, and leaving that {last}"
                f"|from {first} {words}, we have to be off again on the {last}"
                f" / von {first}, {words}, bis {last}|Anreise {first}, {words}, Abreise am {last} drauf"
                f" / du {first} {words} au {last} suivant|arrivée {first} {words}, départ le {last} qui suit"
                f" / del {first} {words} al {last} siguiente"), start, number  # fmt: skip


def say_between(talk: Talk, number: int) -> tuple[str, date, int]:
    """Say both days; the second one without its month where that is the same."""
    start = draw_start(talk, number)
    end = start + timedelta(number)
    a = full_day(talk, start)
    b = day_number(talk, end.day) if end.month == start.month else month_day(talk, end)
    the = "the " if talk.lang == "en" and end.month == start.month else ""
    wrong = end + timedelta(1)
    if end.month == start.month == wrong.month and talk.rng.random() < 0.4:
        c = day_number(talk, wrong.day)
        ways = (f"arriving {a}, leaving the {c}, hang on, we must be home a day earlier, so the {b}"
                f"|from {a} to the {c}, no, the {b}|check in {a}, out on the {c}, sorry, on the {b}"
                f" / Anreise {a}, Abreise {c}, nein, schon {b}|vom {a} bis zum {c}, ach nein, bis zum {b}"
                f" / du {a} au {c}, non, au {b}|arrivée le {a}, départ le {c}, pardon, le {b}"
                f" / del {a} al {c}, no, al {b}|llegada el {a}, salida el {c}, perdón, el {b}")  # fmt: skip
        return pick(talk, ways), start, number
    return pick(talk, f"arriving {a}, leaving {the}{b}|check in {a}, out again {the}{b}|from {a} to {the}{b}"
                f" / Anreise {a}, Abreise {b}|vom {a} bis zum {b} / arrivée le {a}, départ le {b}|du {a} au {b}"
                f" / llegada el {a}, salida el {b}|del {a} al {b}"), start, number  # fmt: skip


def say_backwards(talk: Talk, number: int) -> tuple[str, date, int]:
    """Say the day of departure and the number of nights before it."""
    number = max(2, number)
    start = draw_start(talk, number)
    end, n = full_day(talk, start + timedelta(number)), number_words(talk.lang, number)
    return pick(talk, f"{n} nights, leaving on {end}|{n} nights, and we check out on {end}"
                f" / {n} Nächte, Abreise am {end} / {n} nuits, départ le {end}"
                f" / {n} noches, con salida el {end}"), start, number  # fmt: skip


def say_two_nights(talk: Talk, number: int) -> tuple[str, date, int]:
    """Name two nights in a row."""
    start = draw_start(talk, 2)
    if talk.rng.random() < 0.5:
        first, second = (WEEKDAYS[talk.lang][each.weekday()] for each in (start, start + timedelta(1)))
        words = full_day(talk, start)
        return pick(talk, f"{first} night and {second} night, the {first} being {words}"
                    f" / die Nacht auf {second} und die Nacht danach, Anreise {words}"
                    f" / la nuit de {first} et celle de {second}, arrivée le {words}"
                    f" / la noche del {first} y la del {second}, llegada el {words}"), start, 2  # fmt: skip
    if (start + timedelta(1)).month != start.month:
        start -= timedelta(1)
    a, words = day_number(talk, start.day), full_day(talk, start + timedelta(1))
    return pick(talk, f"the nights of the {a} and of {words}|both nights, {a} and {words}"
                f" / die Nächte vom {a} und vom {words} / les nuits du {a} et du {words}"
                f" / las noches del {a} y del {words}"), start, 2  # fmt: skip


def say_week(talk: Talk, number: int) -> tuple[str, date, int]:
    if talk.rng.random() < 0.35:
        start = draw_start(talk, 7)
        name, day = WEEKDAYS[talk.lang][start.weekday()], full_day(talk, start)
        return pick(talk, f"arriving {name} {day} and off again the {name} after that"
                    f" / Anreise {name}, {day}, Abreise genau eine Woche später"
                    f" / arrivée {name} {day}, départ une semaine plus tard jour pour jour"
                    f" / llegada el {name} {day}, salida justo una semana después"), start, 7  # fmt: skip
    words, start = begin(talk, 7)
    if number % 2:
        return pick(talk, f"{words} for a week|{words}, one week / {words} für eine Woche / {words}, une semaine"
                    f" / {words}, una semana"), start, 7  # fmt: skip
    return pick(talk, f"{words} for two weeks|{words} for a fortnight / {words} für zwei Wochen"
                f" / {words}, deux semaines / {words}, dos semanas"), start, 14  # fmt: skip


CHILD_LIMITS = (12, 14, 15, 16, 18)
SENIOR_LIMITS = (60, 63, 65, 67)


def party(adults: str = "adults", children: str = "children", third: str = "", *, is_loose: bool = True) -> Kind:
    """Return the numbers of adults and children, and of seniors or toddlers if they are named.

    Seniors are told from adults by their age alone: where they are counted, all ages are said.
    """

    def make(rng: random.Random, name: str) -> Slot:
        limit, old, small = rng.choice(CHILD_LIMITS), rng.choice(SENIOR_LIMITS), rng.choice([3, 4, 6])
        has_seniors, has_toddlers = third.startswith("senior"), bool(third) and not third.startswith("senior")
        top = rng.choice([f"aged {limit} and over", f"from {limit} years"])
        if has_seniors:
            top = f"from {limit} to {old - 1} years"
        low = rng.choice([f"under {limit}", f"up to and including {limit - 1} years"])
        if has_toddlers:
            low = f"from {small} to {limit - 1} years"
        schemas: dict[str, Schema] = {
            adults: {"type": "integer", "description": f"Number of people {top}"},
            children: {"type": "integer", "description": f"Number of people {low}"},
        }
        if third:
            about = f"{old} and older" if has_seniors else f"under {small}"
            schemas[third] = {"type": "integer", "description": f"Number of people {about}"}
        optional = frozenset({children, third} - {""}) if is_loose and rng.random() < 0.6 else frozenset[str]()
        for key in optional:
            schemas[key]["default"] = 0

        def say(talk: Talk) -> tuple[str, dict[str, Any]]:
            talk.values += 1
            words, ages = say_party(talk, limit, old if has_seniors else 0)
            senior = sum(each >= old for each in ages) if has_seniors else 0
            toddlers = sum(each < small for each in ages) if has_toddlers else 0
            young = sum(each < limit for each in ages) - toddlers
            found = {adults: len(ages) - senior - young - toddlers, children: young}
            found |= {third: senior + toddlers} if third else {}
            return words, {key: value for key, value in found.items() if value or key not in optional}

        return LooseSlot(schemas, say, is_fixable=False, optional=optional)

    return make


GROWN = 30
"""The age that counts for a grown-up whose age is not said."""


def list_ages(talk: Talk, ages: Sequence[int]) -> str:
    is_spelled = talk.rng.random() < 0.35
    written = [number_words(talk.lang, each) if is_spelled and each > 1 else str(each) for each in ages]
    return join_words(talk, written)


def join_words(talk: Talk, words: Sequence[str]) -> str:
    last = f" {('and', 'und', 'et', 'y')[LANGUAGES.index(talk.lang)]} {words[-1]}"
    last = last.replace(" y Ida", " e Ida")
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + last


def say_party(talk: Talk, limit: int, old: int) -> tuple[str, list[int]]:
    """Say who comes; return the words and the ages."""
    near = [limit - 1, limit, limit + 1]
    kids = sorted(min(17, talk.rng.choice([2, 3, 5, 7, 8, 9, 10, 11, 13, *near, *near])) for _ in range(3))
    kids = kids[: talk.rng.choice([2, 3])]
    if old or talk.rng.random() < 0.3:
        return say_all_ages(talk, kids, old)
    if talk.rng.random() < 0.15:
        return say_grown(talk)
    one, twins, listed = kids[0], kids[-1], list_ages(talk, kids)
    n = number_words(talk.lang, len(kids))
    ways = {
        "me, my wife and the kids, {k}|my husband and I with our {n}, they're {k}|both parents plus the kids ({k})"
        " / meine Frau, ich und die Kinder, {k}|wir zwei Eltern mit {n} Kindern ({k})"
        " / ma femme, moi et les enfants, {k} ans|les deux parents et {n} enfants ({k} ans)"
        " / mi mujer, yo y los niños, de {k} años|los dos padres y {n} niños ({k} años)": [GROWN, GROWN, *kids],
        "me, my wife and the twins ({t})|my husband, the twins ({t}) and me"
        " / mein Mann, ich und die Zwillinge ({t}) / mon mari, moi et les jumeaux ({t} ans)"
        " / mi marido, yo y los gemelos ({t} años)": [GROWN, GROWN, twins, twins],
        "me and my nephew, who is {o}|just me with my daughter, she's {o} / ich und mein Neffe, der ist {o}"
        " / moi et mon neveu, qui a {o} ans / yo y mi sobrino, que tiene {o} años": [GROWN, one],
        "me, the triplets ({t}) and their big brother, who is {b} / ich, die Drillinge ({t}) und ihr Bruder ({b})"
        " / moi, les triplées ({t} ans) et leur frère de {b} ans / yo, los trillizos ({t} años) y su hermano de {b}": [
            GROWN, one, one, one, (big := min(17, one + talk.rng.choice([1, 2, 4]))),
        ],
        "three grown-ups and {n} kids aged {k}|the neighbours, that's the two of them with kids of {k}, plus me"
        " / drei Erwachsene und {n} Kinder, {k} Jahre alt / trois adultes et {n} enfants de {k} ans"
        " / tres mayores y {n} niños de {k} años": [GROWN] * 3 + kids,
    }  # fmt: skip
    way = talk.rng.choice(list(ways))
    return pick(talk, way).format(k=listed, n=n, t=twins if "twins" in way else one, o=one, b=big), ways[way]


def say_grown(talk: Talk) -> tuple[str, list[int]]:
    """Say a group without children."""
    ways = {
        "my wife and me|my husband and me / meine Frau und ich|mein Mann und ich / ma femme et moi|mon mari et moi"
        " / mi mujer y yo|mi marido y yo": 2,
        "only me|just myself / nur ich / moi tout seul / solo yo": 1,
        "me and three colleagues / ich und drei Kollegen / moi et trois collègues / yo y tres colegas": 4,
    }
    way = talk.rng.choice(list(ways))
    return pick(talk, way), [GROWN] * ways[way]


def say_all_ages(talk: Talk, kids: Sequence[int], old: int) -> tuple[str, list[int]]:
    """Say the age of everybody."""
    limits = [old - 1, old, old + 1] if old else []
    grown = sorted(talk.rng.choice([24, 31, 38, 44, 52, *limits]) for _ in range(talk.rng.randint(1, 3)))
    elder = talk.rng.choice([old - 1, old, old + 1, 72, 80] if old else [66, 70])
    if talk.rng.random() < 0.5:
        ages = [*kids, *grown]
        talk.rng.shuffle(ages)
        names = talk.rng.sample(PEOPLE, len(ages))
        form = talk.rng.choice(["{} {}", "{} ({})"])
        return join_words(talk, [form.format(*each) for each in zip(names, ages, strict=True)]), ages
    me = talk.rng.choice([29, 33, 36])
    words = pick(
        talk,
        "me ({m}), my mum ({e}) and the children, {k}|me, {m}, my father, who is {e}, and the girls, who are {k}"
        " / ich ({m}), meine Mutter ({e}) und die Kinder, {k}|ich mit {m}, mein Vater mit {e} und die Mädchen mit {k}"
        " / moi ({m} ans), ma mère ({e} ans) et les enfants, {k} ans"
        " / yo ({m} años), mi madre ({e}) y los niños, de {k} años",
    )
    return words.format(m=me, e=elder, k=list_ages(talk, kids)), [me, elder, *kids]
