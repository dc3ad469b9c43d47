"""The fingerprint of a project's settings: a hash of the settings and of the files that they name as tools.

These are Python files, the files of MCP servers (`mcp.json`), and the files that the command lines of servers name. A
change of any of them changes the fingerprint, and the project must be trusted again. Modules that a tool file imports
are not covered: which ones these are is known only when the code runs.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from importlib.machinery import all_suffixes
from importlib.util import cache_from_source
from pathlib import Path

from toolspeak.errors import UsageError
from toolspeak.server_targets import PREFIX as SERVER_PREFIX
from toolspeak.server_targets import find_server_files

MAX_TOOL_FILES = 2000
"""How many files the targets of one project may have."""


def compute_fingerprint(content: bytes, files: Sequence[Path]) -> str:
    """Return the fingerprint of the settings in a file, and of tool files as `find_tool_files` returns them."""
    parts = [["settings", hashlib.sha256(content).hexdigest()]]
    parts += [[str(path), _hash_file(path)] for path in files]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def find_tool_files(targets: Sequence[str], where: str) -> list[Path]:
    """Return the files that targets name by a path: Python files, all importable files in folders, files of servers.

    A file that does not exist is in the list, so that creating it changes the fingerprint. Targets that are names of
    modules have no files here: they are found among the installed packages.

    Raises:
        UsageError: The targets have more than `MAX_TOOL_FILES` files, or a folder cannot be read.
    """
    files: dict[Path, None] = {}
    for target in targets:
        for file in _find_files(target):
            files[file] = None
            if len(files) > MAX_TOOL_FILES:
                raise UsageError(f"{where}: tools name more than {MAX_TOOL_FILES} files; name the files that are meant")
    return list(files)


def _find_files(target: str) -> Iterable[Path]:
    if target.startswith(SERVER_PREFIX) or target.endswith(".json"):
        return find_server_files(target)
    path = _target_path(target)
    if path is None:
        return []
    return _walk(path) if path.is_dir() else [path]


def _target_path(target: str) -> Path | None:
    path = Path(target)
    if not path.is_absolute():
        return None
    before, _, function = target.rpartition(":")
    return Path(before) if not path.exists() and function.isidentifier() and before else path


def _walk(folder: Path) -> Iterator[Path]:
    """Yield the importable files in a folder and in those below it. Links to folders are followed once."""
    suffixes, seen = tuple(all_suffixes()), set[str]()
    for parent, folders, names in os.walk(folder, followlinks=True, onerror=_raise_unreadable):
        if (real := os.path.realpath(parent)) in seen:
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(name for name in folders if name.isidentifier() and name != "__pycache__")
        yield from (Path(parent, name) for name in sorted(names) if name.endswith(suffixes))


def _raise_unreadable(error: OSError) -> None:
    raise UsageError(f"cannot read {error.filename}: {error.strerror}") from None


def _hash_file(path: Path) -> str:
    if not path.is_file():
        return "missing"
    try:
        hashed = hashlib.sha256(path.read_bytes())
        cached = Path(cache_from_source(path))
        # Python runs compiled code with this flag without a look at the source, so it counts as source.
        if cached.is_file() and (code := cached.read_bytes())[4:5] == b"\x01":
            hashed.update(code)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    return hashed.hexdigest()
