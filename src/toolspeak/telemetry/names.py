"""Names of spans and attributes: those of OpenTelemetry's GenAI conventions, and our own under `toolspeak.`.

The conventions are in development and have no release to depend on, so their names are written here.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from toolspeak.values.codec import encode_argument
from toolspeak.values.events import FinishReason, Usage
from toolspeak.values.messages import Call, Media, Message, Opaque, Part, Result, Text, Thinking
from toolspeak.values.spec import ToolSpec

OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
AGENT_NAME = "gen_ai.agent.name"
CONVERSATION_ID = "gen_ai.conversation.id"
REQUEST_MODEL = "gen_ai.request.model"
FINISH_REASONS = "gen_ai.response.finish_reasons"
FIRST_CHUNK_SECONDS = "gen_ai.response.time_to_first_chunk"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
CACHE_READ_TOKENS = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE_TOKENS = "gen_ai.usage.cache_creation.input_tokens"
REASONING_TOKENS = "gen_ai.usage.reasoning.output_tokens"
TOOL_NAME = "gen_ai.tool.name"
TOOL_TYPE = "gen_ai.tool.type"
TOOL_DESCRIPTION = "gen_ai.tool.description"
TOOL_CALL_ID = "gen_ai.tool.call.id"
SERVER_ADDRESS = "server.address"
SERVER_PORT = "server.port"
EXCEPTION_TYPE = "exception.type"

# What models, tools and users wrote: only if it is asked for
TOOL_ARGUMENTS = "gen_ai.tool.call.arguments"
TOOL_RESULT = "gen_ai.tool.call.result"
SYSTEM_INSTRUCTIONS = "gen_ai.system_instructions"
INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"
TOOL_DEFINITIONS = "gen_ai.tool.definitions"
WRITTEN_ARGUMENTS = "toolspeak.call.written"
WRITTEN_TEXT = "toolspeak.message.written"
EXCEPTION_MESSAGE = "exception.message"

# Ours
RUN_ID = "toolspeak.run.id"
RESUMED = "toolspeak.run.resumed"
STOP_REASON = "toolspeak.run.stop_reason"
UNFINISHED = "toolspeak.unfinished"
DIALECT = "toolspeak.dialect"
TURN = "toolspeak.turn"
COST = "toolspeak.cost"
ESTIMATED = "toolspeak.usage.estimated"
PURPOSE = "toolspeak.purpose"
CALLS = "toolspeak.calls"
REPAIRED_CALLS = "toolspeak.calls.repaired"
REFUSED_CALLS = "toolspeak.calls.refused"
REPAIR = "toolspeak.call.repair"
REFUSAL = "toolspeak.call.refusal"
REASON = "toolspeak.reason"

PROVIDERS = {"gemini": "gcp.gemini", "mistral": "mistral_ai", "xai": "x_ai"}
"""Endpoints that have another name in the conventions."""

NO_PROVIDER = "toolspeak"
"""The provider of a model that is behind no endpoint, but in the program."""

FINISHES: dict[FinishReason, str] = {"refused": "content_filter", "closed": "stop"}
"""How messages end, where the conventions have another word for it."""

_MODEL_NAME = re.compile(r"(?P<endpoint>[^:]+(?::(?P<port>\d{1,5}))?):(?P<model>.+)", re.DOTALL)


class ModelName(NamedTuple):
    """What the name of a model in facts says: `openai:gpt-5.1`, `127.0.0.1:8080:qwen` or `scripted`.

    Attributes:
        provider: Who provides the model.
        model: Its name there.
        host: The host, if the endpoint is named by its address; else "".
        port: Its port; 0 if there is none.
    """

    provider: str
    model: str
    host: str = ""
    port: int = 0


def split_model_name(name: str) -> ModelName:
    """Split the name of a model into its endpoint and the model's name there.

    Examples:
        >>> split_model_name("gemini:gemini-3-pro").provider
        'gcp.gemini'
        >>> split_model_name("127.0.0.1:8080:qwen")
        ModelName(provider='127.0.0.1:8080', model='qwen', host='127.0.0.1', port=8080)
    """
    match = _MODEL_NAME.fullmatch(name)
    if match is None:
        return ModelName(NO_PROVIDER, name)
    endpoint, port, model = match["endpoint"], match["port"], match["model"]
    if port is None:
        return ModelName(PROVIDERS.get(endpoint, endpoint), model)
    return ModelName(endpoint, model, endpoint.removesuffix(f":{port}"), int(port))


# Messages, tools, requests and tokens, in the form that the conventions give them in attributes


def format_json(data: Any) -> str:
    """Return JSON in ASCII: what models write may hold characters that cannot be encoded."""
    return json.dumps(data, separators=(",", ":"), default=str)


def format_tools(tools: Iterable[ToolSpec]) -> str:
    """Return the definitions of tools."""
    fields = ("name", "description", "parameters")
    return format_json([{"type": "function", **{name: getattr(each, name) for name in fields}} for each in tools])


def format_instructions(messages: Iterable[Message]) -> str:
    """Return the system messages of a conversation; "" if it has none."""
    parts = [_encode_part(part) for message in messages if message.role == "system" for part in message.parts]
    return format_json(parts) if parts else ""


def encode_message(message: Message) -> dict[str, Any]:
    """Return a message as the conventions write it."""
    return {"role": message.role, "parts": [_encode_part(part) for part in message.parts]}


def encode_output(message: Message, finish: FinishReason, written: Mapping[str, str]) -> dict[str, Any]:
    """Return a message of a model as the conventions write it; `written` are arguments as the model wrote them."""
    encoded = encode_message(message)
    for part in encoded["parts"]:
        if part["type"] == "tool_call" and (text := written.get(part["id"])):
            part["arguments"] = _decode(text)
    reason = "tool_call" if finish == "tool_calls" else FINISHES.get(finish, finish)
    return {**encoded, "finish_reason": reason}


def _decode(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # what the model wrote is no JSON
        return text


def describe_chat(model: ModelName) -> dict[str, str | int | None]:
    """Return the attributes of a request to a model."""
    return {
        OPERATION: "chat",
        PROVIDER: model.provider,
        REQUEST_MODEL: model.model,
        SERVER_ADDRESS: model.host,
        SERVER_PORT: model.port or None,
    }


def describe_usage(usage: Usage, cost: float | None) -> dict[str, int | float]:
    """Return the attributes of tokens: both sums, and the rest where there is something to say."""
    further = {
        CACHE_READ_TOKENS: usage.cached_tokens,
        CACHE_WRITE_TOKENS: usage.cache_write_tokens,
        REASONING_TOKENS: usage.reasoning_tokens,
        COST: cost or 0.0,
        ESTIMATED: usage.estimated,
    }
    said = {name: count for name, count in further.items() if count}
    return {INPUT_TOKENS: usage.input_tokens, OUTPUT_TOKENS: usage.output_tokens, **said}


def encode_response(call_id: str, response: Any) -> dict[str, Any]:
    """Return what a model is told of a call, as a message."""
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": call_id, "response": response}]}


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
