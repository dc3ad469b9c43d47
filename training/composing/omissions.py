"""Composes requests that say all values that a tool requires, each beside nearly the same request without one of them.

They teach when to ask: a required value that is not said is asked for and not invented; an optional one is neither. In
requests for two calls of a tool the second may lack a value, and then none is called. The labels are computed. The
tools are in `tables/omissions-*.toml`.
"""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from composing.kinds import Drawn, Slot, make_slots
from composing.tables import describe_tool, read_table, write_set
from composing.talk import WORDS, Talk, capitalise, list_sentences, list_ways, lower_first

SAID_SHARE = 0.4  # how often an optional value is said
TWO_SHARE = 0.14  # how often two pieces of a sentence are left out
MOST_TOOLS = 6  # how many tools the larger set of a field has at most
MAX_DRAWS = 500  # how often values are drawn until what is left out is not said elsewhere

Call = dict[str, Any]
Question = dict[str, Any]

PIECE = re.compile(r"\[([^\]|]*)(?:\|([^\]]*))?\]")
"""A piece of a sentence that can be left out, with what is said in its place."""

PLACE = re.compile(r"{(\w+)(?::([12]))?}")  # the place of a value; `{bike:2}` is that of the second of two calls


@dataclass(frozen=True)
class Job:
    """A tool, and the sentences that ask for it; the README of `training` tells what each entry is.

    The questions that ask for a parameter may name other values: `Which day should {bike} be fetched?`
    """

    name: str
    description: str
    parts: Mapping[str, Mapping[str, Any]]
    frames: str
    asks: Mapping[str, str]
    twos: str = ""

    @cached_property
    def required(self) -> list[str]:
        return [key for key in self.parts if not key.endswith("?")]

    @cached_property
    def slots(self) -> dict[str, Slot]:
        return make_slots(self.parts)

    def find(self, key: str, entry: str) -> str:
        """Return an entry of a parameter, such as the questions that ask for it, or an empty text."""
        return self.parts[key if key in self.parts else f"{key}?"].get(entry, "")

    def describe(self) -> dict[str, Any]:
        """Return the definition of the tool."""
        properties = {key: slot.schema for key, slot in self.slots.items()}
        return describe_tool(self.name, self.description, properties, self.required)

    def draw(self, lang: str, rng: random.Random) -> dict[str, Drawn]:
        """Draw the words and the value of each parameter."""
        talk = Talk(rng, lang)
        drawn: dict[str, Drawn] = {}
        for key, slot in self.slots.items():
            drawn[key] = slot.draw(talk)
            talk.drawn[key] = drawn[key][1]
        return drawn

    def call(self, drawn: Mapping[str, Drawn], said: Sequence[str]) -> Call:
        return {"name": self.name, "arguments": {key: [drawn[key][1]] for key in self.slots if key in said}}


FIELDS = {
    each["name"]: [Job(**{"asks": {}} | job) for job in each["jobs"]]
    for place in (1, 2, 3, 4)
    for each in read_table(f"omissions-{place}")["fields"]
}
"""Tools that one set offers, by the name of the set."""


@dataclass(frozen=True)
class Twins:
    """Two requests: one that says everything, with its calls, and one that lacks something, with the question for it.

    `dropped` has the words that are left out, by the names of the parameters.
    """

    job: Job
    lang: str
    whole: str
    calls: Sequence[Call]
    lacking: str
    reply: str
    dropped: Mapping[str, str]


def list_pieces(job: Job, frame: str) -> list[str]:
    """Return the pieces of a sentence that hold required values."""
    return [found[0] for found in PIECE.finditer(frame) if set(list_keys(found[0])) <= set(job.required)]


def list_keys(frame: str) -> list[str]:
    return [key for key, _ in PLACE.findall(frame)]


def leave_out(frame: str, pieces: Sequence[str]) -> str:
    """Take the brackets away, and the pieces that are left out."""
    return PIECE.sub(lambda found: (found[2] or "") if found[0] in pieces else found[1], frame)


def fill(frame: str, words: Mapping[str, str]) -> str:
    """Put the words in; a place of one of two calls is named `bike:1`. A value that comes first stays as it is."""
    filled = PLACE.sub(lambda found: words[found[0].strip("{}")], frame)
    return filled if frame.startswith("{") else capitalise(filled)


def is_said(words: str, text: str) -> bool:
    return re.search(rf"(?<![\w.:-]){re.escape(words)}(?![\w:-])", text, re.IGNORECASE) is not None


def ask_for(job: Job, lang: str, pieces: Sequence[str], words: Mapping[str, str], rng: random.Random) -> str:
    """Write the question that asks for what was left out; it names no value that was not said."""
    questions: list[str] = []
    for piece in pieces:
        keys = sorted(list_keys(piece), key=job.required.index)
        together = job.asks.get("+".join(keys))
        asked = [together] if together else [job.find(each, "asks") for each in keys]
        for each in asked:
            able = [one for one in list_ways(lang, each) if set(list_keys(one)) <= set(words)]
            if not able:
                raise ValueError(f"{job.name}: no question asks for {keys} without naming what is not said")
            questions.append(fill(rng.choice(able), words))
    first, *rest = questions
    return " ".join([first, *(add_and(each, lang) for each in rest)])


def add_and(question: str, lang: str) -> str:
    """Make a question the second of two."""
    if lang == "es":
        return question.replace("¿", "¿Y ", 1).replace(question[1], question[1].lower(), 1)
    small = question[:1].lower() + question[1:]
    return {"en": "And ", "de": "Und ", "fr": "Et "}[lang] + small


def draw_twins(
    job: Job, lang: str, frame: str, left_out: Sequence[str], rng: random.Random, replies: str = ""
) -> Twins:
    """Draw a request, and the same without some pieces.

    With places for two calls, the second lacks the pieces, and the replies say what is asked.
    """
    needed = list_pieces(job, frame)
    unsaid = [each[0] for each in PIECE.finditer(frame) if each[0] not in needed and rng.random() >= SAID_SHARE]
    whole, lacking = leave_out(frame, unsaid), leave_out(frame, [*unsaid, *left_out])
    own = {key for key, which in PLACE.findall(frame) if which}
    for _ in range(MAX_DRAWS):
        first = job.draw(lang, rng)
        second = first | {key: each for key, each in job.draw(lang, rng).items() if key in own} if own else first
        words = {key: each for key, (each, _) in first.items()}
        words |= {f"{key}:1": each for key, (each, _) in first.items()}
        words |= {f"{key}:2": each for key, (each, _) in second.items()}
        text = fill(lacking, words)
        dropped = {key: second[key] for each in left_out for key in list_keys(each)}
        is_hidden = not any(is_said(each, text) or is_said(str(value), text) for each, value in dropped.values())
        is_apart = all(first[key][1] != second[key][1] for key in own if key in list_keys(lacking))
        if is_hidden and is_apart and all(is_later(job, key, second) for key in second):
            if replies:
                reply = fill(rng.choice(replies.split(" | ")), words)
            else:
                reply = ask_for(job, lang, left_out, {key: words[key] for key in list_keys(lacking)}, rng)
            calls = [job.call(drawn, list_keys(whole)) for drawn in ([first, second] if own else [first])]
            gone = {key: each for key, (each, _) in dropped.items()}
            return Twins(job, lang, fill(whole, words), calls, text, reply, gone)
    raise ValueError(f"{job.name}: what is left out is said elsewhere: {frame}")


def is_later(job: Job, key: str, drawn: Mapping[str, tuple[str, Any]]) -> bool:
    """Whether a day or time that ends something comes after the one that begins it."""
    after = job.find(key, "after")
    return not after or drawn[key][1] > drawn[after][1]


def style(twins: Twins, rng: random.Random) -> tuple[str, str]:
    """Give both requests the same tone."""
    kind, talk = rng.random(), Talk(rng, twins.lang)
    opening = talk.pick(WORDS["twin_openings"]) if 0.5 < kind < 0.66 else ""
    closing = talk.pick(WORDS["twin_closings"]) if 0.6 < kind < 0.75 else ""
    texts = [f"{opening}{each}{closing}" for each in (twins.whole, twins.lacking)]
    if kind > 0.82:
        named = [str(value[0]) for call in twins.calls for value in call["arguments"].values()]
        texts = [lower_first(each, [*twins.dropped.values(), *named]).rstrip(".") for each in texts]
    return texts[0], texts[1]


def draw_all(rng: random.Random) -> Iterator[tuple[str, Twins]]:
    """Yield the twins of each set of tools."""
    for name, jobs in FIELDS.items():
        for job in jobs:
            for lang, frame in list_sentences(job.frames):
                pieces = list_pieces(job, frame)
                for piece in pieces:
                    others = [each for each in pieces if each != piece]
                    left_out = [piece, *([rng.choice(others)] if others and rng.random() < TWO_SHARE else [])]
                    yield name, draw_twins(job, lang, frame, sorted(left_out, key=frame.index), rng)
            for lang, line in list_sentences(job.twos):
                frame, _, replies = line.partition(" >> ")
                for _ in range(2):
                    yield name, draw_twins(job, lang, frame, list_pieces(job, frame), rng, replies)


def compose(seed: int) -> Iterator[dict[str, Any]]:
    """Yield the lines of the suite: sets of tools, each followed by its questions."""
    rng = random.Random(seed)
    seen: set[str] = set()
    by_field: dict[str, list[Twins]] = {}
    for field, twins in draw_all(rng):
        by_field.setdefault(field, []).append(twins)
    for field, jobs in FIELDS.items():
        others = [job for each in FIELDS.values() if each is not jobs for job in each]
        more = rng.sample(others, rng.randint(1, MOST_TOOLS - len(jobs)))
        drawn = rng.sample(by_field[field], len(by_field[field]))
        half = len(drawn) // 2
        for name, offered, asked in (
            (f"om_{field}", jobs, drawn[:half]),
            (f"om_{field}_more", (*jobs, *more), drawn[half:]),
        ):
            tools = rng.sample([job.describe() for job in offered], len(offered))
            questions: list[Question] = []
            for twins in asked:
                whole, lacking = style(twins, rng)
                category = "parallel" if len(twins.calls) > 1 else "single"
                questions.append({"category": category, "messages": whole, "expected": twins.calls})
                questions.append({"category": "missing", "messages": lacking, "expected": [], "reply": twins.reply})
            fresh = [each for each in questions if not (each["messages"] in seen or seen.add(each["messages"]))]
            yield from write_set(name, tools, fresh, digits=3)
