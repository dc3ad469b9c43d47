"""From a plain function to a tool: signature, docstring, schema, discovery, and arguments checked on the way in.

function ── signature.py ── docstring.py ── types.py, schema.py ──► Tool (function_tool.py) ──► Toolbox
                                                                      │
JSON arguments ── arguments.py ──► the function ──► results.py ──► JSON

It imports `values` only (`discovery.py` also `settings`); pydantic and griffe with the first function that
needs them. To add:
- a kind of callable: `signature.py`; a docstring style: `parse_sections` in `docstring.py`, with its case in
  `tests/tools/test_docstrings.py`
- a type that needs no pydantic: `types.py`, with the property in `tests/tools/test_plain_types.py`; any other type:
  `pydantic_types.py`; how schemas of parameters become one, short for a model: `schema.py`
- an option of a tool: `ToolOptions` in `function_tool.py`, and `ToolSpec` in `values/spec.py`
- a tool that a JSON schema describes, such as that of an MCP server: `schema_function.py`
- a place to discover tools in: `discovery.py`
- how a result looks to a model: `results.py`
"""

from typing import TYPE_CHECKING

from toolspeak.tools.context import Context, Happened
from toolspeak.tools.function_tool import Tool, as_tool, tool
from toolspeak.tools.results import output_text, output_value
from toolspeak.tools.signature import Decisive, Free, Key
from toolspeak.tools.toolbox import Skipped, Toolbox
from toolspeak.values.package import export_lazily

if TYPE_CHECKING:
    from toolspeak.tools.discovery import discover
else:
    __getattr__ = export_lazily(__name__, discovery=("discover",))

__all__ = [
    "Context",
    "Decisive",
    "Free",
    "Happened",
    "Key",
    "Skipped",
    "Tool",
    "Toolbox",
    "as_tool",
    "discover",
    "output_text",
    "output_value",
    "tool",
]
