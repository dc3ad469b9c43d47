"""Anthropic's messages API."""

from toolspeak.wire.anthropic_messages.client_answer import Decoder, read_response
from toolspeak.wire.anthropic_messages.client_request import PATH, request_body, tool_definitions
from toolspeak.wire.anthropic_messages.names import VENDOR
from toolspeak.wire.anthropic_messages.server_answer import Encoder, error_body
from toolspeak.wire.anthropic_messages.server_request import read_request
from toolspeak.wire.faults import read_error

__all__ = [
    "PATH",
    "VENDOR",
    "Decoder",
    "Encoder",
    "error_body",
    "read_error",
    "read_request",
    "read_response",
    "request_body",
    "tool_definitions",
]
