"""Reads and writes text files that a command names."""

from pathlib import Path

from toolspeak.errors import UsageError
from toolspeak.settings.files import write_atomically


def read_text(path: Path | str) -> str:
    """Return the text of a file.

    Raises:
        UsageError: The file cannot be read, or is not UTF-8.
    """
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"cannot read {path}: it is not UTF-8 text") from None


def write_text(path: Path, text: str) -> None:
    """Write a file whole. Its folder must exist: a name that is spelled wrong must not become a folder.

    Raises:
        UsageError: There is no such folder, or the file cannot be written.
    """
    require_folder(path)
    write_atomically(path, text)


def require_folder(path: Path) -> None:
    """Raise `UsageError` if the folder of a file that is to be written does not exist."""
    if not path.parent.is_dir():
        raise UsageError(f"cannot write {path}: there is no folder {path.parent}")
