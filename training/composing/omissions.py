"""Composes requests that say all values that a tool requires, each beside nearly the same request without one of them.

They teach when to ask: a required value that is not said is asked for and not invented; an optional one is neither. In
requests for two calls of a tool the second may lack a value, and then none is called. The labels are computed. The file
has the format of every suite.
"""

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from composing.said.asked_for import PIECE, PLACE, Field, Job, in_language, list_lines
from composing.tools.unsaid_1 import FIELDS_1
from composing.tools.unsaid_2 import FIELDS_2
from composing.tools.unsaid_3 import FIELDS_3
from composing.tools.unsaid_4 import FIELDS_4

FIELDS: tuple[Field, ...] = (*FIELDS_1, *FIELDS_2, *FIELDS_3, *FIELDS_4)

SAID_SHARE = 0.4
"""How often an optional value is said."""

TWO_SHARE = 0.14
"""How often two pieces of a sentence are left out."""

MOST_TOOLS = 6
"""How many tools the larger set of a field has at most."""

OPENINGS = (
    "Hi! |Hello. |Good morning! |Quick one. |Hi there, hope you are well. |Me again. "
    " / de: Hallo! |Guten Morgen! |Kurze Sache. "
    " / fr: Bonjour ! |Bonsoir ! "
    " / es: ¡Hola! |Buenos días. "
)

CLOSINGS = " Thanks!| Thank you.| Cheers!| That's all. / de:  Danke!| Vielen Dank. / fr:  Merci ! / es:  ¡Gracias!"

Call = dict[str, Any]
Question = dict[str, Any]


@dataclass(frozen=True)
class Twins:
    """Two requests: one that says everything, and one that lacks something.

    Attributes:
        job: The tool.
        lang: The language.
        whole: What says everything.
        calls: The calls that it asks for.
        lacking: What lacks something.
        reply: The question that asks for it.
        dropped: The words that are left out, by the names of the parameters.
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

    def replace(found: re.Match[str]) -> str:
        return (found[2] or "") if found[0] in pieces else found[1]

    return PIECE.sub(replace, frame)


def fill(frame: str, words: Mapping[str, str]) -> str:
    """Put the words in; a place of one of two calls is named `bike:1`. A value that comes first stays as it is."""
    filled = PLACE.sub(lambda found: words[found[0].strip("{}")], frame)
    return filled if frame.startswith("{") else capitalise(filled)


def capitalise(text: str) -> str:
    return text[:1].upper() + text[1:]


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
    opening = rng.choice(in_language(OPENINGS, twins.lang)) if 0.5 < kind < 0.66 else ""
    closing = rng.choice(in_language(CLOSINGS, twins.lang)) if 0.6 < kind < 0.75 else ""
    texts = [f"{opening}{each}{closing}" for each in (twins.whole, twins.lacking)]
    if kind > 0.82:
        values = list(twins.dropped.values())
        texts = [lower_first(each, [*values, *list_names(twins)]).rstrip(".") for each in texts]
    return texts[0], texts[1]


def list_names(twins: Twins) -> list[str]:
    return [str(value[0]) for call in twins.calls for value in call["arguments"].values()]


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
            for index, question in enumerate(fresh, 1):
                yield {"id": f"{name}-{index:03}", "tools": name, **question}


def make_questions(twins: Twins, rng: random.Random) -> list[Question]:
    whole, lacking = style(twins, rng)
    category = "parallel" if len(twins.calls) > 1 else "single"
    return [
        {"category": category, "messages": whole, "expected": twins.calls},
        {"category": "missing", "messages": lacking, "expected": [], "reply": twins.reply},
    ]


def write_omissions(path: Path, seed: int) -> None:
    path.write_text(
        "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in compose_all(seed)), encoding="utf-8"
    )
