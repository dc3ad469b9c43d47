"""Where the user's log and templates are. Imports little, so that listing them is fast."""

from pathlib import Path

from toolspeak.errors import UsageError
from toolspeak.settings.folders import config_folder, data_folder

LOG_FILE = "log.sqlite"


def log_path() -> Path:
    """Return the path of the log, which need not exist."""
    return data_folder() / LOG_FILE


def find_log() -> Path:
    """Return the path of the log.

    Raises:
        UsageError: There is no log.
    """
    path = log_path()
    if not path.exists():
        raise UsageError(f"there is no log yet; toolspeak run and chat write it to {path}, unless log = false")
    return path


def templates_folder() -> Path:
    """Return the folder of the templates, which need not exist."""
    return config_folder() / "templates"


def list_templates() -> list[str]:
    """Return the names of the templates."""
    return sorted(file.stem for file in templates_folder().glob("*.toml"))
