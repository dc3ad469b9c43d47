"""The settings file of a project: where it is, what it sets, and what no project may set.

A project may be a stranger's. Its file counts as a whole only if the user trusts it (`trust.py`); without trust only
harmless settings count (`select_harmless`). Some settings are the user's alone, and no trust lets a project make them
(`check_allowed`). Files that another user could have written are skipped.

The *fingerprint* of a project's settings is a hash of the settings and of all files that run because of them, as
`resolver.py` lists them. A change of any of them changes the fingerprint, and the project must be trusted again.
"""

import json
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

from toolspeak.settings.files import Environ, expand_home, find_other_writer, read_own_file
from toolspeak.settings.resolver import Listing, list_code
from toolspeak.settings.schema import read_table
from toolspeak.settings.server_targets import PREFIX as SERVER_PREFIX
from toolspeak.settings.server_targets import anchor_target
from toolspeak.values.errors import UsageError
from toolspeak.values.frozen import frozen
from toolspeak.values.limits import Limits

PYPROJECT_FILE = "pyproject.toml"
PROJECT_FILES = ("toolspeak.toml", PYPROJECT_FILE)

BUILT_IN_ENDPOINTS = frozenset(
    "openai openai-responses anthropic openrouter groq mistral deepseek gemini gemini-openai xai together ollama "
    "lmstudio llamacpp vllm".split()
)
"""The names of endpoints that models know without settings."""

BUILT_IN_DIALECTS = frozenset({"auto", "native", "json", "typescript", "python"})
"""The names of dialects that stand for code of toolspeak."""

BUILT_IN_KEY_VARIABLES = frozenset(
    "OPENAI_API_KEY ANTHROPIC_API_KEY OPENROUTER_API_KEY GROQ_API_KEY MISTRAL_API_KEY DEEPSEEK_API_KEY GEMINI_API_KEY "
    "GOOGLE_API_KEY XAI_API_KEY TOGETHER_API_KEY LM_API_TOKEN LLAMA_API_KEY VLLM_API_KEY TOOLSPEAK_API_KEY".split()
)
"""The environment variables with the keys of those endpoints. Each key is for its own endpoint."""


@frozen
class ProjectFile:
    """The settings of a project.

    Attributes:
        path: The file, without links.
        where: The file and, in a `pyproject.toml`, the table, for errors and origins.
        values: The settings by their full names; relative paths are resolved.
        fingerprint: A hash of the settings and of the files that run because of them.
        listing: What they run, and where they send.
    """

    path: Path
    where: str
    values: Mapping[str, Any]
    fingerprint: str
    listing: Listing = Listing()


class SkippedFile(NamedTuple):
    """A settings file that was not read, and why."""

    path: Path
    reason: str


@frozen
class ProjectSearch:
    """The result of a search for a project's settings file.

    Attributes:
        file: The nearest file that could be taken, or None.
        skipped: Nearer files that another user could have written.
    """

    file: ProjectFile | None = None
    skipped: tuple[SkippedFile, ...] = ()


def find_project(path: Path, environ: Environ | None = None) -> ProjectSearch:
    """Find the settings of a project: a file, or in a folder or above it the nearest file with settings of toolspeak.

    Raises `UsageError` if the file cannot be read, or has an unknown setting or a value that a setting does not take.
    """
    start = path.absolute()
    if start.is_file():
        places = [start]
    else:
        start = start.resolve()
        places = [folder / name for folder in (start, *start.parents) for name in PROJECT_FILES]
    skipped: list[SkippedFile] = []
    for place in places:
        if not _exists(place):
            continue
        is_pyproject = place.name == PYPROJECT_FILE
        if (reason := find_other_writer(place)) is not None:
            if not is_pyproject or _mentions_toolspeak(place):
                skipped.append(SkippedFile(path=place, reason=reason))
            continue
        content = _read_content(place) or b""
        if is_pyproject and b"toolspeak" not in content:  # other projects' files need not even be valid TOML
            continue
        file = _read_project(place.resolve(), content, environ, is_pyproject=is_pyproject)
        if isinstance(file, SkippedFile):
            skipped.append(file)
        elif file is not None:
            return ProjectSearch(file=file, skipped=tuple(skipped))
    return ProjectSearch(skipped=tuple(skipped))


def check_allowed(project: ProjectFile) -> None:
    """Check that a project sets nothing that is the user's alone, however much the user trusts it.

    Raises `UsageError` if the project approves every call, redefines a built-in endpoint, or uses the key of one: for
    an endpoint of its own, or in the address, the headers, the words or the variables of an MCP server.
    """
    where = project.where
    if project.values.get("approve") == "always":
        raise UsageError(
            f'{where}: approve = "always" cannot be set by a project, which may be somebody else\'s; '
            "set it in your own settings file, with TOOLSPEAK_APPROVE or with --approve"
        )
    for name, value in project.values.items():
        endpoint = name.removeprefix("endpoints.")
        if endpoint == name:
            continue
        if endpoint.lower() in BUILT_IN_ENDPOINTS:
            raise UsageError(
                f"{where}: a project cannot redefine the endpoint {endpoint}; give it another name, or define it in "
                "your own settings file"
            )
        variable = str(value.get("key_env", ""))
        if variable.upper() in BUILT_IN_KEY_VARIABLES:
            raise UsageError(
                f"{where}: a project cannot use {variable}, which is the key of a built-in endpoint; put the key for "
                f"{name} into another variable, or define the endpoint in your own settings file"
            )
    for server in project.listing.servers:
        for variable in server.variables:
            if variable.upper() in BUILT_IN_KEY_VARIABLES:
                raise UsageError(
                    f"{where}: a project cannot give {variable}, which is the key of a built-in endpoint, to the MCP "
                    f"server {server.name}; put the key for it into another variable, or name the server yourself "
                    "with --tools"
                )


def select_harmless(values: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
    """Return the settings that count without trust: a built-in dialect, the threads, and limits lower than the user's.

    `limits` are those that hold without the project.
    """
    return {name: value for name, value in values.items() if _is_harmless(name, value, limits)}


def _is_harmless(name: str, value: Any, limits: Limits) -> bool:
    if name == "dialect":  # of another name, the code of an installed package would be imported
        return value in BUILT_IN_DIALECTS
    if name == "local.threads":
        return True
    section, _, limit = name.partition(".")
    if section != "limits" or value is None:
        return False
    current = getattr(limits, limit)
    return current is None or value <= current


# Reading


def read_text(path: Path) -> str | None:
    """Return the text of a settings file of the user, or None if there is no such file.

    Raises `UsageError` if the file cannot be read, is not UTF-8, or another user may have written it.
    """
    try:
        content = read_own_file(path)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    return None if content is None else _decode(content, path)


def read_settings(table: Mapping[str, Any], path: Path, where: str, environ: Environ | None) -> dict[str, Any]:
    """Return the settings in the table of a file by their full names, with paths relative to the file resolved."""
    values = read_table(table, where)
    if "tools" in values:
        values["tools"] = tuple(resolve_target(target, path.parent, environ) for target in values["tools"])
    if str(values.get("model", "")).startswith("local:"):
        values["model"] = f"local:{path.parent / expand_home(values['model'].removeprefix('local:'), environ)}"
    if values.get("local.adapter") not in (None, "built-in"):
        values["local.adapter"] = str(path.parent / expand_home(values["local.adapter"], environ))
    return values


def parse_toml(text: str, path: Path) -> dict[str, Any]:
    """Parse the text of a settings file. Raises `UsageError` if the text is not TOML."""
    import tomllib  # imported with the first file

    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{path} is not TOML: {error}") from None


def _read_project(
    path: Path, content: bytes, environ: Environ | None, *, is_pyproject: bool
) -> ProjectFile | SkippedFile | None:
    """Read a project's file; None if it is a `pyproject.toml` without a table for toolspeak."""
    table, where, hashed = parse_toml(_decode(content, path), path), str(path), content
    if is_pyproject:
        tool = table.get("tool")
        if not isinstance(tool, dict) or "toolspeak" not in tool:
            return None
        own = cast("Any", tool["toolspeak"])
        if not isinstance(own, dict):
            raise UsageError(f"{path}: tool.toolspeak is a table, written as [tool.toolspeak]")
        table, where = cast("dict[str, Any]", own), f"{path} [tool.toolspeak]"
        hashed = json.dumps(table, sort_keys=True, default=str).encode()  # the rest of the file changes often
    values = read_settings(table, path, where, environ)
    weights = (str(values.get("model", "")).removeprefix("local:"), str(values.get("local.adapter") or ""))
    files = [Path(each) for each in weights if Path(each).is_absolute()]
    listing = list_code(values.get("tools", ()), where, project=path.parent, weights=files, environ=environ)
    for file in listing.named:
        if file.exists() and (reason := find_other_writer(file)) is not None:
            return SkippedFile(path=path, reason=f"it names {file} as tools: {reason}")
    fingerprint = listing.fingerprint(hashed)
    return ProjectFile(path=path, where=where, values=values, fingerprint=fingerprint, listing=listing)


def resolve_target(target: str, folder: Path, environ: Environ | None) -> str:
    """Return a target with its path made absolute. A relative path is relative to the settings file.

    In the command line of an MCP server, the words that name files in that folder are made absolute.
    """
    if target.startswith(SERVER_PREFIX):
        return anchor_target(target, folder)
    is_path = "/" in target or "\\" in target or re.search(r"\.(?:py(:|$)|json$)", target)
    if not is_path:
        is_path = (folder / target.partition(":")[0]).is_dir()
    return str(folder / expand_home(target, environ)) if is_path else target


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None


def _mentions_toolspeak(path: Path) -> bool:
    try:
        return b"toolspeak" in (_read_content(path) or b"")
    except UsageError:
        return False


def _read_content(path: Path) -> bytes | None:
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # reading a pipe could wait for ever
            raise UsageError(f"cannot read {path}: it is not a regular file")
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None


def _decode(content: bytes, path: Path) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"cannot read {path}: it is not UTF-8 text") from None
