"""Composes questions whose values have to be worked out from the request and the description of the tool.

They teach what a small model gets wrong: the day of departure after some nights, who counts as a child, twice as many
as last time, figures and codes as people write them, the part of a day that a time belongs to, units, and corrections
that change one of two calls. What the words say and what a description wants are drawn apart; the labels are computed.
The file has the format of every suite.
"""

import random
import re
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from composing.said import load_tools
from composing.said.days import LANGUAGES, TEENS, TENS, Talk, say
from composing.tables import expect, write_lines
from composing.times import Draft, Offer, add_today, compose_sets, draw_frame, fill, spell, style, tidy

TOOLS = load_tools("sums-lodging", "sums-crafts", "sums-counters")

QUESTIONS_PER_SET = 17

LANGUAGE_WEIGHTS = {"en": 72, "de": 12, "fr": 8, "es": 8}

NUMBER = r"\d+|" + "|".join(sorted({word for words in (*TEENS.values(), *TENS.values()) for word in words[1:]}))

NUMBERS_APART = rf"(?:\d|\b(?:{NUMBER}))[.,;:)]+ (?:{NUMBER})"
"""Two numbers that only a mark keeps apart."""

PAIR_SHARE = 0.45
"""How often a tool that can be asked for twice is."""

PAIR_FIX_SHARE = 0.5
"""How often a value of one of the two calls is corrected."""


def fill_pair(offer: Offer, talk: Talk) -> tuple[Draft, Draft]:
    """Draw a sentence for two calls; the text is in the first draft."""
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
            after = say(talk, "pair_fixes", who=words[key + number], a=wrong, b=words[place])
            words[place] = wrong
        else:
            words[place] = say(talk, "fixes", a=wrong, b=words[place])
    text = f"{tidy(text.format(**words))} {after.strip()}".strip()
    calls = [order_arguments(offer, values, each) for each in ("", "2")]
    return Draft(text, calls[0], names, is_fixed), Draft("", calls[1], [], is_fixed)


def order_arguments(offer: Offer, values: dict[str, dict[str, Any]], number: str) -> dict[str, Any]:
    """Return one of two calls: its own values and those that are said once, in the order of the tool."""
    found: dict[str, Any] = {}
    for key in offer.slots:
        found |= values.get(f"{key}{number}", values.get(key, {}))
    return {"name": offer.name, "arguments": {spell(name, offer.spelling): value for name, value in found.items()}}


def compose(offers: Sequence[Offer], rng: random.Random) -> dict[str, Any]:
    """Draw a question about the tools of one area, without its id."""
    lang = rng.choices(LANGUAGES, [LANGUAGE_WEIGHTS[each] for each in LANGUAGES])[0]
    talk = Talk(rng, lang, date(2025, 1, 1) + timedelta(rng.randrange(1095)))
    offer = offers[0] if rng.random() < 0.6 else rng.choice(offers)
    is_pair = bool(offer.tool.pairs) and rng.random() < PAIR_SHARE
    drafts = fill_pair(offer, talk) if is_pair else (fill(offer, talk),)
    names = [name for each in drafts for name in each.names]
    text, is_plain = style(talk, drafts[0].text, names, is_quiet(offer))
    if count_marks(text) < count_marks(drafts[0].text) and re.search(NUMBERS_APART, drafts[0].text.lower()):
        text, is_plain = drafts[0].text, True  # without its marks two numbers would run together
    if text.count("(") != text.count(")"):
        text = re.sub("[()]", "", text)
    messages = add_today(talk, text, offer.tool.area)
    is_fixed = drafts[0].is_fixed
    is_messy = is_fixed or not is_plain or talk.values > 1 or talk.needs_today
    category = "parallel" if is_pair and not is_fixed else "messy" if is_messy else "single"
    return {"category": category, "messages": messages, "expected": expect([each.call for each in drafts])}


def count_marks(text: str) -> int:
    return sum(text.count(each) for each in ",;:.")


def is_quiet(offer: Offer) -> bool:
    """Whether another number in the request might be taken for one of the tool's values."""
    return offer.has_numbers or any(
        "digits" in schema["description"] or schema["description"].startswith("Number")
        for slot in offer.slots.values()
        for schema in slot.schemas.values()
    )


def write_sums(path: Path, seed: int) -> None:
    write_lines(path, compose_sets("sums", TOOLS, QUESTIONS_PER_SET, compose, seed))
