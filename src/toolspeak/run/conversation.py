"""Parts of a conversation that a run sets: the system prompt, and the ids of calls."""

from collections.abc import Collection

from toolspeak.messages import Message, system


def replace_system(messages: tuple[Message, ...], text: str | None) -> tuple[Message, ...]:
    """Return the conversation with another system prompt, or without one if `text` is None."""
    others = tuple(message for message in messages if message.role != "system")
    return others if text is None else (system(text), *others)


def build_id_prefix(turn: int, taken: Collection[str]) -> str:
    """Return a prefix for the call ids of this turn that no earlier id in the conversation has."""
    while any(call_id.startswith(f"call_{turn}_") for call_id in taken):
        turn += 1
    return f"call_{turn}"
