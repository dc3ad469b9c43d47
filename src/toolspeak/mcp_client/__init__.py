"""Tools of MCP servers: how a server is reached, kept running and called, and what its tools are for a model.

target or mcp.json ── config.py ──► server_tools.py ──► tool_specs.py ──► Tool
                                         │                                  │
                    pinning.py ◄── server.py ──► connection.py ◄────────────┘
                                                  │    └─ stdio_transport.py, http_transport.py ──► login.py
                                            loop_thread.py

The SDK `mcp` is imported when the first server starts.
"""

from toolspeak.mcp_client.config import ServerConfig, is_server_target, read_target
from toolspeak.mcp_client.server_tools import ServerTools, join_tools

__all__ = ["ServerConfig", "ServerTools", "is_server_target", "join_tools", "read_target"]
