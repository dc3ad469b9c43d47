"""Reads settings from files and the environment, and merges them."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

from toolspeak.settings.files import FOLDER_VARIABLES, Environ, config_folder
from toolspeak.settings.project_file import (
    ProjectFile,
    ProjectSearch,
    check_allowed,
    find_project,
    parse_toml,
    read_settings,
    read_text,
    select_harmless,
)
from toolspeak.settings.schema import SETTINGS, check_value
from toolspeak.settings.trust import TRUST_VARIABLE
from toolspeak.settings.values import UNTRUSTED, EndpointSettings, IgnoredSettings, LocalSettings, Settings
from toolspeak.values.errors import UsageError
from toolspeak.values.limits import Limits

USER_FILE = "config.toml"
VARIABLE_PREFIX = "TOOLSPEAK_"
VARIABLES = {VARIABLE_PREFIX + name.replace(".", "_").upper(): name for name in SETTINGS}
OTHER_VARIABLES = (*FOLDER_VARIABLES, TRUST_VARIABLE)

MIN_MISSPELLING_LIKENESS = 0.9
"""How alike an unknown variable and one of `VARIABLES` must be, from 0 to 1, for the unknown one to be an error."""


_Source: TypeAlias = Mapping[str, tuple[Any, str]]
"""The settings that a file or the environment makes, by their names: each with its origin, which `config` shows."""


def load(path: Path | str | None = None, *, environ: Environ | None = None) -> Settings:
    """Read the settings: the defaults, the user's file and the environment; with a path, also a project's file.

    The settings of a project decide where prompts and keys go and which code runs. Pass only the path of a project
    that you trust.

    Args:
        path: The settings file of a project, or a folder in or above which it is searched. Without a path no project is
            read, not even that of the working directory.
        environ: The environment variables; by default those of this process.

    Raises:
        UsageError: A file or a variable has an unknown setting or an invalid value.
    """
    search = ProjectSearch() if path is None else find_project(Path(path), environ)
    return load_with_project(search, trusted=True, environ=environ)


def load_with_project(search: ProjectSearch, *, trusted: bool, environ: Environ | None = None) -> Settings:
    """Read the settings with those of a project, of which only harmless ones count if it is not trusted.

    `Settings.ignored` lists what did not count, and why. Raises `UsageError` if a setting is wrong, or if a trusted
    project sets what no project may set.
    """
    variables = os.environ if environ is None else environ
    user = _read_user_file(environ)
    project, ignored = _take_project(search.file, user, trusted=trusted)
    endpoints = [*_section("endpoints", user).values(), *_section("endpoints", project).values()]
    key_variables = {str(table.get("key_env")) for table, _ in endpoints}
    settings = {**user, **project, **_read_environment(variables, key_variables=key_variables)}
    skipped = [IgnoredSettings(where=str(each.path), reason=each.reason) for each in search.skipped]
    is_project = search.file is not None and settings.get("tools") is project.get("tools") is not None
    listing = search.file.listing if search.file is not None and is_project else None
    return replace(_build_settings(settings, variables), ignored=(*skipped, *ignored), listing=listing)


def user_file(environ: Environ | None = None) -> Path:
    """Return the path of the user's settings file, which need not exist."""
    return config_folder(environ) / USER_FILE


def _build_settings(settings: _Source, variables: Environ) -> Settings:
    values = {name: value for name, (value, _) in settings.items()}
    endpoints = {
        name: EndpointSettings(name=name, key_set=bool(variables.get(table.get("key_env", ""))), **table)
        for name, table in _section("endpoints", values).items()
    }
    return Settings(
        **{name: value for name, value in values.items() if "." not in name},
        limits=Limits(**_section("limits", values)),
        local=LocalSettings(**_section("local", values)),
        endpoints=MappingProxyType(endpoints),
        origins=MappingProxyType({name: origin for name, (_, origin) in settings.items()}),
    )


def _section(section: str, values: Mapping[str, Any]) -> dict[str, Any]:
    start = f"{section}."
    return {name.removeprefix(start): value for name, value in values.items() if name.startswith(start)}


# Files


def _read_user_file(environ: Environ | None) -> _Source:
    try:
        path = user_file(environ)
    except UsageError:  # without a home folder there is no such file
        return {}
    text = read_text(path)
    if text is None:
        return {}
    values = read_settings(parse_toml(text, path), path, str(path), environ)
    return {name: (value, str(path)) for name, value in values.items()}


def _take_project(
    project: ProjectFile | None, user: _Source, *, trusted: bool
) -> tuple[_Source, list[IgnoredSettings]]:
    """Return the settings of a project that count, and those that do not."""
    if project is None:
        return {}, []
    ignored: list[IgnoredSettings] = []
    given = {name: (value, project.where) for name, value in project.values.items()}
    if trusted:
        check_allowed(project)
        return given, []
    limits = Limits(**{name: value for name, (value, _) in _section("limits", user).items()})
    taken = {name: given[name] for name in select_harmless(project.values, limits)}
    if left_out := {name: pair for name, pair in given.items() if name not in taken}:
        settings = _build_settings(left_out, {}).values(left_out)
        ignored = [IgnoredSettings(where=project.where, reason=UNTRUSTED, values=dict(settings))]
    return taken, ignored


# The environment


def _read_environment(variables: Environ, *, key_variables: set[str]) -> _Source:
    settings: dict[str, tuple[Any, str]] = {}
    for variable, name in _setting_variables(variables, key_variables):
        where, setting = f"environment variable {variable}", SETTINGS[name]
        value: Any = variables[variable].strip()
        with contextlib.suppress(ValueError):  # the text may be a value itself ("none"); if not, the check fails
            value = setting.from_text(value)
        settings[name] = check_value(setting, name, value, where), where
    return settings


def _setting_variables(variables: Environ, key_variables: set[str]) -> Iterator[tuple[str, str]]:
    """Yield each environment variable that makes a setting, with the setting's name; refuse misspelt ones."""
    for variable in variables:
        if not variable.startswith(VARIABLE_PREFIX) or not variables[variable].strip():
            continue  # an empty variable counts as not set
        if name := VARIABLES.get(variable):
            yield variable, name
        elif variable not in (*key_variables, *OTHER_VARIABLES):
            # Other programs may use the same prefix, so only a likely misspelling is worth an error.
            known = (*VARIABLES, *OTHER_VARIABLES)
            for similar in get_close_matches(variable, known, n=1, cutoff=MIN_MISSPELLING_LIKENESS):
                raise UsageError(f"environment variable {variable}: no such setting; did you mean {similar}?")
