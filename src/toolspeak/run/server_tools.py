"""Tools of MCP servers for agents: servers are looked up, and their tools compared with what the user accepted."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from toolspeak.errors import ToolsChanged, UsageError
from toolspeak.events import Interrupted
from toolspeak.mcp_client import ServerConfig, ServerTools, is_server_target, read_target
from toolspeak.mcp_client.config import START_TIMEOUT_SECONDS, ProgressCallback
from toolspeak.mcp_client.connection import Definition
from toolspeak.mcp_client.pinning import find_changes, format_changes, select_pinned, shorten_changes
from toolspeak.mcp_client.server_tools import accept_all
from toolspeak.run.running_calls import CALLING_RUN
from toolspeak.run.server_logins import add_login
from toolspeak.server_targets import PREFIX
from toolspeak.settings.server_pins import ServerPin, find_pin, save_pin


def tools(
    *servers: str | Path | Sequence[str],
    name: str | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    headers: Mapping[str, str] | None = None,
    approve: bool = False,
    trust_hints: bool = False,
    pinned: bool = True,
    start_timeout: float = START_TIMEOUT_SECONDS,
    call_timeout: float | None = None,
    on_progress: ProgressCallback | None = None,
) -> ServerTools:
    """Return the tools of MCP servers, for `Agent(tools=[…])` and wherever else tools are given.

    The servers start when the tools are first needed, and end with the last one that has the tools, with the program,
    or where `with mcp.tools(…) as tools:` or `async with` ends.

    Args:
        servers: Command lines (`"npx some-server"`, or a list of words), addresses (`"https://host/mcp"`), or
            `mcp.json` files with several servers. `${NAME}` stands for an environment variable.
        name: The name of the server; by default it is made from the command line or the address.
        env: Further environment variables of a server that is started.
        cwd: The folder in which a server is started.
        headers: Headers of all requests to an address, such as `{"Authorization": "Bearer ${TOKEN}"}`.
        approve: Ask somebody before each call.
        trust_hints: Believe the server when it says that a tool only reads, or may be repeated. Otherwise each call is
            one that must not be repeated.
        pinned: Stop if a server describes its tools in another way than when they were first used.
        start_timeout: Seconds that a server has to start and to list its tools.
        call_timeout: Seconds after which a call is given up, instead of the agent's `tool_timeout`.
        on_progress: Called with the name of the tool, how far a call is, how far it will get if that is known, and a
            text, whenever a server reports it.

    Raises:
        UsageError: A server cannot be looked up, or `name` is given for several.
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
        "start_timeout": start_timeout,
        "call_timeout": call_timeout,
        "on_progress": on_progress,
        **({} if name is None else {"name": name}),
        **({} if cwd is None else {"cwd": str(cwd)}),
    }
    return build_server_tools(
        [
            replace(
                config,
                env={**config.env, **(env or {})},
                headers={**config.headers, **(headers or {})},
                approve=config.approve or approve,
                trust_hints=config.trust_hints or trust_hints,
                **cast("dict[str, Any]", options),
            )
            for config in configs
        ],
        pinned=pinned,
    )


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
    changed = find_changes(pin.tools, tools)
    if changed != pin.changed:
        pin = replace(pin, name=config.name, changed=changed)
        save_pin(pin)
    if not changed:
        return
    error = ToolsChanged(
        f"the MCP server {config.name} describes its tools in another way than when they were accepted:\n"
        f"{shorten_changes(format_changes(pin.tools, changed))}\n"
        f"to accept this: toolspeak mcp trust {config.name}"
    )
    if (driver := CALLING_RUN.get()) is not None:  # in a call: the server has died, and was started again
        reason = f"the MCP server {config.name} has changed its tools"
        driver.end_with_fault(error, Interrupted(cause="endpoint", detail=reason))
    raise error
