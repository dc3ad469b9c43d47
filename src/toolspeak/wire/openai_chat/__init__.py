"""OpenAI's chat completions API, and the many servers that speak it."""

from toolspeak.wire.faults import read_error
from toolspeak.wire.openai_chat.client_answer import Decoder, read_response
from toolspeak.wire.openai_chat.client_request import PATH, request_body, tool_definitions
from toolspeak.wire.openai_chat.names import VENDOR
from toolspeak.wire.openai_chat.server_answer import Encoder, error_body
from toolspeak.wire.openai_chat.server_request import read_request

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
