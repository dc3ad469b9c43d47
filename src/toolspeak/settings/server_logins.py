"""The logins of the user at MCP servers: tokens and what else the client needs to get new ones.

Each server has one file in the user's config folder, which only the user can read and which is replaced as a whole.
`mcp_client/login.py` decides what is in it; the name and the address of the server are always there, so that a person
can find it.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from toolspeak.settings.files import read_object, write_atomically
from toolspeak.settings.folders import config_folder

LoginData: TypeAlias = Mapping[str, Any]
"""JSON data with `name` and `url`, and what was saved besides."""


def find_login(identity: str, *, environ: Mapping[str, str] | None = None) -> LoginData | None:
    """Return what was saved for a server, by the hash of its address; None if nothing was."""
    return _read(login_file(identity, environ))


def save_login(identity: str, login: LoginData, *, environ: Mapping[str, str] | None = None) -> None:
    """Save a login instead of the one that was saved before.

    Raises:
        UsageError: The file cannot be written.
    """
    write_atomically(login_file(identity, environ), json.dumps(login, indent=2) + "\n")


def remove_login(identity: str, *, environ: Mapping[str, str] | None = None) -> None:
    """Forget the login at a server."""
    login_file(identity, environ).unlink(missing_ok=True)


def list_logins(*, environ: Mapping[str, str] | None = None) -> dict[str, LoginData]:
    """Return all logins by the hashes of the addresses of their servers."""
    folder = login_file("", environ).parent
    found = {file.stem: _read(file) for file in sorted(folder.glob("*.json")) if not file.name.startswith(".")}
    return {identity: login for identity, login in found.items() if login is not None}


def login_file(identity: str, environ: Mapping[str, str] | None = None) -> Path:
    """Return the file in which the login at a server is kept."""
    return config_folder(environ) / "mcp-logins" / f"{identity}.json"


def _read(file: Path) -> LoginData | None:
    login = read_object(file) or {}
    return login if isinstance(login.get("name"), str) and isinstance(login.get("url"), str) else None
