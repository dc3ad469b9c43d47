"""`toolspeak tools`: the tools in a target, as a model sees them or as a list."""

import json
from dataclasses import replace
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from toolspeak.cli.options import Form
from toolspeak.cli.safe_text import escape_line
from toolspeak.dialects import dialect
from toolspeak.dialects.slim_tools import count_tool_tokens
from toolspeak.spec import ToolSpec, strict_schema
from toolspeak.tools import Toolbox
from toolspeak.validation import describe
from toolspeak.wire import anthropic_messages, gemini_content, openai_chat, openai_responses


def as_form(box: Toolbox, form: Form, *, strict: bool) -> str:
    """Return what a model is sent of the tools: the definitions for an API, or the prompt of a dialect."""
    match form:
        case Form.openai:
            return _json(openai_chat.tool_definitions(box.specs, strict=strict))
        case Form.openai_responses:
            return _json(openai_responses.tool_definitions(box.specs, strict=strict))
        case Form.anthropic:
            return _json(anthropic_messages.tool_definitions(box.specs, strict=strict))
        case Form.gemini:
            return _json(gemini_content.tool_definitions(box.specs, strict=strict))
        case Form.typescript | Form.python | Form.json:
            shown = dialect(form.value).render(_specs(box, strict), ())
            return "\n".join(message.text for message in shown.messages)


def _specs(box: Toolbox, strict: bool) -> list[ToolSpec]:
    return [replace(spec, parameters=strict_schema(spec.parameters)) for spec in box.specs] if strict else [*box.specs]


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def render_tools(box: Toolbox, target: str) -> RenderableType:
    """Lay out the tools for a terminal: a line for each tool and for each of its parameters."""
    lines: list[RenderableType] = [_render_tool(spec) for spec in box.specs]
    count = len(box)
    end = f"{count} tool{'' if count == 1 else 's'} in {escape_line(target)}"
    if box.skipped:
        end += f", {len(box.skipped)} skipped (--skipped says why)"
    return Group(*lines, Text(end, style="dim"))


def render_costs(box: Toolbox) -> RenderableType:
    """Lay out about how many tokens a model is shown for the tools, in each dialect."""
    names = ("native", "json", "typescript", "python")
    costs = [f"{name} {count_tool_tokens(box.specs, dialect(name)):,}" for name in names]
    return Text(f"about this many tokens: {', '.join(costs)}", style="dim")


def _render_tool(spec: ToolSpec) -> RenderableType:
    head = Text.assemble((escape_line(spec.name), "bold cyan"), "  ", escape_line(spec.description.split("\n")[0]))
    required = spec.parameters.get("required", ())
    rows: list[Text] = []
    for name, schema in spec.parameters["properties"].items():
        allowed = escape_line(describe(schema, spec.parameters))
        default = "" if name in required else f" = {json.dumps(schema.get('default'), ensure_ascii=False)}"
        row = Text.assemble((escape_line(name), "green"), ": ", (allowed, "yellow"), (escape_line(default), "dim"))
        if about := schema.get("description"):
            row.append(f"  {escape_line(about.splitlines()[0])}")
        rows.append(row)
    return Group(head, *(Text("    ").append_text(row) for row in rows), Text(""))


def render_skipped(box: Toolbox) -> RenderableType:
    """Lay out what was left out of a toolbox, and why."""
    if not box.skipped:
        return Text("nothing was skipped", style="dim")
    return Group(
        *(Text.assemble((escape_line(each.name), "bold"), ": ", escape_line(each.reason)) for each in box.skipped)
    )
