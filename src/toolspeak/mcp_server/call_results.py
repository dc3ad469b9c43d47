"""The result of a call as MCP sends it.

An error is a result with `isError`, in the words that a model of an agent would get, so that the client's model can
mend its call. A result that does not fit the promised schema is an error, too: clients refuse it otherwise.
"""

import base64
import json
from typing import Any

from mcp import types

from toolspeak.loop.words import truncate
from toolspeak.mcp_server.definitions import RESULT_KEY, ServedTool
from toolspeak.messages import Media, ToolResult
from toolspeak.tools import output_text
from toolspeak.validation import find_problems

MAX_SHOWN_PROBLEMS = 5
"""How many problems of an output are listed."""


def make_call_result(served: ServedTool, result: ToolResult) -> types.CallToolResult:
    """Return the result of a call for the client."""
    media = [_convert_media(each) for each in result.media]
    if result.error is not None:
        return make_error_result(result.error, media)
    text, output = _replace_surrogates(output_text(result.output), result.output)
    spec, schema = served.tool.spec, served.listed.output_schema
    if schema is not None:
        structured = {RESULT_KEY: output} if served.is_wrapped else output
        problems = find_problems(structured, schema, schema)
        shown = [problem for problem, _ in zip(problems, range(MAX_SHOWN_PROBLEMS), strict=False)]
        if shown:
            lines = "\n".join(f"- {problem}" for problem in shown)
            said = f"{spec.name} ran, but its result does not fit its return annotation:\n{lines}\nThe result: {text}"
            return make_error_result(said, media)
        return types.CallToolResult(content=[_make_text(text), *media], structured_content=structured)
    if spec.max_output is not None:
        text = truncate(text, spec.max_output)
    is_only_media = bool(media) and result.output is None
    return types.CallToolResult(content=media if is_only_media else [_make_text(text), *media])


def make_error_result(error: str, media: list[types.ContentBlock] | None = None) -> types.CallToolResult:
    """Return the result of a call that failed or was refused."""
    text, _ = _replace_surrogates(error, None)
    return types.CallToolResult(content=[_make_text(text), *(media or ())], is_error=True)


def _make_text(text: str) -> types.TextContent:
    return types.TextContent(type="text", text=text)


def _replace_surrogates(text: str, output: Any) -> tuple[str, Any]:
    """Return a text and the JSON value that it shows, without halves of surrogate pairs, which cannot be sent."""
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode(errors="replace").decode()
        return text, text if isinstance(output, str) or output is None else json.loads(text)
    return text, output


def _convert_media(media: Media) -> types.ContentBlock:
    if media.data is None:
        name = media.name or "media"
        return types.ResourceLink(type="resource_link", uri=media.url or "", name=name, mime_type=media.mime)
    encoded = base64.b64encode(media.data).decode()
    match media.mime.partition("/")[0]:
        case "image":
            return types.ImageContent(type="image", data=encoded, mime_type=media.mime)
        case "audio":
            return types.AudioContent(type="audio", data=encoded, mime_type=media.mime)
        case _:
            uri = f"attachment:///{media.name or 'file'}"
            resource = types.BlobResourceContents(uri=uri, blob=encoded, mime_type=media.mime)
            return types.EmbeddedResource(type="resource", resource=resource)
