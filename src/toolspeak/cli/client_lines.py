"""The lines that `toolspeak serve` prints for coding agents and SDKs: what to paste, with the address and the model.

A key is never printed: the lines name the environment variable that holds it.
"""

import json
import shlex
from typing import Any

from toolspeak._frozen import frozen
from toolspeak.models.lookup import CLIENT_HOSTS

NO_KEY = "none"
"""What clients send where no key is asked for: most of them refuse to start without one."""

GEMINI_SIGN_IN = json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}})
"""What tells Gemini CLI to use the key of the environment: no variable does."""


@frozen
class ServedAddress:
    """Where a gateway is reached, as its clients need to know it.

    Attributes:
        host: The address that it listens on.
        port: The port.
        model: The name of the model to ask for.
        key_env: The environment variable with the key; None if no key is asked for.
    """

    host: str
    port: int
    model: str
    key_env: str | None = None

    @property
    def root(self) -> str:
        """The address without a path, for clients on this machine."""
        host = CLIENT_HOSTS.get(self.host, self.host)
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    @property
    def shell_key(self) -> str:
        """The key, as a shell command has it."""
        return f'"${self.key_env}"' if self.key_env else NO_KEY


def format_client_lines(address: ServedAddress) -> str:
    """Return the lines to paste, each client with its name above."""
    blocks = {
        "Claude Code": _claude_code(address),
        "Codex, in ~/.codex/config.toml": _codex(address),
        "opencode, in opencode.json": _opencode(address),
        f"Gemini CLI, with {GEMINI_SIGN_IN} in ~/.gemini/settings.json": _gemini_cli(address),
        "OpenAI's SDKs": f"OPENAI_BASE_URL={address.root}/v1 OPENAI_API_KEY={address.shell_key}",
        "Anthropic's SDKs": f"ANTHROPIC_BASE_URL={address.root} ANTHROPIC_API_KEY={address.shell_key}",
    }
    return "".join(f"\n{name}:\n{_indent(block)}\n" for name, block in blocks.items())


def _claude_code(address: ServedAddress) -> str:
    model = shlex.quote(address.model)
    return (
        f"ANTHROPIC_BASE_URL={address.root} ANTHROPIC_AUTH_TOKEN={address.shell_key} "
        f"ANTHROPIC_MODEL={model} ANTHROPIC_DEFAULT_HAIKU_MODEL={model} claude"
    )


def _codex(address: ServedAddress) -> str:
    lines = [
        f"model = {json.dumps(address.model)}",
        'model_provider = "toolspeak"',
        "",
        "[model_providers.toolspeak]",
        'name = "toolspeak"',
        f'base_url = "{address.root}/v1"',
        'wire_api = "responses"',
    ]
    return "\n".join([*lines, f"env_key = {json.dumps(address.key_env)}"] if address.key_env else lines)


def _opencode(address: ServedAddress) -> str:
    key = f"{{env:{address.key_env}}}" if address.key_env else NO_KEY
    provider: dict[str, Any] = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{address.root}/v1", "apiKey": key},
        "models": {address.model: {}},
    }
    return json.dumps({"model": f"toolspeak/{address.model}", "provider": {"toolspeak": provider}})


def _gemini_cli(address: ServedAddress) -> str:
    model = shlex.quote(address.model)
    return f"GOOGLE_GEMINI_BASE_URL={address.root} GEMINI_API_KEY={address.shell_key} gemini -m {model}"


def _indent(block: str) -> str:
    return "\n".join(f"  {line}".rstrip() for line in block.splitlines())
