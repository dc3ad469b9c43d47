"""MCP in both directions: tools of servers for your agents (`tools`), and your functions for clients (`ToolServer`).

May import `settings`, `tools`, `execution`, `loop`, `reading` and `values`; neither `run` nor `gateway`: the command
line puts them together. The third-party package `mcp` is imported when the first server starts, or with `ToolServer`:
importing this package must not import it, nor may `config.py`, `server_tools.py` and `user_servers.py`.

Tools of servers, from the outside in:

    user_servers.py     `tools`, `resources`, `prompt`: looks servers up, compares their tools with what the user
                        accepted, logs in
    server_tools.py     `ServerTools`: the tools of servers; starts a server again
    server_requests.py  what servers ask of the program: sampling, elicitation
    results.py          what servers answer, as values: results, resources, prompts
    connection.py       one life of a server, and the event loop in which all of them live
    transports.py       messages to a child process and over HTTP
    login.py            OAuth: how a user logs in, and how requests get their tokens
    config.py           how a server is reached, read from a target or an `mcp.json`
    tool_specs.py       what a server says of its tools: as specs, as what is pinned, as a difference
    failure.py          why a connection ended, in words

Functions for clients: `served_tools.py` (`ToolServer`: definitions, results, approval, limits), `served_stdio.py`
(standard input and output). Over HTTP a `ToolServer` is an ASGI app.

To add an option of a server whose tools are used: `ServerConfig` in `config.py`, and `tools` in `user_servers.py`. To
pin more of a tool: `PINNED_KEYS` in `tool_specs.py`. The limits of what is kept for a server are at the top of
`transports.py` and `connection.py`, those of what a model is shown of its tools in `tool_specs.py`. To change what
clients see of a tool or get of a call: `define_tool` and `make_call_result` in `served_tools.py`. A server that
misbehaves in tests is a mode of `tests/mcp/servers/plain.py`; a public one that must work is in `tests/mcp_servers/`, a
client in `tests/clients/test_mcp_clients.py`.

Examples:
    >>> from toolspeak import mcp
    >>> mcp.tools("npx -y @modelcontextprotocol/server-filesystem /tmp")
    ServerTools(filesystem)
"""

from typing import TYPE_CHECKING, Any

from toolspeak.mcp.server_requests import ElicitationRequest, SamplingRequest
from toolspeak.mcp.server_tools import ServerTools
from toolspeak.mcp.user_servers import prompt, resources, tools
from toolspeak.values.errors import ServerFailed, ToolsChanged

if TYPE_CHECKING:
    from toolspeak.mcp.served_stdio import serve_stdio
    from toolspeak.mcp.served_tools import ToolServer

__all__ = [
    "ElicitationRequest",
    "SamplingRequest",
    "ServerFailed",
    "ServerTools",
    "ToolServer",
    "ToolsChanged",
    "prompt",
    "resources",
    "serve_stdio",
    "tools",
]


def __getattr__(name: str) -> Any:
    """Import what serves functions when it is asked for: it needs the package `mcp`."""
    if name == "ToolServer":
        from toolspeak.mcp.served_tools import ToolServer

        return ToolServer
    if name == "serve_stdio":
        from toolspeak.mcp.served_stdio import serve_stdio

        return serve_stdio
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
