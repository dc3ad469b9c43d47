"""From a plain function to a tool: signature, docstring, schema, discovery, and arguments checked on the way in.

function ── signature.py ── docstring.py ── schema.py ──► Tool ──► Toolbox
                                                           │
JSON arguments ── arguments.py ──► the function ──► results.py ──► JSON
"""

from typing import TYPE_CHECKING

from toolspeak.tools.context import Context
from toolspeak.tools.function_tool import Tool, as_tool, tool
from toolspeak.tools.results import output_text, output_value
from toolspeak.tools.toolbox import Skipped, Toolbox
from toolspeak.values.package import export_lazily

if TYPE_CHECKING:
    from toolspeak.tools.discovery import discover
else:
    __getattr__ = export_lazily(__name__, discovery=("discover",))

__all__ = ["Context", "Skipped", "Tool", "Toolbox", "as_tool", "discover", "output_text", "output_value", "tool"]
