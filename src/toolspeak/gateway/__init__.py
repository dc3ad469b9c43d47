"""The gateway: any OpenAI or Anthropic client gets native tool calls from any model behind it.

`app.py` has the routes, `guard.py` who may ask, `exchange.py` one request from asking to answer, `passing.py` what is
handed on beside the conversation, `gate.py` what of an answer may go out, `verbatim.py` answers that are not read,
`answering.py` how they are sent, `serving.py` the server.
"""

from toolspeak.gateway.app import app
from toolspeak.gateway.exchange import Served
from toolspeak.gateway.guard import Rules

__all__ = ["Rules", "Served", "app"]
