"""Discovers the tools in the targets of a command."""

import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from toolspeak.cli.stdout import reserve_stdout
from toolspeak.errors import UsageError
from toolspeak.mcp_client import is_server_target
from toolspeak.run.agent_tools import collect_tools
from toolspeak.tools import Toolbox
from toolspeak.tools.discovery import is_importable


def discover_targets(*targets: str) -> Toolbox:
    """Return the tools of targets that the user named. One may be a module in the working directory.

    The working directory is on the path while the targets load, behind everything that is installed, and not longer:
    a file there must not take the place of a module that toolspeak itself imports. A module that a tool imports only
    when it is called must be installed.
    """
    if not targets:
        return Toolbox([])
    with _search_working_directory():
        return _discover(targets)


def discover_configured(targets: Sequence[str]) -> Toolbox:
    """Return the tools of targets in the settings: files and folders by their paths, and installed modules.

    Raises:
        UsageError: A target is the name of a folder in the working directory, which the settings do not mean.
    """
    for target in targets:
        name = target.partition(":")[0]
        if is_server_target(target):
            continue
        if not Path(target).is_absolute() and Path(name).is_dir() and not is_importable(name):
            raise UsageError(f"{target!r} in the settings is no installed module; a folder is written {name}/")
    return _discover(targets)


def _discover(targets: Sequence[str]) -> Toolbox:
    with reserve_stdout():
        return collect_tools(targets).load()


@contextmanager
def _search_working_directory() -> Generator[None]:
    folder = str(Path.cwd())
    if folder in sys.path:  # the user put it there, with PYTHONPATH
        yield
        return
    sys.path.append(folder)
    try:
        yield
    finally:
        with suppress(ValueError):  # a module may have removed it itself
            sys.path.remove(folder)
