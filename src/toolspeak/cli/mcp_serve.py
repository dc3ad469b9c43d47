"""`toolspeak mcp serve`: serves functions to MCP clients, until the client leaves or Ctrl-C."""

import logging
import re
from contextlib import suppress
from pathlib import Path

from toolspeak._frozen import frozen
from toolspeak.cli.options import ApproveChoice
from toolspeak.cli.safe_text import escape_line, print_error
from toolspeak.cli.targets import discover_targets
from toolspeak.errors import UsageError
from toolspeak.mcp_server import ToolServer, serve_stdio


@frozen
class McpServeOptions:
    """The options of `toolspeak mcp serve`.

    Attributes:
        targets: Where the functions are.
        http: The address to listen on, as `HOST:PORT`; None for standard input and output.
        key_env: The environment variable with the key that HTTP clients must send.
        origins: The web pages that may send requests, as browsers name them.
        name: The name of the server; None for that of the first target.
        approve: What happens to calls of tools that need approval.
        timeout: Seconds after which a call is given up, if its tool has no timeout of its own.
    """

    targets: tuple[str, ...]
    http: str | None = None
    key_env: str | None = None
    origins: tuple[str, ...] = ()
    name: str | None = None
    approve: ApproveChoice = ApproveChoice.ask
    timeout: float | None = None


def serve(options: McpServeOptions) -> None:
    """Serve until the client leaves, or until Ctrl-C."""
    if options.http is None and (options.key_env or options.origins):
        raise UsageError("--key-env and --allow-origin are for HTTP: give --http HOST:PORT as well")
    if options.http is not None:
        # Only now: a client that starts this command waits for it, and need not wait for the gateway.
        from toolspeak.cli.mcp_http import read_address, read_rules, serve_http

        host, port = read_address(options.http)
        rules = read_rules(host, options.key_env, options.origins)
        serve_http(_build_server(options), host, port, rules)
        return
    server = _build_server(options)
    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    print_error(f"{', '.join(server.toolbox.names)} for the MCP client on standard input")
    with suppress(KeyboardInterrupt):
        serve_stdio(server)


def _build_server(options: McpServeOptions) -> ToolServer:
    return build_tool_server(options.targets, options.name, options.approve, options.timeout)


def build_tool_server(
    targets: tuple[str, ...],
    name: str | None = None,
    approve: ApproveChoice = ApproveChoice.ask,
    timeout: float | None = None,
) -> ToolServer:
    """Return the server of the tools in targets, and report on standard error which of them it cannot serve."""
    box = discover_targets(*targets)
    server = ToolServer(box, name=name or name_server(targets[0]), approve=approve.value, timeout=timeout)
    if box.skipped:
        print_error(f"{len(box.skipped)} skipped (toolspeak tools {escape_line(targets[0])} --skipped says why)")
    for each in server.left_out:
        print_error(f"{escape_line(each.name)} is not served: {each.reason}")
    return server


def name_server(target: str) -> str:
    """Return the name of a target without folders, packages and the function: `tools/weather.py:now` is `weather`."""
    path = Path(target.partition(":")[0])
    name = path.stem if path.suffix == ".py" else path.name.rpartition(".")[2]
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-") or "toolspeak"
