"""The result of a call of an MCP tool as what the function of a tool returns: data, text and media."""

import base64
import binascii
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from toolspeak.errors import ToolError
from toolspeak.messages import Media

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ContentBlock


def read_result(result: "CallToolResult", *, has_schema: bool) -> Any:
    """Return what a call gave.

    A tool that declares the schema of its output gives its structured content, other tools their text. Images, sounds
    and resources that are no text become media.

    Args:
        result: The answer of the server.
        has_schema: Whether the tool declares a schema of its output.

    Raises:
        ToolError: The server says that the call failed.
    """
    texts: list[str] = []
    media: list[Media] = []
    for block in result.content:
        part = _read_block(block)
        if isinstance(part, Media):
            media.append(part)
        else:
            texts.append(part)
    text = "\n".join(texts)
    if result.is_error:
        raise ToolError(text or "the call failed, and the server does not say why")
    structured: Any = result.structured_content
    data: Any = structured if structured is not None and (has_schema or not texts) else text if texts else None
    return _join(data, media)


def _join(data: Any, media: Sequence[Media]) -> Any:
    if not media:
        return data
    return [data, *media] if data is not None else list(media) if len(media) > 1 else media[0]


def _read_block(block: "ContentBlock") -> Media | str:
    match block.type:
        case "text":
            return block.text
        case "image" | "audio":
            return _read_media(block.data, block.mime_type, None)
        case "resource_link":
            about = f": {block.description}" if block.description else ""
            return f"[{block.name}]({block.uri}){about}"
        case "resource":
            resource = block.resource
            if hasattr(resource, "text"):
                return f"{resource.uri}:\n{getattr(resource, 'text')}"  # noqa: B009 (one of two classes)
            name = str(resource.uri).rpartition("/")[2] or None
            return _read_media(getattr(resource, "blob"), resource.mime_type or "application/octet-stream", name)  # noqa: B009 (the other class)


def _read_media(data: str, mime: str, name: str | None) -> Media | str:
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return f"({mime} that cannot be decoded)"
    return Media(mime=mime, data=content, name=name) if content else f"(empty {mime})"
