"""Lists of tools in the sizes that coding agents send: so many tools, with so many characters in all."""

import json
import random
from typing import Any, NamedTuple

from toolspeak.values.spec import ToolSpec

WORDS = (
    "the file path of a project is relative to this folder and must not be empty when the command runs until an "
    "output ends with status of line number in text that another tool may read before it edits or searches again"
).split()


class AgentShape(NamedTuple):
    """How many tools an agent sends, with how many bytes of JSON, and the share of those in parameters."""

    tools: int
    json_bytes: int
    parameters_share: float


AGENTS = {
    "codex": AgentShape(12, 17_800, 0.45),
    "claude-code": AgentShape(24, 64_500, 0.2),
    "opencode": AgentShape(10, 21_100, 0.2),
}


def make_tools(agent: str) -> list[ToolSpec]:
    """Return tools with the number and size of those of an agent. Some are much longer than others, as theirs are."""
    shape = AGENTS[agent]
    draw = random.Random(agent)
    weights = [draw.lognormvariate(0, 0.8) for _ in range(shape.tools)]
    sizes = [shape.json_bytes * weight / sum(weights) for weight in weights]
    return [
        _make_tool(draw, f"{draw.choice(('read', 'edit', 'run', 'find'))}_{number}", size, shape)
        for number, size in enumerate(sizes)
    ]


def count_json(specs: list[ToolSpec]) -> int:
    """Return the bytes of tools as a client sends them."""
    return sum(
        len(json.dumps({"name": each.name, "description": each.description, "input_schema": each.parameters}))
        for each in specs
    )


def _make_tool(draw: random.Random, name: str, size: float, shape: AgentShape) -> ToolSpec:
    properties: dict[str, Any] = {}
    for number in range(draw.randint(1, 4)):
        kind = draw.choice(("string", "integer", "boolean"))
        about = _make_text(draw, size * shape.parameters_share / 4)
        properties[f"{draw.choice(('path', 'limit', 'query'))}_{number}"] = {"type": kind, "description": about}
    properties["mode"] = {"enum": ["fast", "whole"], "description": "How much is read. Fast is enough as a rule."}
    properties["edits"] = {
        "type": "array",
        "items": {"type": "object", "properties": {"old": {"type": "string", "description": "The text to replace."}}},
    }
    parameters = {"type": "object", "properties": properties, "required": [next(iter(properties))]}
    rest = size - len(json.dumps(parameters)) - 60
    return ToolSpec(name=name, description=_make_text(draw, rest), parameters=parameters)


def _make_text(draw: random.Random, chars: float) -> str:
    text = ""
    while len(text) < chars or not text:
        gap = "" if not text else draw.choice((" ", " ", " ", "\n\n", "\n- "))
        words = [draw.choice(WORDS) for _ in range(draw.randint(4, 14))]
        text += f"{gap}{' '.join(words).capitalize()}."
    return text
