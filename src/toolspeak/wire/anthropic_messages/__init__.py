"""Anthropic's messages API."""

from toolspeak.wire.anthropic_messages.client import (
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
from toolspeak.wire.anthropic_messages.names import BASE_PATH, ID_PREFIX, IS_UNDER_V1, SAMPLING_FIELDS, VENDOR
from toolspeak.wire.anthropic_messages.server import Encoder, error_body, read_request
from toolspeak.wire.framing import SSE as FRAMING

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
