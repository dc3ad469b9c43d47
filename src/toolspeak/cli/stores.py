"""The address of a store that a command only reads."""

from pathlib import Path

from toolspeak.durable.stores import SQLITE_PREFIX
from toolspeak.errors import UsageError


def require_store(url: str) -> None:
    """Raise `UsageError` if there is no such file: a command that only reads makes none of a misspelled path."""
    file = url.removeprefix(SQLITE_PREFIX)
    if file != url and not Path(file).exists():
        raise UsageError(f"there is no store {url}; toolspeak worker and toolspeak runs start make one")
