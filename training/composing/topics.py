"""Composes questions from the topics of `tables/topics.toml`.

They teach what the questions of `field` teach too little of: a value that is said is given even if it is the default; a
value that is said once for several things is given in each call; every combination that is asked for is a call; what
a tool serves is not answered from memory; a result is told whole. The file has the format of every suite.

A topic is one tool, with a phrase that asks for it. A phrase has a place for each required value, such as `{years}`;
what is said of an optional value is appended to the phrase. A value is drawn together with the words that say it: `5%`
and 0.05, `half past six in the evening` and `18:30`.
"""

import itertools
import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from composing.tables import capitalise, expect, make_all, number_lines, read_table, write_lines

SAID_SHARE = 0.4
"""How often an optional value is said."""

OFFER_SIZES = (1, 1, 2, 3, 4)
"""How many tools the sets of a topic have, one set for each number."""

Drawn = tuple[str, Any]
"""The words for a value, and the value."""

Call = dict[str, Any]
Question = dict[str, Any]

Pool = Callable[[random.Random], Drawn]


@dataclass(frozen=True)
class Value:
    """A parameter of a tool, and the values that are drawn for it."""

    schema: dict[str, Any]
    pool: Pool


@dataclass(frozen=True)
class Topic:
    """A tool and how people ask for it; the README of `training` tells what each entry is."""

    name: str
    description: str
    area: str
    phrase: str
    able: str
    required: Mapping[str, Value]
    optional: Mapping[str, Value] = field(default_factory=dict[str, Value])
    said: Mapping[str, str] = field(default_factory=dict[str, str])
    listed: str = ""
    is_deed: bool = False
    unsaid: Sequence[tuple[str, str]] = ()
    result: Mapping[str, Sequence[Any]] = field(default_factory=dict[str, Sequence[Any]])
    told: str = ""


def text(description: str, values: Sequence[str | Drawn], **more: Any) -> Value:
    """Return a parameter that takes a text."""
    drawn = [(each, each) if isinstance(each, str) else each for each in values]
    return Value({"type": "string", "description": description, **more}, lambda rng: rng.choice(drawn))


def choice(description: str, values: Sequence[str | Drawn], **more: Any) -> Value:
    """Return a parameter that takes one of some texts."""
    drawn = [(each, each) if isinstance(each, str) else each for each in values]
    names = list(dict.fromkeys(value for _, value in drawn))
    return Value({"type": "string", "description": description, "enum": names, **more}, lambda rng: rng.choice(drawn))


def integer(description: str, low: int, high: int, step: int = 1, **more: Any) -> Value:
    """Return a parameter that takes a whole number."""

    def pool(rng: random.Random) -> Drawn:
        number = rng.randrange(low, high + 1, step)
        return f"{number:,}" if number > 9999 and rng.random() < 0.5 else str(number), number

    return Value({"type": "integer", "description": description, **more}, pool)


def said_integer(description: str, values: Sequence[Drawn], **more: Any) -> Value:
    return Value({"type": "integer", "description": description, **more}, lambda rng: rng.choice(values))


def number(description: str, values: Sequence[Drawn], **more: Any) -> Value:
    """Return a parameter that takes a number, from a list of words and numbers."""
    return Value({"type": "number", "description": description, **more}, lambda rng: rng.choice(values))


def decimal(description: str, low: float, high: float, places: int = 1, **more: Any) -> Value:
    def pool(rng: random.Random) -> Drawn:
        drawn = round(rng.uniform(low, high), rng.choice([0, places]))
        value = int(drawn) if drawn == int(drawn) else drawn
        return str(value), value

    return Value({"type": "number", "description": description, **more}, pool)


def flag(description: str, **more: Any) -> Value:
    """Return a parameter that is true when it is said; `contrasted` knows when it is false."""
    return Value({"type": "boolean", "description": description, **more}, lambda _: ("", True))


def texts(description: str, values: Sequence[str], **more: Any) -> Value:
    """Return a parameter that takes a list of texts."""

    def pool(rng: random.Random) -> Drawn:
        drawn = rng.sample(values, rng.choice([1, 2, 2, 3]))
        return join(drawn), drawn

    return Value({"type": "array", "items": {"type": "string"}, "description": description, **more}, pool)


def numbers(description: str, low: int, high: int, **more: Any) -> Value:
    """Return a parameter that takes a list of whole numbers."""

    def pool(rng: random.Random) -> Drawn:
        drawn = [rng.randint(low, high) for _ in range(rng.randint(4, 7))]
        words = str(drawn) if rng.random() < 0.5 else join([str(each) for each in drawn])
        return words, drawn

    return Value({"type": "array", "items": {"type": "integer"}, "description": description, **more}, pool)


def join(words: Sequence[str]) -> str:
    """Join words as a sentence does: with commas, and `and` before the last."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


KINDS = {each.__name__: each for each in (text, choice, integer, said_integer, number, decimal, flag, texts, numbers)}
TABLE = read_table("topics")
VALUES = ("required", "optional")

TOPICS = [Topic(**each | {place: make_all(each.get(place, {}), KINDS) for place in VALUES}) for each in TABLE["topics"]]


class Composer:
    """Draws requests with the calls that are right for them."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def draw(self, values: Mapping[str, Value]) -> dict[str, Drawn]:
        return {name: value.pool(self._rng) for name, value in values.items()}

    def draw_optional(self, topic: Topic) -> dict[str, Drawn]:
        chosen = {name: value for name, value in topic.optional.items() if self._rng.random() < SAID_SHARE}
        return self.draw(chosen)

    def draw_distinct(self, value: Value, count: int) -> list[Drawn]:
        """Draw some values, each other than the others."""
        found: dict[str, Drawn] = {}
        for _ in range(count * 6):
            words, drawn = value.pool(self._rng)
            found.setdefault(json.dumps(drawn), (words, drawn))
        return list(found.values())[:count]

    def say(self, topic: Topic, phrase: str) -> str:
        """Make a sentence of a phrase."""
        if phrase.startswith("the ") and self._rng.random() < 0.4:
            return f"{'What are' if phrase.split()[1] in TABLE['plurals'] else 'What is'} {phrase}?"
        is_asked = phrase.startswith(("who ", "where "))
        is_thing = phrase.startswith("the ")
        kind = "deed" if topic.is_deed else "thing" if is_thing else "question" if is_asked else "search"
        lead = self._rng.choice(TABLE["leads"][kind])
        return capitalise(lead.format(phrase))

    def single(self, topic: Topic) -> tuple[str, list[Call]]:
        required, optional = self.draw(topic.required), self.draw_optional(topic)
        return self.say(topic, fill(topic, required, optional)), [make_call(topic, {**required, **optional})]

    def listed(self, topic: Topic) -> tuple[str, list[Call]]:
        """Name several values in one place; what else is said holds for each of them."""
        required, optional = self.draw(topic.required), self.draw_optional(topic)
        several = self.draw_distinct(topic.required[topic.listed], self._rng.choice([2, 2, 3, 4]))
        words = {**required, topic.listed: (join([each for each, _ in several]), None)}
        calls = [make_call(topic, {**required, topic.listed: each, **optional}) for each in several]
        return self.say(topic, fill(topic, words, optional)), calls

    def combined(self, topic: Topic) -> tuple[str, list[Call]]:
        """Name several values in two places: pairs of them, or all combinations."""
        others = [name for name in topic.required if name != topic.listed and len(self.two(topic, name)) == 2]
        if not others:
            return self.listed(topic)
        other = self._rng.choice(others)
        required, optional = self.draw(topic.required), self.draw_optional(topic)
        first, second = self.two(topic, topic.listed), self.two(topic, other)
        words = {**required, topic.listed: (join([each for each, _ in first]), None)}
        words[other] = (join([each for each, _ in second]), None)
        is_paired = self._rng.random() < 0.4
        pairs = zip(first, second, strict=False) if is_paired else itertools.product(first, second)
        ends = TABLE["paired" if is_paired else "combined"]
        calls = [make_call(topic, {**required, topic.listed: a, other: b, **optional}) for a, b in pairs]
        return self.say(topic, fill(topic, words, optional) + self._rng.choice(ends)), calls

    def two(self, topic: Topic, name: str) -> list[Drawn]:
        return self.draw_distinct(topic.required[name], 2)

    def separate(self, topic: Topic) -> tuple[str, list[Call]]:
        """Ask for several things one after the other; what is said once may hold for all."""
        optional = self.draw_optional(topic)
        items = [self.draw(topic.required) for _ in range(self._rng.choice([2, 2, 3]))]
        if optional and self._rng.random() < 0.6:
            phrase = join([fill(topic, each, {}) for each in items])
            phrase += self._rng.choice(TABLE["for_each"]) + said(topic, optional)
            calls = [make_call(topic, {**each, **optional}) for each in items]
        else:
            # The last one has nothing of its own: at the end of a sentence it would hold for all.
            own = [{**each, **self.draw_optional(topic)} for each in items[:-1]] + items[-1:]
            phrase = join(
                [fill(topic, each, {key: each[key] for key in topic.optional if key in each}) for each in own]
            )
            calls = [make_call(topic, each) for each in own]
        return self.say(topic, phrase), calls

    def contrasted(self, topic: Topic) -> tuple[str, list[Call]]:
        """Ask for the same thing twice, with two values of an optional one: the default is said too."""
        if not topic.optional:
            return self.separate(topic)
        name = self._rng.choice(list(topic.optional))
        required, value = self.draw(topic.required), topic.optional[name]
        phrase = fill(topic, required, {})
        if value.schema["type"] == "boolean":
            words = topic.said[name].strip(", ")
            both = [("", True), ("", False)]
            phrase += self._rng.choice(TABLE["contrasts"]).format(words)
        else:
            both = self.draw_distinct(value, 2)
            first, *rest = [topic.said[name].format(**{name: words}).strip(", ") for words, _ in both]
            phrase += f", {first}" + "".join(f", and the same again, but {each}" for each in rest)
        return self.say(topic, phrase), [make_call(topic, {**required, name: each}) for each in both]

    def several(self, topics: Sequence[Topic]) -> tuple[str, list[Call]]:
        """Ask for things of several tools in one message."""
        starts = self._rng.choice(TABLE["starts"])
        sentences: list[str] = []
        calls: list[Call] = []
        drawn = self._rng.sample(topics, min(len(topics), 3))
        if self._rng.random() < 0.4:
            drawn.append(drawn[0])
        for start, topic in zip(starts, drawn, strict=False):
            kind = self.listed if topic.listed and self._rng.random() < 0.25 else self.single
            sentence, more = kind(topic)
            is_first_word = start.startswith("{}") or start.endswith(". {}")
            sentences.append(start.format(sentence if is_first_word else lower(sentence)))
            calls += more
        return " ".join(sentences), calls


def fill(topic: Topic, required: Mapping[str, Drawn], optional: Mapping[str, Drawn]) -> str:
    """Put words into a phrase."""
    return topic.phrase.format(**{name: words for name, (words, _) in required.items()}) + said(topic, optional)


def said(topic: Topic, optional: Mapping[str, Drawn]) -> str:
    return "".join(topic.said[name].format(**{name: optional[name][0]}) for name in topic.said if name in optional)


def make_call(topic: Topic, drawn: Mapping[str, Drawn]) -> Call:
    return {"name": topic.name, "arguments": {name: value for name, (_, value) in drawn.items()}}


def lower(sentence: str) -> str:
    """Write the first letter small, unless the first word is `I` or a name."""
    return sentence if re.match(r"I\b|I'm", sentence) else sentence[:1].lower() + sentence[1:]


def make_tool(topic: Topic) -> dict[str, Any]:
    properties = {name: value.schema for name, value in {**topic.required, **topic.optional}.items()}
    parameters = {"type": "object", "properties": properties, "required": list(topic.required)}
    return {"name": topic.name, "description": topic.description, "parameters": parameters}


def make_answer(topic: Topic, composer: Composer, rng: random.Random) -> Question:
    """Make a point in a conversation where one to three results are there and must be told."""
    required = composer.draw(topic.required)
    several = composer.draw_distinct(topic.required[topic.listed], rng.choice([1, 2, 2, 3])) if topic.listed else []
    items = [{**required, topic.listed: each} for each in several] or [required]
    words = dict(required)
    if several:
        words[topic.listed] = (join([each for each, _ in several]), None)
    request = composer.say(topic, fill(topic, words, {}))
    results = [{key: rng.choice(values) for key, values in topic.result.items()} for _ in items]
    told = [
        capitalise(topic.told.format(**{name: said for name, (said, _) in item.items()}, **result))
        for item, result in zip(items, results, strict=True)
    ]
    reply = "\n".join(f"- {each}" for each in told) if len(told) > 2 else " ".join(told)
    turns = [{"user": request}, {"calls": [make_call(topic, each) for each in items]}, {"results": results}]
    return {"category": "answer", "turns": turns, "expected": [], "reply": reply}


def compose_set(topics: Sequence[Topic], composer: Composer, rng: random.Random) -> Iterator[Question]:
    """Yield the questions about one set of tools, without their ids."""
    main = topics[0]
    kinds = [("single", composer.single), ("single", composer.single), ("parallel", composer.separate)]
    kinds.append(("parallel", composer.contrasted))
    if main.listed:
        kinds += [("parallel", composer.listed), ("parallel", composer.combined)]
    for category, kind in rng.sample(kinds, 4):
        request, calls = kind(main)
        yield {"category": category, "messages": request, "expected": expect(calls)}
    if len(topics) > 1:
        for _ in range(2):
            request, calls = composer.several(topics)
            yield {"category": "several", "messages": request, "expected": expect(calls)}
    areas = {topic.area for topic in topics}
    request, _ = composer.single(rng.choice([topic for topic in TOPICS if topic.area not in areas]))
    refusal = rng.choice(TABLE["refusals"]).format(join([topic.able for topic in topics]))
    yield {"category": "none", "messages": request, "expected": [], "reply": refusal}
    if main.unsaid and rng.random() < 0.5:
        request, reply = rng.choice(main.unsaid)
        yield {"category": "missing", "messages": request, "expected": [], "reply": reply}
    if main.told:
        yield make_answer(main, composer, rng)


def compose_all(seed: int) -> Iterator[dict[str, Any]]:
    """Yield the lines of the suite: sets of tools, each followed by its questions."""
    rng = random.Random(seed)
    composer = Composer(rng)
    for topic in TOPICS:
        for size in OFFER_SIZES:
            topics = [topic, *rng.sample([each for each in TOPICS if each is not topic], size - 1)]
            name = f"composed-{topic.name}-{OFFER_SIZES.index(size) if size > 1 else rng.randrange(10**6)}"
            yield {"toolset": name, "tools": [make_tool(each) for each in topics]}
            yield from number_lines(name, compose_set(topics, composer, rng))


def write_composed(path: Path, seed: int) -> None:
    write_lines(path, compose_all(seed))
