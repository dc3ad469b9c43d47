"""Tools of MCP servers for agents: looks servers up, compares their tools with what the user accepted, and logs in."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast

from toolspeak.mcp.config import (
    START_TIMEOUT_SECONDS,
    LoginCallback,
    ProgressCallback,
    ServerApproval,
    ServerConfig,
    check_approval,
    check_result_owner,
    is_server_target,
    read_server,
    read_servers_file,
    read_target,
)
from toolspeak.mcp.connection import INSTRUCTIONS, Connection, Definition
from toolspeak.mcp.results import read_attachments, read_prompt, spell_arguments
from toolspeak.mcp.server_requests import ElicitationCallback, SamplingCallback
from toolspeak.mcp.server_tools import ServerTools, accept_all
from toolspeak.mcp.tool_specs import find_changes, format_changes, select_pinned, shorten_changes
from toolspeak.settings.server_targets import PREFIX, is_address
from toolspeak.settings.user_files import ServerPin, find_login, find_pin, list_logins, login_file, save_login, save_pin
from toolspeak.values.errors import ToolsChanged, UsageError
from toolspeak.values.messages import Media, Message

LOGIN_TIMEOUT_SECONDS = 300.0  # for a user to log in
MIN_CODE_CHARS = 8  # of a server's identity, by which servers of the same name are told apart


SERVER_KEYS = ("name", "type", "url", "headers", "oauth")
"""What a saved login says of its server; all else is the login."""


class UserLogin:
    """The login at one server in the user's folder."""

    def __init__(self, config: ServerConfig) -> None:
        self._identity = config.identity
        self._heading = _describe_server(config)

    def load(self) -> Mapping[str, Any] | None:
        return find_login(self._identity)

    def save(self, login: Mapping[str, Any], /) -> None:
        save_login(self._identity, {**login, **self._heading})


def _describe_server(config: ServerConfig) -> dict[str, Any]:
    """Return how a server is reached, with the names of variables and not their values, in the form of an mcp.json."""
    client = config.oauth
    oauth = {
        "clientId": client.client_id,
        "clientSecret": client.client_secret,
        "callbackPort": client.callback_port,
        "issuer": client.issuer,
    }
    headers = dict(config.headers)
    return {"name": config.name, "type": config.transport, "url": config.url, "headers": headers, "oauth": oauth}


def find_servers(name: str, file: Path | None = None) -> list[ServerConfig]:
    """Return the servers over HTTP that a name may mean: those of a file, or those that asked for a login before.

    An address means the server there. The beginning of a server's identity means that server.
    """
    if is_address(name):
        return read_target(f"{PREFIX}{name}")
    if file is not None:
        return [each for each in read_servers_file(file) if each.name == name and each.transport != "stdio"]
    saved = [
        read_server(each["name"], {key: each[key] for key in SERVER_KEYS if key in each}, login_file(identity))
        for identity, each in list_logins().items()
    ]
    known = [each for each in saved if each is not None]
    found = [each for each in known if each.name == name]
    if not found and len(name) >= MIN_CODE_CHARS:
        found = [each for each in known if each.identity.startswith(name)]
    return found


def add_login(config: ServerConfig) -> ServerConfig:
    """Return the configuration of a server over HTTP with the user's login."""
    return config if config.transport == "stdio" else replace(config, logins=UserLogin(config))


def log_in(config: ServerConfig, on_login: LoginCallback) -> bool:
    """Connect to a server, and wait until the user has logged in, if the server asks for that; return whether it did.

    Raises:
        ServerFailed: The login was refused, took too long, or the server cannot be reached.
    """
    asked: list[str] = []

    def show(url: str) -> None:
        asked.append(url)
        on_login(url)

    connection = Connection(replace(add_login(config), on_login=show, start_timeout=LOGIN_TIMEOUT_SECONDS))
    try:
        connection.started.result()
    finally:
        connection.close()
    return bool(asked)


def tools(
    *servers: str | Path | Sequence[str],
    name: str | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    headers: Mapping[str, str] | None = None,
    approve: ServerApproval | None = None,
    trust_hints: bool = False,
    result: Literal["own", "foreign"] | None = None,
    pinned: bool = True,
    instructions: bool = True,
    resources: bool = False,
    prompts: bool = False,
    required: bool = True,
    start_timeout: float = START_TIMEOUT_SECONDS,
    call_timeout: float | None = None,
    on_progress: ProgressCallback | None = None,
    on_sampling: SamplingCallback | None = None,
    on_elicitation: ElicitationCallback | None = None,
) -> ServerTools:
    """Return the tools of MCP servers, for `Agent(tools=[…])` and other places that take tools.

    The servers start when the tools are first needed. They stop when nothing uses the tools any more, when the program
    ends, or at the end of a `with mcp.tools(…) as tools:` or `async with` block.

    Args:
        servers: Command lines (`"npx some-server"`, or a list of words), addresses (`"https://host/mcp"`), or
            `mcp.json` files with several servers. `${NAME}` stands for an environment variable.
        name: The name of the server; by default it is made from the command line or the address.
        env: Further environment variables of a server that is started.
        cwd: The folder in which a server is started.
        headers: Headers of all requests to an address, such as `{"Authorization": "Bearer ${TOKEN}"}`.
        approve: Which calls need approval: True for all, `"writes"` for tools that are not known to be read-only (see
            `trust_hints`), a list of names for these tools, or a function as in `tool(approve=…)`. It overrides the
            `mcp.json`; without either, no call needs approval. `autoApprove` or `alwaysAllow` in a file means
            `"writes"` for the other tools.
        trust_hints: Trust the server's hints that a tool is read-only or idempotent. Otherwise each call counts as one
            that must not be repeated.
        result: Who wrote the results, as for `tool(result=…)`. It overrides the `mcp.json`. By default the results of a
            tool with the hint `openWorldHint` are foreign, and those of other tools are own if hints are trusted.
        pinned: Stop if a server has changed the descriptions of its tools since they were first used.
        instructions: Show the model the server's `instructions`, in the system prompt.
        resources: Give the model tools to list and read the resources of a server.
        prompts: Give the model tools to list and get the prompts of a server.
        required: Raise `ServerFailed` if a server does not start. Otherwise its tools are left out, with a warning.
        start_timeout: Seconds that a server has to start and to list its tools.
        call_timeout: Seconds before a call times out, instead of the agent's `tool_timeout`.
        on_progress: Called when a server reports progress, with the name of the tool, the amount done, the total if it
            is known, and a text.
        on_sampling: Called with a `SamplingRequest` when a server asks for the answer of a model. It returns the
            answer, or None to refuse. Without it, servers are told that they cannot ask.
        on_elicitation: Called with an `ElicitationRequest` when a server asks the user something. It returns the answer
            as a dict that fits the schema, or None to decline. Without it, servers are told that they cannot ask.

    Raises:
        UsageError: A server cannot be found, or `name` is given for several.
    """
    configs = [config for each in servers for config in _read_server(each)]
    if not configs:
        raise UsageError("mcp.tools takes the command line or the address of a server, or the path of an mcp.json")
    if name is not None and len(configs) > 1:
        raise UsageError("name is for one server; in an mcp.json each server has its own name")
    for label, seconds in (("start_timeout", start_timeout), ("call_timeout", call_timeout)):
        if seconds is not None and not seconds > 0:
            raise UsageError(f"{label} is a number of seconds above 0, not {seconds!r}")
    options = {
        **({} if approve is None else {"approve": check_approval(approve, "approve"), "unasked": None}),
        **({} if result is None else {"result": check_result_owner(result, "result")}),
        "start_timeout": start_timeout,
        "call_timeout": call_timeout,
        "on_progress": on_progress,
        "on_sampling": on_sampling,
        "on_elicitation": on_elicitation,
        **({} if name is None else {"name": name}),
        **({} if cwd is None else {"cwd": str(cwd), "home": ""}),
    }
    return build_server_tools(
        [
            replace(
                config,
                env={**config.env, **(env or {})},
                headers={**config.headers, **(headers or {})},
                trust_hints=config.trust_hints or trust_hints,
                instructions=config.instructions and instructions,
                resources=config.resources or resources,
                prompts=config.prompts or prompts,
                required=config.required and required,
                **cast("dict[str, Any]", options),
            )
            for config in configs
        ],
        pinned=pinned,
    )


def resources(servers: ServerTools, *uris: str, server: str | None = None) -> list[Media]:
    """Read resources of an MCP server, as attachments: `user("Summarize this.", *mcp.resources(servers, uri))`.

    Args:
        servers: What `mcp.tools` returned. The server is started if it does not run.
        uris: The addresses of the resources.
        server: The name of the server, if there are several.

    Raises:
        ServerFailed: The server did not start, or has no such resource.
    """
    picked = servers.pick_server(server)
    return [
        each
        for uri in uris
        for each in read_attachments(picked.fetch(lambda client, uri=uri: client.read_resource(uri)))
    ]


def prompt(
    servers: ServerTools, name: str, arguments: Mapping[str, Any] | None = None, *, server: str | None = None
) -> tuple[Message, ...]:
    """Get a prompt of an MCP server, as messages: `agent.run(messages=mcp.prompt(servers, "review", {"file": "x"}))`.

    The server's text has the origin of an attachment: a call in it is not run.

    Args:
        servers: What `mcp.tools` returned. The server is started if it does not run.
        name: The name of the prompt.
        arguments: The arguments of the prompt.
        server: The name of the server, if there are several.

    Raises:
        ServerFailed: The server did not start, or has no such prompt.
    """
    spelled = spell_arguments(arguments or {})
    return read_prompt(servers.pick_server(server).fetch(lambda client: client.get_prompt(name, spelled)))


def build_server_tools(configs: Sequence[ServerConfig], *, pinned: bool = True) -> ServerTools:
    """Return the tools of servers, which are compared with what the user accepted when the servers start."""
    known = [_take_decisions(config) for config in configs] if pinned else configs
    return ServerTools([add_login(config) for config in known], check_pin if pinned else accept_all)


def _read_server(server: object) -> list[ServerConfig]:
    if isinstance(server, Path) or (isinstance(server, str) and is_server_target(server)):
        return read_target(server)
    if isinstance(server, str):
        return read_target(f"{PREFIX}{server}")
    if isinstance(server, Sequence):
        return read_target(f"{PREFIX}{shlex.join(cast('Sequence[str]', server))}")
    raise UsageError(f"a server is a command line, an address or a path, not {type(server).__name__}")


def _take_decisions(config: ServerConfig) -> ServerConfig:
    """Return the configuration with what the user decided about the server."""
    pin = find_pin(config.identity)
    return replace(config, trust_hints=True) if pin is not None and pin.trust_hints else config


def check_pin(config: ServerConfig, definitions: Sequence[Definition]) -> None:
    """Compare the tools of a server with those that the user accepted; save them if this is the first use.

    Raises:
        ToolsChanged: A tool is new or different.
        UsageError: The tools cannot be saved.
    """
    pin, tools = find_pin(config.identity), select_pinned(definitions)
    if pin is None:
        save_pin(ServerPin(identity=config.identity, name=config.name, place=config.place, tools=tools))
        return
    if INSTRUCTIONS not in pin.tools and INSTRUCTIONS in tools:  # saved by a release that did not show them
        pin = replace(pin, tools={INSTRUCTIONS: tools[INSTRUCTIONS], **pin.tools})
        save_pin(pin)
    changed = find_changes(pin.tools, tools)
    if changed != pin.changed:
        pin = replace(pin, name=config.name, changed=changed)
        save_pin(pin)
    if not changed:
        return
    raise ToolsChanged(
        f"the MCP server {config.name} describes its tools in another way than when they were accepted:\n"
        f"{shorten_changes(format_changes(pin.tools, changed))}\n"
        f"to accept this: toolspeak mcp trust {shlex.quote(config.name)}",
        server=config.name,
    )
