"""Reads text files that a command names."""

from pathlib import Path

from toolspeak.errors import UsageError


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
