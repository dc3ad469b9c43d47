"""`toolspeak mcp login` and `mcp logout`: the user's logins at MCP servers."""

import sys
import webbrowser
from pathlib import Path

from toolspeak.cli.safe_text import escape_line, write_output
from toolspeak.errors import UsageError
from toolspeak.mcp_client import ServerConfig
from toolspeak.run.server_logins import MIN_CODE_CHARS, find_servers, log_in
from toolspeak.settings.server_logins import list_logins, remove_login


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
        raise UsageError(f"{file} names no server {name!r} with a url")
    known = ", ".join(dict.fromkeys(str(login["name"]) for login in list_logins().values())) or "none"
    raise UsageError(
        f"no MCP server named {name!r} asked for a login; known are: {known}; give the address of the server, or the "
        "file that names it with --servers"
    )
