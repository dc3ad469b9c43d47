"""Logins at MCP servers: where they are kept, and how a user logs in."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from toolspeak.mcp_client import ServerConfig, read_target
from toolspeak.mcp_client.config import LoginCallback, read_server, read_servers_file
from toolspeak.mcp_client.connection import Connection
from toolspeak.server_targets import PREFIX, is_address
from toolspeak.settings.server_logins import find_login, list_logins, login_file, save_login

LOGIN_TIMEOUT_SECONDS = 300.0
"""How long a user has to log in."""


MIN_CODE_CHARS = 8
"""Characters of a server's identity by which servers of the same name are told apart."""


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
    oauth = {"clientId": client.client_id, "clientSecret": client.client_secret, "callbackPort": client.callback_port}
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
    saved = [read_server(each["name"], each, login_file(identity)) for identity, each in list_logins().items()]
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
