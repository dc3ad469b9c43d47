"""MCP: the tools of other servers for your agents (`tools`).

Examples:
    >>> from toolspeak import mcp
    >>> mcp.tools("npx -y @modelcontextprotocol/server-filesystem /tmp")
    ServerTools(filesystem)
"""

from toolspeak.errors import ServerFailed, ToolsChanged
from toolspeak.mcp_client import ServerTools
from toolspeak.run.server_tools import tools

__all__ = ["ServerFailed", "ServerTools", "ToolsChanged", "tools"]
