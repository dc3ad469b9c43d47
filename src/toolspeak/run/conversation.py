"""The system prompt of a conversation, which a run sets."""

from toolspeak.values.messages import Message, system


def replace_system(messages: tuple[Message, ...], text: str | None) -> tuple[Message, ...]:
    """Return the conversation with another system prompt, or without one if `text` is None."""
    others = tuple(message for message in messages if message.role != "system")
    return others if text is None else (system(text), *others)
