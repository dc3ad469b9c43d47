"""The commands `mcp …`, with their options. Their work is imported when they are called."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolspeak.cli.extras import explain_missing
from toolspeak.cli.options import AllowOriginOption, ApproveChoice
from toolspeak.errors import UsageError

if TYPE_CHECKING:
    from toolspeak.settings.server_pins import ServerPin

mcp_app = typer.Typer(
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Use the tools of MCP servers, and serve your functions to MCP clients.",
)


ID_CHARS = 8
"""Characters of the code by which servers of the same name are told apart."""

NameArgument = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="The name of the server, or its code, as mcp list shows them.", show_default=False
    ),
]


ServerArgument = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="The name of a server that asked for a login, or its address.", show_default=False
    ),
]

ServersFileOption = Annotated[
    Path | None,
    typer.Option(
        "--servers", metavar="FILE", help="The mcp.json that names the server, if it was not used yet.", dir_okay=False
    ),
]


@mcp_app.command("list")
def list_command() -> None:
    """List the MCP servers whose tools were used.

    A server that describes its tools in another way than when they were accepted is marked, with the difference.
    """
    from toolspeak.cli.safe_text import escape_line, write_output
    from toolspeak.mcp_client.pinning import format_changes
    from toolspeak.settings.server_logins import find_login
    from toolspeak.settings.server_pins import list_pins

    pins = list_pins()
    if not pins:
        write_output("no MCP server has been used\n")
    names = [pin.name for pin in pins]
    for pin in pins:
        notes = ", hints trusted" if pin.trust_hints else ""
        notes += ", logged in" if (find_login(pin.identity) or {}).get("tokens") else ""
        state = f", changed in {len(pin.changed)}: see below" if pin.changed else ""
        name = pin.name if names.count(pin.name) == 1 else f"{pin.name} ({pin.identity[:ID_CHARS]})"
        line = f"{name}  {pin.place}  {len(pin.tools)} tools{notes}{state}"
        write_output(f"{escape_line(line)}\n")
        for each in format_changes(pin.tools, pin.changed):
            write_output(f"    {escape_line(each)}\n")


@mcp_app.command("trust")
def trust_server_command(
    name: NameArgument,
    hints: Annotated[
        bool | None,
        typer.Option(
            "--hints/--no-hints",
            help="Believe the server when it says that a tool only reads, or may be repeated.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Accept the tools of an MCP server as it describes them now."""
    from toolspeak.cli.safe_text import escape_line, write_output
    from toolspeak.mcp_client.pinning import format_changes
    from toolspeak.settings.server_pins import accept_change, save_pin

    pin = _find_pin(name)
    for each in format_changes(pin.tools, pin.changed):
        write_output(f"{escape_line(each)}\n")
    save_pin(accept_change(pin, trust_hints=hints))
    write_output(f"the tools of {escape_line(pin.name)} ({escape_line(pin.place)}) are accepted\n")


@mcp_app.command("remove")
def remove_command(name: NameArgument) -> None:
    """Forget an MCP server. Its tools are accepted as they are when it is used the next time."""
    from toolspeak.cli.safe_text import escape_line, write_output
    from toolspeak.settings.server_pins import remove_pin

    pin = _find_pin(name)
    remove_pin(pin)
    write_output(f"{escape_line(pin.name)} ({escape_line(pin.place)}) is forgotten\n")


@mcp_app.command("login")
def login_command(
    name: ServerArgument,
    servers: ServersFileOption = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the address in a browser, or only print it.")
    ] = True,
) -> None:
    """Log in to an MCP server over HTTP, so that its tools can be used.

    The address at which you log in is printed. The tokens are kept in your config folder, and used by every run.
    """
    with explain_missing("MCP", "mcp"):
        from toolspeak.cli.mcp_login import log_in_to
    log_in_to(name, servers, browser=browser)


@mcp_app.command("logout")
def logout_command(name: ServerArgument, servers: ServersFileOption = None) -> None:
    """Forget the login at an MCP server. The server is not told."""
    from toolspeak.cli.mcp_login import forget_login

    forget_login(name, servers)


@mcp_app.command("serve")
def mcp_serve_command(
    targets: Annotated[
        list[str],
        typer.Argument(
            metavar="TARGET",
            help="Where the functions are: module, package.module, file.py, folder/ or module:function.",
            show_default=False,
        ),
    ],
    http: Annotated[
        str | None,
        typer.Option(
            "--http", metavar="HOST:PORT", help="Serve over HTTP, at http://HOST:PORT/mcp; port 0 for any free one."
        ),
    ] = None,
    key_env: Annotated[
        str | None,
        typer.Option(
            "--key-env", metavar="NAME", help="The environment variable that holds the key HTTP clients must send."
        ),
    ] = None,
    allow_origin: AllowOriginOption = None,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="The name of the server; without it, that of the first target."),
    ] = None,
    approve: Annotated[
        ApproveChoice,
        typer.Option(
            "--approve",
            help="Calls of tools that need approval: ask the client's user where the client can, approve or refuse.",
        ),
    ] = ApproveChoice.ask,
    timeout: Annotated[
        float | None,
        typer.Option(
            "--timeout", metavar="SECONDS", min=0.001, help="Give up a call of a tool without a timeout of its own."
        ),
    ] = None,
) -> None:
    """Serve functions to an MCP client, such as Claude Code or Claude Desktop.

    Over standard input and output, for a client that starts this command; with --http, over HTTP. What the functions
    print goes to standard error.
    """
    with explain_missing("MCP", "mcp"):
        from toolspeak.cli.mcp_serve import McpServeOptions, serve
    serve(
        McpServeOptions(
            targets=tuple(targets),
            http=http,
            key_env=key_env,
            origins=tuple(allow_origin or ()),
            name=name,
            approve=approve,
            timeout=timeout,
        )
    )


def _find_pin(name: str) -> "ServerPin":
    """Return the server with a name, or with the code that tells servers of the same name apart."""
    from toolspeak.settings.server_pins import list_pins

    pins = list_pins()
    found = [pin for pin in pins if pin.name == name]
    if len(name) >= ID_CHARS and not found:
        found = [pin for pin in pins if pin.identity.startswith(name)]
    if not found:
        known = ", ".join(dict.fromkeys(pin.name for pin in pins)) or "none"
        raise UsageError(f"no MCP server named {name!r} has been used; known are: {known}")
    if len(found) > 1:
        places = "; ".join(f"{pin.identity[:ID_CHARS]} is {pin.place}" for pin in found)
        raise UsageError(f"several MCP servers are named {name!r}; give the code instead: {places}")
    return found[0]
