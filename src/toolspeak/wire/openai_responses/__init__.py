"""OpenAI's responses API, also that of servers that are compatible with it."""

from toolspeak.wire.openai_responses.client import Decoder as Decoder
from toolspeak.wire.openai_responses.client import encode_message as encode_message
from toolspeak.wire.openai_responses.client import explain_unsupported as explain_unsupported
from toolspeak.wire.openai_responses.client import read_response as read_response
from toolspeak.wire.openai_responses.client import request_body as request_body
from toolspeak.wire.openai_responses.client import request_headers as request_headers
from toolspeak.wire.openai_responses.client import request_path as request_path
from toolspeak.wire.openai_responses.client import tool_definitions as tool_definitions
from toolspeak.wire.openai_responses.names import BASE_PATH as BASE_PATH
from toolspeak.wire.openai_responses.names import FRAMING as FRAMING
from toolspeak.wire.openai_responses.names import ID_PREFIX as ID_PREFIX
from toolspeak.wire.openai_responses.names import IS_UNDER_V1 as IS_UNDER_V1
from toolspeak.wire.openai_responses.names import PATHS as PATHS
from toolspeak.wire.openai_responses.names import SAMPLING_FIELDS as SAMPLING_FIELDS
from toolspeak.wire.openai_responses.names import VENDOR as VENDOR
from toolspeak.wire.openai_responses.server_answer import Encoder as Encoder
from toolspeak.wire.openai_responses.server_answer import error_body as error_body
from toolspeak.wire.openai_responses.server_request import read_request as read_request
