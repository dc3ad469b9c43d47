"""The commands `trust` and `config`, with their options. Their work is imported when they are called."""

from pathlib import Path
from typing import Annotated

import typer

from toolspeak.cli.completion import complete_model
from toolspeak.cli.options import AdapterOption, TrustProjectOption


def trust_command(
    path: Annotated[
        Path | None,
        typer.Argument(metavar="[PATH]", help="The project's folder or settings file; this folder if left out."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Trust the settings without asking.")] = False,
    list_projects: Annotated[
        bool, typer.Option("--list", help="List the projects that you have trusted or refused.")
    ] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Forget that you trusted or refused this project.")] = False,
) -> None:
    """Let the settings of a project count.

    Shows the settings in toolspeak.toml or pyproject.toml, in this folder or above it, with what they do, and asks
    whether to trust them. Trust ends when the settings change, or a file that they name as tools. Your own settings
    file needs no trust.
    """
    from toolspeak.cli import trust

    start = path or Path()
    if list_projects:
        trust.print_decisions()
    elif remove:
        trust.remove_trust(start)
    else:
        raise typer.Exit(trust.trust(start, yes=yes))


def config_command(
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            metavar="NAME",
            help="Show the endpoint and the dialect of this model instead, and why they were chosen.",
            show_default=False,
            autocompletion=complete_model,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the settings as JSON.")] = False,
    adapter: AdapterOption = None,
    trust_project: TrustProjectOption = False,
) -> None:
    """Show the settings and where each came from.

    Also shows which settings of a project are ignored because you have not trusted it (see toolspeak trust).

    With --model, shows which endpoint and dialect a model has, and why. If nothing is known of the model, its server is
    asked whether it supports tool calls.
    """
    from toolspeak.cli.config import SettingsReport, print_report
    from toolspeak.cli.model_explanation import ModelExplanation
    from toolspeak.cli.settings_loader import load_settings

    loaded = load_settings(trust_project=trust_project, adapter=adapter, quiet=True)
    print_report(SettingsReport(loaded) if model is None else ModelExplanation(model, loaded), as_json=as_json)
