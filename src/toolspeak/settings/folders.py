"""Where things are kept on this platform: what can be had again (cache), and what cannot (config).

`TOOLSPEAK_CACHE_FOLDER` and `TOOLSPEAK_CONFIG_FOLDER` come first, so that a small home disk is no obstacle. Nothing is
made here: a folder comes into being when something is written to it.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from toolspeak.errors import UsageError

Environ = Mapping[str, str]


def cache_folder(environ: Environ | None = None, *, platform: str = sys.platform) -> Path:
    """The folder for what can be had again, such as weights."""
    own = _environ(environ).get("TOOLSPEAK_CACHE_FOLDER")
    if own:
        return untilded(own, environ).absolute()
    match platform:
        case "win32":
            return _base(environ, "LOCALAPPDATA", "AppData", "Local") / "toolspeak" / "cache"
        case "darwin":
            return _home(environ) / "Library" / "Caches" / "toolspeak"
        case _:
            return _base(environ, "XDG_CACHE_HOME", ".cache") / "toolspeak"


def config_folder(environ: Environ | None = None, *, platform: str = sys.platform) -> Path:
    """The folder for the user's settings, and for what was learned and is worth keeping."""
    own = _environ(environ).get("TOOLSPEAK_CONFIG_FOLDER")
    if own:
        return untilded(own, environ).absolute()
    match platform:
        case "win32":
            return _base(environ, "APPDATA", "AppData", "Roaming") / "toolspeak"
        case "darwin":
            return _home(environ) / "Library" / "Application Support" / "toolspeak"
        case _:
            return _base(environ, "XDG_CONFIG_HOME", ".config") / "toolspeak"


def _environ(environ: Environ | None) -> Environ:
    return os.environ if environ is None else environ


def _base(environ: Environ | None, variable: str, *otherwise: str) -> Path:
    named = Path(_environ(environ).get(variable, ""))
    # The XDG rule: a relative path is no answer, as it would mean another folder wherever one stands.
    return named if named.is_absolute() else _home(environ).joinpath(*otherwise)


def _home(environ: Environ | None) -> Path:
    for variable in ("HOME", "USERPROFILE"):
        if home := _environ(environ).get(variable):
            return Path(home)
    if environ is None:  # the account may still know; an environment that was handed in is all there is
        try:
            return Path.home()
        except RuntimeError:
            pass
    raise UsageError(
        "cannot tell where your home folder is: set HOME, or TOOLSPEAK_CACHE_FOLDER and TOOLSPEAK_CONFIG_FOLDER"
    )


def untilded(path: str, environ: Environ | None) -> Path:
    """A path as a person wrote it, with `~` for the home folder."""
    start, _, rest = path.replace("\\", "/").partition("/")
    return _home(environ) / rest if start == "~" else Path(path)
