"""Words for days, times of day and durations in four languages, with the values that they stand for.

A day is drawn relative to the `today` of a talk; whatever cannot be known without it sets `needs_today`. Only words
with one meaning are used: "this coming Friday", never "next Friday"; a weekday is never that of today.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

LANGUAGES = ("en", "de", "fr", "es")

MONTHS = {
    "en": "January February March April May June July August September October November December".split(),
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split(),
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre".split(),
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre".split(),
}

WEEKDAYS = {
    "en": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(),
    "de": "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag".split(),
    "fr": "lundi mardi mercredi jeudi vendredi samedi dimanche".split(),
    "es": "lunes martes miércoles jueves viernes sábado domingo".split(),
}

SMALL = {
    "en": "zero one two three four five six seven eight nine ten eleven twelve".split(),
    "de": "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf".split(),
    "fr": "zéro une deux trois quatre cinq six sept huit neuf dix onze douze".split(),
    "es": "cero una dos tres cuatro cinco seis siete ocho nueve diez once doce".split(),
}
"""The first numbers, as hours are counted."""

DURATIONS = {
    15: "a quarter of an hour|15 minutes|fifteen minutes / eine Viertelstunde|15 Minuten / un quart d'heure|15 minutes"
    " / un cuarto de hora|15 minutos",
    20: "20 minutes|twenty minutes / zwanzig Minuten|20 Minuten / vingt minutes|20 minutes / veinte minutos|20 minutos",
    30: "half an hour|30 minutes|thirty mins / eine halbe Stunde|30 Minuten / une demi-heure|30 minutes"
    " / media hora|30 minutos",
    45: "three quarters of an hour|45 minutes|45 min / eine Dreiviertelstunde|45 Minuten / trois quarts d'heure"
    "|45 minutes / tres cuartos de hora|45 minutos",
    60: "an hour|one hour|1 h / eine Stunde / une heure / una hora",
    75: "an hour and a quarter|75 minutes|an hour and fifteen minutes / eine Stunde und fünfzehn Minuten|1 Stunde 15"
    " / une heure et quart|1 h 15 / una hora y cuarto|75 minutos",
    90: "an hour and a half|one and a half hours|1.5 hours|ninety minutes / anderthalb Stunden|eineinhalb Stunden"
    "|1,5 Stunden / une heure et demie|1 h 30 / una hora y media|hora y media",
    105: "an hour and three quarters|one and three quarter hours|1 h 45 min / eine Stunde und 45 Minuten|1 h 45"
    " / une heure trois quarts|1 h 45 / una hora y tres cuartos|1 h 45",
    120: "two hours|2 hours|2h / zwei Stunden|2 Stunden / deux heures|2 heures / dos horas|2 horas",
    150: "two and a half hours|2.5 hours|two hours and a half / zweieinhalb Stunden|2,5 Stunden"
    " / deux heures et demie|2 h 30 / dos horas y media|2 h 30",
    180: "three hours|3 hours / drei Stunden|3 Stunden / trois heures|3 heures / tres horas|3 horas",
    210: "three and a half hours|3.5 hours / dreieinhalb Stunden|3,5 Stunden / trois heures et demie|3 h 30"
    " / tres horas y media|3 h 30",
}


@dataclass
class Talk:
    """What one message is drawn with.

    Attributes:
        rng: The source of chance.
        lang: The language of the message.
        today: The day on which it is written.
        needs_today: Whether a word in it is only clear to who knows `today`.
        needs_weekday: Whether a word in it names a day of the week.
        values: How many values are not said in their plain form.
    """

    rng: random.Random
    lang: str
    today: date
    needs_today: bool = False
    needs_weekday: bool = False
    values: int = 0


def pick(talk: Talk, ways: str) -> str:
    """Choose one of the ways of the talk's language: `one|another / deutsch / français / español`."""
    languages = ways.split(" / ")
    return talk.rng.choice(languages[LANGUAGES.index(talk.lang)].split("|"))


def ordinal(number: int) -> str:
    ending = "th" if 10 < number < 14 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def count_word(talk: Talk, number: int) -> str:
    """Write a number up to twelve as a word, for masculine nouns or nouns without gender in the phrase."""
    if number > 12:
        return str(number)
    return SMALL[talk.lang][number]


def day_number(talk: Talk, day: int) -> str:
    """Write the number of a day without its month, as it follows `on the`, `am`, `le` or `el`."""
    return {"en": ordinal(day), "de": f"{day}.", "fr": "1er" if day == 1 else str(day), "es": str(day)}[talk.lang]


def month_day(talk: Talk, day: date) -> str:
    """Write a day with its month and without the year."""
    month = MONTHS[talk.lang][day.month - 1]
    if talk.lang == "en":
        return talk.rng.choice(
            [f"{day.day} {month}", f"{month} {ordinal(day.day)}", f"the {ordinal(day.day)} of {month}"]
        )
    number = day_number(talk, day.day)
    return f"{number} de {month}" if talk.lang == "es" else f"{number} {month}"


def full_day(talk: Talk, day: date) -> str:
    """Write a day with month and year."""
    iso = day.isoformat()
    if talk.lang == "en":
        month = MONTHS["en"][day.month - 1]
        ways = [
            f"{day.day} {month} {day.year}",
            f"{month} {day.day}, {day.year}",
            iso,
            f"{month[:3]} {day.day} {day.year}",
        ]
    elif talk.lang == "de":
        ways = [f"{month_day(talk, day)} {day.year}", f"{day.day}.{day.month}.{day.year}", f"{day:%d.%m.%Y}"]
    else:
        join = " de " if talk.lang == "es" else " "
        ways = [f"{month_day(talk, day)}{join}{day.year}", f"{day:%d/%m/%Y}"]
    return talk.rng.choice(ways)


def last_of_month(day: date) -> date:
    return (day.replace(day=28) + timedelta(4)).replace(day=1) - timedelta(1)


Spoken = tuple[str, date]
Way = Callable[[Talk, int, bool], Spoken]
"""A way to say a day: the talk, a number between 1 and 6, and whether it is a limit ("until …")."""


def limit(talk: Talk, words: str, *, has_article: bool) -> str:
    """Put `until` before a day."""
    before = ("until", "bis zum", "jusqu'au", "hasta el") if has_article else ("until", "bis", "jusqu'à", "hasta")
    return f"{before[LANGUAGES.index(talk.lang)]} {words}"


def say_near(talk: Talk, number: int, is_limit: bool) -> Spoken:
    """Say tomorrow or the day after."""
    ahead = 1 if number < 4 else 2
    one, two = (
        "tomorrow / morgen / demain / mañana",
        "the day after tomorrow / übermorgen / après-demain / pasado mañana",
    )
    words = pick(talk, one if ahead == 1 else two)
    return limit(talk, words, has_article=False) if is_limit else words, talk.today + timedelta(ahead)


def say_weekday(talk: Talk, number: int, is_limit: bool) -> Spoken:
    """Say the coming day of that name: two to six days ahead."""
    day = talk.today + timedelta(max(number, 2))
    name = WEEKDAYS[talk.lang][day.weekday()]
    talk.needs_weekday = True
    if is_limit:
        words = f"until {name} / bis {name}|bis kommenden {name} / jusqu'à {name} / hasta el {name}"
    else:
        is_weekend = talk.today.weekday() < 4 and day.weekday() > 4
        more = f"|this {name}" if is_weekend else ""
        words = f"on {name}|this coming {name}|on {name}{more} / am {name}|am kommenden {name}"
        is_this_week = day.weekday() > talk.today.weekday()
        words += f" / {name}|ce {name} / el {name}|este {name}" if is_this_week else f" / {name} / el {name}"
    return pick(talk, words), day


def say_days_ahead(talk: Talk, number: int, is_limit: bool) -> Spoken:
    ahead = 3 + number % 4  # not eight: "in acht Tagen" and "dans huit jours" are a week
    if is_limit:
        return say_near(talk, number, is_limit)
    n = count_word(talk, ahead)
    words = pick(talk, f"in {n} days|{n} days from now|{ahead} days from today / in {n} Tagen|in {ahead} Tagen"
                 f" / dans {n} jours|dans {ahead} jours / dentro de {n} días|en {ahead} días")  # fmt: skip
    return words, talk.today + timedelta(ahead)


def say_weeks(talk: Talk, number: int, is_limit: bool) -> Spoken:
    """Say a day that is whole weeks away, or a week from tomorrow."""
    if is_limit:
        return say_month_end(talk, number, is_limit)
    ways = {
        1: (7, "a week from today|in exactly one week / heute in einer Woche|in genau einer Woche"
            " / dans une semaine jour pour jour / dentro de una semana exacta"),
        2: (14, "in two weeks|two weeks from today|in a fortnight / in zwei Wochen|heute in zwei Wochen|in 14 Tagen"
            " / dans deux semaines / dentro de dos semanas|dentro de 14 días"),
        3: (21, "in three weeks|three weeks from today / in drei Wochen|heute in drei Wochen"
            " / dans trois semaines / dentro de tres semanas"),
        4: (8, "a week from tomorrow / morgen in einer Woche / dans 8 jours exactement, demain en huit donc"
            " / dentro de 8 días exactos"),
    }  # fmt: skip
    ahead, words = ways.get(number, ways[2])
    return pick(talk, words), talk.today + timedelta(ahead)


def say_this_month(talk: Talk, number: int, is_limit: bool) -> Spoken:
    """Say a later day of this month by its number; near the end of a month, one of the next month."""
    last = last_of_month(talk.today)
    if talk.today.day > last.day - 3:
        return say_next_month(talk, number, is_limit)
    day = talk.today.replace(day=talk.rng.randint(talk.today.day + 2, last.day))
    n = day_number(talk, day.day)
    end = talk.rng.choice(["", "", " of this month"]) if talk.lang == "en" else ""
    if is_limit:
        return limit(talk, f"the {n}" if talk.lang == "en" else n, has_article=True) + end, day
    return pick(
        talk, f"on the {n}{end} / am {n}|am {n} dieses Monats / le {n}|le {n} de ce mois / el {n}|el {n} de este mes"
    ), day


def say_next_month(talk: Talk, number: int, is_limit: bool) -> Spoken:
    first = last_of_month(talk.today) + timedelta(1)
    day = first.replace(day=number + talk.rng.choice([0, 0, 6, 12]))
    n = day_number(talk, day.day)
    if is_limit:
        word = f"the {n} of next month / {n} des nächsten Monats / {n} du mois prochain / {n} del mes que viene"
        return limit(talk, pick(talk, word), has_article=True), day
    words = f"on the {n} of next month|next month on the {n} / am {n} des nächsten Monats"
    return pick(talk, f"{words} / le {n} du mois prochain / el {n} del mes que viene|el {n} del próximo mes"), day


def say_month_end(talk: Talk, number: int, is_limit: bool) -> Spoken:
    last = last_of_month(talk.today)
    if (last - talk.today).days < 3:
        return say_next_month(talk, number, is_limit)
    if is_limit:
        words = "until the end of the month|until the end of this month / bis Ende des Monats|bis zum Monatsende"
        return pick(talk, f"{words} / jusqu'à la fin du mois / hasta fin de mes|hasta el final de este mes"), last
    words = (
        "on the last day of the month|on the very last day of this month / am letzten Tag des Monats|am Monatsletzten"
    )
    return pick(talk, f"{words} / le dernier jour du mois / el último día del mes|el último día de este mes"), last


def say_month_day(talk: Talk, number: int, is_limit: bool) -> Spoken:
    """Say day and month; the year is that of the next such day."""
    day = talk.today + timedelta(talk.rng.randint(3, 80) + number)
    words = month_day(talk, day)
    if is_limit:
        return limit(talk, words, has_article=True), day
    return pick(talk, f"on {words} / am {words} / le {words} / el {words}"), day


def say_full(talk: Talk, number: int, is_limit: bool) -> Spoken:
    """Say day, month and year."""
    day = talk.today + timedelta(talk.rng.randint(3, 120) + number)
    words = full_day(talk, day)
    if is_limit:
        return limit(talk, words, has_article=True), day
    return pick(talk, f"on {words} / am {words} / le {words} / el {words}"), day


FUTURE: tuple[Way, ...] = (
    say_near, say_near, say_weekday, say_weekday, say_weekday, say_days_ahead, say_weeks, say_this_month,
    say_this_month, say_next_month, say_month_end, say_month_day, say_full,
)  # fmt: skip


def say_future(talk: Talk, is_limit: bool = False) -> Spoken:
    """Say a day after today: `on Friday`, or with `is_limit` `until Friday`."""
    way = talk.rng.choice(FUTURE)
    words, day = way(talk, talk.rng.randint(1, 6), is_limit)
    if way is not say_full:
        talk.needs_today = True
        talk.values += 1
    return words, day


def say_past(talk: Talk) -> Spoken:
    """Say a day before today, or today."""
    talk.needs_today = True
    talk.values += 1
    back = talk.rng.choice([0, 1, 1, 2, 3, 4, 5, 6, 7, 14, 30])
    day = talk.today - timedelta(back)
    name, n = WEEKDAYS[talk.lang][day.weekday()], count_word(talk, back)
    ways = {
        0: "today / heute / aujourd'hui / hoy",
        1: "yesterday / gestern / hier / ayer",
        2: "the day before yesterday|two days ago / vorgestern / avant-hier / anteayer",
        7: "a week ago today|exactly a week ago / heute vor einer Woche / il y a une semaine jour pour jour"
        " / hace exactamente una semana",
        14: "exactly two weeks ago|two weeks ago today / heute vor zwei Wochen / il y a exactement deux semaines"
        " / hace exactamente dos semanas",
    }
    if back in ways:
        return pick(talk, ways[back]), day
    is_last_week = day.weekday() > talk.today.weekday()  # "lundi dernier" may be doubtful in the same week
    if back < 7 and (is_last_week or talk.lang in ("en", "de")) and talk.rng.random() < 0.5:
        talk.needs_weekday = True
        return pick(talk, f"this past {name} / am vergangenen {name} / {name} dernier / el {name} pasado"), day
    if back < 7:
        return pick(talk, f"{n} days ago|{back} days ago / vor {n} Tagen / il y a {n} jours / hace {n} días"), day
    words = month_day(talk, day)
    return pick(talk, f"on {words} / am {words} / le {words} / el {words}"), day


def say_time(talk: Talk, low: int, high: int, *, is_bare: bool = False, is_range: bool = False) -> tuple[str, int]:
    """Say a time between two hours, as it follows `at`, `um`, `à` and `a`; return it in minutes since midnight.

    With `is_bare` the part of the day is left out where the hours leave no doubt. With `is_range` there is no "ten to
    four", which would read as a range itself.
    """
    hour = talk.rng.randint(low, high)
    minutes = [0, 0, 15, 30, 30, 45, 45] + ([] if is_range else [10, 20, 40, 50])
    minute = talk.rng.choice(minutes) if hour < high else 0
    if talk.rng.random() < 0.3:
        return say_digits(talk, hour, minute), hour * 60 + minute
    talk.values += 1
    part = PARTS[talk.lang](hour + 1 if hour in (17, 18, 19) and minute > 30 else hour)
    other = hour + 12 if hour < 12 else hour - 12
    if is_bare and not low <= other <= high and talk.rng.random() < 0.6:
        part = ""
    if hour == 12 and minute == 0:
        return pick(talk, "noon|midday|12 noon / 12 Uhr mittags / midi / las doce del mediodía"), 720
    return CLOCKS[talk.lang](talk, hour, minute, f" {part}" if part else ""), hour * 60 + minute


def say_digits(talk: Talk, hour: int, minute: int) -> str:
    pm, twelve = "pm" if hour > 11 else "am", (hour - 1) % 12 + 1
    short = f"{twelve}{pm}" if minute == 0 else f"{twelve}:{minute:02}{pm}"
    long = f"{twelve} {pm}" if minute == 0 else f"{twelve}.{minute:02} {pm}"
    german = f"{hour} Uhr" if minute == 0 else f"{hour}:{minute:02} Uhr"
    french = f"{hour}h" if minute == 0 else f"{hour}h{minute:02}"
    return pick(
        talk,
        f"{hour:02}:{minute:02}|{short}|{long} / {german}|{hour:02}:{minute:02} / {french} / las {hour}:{minute:02}",
    )


def english_clock(talk: Talk, hour: int, minute: int, part: str) -> str:
    this, after = SMALL["en"][(hour - 1) % 12 + 1], SMALL["en"][hour % 12 + 1]
    words = {0: "{0} o'clock|{0}", 15: "quarter past {0}|a quarter past {0}",
             30: "half past {0}|half past {0}|half {0}", 45: "quarter to {1}|a quarter to {1}",
             10: "ten past {0}", 20: "twenty past {0}", 40: "twenty to {1}", 50: "ten to {1}"}  # fmt: skip
    if minute == 0 and not part:
        return f"{this} o'clock"
    return talk.rng.choice(words[minute].split("|")).format(this, after) + part


def german_clock(talk: Talk, hour: int, minute: int, part: str) -> str:
    this, after = SMALL["de"][(hour - 1) % 12 + 1], SMALL["de"][hour % 12 + 1]
    full = "ein" if this == "eins" else this
    words = {0: f"{full} Uhr", 15: "viertel nach {0}", 30: "halb {1}", 45: "viertel vor {1}", 10: "zehn nach {0}",
             20: "zwanzig nach {0}", 40: "zwanzig vor {1}", 50: "zehn vor {1}"}  # fmt: skip
    return words[minute].format(this, after) + part


def french_clock(talk: Talk, hour: int, minute: int, part: str) -> str:
    names = [f"{SMALL['fr'][each % 12 or 12]} heure{'s' if each % 12 != 1 else ''}" for each in (hour, hour + 1)]
    names = [{12: "midi"}.get(each, name) for each, name in zip((hour, hour + 1), names, strict=True)]
    words = {0: "{0}", 15: "{0} et quart", 30: "{0} et demie", 45: "{1} moins le quart", 10: "{0} dix",
             20: "{0} vingt", 40: "{1} moins vingt", 50: "{1} moins dix"}  # fmt: skip
    said = words[minute].format(*names)
    if "midi" in said:
        return said.replace("demie", "demi")
    return said + part


def spanish_clock(talk: Talk, hour: int, minute: int, part: str) -> str:
    names = [("la una" if each % 12 == 1 else f"las {SMALL['es'][each % 12 or 12]}") for each in (hour, hour + 1)]
    words = {0: "{0}", 15: "{0} y cuarto", 30: "{0} y media", 45: "{1} menos cuarto", 10: "{0} y diez",
             20: "{0} y veinte", 40: "{1} menos veinte", 50: "{1} menos diez"}  # fmt: skip
    return words[minute].format(*names) + part


def english_part(hour: int) -> str:
    return (
        "in the morning"
        if hour < 12
        else "in the afternoon"
        if hour < 17
        else "in the evening"
        if hour < 22
        else "at night"
    )


def german_part(hour: int) -> str:
    names = {10: "morgens", 12: "vormittags", 14: "mittags", 18: "nachmittags"}
    return next((name for end, name in names.items() if hour < end), "abends")


def french_part(hour: int) -> str:
    return "du matin" if hour < 12 else "de l'après-midi" if hour < 17 else "du soir"


def spanish_part(hour: int) -> str:
    return (
        "de la mañana" if hour < 12 else "del mediodía" if hour == 12 else "de la tarde" if hour < 20 else "de la noche"
    )


PARTS = {"en": english_part, "de": german_part, "fr": french_part, "es": spanish_part}
CLOCKS = {"en": english_clock, "de": german_clock, "fr": french_clock, "es": spanish_clock}


def say_duration(talk: Talk, low: int, high: int) -> tuple[str, int]:
    """Say a duration; return it in minutes."""
    minutes = talk.rng.choice([each for each in DURATIONS if low <= each <= high])
    talk.values += 1
    return pick(talk, DURATIONS[minutes]), minutes
