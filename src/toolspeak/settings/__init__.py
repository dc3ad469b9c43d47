"""What is configured: read when asked, never at import.

Four places, the later ones winning: defaults, the user's file, the project's file, the environment. Each setting knows
which of them it came from. A key for an endpoint is never in a file: a file says which environment variable holds it.
"""

from toolspeak.settings.calibrations import remember_dialect, remembered_dialect
from toolspeak.settings.folders import cache_folder, config_folder
from toolspeak.settings.loader import settings, user_file
from toolspeak.settings.values import Approve, EndpointSettings, LocalSettings, Row, Settings

__all__ = [
    "Approve",
    "EndpointSettings",
    "LocalSettings",
    "Row",
    "Settings",
    "cache_folder",
    "config_folder",
    "remember_dialect",
    "remembered_dialect",
    "settings",
    "user_file",
]
