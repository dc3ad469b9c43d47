"""The settings as they hold, each with the place it came from. No value here is a secret, and none is shown as one."""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Literal, NamedTuple, TypeAlias

from toolspeak._frozen import frozen
from toolspeak.events import Limits

Approve: TypeAlias = Literal["never", "ask", "always"]
"""What becomes of calls that need approval: refused, asked about, or approved."""

DEFAULT = "default"


class Row(NamedTuple):
    """One setting for a person."""

    setting: str
    value: str
    origin: str


@frozen
class EndpointSettings:
    """An endpoint that the user gave a name.

    Attributes:
        name: What it is called in model names: `NAME:MODEL`, or `NAME` alone where `model` is set.
        base_url: Its address, up to and with `/v1`.
        api: Which API it speaks.
        key_env: The environment variable that holds its key.
        key_set: Whether that variable was set when the settings were read.
        dialect: The dialect that is best for it.
        model: The model that is asked when none is named.
    """

    name: str
    base_url: str
    api: Literal["openai", "anthropic"] = "openai"
    key_env: str | None = None
    key_set: bool = False
    dialect: str | None = None
    model: str | None = None

    def key(self, environ: Mapping[str, str] | None = None) -> str | None:
        """The key itself, read now and kept nowhere."""
        return (os.environ if environ is None else environ).get(self.key_env) or None if self.key_env else None


@frozen
class LocalSettings:
    """How the embedded model is run.

    Attributes:
        threads: Threads that compute; None is about one for each core that may be used.
        context: Tokens that fit into one conversation.
        slots: Conversations that are answered at the same time.
    """

    threads: int | None = None
    context: int = 8192
    slots: int = 1


@frozen
class Settings:
    """The settings that hold.

    Attributes:
        model: The model that is asked when none is named.
        dialect: The dialect for every model; None leaves it to the model.
        tools: Where tools are discovered when no target is named.
        approve: What becomes of calls that need approval.
        limits: Where a run stops by itself.
        local: How the embedded model is run.
        endpoints: Endpoints by the names the user gave them.
        origins: Where each setting came from that is not a default: a file, or a variable of the environment.
    """

    model: str = "local"
    dialect: str | None = None
    tools: tuple[str, ...] = ()
    approve: Approve = "ask"
    limits: Limits = Limits()
    local: LocalSettings = LocalSettings()
    endpoints: Mapping[str, EndpointSettings] = field(default_factory=dict[str, EndpointSettings])
    origins: Mapping[str, str] = field(default_factory=dict[str, str])

    def origin(self, setting: str) -> str:
        """Where a setting came from, by its name as in `limits.turns`."""
        return self.origins.get(setting, DEFAULT)

    def shown(self) -> list[Row]:
        """Each setting, its value and its origin. A key shows as the name of its variable, and whether that is set."""
        return [Row(name, value, self.origin(name)) for name, value in self._values()]

    def __repr__(self) -> str:
        return f"Settings({', '.join(f'{name}={value}' for name, value in self._values())})"

    def _values(self) -> Iterator[tuple[str, str]]:
        yield "model", _without_password(self.model)
        yield "dialect", self.dialect or "the model's best"
        yield "tools", ", ".join(self.tools) or "none"
        yield "approve", self.approve
        limits = self.limits
        yield "limits.turns", _limit(limits.turns)
        yield "limits.calls", _limit(limits.calls)
        yield "limits.tokens", _limit(limits.tokens)
        yield "limits.seconds", _limit(limits.seconds)
        yield "limits.repeats", _limit(limits.repeats)
        yield "limits.concurrent", _limit(limits.concurrent)
        yield "local.threads", str(self.local.threads or "by the cores")
        yield "local.context", str(self.local.context)
        yield "local.slots", str(self.local.slots)
        for name, endpoint in self.endpoints.items():
            yield f"endpoints.{name}", _endpoint(endpoint)


def _limit(value: float | None) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _endpoint(endpoint: EndpointSettings) -> str:
    parts = [endpoint.base_url, endpoint.api]
    if endpoint.key_env:
        parts.append(f"key in {endpoint.key_env} ({'set' if endpoint.key_set else 'not set'})")
    if endpoint.dialect:
        parts.append(f"dialect {endpoint.dialect}")
    if endpoint.model:
        parts.append(f"model {endpoint.model}")
    return ", ".join(parts)


def _without_password(model: str) -> str:
    return re.sub(r"(?<=://)[^/@]*@", "…@", model)
