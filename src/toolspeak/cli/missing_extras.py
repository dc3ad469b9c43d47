"""What a command says when the packages of an extra are not installed."""

from collections.abc import Generator
from contextlib import contextmanager

from toolspeak.errors import UsageError


@contextmanager
def explain_missing(subject: str, extra: str, *packages: str) -> Generator[None]:
    """Raise `UsageError` where an import fails because an extra is not installed.

    Args:
        subject: What needs the packages.
        extra: The extra that installs them.
        packages: The packages, by the names under which they are imported. Other imports fail as they are.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in packages:
            raise
        raise UsageError(f"{subject} needs {error.name}; install it with: pip install 'toolspeak[{extra}]'") from None
