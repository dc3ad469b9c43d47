"""The settings, each with its origin. None of them is a secret: of a key, they hold the variable's name alone."""

import json
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, cast

from toolspeak.settings.server_targets import hide_keys
from toolspeak.values.address import HIDDEN, hide_secrets
from toolspeak.values.frozen import frozen
from toolspeak.values.limits import Limits

if TYPE_CHECKING:
    from toolspeak.settings.resolver import Listing

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
        values: The settings and their values as JSON data; empty if the file was not read at all.
    """

    where: str
    reason: str
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        """The settings and their values in words."""
        return tuple((name, format_setting(name, value)) for name, value in self.values.items())


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
        model: The model to use for the name `NAME` alone.
        num_ctx: The context in tokens with which Ollama runs models.
        think: Whether models think before they answer, or how much (Ollama).
    """

    name: str
    base_url: str
    api: Literal["openai", "anthropic", "openai-responses", "ollama", "gemini"] = "openai"
    key_env: str | None = None
    key_set: bool = False
    dialect: str | None = None
    model: str | None = None
    num_ctx: int | None = None
    think: bool | str | None = None

    def key(self, environ: Mapping[str, str] | None = None) -> str | None:
        """Read the key from the environment. It is not kept."""
        return (os.environ if environ is None else environ).get(self.key_env) or None if self.key_env else None


@frozen
class LocalSettings:
    """Settings of the embedded model.

    Attributes:
        threads: The number of threads; None for about one per usable core.
        context: The most tokens in one conversation.
        slots: How many conversations it answers at the same time.
        keep_minutes: How long commands keep the model loaded after its last use; None to load it for each command.
        keep_prompts_mb: The megabytes on disk for the instructions and tools that it has read, so that it need not
            read them again; None to keep none.
        adapter: The adapter for requests with tools: `built-in`, which only the model of `toolspeak pull` has, the path
            of a GGUF file, or None for none.
    """

    threads: int | None = None
    context: int = 8192
    slots: int = 1
    keep_minutes: float | None = 5.0
    keep_prompts_mb: float | None = 500.0
    adapter: str | None = "built-in"


@frozen
class Settings:
    """All settings, merged from every source.

    Attributes:
        model: The default model.
        dialect: The dialect for every model; None for the best one for each model.
        tools: The default targets in which tools are discovered.
        tool_budget: The most tokens that tools may take in a request, on the command line and in the gateway; None for
            no limit.
        code: Whether models write programs that call the tools, on the command line.
        approve: Whether calls that need approval are refused, asked about, or approved.
        log: Whether the command line keeps conversations in the log.
        limits: The limits of a run.
        local: Settings of the embedded model.
        endpoints: The defined endpoints by name.
        origins: The file or environment variable that each setting came from; defaults have no entry.
        ignored: Settings of projects that are ignored, and why.
        listing: What the tools of a project run; None if the tools are not those of a project.
    """

    model: str = "local"
    dialect: str | None = None
    tools: tuple[str, ...] = ()
    tool_budget: int | None = None
    code: bool = False
    approve: ApprovalPolicy = "ask"
    log: bool = True
    limits: Limits = Limits()
    local: LocalSettings = LocalSettings()
    endpoints: Mapping[str, EndpointSettings] = field(default_factory=dict[str, EndpointSettings])
    origins: Mapping[str, str] = field(default_factory=dict[str, str])
    ignored: tuple[IgnoredSettings, ...] = ()
    listing: "Listing | None" = None

    def origin(self, setting: str) -> str:
        """Return the origin of a setting, by its full name such as `limits.turns`."""
        return self.origins.get(setting, DEFAULT_ORIGIN)

    def rows(self) -> list[SettingRow]:
        """Return each setting with its value and origin. For a key, that is the variable and whether it is set."""
        return [SettingRow(name, format_setting(name, value), self.origin(name)) for name, value in self.values()]

    def values(self, names: Collection[str] | None = None) -> list[tuple[str, Any]]:
        """Return the settings with their values as JSON data: all of them, or those of these names.

        None means that a setting is not set: no limit, the dialect of the model. Passwords in addresses are hidden.
        """
        return [(name, value) for name, value in self._all_values() if names is None or name in names]

    def __repr__(self) -> str:
        return f"Settings({', '.join(f'{name}={format_setting(name, value)}' for name, value in self._all_values())})"

    def _all_values(self) -> Iterator[tuple[str, Any]]:
        yield "model", hide_password(self.model)
        yield "dialect", self.dialect
        yield "tools", [hide_keys(target) for target in self.tools]
        for name in ("tool_budget", "code", "approve", "log"):
            yield name, getattr(self, name)
        for limit in (
            "turns",
            "calls",
            "tokens",
            "seconds",
            "repeats",
            "concurrent",
            "cost",
            "context",
            "result_tokens",
        ):
            yield f"limits.{limit}", getattr(self.limits, limit)
        for setting, value in asdict(self.local).items():
            yield f"local.{setting}", value
        for name, endpoint in self.endpoints.items():
            values = asdict(endpoint)
            del values["name"]
            yield f"endpoints.{name}", values


NOT_SET = {"dialect": "the model's best", "local.threads": "about one per core"}
"""What it means that a setting is not set, where that is not `none`."""


def format_setting(name: str, value: Any) -> str:
    """Return the value of a setting, as `Settings.values` has it, in words."""
    match value:
        case None:
            return NOT_SET.get(name, "none")
        case bool():
            return "true" if value else "false"
        case float():
            return f"{value:g}"
        case list():
            return ", ".join(cast("list[str]", value)) or "none"
        case dict():
            return _format_endpoint(cast("dict[str, Any]", value))
        case _:
            return str(value)


def _format_endpoint(endpoint: Mapping[str, Any]) -> str:
    parts = [endpoint["base_url"], endpoint["api"]]
    if endpoint["key_env"]:
        parts.append(f"key in {endpoint['key_env']} ({'set' if endpoint['key_set'] else 'not set'})")
    if endpoint["dialect"]:
        parts.append(f"dialect {endpoint['dialect']}")
    if endpoint["model"]:
        parts.append(f"model {endpoint['model']}")
    options = ((name, endpoint[name]) for name in ("num_ctx", "think"))
    parts += [f"{name} {json.dumps(value)}" for name, value in options if value is not None]
    return ", ".join(parts)


def hide_password(model: str) -> str:
    """Return the name of a model without the secrets that its address may hold."""
    if "://" not in model:
        return model
    address, mark, name = model.partition("#")
    shown = hide_secrets(address)
    return shown if shown.endswith(HIDDEN) else shown + mark + name  # what follows may be the rest of a password
