"""`ServerConfig`: how an MCP server is reached, read from a target such as `mcp:npx some-server` or from an `mcp.json`.

`${NAME}` in a value stands for the environment variable `NAME`, so that keys need not stand in files. A variable is
read when the server starts; the configuration, and what is derived from it, hold the name only.
"""

import json
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, cast
from urllib.parse import urlsplit

from toolspeak.mcp.server_requests import ElicitationCallback, SamplingCallback
from toolspeak.settings.files import cache_folder
from toolspeak.settings.server_targets import (
    PREFIX,
    VARIABLE,
    ServerEntry,
    Transport,
    anchor_command,
    expand_variables,
    find_command_files,
    find_servers_file,
    is_address,
    read_entries,
    read_entry,
    resolve_command,
    split_command,
)
from toolspeak.tools.function_tool import ApprovalRule
from toolspeak.values.address import hide_secrets
from toolspeak.values.errors import UsageError
from toolspeak.values.frozen import frozen
from toolspeak.values.spec import Effect, ResultOwner
from toolspeak.values.validation import format_value

START_TIMEOUT_SECONDS = 30.0  # for a server to start and to list its tools; `npx` may have to download it first

ProgressCallback: TypeAlias = Callable[[str, float, float | None, str | None], None]
"""Called with the name of a tool, how far its call is, how far it will get if that is known, and a text."""

ServerApproval: TypeAlias = bool | Literal["writes"] | Collection[str] | ApprovalRule
"""Which calls of a server's tools need an approval: all, none, those of tools that are not known to only read, those of
tools with these names, or those for which a function says so."""

LoginCallback: TypeAlias = Callable[[str], None]
"""Called with the address at which the user logs in."""

_RUNNERS = frozenset("npx bunx pnpm yarn bun node deno uvx uv pipx python python3 py docker podman".split())
"""Programs that run another program, which their first plain argument names."""

_RUNNER_COMMANDS = frozenset({"run", "dlx", "exec", "x", "tool"})


class LoginStore(Protocol):
    """Where the login at one server is kept."""

    def load(self) -> Mapping[str, Any] | None:
        """Return what was saved, as JSON data; None if nothing was."""
        ...

    def save(self, login: Mapping[str, Any], /) -> None:
        """Save a login instead of the one that was saved before."""
        ...


@frozen
class OAuthClient:
    """How this program is known at an authorization server that does not let programs register themselves.

    Attributes:
        client_id: The id; empty if the program registers itself.
        client_secret: The secret, if the server gave one.
        callback_port: The port to which the browser comes back after a login; 0 for any free one.
        issuer: The authorization server that the client is registered at, by its own name; empty if that is not said.
    """

    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    callback_port: int = 0
    issuer: str = ""


@frozen
class ServerConfig:
    """How an MCP server is reached, and how its tools are used.

    Attributes:
        name: The name of the server, for messages and for the names of its tools.
        transport: How messages are sent: to a child process, or over HTTP (`sse` is the form before 2025).
        command: The program and its arguments, for a child process.
        url: The address, for HTTP.
        env: Further environment variables of the child process.
        cwd: The folder in which the child process starts; None for `home`.
        home: The folder of the file that names the server, to which `cwd` is relative; empty for the working directory.
        headers: Headers of all requests, for HTTP.
        approve: Which calls need an approval; None if nobody has said it, which asks nobody unless `unasked` is a list.
        unasked: The names of tools, as the server calls them, whose calls need none whatever `approve` says; `*` for
            all. Without `approve`, somebody is asked before calls of other tools that write. None if there is no list.
        trust_hints: Whether the server is believed when it says that a tool only reads, or may be repeated.
        result: Whose words the results of its tools are; "" for what the server says of each.
        instructions: Whether the model is shown what the server says of itself.
        resources: Whether the model has tools with which it lists and reads the resources of the server.
        prompts: Whether the model has tools with which it lists and gets the prompts of the server.
        required: Whether a server that does not start is an error; if not, its tools are left out.
        start_timeout: Seconds that the server has to start and to list its tools.
        call_timeout: Seconds after which a call is given up; None for the timeout of the agent.
        on_progress: Called when a call reports how far it is.
        on_sampling: Answers the server's questions to a model; None if they are refused.
        on_elicitation: Answers the server's questions to the user; None if they are refused.
        oauth: How this program is known where users log in, for HTTP.
        logins: Where the user's login is kept, for HTTP; None if nobody can log in.
        on_login: Called when the user has to log in; None if that is refused, as in a run.
    """

    name: str
    transport: Transport = "stdio"
    command: tuple[str, ...] = field(default=(), repr=False)  # it may hold a key, as the next two may
    url: str = field(default="", repr=False)
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    cwd: str | None = None
    home: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    approve: ServerApproval | None = None
    unasked: tuple[str, ...] | None = None
    trust_hints: bool = False
    result: ResultOwner = ""
    instructions: bool = True
    resources: bool = False
    prompts: bool = False
    required: bool = True
    start_timeout: float = START_TIMEOUT_SECONDS
    call_timeout: float | None = None
    on_progress: ProgressCallback | None = None
    on_sampling: SamplingCallback | None = None
    on_elicitation: ElicitationCallback | None = None
    oauth: OAuthClient = OAuthClient()
    logins: LoginStore | None = None
    on_login: LoginCallback | None = None

    @property
    def identity(self) -> str:
        """A hash that is the same for the same program and arguments or the same address, and tells nothing of them.

        A file that the command line names counts with its folder: a script of the same name in another folder is
        another server. So does the folder of a program that may run what lies there: a shell, or `python -m`.
        """
        words = [self.transport, list(self._anchored_command), self.url]
        if self._is_tied_to_folder:
            words.append(str(self._start_folder))
        return sha256(json.dumps(words).encode()).hexdigest()[:32]

    @property
    def place(self) -> str:
        """Where the server is: its program and the files that it is given, or its address.

        Other arguments and queries are left out: they may hold keys.
        """
        if self.transport == "stdio":
            program, *arguments = self._anchored_command
            files = [str(file) for file in find_command_files(arguments)]
            folder = [f"in {self._start_folder}"] if self._is_tied_to_folder else []
            return " ".join([program, *files, *folder])
        return hide_secrets(self.url)

    def asks_before(self, tool: str, effect: Effect) -> bool:
        """Whether somebody is asked before calls of a tool, by the name that the server gives it."""
        if self.unasked is not None and not {"*", tool}.isdisjoint(self.unasked):
            return False
        if self.approve == "writes" or (self.approve is None and self.unasked is not None):
            return effect != "read"
        if isinstance(self.approve, tuple):
            return tool in self.asked_tools
        return self.approve not in (None, False)

    @property
    def asked_tools(self) -> tuple[str, ...]:
        """The names that `approve` lists, if it is a list."""
        return cast("tuple[str, ...]", self.approve) if isinstance(self.approve, tuple) else ()

    @property
    def _start_folder(self) -> Path:
        return Path(self.home, expand_variables(self.cwd or "", os.environ)).absolute()

    @property
    def _anchored_command(self) -> tuple[str, ...]:
        return anchor_command(self.command, self._start_folder)

    @property
    def _is_tied_to_folder(self) -> bool:
        """Whether the folder in which the server starts decides what runs, beyond the files that the words name."""
        if self.transport != "stdio":
            return False
        words = [expand_variables(word, os.environ) for word in self.command]
        return resolve_command(words, self._start_folder).is_tied_to_folder or any(
            "${" in word and (self._start_folder / expanded).is_file()
            for word, expanded in zip(self.command, words, strict=True)
        )

    def expand(self, environ: Mapping[str, str] | None = None) -> "ServerConfig":
        """Return the configuration with the values of the variables that it names.

        Raises:
            UsageError: A variable is not set.
        """
        variables = os.environ if environ is None else environ

        def expand(text: str) -> str:
            return VARIABLE.sub(lambda found: self._read_variable(found[1], found[2], variables), text)

        return replace(
            self,
            command=tuple(map(expand, self.command)),
            url=expand(self.url),
            env={name: expand(value) for name, value in self.env.items()},
            cwd=str(Path(self.home, expand(self.cwd or "")).absolute()) if self.cwd or self.home else None,
            headers={name: expand(value) for name, value in self.headers.items()},
            oauth=replace(
                self.oauth,
                client_id=expand(self.oauth.client_id),
                client_secret=expand(self.oauth.client_secret),
                issuer=expand(self.oauth.issuer),
            ),
        )

    def _read_variable(self, name: str, default: str | None, variables: Mapping[str, str]) -> str:
        if value := variables.get(name):
            return value
        if default is None:
            raise UsageError(f"the MCP server {self.name} needs the environment variable {name}, which is not set")
        return default


def distrust_compiled_files(config: ServerConfig) -> ServerConfig:
    """Return the configuration of a project's server with a place for compiled Python files that is the user's own.

    Python believes a compiled file in the `__pycache__` of a project if it has the time and the size of the source.
    """
    words = [expand_variables(word, os.environ) for word in config.command]
    if config.transport != "stdio" or resolve_command(words, Path(config.home)).kind == "package":
        return config
    return replace(config, env={"PYTHONPYCACHEPREFIX": str(cache_folder() / "compiled"), **config.env})


def is_server_target(target: object) -> bool:
    """Whether a target names MCP servers: `mcp:…`, or a JSON file."""
    if isinstance(target, Path):
        return target.suffix == ".json"
    return isinstance(target, str) and (target.startswith(PREFIX) or target.endswith(".json"))


def read_target(target: str | Path) -> list[ServerConfig]:
    """Return the servers that a target names.

    Raises:
        UsageError: The target names no server, or a file cannot be read.

    Examples:
        >>> [server.name for server in read_target("mcp:npx -y @modelcontextprotocol/server-filesystem /tmp")]
        ['filesystem']
    """
    text = str(target)
    if isinstance(target, Path) or not text.startswith(PREFIX):
        return read_servers_file(Path(text))
    if (file := find_servers_file(text, Path.cwd())) is not None:
        return read_servers_file(file)
    rest = text.removeprefix(PREFIX).strip()
    if is_address(rest):
        return [_check_url(ServerConfig(name=_name_address(rest), transport="http", url=rest))]
    command = split_command(text)
    if not command:
        raise UsageError(f"{text!r} names no server; write mcp: and a command line or an address")
    return [ServerConfig(name=_name_command(command), command=command)]


def read_servers_file(path: Path) -> list[ServerConfig]:
    """Return the servers in a file of the form `{"mcpServers": {"name": {…}}}`, as desktop clients write it.

    Programs start in the folder of the file, and relative paths in it are relative to that folder.

    Raises:
        UsageError: The file is missing, or is not of that form.
    """
    return [_build_config(entry, path) for entry in read_entries(path)]


def read_server(name: str, value: Any, path: Path) -> ServerConfig | None:
    """Read one server of a file; None if the file says that it is switched off.

    Raises:
        UsageError: It cannot be understood.
    """
    entry = read_entry(name, value, path)
    return None if entry is None else _build_config(entry, path)


def _build_config(entry: ServerEntry, path: Path) -> ServerConfig:
    where = f"{path}: the server {entry.name}"
    if entry.transport != "stdio":
        oauth = _read_oauth(entry.options.get("oauth", {}), where)
        config = ServerConfig(
            name=entry.name, transport=entry.transport, url=entry.url, headers=entry.headers, oauth=oauth
        )
        return _check_url(_read_options(config, entry, where))
    home = str(entry.home or Path.cwd())
    cwd = entry.cwd if "${" in entry.cwd else str(Path(home, entry.cwd))
    config = ServerConfig(name=entry.name, command=entry.command, env=entry.env, cwd=cwd, home=home)
    return _read_options(config, entry, where)


_SWITCHES = ("instructions", "resources", "prompts", "required")


def _read_options(config: ServerConfig, entry: ServerEntry, where: str) -> ServerConfig:
    options = entry.options
    for key in ("trustHints", *_SWITCHES):
        if not isinstance(value := options.get(key, False), bool):
            raise UsageError(f"{where}: {key} is true or false, not {format_value(value)}")
    approve = options.get("approve")
    approve = None if approve is None else check_approval(approve, f"{where}: approve")
    config = replace(config, **{key: options.get(key, getattr(config, key)) for key in _SWITCHES})
    result = check_result_owner(options.get("result"), f"{where}: result")
    hints = options.get("trustHints", False)
    return replace(config, approve=approve, unasked=entry.unasked, trust_hints=hints, result=result)


def check_result_owner(owner: Any, name: str) -> ResultOwner:
    """Return whose words results are, "" if it is not said. Raises `UsageError` if it is something else."""
    if owner not in (None, "own", "foreign"):
        raise UsageError(f"{name} is 'own' or 'foreign', not {format_value(owner)}")
    return owner or ""


def check_approval(approve: Any, name: str) -> ServerApproval:
    """Return which calls need an approval, names as a tuple. Raises `UsageError` if it is something else."""
    if isinstance(approve, bool) or callable(approve):
        return cast("bool | ApprovalRule", approve)
    if isinstance(approve, str):
        if approve == "writes":
            return approve
    elif isinstance(approve, Collection) and all(isinstance(each, str) for each in cast("Collection[Any]", approve)):
        return tuple(cast("Collection[str]", approve))
    raise UsageError(f'{name} is true, false, "writes" or a list of names of tools, not {approve!r}')


def _read_oauth(value: Any, where: str) -> OAuthClient:
    table = cast("dict[str, Any]", value) if isinstance(value, dict) else {"": value}
    texts = [table.get(key, "") for key in ("clientId", "clientSecret", "issuer")]
    port = table.get("callbackPort", 0)
    if "" in table or not all(isinstance(each, str) for each in texts) or type(port) is not int or port < 0:
        raise UsageError(
            f"{where}: oauth is an object with the texts clientId, clientSecret and issuer and a callbackPort"
        )
    return OAuthClient(client_id=texts[0], client_secret=texts[1], callback_port=port, issuer=texts[2])


def _check_url(config: ServerConfig) -> ServerConfig:
    parts = urlsplit(config.url)
    if not config.url.startswith("${") and (parts.scheme not in ("http", "https") or not parts.hostname):
        raise UsageError(f"the MCP server {config.name}: {config.place!r} is no address that begins with http or https")
    return config


def _name_command(command: tuple[str, ...]) -> str:
    """Return a name for the server that a command line starts."""
    program = Path(command[0]).name.removesuffix(".exe").removesuffix(".cmd")
    named = program
    if re.sub(r"(?<![\d.])[\d.]++$", "", program) in _RUNNERS:
        plain = [word for word in command[1:] if not word.startswith("-") and word not in _RUNNER_COMMANDS]
        named = plain[0] if plain else program
    elif program == "toolspeak" and command[1:3] == ("mcp", "serve"):
        named = _find_served_target(command[3:]) or program
    version = named.find("@", max(named.rfind("/") + 1, 1))
    name = (named if version < 0 else named[:version]).rstrip("/").rpartition("/")[2]
    name = re.sub(r"\.(?:py|js|mjs|cjs|ts)$", "", name)
    short = re.sub(r"^(?:mcp[-_])?(?:server[-_])?|(?:[-_]mcp)?(?:[-_]server)?$", "", name)
    return short or name or "server"


def _find_served_target(words: Sequence[str]) -> str:
    """Return what the server of `toolspeak mcp serve` is named after: its `--name`, or else its first target."""
    target, word_iterator = "", iter(words)
    for word in word_iterator:
        option, equals, value = word.partition("=")
        if option.startswith("-"):
            value = value if equals else next(word_iterator, "")  # all of its options have values
            if option == "--name":
                return value
        elif not target:
            target = word.partition(":")[0]
    return target


def _name_address(url: str) -> str:
    return re.sub(r"^(?:mcp|www|api)\.", "", urlsplit(url).hostname or "server")
