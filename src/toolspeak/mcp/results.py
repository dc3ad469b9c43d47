"""What MCP servers answer, as values: the results of calls, resources and prompts.

Resources and prompts can be had as tools, too (`FURTHER_TOOLS`): toolspeak writes their descriptions, and they send the
requests of the protocol for them. All that a server answers is foreign text: that of a result, or of an attachment.
"""

import base64
import binascii
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, cast

from toolspeak.values.errors import ToolError
from toolspeak.values.messages import Media, Message, Text
from toolspeak.values.origin import Origin

if TYPE_CHECKING:
    from mcp_types import (
        BlobResourceContents,
        CallToolResult,
        ContentBlock,
        GetPromptResult,
        ReadResourceResult,
        TextResourceContents,
    )

    from mcp import Client

MIN_COPY_CHARS = 64  # of the base64 of a medium, for which texts are searched
MAX_LISTED = 500  # resources or prompts that are listed
_MAX_PAGES = 20


def read_result(result: "CallToolResult", *, has_schema: bool) -> Any:
    """Return what a call gave. Raises `ToolError` if the server says that the call failed.

    A tool that declares the schema of its output gives its structured content, other tools their text. Images, sounds
    and resources that are no text become media. What is sent as media is not sent as text, too.
    """
    texts: list[str] = []
    media: list[Media] = []
    copies: dict[str, str] = {}
    for block in result.content:
        part = read_block(block)
        if isinstance(part, Media):
            media.append(part)
            encoded = getattr(block, "data", None) or getattr(getattr(block, "resource", None), "blob", "")
            if len(encoded) >= MIN_COPY_CHARS:
                copies[encoded] = f"(attached: {part.mime})"
        else:
            texts.append(part)
    text = _drop_copies("\n".join(texts), copies)
    if result.is_error:
        raise ToolError(text or "the call failed, and the server does not say why")
    structured: Any = _drop_copies(result.structured_content, copies)
    data: Any = structured if structured is not None and (has_schema or not texts) else text if texts else None
    if not media:
        return data
    return [data, *media] if data is not None else list(media) if len(media) > 1 else media[0]


def _drop_copies(value: Any, copies: Mapping[str, str]) -> Any:
    """Return JSON data with a note in the place of the base64 of each medium."""
    if not copies:
        return value
    if isinstance(value, str):
        for encoded, note in copies.items():
            value = value.replace(encoded, note)
        return value
    if isinstance(value, dict):
        return {key: _drop_copies(each, copies) for key, each in cast("dict[str, Any]", value).items()}
    return [_drop_copies(each, copies) for each in cast("list[Any]", value)] if isinstance(value, list) else value


def read_block(block: "ContentBlock") -> Media | str:
    """Return a part of what a server sent: a medium, or a text."""
    match block.type:
        case "text":
            return block.text
        case "image" | "audio":
            return _read_media(block.data, block.mime_type, None)
        case "resource_link":
            about = f": {block.description}" if block.description else ""
            return f"[{block.name}]({block.uri}){about}"
        case "resource":
            part = _read_contents(block.resource)
            return f"{block.resource.uri}:\n{part}" if isinstance(part, str) else part


def _read_media(data: str, mime: str, name: str | None) -> Media | str:
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return f"({mime} that cannot be decoded)"
    return Media(mime=mime, data=content, name=name) if content else f"(empty {mime})"


async def list_resources(client: "Client") -> list[dict[str, Any]]:
    """List the resources of a server, and the templates of their addresses."""

    async def list_templates(cursor: str | None) -> tuple[Sequence[Any], str | None]:
        page = await client.list_resource_templates(cursor=cursor)
        return page.resource_templates, page.next_cursor

    async def list_page(cursor: str | None) -> tuple[Sequence[Any], str | None]:
        page = await client.list_resources(cursor=cursor)
        return page.resources, page.next_cursor

    return [*await _list_all(list_page), *await _list_all(list_templates)][:MAX_LISTED]


async def list_prompts(client: "Client") -> list[dict[str, Any]]:
    """List the prompts of a server."""

    async def list_page(cursor: str | None) -> tuple[Sequence[Any], str | None]:
        page = await client.list_prompts(cursor=cursor)
        return page.prompts, page.next_cursor

    return await _list_all(list_page)


async def _list_all(list_page: Callable[[str | None], Awaitable[tuple[Sequence[Any], str | None]]]) -> list[Any]:
    found: list[Any] = []
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        page, cursor = await list_page(cursor)
        found += [each.model_dump(by_alias=True, exclude_unset=True, mode="json", exclude={"meta"}) for each in page]
        if cursor is None or len(found) >= MAX_LISTED:
            break
    return found[:MAX_LISTED]


def read_attachments(result: "ReadResourceResult") -> list[Media]:
    """Return what a resource holds as attachments; texts are text files."""
    read = [_read_contents(each) for each in result.contents]
    return [
        each
        if isinstance(each, Media)
        else Media(mime=_find_mime(content), data=each.encode(), name=_find_name(content))
        for content, each in zip(result.contents, read, strict=True)
    ]


def _find_mime(content: "TextResourceContents | BlobResourceContents") -> str:
    mime = content.mime_type or ""
    return mime if mime.startswith("text/") or mime.endswith(("json", "xml")) else "text/plain"


def _find_name(content: "TextResourceContents | BlobResourceContents") -> str | None:
    return str(content.uri).rstrip("/").rpartition("/")[2] or None


def _read_contents(content: "TextResourceContents | BlobResourceContents") -> Media | str:
    if hasattr(content, "text"):
        return str(getattr(content, "text"))  # noqa: B009 (one of two classes)
    return _read_media(getattr(content, "blob"), content.mime_type or "application/octet-stream", _find_name(content))  # noqa: B009 (the other class)


def read_prompt(result: "GetPromptResult") -> tuple[Message, ...]:
    """Return the messages of a prompt. Their texts are attachments: the user chose them, and did not write them."""
    messages: list[Message] = []
    for each in result.messages:
        part = read_block(each.content)
        shown = part if isinstance(part, Media) else Text(text=part, origin=Origin.ATTACHMENT)
        messages.append(Message(role="assistant" if each.role == "assistant" else "user", parts=(shown,)))
    return tuple(messages)


def spell_arguments(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return the arguments of a prompt, which are texts."""
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in arguments.items()}


async def _ask_resources(client: "Client", arguments: Mapping[str, Any]) -> Any:
    return await list_resources(client)


async def _ask_resource(client: "Client", arguments: Mapping[str, Any]) -> Any:
    read = [_read_contents(each) for each in (await client.read_resource(arguments["uri"])).contents]
    return read[0] if len(read) == 1 else read


async def _ask_prompts(client: "Client", arguments: Mapping[str, Any]) -> Any:
    return await list_prompts(client)


async def _ask_prompt(client: "Client", arguments: Mapping[str, Any]) -> Any:
    result = await client.get_prompt(arguments["name"], spell_arguments(arguments.get("arguments") or {}))
    read = [(each.role, read_block(each.content)) for each in result.messages]
    return [part if isinstance(part, Media) else f"{role}: {part}" for role, part in read]


FurtherRequest: TypeAlias = "Callable[[Client, Mapping[str, Any]], Awaitable[Any]]"


def bind_request(ask: FurtherRequest, arguments: Mapping[str, Any]) -> "Callable[[Client], Awaitable[Any]]":
    """Return a request with its arguments."""
    return lambda client: ask(client, arguments)


class FurtherTool(NamedTuple):
    """A tool that sends another request than a call.

    Attributes:
        kind: What the server must have.
        definition: The tool as if the server had defined it.
        ask: Sends the request for a call with these arguments.
    """

    kind: Literal["resources", "prompts"]
    definition: dict[str, Any]
    ask: FurtherRequest


def _define(name: str, description: str, properties: Mapping[str, Any], *required: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    hints = {"readOnlyHint": True}
    return {"name": name, "description": description, "inputSchema": schema, "annotations": hints}


_TEXT = {"type": "string"}
_NAMED = {"name": _TEXT, "arguments": {"type": "object", "additionalProperties": _TEXT}}

FURTHER_TOOLS = (
    FurtherTool(
        "resources",
        _define("list_resources", "List what read_resource can read: addresses, and templates of addresses.", {}),
        _ask_resources,
    ),
    FurtherTool("resources", _define("read_resource", "Read a resource.", {"uri": _TEXT}, "uri"), _ask_resource),
    FurtherTool("prompts", _define("list_prompts", "List the prompts that get_prompt knows.", {}), _ask_prompts),
    FurtherTool("prompts", _define("get_prompt", "Get the text of a prompt.", _NAMED, "name"), _ask_prompt),
)
