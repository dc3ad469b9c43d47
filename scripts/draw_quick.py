"""Draws the suite `quick` from the suite `field`: `python scripts/draw_quick.py`.

`quick` is for `toolspeak calibrate` and comes with the package: sixty questions of the side of `field` that is kept for
measuring, five for each of twelve sets of tools, in rounds that a server can answer with the tools in its cache. All
categories of one turn are in it equally often. Run this after questions of `field` were added or changed; a test fails
until it has been run.
"""

import json
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from toolspeak.lab.suites import read_field_rows

QUICK = Path(__file__).parent.parent / "src" / "toolspeak" / "lab" / "quick.jsonl"

CATEGORIES = ("single", "parallel", "several", "nested", "messy", "none", "missing")
SETS = 12
QUESTIONS_PER_SET = 5

EARLY_SETS = 3
"""After so many sets each category has occurred: a slow machine may not come further."""

TOOL_COUNTS = range(4, 9)
"""How many tools a set has: several to choose from, and not so many that a slow machine reads them for minutes."""

Row = dict[str, Any]


def read_sets() -> dict[str, tuple[Row, list[Row]]]:
    """Return the sets that can be drawn, with their questions, by their names."""
    found: dict[str, tuple[Row, list[Row]]] = {}
    for _, row in read_field_rows(measured=True):
        if "toolset" in row:
            if len(row["tools"]) in TOOL_COUNTS:
                found[row["toolset"]] = (dict(row), [])
        elif row["category"] in CATEGORIES and row["tools"] in found:
            found[row["tools"]][1].append({key: value for key, value in row.items() if key != "reply"})
    return {name: (row, questions) for name, (row, questions) in found.items() if len(questions) >= QUESTIONS_PER_SET}


def draw(sets: dict[str, tuple[Row, list[Row]]], rng: random.Random) -> list[tuple[str, list[Row]]] | None:
    """Draw sets and questions; None if the categories do not come out even."""
    counts = Counter(dict.fromkeys(CATEGORIES, 0))
    drawn: list[tuple[str, list[Row]]] = []
    for name in rng.sample(sorted(sets), SETS):
        chosen = draw_questions(sets[name][1], counts, rng)
        counts.update(row["category"] for row in chosen)
        drawn.append((name, chosen))
    early = {row["category"] for _, chosen in drawn[:EARLY_SETS] for row in chosen}
    is_even = max(counts.values()) - min(counts.values()) <= 1
    return drawn if is_even and early == set(CATEGORIES) else None


def draw_questions(questions: Sequence[Row], counts: Counter[str], rng: random.Random) -> list[Row]:
    """Draw the questions of a set, first of the categories that have occurred least."""
    left, chosen, now = rng.sample(questions, len(questions)), list[Row](), Counter(counts)
    while len(chosen) < QUESTIONS_PER_SET:
        rarest = min(left, key=lambda row: now[row["category"]])
        left.remove(rarest)
        chosen.append(rarest)
        now[rarest["category"]] += 1
    order = [row["id"] for row in questions]
    return sorted(chosen, key=lambda row: order.index(row["id"]))


def format_lines() -> Iterator[str]:
    """Yield the lines of the suite: each set, then its questions."""
    sets = read_sets()
    seed = 0
    while (drawn := draw(sets, random.Random(seed))) is None:
        seed += 1
    for name, questions in drawn:
        for row in (sets[name][0], *questions):
            yield json.dumps(row, ensure_ascii=False) + "\n"


def main() -> None:
    """Write the suite, the same for the same questions."""
    text = "".join(format_lines())
    QUICK.write_text(text, encoding="utf-8")
    print(f"{QUICK.name}: {SETS * QUESTIONS_PER_SET} questions, {len(text.encode()):,} bytes")


if __name__ == "__main__":
    sys.exit(main())
