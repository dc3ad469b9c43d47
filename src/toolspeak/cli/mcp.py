"""`toolspeak mcp serve`, `mcp login` and `mcp logout`: functions for MCP clients, and the user's logins at servers."""

import logging
import re
import sys
import webbrowser
from contextlib import suppress
from pathlib import Path

from toolspeak.cli.agent_config import discover_targets
from toolspeak.cli.options import ApproveChoice
from toolspeak.cli.safe_text import escape_line, print_error, write_output
from toolspeak.cli.server_options import McpServeOptions
from toolspeak.mcp.config import ServerConfig
from toolspeak.mcp.served_stdio import serve_stdio
from toolspeak.mcp.served_tools import ToolServer
from toolspeak.mcp.user_servers import MIN_CODE_CHARS, find_servers, log_in
from toolspeak.settings.user_files import list_logins, remove_login
from toolspeak.values.errors import UsageError


def read_address(text: str) -> tuple[str, int]:
    """Split `HOST:PORT`. The host may be an IPv6 address in brackets."""
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdecimal() or int(port) > 65_535:
        raise UsageError(f"--http {text}: write HOST:PORT, such as 127.0.0.1:8000")
    return host, int(port)


def serve(options: McpServeOptions) -> None:
    """Serve functions to MCP clients, until the client leaves or Ctrl-C."""
    if options.http is None and (options.key_env or options.origins):
        raise UsageError("--key-env and --allow-origin are for HTTP: give --http HOST:PORT as well")
    if options.http is not None:
        _serve_http(options, *read_address(options.http))
        return
    server = _build_server(options)
    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    print_error(f"{', '.join(server.toolbox.names)} for the MCP client on standard input")
    with suppress(KeyboardInterrupt):
        serve_stdio(server)


def _serve_http(options: McpServeOptions, host: str, port: int) -> None:
    """Serve over HTTP, behind the access rules of the gateway."""
    # Only now: a client that starts this command waits for it, and need not wait for the gateway.
    from toolspeak.cli.http_server import listen, log_to_standard_error, read_access_rules
    from toolspeak.gateway.app import mounted_app
    from toolspeak.gateway.server import build_server, run_server

    rules = read_access_rules(host, options.key_env, options.origins)
    server = _build_server(options)
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


def _build_server(options: McpServeOptions) -> ToolServer:
    return build_tool_server(options.targets, options.name, options.approve, options.timeout)


def build_tool_server(
    targets: tuple[str, ...],
    name: str | None = None,
    approve: ApproveChoice = ApproveChoice.ask,
    timeout: float | None = None,
) -> ToolServer:
    """Return the server of the tools in targets, and report on standard error which of them it cannot serve."""
    if approve is ApproveChoice.once:
        raise UsageError(
            "--approve once is for a call that waits in a conversation; a server takes ask, always or never"
        )
    box = discover_targets(*targets, approve=False)  # the client asks its user
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


def log_in_to(name: str, file: Path | None, *, browser: bool) -> None:
    """Let the user log in to a server.

    Raises:
        UsageError: There is no such server, or no terminal in which the user could be told where to log in.
        ServerFailed: The login was refused, took too long, or the server cannot be reached.
    """
    config = _find_server(name, file)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("toolspeak mcp login needs a terminal, since you log in with a browser")
    about = f"{escape_line(config.name)} ({escape_line(config.place)})"

    def show(url: str) -> None:
        write_output(f"to log in to {about}, open this address:\n\n{url}\n\nwaiting; Ctrl-C gives up\n")
        sys.stdout.flush()
        if browser:
            webbrowser.open(url)

    if log_in(config, show):
        write_output(f"you are logged in to {about}\n")
    else:
        write_output(f"{about} needs no login\n")


def forget_login(name: str, file: Path | None) -> None:
    """Forget the login at a server."""
    config = _find_server(name, file)
    remove_login(config.identity)
    write_output(f"the login at {escape_line(config.name)} ({escape_line(config.place)}) is forgotten\n")


def _find_server(name: str, file: Path | None) -> ServerConfig:
    found = find_servers(name, file)
    if len(found) > 1:
        places = "; ".join(f"{each.identity[:MIN_CODE_CHARS]} is {each.place}" for each in found)
        raise UsageError(f"several MCP servers are named {name!r}; give the code instead: {places}")
    if found:
        return found[0]
    if file is not None:
        raise UsageError(f"{file} has no server {name!r} with a url")
    known = ", ".join(dict.fromkeys(str(login["name"]) for login in list_logins().values())) or "none"
    raise UsageError(
        f"no MCP server named {name!r} asked for a login; known are: {known}; give the address of the server, or the "
        "file that names it with --servers"
    )
