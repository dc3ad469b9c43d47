"""Reads settings from files and the environment, and merges them."""

import contextlib
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from toolspeak._frozen import frozen
from toolspeak.errors import UsageError
from toolspeak.events import Limits
from toolspeak.settings.folders import (
    CACHE_FOLDER_VARIABLE,
    CONFIG_FOLDER_VARIABLE,
    Environ,
    config_folder,
    expand_home,
)
from toolspeak.settings.schema import SETTINGS, check_value, read_table
from toolspeak.settings.values import EndpointSettings, LocalSettings, Settings

USER_FILE = "config.toml"
PROJECT_FILE = "toolspeak.toml"
VARIABLE_PREFIX = "TOOLSPEAK_"
VARIABLES = {VARIABLE_PREFIX + name.replace(".", "_").upper(): name for name in SETTINGS}
FOLDER_VARIABLES = (CACHE_FOLDER_VARIABLE, CONFIG_FOLDER_VARIABLE)

MIN_MISSPELLING_LIKENESS = 0.9
"""How alike an unknown variable and one of `VARIABLES` must be, from 0 to 1, for the unknown one to be an error."""


@frozen
class _SettingsSource:
    """The settings that one source makes: a file, or the environment.

    Attributes:
        values: The values by the names of the settings.
        origins: The place each came from, for `toolspeak config` to show.
    """

    values: Mapping[str, Any]
    origins: Mapping[str, str]


def load(path: Path | str | None = None, *, environ: Environ | None = None) -> Settings:
    """Read the settings: the defaults, the user's file, the project's file and the environment.

    Args:
        path: The folder from which the project's file is searched, upwards; by default the working directory.
        environ: The environment variables; by default those of this process.

    Raises:
        UsageError: A file or a variable has an unknown setting, or a value that a setting does not take.
    """
    variables = os.environ if environ is None else environ
    folder = Path.cwd() if path is None else Path(path).absolute()
    found = (_read_user_file(environ), _read_project_file(folder, environ))
    files = [source for source in found if source is not None]
    key_variables = {str(table.get("key_env")) for source in files for table in _endpoints(source.values).values()}
    sources = [*files, _read_environment(variables, key_variables=key_variables)]
    values = {name: value for source in sources for name, value in source.values.items()}
    origins = {name: origin for source in sources for name, origin in source.origins.items()}
    return _build_settings(values, origins, variables)


def user_file(environ: Environ | None = None) -> Path:
    """Return the path of the user's settings file, which need not exist."""
    return config_folder(environ) / USER_FILE


def _build_settings(values: Mapping[str, Any], origins: Mapping[str, str], variables: Environ) -> Settings:
    endpoints = {
        name: EndpointSettings(name=name, key_set=bool(variables.get(table.get("key_env", ""))), **table)
        for name, table in _endpoints(values).items()
    }
    top_level = {name: value for name, value in values.items() if "." not in name}
    return Settings(
        **top_level,
        limits=Limits(**_section("limits", values)),
        local=LocalSettings(**_section("local", values)),
        endpoints=MappingProxyType(endpoints),
        origins=MappingProxyType(dict(origins)),
    )


def _section(section: str, values: Mapping[str, Any]) -> dict[str, Any]:
    start = f"{section}."
    return {name.removeprefix(start): value for name, value in values.items() if name.startswith(start)}


def _endpoints(values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return _section("endpoints", values)


# Files


def _read_user_file(environ: Environ | None) -> _SettingsSource | None:
    try:
        path = user_file(environ)
    except UsageError:  # without a home folder there is no such file
        return None
    text = _read_text(path)
    return None if text is None else _read_file_table(_parse_toml(text, path), path, str(path), environ)


def _read_project_file(folder: Path, environ: Environ | None) -> _SettingsSource | None:
    """Read the nearest `toolspeak.toml`, or `pyproject.toml` with a table for toolspeak, in a folder or above it."""
    for each in (folder, *folder.parents):
        path = each / PROJECT_FILE
        if (text := _read_text(path)) is not None:
            return _refuse_approve_always(_read_file_table(_parse_toml(text, path), path, str(path), environ), path)
        path = each / "pyproject.toml"
        text = _read_text(path)
        if text is not None and "toolspeak" in text:  # other projects' files need not even be valid TOML
            tool = _parse_toml(text, path).get("tool", {})
            if isinstance(tool, dict) and "toolspeak" in tool:
                where = f"{path} [tool.toolspeak]"
                table = cast("Any", tool["toolspeak"])
                if not isinstance(table, dict):
                    raise UsageError(f"{path}: tool.toolspeak is a table, written as [tool.toolspeak]")
                source = _read_file_table(cast("dict[str, Any]", table), path, where, environ)
                return _refuse_approve_always(source, path)
    return None


def _refuse_approve_always(source: _SettingsSource, path: Path) -> _SettingsSource:
    """Refuse a project file that approves every call: a project may be a stranger's, so only the user may do that."""
    if source.values.get("approve") == "always":
        raise UsageError(
            f'{path}: approve = "always" is not taken from a project, which may be somebody else\'s; '
            f"set it in {user_file()}, with TOOLSPEAK_APPROVE or with --approve"
        )
    return source


def _read_text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError:
        raise UsageError(f"cannot read {path}: it is not UTF-8 text") from None
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None


def _parse_toml(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{path} is not TOML: {error}") from None


def _read_file_table(table: Mapping[str, Any], path: Path, where: str, environ: Environ | None) -> _SettingsSource:
    values = read_table(table, where)
    # A relative path in a file is relative to the file, as the file also holds for folders below its own.
    if "tools" in values:
        values["tools"] = tuple(_resolve_target(target, path.parent, environ) for target in values["tools"])
    if str(values.get("model", "")).startswith("local:"):
        values["model"] = f"local:{path.parent / expand_home(values['model'].removeprefix('local:'), environ)}"
    return _SettingsSource(values=values, origins=dict.fromkeys(values, where))


def _resolve_target(target: str, folder: Path, environ: Environ | None) -> str:
    is_path = "/" in target or "\\" in target or re.search(r"\.py(:|$)", target)
    return str(folder / expand_home(target, environ)) if is_path else target


# The environment


def _read_environment(variables: Environ, *, key_variables: set[str]) -> _SettingsSource:
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for variable, name in _setting_variables(variables, key_variables):
        where, setting = f"environment variable {variable}", SETTINGS[name]
        value: Any = variables[variable].strip()
        with contextlib.suppress(ValueError):  # the text may be a value itself ("none"); if not, the check fails
            value = setting.from_text(value)
        values[name] = check_value(setting, name, value, where)
        origins[name] = where
    return _SettingsSource(values=values, origins=origins)


def _setting_variables(variables: Environ, key_variables: set[str]) -> Iterator[tuple[str, str]]:
    """Yield each environment variable that makes a setting, with the setting's name; refuse misspelt ones."""
    for variable in variables:
        if not variable.startswith(VARIABLE_PREFIX) or not variables[variable].strip():
            continue  # an empty variable counts as not set
        if name := VARIABLES.get(variable):
            yield variable, name
        elif variable not in (*key_variables, *FOLDER_VARIABLES) and (similar := _similar_variable(variable)):
            raise UsageError(f"environment variable {variable}: no such setting; did you mean {similar}?")


def _similar_variable(variable: str) -> str | None:
    # Other programs may use the same prefix, so only a likely misspelling is worth an error.
    known = (*VARIABLES, *FOLDER_VARIABLES)
    return next(iter(get_close_matches(variable, known, n=1, cutoff=MIN_MISSPELLING_LIKENESS)), None)
