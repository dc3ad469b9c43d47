"""Ollama's own API, `/api/chat`. There is only the client side: the gateway does not serve it.

Beside OpenAI's API, which Ollama has as well, it is needed for what only this API takes: the length of the context
(`num_ctx`), whether the model thinks (`think`), and that nothing is cut off a conversation without notice (`truncate`).
"""

from toolspeak.wire.ollama_chat.client import FRAMING as FRAMING
from toolspeak.wire.ollama_chat.client import IS_UNDER_V1 as IS_UNDER_V1
from toolspeak.wire.ollama_chat.client import SAMPLING_FIELDS as SAMPLING_FIELDS
from toolspeak.wire.ollama_chat.client import VENDOR as VENDOR
from toolspeak.wire.ollama_chat.client import Decoder as Decoder
from toolspeak.wire.ollama_chat.client import encode_message as encode_message
from toolspeak.wire.ollama_chat.client import explain_unsupported as explain_unsupported
from toolspeak.wire.ollama_chat.client import read_response as read_response
from toolspeak.wire.ollama_chat.client import request_body as request_body
from toolspeak.wire.ollama_chat.client import request_headers as request_headers
from toolspeak.wire.ollama_chat.client import request_path as request_path
from toolspeak.wire.ollama_chat.client import tool_definitions as tool_definitions
