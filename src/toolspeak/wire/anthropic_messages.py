"""Anthropic's messages API. So far: how it is told of tools."""

from collections.abc import Iterable
from typing import Any

from toolspeak.spec import ToolSpec, can_be_strict, strict_schema


def tool_definitions(specs: Iterable[ToolSpec], *, strict: bool = False) -> list[dict[str, Any]]:
    """The `tools` parameter of a request. A tool that has no strict variant is given as it is."""
    return [_tool(spec, strict) for spec in specs]


def _tool(spec: ToolSpec, strict: bool) -> dict[str, Any]:
    tool: dict[str, Any] = {"name": spec.name, "description": spec.description}
    if strict and can_be_strict(spec.parameters):
        return {**tool, "strict": True, "input_schema": strict_schema(spec.parameters)}
    return {**tool, "input_schema": spec.parameters}
