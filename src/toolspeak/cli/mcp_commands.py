"""The commands `mcp …`, with their options. Their work is imported when they are called."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Annotated

import typer

from toolspeak.cli.options import ApproveChoice
from toolspeak.errors import UsageError

mcp_app = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help="Tools from and for MCP.")


@contextmanager
def explain_missing_sdk() -> Generator[None]:
    """Raise `UsageError` where an import fails because the extra `mcp` is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types", "starlette", "uvicorn"):
            raise
        raise UsageError(f"MCP needs {error.name}; install it with: pip install 'toolspeak[mcp]'") from None


@mcp_app.callback()
def mcp_command() -> None:
    """Serve your functions to MCP clients."""


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
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-origin", metavar="ORIGIN", help="A web page that may send requests: https://HOST. Repeatable."
        ),
    ] = None,
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
    with explain_missing_sdk():
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
