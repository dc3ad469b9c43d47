"""Drawings in mermaid: of an agent, of a chain."""

from collections.abc import Sequence
from typing import Literal

from toolspeak._frozen import frozen

LONGEST = 40
"""Letters of a label."""

SHAPES = {"prompt": ("[/", "/]"), "model": ("([", "])"), "tool": ("[[", "]]"), "function": ("[", "]")}


@frozen
class Drawn:
    """One step of a drawing. A model has tools that it may call, as often as it likes."""

    shape: Literal["prompt", "model", "tool", "function"]
    label: str
    tools: tuple[str, ...] = ()


def flowchart(steps: Sequence[Drawn]) -> str:
    """Steps one after the other, from the start to the answer."""
    lines = ["flowchart TD", "    start((start))"]
    before = "start"
    for number, step in enumerate(steps, 1):
        here = f"step{number}"
        left, right = SHAPES[step.shape]
        lines.append(f"    {here}{left}{_label(step.label)}{right}")
        lines.append(f"    {before} --> {here}")
        for index, tool in enumerate(step.tools, 1):
            lines.append(f"    {here} -. call .-> {here}_{index}[[{_label(tool)}]]")
            lines.append(f"    {here}_{index} -. result .-> {here}")
        before = here
    return "\n".join([*lines, "    answer((answer))", f"    {before} --> answer", ""])


def _label(text: str) -> str:
    """Quoted as mermaid wants it: what would end the label, or begin something else, is written as a code."""
    line = " ".join(text.split())
    line = line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
    special = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "`": "#96;", "\\": "#92;"}
    return '"' + "".join(special.get(letter, letter) for letter in line) + '"'
