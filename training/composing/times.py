"""Composes questions about days, times, units and corrections.

They teach what a small model does badly in one step: a day told relative to today, a time as people say it, a unit
other than the wanted one, a value that is corrected in mid-sentence, numbers that are not asked for, optional values
that are not said and so are left out. The labels are computed. The file has the format of every suite.
"""

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from composing.said import Slot, Tool, load_tools
from composing.said.days import LANGUAGES, MONTHS, WEEKDAYS, WORDS, Talk, day_number, ordinal, pick, say
from composing.tables import capitalise, expect, write_lines

TOOLS = load_tools("times-outings", "times-lessons", "times-errands", "times-household")

SIZES = (1, 2, 3, 4, 5, 6)
QUESTIONS_PER_SET = 22

LANGUAGE_WEIGHTS = {"en": 69, "de": 15, "fr": 9, "es": 8}
"""Not every tool is asked for in French and Spanish."""

OPTIONAL_SHARE = 0.4
"""How often an optional part of a sentence is said."""

FIX_SHARE = 0.22
"""How often a value is corrected in mid-sentence."""

Call = dict[str, Any]


@dataclass(frozen=True)
class Offer:
    """A tool as one set offers it: its slots, and the names that the set gives it."""

    tool: Tool
    slots: Mapping[str, Slot]
    required: Sequence[str]
    spelling: str

    def describe(self) -> dict[str, Any]:
        """Return the definition of the tool."""
        properties = {
            spell(name, self.spelling): schema for slot in self.slots.values() for name, schema in slot.schemas.items()
        }
        required = [spell(name, self.spelling) for name in self.required]
        parameters = {"type": "object", "properties": properties, "required": required}
        return {"name": self.name, "description": self.tool.description, "parameters": parameters}

    @property
    def name(self) -> str:
        if self.spelling == "dotted":
            return f"{self.tool.area.split()[-1]}.{self.tool.name}"
        name = spell(self.tool.name, self.spelling)
        return name[:1].upper() + name[1:] if self.spelling == "camel" and len(self.tool.name) % 2 else name

    @property
    def has_numbers(self) -> bool:
        """Whether a number in passing might be taken for one of its values."""
        return any(re.search("digits|Number (of the|to call)", schema["description"])
                   for slot in self.slots.values() for schema in slot.schemas.values())  # fmt: skip


def spell(name: str, spelling: str) -> str:
    if spelling != "camel":
        return name
    first, *rest = name.split("_")
    return first + "".join(each.capitalize() for each in rest)


def make_offer(tool: Tool, rng: random.Random, spelling: str) -> Offer:
    slots = {key.rstrip("?"): kind(rng, key.rstrip("?")) for key, kind in tool.values.items()}
    asked = [slot for key, slot in slots.items() if key in tool.values]
    return Offer(tool, slots, [name for slot in asked for name in slot.schemas if name not in slot.optional], spelling)


@dataclass(frozen=True)
class Draft:
    """A request before it gets its tone, with all values that it names, also those that it corrects."""

    text: str
    call: Call
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
                after = say(talk, "late_fixes", a=wrong, b=said)
                said = wrong
            else:
                said = say(talk, "fixes", a=wrong, b=said)
            names += map(str, value.values())
        words[place] = said
        arguments |= value
    order = [name for slot in offer.slots.values() for name in slot.schemas if name in arguments]
    named = {spell(name, offer.spelling): arguments[name] for name in order}
    text = f"{tidy(text.format(**words))} {after.strip()}".strip()
    return Draft(text, {"name": offer.name, "arguments": named}, names, bool(fixed))


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
    return say(
        talk,
        "today",
        today=today,
        front=f"{name}, " if has_weekday else "",
        name=f"{name} " if has_weekday else "",
        short=f"{name[:3]} " if has_weekday else "",
        small=f"{name[:3].lower()} " if has_weekday else "",
        month=month,
        small_month=month[:3].lower(),
        n=day_number(talk, today.day),
        ordinal=ordinal(today.day),
    )


def style(talk: Talk, text: str, names: Sequence[str], is_quiet: bool) -> tuple[str, bool]:
    """Give the text a tone; return it, and whether it is still plain."""
    rng, kind = talk.rng, talk.rng.random()
    if kind < 0.3:
        return text, True
    noise = "" if is_quiet else pick(talk, WORDS["noises"]).format(n=rng.randint(10_000, 99_999), m=rng.randint(21, 58))
    if kind < 0.62:
        opening = say(talk, "openings") if rng.random() < 0.7 else ""
        closing = say(talk, "closings") if rng.random() < 0.6 else ""
        is_noisy = bool(noise) and rng.random() < 0.4
        body = lower(text, names) if opening.rstrip().endswith((",", ":")) and talk.lang != "de" else text
        if talk.lang == "de" and opening.rstrip().endswith((",", ":")):
            body = text if is_german_noun(text) else lower(text, names)
        parts = [opening, body, noise if is_noisy else "", closing]
        return capitalise(" ".join(each.strip() for each in parts if each)), not is_noisy
    held = {word for name in names for word in name.split()}
    if talk.lang == "en":
        for typed, typo in WORDS["typos"].items():
            if rng.random() < 0.45 and typed not in held:
                text = re.sub(rf"\b{typed}\b", typo, text, count=1)
        for name in (*MONTHS["en"], *WEEKDAYS["en"]):
            text = re.sub(rf"\b{name}\b", name.lower(), text)
        text = re.sub(r"\bI\b(?!')", "i", text)
    text = ". ".join(lower(each, names) for each in text.split(". ")) if talk.lang != "de" else text
    if kind < 0.84:
        return text.rstrip("."), False
    text = re.sub(r"[,;!?()–](?=\s|$)|\.(?=\s|$)|[(¿¡–]|:(?=\s)", "", text)
    filler = rng.choice(WORDS["fillers"]) if talk.lang == "en" and rng.random() < 0.6 else ""
    return re.sub(r"  +", " ", filler + text), False


def is_german_noun(text: str) -> bool:
    """Whether a German sentence begins with a word that keeps its capital: anything but the usual openers."""
    return text.split()[0].rstrip(",") not in "Bitte Wir Könnt Weck Alle Habe Den Ein Eine Einen".split()


def lower(text: str, names: Sequence[str]) -> str:
    """Write the first letter small, unless the first word is `I` or begins a value."""
    first = text.split()[0].rstrip(",.:;!?") if text.strip() else ""
    is_value = any(first in name for name in names)
    return text if is_value or re.match(r"I('|\b)", text) or first.isupper() else text[:1].lower() + text[1:]


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


def compose(offers: Sequence[Offer], rng: random.Random) -> dict[str, Any]:
    """Draw a question about the tools of one area, without its id."""
    lang = rng.choices(LANGUAGES, [LANGUAGE_WEIGHTS[each] for each in LANGUAGES])[0]
    able = [each for each in offers if each.tool.list_frames(lang)]
    lang = lang if able else "en"
    able = able or list(offers)
    talk = Talk(rng, lang, date(2025, 1, 1) + timedelta(rng.randrange(1095)))
    first = able[0] if rng.random() < 0.6 else rng.choice(able)
    drafts, used = [fill(first, talk)], [first]
    text = drafts[0].text
    if rng.random() < 0.13:
        second = rng.choice(able)
        # A correction after both requests might mean the first one.
        more = fill(second, talk, may_fix_late=False)
        is_overridden = second is first and first.tool.area.startswith("a smart")  # a machine has one setting
        if more.call != drafts[0].call and not is_overridden:
            body = more.text if lang == "de" else lower(more.text, more.names)
            text = f"{text} {say(talk, 'seconds').strip()} {body}"
            drafts.append(more)
            used.append(second)
    calls, is_fixed = [each.call for each in drafts], any(each.is_fixed for each in drafts)
    names = [name for each in drafts for name in each.names]
    text, is_plain = style(talk, text, names, any(each.has_numbers for each in used))
    messages = add_today(talk, text, first.tool.area)
    is_messy = is_fixed or not is_plain or talk.values > 1 or talk.needs_today
    category = "messy" if is_messy else "single"
    if len(calls) > 1 and not is_fixed:
        category = "parallel" if calls[0]["name"] == calls[1]["name"] else "several"
    return {"category": category, "messages": messages, "expected": expect(calls)}


def compose_sets(
    prefix: str, tools: Sequence[Tool], count: int, compose: Callable[..., dict[str, Any]], seed: int
) -> Iterator[dict[str, Any]]:
    """Yield the lines of a suite: two sets of tools for each tool, each followed by its questions."""
    rng = random.Random(seed)
    seen: set[str] = set()
    for tool in tools:
        for number in (1, 2):
            size = rng.choice(SIZES[:3] if number == 1 else SIZES[2:])
            near = [each for each in tools if each.area == tool.area and each is not tool]
            far = [each for each in tools if each.area != tool.area]
            drawn = [tool, *rng.sample(near, min(len(near), size - 1))]
            drawn += rng.sample(far, size - len(drawn)) if number == 2 else []
            spelling = rng.choice(["snake", "snake", "snake", "camel", "dotted"])
            offers = [make_offer(each, rng, spelling) for each in drawn]
            name = f"{prefix}_{tool.name}_{number}"
            yield {"toolset": name, "tools": [each.describe() for each in rng.sample(offers, len(offers))]}
            asked = [each for each in offers if each.tool.area == tool.area]
            for index in range(1, count + 1):
                question = compose(asked, rng)
                while json.dumps(question["messages"]) in seen:
                    question = compose(asked, rng)
                seen.add(json.dumps(question["messages"]))
                yield {"id": f"{name}-{index:02}", "tools": name, **question}


def write_times(path: Path, seed: int) -> None:
    write_lines(path, compose_sets("times", TOOLS, QUESTIONS_PER_SET, compose, seed))
