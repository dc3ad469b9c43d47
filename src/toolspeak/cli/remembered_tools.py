"""The tools of a conversation, remembered so that they can be loaded again when it is continued.

Tools are code, and a remembered target must not become other code than the user named. So a file or a folder is
remembered by its full path and its fingerprint, as the settings of a trusted project are, and is loaded again only if
it is unchanged and nobody else could have written it. A module is loaded again only from where it is installed. The
program of an MCP server is started again only in the folder in which it was started, since what it runs may lie there,
and only if the files that its command line names are unchanged. A target that may hold a key is not remembered.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, cast

from toolspeak.errors import UsageError
from toolspeak.mcp_client import read_target
from toolspeak.server_targets import PREFIX as SERVER_PREFIX
from toolspeak.server_targets import anchor_target, is_address, may_hold_key
from toolspeak.settings.fingerprint import compute_fingerprint, find_tool_files
from toolspeak.settings.ownership import find_other_writer


def encode_tools(targets: Sequence[str]) -> list[dict[str, str]]:
    """Return targets that the user named as JSON data: with their full paths and their fingerprints."""
    return [_encode(target) for target in targets]


def select_tools(saved: Sequence[Any], warn: Callable[[str], None]) -> tuple[str, ...]:
    """Return the targets that may be loaded again.

    Args:
        saved: What `encode_tools` returned.
        warn: Called with a sentence about each target that may not.
    """
    selected: list[str] = []
    for each in saved:
        if not isinstance(each, dict):
            continue
        fields = cast("dict[str, Any]", each)
        target = str(fields.get("target", ""))
        reason = _find_objection(target, fields)
        if reason is None:
            selected.append(target)
        else:
            warn(f"the tools in {target} {reason}; name them with --tools to use them")
    return tuple(selected)


def _encode(target: str) -> dict[str, str]:
    folder = Path.cwd()
    if target.startswith(SERVER_PREFIX) and may_hold_key(target, folder):
        return {"target": f"{SERVER_PREFIX}{read_target(target)[0].place}", "omitted": "key"}
    absolute = _make_absolute(target)
    try:
        encoded = {"target": absolute, "fingerprint": _compute(absolute)}
    except UsageError:  # too many files to tell later whether one of them has changed
        encoded = {"target": absolute, "fingerprint": "unknown"}
    return encoded | {"folder": str(folder)} if _is_command(absolute) else encoded


def _compute(target: str) -> str:
    files = find_tool_files([_make_absolute(target)], target)  # a file may have been made since
    return compute_fingerprint(b"", files) if files else ""


def _is_command(target: str) -> bool:
    """Whether a target is the command line of an MCP server."""
    return target.startswith(SERVER_PREFIX) and not is_address(target.removeprefix(SERVER_PREFIX).strip())


def _find_objection(target: str, saved: Mapping[str, Any]) -> str | None:
    """Return why a target is not loaded again, in words; None if it is."""
    if saved.get("omitted") is not None:
        return "are not loaded: they were named with what may be a key, and keys are not remembered"
    name = _split_function(target)[0]
    if _is_command(target):
        if saved.get("folder") != str(Path.cwd()):
            return f"are not loaded: they were used in the folder {saved.get('folder', '(unknown)')}"
    elif target.startswith(SERVER_PREFIX):  # an address: what it offers is pinned
        return None
    elif not Path(name).is_absolute():
        return None if _is_installed(name) else "are gone: no such module is installed"
    elif not Path(name).exists():
        return "are gone"
    try:
        for file in find_tool_files([target], target):
            if (reason := find_other_writer(file)) is not None:
                return f"are not loaded: {reason}"
        is_same = _compute(target) == saved.get("fingerprint")
    except UsageError as error:
        return f"are not loaded: {error}"
    return None if is_same else "have changed since this conversation used them"


def _make_absolute(target: str) -> str:
    """Return a target with its full path. A module that only the working directory has becomes that file or folder."""
    if target.startswith(SERVER_PREFIX):
        return anchor_target(target, Path.cwd())
    name, function = _split_function(target)
    path = Path(name)
    if "/" in name or path.suffix in (".py", ".json") or path.is_file():
        return f"{path.absolute()}{function}"
    if _is_installed(name):
        return target
    place = Path.cwd().joinpath(*name.split("."))
    for candidate in (place, place.with_suffix(".py"), path.absolute()):
        if candidate.exists():
            return f"{candidate}{function}"
    return target


def _is_installed(name: str) -> bool:
    """Whether a module is found elsewhere than in the working directory, also if it has been imported from there."""
    folders = [folder for folder in sys.path if folder and Path(folder).absolute() != Path.cwd()]
    package = name.partition(".")[0]
    return package in sys.builtin_module_names or PathFinder.find_spec(package, folders) is not None


def _split_function(target: str) -> tuple[str, str]:
    before, colon, after = target.rpartition(":")
    return (before, f":{after}") if colon and after.isidentifier() and len(before) > 1 else (target, "")
