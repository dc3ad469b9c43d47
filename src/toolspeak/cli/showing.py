"""`toolspeak tools`: what a model will see."""

import json
from enum import StrEnum
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from toolspeak.checking import describe
from toolspeak.spec import ToolSpec, strict_schema
from toolspeak.tools import Toolbox
from toolspeak.wire import anthropic_messages, openai_chat


class Form(StrEnum):
    """The forms in which tools can be shown."""

    openai = "openai"
    anthropic = "anthropic"
    json = "json"


def as_json(box: Toolbox, form: Form, *, strict: bool) -> str:
    """The tools in one of the forms, as a JSON array."""
    match form:
        case Form.openai:
            return _json(openai_chat.tool_definitions(box.specs, strict=strict))
        case Form.anthropic:
            return _json(anthropic_messages.tool_definitions(box.specs, strict=strict))
        case Form.json:
            return _json([_plain(spec, strict) for spec in box.specs])


def _plain(spec: ToolSpec, strict: bool) -> dict[str, Any]:
    parameters = strict_schema(spec.parameters) if strict else spec.parameters
    return {"name": spec.name, "description": spec.description, "parameters": parameters}


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def listing(box: Toolbox, target: str) -> RenderableType:
    """The tools for a person: a line each, and one for each parameter."""
    lines: list[RenderableType] = [_tool(spec) for spec in box.specs]
    count = len(box)
    end = f"{count} tool{'' if count == 1 else 's'} in {target}"
    if box.skipped:
        end += f", {len(box.skipped)} skipped (--skipped says why)"
    return Group(*lines, Text(end, style="dim"))


def _tool(spec: ToolSpec) -> RenderableType:
    head = Text.assemble((spec.name, "bold cyan"), "  ", spec.description.split("\n")[0])
    required = spec.parameters.get("required", ())
    rows: list[RenderableType] = []
    for name, schema in spec.parameters["properties"].items():
        allowed = describe(schema, spec.parameters)
        default = "" if name in required else f" = {json.dumps(schema.get('default'), ensure_ascii=False)}"
        row = Text.assemble((name, "green"), ": ", (allowed, "yellow"), (default, "dim"))
        if about := schema.get("description"):
            row.append(f"  {about.splitlines()[0]}")
        rows.append(row)
    return Group(head, Padding(Group(*rows), (0, 0, 1, 4), expand=False))


def skipped_listing(box: Toolbox) -> RenderableType:
    """What was left out, and why."""
    if not box.skipped:
        return Text("nothing was skipped", style="dim")
    return Group(*(Text.assemble((each.name, "bold"), ": ", each.reason) for each in box.skipped))
