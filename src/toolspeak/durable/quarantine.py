"""Runs whose workers die: they are driven in a process of their own, so that they can harm nobody else, and then ended.

A run is *suspect* when two workers in a row died while they drove it and it made no progress. Another run may be to
blame, so it is not ended at once: a process is started that drives this run only. After five deaths the run is ended.
An exception is no death: the run is tried again until what it needs is there.

The process imports the agents again, from where the program has them. Nothing is copied from one process to the other
but the address of the store and the folders of Python's path (through the standard input), the id of the run and the
place of the agents. The working directory is not on its path unless the program has it there.
"""

import asyncio
import importlib
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from toolspeak.durable.rows import RunRow
from toolspeak.run.agent import Agent
from toolspeak.tools.discovery import import_file
from toolspeak.values.errors import UsageError

QUARANTINE_DEATHS = 2
"""After how many deaths without progress a run is driven alone."""

MAX_DEATHS = 5
"""After how many deaths without progress a run is ended."""

COULD_NOT_DRIVE = 75
"""The exit code of a process in which an exception kept a run from being driven; it did not die."""

MODULE_NAME = "__toolspeak_quarantine__"
"""The `__name__` of a script that is imported for its agents, so that what it does as `__main__` is not done."""


def is_suspect(run: RunRow) -> bool:
    """Whether a run may end the process that drives it. After too many deaths it is not driven any more."""
    return QUARANTINE_DEATHS <= run.deaths < MAX_DEATHS


class Quarantine:
    """Starts processes that drive one run each.

    Args:
        url: The address of the store.
        target: Where the agents are, as `load_program` takes it.
        owner: The name of the worker, which holds the run.
        deps: Where the function is that makes deps; None if there is none.
    """

    def __init__(self, url: str, target: str, owner: str, deps: str | None = None) -> None:
        self._url = url
        self._deps = deps
        self._target = target
        self._owner = owner
        self._processes: set[asyncio.subprocess.Process] = set()

    async def drive(self, run: RunRow) -> int:
        """Drive a run that the worker has claimed in a process of its own, and return its exit code."""
        arguments = (self._target, self._owner, run.run_id, str(run.epoch))
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "toolspeak.durable.isolated_run", *arguments, stdin=asyncio.subprocess.PIPE
        )
        # Not arguments: others see those, and the address has a password.
        given = json.dumps({"url": self._url, "path": sys.path, "deps": self._deps})
        self._processes.add(process)
        try:
            await process.communicate(given.encode())
            return await process.wait()
        finally:
            self._processes.discard(process)
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()

    def stop(self) -> None:
        """Let all processes park their runs."""
        for process in self._processes:
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGTERM)


def find_target(agents: Mapping[str, Agent[Any]]) -> str | None:
    """Return where a program has a mapping of agents: the module and the name of a variable; None if nowhere."""
    for name, module in list(sys.modules.items()):
        for variable, value in list(getattr(module, "__dict__", {}).items()):
            if value is agents:
                place = getattr(module, "__file__", None) if name == "__main__" else name
                return f"{place}:{variable}" if place else None
    return None


def load_program(target: str, deps: str | None = None) -> tuple[dict[str, Agent[Any]], Callable[[RunRow], Any] | None]:
    """Return the agents at a place, and the function at another one that makes deps. A file that has both runs once.

    A place is `app.py:agents` or `package.module:agents`. The agents are a mapping of names to agents, a function that
    makes one, or one agent, which is known by its variable.

    Raises:
        UsageError: They are not there.
    """
    place, variable = _split_target(target, "the agents are")
    names = _load_names(place)
    agents = _find_agents(names, place, variable)
    if deps is None:
        return agents, None
    other, function = _split_target(deps, "the function that makes deps is")
    if other != place and Path(other).resolve() != Path(place).resolve():
        names = _load_names(other, f"{MODULE_NAME}_deps")
    found = names.get(function)
    if not callable(found):
        raise UsageError(
            f"{other} has no function {function!r} that makes deps; write def {function}(run): …, which returns what "
            "tools get in their Context"
        )
    return agents, found


def _split_target(target: str, what: str) -> tuple[str, str]:
    place, _, variable = target.rpartition(":")
    if not place:
        raise UsageError(f"{target!r} does not say where {what}; write FILE.py:NAME or MODULE:NAME")
    return place, variable


def _load_names(place: str, name: str = MODULE_NAME) -> Mapping[str, Any]:
    """Return the names in a file or a module."""
    path = Path(place)
    if place.endswith(".py") or path.is_absolute():
        file = path / "__init__.py" if path.is_dir() else path
        is_alone = not (file.parent / "__init__.py").is_file()
        return vars(import_file(file, name=name if is_alone else None))
    try:
        return vars(importlib.import_module(place))
    except ModuleNotFoundError as error:
        if not f"{place}.".startswith(f"{error.name}."):  # something that the module imports
            raise
        raise UsageError(f"there is no module {place}; a file is written {place}.py") from None


def _find_agents(names: Mapping[str, Any], place: str, variable: str) -> dict[str, Agent[Any]]:
    found = names.get(variable)
    if isinstance(found, Agent):
        return {variable: found}
    agents = found() if callable(found) else found
    if not isinstance(agents, Mapping) or not agents:
        raise UsageError(
            f"{place} has no agents under the name {variable!r}; give it {variable} = {{'NAME': agent}}, or an agent"
        )
    return dict(cast("Mapping[str, Agent[Any]]", agents))
