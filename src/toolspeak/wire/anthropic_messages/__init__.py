"""Anthropic's messages API."""

from toolspeak.wire.anthropic_messages.client import BASE_PATH as BASE_PATH
from toolspeak.wire.anthropic_messages.client import FRAMING as FRAMING
from toolspeak.wire.anthropic_messages.client import ID_PREFIX as ID_PREFIX
from toolspeak.wire.anthropic_messages.client import IS_UNDER_V1 as IS_UNDER_V1
from toolspeak.wire.anthropic_messages.client import PATHS as PATHS
from toolspeak.wire.anthropic_messages.client import SAMPLING_FIELDS as SAMPLING_FIELDS
from toolspeak.wire.anthropic_messages.client import VENDOR as VENDOR
from toolspeak.wire.anthropic_messages.client import Decoder as Decoder
from toolspeak.wire.anthropic_messages.client import encode_message as encode_message
from toolspeak.wire.anthropic_messages.client import explain_unsupported as explain_unsupported
from toolspeak.wire.anthropic_messages.client import read_response as read_response
from toolspeak.wire.anthropic_messages.client import request_body as request_body
from toolspeak.wire.anthropic_messages.client import request_headers as request_headers
from toolspeak.wire.anthropic_messages.client import request_path as request_path
from toolspeak.wire.anthropic_messages.client import tool_definitions as tool_definitions
from toolspeak.wire.anthropic_messages.server import Encoder as Encoder
from toolspeak.wire.anthropic_messages.server import error_body as error_body
from toolspeak.wire.anthropic_messages.server import read_request as read_request
