"""`toolspeak graph`: an agent or a finished run as mermaid, or as a picture."""

import json
from pathlib import Path

from toolspeak.cli.lanes import Lanes, lanes_of
from toolspeak.cli.record import recorded
from toolspeak.cli.stdout import found
from toolspeak.cli.svg import agent_picture, run_picture
from toolspeak.errors import UsageError
from toolspeak.run.graph import GraphStep, draw_flowchart
from toolspeak.settings import settings
from toolspeak.settings.calibrations import write_atomically

ARROWS = {"asks": "->>", "answers": "-->>"}


def drawn(target: str, model: str | None, svg: Path | None) -> str:
    """The drawing in mermaid; with `svg`, a picture is written there."""
    if is_facts(target):
        lanes = lanes_of(recorded(_read(Path(target)), target))
        text, picture = sequence(lanes), run_picture(lanes)
    else:
        names = found(target).names
        name = model or settings().model
        text = draw_flowchart([GraphStep(shape="model", label=name, tools=names)])
        picture = agent_picture(name, names)
    if svg is not None:
        write_atomically(svg, picture)
    return text


def is_facts(target: str) -> bool:
    """Whether a target is a file of facts: it begins as a line of JSON does."""
    path = Path(target)
    if path.suffix in (".jsonl", ".json"):
        return True
    try:
        with path.open("rb") as file:
            start = file.readline(1_000_000)
        return path.suffix != ".py" and isinstance(json.loads(start), dict)
    except (OSError, ValueError, RecursionError):
        return False


def sequence(lanes: Lanes) -> str:
    """A run as a sequence diagram in mermaid."""
    lines = ["sequenceDiagram"]
    for number, name in enumerate(lanes.names):
        lines.append(f"    {'actor' if number == 0 else 'participant'} p{number} as {_text(name)}")
    for arrow in lanes.arrows:
        if arrow.sort == "note":
            lines.append(f"    Note over p{arrow.source}: {_text(arrow.text)}")
        else:
            lines.append(f"    p{arrow.source}{ARROWS[arrow.sort]}p{arrow.target}: {_text(arrow.text)}")
    return "\n".join([*lines, ""])


def _text(text: str) -> str:
    """As mermaid wants it: what would end the label, or be taken for markup, is written as a code."""
    special = {"#": "#35;", ";": "#59;", "<": "#lt;", ">": "#gt;", "%": "#37;"}
    return "".join(special.get(letter, letter) for letter in text) or " "


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"cannot read {path}: it is not UTF-8 text") from None
