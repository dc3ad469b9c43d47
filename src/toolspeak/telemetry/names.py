"""Names of spans and attributes: those of OpenTelemetry's GenAI conventions, and our own under `toolspeak.`.

The conventions are in development and have no release to depend on, so their names are written here.
"""

import re
from typing import NamedTuple

from toolspeak.events import FinishReason

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
ERROR_TYPE = "error.type"
SERVER_ADDRESS = "server.address"
SERVER_PORT = "server.port"

# What models, tools and users wrote: only if it is asked for
TOOL_ARGUMENTS = "gen_ai.tool.call.arguments"
TOOL_RESULT = "gen_ai.tool.call.result"
SYSTEM_INSTRUCTIONS = "gen_ai.system_instructions"
INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"
TOOL_DEFINITIONS = "gen_ai.tool.definitions"

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
