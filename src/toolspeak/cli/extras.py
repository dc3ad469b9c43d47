"""What a command says if the extra that it needs is not installed."""

from collections.abc import Generator
from contextlib import contextmanager

from toolspeak.errors import UsageError

PACKAGES = {
    "gateway": frozenset({"starlette", "uvicorn"}),
    "mcp": frozenset({"mcp", "mcp_types", "starlette", "uvicorn"}),
    "page": frozenset({"starlette", "uvicorn"}),
}
"""The packages of an extra that are imported by a command first."""


@contextmanager
def explain_missing(what: str, extra: str) -> Generator[None]:
    """Raise `UsageError` where an import fails because an extra is not installed.

    Args:
        what: What needs the extra, as the error calls it.
        extra: Its name.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in PACKAGES[extra]:
            raise
        raise UsageError(f"{what} needs {error.name}; install it with: pip install 'toolspeak[{extra}]'") from None
