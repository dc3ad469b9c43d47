"""Loads the settings for a command, and asks the user before those of a project count."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from toolspeak.cli.safe_text import print_error
from toolspeak.cli.trust import ask_trust
from toolspeak.errors import UsageError
from toolspeak.models import Model
from toolspeak.run.model_lookup import find_model
from toolspeak.settings import Settings
from toolspeak.settings.loader import load_with_project
from toolspeak.settings.project_file import ProjectFile, check_allowed, find_project
from toolspeak.settings.schema import SETTINGS, check_value
from toolspeak.settings.trust import find_decision, is_named_by_variable, save_decision
from toolspeak.settings.values import UNTRUSTED, IgnoredSettings


def load_settings(*, trust_project: bool = False, quiet: bool = False, adapter: str | None = None) -> Settings:
    """Load the settings, with those of the project in the working directory as far as the user trusts it.

    In a terminal, the user is asked once about a project that was not decided on, and a line on standard error names
    the settings that do not count.

    Args:
        trust_project: Trust the project without asking.
        quiet: Neither ask nor print.
        adapter: The value of the option `--adapter`, which counts instead of the setting `local.adapter`.
    """
    return _set_adapter(_load_trusted(trust_project=trust_project, quiet=quiet), adapter)


def _load_trusted(*, trust_project: bool, quiet: bool) -> Settings:
    search = find_project(Path.cwd())
    trusted = trust_project or (search.file is not None and _is_trusted(search.file))
    loaded = load_with_project(search, trusted=trusted)
    if quiet:
        return loaded
    if search.file is not None and _can_be_asked(search.file, loaded) and _ask(search.file, loaded):
        loaded = load_with_project(search, trusted=True)
    for each in loaded.ignored:
        print_error(describe_ignored(each))
    return loaded


def _set_adapter(settings: Settings, adapter: str | None) -> Settings:
    if adapter is None:
        return settings
    value = check_value(SETTINGS["local.adapter"], "--adapter", adapter, "the command line")
    return replace(
        settings,
        local=replace(settings.local, adapter=value),
        origins={**settings.origins, "local.adapter": "the option --adapter"},
    )


def find_model_with_settings(*, trust_project: bool, adapter: str | None = None) -> Callable[[str | None], Model]:
    """Return a function that finds a model by its name, and loads the settings when it is called."""

    def find(name: str | None) -> Model:
        if name is not None and name.startswith(("http://", "https://")):  # an address needs no settings
            return find_model(name)
        return find_model(name, configured=load_settings(trust_project=trust_project, adapter=adapter))

    return find


def describe_ignored(ignored: IgnoredSettings) -> str:
    """Return a sentence that names a file, the settings in it that do not count, why, and how to change that."""
    if ignored.reason != UNTRUSTED:
        return f"{ignored.where} was skipped: {ignored.reason}"
    names = ", ".join(name for name, _ in ignored.rows)
    return f"{ignored.where} is not trusted, so this was ignored: {names}; to see it and decide: toolspeak trust"


def _is_trusted(project: ProjectFile) -> bool:
    if is_named_by_variable(project, os.environ):
        return True
    decision = find_decision(project)
    return decision is not None and decision.is_trusted


def _can_be_asked(project: ProjectFile, loaded: Settings) -> bool:
    """Whether to ask the user about a project: something was ignored, nothing was decided, and somebody is there."""
    if not any(each.reason == UNTRUSTED for each in loaded.ignored) or find_decision(project) is not None:
        return False
    try:
        check_allowed(project)
    except UsageError:  # trust would not make it count
        return False
    return sys.stdin.isatty() and sys.stderr.isatty()


def _ask(project: ProjectFile, loaded: Settings) -> bool:
    answer = ask_trust(project, loaded, sys.stderr)
    if answer is not None:
        with suppress(UsageError):  # an answer that cannot be saved still holds for this command
            save_decision(project, trusted=answer)
    return answer is True
