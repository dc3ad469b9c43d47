"""The commands `local start`, `local stop` and `local status`. Their work is imported when they are called."""

from typing import Annotated

import typer

from toolspeak.cli.options import AdapterOption, ModelOption, TrustProjectOption

local_app = typer.Typer(
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Keep the embedded model loaded between commands, or end it.",
)


@local_app.command("start")
def start_command(
    model: ModelOption = None,
    minutes: Annotated[
        float | None,
        typer.Option("--minutes", metavar="N", min=0.1, help="End it N minutes after its last use."),
    ] = None,
    adapter: AdapterOption = None,
    trust_project: TrustProjectOption = False,
) -> None:
    """Load the embedded model, and keep it loaded.

    Commands such as toolspeak run find it and need not load it again. It ends by itself when nobody has used it for
    some minutes (the setting local.keep_minutes).
    """
    from toolspeak.cli.local import start
    from toolspeak.cli.settings_loader import load_settings

    start(model, minutes, load_settings(trust_project=trust_project, adapter=adapter))


@local_app.command("stop")
def stop_command() -> None:
    """End the embedded models that are kept loaded."""
    from toolspeak.cli.local import stop

    stop()


@local_app.command("status")
def status_command(
    as_json: Annotated[bool, typer.Option("--json", help="Print the status as JSON.")] = False,
) -> None:
    """Show which embedded models are kept loaded, by which process, and until when."""
    from toolspeak.cli.local import print_status

    print_status(as_json=as_json)
