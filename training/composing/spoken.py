"""Composes requests as people make them, in four languages, whose values have to be worked out: `times` and `sums`.

They teach what a small model does badly in one step. `times`: a day told relative to today, a time as people say it, a
unit other than the wanted one, a value that is corrected in mid-sentence, numbers that are not asked for, optional
values that are not said and so are left out. `sums`: the day of departure after some nights, who counts as a child,
twice as many as last time, figures and codes as people write them, the part of a day that a time belongs to, and
corrections that change one of two calls. What the words say and what a description wants are drawn apart; the labels
are computed.
"""

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from typing import Any

from composing import stays as stays  # its kinds are named by tables
from composing.kinds import Slot, make_slots
from composing.tables import describe_tool, expect, read_table, write_set
from composing.talk import (
    LANGUAGES,
    MONTHS,
    TEENS,
    TENS,
    WEEKDAYS,
    WORDS,
    Talk,
    capitalise,
    list_sentences,
    lower_first,
    ordinal,
)

SIZES = (1, 2, 3, 4, 5, 6)
OPTIONAL_SHARE = 0.4  # how often an optional part of a sentence is said
FIX_SHARE = 0.22  # how often a value is corrected in mid-sentence
PAIR_SHARE = 0.45  # how often a tool that can be asked for twice is
PAIR_FIX_SHARE = 0.5  # how often a value of one of the two calls is corrected
NUMBER = r"\d+|" + "|".join(sorted({word for words in (*TEENS.values(), *TENS.values()) for word in words[1:]}))
NUMBERS_APART = rf"(?:\d|\b(?:{NUMBER}))[.,;:)]+ (?:{NUMBER})"  # two numbers that only a mark keeps apart

Call = dict[str, Any]


@dataclass(frozen=True)
class Tool:
    """A tool and how people ask for it; the README of `training` tells what each entry is."""

    name: str
    description: str
    area: str
    values: Mapping[str, Mapping[str, Any]]
    frames: str
    pairs: str = ""

    def list_frames(self, lang: str, *, is_pair: bool = False) -> list[str]:
        return [frame for each, frame in list_sentences(self.pairs if is_pair else self.frames) if each == lang]


@dataclass(frozen=True)
class Collection:
    """Tools whose questions are drawn alike.

    `weights` are those of the languages: not every tool of `times` is asked for in French and Spanish. `numbers` finds
    the descriptions of parameters for which a number in passing might be taken.
    """

    name: str
    tables: Sequence[str]
    questions_per_set: int
    weights: Sequence[int]
    numbers: str
    second_share: float = 0.0
    keeps_marks: bool = False

    @cached_property
    def tools(self) -> list[Tool]:
        return [Tool(**each) for table in self.tables for each in read_table(f"{self.name}-{table}")["tools"]]


TIMES = Collection(
    "times",
    tables=("outings", "lessons", "errands", "household"),
    questions_per_set=22,
    weights=(69, 15, 9, 8),
    numbers="digits|Number (of the|to call)",
    second_share=0.13,
)
SUMS = Collection(
    "sums",
    tables=("lodging", "crafts", "counters"),
    questions_per_set=17,
    weights=(72, 12, 8, 8),
    numbers="digits|^Number|Number (of the|to call)",
    keeps_marks=True,
)


@dataclass(frozen=True)
class Offer:
    """A tool as one set offers it: its slots, and the names that the set gives it."""

    tool: Tool
    slots: Mapping[str, Slot]
    spelling: str

    @property
    def name(self) -> str:
        if self.spelling == "dotted":
            return f"{self.tool.area.split()[-1]}.{self.tool.name}"
        name = self.spell(self.tool.name)
        return capitalise(name) if self.spelling == "camel" and len(self.tool.name) % 2 else name

    def spell(self, name: str) -> str:
        first, *rest = name.split("_")
        return first + "".join(map(str.capitalize, rest)) if self.spelling == "camel" else name

    def describe(self) -> dict[str, Any]:
        """Return the definition of the tool."""
        schemas = {name: schema for slot in self.slots.values() for name, schema in slot.schemas.items()}
        required = [self.slots[key] for key in self.tool.values if key in self.slots]
        names = [self.spell(name) for slot in required for name in slot.schemas if name not in slot.optional]
        properties = {self.spell(name): schema for name, schema in schemas.items()}
        return describe_tool(self.name, self.tool.description, properties, names)

    def has_description(self, pattern: str) -> bool:
        schemas = [schema for slot in self.slots.values() for schema in slot.schemas.values()]
        return any(re.search(pattern, schema["description"]) for schema in schemas)

    def call(self, arguments: Mapping[str, Any]) -> Call:
        """Make a call with its arguments in the order of the tool."""
        order = [name for slot in self.slots.values() for name in slot.schemas if name in arguments]
        return {"name": self.name, "arguments": {self.spell(name): arguments[name] for name in order}}


@dataclass(frozen=True)
class Draft:
    """A request before it gets its tone, with all values that it names, also those that it corrects."""

    text: str
    calls: Sequence[Call]
    names: Sequence[str]
    is_fixed: bool


def draw_frame(offer: Offer, talk: Talk, *, is_pair: bool = False) -> tuple[str, list[str]]:
    """Draw a sentence with some of its optional parts; return it and its places."""
    frame = talk.rng.choice(offer.tool.list_frames(talk.lang, is_pair=is_pair))
    parts = re.split(r"(\[[^\]]*\])", frame)
    text = "".join(each.strip("[]") for each in parts if each[:1] != "[" or talk.rng.random() < OPTIONAL_SHARE)
    return text, re.findall(r"{(\w+)}", text)


def fill(offer: Offer, talk: Talk, *, may_fix_late: bool = True) -> Draft:
    """Draw a sentence and the call that it asks for."""
    text, places = draw_frame(offer, talk)
    fixable = [each for each in places if offer.slots[each].is_fixable]
    fixed = talk.rng.choice(fixable) if fixable and talk.rng.random() < FIX_SHARE else ""
    words: dict[str, str] = {}
    arguments: dict[str, Any] = {}
    names: list[str] = []
    after = ""
    for place in places:
        said, value = offer.slots[place].say(talk)
        names += map(str, value.values())
        if place == fixed:
            wrong, other = said, value
            while other == value or wrong == said:
                said, value = offer.slots[place].say(talk)
            if may_fix_late and talk.rng.random() < 0.3:
                after = talk.say("late_fixes", a=wrong, b=said)
                said = wrong
            else:
                said = talk.say("fixes", a=wrong, b=said)
            names += map(str, value.values())
        words[place] = said
        arguments |= value
    text = f"{tidy(text.format(**words))} {after.strip()}".strip()
    return Draft(text, [offer.call(arguments)], names, bool(fixed))


def fill_pair(offer: Offer, talk: Talk) -> Draft:
    """Draw a sentence for two calls."""
    text, places = draw_frame(offer, talk, is_pair=True)
    words: dict[str, str] = {}
    values: dict[str, dict[str, Any]] = {}

    def draw(place: str, *others: dict[str, Any]) -> None:
        words[place], values[place] = offer.slots[place.removesuffix("2")].say(talk)
        while values[place] in others:
            words[place], values[place] = offer.slots[place.removesuffix("2")].say(talk)

    for place in sorted(places):  # `{item}` before `{item2}`
        draw(place, *([values[place[:-1]]] if place.endswith("2") else []))
    names = [str(each) for value in values.values() for each in value.values()]
    doubled = [each for each in offer.tool.values if f"{each}2" in places]
    key, after = doubled[0], ""
    fixable = [each for each in doubled[1:] if offer.slots[each].is_fixable]
    is_fixed = bool(fixable) and talk.rng.random() < PAIR_FIX_SHARE
    if is_fixed:
        number, other = talk.rng.choice([("", "2"), ("2", "")])
        fixed = talk.rng.choice(fixable)
        place, wrong = fixed + number, words[fixed + number]
        draw(place, values[place], values[fixed + other])
        names += map(str, values[place].values())
        if talk.rng.random() < 0.6:
            after = talk.say("pair_fixes", who=words[key + number], a=wrong, b=words[place])
            words[place] = wrong
        else:
            words[place] = talk.say("fixes", a=wrong, b=words[place])
    text = f"{tidy(text.format(**words))} {after.strip()}".strip()
    both: list[dict[str, Any]] = [{}, {}]
    for key in offer.slots:
        for arguments, number in zip(both, ("", "2"), strict=True):
            arguments |= values.get(f"{key}{number}", values.get(key, {}))
    return Draft(text, [offer.call(each) for each in both], names, is_fixed)


def tidy(text: str) -> str:
    """Mend the punctuation where a value brought its own."""
    text = re.sub(r",+(?=\s*[.,?!;:])", "", text)
    text = re.sub(r"(?<!\d)\.(?=[.,?!])|\.(?=\.)", "", text)  # "bis zum 22., bitte" keeps its full stop
    text = re.sub(r"\s+(?=[.,])", "", text)
    text = re.sub(r"((?<!\d)[?.!] )([a-z])", lambda found: found[1] + found[2].upper(), text)
    text = text.rstrip(" ,")
    return capitalise(re.sub(r"  +", " ", text))


def say_today(talk: Talk, is_system: bool) -> str:
    """Tell the day, with the day of the week where a word of the message needs it, or by chance."""
    today = talk.today
    has_weekday = talk.rng.random() < (0.88 if talk.needs_weekday else 0.4)
    if is_system and (talk.lang == "en" or talk.rng.random() < 0.6):
        ways = WORDS["system_today"]["with_weekday" if has_weekday else "plain"]
        names = {"weekday": WEEKDAYS["en"][today.weekday()], "month": MONTHS["en"][today.month - 1]}
        return talk.rng.choice(ways).format(today=today, short=names["weekday"][:3], **names)
    name, month = WEEKDAYS[talk.lang][today.weekday()], MONTHS[talk.lang][today.month - 1]
    forms = {"front": f"{name}, ", "name": f"{name} ", "short": f"{name[:3]} ", "small": f"{name[:3].lower()} "}
    named = {key: form if has_weekday else "" for key, form in forms.items()}
    numbered = {"n": talk.day_number(today.day), "ordinal": ordinal(today.day)}
    return talk.say("today", today=today, month=month, small_month=month[:3].lower(), **named, **numbered)


def style(talk: Talk, text: str, names: Sequence[str], is_quiet: bool) -> tuple[str, bool]:
    """Give the text a tone; return it, and whether it is still plain."""
    rng, kind = talk.rng, talk.rng.random()
    if kind < 0.3:
        return text, True
    noise = "" if is_quiet else talk.pick(WORDS["noises"]).format(n=rng.randint(10_000, 99_999), m=rng.randint(21, 58))
    if kind < 0.62:
        opening = talk.say("openings") if rng.random() < 0.7 else ""
        closing = talk.say("closings") if rng.random() < 0.6 else ""
        is_noisy = bool(noise) and rng.random() < 0.4
        # In German, a noun keeps its capital: anything but the usual openers.
        is_verb = text.split()[0].rstrip(",") in "Bitte Wir Könnt Weck Alle Habe Den Ein Eine Einen".split()
        if opening.rstrip().endswith((",", ":")) and (talk.lang != "de" or is_verb):
            text = lower_first(text, names)
        parts = [opening, text, noise if is_noisy else "", closing]
        return capitalise(" ".join(each.strip() for each in parts if each)), not is_noisy
    held = {word for name in names for word in name.split()}
    if talk.lang == "en":
        for typed, typo in WORDS["typos"].items():
            if rng.random() < 0.45 and typed not in held:
                text = re.sub(rf"\b{typed}\b", typo, text, count=1)
        for name in (*MONTHS["en"], *WEEKDAYS["en"]):
            text = re.sub(rf"\b{name}\b", name.lower(), text)
        text = re.sub(r"\bI\b(?!')", "i", text)
    text = ". ".join(lower_first(each, names) for each in text.split(". ")) if talk.lang != "de" else text
    if kind < 0.84:
        return text.rstrip("."), False
    text = re.sub(r"[,;!?()–](?=\s|$)|\.(?=\s|$)|[(¿¡–]|:(?=\s)", "", text)
    filler = rng.choice(WORDS["fillers"]) if talk.lang == "en" and rng.random() < 0.6 else ""
    return re.sub(r"  +", " ", filler + text), False


def add_today(talk: Talk, text: str, area: str) -> str | list[dict[str, str]]:
    """Tell the day where the text needs it, or by chance: in a system message or in the text."""
    rng = talk.rng
    if not talk.needs_today and rng.random() >= 0.12:
        return text
    if rng.random() < 0.5:
        role = rng.choice(WORDS["roles"]).format(area=area, today=say_today(talk, is_system=True))
        return [{"role": "system", "content": role}, {"role": "user", "content": text}]
    text += "." if text[-1].isalnum() else ""
    return " ".join([say_today(talk, is_system=False), text][:: rng.choice([1, 1, 1, -1])])


def compose_question(collection: Collection, offers: Sequence[Offer], rng: random.Random) -> dict[str, Any]:
    """Draw a question about the tools of one area, without its id."""
    lang = rng.choices(LANGUAGES, collection.weights)[0]
    able = [each for each in offers if each.tool.list_frames(lang)]
    lang, able = (lang, able) if able else ("en", list(offers))
    talk = Talk(rng, lang, date(2025, 1, 1) + timedelta(rng.randrange(1095)))
    offer = able[0] if rng.random() < 0.6 else rng.choice(able)
    is_pair = bool(offer.tool.pairs) and rng.random() < PAIR_SHARE
    drafts, used = [fill_pair(offer, talk) if is_pair else fill(offer, talk)], [offer]
    plain = drafts[0].text
    if collection.second_share and rng.random() < collection.second_share:
        second = rng.choice(able)
        # A correction after both requests might mean the first one.
        more = fill(second, talk, may_fix_late=False)
        is_overridden = second is offer and offer.tool.area.startswith("a smart")  # a machine has one setting
        if more.calls != drafts[0].calls and not is_overridden:
            body = more.text if lang == "de" else lower_first(more.text, more.names)
            plain = f"{plain} {talk.say('seconds').strip()} {body}"
            drafts.append(more)
            used.append(second)
    names = [name for each in drafts for name in each.names]
    text, is_plain = style(talk, plain, names, any(each.has_description(collection.numbers) for each in used))
    if collection.keeps_marks:
        if count_marks(text) < count_marks(plain) and re.search(NUMBERS_APART, plain.lower()):
            text, is_plain = plain, True  # without its marks two numbers would run together
        if text.count("(") != text.count(")"):
            text = re.sub("[()]", "", text)
    messages = add_today(talk, text, offer.tool.area)
    calls, is_fixed = [call for each in drafts for call in each.calls], any(each.is_fixed for each in drafts)
    is_messy = is_fixed or not is_plain or talk.values > 1 or talk.needs_today
    category = "messy" if is_messy else "single"
    if len(calls) > 1 and not is_fixed:
        category = "parallel" if calls[0]["name"] == calls[1]["name"] else "several"
    return {"category": category, "messages": messages, "expected": expect(calls)}


def count_marks(text: str) -> int:
    return sum(text.count(each) for each in ",;:.")


def compose(collection: Collection, seed: int) -> Iterator[dict[str, Any]]:
    """Yield the lines of a suite: two sets of tools for each tool, each followed by its questions."""
    rng, tools = random.Random(seed), collection.tools
    seen: set[str] = set()

    def ask(offers: Sequence[Offer]) -> Iterator[dict[str, Any]]:
        for _ in range(collection.questions_per_set):
            question = compose_question(collection, offers, rng)
            while json.dumps(question["messages"]) in seen:
                question = compose_question(collection, offers, rng)
            seen.add(json.dumps(question["messages"]))
            yield question

    for tool in tools:
        for number in (1, 2):
            size = rng.choice(SIZES[:3] if number == 1 else SIZES[2:])
            near = [each for each in tools if each.area == tool.area and each is not tool]
            far = [each for each in tools if each.area != tool.area]
            drawn = [tool, *rng.sample(near, min(len(near), size - 1))]
            drawn += rng.sample(far, size - len(drawn)) if number == 2 else []
            spelling = rng.choice(["snake", "snake", "snake", "camel", "dotted"])
            offers = [Offer(each, make_slots(each.values, rng), spelling) for each in drawn]
            shown = [each.describe() for each in rng.sample(offers, len(offers))]
            asked = [each for each in offers if each.tool.area == tool.area]
            yield from write_set(f"{collection.name}_{tool.name}_{number}", shown, ask(asked))
