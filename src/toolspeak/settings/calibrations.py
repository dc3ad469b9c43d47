"""What was learned and is worth keeping: which dialect is best for a model at an endpoint.

One small file for each pair, written beside and moved into place: two programs that learn at the same time lose
nothing of each other's, and a file is whole or not there.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from toolspeak.errors import UsageError
from toolspeak.settings.folders import config_folder


def remember_dialect(endpoint: str, model: str, dialect: str, *, environ: Mapping[str, str] | None = None) -> Path:
    """Keep the dialect that is best for a model at an endpoint, and give the file it is kept in."""
    path = _path(endpoint, model, environ)
    write_atomically(path, json.dumps({"endpoint": endpoint, "model": model, "dialect": dialect}, indent=2) + "\n")
    return path


def remembered_dialect(endpoint: str, model: str, *, environ: Mapping[str, str] | None = None) -> str | None:
    """The dialect that was kept for a model at an endpoint, if any. A file that cannot be read keeps nothing."""
    try:
        kept = json.loads(_path(endpoint, model, environ).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError, UsageError):
        return None
    dialect = cast("dict[str, Any]", kept).get("dialect") if isinstance(kept, dict) else None
    return dialect if isinstance(dialect, str) and dialect else None


def write_atomically(path: Path, text: str) -> None:
    """Write a file so that a reader finds the old text or the new one, never half of either."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
            Path(beside).replace(path)
        except BaseException:
            Path(beside).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None


def _path(endpoint: str, model: str, environ: Mapping[str, str] | None) -> Path:
    name = hashlib.sha256(json.dumps([endpoint.rstrip("/"), model]).encode()).hexdigest()[:32]
    return config_folder(environ) / "dialects" / f"{name}.json"
