"""`toolspeak graph`: an agent or a recorded run, drawn in mermaid and as an SVG picture."""

import json
from collections.abc import Callable
from pathlib import Path

from toolspeak.cli.files import read_text, write_text
from toolspeak.cli.record import read_record
from toolspeak.cli.safe_text import escape_line
from toolspeak.cli.sequence_diagram import SequenceDiagram, build_diagram
from toolspeak.cli.svg import draw_agent, draw_run
from toolspeak.cli.targets import discover_targets
from toolspeak.run.graph import GraphStep, draw_flowchart

MERMAID_ARROWS = {"request": "->>", "response": "-->>"}

MAX_FIRST_LINE_BYTES = 1_000_000
"""How much of a file is read to find out whether it is a record."""


def draw(target: str, find_model_name: Callable[[], str], svg: Path | None) -> str:
    """Draw a target's agent or a recorded run, and return the mermaid text.

    Args:
        target: A target with functions, or a file of facts.
        find_model_name: Returns the name to draw for the agent's model; not called for a record.
        svg: A file to write a picture to.
    """
    if is_record(target):
        diagram = build_diagram(read_record(read_text(target), target))
        text, picture = format_mermaid(diagram), draw_run(diagram)
    else:
        tools = discover_targets(target).names
        name = escape_line(find_model_name())
        text = draw_flowchart([GraphStep(shape="model", label=name, tools=tools)])
        picture = draw_agent(name, tools)
    if svg is not None:
        write_text(svg, picture)
    return text


def is_record(target: str) -> bool:
    """Whether a target is a file of facts: it is named as JSON, or its first line is a JSON object."""
    path = Path(target)
    if path.suffix in (".jsonl", ".json"):
        return True
    try:
        with path.open("rb") as file:
            start = file.readline(MAX_FIRST_LINE_BYTES)
        return path.suffix != ".py" and isinstance(json.loads(start), dict)
    except (OSError, ValueError, RecursionError):
        return False


def format_mermaid(diagram: SequenceDiagram) -> str:
    """Format a sequence diagram in mermaid."""
    lines = ["sequenceDiagram"]
    for number, name in enumerate(diagram.participants):
        lines.append(f"    {'actor' if number == 0 else 'participant'} p{number} as {_escape(name)}")
    for arrow in diagram.arrows:
        if arrow.kind == "note":
            lines.append(f"    Note over p{arrow.source}: {_escape(arrow.text)}")
        else:
            lines.append(f"    p{arrow.source}{MERMAID_ARROWS[arrow.kind]}p{arrow.target}: {_escape(arrow.text)}")
    return "\n".join([*lines, ""])


def _escape(text: str) -> str:
    """Replace the characters that mermaid would take for the end of a label or for markup by their codes."""
    special = {"#": "#35;", ";": "#59;", "<": "#lt;", ">": "#gt;", "%": "#37;"}
    return "".join(special.get(letter, letter) for letter in text) or " "
