"""The command `page`, with its options. Its work is imported when it is called."""

from pathlib import Path
from typing import Annotated

import typer

from toolspeak.cli.completion import complete_model
from toolspeak.cli.durable_commands import STORE_VARIABLE
from toolspeak.cli.extras import explain_missing
from toolspeak.cli.options import PortOption, ToolsOption
from toolspeak.errors import UsageError


def page_command(
    target: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE_OR_FOLDER]",
            help="A file that toolspeak run --record wrote, or a folder of such files.",
            show_default=False,
        ),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="URL",
            envvar=STORE_VARIABLE,
            show_default=False,
            help="Show the durable runs of this store, live, with buttons for approvals.",
        ),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(
            "--url",
            metavar="GATEWAY",
            show_default=False,
            help="Show the exchanges of a gateway that runs with --watch; its key is read from --key-env.",
        ),
    ] = None,
    key_env: Annotated[
        str | None,
        typer.Option("--key-env", metavar="NAME", help="The environment variable that holds the key of the gateway."),
    ] = None,
    tools: ToolsOption = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            metavar="NAME",
            show_default=False,
            help="Ask this model in the playground: local, openai:NAME, http://…/v1#NAME and so on. Repeatable.",
            autocompletion=complete_model,
        ),
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(
            "--keep",
            metavar="FOLDER",
            show_default=False,
            help="Keep the runs of the playground in this folder instead of the folder for your data.",
        ),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(
            "--export",
            metavar="FILE",
            show_default=False,
            help="Write the run as one HTML file that needs nothing else, and serve nothing. Keys are left out.",
        ),
    ] = None,
    redact: Annotated[
        list[str] | None,
        typer.Option(
            "--redact",
            metavar="FIELD",
            show_default=False,
            help="Leave this field of arguments and results out of the file. Repeatable.",
        ),
    ] = None,
    port: PortOption = 0,
    open_browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in the browser, or only print its address.")
    ] = True,
) -> None:
    """Look at runs in the browser: what the model was shown, what it wrote, and how that was read.

    Without a file, a store or a gateway, shows the conversations of your log (toolspeak log). The page is served on
    this machine only. The address that is printed opens it once; the browser then has a cookie for it. With --tools or
    --model there is a playground: ask a model with these tools, and go on from any point of a run.
    """
    if redact and export is None:
        raise UsageError("--redact is for --export; in the page, name the fields when you save a run")
    if export is not None and (url or key_env or tools or model or keep):
        raise UsageError(
            "--export writes the run of a file; --url, --key-env, --tools, --model and --keep are for the page"
        )
    if key_env and url is None:
        raise UsageError("--key-env names the key of a gateway; give its address with --url")
    if keep is not None and not (tools or model):
        raise UsageError("--keep is for the runs of the playground; open it with --tools or --model")
    from toolspeak.cli.page import PageOptions, show_page

    with explain_missing("the page", "page"):
        if export is not None:
            from toolspeak.cli.page_export import write_export

            write_export(target, export, redact or ())
            return
        show_page(
            PageOptions(
                target=target,
                store=store,
                url=url,
                key_env=key_env,
                tools=tuple(tools or ()),
                models=tuple(model or ()),
                keep=keep,
                port=port,
                opens_browser=open_browser,
            )
        )
