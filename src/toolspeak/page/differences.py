"""How two runs differ: their figures, and step by step their prompts, answers, calls and results.

The steps of a run are its messages at the start, its turns, its calls and its end. Steps that are equal in both runs
are found first; between them, steps of the same kind are taken for each other's counterparts, calls by their names. The
texts of a pair are compared word by word, or line by line if they are long.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any, TypeAlias

from toolspeak.page.document import RunDocument
from toolspeak.page.figures import measure_run
from toolspeak.page.rows import preview_text
from toolspeak.values import codec
from toolspeak.values.events import (
    CallMalformed,
    CallReady,
    NestedFact,
    OwnFact,
    RunEnded,
    RunStarted,
    ToolFinished,
    TurnEnded,
    TurnStarted,
)

MAX_STEPS = 1000
"""How many steps of a run are compared."""

MAX_SHOWN_CHARS = 20_000
"""How much of a text is shown."""

MAX_WORDS = 1500
"""Longer texts are compared by lines."""

WORD = re.compile(r"\w+\s*|[^\w\s]\s*|\s+")

Segment: TypeAlias = list[str]
"""A mark, and a part of a text: `""` for what both texts have, `"-"` for the first one's, `"+"` for the second's."""

ROLES = {"system": "System", "user": "Prompt", "assistant": "Model", "tool": "Results"}

FIGURES = {
    "model": "Model",
    "dialect": "Dialect",
    "reason": "Status",
    "turns": "Turns",
    "calls": "Calls",
    "errors": "Errors",
    "repairs": "Repairs",
    "refusals": "Refusals",
    "repeats": "Repeats",
    "input_tokens": "Input tokens",
    "output_tokens": "Output tokens",
    "cost": "Cost",
    "seconds": "Duration",
}


@dataclass
class Step:
    """A step of a run: what it is, the number of its first fact, and its texts by what they are."""

    kind: str
    label: str
    fact: int
    texts: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def content(self) -> tuple[str, str, tuple[tuple[str, str], ...]]:
        """What is equal in equal steps."""
        return self.kind, self.label, tuple(self.texts.items())


def compare_runs(first: RunDocument, second: RunDocument) -> dict[str, Any]:
    """Return how two runs differ, as JSON data."""
    figures = measure_run(first), measure_run(second)
    steps = list_steps(first), list_steps(second)
    compared = [each[:MAX_STEPS] for each in steps]
    return {
        "titles": [str(each.get("title", "")) for each in figures],
        "figures": [
            {"name": name, "label": label, "values": [each.get(name) for each in figures]}
            for name, label in FIGURES.items()
            if any(name in each for each in figures)
        ],
        "steps": [_describe_pair(*pair) for pair in pair_steps(*compared)],
        "left_out": max(len(each) for each in steps) - MAX_STEPS if any(len(each) > MAX_STEPS for each in steps) else 0,
    }


# Steps


def list_steps(document: RunDocument) -> list[Step]:
    """Return the steps of a run, in the order in which they begin."""
    steps: list[Step] = []
    turns: dict[tuple[str, ...], Step] = {}
    calls: dict[tuple[tuple[str, ...], str], Step] = {}
    for number, timed in enumerate(document.facts):
        path, fact = (timed.fact.path, timed.fact.event) if isinstance(timed.fact, NestedFact) else ((), timed.fact)
        inner = "inner " if path else ""
        match fact:
            case TurnStarted():
                turns[path] = Step("turn", f"{inner}turn", number)
                steps.append(turns[path])
            case TurnEnded(message=message, usage=usage):
                step = turns.get(path)
                if step is not None:
                    if not message.calls:  # what the model says in the end has its counterpart in what it says there
                        step.label = f"{inner}answer"
                    step.texts["text"] = message.text
                    if usage.input_tokens or usage.output_tokens:
                        step.texts["tokens"] = f"{usage.input_tokens:,} in / {usage.output_tokens:,} out"
            case CallReady(call=call):
                step = calls[path, call.id] = Step("call", f"{inner}{call.name}", number)
                step.texts["arguments"] = _write_json(codec.encode_argument(call.arguments))
                steps.append(step)
            case ToolFinished(result=result) if (path, result.call_id) in calls:
                name, value = ("result", result.output) if result.error is None else ("error", result.error)
                calls[path, result.call_id].texts[name] = value if isinstance(value, str) else _write_json(value)
            case _:
                steps += _list_single_steps(fact, number, inner)
    return steps


def _list_single_steps(fact: OwnFact, number: int, inner: str) -> Iterator[Step]:
    """Yield the steps that one fact tells whole."""
    match fact:
        case RunStarted(messages=messages):
            for message in messages:
                label = f"{inner}{ROLES.get(message.role, message.role)}"
                yield Step(f"message {message.role}", label, number, {"text": message.text})
        case CallMalformed(raw=raw, reason=reason):
            yield Step("malformed", f"{inner}unreadable call", number, {"written": raw, "error": reason})
        case RunEnded(reason=reason, detail=detail):
            yield Step("end", f"{inner}end", number, {"reason": reason, **({"detail": detail} if detail else {})})
        case _:
            pass


def _write_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True, default=str)


def pair_steps(first: Sequence[Step], second: Sequence[Step]) -> Iterator[tuple[Step | None, Step | None]]:
    """Yield the steps of two runs in order, each with its counterpart; None for a step that has none."""
    equal = SequenceMatcher(None, [each.content for each in first], [each.content for each in second], autojunk=False)
    for kind, start, end, other_start, other_end in equal.get_opcodes():
        left, right = first[start:end], second[other_start:other_end]
        yield from zip(left, right, strict=True) if kind == "equal" else _pair_by_kind(left, right)


def _pair_by_kind(first: Sequence[Step], second: Sequence[Step]) -> Iterator[tuple[Step | None, Step | None]]:
    """Yield as many pairs of the same kind as there are in order; where there is a choice, the earlier ones."""
    left, right = ([(each.kind, each.label) for each in steps] for steps in (first, second))
    pairs = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]  # how many there are behind two places
    for one in range(len(left) - 1, -1, -1):
        for other in range(len(right) - 1, -1, -1):
            is_pair = left[one] == right[other]
            best = max(pairs[one + 1][other], pairs[one][other + 1])
            pairs[one][other] = pairs[one + 1][other + 1] + 1 if is_pair else best
    one = other = 0
    while one < len(left) and other < len(right):
        if left[one] == right[other]:
            yield first[one], second[other]
            one, other = one + 1, other + 1
        elif pairs[one + 1][other] >= pairs[one][other + 1]:
            yield first[one], None
            one += 1
        else:
            yield None, second[other]
            other += 1
    yield from ((each, None) for each in first[one:])
    yield from ((None, each) for each in second[other:])


def _describe_pair(first: Step | None, second: Step | None) -> dict[str, Any]:
    step = first or second
    if step is None:
        raise ValueError("a pair of steps has at least one")
    data: dict[str, Any] = {
        "kind": step.kind.partition(" ")[0],
        "label": step.label,
        "facts": [None if each is None else each.fact for each in (first, second)],
    }
    if first is None or second is None:
        mark = "+" if first is None else "-"
        parts = [_describe_alone(name, text, mark) for name, text in step.texts.items()]
        return {**data, "state": "second" if first is None else "first", "parts": parts}
    if first.texts == second.texts:
        return {**data, "state": "same", "text": preview_text(" · ".join(first.texts.values()))}
    names = dict.fromkeys((*first.texts, *second.texts))
    return {
        **data,
        "state": "changed",
        "parts": [_describe_part(name, first.texts.get(name), second.texts.get(name)) for name in names],
    }


def _describe_alone(name: str, text: str, mark: str) -> dict[str, Any]:
    segments: list[Segment] = [[mark, _cut(text)]]
    return {"label": name, "state": "changed", "texts": [segments, None] if mark == "-" else [None, segments]}


def _describe_part(name: str, first: str | None, second: str | None) -> dict[str, Any]:
    if first is None or second is None:
        return _describe_alone(name, first or second or "", "+" if first is None else "-")
    if first == second:
        return {"label": name, "state": "same", "text": preview_text(first)}
    return {"label": name, "state": "changed", "texts": list(compare_texts(_cut(first), _cut(second)))}


def _cut(text: str) -> str:
    if len(text) <= MAX_SHOWN_CHARS:
        return text
    return f"{text[:MAX_SHOWN_CHARS]}\n… (characters left out: {len(text) - MAX_SHOWN_CHARS:,})"


def compare_texts(first: str, second: str) -> tuple[list[Segment], list[Segment]]:
    """Return both texts in segments, with marks on what only one of them has."""
    words = WORD.findall(first), WORD.findall(second)
    if max(len(each) for each in words) > MAX_WORDS:
        words = first.splitlines(keepends=True), second.splitlines(keepends=True)
    if max(len(each) for each in words) > MAX_WORDS:
        return [["-", first]], [["+", second]]
    left: list[Segment] = []
    right: list[Segment] = []
    matcher = SequenceMatcher(None, *words, autojunk=False)
    for kind, start, end, other_start, other_end in matcher.get_opcodes():
        for segments, mark, text in (
            (left, "-", "".join(words[0][start:end])),
            (right, "+", "".join(words[1][other_start:other_end])),
        ):
            if text:
                segments.append(["" if kind == "equal" else mark, text])
    return left, right
