"""What targets of MCP servers name: files (`mcp:python server.py`, `mcp.json`), and perhaps keys.

A relative word means another file in each folder. So a target that is kept, and what is known of a server, hold the
words of a command line *anchored*: a word that names a file in the folder of the server is written with its full path.

A key that stands in a target is kept nowhere. `${NAME}` is no key: it stands for an environment variable.
"""

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qsl, urlsplit

from toolspeak.values.errors import UsageError

PREFIX = "mcp:"
"""What a target begins with that names a server."""

VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]{0,1000}))?\}")
"""A word that stands for an environment variable: `${NAME}`, or `${NAME:-default}`."""

LONG_CODE = re.compile(r"(?<![A-Za-z0-9_-])(?=[A-Za-z_-]*+\d)(?=[\d_-]*+[A-Za-z])[A-Za-z0-9_-]{20,}")
"""Letters and digits that may be a key."""

_KEY_NAME = re.compile(r"key|token|secret|passw|credential|authorization|bearer", re.IGNORECASE)
_SCHEME = re.compile(r"\s*(?:bearer|basic)?\s*", re.IGNORECASE)


def is_address(text: str) -> bool:
    """Whether a target, without its prefix, is the address of a server."""
    return text.startswith(("http://", "https://"))


def find_servers_file(target: str, folder: Path) -> Path | None:
    """Return the JSON file of servers that a target names, with its full path; None if it names none.

    Examples:
        >>> find_servers_file("mcp:mcp.json", Path("/home")) == find_servers_file("mcp.json", Path("/home"))
        True
        >>> find_servers_file("mcp:npx some-server --config x.json", Path("/home"))
    """
    text = target.removeprefix(PREFIX).strip()
    if not text.endswith(".json") or is_address(text):
        return None
    path = (folder / text).absolute()
    is_word = not target.startswith(PREFIX) or re.search(r"\s", text) is None
    return path if is_word or _is_file(path) else None


def split_command(target: str) -> tuple[str, ...]:
    """Return the words of the command line in a target that begins with the prefix.

    Raises `UsageError` if a quotation mark is left open.
    """
    try:
        return tuple(shlex.split(target.removeprefix(PREFIX)))
    except ValueError as error:
        raise UsageError(f"{target!r} is no command line: {error}") from None


def anchor_target(target: str, folder: Path) -> str:
    """Return a target of servers with the full paths of the files that it names."""
    if (path := find_servers_file(target, folder)) is not None:
        return str(path)
    if is_address(target.removeprefix(PREFIX).strip()):
        return target
    command = split_command(target)
    anchored = anchor_command(command, folder)
    return target if anchored == command else f"{PREFIX}{shlex.join(anchored)}"


def anchor_command(command: Sequence[str], folder: Path) -> tuple[str, ...]:
    """Return the words of a command line with the full paths of files in its folder.

    A program without a slash is searched on the PATH, and stays as it is.
    """
    return tuple(
        word if number == 0 and Path(word).name == word else _anchor_word(word, folder)
        for number, word in enumerate(command)
    )


def find_command_files(command: Sequence[str]) -> list[Path]:
    """Return the files that the words of an anchored command line name."""
    files = (Path(_split_word(word)[1]) for word in command)
    return [file for file in files if file.is_absolute() and _is_file(file)]


def find_server_files(target: str) -> list[Path]:
    """Return the files that an anchored target of servers names: those of its command line, or of all in its file.

    A JSON file that does not exist, or that is not understood, is in the list.
    """
    path = find_servers_file(target, Path.cwd())
    if path is not None:
        return [path, *(file for command in _read_commands(path) for file in find_command_files(command))]
    if is_address(target.removeprefix(PREFIX).strip()):
        return []
    return find_command_files(split_command(target))


def find_start_folder(cwd: object, file: Path) -> str:
    """Return the folder in which a server that a JSON file names is started: by default the folder of the file."""
    if not isinstance(cwd, str) or not cwd:
        return str(file.absolute().parent)
    return cwd if cwd.startswith("${") else str(file.absolute().parent / cwd)


def may_hold_key(target: str, folder: Path) -> bool:
    """Whether a target of servers may have a key in it, and not only the name of a variable.

    Examples:
        >>> may_hold_key("mcp:https://example.com/mcp?key=${KEY}", Path())
        False
        >>> may_hold_key("mcp:npx some-server --token abc", Path())
        True
    """
    text = target.removeprefix(PREFIX).strip()
    if find_servers_file(target, folder) is not None:
        return False
    if not is_address(text):
        words = split_command(target)
        return any(_has_key(word, after, folder) for word, after in zip(words, (*words[1:], ""), strict=True))
    parts = urlsplit(text)
    values = [parts.password or "", *(value for _, value in parse_qsl(parts.query))]
    return any(map(_strip_variables, values)) or LONG_CODE.search(_strip_variables(parts.path)) is not None


def _has_key(word: str, after: str, folder: Path) -> bool:
    with suppress(OSError):  # a text of any length is no name of a file
        if (folder / word).exists():
            return False
    name, *values = re.split("[=:]", word, maxsplit=1)
    value = "".join(values)
    if _KEY_NAME.search(name):
        if not values and word.startswith("-") and not after.startswith("-"):
            value = after
        if _SCHEME.sub("", _strip_variables(value), count=1):
            return True
    return LONG_CODE.search(_strip_variables(word)) is not None


def _strip_variables(text: str) -> str:
    return VARIABLE.sub("", text)


def _read_commands(path: Path) -> Iterator[tuple[str, ...]]:
    """Yield the command lines of the servers in a JSON file, anchored."""
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return
    servers = cast("dict[str, Any]", content).get("mcpServers") if isinstance(content, dict) else None
    for each in cast("dict[str, Any]", servers).values() if isinstance(servers, dict) else ():
        if not isinstance(each, dict):
            continue
        server = cast("dict[str, Any]", each)
        args = server.get("args")
        words = [server.get("command"), *(cast("list[Any]", args) if isinstance(args, list) else [])]
        folder = Path(find_start_folder(server.get("cwd"), path))
        yield anchor_command([word for word in words if isinstance(word, str)], folder)


def _anchor_word(word: str, folder: Path) -> str:
    option, file = _split_word(word)
    path = (folder / file).absolute()
    return f"{option}{path}" if file and _is_file(path) else word


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a text that is too long for a name
        return False


def _split_word(word: str) -> tuple[str, str]:
    """Split a word such as `--config=servers.json` after the equals sign; any other word has no first part."""
    option, sign, value = word.partition("=")
    return (f"{option}=", value) if sign and option.startswith("-") else ("", word)
