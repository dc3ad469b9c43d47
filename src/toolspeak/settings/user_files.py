"""What toolspeak keeps for the user, in small JSON files below the config folder: one file for each thing, by a hash.

- `dialects/`: the dialects that `toolspeak calibrate` found to be best, by endpoint and model.
- `mcp/`: *pins*, the tools of MCP servers as they were when the user first used them or last trusted them.
- `mcp-logins/`: the logins of the user at MCP servers: tokens and what else the client needs to get new ones.
  `mcp/login.py` decides what is in them; the name and the address of the server are always there, so that a person can
  find a login.

A file is replaced as a whole: two programs that write at the same time do not overwrite each other's results, and a
file is never half written. Only the user can read it.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any, TypeAlias, cast

from toolspeak.settings.files import Environ, config_folder, read_object, write_object
from toolspeak.values.errors import UsageError
from toolspeak.values.frozen import frozen

# Dialects


def save_calibrated_dialect(endpoint: str, model: str, dialect: str, *, environ: Environ | None = None) -> Path:
    """Save the best dialect for a model at an endpoint, and return the file's path.

    Raises `UsageError` if the file cannot be written.
    """
    path = _dialect_file(endpoint, model, environ)
    write_object(path, {"endpoint": endpoint, "model": model, "dialect": dialect})
    return path


def load_calibrated_dialect(endpoint: str, model: str, *, environ: Environ | None = None) -> str | None:
    """Return the dialect saved for a model at an endpoint, or None if no readable file names one."""
    try:
        path = _dialect_file(endpoint, model, environ)
    except UsageError:  # there is no config folder
        return None
    dialect = (read_object(path) or {}).get("dialect")
    return dialect if isinstance(dialect, str) and dialect else None


def forget_calibrated_dialect(endpoint: str, model: str, *, environ: Environ | None = None) -> bool:
    """Delete what was saved for a model at an endpoint, and return whether there was anything.

    Raises `UsageError` if the file cannot be deleted.
    """
    path = _dialect_file(endpoint, model, environ)
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise UsageError(f"cannot delete {path}: {error.strerror}") from None
    return True


def _dialect_file(endpoint: str, model: str, environ: Environ | None) -> Path:
    name = hashlib.sha256(json.dumps([endpoint.rstrip("/"), model]).encode()).hexdigest()[:32]
    return config_folder(environ) / "dialects" / f"{name}.json"


# Pins

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


def find_pin(identity: str, *, environ: Environ | None = None) -> ServerPin | None:
    """Return what is known of a server, or None if it was never used."""
    return _read_pin(_pin_file(identity, environ))


def save_pin(pin: ServerPin, *, environ: Environ | None = None) -> None:
    """Save what is known of a server. Raises `UsageError` if the file cannot be written."""
    kept = ("name", "place", "tools", "changed", "trust_hints")
    write_object(_pin_file(pin.identity, environ), {name: getattr(pin, name) for name in kept})


def accept_change(pin: ServerPin, *, trust_hints: bool | None = None) -> ServerPin:
    """Return the pin of a server whose tools the user accepts as they are now."""
    hints = pin.trust_hints if trust_hints is None else trust_hints
    return replace(pin, tools={**pin.tools, **pin.changed} if pin.changed else pin.tools, changed={}, trust_hints=hints)


def remove_pin(pin: ServerPin, *, environ: Environ | None = None) -> None:
    """Forget a server: its tools are accepted as they are when it is used the next time."""
    _pin_file(pin.identity, environ).unlink(missing_ok=True)


def list_pins(*, environ: Environ | None = None) -> list[ServerPin]:
    """Return all servers that are known, by name."""
    found = map(_read_pin, _pin_file("", environ).parent.glob("*.json"))
    return sorted((pin for pin in found if pin is not None), key=lambda pin: (pin.name, pin.identity))


def _pin_file(identity: str, environ: Environ | None) -> Path:
    return config_folder(environ) / "mcp" / f"{identity}.json"


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


# Logins

LoginData: TypeAlias = Mapping[str, Any]
"""JSON data with `name` and `url`, and what was saved besides."""


def find_login(identity: str, *, environ: Environ | None = None) -> LoginData | None:
    """Return what was saved for a server, by the hash of its address; None if nothing was."""
    return _read_login(login_file(identity, environ))


def save_login(identity: str, login: LoginData, *, environ: Environ | None = None) -> None:
    """Save a login instead of the one that was saved before. Raises `UsageError` if the file cannot be written."""
    write_object(login_file(identity, environ), login)


def remove_login(identity: str, *, environ: Environ | None = None) -> None:
    """Forget the login at a server."""
    login_file(identity, environ).unlink(missing_ok=True)


def list_logins(*, environ: Environ | None = None) -> dict[str, LoginData]:
    """Return all logins by the hashes of the addresses of their servers."""
    folder = login_file("", environ).parent
    found = {file.stem: _read_login(file) for file in sorted(folder.glob("*.json")) if not file.name.startswith(".")}
    return {identity: login for identity, login in found.items() if login is not None}


def login_file(identity: str, environ: Environ | None = None) -> Path:
    """Return the file in which the login at a server is kept."""
    return config_folder(environ) / "mcp-logins" / f"{identity}.json"


def _read_login(file: Path) -> LoginData | None:
    login = read_object(file) or {}
    return login if isinstance(login.get("name"), str) and isinstance(login.get("url"), str) else None
