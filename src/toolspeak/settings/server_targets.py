"""What targets of MCP servers name: servers (`mcp:python server.py`, `mcp.json`), their files, and perhaps keys.

`ServerEntry` is a server as a target or a file writes it. `mcp/config.py` builds from it how the server is reached, and
`resolver.py` lists from it what it runs and where it sends, so both mean the same server.

A relative word means another file in each folder. So a target that is kept, and what is known of a server, hold the
words of a command line *anchored*: a word that names a file in the folder of the server is written with its full path.

A key that stands in a target is kept nowhere. `${NAME}` is no key: it stands for an environment variable.
"""

import json
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from importlib.machinery import all_suffixes
from itertools import chain
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast
from urllib.parse import parse_qsl, urlsplit

from toolspeak.settings.files import Environ, exists, is_file, is_folder, open_regular_file
from toolspeak.values.address import HIDDEN, LONG_CODE, hide_secrets
from toolspeak.values.errors import UsageError
from toolspeak.values.frozen import frozen
from toolspeak.values.validation import format_value, nearest

PREFIX = "mcp:"
"""What a target begins with that names a server."""

VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]{0,1000}))?\}")
"""A word that stands for an environment variable: `${NAME}`, or `${NAME:-default}`."""

_VARIABLE_NAME = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)")
"""The name of a variable in any place, so also in the default of another one."""

Transport: TypeAlias = Literal["stdio", "http", "sse"]

_HTTP_NAMES = ("http", "streamable-http", "streamableHttp", "streamable_http")
_TRANSPORTS: Mapping[str, Transport] = {"stdio": "stdio", **dict.fromkeys(_HTTP_NAMES, "http"), "sse": "sse"}

UNASKED_KEYS = ("autoApprove", "alwaysAllow")
"""What clients call the list of tools whose calls need no approval."""

_KNOWN_KEYS = (
    *"command args env cwd url httpUrl serverUrl type transport headers disabled enabled oauth".split(),
    *("approve", *UNASKED_KEYS, "trustHints", "result", "instructions", "resources", "prompts", "required"),
)
_FOREIGN_KEYS = ("auth", "transportType")
"""Keys of other clients that only look like one of ours."""

IMPORTABLE_SUFFIXES = tuple(all_suffixes())
CODE_SUFFIXES = (
    *IMPORTABLE_SUFFIXES,
    *".js .mjs .cjs .ts .mts .cts .jsx .tsx .node .wasm .sh .bash .zsh .fish .rb .pl .lua .bat .cmd .ps1 .exe .dll "
    ".dylib .jar .pth .pyz .zip .egg .whl pyvenv.cfg package.json .npmrc".split(),
)

_PACKAGE_RUNNERS = frozenset("npx bunx pnpx uvx pipx".split())
_CONTAINER_RUNNERS = frozenset({"docker", "podman"})
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*w?")

FRAGMENT = re.compile(r"[^\s'\"`;|&<>(){}\[\],=]+")
MAX_PATH_CHARS = 4096

_KEY_NAME = re.compile(r"key|token|secret|passw|credential|authorization|bearer", re.IGNORECASE)
_KEY_SCHEME = re.compile(r"\s*+(?:bearer|basic)?\s*+", re.IGNORECASE)


@frozen
class ServerEntry:
    """A server as a target or a file writes it: the names of variables, not their values.

    Attributes:
        name: The name of the server, or the target.
        transport: How messages are sent: to a child process, or over HTTP.
        command: The program and its arguments, for a child process.
        url: The address, for HTTP.
        env: Further environment variables of the child process.
        cwd: The folder in which the child process starts, as it is written.
        headers: Headers of all requests, for HTTP.
        home: The folder of the file that names the server; None if a target does.
        unasked: The names of the tools whose calls need no approval: `autoApprove`, or `alwaysAllow`; None if the file
            has no such list.
        options: The whole entry of the file.
    """

    name: str
    transport: Transport = "stdio"
    command: tuple[str, ...] = ()
    url: str = ""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    cwd: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    home: Path | None = None
    unasked: tuple[str, ...] | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def program(self) -> str:
        """The name of the program, without its folder."""
        return Path(self.command[0]).name if self.command else ""

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the environment variables that the server is given, in its address, headers, words or login."""
        oauth = self.options.get("oauth")
        login = [str(each) for each in cast("dict[str, Any]", oauth).values()] if isinstance(oauth, dict) else []
        texts = (*self.command, self.url, *self.env.values(), self.cwd, *self.headers.values(), *login)
        return tuple(dict.fromkeys(name for text in texts for name in _VARIABLE_NAME.findall(text)))

    def find_start_folder(self, environ: Environ) -> Path | None:
        """Return the folder in which the server starts: by default that of the file; None for the working directory."""
        if self.home is None:
            return None
        return (self.home / expand_variables(self.cwd, environ)).absolute()


def expand_variables(text: str, environ: Environ) -> str:
    """Return a text with the values of variables instead of their names; of one that is not set, its default."""
    return VARIABLE.sub(lambda found: environ.get(found[1]) or found[2] or "", text)


def read_entries(path: Path, known: bytes | None = None) -> list[ServerEntry]:
    """Return the servers in a file of the form `{"mcpServers": {"name": {…}}}`, without those that are switched off.

    `known` is the content of the file, if it has been read.

    Raises:
        UsageError: The file is missing, or is not of that form.
    """
    try:
        if known is None:
            with open_regular_file(path) as file:
                known = file.read()
        content = json.loads(known.decode("utf-8-sig"))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON: {error}") from None
    table: Any = cast("dict[str, Any]", content).get("mcpServers") if isinstance(content, dict) else None
    if not isinstance(table, dict):
        raise UsageError(f'{path} has no servers; the form is {{"mcpServers": {{"name": {{"command": …}}}}}}')
    read = [read_entry(name, value, path) for name, value in cast("dict[str, Any]", table).items()]
    return [entry for entry in read if entry is not None]


def read_entry(name: str, value: Any, path: Path) -> ServerEntry | None:
    """Read one server of a file; None if the file says that it is switched off.

    Raises:
        UsageError: It cannot be understood.
    """
    where = f"{path}: the server {name}"
    if not isinstance(value, dict):
        raise UsageError(f"{where} must be an object with a command or a url, not {format_value(value)}")
    table = cast("dict[str, Any]", value)
    if table.get("disabled") is True or table.get("enabled") is False:
        return None
    for key in table.keys() - {*_KNOWN_KEYS, *_FOREIGN_KEYS}:  # other clients have further keys
        if not key.startswith(("_", "/")) and (similar := nearest(key, _KNOWN_KEYS, likeness=0.8)):
            raise UsageError(f"{where}: there is no key {key}; did you mean {similar}?")
    url = table.get("url") or table.get("httpUrl") or table.get("serverUrl")
    kind = table.get("type") or table.get("transport") or ("http" if url else "stdio")
    if kind not in _TRANSPORTS:
        raise UsageError(f"{where}: type is one of {', '.join(_TRANSPORTS)}, not {format_value(kind)}")
    home = path.absolute().parent
    lists = [_read_names(table, key, where) for key in UNASKED_KEYS if key in table]
    unasked = tuple(chain.from_iterable(lists)) if lists else None
    if _TRANSPORTS[kind] != "stdio":
        if not isinstance(url, str):
            raise UsageError(f'{where} has no url; add one: "url": "https://HOST/mcp"')
        headers = _read_texts(table, "headers", where)
        return ServerEntry(
            name=name,
            transport=_TRANSPORTS[kind],
            url=url,
            headers=headers,
            home=home,
            unasked=unasked,
            options=table,
        )
    command, args = table.get("command"), table.get("args", [])
    if not isinstance(command, str) or not command:
        raise UsageError(
            f'{where} has neither a command nor a url; add one: "command": "npx" or "url": "https://HOST/mcp"'
        )
    if not isinstance(args, list) or not all(isinstance(each, str) for each in cast("list[Any]", args)):
        raise UsageError(f'{where}: args must be a list of strings, such as ["-y", "some-server"]')
    cwd = table.get("cwd")
    if cwd is not None and not isinstance(cwd, str):
        raise UsageError(f"{where}: cwd must be the path of a folder")
    words = (command, *cast("list[str]", args))
    env = _read_texts(table, "env", where)
    return ServerEntry(name=name, command=words, env=env, cwd=cwd or "", home=home, unasked=unasked, options=table)


def _read_texts(table: Mapping[str, Any], key: str, where: str) -> dict[str, str]:
    value: Any = table.get(key, {})
    if not isinstance(value, dict) or not all(isinstance(each, str) for each in cast("dict[str, Any]", value).values()):
        raise UsageError(f"{where}: {key} must be an object whose values are strings")
    return cast("dict[str, str]", value)


def _read_names(table: Mapping[str, Any], key: str, where: str) -> list[str]:
    value: Any = table[key]
    if not isinstance(value, list) or not all(isinstance(each, str) for each in cast("list[Any]", value)):
        raise UsageError(f"{where}: {key} must be a list of tool names, not {format_value(value)}")
    return cast("list[str]", value)


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
    return path if is_word or is_file(path) else None


def split_command(target: str) -> tuple[str, ...]:
    """Return the words of the command line in a target that begins with the prefix.

    Raises `UsageError` if a quotation mark is left open.
    """
    try:
        return tuple(shlex.split(target.removeprefix(PREFIX)))
    except ValueError as error:
        raise UsageError(f"{target!r} is not a command line: {error}") from None


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
    return [file for file in files if file.is_absolute() and is_file(file)]


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
    user = parts.username or "" if parts.password is None else parts.password  # a token may stand alone
    values = [user, *(value for _, value in parse_qsl(parts.query))]
    return any(map(_strip_variables, values)) or LONG_CODE.search(_strip_variables(parts.path)) is not None


def hide_keys(target: str) -> str:
    """Return a target as it may be shown: without what may be a key in its address. Variables stay: they are sent.

    Examples:
        >>> hide_keys("mcp:https://ann:secret@example.com/mcp?key=secret&user=${USER}")
        'mcp:https://…@example.com/mcp?key=…&user=${USER}'
    """
    text = target.removeprefix(PREFIX).strip()
    if not is_address(text):
        return target
    head, mark, query = text.partition("?")
    pairs = (each.partition("=") for each in query.split("&"))
    shown = "&".join(
        f"{name}={_keep_variables(value) or HIDDEN}" if equals else HIDDEN for name, equals, value in pairs
    )
    prefix = PREFIX if target.startswith(PREFIX) else ""
    users = _keep_variables(head.rpartition("@")[0])
    return f"{prefix}{hide_secrets(head)}{mark}{shown if mark else ''}{f' ({users})' if users else ''}"


def _keep_variables(text: str) -> str:
    return "".join(found[0] for found in VARIABLE.finditer(text))


def _has_key(word: str, after: str, folder: Path) -> bool:
    with suppress(OSError):  # a text of any length is no name of a file
        if (folder / word).exists():
            return False
    name, *values = re.split("[=:]", word, maxsplit=1)
    value = "".join(values)
    if _KEY_NAME.search(name):
        if not values and word.startswith("-") and not after.startswith("-"):
            value = after
        if _KEY_SCHEME.sub("", _strip_variables(value), count=1):
            return True
    return LONG_CODE.search(_strip_variables(word)) is not None


def _strip_variables(text: str) -> str:
    return VARIABLE.sub("", text)


def _anchor_word(word: str, folder: Path) -> str:
    option, file = _split_word(word)
    path = (folder / file).absolute()
    return f"{option}{path}" if file and is_file(path) else word


def _split_word(word: str) -> tuple[str, str]:
    """Split a word such as `--config=servers.json` after the equals sign; any other word has no first part."""
    option, sign, value = word.partition("=")
    return (f"{option}=", value) if sign and option.startswith("-") else ("", word)


# Commands


@frozen
class CommandUse:
    """What the command line of a server runs.

    Attributes:
        files: The files and folders that its words name.
        folder: The folder that decides what runs: where it starts, or where its script is.
        kind: Among which files of the project the program chooses: files of code, none but those that the words name
            (`package`), or anything.
        code: Those of `files` that are the package, and not its arguments, where `kind` is `package`.
        is_tied_to_folder: Whether the folder in which the program starts decides what runs, beyond files that the words
            name.
    """

    files: tuple[Path, ...]
    folder: Path
    kind: Literal["code", "package", "anything"] = "anything"
    code: tuple[Path, ...] = ()
    is_tied_to_folder: bool = True


def resolve_command(words: Sequence[str], folder: Path, project: Path | None = None) -> CommandUse:
    """Return what a command line that starts in a folder runs. Words that no rule understands may run anything."""
    use = CommandUse(
        files=tuple(find_paths((each for word in words for each in split_words(word)), folder)), folder=folder
    )
    if not words:
        return use
    program = Path(words[0]).name.removesuffix(".exe").removesuffix(".cmd")
    if Path(words[0]).name != words[0] and project is not None:
        path = (folder / words[0]).absolute()
        if path.is_relative_to(project) or Path(os.path.realpath(path)).is_relative_to(project):
            if not (_PYTHON.fullmatch(program) and is_file(path.parent.parent / "pyvenv.cfg")):
                return use
            use = replace(use, files=(*use.files, path.parent.parent))
    if program in _PACKAGE_RUNNERS or (program in _CONTAINER_RUNNERS and words[1:2] == ["run"]):
        return _resolve_package(use, program, words)
    if _PYTHON.fullmatch(program):
        option, script = _read_python_words(words[1:])
        if option == "-m" and script:
            return replace(use, files=(*use.files, *_find_modules(script, folder)), kind="code")
        if option is None:
            place = find_folder((folder / script).absolute())
            return replace(use, folder=place, kind="code", is_tied_to_folder=False)
    if program == "node" and len(words) > 1 and not words[1].startswith("-"):
        place = find_folder((folder / words[1]).absolute())
        return replace(use, folder=place, kind="code", is_tied_to_folder=False)
    return use


def _resolve_package(use: CommandUse, program: str, words: Sequence[str]) -> CommandUse:
    """Return what a program runs that gets a package from elsewhere, or from the folder if there is one.

    A package such as `tsx` runs scripts that its arguments name. Then anything may run.
    """
    package = next((number for number, word in enumerate(words[1:], 1) if not word.startswith("-")), len(words))
    options = words[1:] if program in _CONTAINER_RUNNERS else words[1 : package + 1]
    named = [find_paths(split_words(word), use.folder) for word in words[1:]]
    code = [path for word, paths in zip(words[1:], named, strict=True) if word in options for path in paths]
    installed = _find_installed(words, use.folder)
    # The first word may be the value of an option: then what follows it is the package.
    after_option = [paths for before, paths in zip(words[1:], named[1:], strict=False) if before.startswith("-")]
    code += [path for paths in after_option for path in paths]
    if any(is_code(path) for paths in named for path in paths if is_file(path)):
        return use
    files = (*use.files, *installed)
    return replace(use, files=files, kind="package", code=(*code, *installed), is_tied_to_folder=bool(code))


def _read_python_words(words: Sequence[str]) -> tuple[str | None, str]:
    """Return the option that says what Python runs, `-m` or `-c`, or None for a script; and the module or script."""
    rest = iter(words)
    for word in rest:
        if not word.startswith("-") or word == "-":
            return (None, word) if word != "-" else ("-", "")
        if word.startswith("--"):
            if word == "--check-hash-based-pycs":
                next(rest, "")
            continue
        for place, letter in enumerate(word[1:], 2):
            if letter in "cm":
                return f"-{letter}", word[place:] or next(rest, "")
            if letter in "WX":
                if not word[place:]:
                    next(rest, "")
                break
    return "-", ""


def _find_modules(name: str, folder: Path) -> Iterator[Path]:
    place = folder.joinpath(*name.split("."))
    yield from (path for path in (place, place.with_name(f"{place.name}.py")) if exists(path))


def _find_installed(words: Sequence[str], folder: Path) -> list[Path]:
    """Return what `npx` and its like take from a folder instead of the registry."""
    places = [folder / name for name in (".npmrc", "bunfig.toml", "uv.toml")]
    for word in words[1:]:
        name = word.rpartition("=")[2]
        version = name.find("@", max(name.rfind("/") + 1, 1))  # the first @ may begin a scope
        name = name if version < 0 else name[:version]
        if re.fullmatch(r"[@\w./-]{1,214}", name) and not name.startswith((".", "/", "-")) and ".." not in name:
            modules = folder / "node_modules"
            places += [modules / name, modules / ".bin" / name.rpartition("/")[2]]
    return [path for path in places if exists(path)]


def split_words(word: str) -> Iterator[str]:
    """Yield the parts of a word that may be names: the word, its parts between separators, and words inside it."""
    yield word
    try:
        inside = shlex.split(word)
    except ValueError:
        inside = []
    for each in {*inside, *FRAGMENT.findall(word)} - {word}:
        yield each
        yield from (part for part in re.split("[:=]", each) if part and part != each)
    option, sign, value = word.partition("=")
    if sign and option.startswith("-") and value:
        yield value
    yield from (part for part in re.split("[:=]", word) if part and part != word)


def find_paths(names: Iterable[str], folder: Path) -> list[Path]:
    """Return the files and folders that names mean in a folder."""
    found: dict[Path, None] = {}
    for name in dict.fromkeys(names):
        if not name or len(name) > MAX_PATH_CHARS or "\0" in name:
            continue
        path = os.path.normpath(os.path.join(folder, os.path.expanduser(name)))  # noqa: PTH111, PTH118 (they are many)
        if os.path.exists(path):  # noqa: PTH110 (see above)
            found[Path(path)] = None
    return list(found)


def is_code(path: Path) -> bool:
    """Whether a file looks like code: by its suffix, or without one by its right to be run."""
    return path.name.endswith(CODE_SUFFIXES) or (not path.suffix and is_file(path) and os.access(path, os.X_OK))


def find_folder(path: Path) -> Path:
    """Return a folder itself, and of a file the folder that it is in."""
    return path if is_folder(path) else path.parent
