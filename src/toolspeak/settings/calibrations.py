"""The dialects that `toolspeak calibrate` found to be best, by endpoint and model.

Each pair has one small file, replaced as a whole: two programs that calibrate at the same time do not overwrite each
other's results, and a file is never half written.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from toolspeak.errors import UsageError
from toolspeak.settings.files import read_object, write_atomically
from toolspeak.settings.folders import config_folder


def save_calibrated_dialect(
    endpoint: str, model: str, dialect: str, *, environ: Mapping[str, str] | None = None
) -> Path:
    """Save the best dialect for a model at an endpoint, and return the file's path.

    Raises:
        UsageError: The file cannot be written.
    """
    path = _file_path(endpoint, model, environ)
    write_atomically(path, json.dumps({"endpoint": endpoint, "model": model, "dialect": dialect}, indent=2) + "\n")
    return path


def load_calibrated_dialect(endpoint: str, model: str, *, environ: Mapping[str, str] | None = None) -> str | None:
    """Return the dialect saved for a model at an endpoint, or None if no readable file names one."""
    try:
        path = _file_path(endpoint, model, environ)
    except UsageError:  # there is no config folder
        return None
    dialect = (read_object(path) or {}).get("dialect")
    return dialect if isinstance(dialect, str) and dialect else None


def forget_calibrated_dialect(endpoint: str, model: str, *, environ: Mapping[str, str] | None = None) -> bool:
    """Delete what was saved for a model at an endpoint, and return whether there was anything.

    Raises:
        UsageError: The file cannot be deleted.
    """
    path = _file_path(endpoint, model, environ)
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise UsageError(f"cannot delete {path}: {error.strerror}") from None
    return True


def _file_path(endpoint: str, model: str, environ: Mapping[str, str] | None) -> Path:
    name = hashlib.sha256(json.dumps([endpoint.rstrip("/"), model]).encode()).hexdigest()[:32]
    return config_folder(environ) / "dialects" / f"{name}.json"
