"""Small files of the user: written whole, and read as JSON objects."""

import json
import os
import tempfile
from pathlib import Path
from typing import Any, cast

from toolspeak.errors import UsageError


def write_atomically(path: Path, text: str) -> None:
    """Write a file so that a reader finds the old text or the new one, never half of either.

    Raises:
        UsageError: The file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None


def read_object(path: Path) -> dict[str, Any] | None:
    """Return the JSON object in a file; None if there is no such file, or it holds something else."""
    try:
        saved = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", saved) if isinstance(saved, dict) else None
