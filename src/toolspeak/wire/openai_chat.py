"""OpenAI's chat completions API. So far: how it is told of tools."""

from collections.abc import Iterable
from typing import Any

from toolspeak.spec import ToolSpec, strict_schema


def tool_definitions(specs: Iterable[ToolSpec], *, strict: bool = False) -> list[dict[str, Any]]:
    """The `tools` parameter of a request."""
    return [{"type": "function", "function": _function(spec, strict)} for spec in specs]


def _function(spec: ToolSpec, strict: bool) -> dict[str, Any]:
    function: dict[str, Any] = {"name": spec.name, "description": spec.description}
    if strict:
        return {**function, "strict": True, "parameters": strict_schema(spec.parameters)}
    return {**function, "parameters": spec.parameters}
