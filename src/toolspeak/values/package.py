"""`export_lazily`: the `__getattr__` of a package some of whose names are imported when they are first used."""

import logging
from collections.abc import Callable
from importlib import import_module
from typing import Any

# The version, in one place.


__version__ = "0.1.0"


# The log of toolspeak: `logging.getLogger("toolspeak")`. Nothing is printed unless the program configures logging.
#
# - `WARNING`: a tool failed, with its traceback; a model failed, and another one is asked; a tool has changed after its
# call was allowed.
# - `INFO`: the dialect that was chosen for a run and why, a request for a message, the end of a run.
# - `DEBUG`: a request to an endpoint, with its address, status and time.
#
# No message holds a key, the text of a conversation or the arguments of a call.


LOG = logging.getLogger("toolspeak")
LOG.addHandler(logging.NullHandler())


def log_end(reason: str, detail: str, place: str) -> None:
    """Log that a run has ended: as a warning if it failed. `place` says which run, and in which turn."""
    log, why = (LOG.warning, f"error: {detail}") if reason == "error" else (LOG.info, reason)
    log("%s: the run has ended (%s)", place, why)


def export_lazily(package: str, **modules: tuple[str, ...]) -> Callable[[str], Any]:
    """Return the function that finds a name of a package in the modules of the package.

    Args:
        package: The package, which also imports the names for type checkers.
        modules: For each module of the package, the names that are imported from it.
    """
    homes = {name: module for module, names in modules.items() for name in names}

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    return find
