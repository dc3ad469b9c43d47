"""`toolspeak mcp serve --http`: an MCP server over HTTP, behind the access rules of the gateway."""

import os
import sys
from contextlib import suppress

from toolspeak.cli.http_server import listen, log_to_standard_error, read_key, read_origin
from toolspeak.cli.safe_text import write_output
from toolspeak.errors import UsageError
from toolspeak.gateway.app import mounted_app
from toolspeak.gateway.guard import AccessRules
from toolspeak.gateway.server import build_server, check_exposure, run_server
from toolspeak.mcp_server import ToolServer


def read_address(text: str) -> tuple[str, int]:
    """Split `HOST:PORT`. The host may be an IPv6 address in brackets."""
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdecimal() or int(port) > 65_535:
        raise UsageError(f"--http {text}: write HOST:PORT, such as 127.0.0.1:8000")
    return host, int(port)


def read_rules(host: str, key_env: str | None, origins: tuple[str, ...]) -> AccessRules:
    """Return who may send requests. Raises `UsageError` if others can reach the host and no key is set."""
    key = read_key(key_env, os.environ)
    check_exposure(host, key)
    return AccessRules(
        key=key, hosts=AccessRules().hosts | {host.lower()}, origins=frozenset(map(read_origin, origins))
    )


def serve_http(server: ToolServer, host: str, port: int, rules: AccessRules) -> None:
    """Serve until Ctrl-C."""
    with listen(host, port) as listener:
        port = listener.getsockname()[1]
        running = build_server(mounted_app({"/mcp": server}, rules), host=host, port=port)
        log_to_standard_error()
        shown = f"[{host}]" if ":" in host else host
        names = ", ".join(server.toolbox.names)
        write_output(f"http://{shown}:{port}/mcp serves {names} to MCP clients; Ctrl-C stops it\n")
        sys.stdout.flush()
        with suppress(KeyboardInterrupt):
            run_server(running, listener)
