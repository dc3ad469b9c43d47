"""The playground of `toolspeak page`: models and tools that the command line and the settings name."""

from collections.abc import Sequence
from pathlib import Path

from toolspeak.cli.settings_loader import load_settings
from toolspeak.cli.targets import discover_configured, discover_targets
from toolspeak.models import Model
from toolspeak.page.playground import Playground
from toolspeak.run.model_lookup import find_model
from toolspeak.settings import Settings
from toolspeak.settings.folders import data_folder
from toolspeak.settings.values import hide_password

FOLDER_NAME = "playground"
"""The folder in the user's data folder that keeps the runs."""


def build_playground(models: Sequence[str], targets: Sequence[str], folder: Path | None) -> Playground:
    """Build the playground.

    Args:
        models: The models that the command line named; those of the settings and `local` are added.
        targets: Where the tools are; without any, the targets of the settings.
        folder: Where runs are kept; None for the user's data folder.
    """
    settings = load_settings(quiet=True)
    toolbox = discover_targets(*targets) if targets else discover_configured(settings.tools)

    names = {hide_password(name): name for name in list_models(models, settings)}

    def find(shown_name: str) -> Model:
        return find_model(names[shown_name], configured=settings, keep_warm=True)

    return Playground(folder or data_folder() / FOLDER_NAME, [*names], find, toolbox, targets or settings.tools)


def list_models(named: Sequence[str], settings: Settings) -> list[str]:
    """Return the models that can be chosen: those of the command line, then those of the settings, and `local`."""
    endpoints = [f"{name}:{endpoint.model}" for name, endpoint in settings.endpoints.items() if endpoint.model]
    return list(dict.fromkeys((*named, settings.model, *endpoints, "local")))
