"""OpenAI's chat completions API, also that of the many servers that are compatible with it."""

from toolspeak.wire.framing import SSE as FRAMING
from toolspeak.wire.openai_chat.client import (
    PATH,
    PATHS,
    Decoder,
    encode_message,
    explain_unsupported,
    read_response,
    request_body,
    request_headers,
    request_path,
    tool_definitions,
)
from toolspeak.wire.openai_chat.names import BASE_PATH, ID_PREFIX, IS_UNDER_V1, SAMPLING_FIELDS, VENDOR
from toolspeak.wire.openai_chat.server import Encoder, error_body, read_request

__all__ = [
    "BASE_PATH",
    "FRAMING",
    "ID_PREFIX",
    "IS_UNDER_V1",
    "PATH",
    "PATHS",
    "SAMPLING_FIELDS",
    "VENDOR",
    "Decoder",
    "Encoder",
    "encode_message",
    "error_body",
    "explain_unsupported",
    "read_request",
    "read_response",
    "request_body",
    "request_headers",
    "request_path",
    "tool_definitions",
]
