"""Ollama's own API, `/api/chat`. There is only the client side: the gateway does not serve it.

Beside OpenAI's API, which Ollama has as well, it is needed for what only this API takes: the length of the context
(`num_ctx`), whether the model thinks (`think`), and that nothing is cut off a conversation without notice (`truncate`).
"""

from toolspeak.wire.framing import NDJSON as FRAMING
from toolspeak.wire.ollama_chat.client import (
    IS_UNDER_V1,
    PATH,
    SAMPLING_FIELDS,
    VENDOR,
    Decoder,
    encode_message,
    explain_unsupported,
    read_response,
    request_body,
    request_headers,
    request_path,
    tool_definitions,
)

__all__ = [
    "FRAMING",
    "IS_UNDER_V1",
    "PATH",
    "SAMPLING_FIELDS",
    "VENDOR",
    "Decoder",
    "encode_message",
    "explain_unsupported",
    "read_response",
    "request_body",
    "request_headers",
    "request_path",
    "tool_definitions",
]
