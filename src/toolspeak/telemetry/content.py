"""Messages, tools, arguments and results as JSON, in the form that the GenAI conventions give them in attributes."""

import json
from collections.abc import Iterable
from typing import Any

from toolspeak.codec import encode_argument
from toolspeak.events import FinishReason
from toolspeak.messages import Call, Media, Message, Opaque, Part, Result, Text, Thinking, ToolCall, ToolResult
from toolspeak.spec import ToolSpec
from toolspeak.telemetry.names import FINISHES


def format_json(data: Any) -> str:
    """Return JSON in ASCII: what models write may hold characters that cannot be encoded."""
    return json.dumps(data, separators=(",", ":"), default=str)


def format_arguments(call: ToolCall) -> str:
    """Return the arguments of a call."""
    return format_json(encode_argument(call.arguments))


def format_result(result: ToolResult) -> str:
    """Return the result of a call, or its error."""
    return result.error if result.error is not None else format_json(result.output)


def format_tools(tools: Iterable[ToolSpec]) -> str:
    """Return the definitions of tools."""
    return format_json(
        [
            {"type": "function", "name": each.name, "description": each.description, "parameters": each.parameters}
            for each in tools
        ]
    )


def format_instructions(messages: Iterable[Message]) -> str:
    """Return the system messages of a conversation; "" if it has none."""
    parts = [_encode_part(part) for message in messages if message.role == "system" for part in message.parts]
    return format_json(parts) if parts else ""


def encode_message(message: Message) -> dict[str, Any]:
    """Return a message as the conventions write it."""
    return {"role": message.role, "parts": [_encode_part(part) for part in message.parts]}


def encode_output(message: Message, finish: FinishReason) -> dict[str, Any]:
    """Return a message of a model as the conventions write it."""
    reason = "tool_call" if finish == "tool_calls" else FINISHES.get(finish, finish)
    return {**encode_message(message), "finish_reason": reason}


def encode_response(result: ToolResult) -> dict[str, Any]:
    """Return the result of a call as a message to the model."""
    response = result.error if result.error is not None else result.output
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": result.call_id, "response": response}]}


def _encode_part(part: Part) -> dict[str, Any]:
    match part:
        case Text(text=text):
            return {"type": "text", "content": text}
        case Thinking(text=text):
            return {"type": "reasoning", "content": text}
        case Call(call=call):
            arguments = encode_argument(call.arguments)
            return {"type": "tool_call", "id": call.id, "name": call.name, "arguments": arguments}
        case Result(call_id=call_id, content=content):
            shown = "".join(each.text if isinstance(each, Text) else f"[{each.mime}]" for each in content)
            return {"type": "tool_call_response", "id": call_id, "response": shown}
        case Media(mime=media_type):  # its bytes are left out: backends refuse large attributes
            return {"type": "blob", "mime_type": media_type}
        case Opaque(vendor=vendor):
            return {"type": "opaque", "vendor": vendor}
