"""MCP: the tools of other servers for your agents (`tools`).

Examples:
    >>> from toolspeak import mcp
    >>> mcp.tools("npx -y @modelcontextprotocol/server-filesystem /tmp")
    ServerTools(filesystem)
"""

from toolspeak.mcp.server_tools import ServerTools
from toolspeak.mcp.user_servers import tools
from toolspeak.values.errors import ServerFailed, ToolsChanged

__all__ = ["ServerFailed", "ServerTools", "ToolsChanged", "tools"]
