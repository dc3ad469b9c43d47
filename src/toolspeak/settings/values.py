"""The settings, each with its origin. None of them is a secret: of a key, they hold the variable's name alone."""

import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import field
from typing import Literal, NamedTuple, TypeAlias

from toolspeak._frozen import frozen
from toolspeak.events import Limits

ApprovalPolicy: TypeAlias = Literal["never", "ask", "always"]
"""Whether calls that need approval are refused, shown to the user, or approved."""

DEFAULT_ORIGIN = "default"

UNTRUSTED = "it is not trusted"
"""Why the settings of a project's file are ignored, in words."""


class SettingRow(NamedTuple):
    """One setting as `toolspeak config` shows it."""

    setting: str
    value: str
    origin: str


@frozen
class IgnoredSettings:
    """Settings in a project's file that do not count.

    Attributes:
        where: The file.
        reason: Why they do not count.
        rows: The settings and their values; empty if the file was not read at all.
    """

    where: str
    reason: str
    rows: tuple[tuple[str, str], ...] = ()


@frozen
class EndpointSettings:
    """An endpoint that the settings define.

    Attributes:
        name: The endpoint's part of a model name: `NAME:MODEL`, or `NAME` alone where `model` is set.
        base_url: The address, up to and including `/v1`.
        api: The API that the endpoint serves.
        key_env: The name of the environment variable that holds the key.
        key_set: Whether that variable was set when the settings were loaded.
        dialect: The dialect for all models of this endpoint.
        model: The model to use when a model name is `NAME` alone.
    """

    name: str
    base_url: str
    api: Literal["openai", "anthropic"] = "openai"
    key_env: str | None = None
    key_set: bool = False
    dialect: str | None = None
    model: str | None = None

    def key(self, environ: Mapping[str, str] | None = None) -> str | None:
        """Read the key from the environment. It is not kept."""
        return (os.environ if environ is None else environ).get(self.key_env) or None if self.key_env else None


@frozen
class LocalSettings:
    """Settings of the embedded model.

    Attributes:
        threads: The number of threads that compute; None for about one for each usable core.
        context: The most tokens in one conversation.
        slots: How many conversations are answered at the same time.
        keep_minutes: How long commands keep the model loaded after its last use; None to load it for each command.
    """

    threads: int | None = None
    context: int = 8192
    slots: int = 1
    keep_minutes: float | None = 5.0


@frozen
class Settings:
    """All settings, merged from every source.

    Attributes:
        model: The model to use when none is named.
        dialect: The dialect for every model; None for the best one of each model.
        tools: The targets in which tools are discovered when none is named.
        approve: Whether calls that need approval are refused, shown to the user, or approved.
        log: Whether the command line keeps conversations in the log.
        limits: The limits of a run.
        local: Settings of the embedded model.
        endpoints: The defined endpoints by name.
        origins: The file or environment variable that each setting came from; defaults have no entry.
        ignored: Settings in the files of projects that do not count, and why.
    """

    model: str = "local"
    dialect: str | None = None
    tools: tuple[str, ...] = ()
    approve: ApprovalPolicy = "ask"
    log: bool = True
    limits: Limits = Limits()
    local: LocalSettings = LocalSettings()
    endpoints: Mapping[str, EndpointSettings] = field(default_factory=dict[str, EndpointSettings])
    origins: Mapping[str, str] = field(default_factory=dict[str, str])
    ignored: tuple[IgnoredSettings, ...] = ()

    def origin(self, setting: str) -> str:
        """Return the origin of a setting, by its full name such as `limits.turns`."""
        return self.origins.get(setting, DEFAULT_ORIGIN)

    def rows(self) -> list[SettingRow]:
        """Return each setting with its value and origin. Of a key, the row has the variable and whether it is set."""
        return [SettingRow(name, value, self.origin(name)) for name, value in self._formatted()]

    def values_of(self, names: Collection[str]) -> tuple[tuple[str, str], ...]:
        """Return some of the settings with their values as `rows` formats them."""
        return tuple((name, value) for name, value in self._formatted() if name in names)

    def __repr__(self) -> str:
        return f"Settings({', '.join(f'{name}={value}' for name, value in self._formatted())})"

    def _formatted(self) -> Iterator[tuple[str, str]]:
        yield "model", _hide_password(self.model)
        yield "dialect", self.dialect or "the model's best"
        yield "tools", ", ".join(self.tools) or "none"
        yield "approve", self.approve
        yield "log", "true" if self.log else "false"
        limits = self.limits
        yield "limits.turns", _format_limit(limits.turns)
        yield "limits.calls", _format_limit(limits.calls)
        yield "limits.tokens", _format_limit(limits.tokens)
        yield "limits.seconds", _format_limit(limits.seconds)
        yield "limits.repeats", _format_limit(limits.repeats)
        yield "limits.concurrent", _format_limit(limits.concurrent)
        yield "limits.context", _format_limit(limits.context)
        yield "local.threads", str(self.local.threads or "about one per core")
        yield "local.context", str(self.local.context)
        yield "local.slots", str(self.local.slots)
        yield "local.keep_minutes", "none" if self.local.keep_minutes is None else f"{self.local.keep_minutes:g}"
        for name, endpoint in self.endpoints.items():
            yield f"endpoints.{name}", _format_endpoint(endpoint)


def _format_limit(value: float | None) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _format_endpoint(endpoint: EndpointSettings) -> str:
    parts = [endpoint.base_url, endpoint.api]
    if endpoint.key_env:
        parts.append(f"key in {endpoint.key_env} ({'set' if endpoint.key_set else 'not set'})")
    if endpoint.dialect:
        parts.append(f"dialect {endpoint.dialect}")
    if endpoint.model:
        parts.append(f"model {endpoint.model}")
    return ", ".join(parts)


def _hide_password(model: str) -> str:
    return re.sub(r"(?<=://)[^/@]*@", "…@", model)
