"""OpenAI's chat completions API, also that of the many servers that are compatible with it."""

from toolspeak.wire.openai_chat.client import BASE_PATH as BASE_PATH
from toolspeak.wire.openai_chat.client import FRAMING as FRAMING
from toolspeak.wire.openai_chat.client import ID_PREFIX as ID_PREFIX
from toolspeak.wire.openai_chat.client import IS_UNDER_V1 as IS_UNDER_V1
from toolspeak.wire.openai_chat.client import PATHS as PATHS
from toolspeak.wire.openai_chat.client import SAMPLING_FIELDS as SAMPLING_FIELDS
from toolspeak.wire.openai_chat.client import VENDOR as VENDOR
from toolspeak.wire.openai_chat.client import Decoder as Decoder
from toolspeak.wire.openai_chat.client import encode_message as encode_message
from toolspeak.wire.openai_chat.client import explain_unsupported as explain_unsupported
from toolspeak.wire.openai_chat.client import read_response as read_response
from toolspeak.wire.openai_chat.client import request_body as request_body
from toolspeak.wire.openai_chat.client import request_headers as request_headers
from toolspeak.wire.openai_chat.client import request_path as request_path
from toolspeak.wire.openai_chat.client import tool_definitions as tool_definitions
from toolspeak.wire.openai_chat.server import Encoder as Encoder
from toolspeak.wire.openai_chat.server import error_body as error_body
from toolspeak.wire.openai_chat.server import read_request as read_request
