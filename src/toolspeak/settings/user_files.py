"""The dialects that `toolspeak calibrate` found to be best, by endpoint and model.

Each pair has one small file, replaced as a whole: two programs that calibrate at the same time do not overwrite each
other's results, and a file is never half written.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any, TypeAlias, cast

from toolspeak.settings.files import config_folder, read_object, write_atomically
from toolspeak.values.errors import UsageError
from toolspeak.values.frozen import frozen

# The tools of MCP servers as they were when the user first used them or last trusted them.
#
# Each server has one small file in the user's config folder, which is replaced as a whole.


PinnedTools: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Definitions of tools by their names."""


@frozen
class ServerPin:
    """What is known of a server.

    Attributes:
        identity: A hash of the server's command line or address.
        name: The name by which the user knows the server.
        place: Its program or address, for the user to recognize.
        tools: The tools that the user accepted.
        changed: The tools as the server described them later; empty if they did not change.
        trust_hints: Whether the user believes the server's hints about what its tools do.
    """

    identity: str
    name: str
    place: str
    tools: PinnedTools
    changed: PinnedTools = field(default_factory=dict[str, Mapping[str, Any]])
    trust_hints: bool = False


def find_pin(identity: str, *, environ: Mapping[str, str] | None = None) -> ServerPin | None:
    """Return what is known of a server, or None if it was never used."""
    return _read_pin(_pin_file(identity, environ))


def save_pin(pin: ServerPin, *, environ: Mapping[str, str] | None = None) -> None:
    """Save what is known of a server.

    Raises:
        UsageError: The file cannot be written.
    """
    content = {
        "name": pin.name,
        "place": pin.place,
        "tools": pin.tools,
        "changed": pin.changed,
        "trust_hints": pin.trust_hints,
    }
    write_atomically(_pin_file(pin.identity, environ), json.dumps(content, indent=2) + "\n")


def accept_change(pin: ServerPin, *, trust_hints: bool | None = None) -> ServerPin:
    """Return the pin of a server whose tools the user accepts as they are now."""
    hints = pin.trust_hints if trust_hints is None else trust_hints
    return replace(pin, tools={**pin.tools, **pin.changed} if pin.changed else pin.tools, changed={}, trust_hints=hints)


def remove_pin(pin: ServerPin, *, environ: Mapping[str, str] | None = None) -> None:
    """Forget a server: its tools are accepted as they are when it is used the next time."""
    _pin_file(pin.identity, environ).unlink(missing_ok=True)


def list_pins(*, environ: Mapping[str, str] | None = None) -> list[ServerPin]:
    """Return all servers that are known, by name."""
    found = (_read_pin(file) for file in _folder(environ).glob("*.json"))
    return sorted((pin for pin in found if pin is not None), key=lambda pin: (pin.name, pin.identity))


def _folder(environ: Mapping[str, str] | None) -> Path:
    return config_folder(environ) / "mcp"


def _pin_file(identity: str, environ: Mapping[str, str] | None) -> Path:
    return _folder(environ) / f"{identity}.json"


def _read_pin(file: Path) -> ServerPin | None:
    content = read_object(file) or {}
    name, place, tools, changed = (content.get(key) for key in ("name", "place", "tools", "changed"))
    if not isinstance(name, str) or not isinstance(place, str) or not isinstance(tools, dict):
        return None
    return ServerPin(
        identity=file.stem,
        name=name,
        place=place,
        tools=cast("PinnedTools", tools),
        changed=cast("PinnedTools", changed) if isinstance(changed, dict) else {},
        trust_hints=content.get("trust_hints") is True,
    )


# The logins of the user at MCP servers: tokens and what else the client needs to get new ones.
#
# Each server has one file in the user's config folder, which only the user can read and which is replaced as a whole.
# `mcp/login.py` decides what is in it; the name and the address of the server are always there, so that a person
# can find it.


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


def save_calibrated_dialect(
    endpoint: str, model: str, dialect: str, *, environ: Mapping[str, str] | None = None
) -> Path:
    """Save the best dialect for a model at an endpoint, and return the file's path.

    Raises:
        UsageError: The file cannot be written.
    """
    path = _file_path(endpoint, model, environ)
    write_atomically(path, json.dumps({"endpoint": endpoint, "model": model, "dialect": dialect}, indent=2) + "\n")
    return path


def load_calibrated_dialect(endpoint: str, model: str, *, environ: Mapping[str, str] | None = None) -> str | None:
    """Return the dialect saved for a model at an endpoint, or None if no readable file names one."""
    try:
        path = _file_path(endpoint, model, environ)
    except UsageError:  # there is no config folder
        return None
    dialect = (read_object(path) or {}).get("dialect")
    return dialect if isinstance(dialect, str) and dialect else None


def forget_calibrated_dialect(endpoint: str, model: str, *, environ: Mapping[str, str] | None = None) -> bool:
    """Delete what was saved for a model at an endpoint, and return whether there was anything.

    Raises:
        UsageError: The file cannot be deleted.
    """
    path = _file_path(endpoint, model, environ)
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise UsageError(f"cannot delete {path}: {error.strerror}") from None
    return True


def _file_path(endpoint: str, model: str, environ: Mapping[str, str] | None) -> Path:
    name = hashlib.sha256(json.dumps([endpoint.rstrip("/"), model]).encode()).hexdigest()[:32]
    return config_folder(environ) / "dialects" / f"{name}.json"
