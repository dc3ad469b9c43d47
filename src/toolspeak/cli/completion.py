"""What shells complete: models, templates, conversations and options. Called by the shell's script, never by a command.

Each function returns the words that fit, with a help text where there is one. Whatever goes wrong, there is nothing to
complete: an error would be printed into the line that the user types.
"""

from collections.abc import Callable
from functools import wraps
from typing import TypeAlias

Completions: TypeAlias = list[tuple[str, str]]

MAX_CONVERSATIONS = 50


def _quietly(complete: Callable[[str], Completions]) -> Callable[[str], Completions]:
    """Return a completion that ends with no words when it fails."""

    @wraps(complete)
    def complete_quietly(incomplete: str) -> Completions:
        try:
            return [each for each in complete(incomplete) if each[0].startswith(incomplete)]
        except Exception:
            return []

    return complete_quietly


@_quietly
def complete_model(incomplete: str) -> Completions:
    """Complete the name of a model: the embedded one, endpoints of the user's settings, known endpoints."""
    from toolspeak import settings
    from toolspeak.models import SERVERS

    configured = settings.load()
    own = [
        (name if endpoint.model else f"{name}:", endpoint.base_url) for name, endpoint in configured.endpoints.items()
    ]
    return [("local", "the embedded model"), *own, *((f"{name}:", "") for name in SERVERS)]


@_quietly
def complete_template(incomplete: str) -> Completions:
    """Complete the name of a template."""
    from toolspeak.cli.user_files import list_templates

    return [(name, "") for name in list_templates()]


@_quietly
def complete_conversation(incomplete: str) -> Completions:
    """Complete the id of one of the last conversations."""
    from toolspeak.cli.safe_text import escape_line
    from toolspeak.cli.user_files import log_path
    from toolspeak.store import ConversationStore

    path = log_path()
    if not path.exists():
        return []
    with ConversationStore(path) as store:
        return [(entry.id, escape_line(entry.title[:60])) for entry in store.list_newest(MAX_CONVERSATIONS)]


@_quietly
def complete_sampling(incomplete: str) -> Completions:
    """Complete the name of an option of sampling."""
    return [(f"{name}=", "") for name in ("temperature", "max_tokens", "top_p", "seed", "stop")]
