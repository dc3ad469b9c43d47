"""Parameters for days, times and durations, drawn with the words that say them."""

import random
from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from composing.said.days import Talk, day_number, pick, say_duration, say_future, say_past, say_time
from composing.said.slots import Kind, Slot, clean, number_words, one

DAY_FORMS = (
    ("YYYY-MM-DD", "%Y-%m-%d"), ("YYYY-MM-DD", "%Y-%m-%d"), ("YYYY-MM-DD", "%Y-%m-%d"), ("ISO date", "%Y-%m-%d"),
    ("DD/MM/YYYY", "%d/%m/%Y"), ("DD.MM.YYYY", "%d.%m.%Y"), ("written YYYYMMDD", "%Y%m%d"),
)  # fmt: skip

TIME_FORMS = ("HH:MM", "HH:MM, 24-hour clock", "24-hour HH:MM", "hh:mm (24 h)")


def day(about: str, *, is_past: bool = False, is_limit: bool = False) -> Kind:
    """Return a parameter for a day: after today, at the latest today (`is_past`), or said with `until`."""

    def make(rng: random.Random, name: str) -> Slot:
        label, form = rng.choice(DAY_FORMS)

        def say(talk: Talk) -> tuple[str, str]:
            words, value = say_past(talk) if is_past else say_future(talk, is_limit)
            return words, value.strftime(form)

        return one(name, {"type": "string", "description": f"{about}, {label}"}, say)

    return make


def stay(first: str, last: str, about_first: str, about_last: str, *, has_nights: bool = True) -> Kind:
    """Return two parameters, the day of arrival and that of departure, said together."""

    def make(rng: random.Random, name: str) -> Slot:
        label, form = rng.choice(DAY_FORMS)
        abouts = {first: about_first, last: about_last}
        schemas = {key: {"type": "string", "description": f"{about}, {label}"} for key, about in abouts.items()}

        def say(talk: Talk) -> tuple[str, dict[str, Any]]:
            words, start, end = say_stay(talk, has_nights=has_nights)
            return words, {first: start.strftime(form), last: end.strftime(form)}

        return Slot(schemas, say, is_fixable=False)

    return make


def say_stay(talk: Talk, *, has_nights: bool) -> tuple[str, date, date]:
    """Say the first and the last day: from one to the other, or with a number of nights."""
    nights = talk.rng.randint(2, 9)
    talk.values += 1
    if has_nights and talk.rng.random() < 0.5:
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
    month = " of next month / des nächsten Monats / du mois prochain / del mes que viene"
    tail = pick(talk, month) if is_later else ""
    tail = tail if not tail or tail.startswith(" ") else f" {tail}"
    if not is_later and end.month != start.month:
        second = pick(
            talk, f"the {b} of next month / {b} des nächsten Monats / {b} du mois prochain / {b} del mes que viene"
        )
        return pick(talk, f"from the {a} of this month to {second} / vom {a} dieses Monats bis zum {second}"
                    f" / du {a} de ce mois au {second} / del {a} de este mes al {second}"), start, end  # fmt: skip
    if is_later and end.month != start.month:
        end = start + timedelta(1)
        b = day_number(talk, end.day)
        if end.month != start.month:
            return say_stay(talk, has_nights=has_nights)
    if nights > 3 and end - start > timedelta(3) and talk.rng.random() < 0.4:
        wrong, right = b, c
        end -= timedelta(1)
        return pick(talk, f"from the {a} to the {wrong}{tail}, hang on, only till the {right}"
                    f"|from the {a} to the {wrong}{tail}, sorry, only to the {right}"
                    f" / vom {a} bis {wrong}{tail}, nein, nur bis zum {right}"
                    f" / du {a} au {wrong}{tail}, non, jusqu'au {right} seulement"
                    f" / del {a} al {wrong}{tail}, perdón, solo hasta el {right}"), start, end  # fmt: skip
    return pick(talk, f"from the {a} to the {b}{tail}|the {a} till the {b}{tail} / vom {a} bis zum {b}{tail}"
                f" / du {a} au {b}{tail} / del {a} al {b}{tail}"), start, end  # fmt: skip


def clock(about: str, low: int = 7, high: int = 21, *, is_bare: bool = False, has_midnight: bool = False) -> Kind:
    """Return a parameter for a time of day.

    With `is_bare` the tool tells its hours, and the part of the day may be left out.
    """

    def make(rng: random.Random, name: str) -> Slot:
        label = rng.choice(TIME_FORMS)

        def say(talk: Talk) -> tuple[str, str]:
            words, minutes = say_time(talk, low, high, is_bare=is_bare)
            if has_midnight and talk.rng.random() < 0.3:
                words, minutes = pick(talk, "midnight|12 at night / Mitternacht / minuit / medianoche"), 0
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
            start_words, start = say_time(talk, low, high, is_range=True)
            if talk.rng.random() < 0.6:
                words, length = say_duration(talk, 30, 180)
                end = start + length
                said = pick(talk, f"from {start_words} for {words} / ab {start_words} für {words}"
                            f" / à partir de {start_words} pendant {words} / desde {start_words} durante {words}"
                            )  # fmt: skip
            else:
                end_words, end = say_time(talk, high + 2, high + 4, is_range=True)
                french = f"de {start_words} jusqu'à {end_words}"
                said = pick(talk, f"from {start_words} to {end_words}|between {start_words} and {end_words}"
                            f" / von {start_words} bis {end_words} / {french} / desde {start_words} hasta {end_words}"
                            )  # fmt: skip
            return said, {first: write_time(start), last: write_time(end)}

        return Slot(schemas, say, is_fixable=False)

    return make


LENGTHS = {"in minutes": 60, "in whole minutes": 60, "in seconds": 1, "in hours, e.g. 1.25": 3600}


def duration(about: str, low: int = 15, high: int = 180, wanted: Sequence[str] = ()) -> Kind:
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
