"""The commands `serve` and `pull`, with their options. Their work is imported when they are called."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from toolspeak.cli.extras import explain_missing
from toolspeak.cli.options import AdapterOption, AllowOriginOption, DialectOption, PortOption, TrustProjectOption


def serve_command(
    model: Annotated[
        list[str] | None,
        typer.Option("--model", metavar="NAME", help="A model to serve. Repeatable."),
    ] = None,
    dialect: DialectOption = None,
    host: Annotated[str, typer.Option("--host", metavar="HOST", help="The address to listen on.")] = "127.0.0.1",
    port: PortOption = 8765,
    key_env: Annotated[
        str | None,
        typer.Option(
            "--key-env", metavar="NAME", help="The environment variable that holds the key clients must send."
        ),
    ] = None,
    mend: Annotated[
        bool, typer.Option("--mend/--no-mend", help="Ask the model again when a call is malformed.")
    ] = True,
    thinks: Annotated[
        bool,
        typer.Option(
            "--thinks",
            help="Answers may begin inside their reasoning, without an opening tag: stream none of it as text.",
        ),
    ] = False,
    record: Annotated[
        Path | None,
        typer.Option(
            "--record", metavar="DIR", help="Record the exchanges with the models in this folder, without keys."
        ),
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option("--replay", metavar="DIR", help="Answer from the recordings in this folder, without the models."),
    ] = None,
    alias: Annotated[
        list[str] | None,
        typer.Option("--alias", metavar="NAME=MODEL", help="Another name for a model that is served. Repeatable."),
    ] = None,
    allow_origin: AllowOriginOption = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse requests with fields or tools that would be left out.")
    ] = False,
    tool_budget: Annotated[
        int | None,
        typer.Option(
            "--tool-budget",
            metavar="TOKENS",
            min=1,
            help="Cut the descriptions of tools until all tools together take this many tokens; a model reads the "
            "whole of one with a call of help.",
        ),
    ] = None,
    show: Annotated[
        bool, typer.Option("--show", help="Write each exchange to standard output, as a line of JSON without keys.")
    ] = False,
    watch: Annotated[
        bool,
        typer.Option("--watch", help="Keep the last hundred exchanges in memory, served at /exchanges behind the key."),
    ] = False,
    otlp: Annotated[
        str | None,
        typer.Option(
            "--otlp",
            metavar="URL",
            help="Send spans of each exchange to this collector of OpenTelemetry, such as http://127.0.0.1:4318.",
        ),
    ] = None,
    otlp_content: Annotated[
        bool, typer.Option("--otlp-content", help="With --otlp: send what was asked and answered, too, without keys.")
    ] = False,
    mcp: Annotated[
        list[str] | None,
        typer.Option(
            "--mcp",
            metavar="TARGET",
            help="Functions to serve to MCP clients at /mcp: module, file.py, folder/ or module:function. Repeatable.",
        ),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="URL",
            help="Serve the durable runs of this store at /runs, and its figures at /metrics.",
        ),
    ] = None,
    agents: Annotated[
        str | None,
        typer.Option("--agents", metavar="APP.py:NAME", help="Drive the runs of the store here, with these agents."),
    ] = None,
    adapter: AdapterOption = None,
    trust_project: TrustProjectOption = False,
) -> None:
    """Serve models to clients of OpenAI's, Anthropic's and Gemini's APIs.

    The clients get native tool calls from every model, whatever its dialect. Without --model, the models in the
    settings are served (see toolspeak config).
    """
    with explain_missing("the gateway", "gateway"):
        from toolspeak.cli.serve import ServeOptions, serve
    from toolspeak.cli.settings_loader import load_settings

    serve(
        ServeOptions(
            models=tuple(model or ()),
            dialect=dialect,
            host=host,
            port=port,
            key_env=key_env,
            mends=2 if mend else 0,
            thinks=thinks,
            record=record,
            replay=replay,
            aliases=tuple(alias or ()),
            origins=tuple(allow_origin or ()),
            strict=strict,
            tool_budget=tool_budget,
            show=show,
            watch=watch,
            otlp=otlp,
            otlp_content=otlp_content,
            mcp=tuple(mcp or ()),
            store=store,
            agents=agents,
        ),
        lambda: load_settings(trust_project=trust_project, adapter=adapter),
    )


def pull_command(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="The model whose weights to download.")] = "local",
) -> None:
    """Download the weights of the embedded model (1.1 GB).

    An interrupted download continues where it stopped. Weights that are there are checked.
    """
    from toolspeak.cli.console import SafeConsole
    from toolspeak.cli.pull import pull_weights

    path = pull_weights(model, SafeConsole(stderr=True, soft_wrap=True))
    sys.stdout.write(f"{path}\n")
