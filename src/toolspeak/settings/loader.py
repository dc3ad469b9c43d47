"""From files and the environment to the settings that hold."""

import contextlib
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias, cast

from toolspeak._frozen import frozen
from toolspeak.errors import UsageError
from toolspeak.events import Limits
from toolspeak.settings.folders import config_folder, untilded
from toolspeak.settings.keys import KEYS, checked, from_table
from toolspeak.settings.values import EndpointSettings, LocalSettings, Settings

_Environ: TypeAlias = Mapping[str, str] | None

PROJECT_FILE = "toolspeak.toml"
PREFIX = "TOOLSPEAK_"
VARIABLES = {PREFIX + name.replace(".", "_").upper(): name for name in KEYS}
FOLDER_VARIABLES = ("TOOLSPEAK_CACHE_FOLDER", "TOOLSPEAK_CONFIG_FOLDER")


@frozen
class _Origin:
    """What one place sets: values by name, and the origin to tell for them."""

    values: Mapping[str, Any]
    origins: Mapping[str, str]


def settings(folder: Path | str | None = None, environ: _Environ = None) -> Settings:
    """The settings that hold in a folder, under an environment; by default where the program stands.

    Raises:
        UsageError: A file or a variable sets something that does not exist, or sets it to what it cannot be.
    """
    variables = os.environ if environ is None else environ
    places = [_user(environ), _project(Path.cwd() if folder is None else Path(folder).absolute(), environ)]
    files = [place for place in places if place is not None]
    names = {each.get("key_env") for place in files for each in _endpoint_tables(place.values).values()}
    merged = [*files, _environment(variables, keys={str(name) for name in names})]
    values = {name: value for place in merged for name, value in place.values.items()}
    origins = {name: origin for place in merged for name, origin in place.origins.items()}
    return _made(values, origins, variables)


def user_file(environ: _Environ = None) -> Path:
    """The file with the settings of this user, whether it is there or not."""
    return config_folder(environ) / "config.toml"


def _made(values: Mapping[str, Any], origins: Mapping[str, str], variables: Mapping[str, str]) -> Settings:
    endpoints = {
        name: EndpointSettings(name=name, key_set=bool(variables.get(table.get("key_env", ""))), **table)
        for name, table in _endpoint_tables(values).items()
    }
    plain = {name: value for name, value in values.items() if "." not in name}
    return Settings(
        **plain,
        limits=Limits(**_inside("limits", values)),
        local=LocalSettings(**_inside("local", values)),
        endpoints=MappingProxyType(endpoints),
        origins=MappingProxyType(dict(origins)),
    )


def _inside(section: str, values: Mapping[str, Any]) -> dict[str, Any]:
    start = f"{section}."
    return {name.removeprefix(start): value for name, value in values.items() if name.startswith(start)}


def _endpoint_tables(values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return _inside("endpoints", values)


def _user(environ: _Environ) -> _Origin | None:
    try:
        path = user_file(environ)
    except UsageError:  # no home, so no file in it
        return None
    text = _read(path)
    return None if text is None else _from_file(_parsed(text, path), path, str(path), environ)


def _project(folder: Path, environ: _Environ) -> _Origin | None:
    for each in (folder, *folder.parents):
        path = each / PROJECT_FILE
        if (text := _read(path)) is not None:
            return _not_too_trusting(_from_file(_parsed(text, path), path, str(path), environ), path)
        path = each / "pyproject.toml"
        text = _read(path)
        if text is not None and "toolspeak" in text:  # somebody else's file need not even be right
            tool = _parsed(text, path).get("tool", {})
            if isinstance(tool, dict) and "toolspeak" in tool:
                where = f"{path} [tool.toolspeak]"
                table = cast("Any", tool["toolspeak"])
                if not isinstance(table, dict):
                    raise UsageError(f"{path}: tool.toolspeak is a table, written as [tool.toolspeak]")
                return _not_too_trusting(_from_file(cast("dict[str, Any]", table), path, where, environ), path)
    return None


def _not_too_trusting(place: _Origin, path: Path) -> _Origin:
    """A project may come from anybody: that every call is allowed, only its user can say."""
    if place.values.get("approve") == "always":
        raise UsageError(
            f'{path}: approve = "always" is not taken from a project, which may be somebody else\'s; '
            f"say it in {user_file()}, by TOOLSPEAK_APPROVE or with --approve"
        )
    return place


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError:
        raise UsageError(f"cannot read {path}: it is not UTF-8 text") from None
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None


def _parsed(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{path} is not TOML: {error}") from None


def _from_file(table: Mapping[str, Any], path: Path, where: str, environ: _Environ) -> _Origin:
    values = from_table(table, where)
    # What a file names, it names from where it lies: it is found from folders further down as well.
    if "tools" in values:
        values["tools"] = tuple(_from_folder(target, path.parent, environ) for target in values["tools"])
    if str(values.get("model", "")).startswith("local:"):
        values["model"] = f"local:{path.parent / untilded(values['model'].removeprefix('local:'), environ)}"
    return _Origin(values=values, origins=dict.fromkeys(values, where))


def _from_folder(target: str, folder: Path, environ: _Environ) -> str:
    is_path = "/" in target or "\\" in target or re.search(r"\.py(:|$)", target)
    return str(folder / untilded(target, environ)) if is_path else target


def _environment(variables: Mapping[str, str], *, keys: set[str]) -> _Origin:
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for variable, name in _ours(variables, keys):
        where, kind = f"environment variable {variable}", KEYS[name]
        value: Any = variables[variable].strip()
        with contextlib.suppress(ValueError):  # a text may be right too; if not, what it takes is said by the check
            value = kind.from_text(value)
        values[name] = checked(kind, name, value, where)
        origins[name] = where
    return _Origin(values=values, origins=origins)


def _ours(variables: Mapping[str, str], keys: set[str]) -> Iterator[tuple[str, str]]:
    for variable in variables:
        if not variable.startswith(PREFIX) or not variables[variable].strip():
            continue  # set to nothing is not set
        if name := VARIABLES.get(variable):
            yield variable, name
        elif variable not in keys and variable not in FOLDER_VARIABLES and (similar := _slip(variable)):
            raise UsageError(f"environment variable {variable}: no such setting; did you mean {similar}?")


def _slip(variable: str) -> str | None:
    # Others may have variables that begin as ours do; only what is nearly one of ours is worth stopping for.
    return next(iter(get_close_matches(variable, (*VARIABLES, *FOLDER_VARIABLES), n=1, cutoff=0.9)), None)
