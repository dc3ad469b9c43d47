"""Composes requests that say all values that a tool requires, each beside nearly the same request without one of them.

They teach when to ask: a required value that is not said is asked for and not invented; an optional one is neither. In
requests for two calls of a tool the second may lack a value, and then none is called. The labels are computed. The file
has the format of every suite.

The tools are in `tables/omissions-*.toml`. Texts in several languages are written in one string: `beams / de: Balken`.
Where a language is not there, the first text serves: a name or a code is the same in all of them. Several texts of one
language are divided by `|`.
"""

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from composing.said.days import LANGUAGES, MONTHS, WORDS, list_plain_days
from composing.tables import capitalise, make_all, number_lines, read_table, write_lines

SAID_SHARE = 0.4
"""How often an optional value is said."""

TWO_SHARE = 0.14
"""How often two pieces of a sentence are left out."""

MOST_TOOLS = 6
"""How many tools the larger set of a field has at most."""

Call = dict[str, Any]
Question = dict[str, Any]
Schema = dict[str, Any]
Values = Mapping[str, Any]
Say = Callable[[random.Random, str, Values], tuple[str, Any]]
"""Draws the words for a value, and the value, when the values before it are drawn."""

PIECE = re.compile(r"\[([^\]|]*)(?:\|([^\]]*))?\]")
"""A piece of a sentence that can be left out, with what is said in its place."""

PLACE = re.compile(r"{(\w+)(?::([12]))?}")
"""The place of a value; `{bike:2}` is that of the second of two calls."""


@dataclass(frozen=True)
class Part:
    """A parameter; the questions that ask for it may name other values: `Which day should {bike} be fetched?`"""

    schema: Schema
    say: Say
    asks: str = ""
    after: str = ""


@dataclass(frozen=True)
class Job:
    """A tool, and the sentences that ask for it; the README of `training` tells what each entry is."""

    name: str
    description: str
    parts: Mapping[str, Part]
    frames: str
    asks: Mapping[str, str]
    twos: str = ""

    @property
    def required(self) -> list[str]:
        return [key for key in self.parts if not key.endswith("?")]

    def find_part(self, key: str) -> Part:
        return self.parts[key] if key in self.parts else self.parts[f"{key}?"]

    def describe(self) -> Schema:
        """Return the definition of the tool."""
        properties = {key.rstrip("?"): part.schema for key, part in self.parts.items()}
        parameters = {"type": "object", "properties": properties, "required": self.required}
        return {"name": self.name, "description": self.description, "parameters": parameters}


@dataclass(frozen=True)
class Field:
    """Tools that one set offers, under the name of the set."""

    name: str
    jobs: Sequence[Job]


def list_lines(text: str) -> list[tuple[str, str]]:
    """Return the sentences with their languages."""
    lines = [line.strip() for line in text.strip().splitlines()]
    return [(line[:2], line[4:]) if is_marked(line) else ("en", line) for line in lines if line]


def is_marked(text: str) -> bool:
    return text[2:4] == ": " and text[:2] in LANGUAGES


def in_language(text: str, lang: str) -> list[str]:
    """Return the texts of a language; of the first one if it has none."""
    parts = text.split(" / ")
    marked = {part[:2]: part[4:] for part in parts if is_marked(part)}
    return marked.get(lang, parts[0]).split("|")


def text(description: str, values: Sequence[str], asks: str = "") -> Part:
    """Make a parameter for names and the like."""
    schema: Schema = {"type": "string", "description": description}
    return Part(schema, lambda rng, lang, _: (said := in_language(rng.choice(values), lang)[0], said), asks)


def code(description: str, pattern: str, asks: str = "") -> Part:
    """Make a parameter for numbers such as `K-417`: each `#` of the pattern is a digit."""
    schema: Schema = {"type": "string", "description": description}
    return Part(
        schema, lambda rng, _lang, _values: (made := re.sub("#", lambda _: str(rng.randint(1, 9)), pattern), made), asks
    )


def number(description: str, values: Sequence[float], asks: str = "", default: float | None = None) -> Part:
    """Make a parameter for a number; an integer if all values are."""
    kind = "integer" if all(isinstance(each, int) for each in values) else "number"

    def say(rng: random.Random, lang: str, _: Values) -> tuple[str, Any]:
        value = rng.choice(values)
        return str(value) if lang == "en" else str(value).replace(".", ","), value

    return Part(with_default({"type": kind, "description": description}, default), say, asks)


def choice(description: str, values: Mapping[str, str], asks: str = "", default: str | None = None) -> Part:
    """Make a parameter for one of several values, each with the words for it."""

    def say(rng: random.Random, lang: str, _: Values) -> tuple[str, Any]:
        value = rng.choice(list(values))
        return rng.choice(in_language(values[value], lang)), value

    schema: Schema = {"type": "string", "description": description, "enum": list(values)}
    return Part(with_default(schema, default), say, asks)


def flag(description: str, words: str) -> Part:
    """Make an optional parameter that is true where the words are said."""
    schema: Schema = {"type": "boolean", "description": description, "default": False}
    return Part(schema, lambda rng, lang, _: (rng.choice(in_language(words, lang)), True))


def several(description: str, items: Sequence[str], asks: str = "", counts: Sequence[int] = (2, 3, 3, 4)) -> Part:
    """Make a parameter for a list of things."""

    def say(rng: random.Random, lang: str, _: Values) -> tuple[str, Any]:
        drawn = rng.sample([in_language(each, lang)[0] for each in items], rng.choice(counts))
        last = {"en": " and ", "de": " und ", "fr": " et ", "es": " y "}[lang]
        return last.join([", ".join(drawn[:-1]), drawn[-1]]), drawn

    return Part({"type": "array", "items": {"type": "string"}, "description": description}, say, asks)


def day(description: str, asks: str = "", after: str = "", most: int = 20) -> Part:
    """Make a parameter for a day, one that comes after that of another parameter if `after` names it."""

    def say(rng: random.Random, lang: str, values: Values) -> tuple[str, Any]:
        if after:
            value = date.fromisoformat(values[after]) + timedelta(rng.randint(2, most))
        else:
            value = date(2026, 1, 1) + timedelta(rng.randrange(700))
        return rng.choice(list_plain_days(lang, value)), value.isoformat()

    return Part({"type": "string", "description": f"{description}, YYYY-MM-DD"}, say, asks, after)


def month(description: str, asks: str = "") -> Part:
    """Make a parameter for a month."""

    def say(rng: random.Random, lang: str, _: Values) -> tuple[str, Any]:
        year, place = rng.choice([2024, 2025, 2026]), rng.randrange(12)
        link = " de " if lang == "es" else " "
        return f"{MONTHS[lang][place]}{link}{year}", f"{year}-{place + 1:02}"

    return Part({"type": "string", "description": f"{description}, YYYY-MM"}, say, asks)


def clock(description: str, asks: str = "", hours: tuple[int, int] = (7, 20), after: str = "") -> Part:
    """Make a parameter for a time of the day, one that comes after that of another parameter if `after` names it."""

    def say(rng: random.Random, lang: str, values: Values) -> tuple[str, Any]:
        first = int(values[after][:2]) + 1 if after else hours[0]
        hour, minute = rng.randint(first, min(23, first + 6) if after else hours[1]), rng.choice([0, 0, 15, 30, 45])
        kind = {"en": " am" if hour < 12 else " pm", "fr": "" if minute else " full"}.get(lang, "")
        ways = WORDS["plain_clocks"][f"{lang}{kind}"]
        said = rng.choice(ways).format(hour=hour, minute=minute, twelve=(hour - 1) % 12 + 1)
        return said, f"{hour:02}:{minute:02}"

    return Part({"type": "string", "description": f"{description}, HH:MM, 24 hours"}, say, asks, after)


def with_default(schema: Schema, default: Any) -> Schema:
    return schema if default is None else {**schema, "default": default}


KINDS = {each.__name__: each for each in (text, code, number, choice, flag, several, day, month, clock)}

FIELDS = [
    Field(each["name"], [Job(**{"asks": {}} | job | {"parts": make_all(job["parts"], KINDS)}) for job in each["jobs"]])
    for place in (1, 2, 3, 4)
    for each in read_table(f"omissions-{place}")["fields"]
]


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


def draw_values(job: Job, lang: str, rng: random.Random) -> dict[str, tuple[str, Any]]:
    """Draw the words and the value of each parameter."""
    drawn: dict[str, tuple[str, Any]] = {}
    for key, part in job.parts.items():
        drawn[key.rstrip("?")] = part.say(rng, lang, {each: value for each, (_, value) in drawn.items()})
    return drawn


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


def make_call(job: Job, drawn: Mapping[str, tuple[str, Any]], said: Sequence[str]) -> Call:
    order = [key.rstrip("?") for key in job.parts]
    return {"name": job.name, "arguments": {key: [drawn[key][1]] for key in order if key in said}}


def ask_for(job: Job, lang: str, pieces: Sequence[str], words: Mapping[str, str], rng: random.Random) -> str:
    """Write the question that asks for what was left out; it names no value that was not said."""
    questions: list[str] = []
    for piece in pieces:
        keys = sorted(list_keys(piece), key=job.required.index)
        together = job.asks.get("+".join(keys))
        asked = [together] if together else [job.find_part(each).asks for each in keys]
        for each in asked:
            able = [one for one in in_language(each, lang) if set(list_keys(one)) <= set(words)]
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


def draw_twins(job: Job, lang: str, frame: str, piece: str, rng: random.Random) -> Twins:
    """Draw a request, and the same without a piece, or without this and another one."""
    others = [each for each in list_pieces(job, frame) if each != piece]
    left_out = [piece, *([rng.choice(others)] if others and rng.random() < TWO_SHARE else [])]
    left_out.sort(key=frame.index)
    unsaid = [
        found[0]
        for found in PIECE.finditer(frame)
        if not set(list_keys(found[0])) <= set(job.required) and rng.random() >= SAID_SHARE
    ]
    for _ in range(200):
        drawn = draw_values(job, lang, rng)
        words = {key: each for key, (each, _) in drawn.items()}
        whole, lacking = leave_out(frame, unsaid), leave_out(frame, [*unsaid, *left_out])
        dropped = {key: words[key] for each in left_out for key in list_keys(each)}
        text = fill(lacking, words)
        if not any(is_said(each, text) or is_said(str(drawn[key][1]), text) for key, each in dropped.items()):
            said = {key: words[key] for key in list_keys(lacking)}
            reply = ask_for(job, lang, left_out, said, rng)
            call = make_call(job, drawn, list_keys(whole))
            return Twins(job, lang, fill(whole, words), [call], text, reply, dropped)
    raise ValueError(f"{job.name}: what is left out is said elsewhere: {frame}")


def draw_double(job: Job, lang: str, line: str, rng: random.Random) -> Twins:
    """Draw a request for two calls, and the same in which the second lacks a value."""
    frame, _, replies = line.partition(" >> ")
    [piece] = list_pieces(job, frame)
    unsaid = [found[0] for found in PIECE.finditer(frame) if found[0] != piece and rng.random() >= SAID_SHARE]
    whole, lacking = leave_out(frame, unsaid), leave_out(frame, [*unsaid, piece])
    own = {key for key, which in PLACE.findall(frame) if which}
    [dropped_key] = list_keys(piece)
    for _ in range(500):
        first, second = draw_values(job, lang, rng), draw_values(job, lang, rng)
        second = {key: second[key] if key in own else first[key] for key in second}
        words = {key: each for key, (each, _) in first.items()}
        for which, drawn in (("1", first), ("2", second)):
            words |= {f"{key}:{which}": each for key, (each, _) in drawn.items()}
        gone, value = second[dropped_key]
        text = fill(lacking, words)
        is_apart = all(first[key][1] != second[key][1] for key in own if key in list_keys(lacking))
        is_ordered = all(is_later(job, key, second) for key in second)
        if is_apart and is_ordered and not is_said(gone, text) and not is_said(str(value), text):
            keys = list_keys(whole)
            calls = [make_call(job, drawn, keys) for drawn in (first, second)]
            reply = fill(rng.choice(replies.split(" | ")), words)
            return Twins(job, lang, fill(whole, words), calls, text, reply, {dropped_key: gone})
    raise ValueError(f"{job.name}: what is left out is said elsewhere: {frame}")


def is_later(job: Job, key: str, drawn: Mapping[str, tuple[str, Any]]) -> bool:
    """Whether a day or time that ends something comes after the one that begins it."""
    after = job.find_part(key).after
    return not after or drawn[key][1] > drawn[after][1]


def style(twins: Twins, rng: random.Random) -> tuple[str, str]:
    """Give both requests the same tone."""
    kind = rng.random()
    opening = rng.choice(in_language(WORDS["twin_openings"], twins.lang)) if 0.5 < kind < 0.66 else ""
    closing = rng.choice(in_language(WORDS["twin_closings"], twins.lang)) if 0.6 < kind < 0.75 else ""
    texts = [f"{opening}{each}{closing}" for each in (twins.whole, twins.lacking)]
    if kind > 0.82:
        named = [str(value[0]) for call in twins.calls for value in call["arguments"].values()]
        texts = [lower_first(each, [*twins.dropped.values(), *named]).rstrip(".") for each in texts]
    return texts[0], texts[1]


def lower_first(text: str, names: Sequence[str]) -> str:
    """Write the first letter small, unless the word begins a value or is written in capitals."""
    first = text.split()[0].rstrip(",.:;!?")
    is_name = any(first in name for name in names) or first.isupper() or re.match(r"I('|\b)", text)
    return text if is_name else text[:1].lower() + text[1:]


def draw_all(rng: random.Random) -> Iterator[tuple[Field, Twins]]:
    """Yield the twins of each set of tools."""
    for field in FIELDS:
        for job in field.jobs:
            for lang, frame in list_lines(job.frames):
                for piece in list_pieces(job, frame):
                    yield field, draw_twins(job, lang, frame, piece, rng)
            for lang, line in list_lines(job.twos):
                for _ in range(2):
                    yield field, draw_double(job, lang, line, rng)


def compose_all(seed: int) -> Iterator[dict[str, Any]]:
    """Yield the lines of the suite: sets of tools, each followed by its questions."""
    rng = random.Random(seed)
    seen: set[str] = set()
    by_field: dict[str, list[Twins]] = {}
    for field, twins in draw_all(rng):
        by_field.setdefault(field.name, []).append(twins)
    for field in FIELDS:
        others = [job for each in FIELDS if each is not field for job in each.jobs]
        more = rng.sample(others, rng.randint(1, MOST_TOOLS - len(field.jobs)))
        drawn = rng.sample(by_field[field.name], len(by_field[field.name]))
        half = len(drawn) // 2
        for name, jobs, asked in (
            (f"om_{field.name}", field.jobs, drawn[:half]),
            (f"om_{field.name}_more", (*field.jobs, *more), drawn[half:]),
        ):
            tools = [job.describe() for job in jobs]
            yield {"toolset": name, "tools": rng.sample(tools, len(tools))}
            questions = [each for twins in asked for each in make_questions(twins, rng)]
            fresh = [each for each in questions if not (each["messages"] in seen or seen.add(each["messages"]))]
            yield from number_lines(name, fresh, digits=3)


def make_questions(twins: Twins, rng: random.Random) -> list[Question]:
    whole, lacking = style(twins, rng)
    category = "parallel" if len(twins.calls) > 1 else "single"
    return [
        {"category": category, "messages": whole, "expected": twins.calls},
        {"category": "missing", "messages": lacking, "expected": [], "reply": twins.reply},
    ]


def write_omissions(path: Path, seed: int) -> None:
    write_lines(path, compose_all(seed))
