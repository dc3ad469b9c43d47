"""Mermaid flowcharts of agents and chains."""

from collections.abc import Sequence
from typing import Literal

from toolspeak.values.frozen import frozen

MAX_LABEL_CHARS = 40

SHAPES = {"prompt": ("[/", "/]"), "model": ("([", "])"), "tool": ("[[", "]]"), "function": ("[", "]")}


@frozen
class GraphStep:
    """One step of a flowchart. A model also has the tools that it may call."""

    shape: Literal["prompt", "model", "tool", "function"]
    label: str
    tools: tuple[str, ...] = ()


def draw_flowchart(steps: Sequence[GraphStep]) -> str:
    """Draw the steps one after the other, from the start to the answer."""
    lines = ["flowchart TD", "    start((start))"]
    before = "start"
    for number, step in enumerate(steps, 1):
        here = f"step{number}"
        left, right = SHAPES[step.shape]
        lines.append(f"    {here}{left}{_quote_label(step.label)}{right}")
        lines.append(f"    {before} --> {here}")
        for index, tool in enumerate(step.tools, 1):
            lines.append(f"    {here} -. call .-> {here}_{index}[[{_quote_label(tool)}]]")
            lines.append(f"    {here}_{index} -. result .-> {here}")
        before = here
    return "\n".join([*lines, "    answer((answer))", f"    {before} --> answer", ""])


def _quote_label(text: str) -> str:
    """Quote a label for mermaid; characters that would end the label or begin markup become entity codes."""
    line = " ".join(text.split())
    line = line if len(line) <= MAX_LABEL_CHARS else f"{line[: MAX_LABEL_CHARS - 1]}…"
    special = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "`": "#96;", "\\": "#92;"}
    return '"' + "".join(special.get(letter, letter) for letter in line) + '"'
