"""The folders in which toolspeak keeps files on this platform.

The cache folder holds what can be downloaded again, the config folder what the user wrote or decided, and the data
folder what toolspeak wrote down for the user: the log of conversations. `TOOLSPEAK_CACHE_FOLDER`,
`TOOLSPEAK_CONFIG_FOLDER` and `TOOLSPEAK_DATA_FOLDER` override the platform's places, for homes on small disks.
No folder is created here: that happens when the first file is written to it.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from toolspeak.errors import UsageError

Environ: TypeAlias = Mapping[str, str]

CACHE_FOLDER_VARIABLE = "TOOLSPEAK_CACHE_FOLDER"
CONFIG_FOLDER_VARIABLE = "TOOLSPEAK_CONFIG_FOLDER"
DATA_FOLDER_VARIABLE = "TOOLSPEAK_DATA_FOLDER"


def cache_folder(environ: Environ | None = None, *, platform: str = sys.platform) -> Path:
    """Return the folder for files that can be downloaded or made again, such as weights."""
    if override := _variables(environ).get(CACHE_FOLDER_VARIABLE):
        return expand_home(override, environ).absolute()
    match platform:
        case "win32":
            return _base_folder(environ, "LOCALAPPDATA", "AppData", "Local") / "toolspeak" / "cache"
        case "darwin":
            return _home_folder(environ) / "Library" / "Caches" / "toolspeak"
        case _:
            return _base_folder(environ, "XDG_CACHE_HOME", ".cache") / "toolspeak"


def config_folder(environ: Environ | None = None, *, platform: str = sys.platform) -> Path:
    """Return the folder for the user's settings and calibrations."""
    if override := _variables(environ).get(CONFIG_FOLDER_VARIABLE):
        return expand_home(override, environ).absolute()
    match platform:
        case "win32":
            return _base_folder(environ, "APPDATA", "AppData", "Roaming") / "toolspeak"
        case "darwin":
            return _home_folder(environ) / "Library" / "Application Support" / "toolspeak"
        case _:
            return _base_folder(environ, "XDG_CONFIG_HOME", ".config") / "toolspeak"


def data_folder(environ: Environ | None = None, *, platform: str = sys.platform) -> Path:
    """Return the folder for the log of conversations."""
    if override := _variables(environ).get(DATA_FOLDER_VARIABLE):
        return expand_home(override, environ).absolute()
    match platform:
        case "win32":
            return _base_folder(environ, "LOCALAPPDATA", "AppData", "Local") / "toolspeak" / "data"
        case "darwin":
            return _home_folder(environ) / "Library" / "Application Support" / "toolspeak" / "data"
        case _:
            return _base_folder(environ, "XDG_DATA_HOME", ".local", "share") / "toolspeak"


def expand_home(path: str, environ: Environ | None) -> Path:
    """Return a path with a leading `~` replaced by the home folder."""
    start, _, rest = path.replace("\\", "/").partition("/")
    return _home_folder(environ) / rest if start == "~" else Path(path)


def _variables(environ: Environ | None) -> Environ:
    return os.environ if environ is None else environ


def _base_folder(environ: Environ | None, variable: str, *below_home: str) -> Path:
    """Return the folder that a variable names, or a folder below the home folder if the variable names none."""
    named = Path(_variables(environ).get(variable, ""))
    # The XDG rule: a relative path is ignored, as it would be another folder in every working directory.
    return named if named.is_absolute() else _home_folder(environ).joinpath(*below_home)


def _home_folder(environ: Environ | None) -> Path:
    for variable in ("HOME", "USERPROFILE"):
        if home := _variables(environ).get(variable):
            return Path(home)
    if environ is None:  # the account's database may know it; an environment that a caller passes is complete
        try:
            return Path.home()
        except RuntimeError:
            pass
    raise UsageError(
        "cannot tell where your home folder is: set HOME, or TOOLSPEAK_CACHE_FOLDER, TOOLSPEAK_CONFIG_FOLDER and "
        "TOOLSPEAK_DATA_FOLDER"
    )
