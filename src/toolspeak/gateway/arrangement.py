"""Arranges a conversation so that every chat template takes it, and so that its beginning stays the same.

A server keeps what it has read of a prompt, and reads a new prompt from the first token that differs. So the text for
turn n must be a prefix of the text for turn n + 1, and what changes between conversations must not stand first.

- A conversation has one system message, its first message. Strict templates refuse a second one, and moving later ones
  to the top would change the beginning in each turn. A later one is laid, marked, into the message beside it: at the
  end of the message of the user or of the results before it, else at the beginning of the message of the user after it.
- Lines at the top of the system prompt that hold a date, a time or an id are laid, marked, into the first message of
  the user: the system prompt and the tools behind it are then the same in each conversation.
- A line with the header of a bill is dropped: it is addressed to servers of the vendor.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from toolspeak.messages import Message, Text

MAX_VOLATILE_CHARS = 160
"""Characters of a line that may be moved: a longer one says more than a date or an id."""

MAX_VOLATILE_LINES = 8
"""Lines at the top of a system prompt that may be moved."""

_BILLING_LINE = re.compile(r"x-[a-z-]*billing-header\s*:[^\n]*\n?", re.IGNORECASE)

_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_CHANGING_VALUE = re.compile(
    r"\b\d{4}-\d{2}-\d{2}\b"  # a date
    rf"|\b{_MONTH}\.? \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}\b|\b\d{{1,2}}\.? {_MONTH}\.?,? \d{{4}}\b"
    r"|\b\d{1,2}/\d{1,2}/\d{4}\b|\b\d{1,2}:\d{2}(?::\d{2})?\b"  # a date, a time
    r"|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"  # a UUID
    r"|\b(?=[a-z_-]*\d)[0-9a-z_-]{16,}\b",  # another id: long, with a digit
    re.IGNORECASE,
)
_LABEL = re.compile(r"[^.:=]{1,40}(?::|=|\bis\b)")
"""The beginning of a line that gives one value: `Current date: …`, `Today is …`."""


def arrange(messages: Sequence[Message], *, keep_system: bool = False) -> tuple[Message, ...]:
    """Return a conversation with one system message, and with nothing volatile at its beginning.

    Args:
        messages: The conversation.
        keep_system: Whether the system messages at the beginning stay as they are, with the data of their vendor.
    """
    count = next((place for place, each in enumerate(messages) if each.role != "system"), len(messages))
    if keep_system:
        return (*messages[:count], *_lay_in(messages[count:], []))
    system, moved = _split_system("\n\n".join(filter(None, map(_read_text, messages[:count]))))
    arranged = _lay_in(messages[count:], [moved] if moved else [])
    return (Message(role="system", parts=(Text(text=system),)), *arranged) if system else arranged


def _split_system(text: str) -> tuple[str, str]:
    """Return the system prompt that stays, and the lines from its top that change between conversations."""
    while billing := _BILLING_LINE.match(text):
        text = text[billing.end() :].lstrip("\n")
    moved: list[str] = []
    rest = text
    while rest and len(moved) < MAX_VOLATILE_LINES:
        line, _, after = rest.partition("\n")
        if line.strip() and not is_volatile(line):
            break
        if line.strip():
            moved.append(line.strip())
        rest = after
    return (rest, "\n".join(moved)) if moved and rest.strip() else (text, "")


def is_volatile(line: str) -> bool:
    """Whether a line only gives a value that changes between conversations: a date, a time or an id."""
    label = _LABEL.match(line.strip())
    if label is None or len(line) > MAX_VOLATILE_CHARS:
        return False
    return _CHANGING_VALUE.search(line.strip(), label.end()) is not None


def _read_text(message: Message) -> str:
    return "\n\n".join(part.text for part in message.parts if isinstance(part, Text) and part.text)


def _lay_in(messages: Sequence[Message], waiting: list[str]) -> tuple[Message, ...]:
    """Return messages without those of the system: each is laid into the one before it, or into the one after it.

    `waiting` are texts of the system for the first message.
    """
    laid: list[Message] = []
    for message in messages:
        if message.role == "system":
            text = _read_text(message)
            if text and laid and laid[-1].role in ("user", "tool"):
                laid[-1] = _add_notes(laid[-1], [text])
            elif text:
                waiting.append(text)
            continue
        if waiting and message.role == "user":
            notes = "".join(f"{_mark(text)}\n\n" for text in waiting)
            message = replace(message, parts=(Text(text=notes), *message.parts))
        elif waiting and message.role == "tool":  # nothing may stand between a call and its result
            message = _add_notes(message, waiting)
        elif waiting:
            laid.append(_make_notes(waiting))
        waiting = []
        laid.append(message)
    return (*laid, _make_notes(waiting)) if waiting else tuple(laid)


def _mark(text: str) -> str:
    return f"<system-message>\n{text}\n</system-message>"


def _add_notes(message: Message, texts: list[str]) -> Message:
    """Return a message with texts of the system at its end."""
    notes = "".join(f"\n\n{_mark(text)}" for text in texts)
    return replace(message, parts=(*message.parts, Text(text=notes)))


def _make_notes(texts: list[str]) -> Message:
    return Message(role="user", parts=(Text(text="\n\n".join(map(_mark, texts))),))
