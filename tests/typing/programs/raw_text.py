"""A tool with a raw text keeps the types of its function."""

from typing import assert_type

from toolspeak import Tool, ToolSpec, tool


@tool(raw="patch")
def apply_patch(patch: str, check: bool = False) -> int:
    """Apply a patch."""
    return len(patch) + check


assert_type(apply_patch("+a", check=True), int)
assert_type(apply_patch.spec.raw, str | None)
again = Tool(apply_patch, raw=None)
assert_type(again("+a"), int)
ToolSpec(name="run", description="Run a program.", parameters=apply_patch.spec.parameters, raw="patch")
