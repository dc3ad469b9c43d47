"""Composes questions from the topics of `tables/topics.toml`.

They teach what the questions of `field` teach too little of: a value that is said is given even if it is the default; a
value that is said once for several things is given in each call; every combination that is asked for is a call; what
a tool serves is not answered from memory; a result is told whole.

A topic is one tool, with a phrase that asks for it. A phrase has a place for each required value, such as `{years}`;
what is said of an optional value is appended to the phrase.
"""

import itertools
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from composing.kinds import Drawn, Slot, make_slots
from composing.tables import describe_tool, expect, read_table, write_set
from composing.talk import Talk, capitalise, join_words, lower_first

SAID_SHARE = 0.4  # how often an optional value is said
OFFER_SIZES = (1, 1, 2, 3, 4)  # how many tools the sets of a topic have, one set for each number

Call = dict[str, Any]
Question = dict[str, Any]
Request = tuple[str, list[Call]]  # a request, and the calls that are right for it


@dataclass(frozen=True)
class Topic:
    """A tool and how people ask for it; the README of `training` tells what each entry is."""

    name: str
    description: str
    area: str
    phrase: str
    able: str
    required: Mapping[str, Slot]
    optional: Mapping[str, Slot]
    said: Mapping[str, str] = field(default_factory=dict[str, str])
    listed: str = ""
    is_deed: bool = False
    unsaid: Sequence[tuple[str, str]] = ()
    result: Mapping[str, Sequence[Any]] = field(default_factory=dict[str, Sequence[Any]])
    told: str = ""

    def describe(self) -> dict[str, Any]:
        """Return the definition of the tool."""
        properties = {name: slot.schema for name, slot in {**self.required, **self.optional}.items()}
        return describe_tool(self.name, self.description, properties, list(self.required))

    def ask(self, drawn: Mapping[str, Drawn]) -> str:
        """Put words into the phrase, and append what is said of optional values."""
        return self.phrase.format(**{name: words for name, (words, _) in drawn.items()}) + self.append(drawn)

    def append(self, drawn: Mapping[str, Drawn]) -> str:
        return "".join(words.format(**{name: drawn[name][0]}) for name, words in self.said.items() if name in drawn)

    def call(self, drawn: Mapping[str, Drawn]) -> Call:
        return {"name": self.name, "arguments": {name: value for name, (_, value) in drawn.items()}}


TABLE = read_table("topics")
TOPICS = [
    Topic(**each | {key: make_slots(each.get(key, {})) for key in ("required", "optional")}) for each in TABLE["topics"]
]


class Composer:
    """Draws requests with the calls that are right for them."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._talk = Talk(rng)

    def draw(self, slots: Mapping[str, Slot]) -> dict[str, Drawn]:
        return {name: slot.draw(self._talk) for name, slot in slots.items()}

    def draw_optional(self, topic: Topic) -> dict[str, Drawn]:
        return self.draw({name: slot for name, slot in topic.optional.items() if self._rng.random() < SAID_SHARE})

    def draw_distinct(self, slot: Slot, count: int) -> list[Drawn]:
        """Draw some values, each other than the others."""
        found: dict[str, Drawn] = {}
        for _ in range(count * 6):
            words, value = slot.draw(self._talk)
            found.setdefault(json.dumps(value), (words, value))
        return list(found.values())[:count]

    def say(self, topic: Topic, phrase: str) -> str:
        """Make a sentence of a phrase."""
        is_thing = phrase.startswith("the ")
        if is_thing and self._rng.random() < 0.4:
            return f"{'What are' if phrase.split()[1] in TABLE['plurals'] else 'What is'} {phrase}?"
        is_asked = phrase.startswith(("who ", "where "))
        kind = "deed" if topic.is_deed else "thing" if is_thing else "question" if is_asked else "search"
        return capitalise(self._rng.choice(TABLE["leads"][kind]).format(phrase))

    def single(self, topic: Topic) -> Request:
        drawn = {**self.draw(topic.required), **self.draw_optional(topic)}
        return self.say(topic, topic.ask(drawn)), [topic.call(drawn)]

    def listed(self, topic: Topic) -> Request:
        """Name several values in one place; what else is said holds for each of them."""
        drawn = {**self.draw(topic.required), **self.draw_optional(topic)}
        several = self.draw_distinct(topic.required[topic.listed], self._rng.choice([2, 2, 3, 4]))
        calls = [topic.call({**drawn, topic.listed: each}) for each in several]
        return self.say(topic, topic.ask({**drawn, topic.listed: name_all(several)})), calls

    def combined(self, topic: Topic) -> Request:
        """Name several values in two places: pairs of them, or all combinations."""

        def draw_two(name: str) -> list[Drawn]:
            return self.draw_distinct(topic.required[name], 2)

        others = [name for name in topic.required if name != topic.listed and len(draw_two(name)) == 2]
        if not others:
            return self.listed(topic)
        other = self._rng.choice(others)
        drawn = {**self.draw(topic.required), **self.draw_optional(topic)}
        first, second = draw_two(topic.listed), draw_two(other)
        is_paired = self._rng.random() < 0.4
        pairs = zip(first, second, strict=False) if is_paired else itertools.product(first, second)
        calls = [topic.call({**drawn, topic.listed: a, other: b}) for a, b in pairs]
        phrase = topic.ask({**drawn, topic.listed: name_all(first), other: name_all(second)})
        return self.say(topic, phrase + self._rng.choice(TABLE["paired" if is_paired else "combined"])), calls

    def separate(self, topic: Topic) -> Request:
        """Ask for several things one after the other; what is said once may hold for all."""
        optional = self.draw_optional(topic)
        items = [self.draw(topic.required) for _ in range(self._rng.choice([2, 2, 3]))]
        if optional and self._rng.random() < 0.6:
            end = self._rng.choice(TABLE["for_each"]) + topic.append(optional)
            calls = [topic.call({**each, **optional}) for each in items]
        else:
            # The last one has nothing of its own: at the end of a sentence it would hold for all.
            items, end = [{**each, **self.draw_optional(topic)} for each in items[:-1]] + items[-1:], ""
            calls = [topic.call(each) for each in items]
        return self.say(topic, join_words("en", [topic.ask(each) for each in items]) + end), calls

    def contrasted(self, topic: Topic) -> Request:
        """Ask for the same thing twice, with two values of an optional one: the default is said too."""
        if not topic.optional:
            return self.separate(topic)
        name = self._rng.choice(list(topic.optional))
        required, slot = self.draw(topic.required), topic.optional[name]
        phrase = topic.ask(required)
        if slot.schema["type"] == "boolean":
            both: list[Drawn] = [("", True), ("", False)]
            phrase += self._rng.choice(TABLE["contrasts"]).format(topic.said[name].strip(", "))
        else:
            both = self.draw_distinct(slot, 2)
            first, *rest = [topic.said[name].format(**{name: words}).strip(", ") for words, _ in both]
            phrase += f", {first}" + "".join(f", and the same again, but {each}" for each in rest)
        return self.say(topic, phrase), [topic.call({**required, name: each}) for each in both]

    def several(self, topics: Sequence[Topic]) -> Request:
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
            sentences.append(start.format(sentence if is_first_word else lower_first(sentence)))
            calls += more
        return " ".join(sentences), calls

    def answer(self, topic: Topic) -> Question:
        """Make a point in a conversation where one to three results are there and must be told."""
        required = self.draw(topic.required)
        items = [required]
        if topic.listed:
            several = self.draw_distinct(topic.required[topic.listed], self._rng.choice([1, 2, 2, 3]))
            items = [{**required, topic.listed: each} for each in several]
            required = {**required, topic.listed: name_all(several)}
        request = self.say(topic, topic.ask(required))
        results = [{key: self._rng.choice(values) for key, values in topic.result.items()} for _ in items]
        told = [
            capitalise(topic.told.format(**{name: said for name, (said, _) in item.items()}, **result))
            for item, result in zip(items, results, strict=True)
        ]
        reply = "\n".join(f"- {each}" for each in told) if len(told) > 2 else " ".join(told)
        turns = [{"user": request}, {"calls": [topic.call(each) for each in items]}, {"results": results}]
        return {"category": "answer", "turns": turns, "expected": [], "reply": reply}


def name_all(drawn: Sequence[Drawn]) -> Drawn:
    return join_words("en", [words for words, _ in drawn]), None


def compose_set(topics: Sequence[Topic], composer: Composer, rng: random.Random) -> Iterator[Question]:
    """Yield the questions about one set of tools, without their ids."""
    main = topics[0]
    kinds: list[tuple[str, Callable[[Topic], Request]]] = [("single", composer.single)] * 2
    kinds += [("parallel", composer.separate), ("parallel", composer.contrasted)]
    if main.listed:
        kinds += [("parallel", composer.listed), ("parallel", composer.combined)]
    for category, kind in rng.sample(kinds, 4):
        request, calls = kind(main)
        yield {"category": category, "messages": request, "expected": expect(calls)}
    for _ in range(2 if len(topics) > 1 else 0):
        request, calls = composer.several(topics)
        yield {"category": "several", "messages": request, "expected": expect(calls)}
    areas = {topic.area for topic in topics}
    request, _ = composer.single(rng.choice([topic for topic in TOPICS if topic.area not in areas]))
    refusal = rng.choice(TABLE["refusals"]).format(join_words("en", [topic.able for topic in topics]))
    yield {"category": "none", "messages": request, "expected": [], "reply": refusal}
    if main.unsaid and rng.random() < 0.5:
        request, reply = rng.choice(main.unsaid)
        yield {"category": "missing", "messages": request, "expected": [], "reply": reply}
    if main.told:
        yield composer.answer(main)


def compose(seed: int) -> Iterator[dict[str, Any]]:
    """Yield the lines of the suite: sets of tools, each followed by its questions."""
    rng = random.Random(seed)
    composer = Composer(rng)
    for topic in TOPICS:
        for size in OFFER_SIZES:
            topics = [topic, *rng.sample([each for each in TOPICS if each is not topic], size - 1)]
            name = f"composed-{topic.name}-{OFFER_SIZES.index(size) if size > 1 else rng.randrange(10**6)}"
            yield from write_set(name, [each.describe() for each in topics], compose_set(topics, composer, rng))
