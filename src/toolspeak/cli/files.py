"""Where the user's log and templates are, and the text files that a command names. Imports little."""

from pathlib import Path

from toolspeak.settings.files import config_folder, data_folder, write_atomically
from toolspeak.values.errors import UsageError


def log_path() -> Path:
    """Return the path of the log, which need not exist."""
    return data_folder() / "log.sqlite"


def find_log() -> Path:
    """Return the path of the log. Raises `UsageError` if there is none."""
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


def read_text(path: Path | str) -> str:
    """Return the text of a file. Raises `UsageError` if it cannot be read, or is not UTF-8."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"cannot read {path}: it is not UTF-8 text") from None


def write_text(path: Path, text: str) -> None:
    """Write a file whole. Its folder must exist: a name that is spelled wrong must not become a folder."""
    require_folder(path)
    write_atomically(path, text)


def require_folder(path: Path) -> None:
    """Raise `UsageError` if the folder of a file that is to be written does not exist."""
    if not path.parent.is_dir():
        raise UsageError(f"cannot write {path}: there is no folder {path.parent}")
