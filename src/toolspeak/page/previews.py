"""Short texts for the outline of a run. A whole text can have megabytes, and is sent only when its row is unfolded."""

import json
from collections.abc import Mapping
from typing import Any

from toolspeak.messages import Call, Concat, Media, Message, Ref, Result, Text

MAX_PREVIEW_CHARS = 160


def preview_text(text: str) -> str:
    """Return the beginning of a text, on one line."""
    start = " ".join(text[: 4 * MAX_PREVIEW_CHARS].split())
    return start if len(start) <= MAX_PREVIEW_CHARS else f"{start[: MAX_PREVIEW_CHARS - 1]}…"


def preview_value(value: Any) -> str:
    """Return the beginning of a JSON value; of a text, without quotes."""
    if isinstance(value, str):
        return preview_text(value)
    return preview_text(_dump_start(value))


def preview_arguments(arguments: Mapping[str, Any]) -> str:
    """Return the beginning of the arguments of a call, as `name=value, …`."""
    parts: list[str] = []
    length = 0
    for name, value in arguments.items():
        parts.append(f"{name}={_dump_start(value)}")
        length += len(parts[-1])
        if length > MAX_PREVIEW_CHARS:
            break
    return preview_text(", ".join(parts))


def preview_message(message: Message) -> str:
    """Return the beginning of the text of a message; where it has none, what else it holds."""
    if text := preview_text(next((part.text for part in message.parts if isinstance(part, Text) and part.text), "")):
        return text
    if message.role == "tool":
        results = [part for part in message.parts if isinstance(part, Result)]
        texts = [each.text for part in results for each in part.content if isinstance(each, Text)]
        return preview_text(" · ".join(text[: 4 * MAX_PREVIEW_CHARS] for text in texts[:4]))
    calls = [f"{part.call.name}(…)" for part in message.parts if isinstance(part, Call)]
    media = [part.mime for part in message.parts if isinstance(part, Media)]
    return preview_text(", ".join((*calls[:8], *media[:8])))


def _dump_start(value: Any) -> str:
    """Return the beginning of the JSON of a value. A reference is the call, and what is taken of its result."""
    if isinstance(value, Ref | Concat):
        return _format_reference(value)
    if isinstance(value, str):
        return json.dumps(value[: 4 * MAX_PREVIEW_CHARS], ensure_ascii=False)
    pieces: list[str] = []
    length = 0
    for piece in json.JSONEncoder(ensure_ascii=False, default=_format_reference).iterencode(value):
        pieces.append(piece[: 4 * MAX_PREVIEW_CHARS])
        length += len(piece)
        if length > 4 * MAX_PREVIEW_CHARS:
            break
    return "".join(pieces)


def _format_reference(value: Any) -> str:
    """Return a reference as `call_1.days[0]`, and joined texts as a template."""
    if isinstance(value, Ref):
        return value.call + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in value.path)
    parts = [part if isinstance(part, str) else f"{{{_format_reference(part)}}}" for part in value.parts]
    return json.dumps("".join(parts)[: 4 * MAX_PREVIEW_CHARS], ensure_ascii=False)
