"""Settings: read when `load` is called, never at import.

Four sources, of which a later one overrides those before it: defaults, the user's file, the file of a project that was
named or is trusted, the environment. Each setting knows which source it came from. A file never holds the key of an
endpoint, only the name of the environment variable that does.

A project may be a stranger's, so the library reads no project's file by itself, and the command line only what the user
trusts (`trust.py`).
"""

from typing import TYPE_CHECKING

from toolspeak.values.package import export_lazily

if TYPE_CHECKING:
    from toolspeak.settings.files import cache_folder, config_folder, data_folder
    from toolspeak.settings.loader import load, user_file
    from toolspeak.settings.user_files import (
        forget_calibrated_dialect,
        load_calibrated_dialect,
        save_calibrated_dialect,
    )
    from toolspeak.settings.values import (
        ApprovalPolicy,
        EndpointSettings,
        IgnoredSettings,
        LocalSettings,
        SettingRow,
        Settings,
    )
else:  # an agent that is given a model object needs no settings
    __getattr__ = export_lazily(
        __name__,
        user_files=("forget_calibrated_dialect", "load_calibrated_dialect", "save_calibrated_dialect"),
        files=("cache_folder", "config_folder", "data_folder"),
        loader=("load", "user_file"),
        values=("ApprovalPolicy", "EndpointSettings", "IgnoredSettings", "LocalSettings", "SettingRow", "Settings"),
    )

__all__ = [
    "ApprovalPolicy",
    "EndpointSettings",
    "IgnoredSettings",
    "LocalSettings",
    "SettingRow",
    "Settings",
    "cache_folder",
    "config_folder",
    "data_folder",
    "forget_calibrated_dialect",
    "load",
    "load_calibrated_dialect",
    "save_calibrated_dialect",
    "user_file",
]
