"""Settings: read when `load` is called, never at import.

Four sources, of which a later one overrides those before it: defaults, the user's file, the project's file, the
environment. Each setting knows which source it came from. A file never holds the key of an endpoint, only the name of
the environment variable that does.
"""

from toolspeak.settings.calibrations import load_calibrated_dialect, save_calibrated_dialect
from toolspeak.settings.folders import cache_folder, config_folder
from toolspeak.settings.loader import load, user_file
from toolspeak.settings.values import ApprovalPolicy, EndpointSettings, LocalSettings, SettingRow, Settings

__all__ = [
    "ApprovalPolicy",
    "EndpointSettings",
    "LocalSettings",
    "SettingRow",
    "Settings",
    "cache_folder",
    "config_folder",
    "load",
    "load_calibrated_dialect",
    "save_calibrated_dialect",
    "user_file",
]
