"""Composes questions from the topics of `topics.py`.

They teach what the questions of `field` teach too little of: a value that is said is given even if it is the default; a
value that is said once for several things is given in each call; every combination that is asked for is a call; what
a tool serves is not answered from memory; a result is told whole. The file has the format of every suite.
"""

import itertools
import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from composing.topics import TOPICS, Drawn, Topic, Value, join

SAID_SHARE = 0.4
"""How often an optional value is said."""

OFFER_SIZES = (1, 1, 2, 3, 4)
"""How many tools the sets of a topic have, one set for each number."""

PLURALS = ("calories", "exports", "next", "nutrition", "odds", "opening", "summary", "tides", "top", "trains", "works")

LEADS = {
    "thing": ("Tell me {}.", "Can you tell me {}?", "I would like to know {}.", "I need {}.", "Could you look up {}?"),
    "question": ("Tell me {}.", "Can you tell me {}?", "I would like to know {}.", "Do you know {}?", "Find out {}."),
    "search": ("Find {}.", "I'm looking for {}.", "Can you find {}?", "Please search for {}."),
    "deed": ("{}.", "Please {}.", "Could you {}?", "I want you to {}.", "Can you {} for me?"),
}

STARTS = (
    ("First, {}", "Second, {}", "Third, {}", "Finally, {}"),
    ("{}", "Then {}", "Also, {}", "And last, {}"),
    ("I have a few requests. {}", "After that, {}", "On a different note, {}", "Lastly, {}"),
    ("{}", "{}", "{}", "{}"),
)

REFUSALS = (
    "I'm sorry, but I can't help with that here: I can {}.",
    "None of the functions I have serves that request. They can {}.",
    "That is beyond what I can look up or do at the moment. What I can do is {}.",
    "I have no tool for that. If you like, I can {} instead.",
    "Unfortunately I can't do that with the tools at hand, which only {}.",
)

Call = dict[str, Any]
Question = dict[str, Any]


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
            return f"{'What are' if phrase.split()[1] in PLURALS else 'What is'} {phrase}?"
        is_asked = phrase.startswith(("who ", "where "))
        is_thing = phrase.startswith("the ")
        kind = "deed" if topic.is_deed else "thing" if is_thing else "question" if is_asked else "search"
        lead = self._rng.choice(LEADS[kind])
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
        ends = (", respectively",) if is_paired else (", in all combinations", ", for each of the two", "")
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
            ends = (", in each case", ", all of them", "; this goes for each of them:", ", every time")
            phrase += self._rng.choice(ends) + said(topic, optional)
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
            phrase += self._rng.choice(
                [
                    f", once {words} and once not",
                    f", {words}; and then the same without that",
                    f", with and without this: {words}",
                ]
            )
        else:
            both = self.draw_distinct(value, 2)
            first, *rest = [topic.said[name].format(**{name: words}).strip(", ") for words, _ in both]
            phrase += f", {first}" + "".join(f", and the same again, but {each}" for each in rest)
        return self.say(topic, phrase), [make_call(topic, {**required, name: each}) for each in both]

    def several(self, topics: Sequence[Topic]) -> tuple[str, list[Call]]:
        """Ask for things of several tools in one message."""
        starts = self._rng.choice(STARTS)
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
    parts = [topic.said[name].format(**{name: optional[name][0]}) for name in topic.said if name in optional]
    return "".join(parts)


def make_call(topic: Topic, drawn: Mapping[str, Drawn]) -> Call:
    return {"name": topic.name, "arguments": {name: value for name, (_, value) in drawn.items()}}


def capitalise(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def lower(sentence: str) -> str:
    """Write the first letter small, unless the first word is `I` or a name."""
    return sentence if re.match(r"I\b|I'm", sentence) else sentence[:1].lower() + sentence[1:]


def make_tool(topic: Topic) -> dict[str, Any]:
    properties = {name: value.schema for name, value in {**topic.required, **topic.optional}.items()}
    parameters = {"type": "object", "properties": properties, "required": list(topic.required)}
    return {"name": topic.name, "description": topic.description, "parameters": parameters}


def expect(calls: Sequence[Call]) -> list[dict[str, Any]]:
    return [{**call, "arguments": {name: [value] for name, value in call["arguments"].items()}} for call in calls]


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
    is_list = len(told) > 2
    reply = "\n".join(f"- {each}" for each in told) if is_list else " ".join(told)
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
    refusal = rng.choice(REFUSALS).format(join([topic.able for topic in topics]))
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
            for number, question in enumerate(compose_set(topics, composer, rng), 1):
                yield {"id": f"{name}-{number:02}", "tools": name, **question}


def write_composed(path: Path, seed: int) -> None:
    path.write_text(
        "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in compose_all(seed)), encoding="utf-8"
    )
