"""The tools of MCP servers as they were when the user first used them or last trusted them.

Each server has one small file in the user's config folder, which is replaced as a whole.
"""

import json
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any, TypeAlias, cast

from toolspeak._frozen import frozen
from toolspeak.settings.files import read_object, write_atomically
from toolspeak.settings.folders import config_folder

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
    return _read(_pin_file(identity, environ))


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
    found = (_read(file) for file in _folder(environ).glob("*.json"))
    return sorted((pin for pin in found if pin is not None), key=lambda pin: (pin.name, pin.identity))


def _folder(environ: Mapping[str, str] | None) -> Path:
    return config_folder(environ) / "mcp"


def _pin_file(identity: str, environ: Mapping[str, str] | None) -> Path:
    return _folder(environ) / f"{identity}.json"


def _read(file: Path) -> ServerPin | None:
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
