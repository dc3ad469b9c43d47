"""Tools as an MCP server: any MCP client calls Python functions, over standard input and output or over HTTP.

- `server.py`: `ToolServer`, which lists the tools and runs calls of them. It is also an ASGI app (stateless HTTP).
- `definitions.py`: a tool as MCP lists it: schemas, hints, and why a tool cannot be served.
- `call_results.py`: the result of a call as MCP sends it: text, typed output, media, errors.
- `approval.py`: calls that need approval: the client is asked to ask its user.
- `call_gate.py`: how many calls run at once; `progress.py`: progress, as fast as the client reads it.
- `stdio.py`: messages over standard input and output, which nothing else may use meanwhile.

The protocol itself is that of the official SDK (the extra `mcp`), in its version 2026-07-28 and in older ones.
"""

from toolspeak.mcp_server.server import ToolServer
from toolspeak.mcp_server.stdio import serve_stdio

__all__ = ["ToolServer", "serve_stdio"]
