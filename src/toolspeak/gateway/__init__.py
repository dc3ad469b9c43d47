"""The gateway: an HTTP server that gives any OpenAI, Anthropic or Gemini client native tool calls from any model.

A request goes through these modules, in this order:

- `server.py`: uvicorn, with timeouts for slow clients.
- `app.py`: the ASGI app: a route for each API in `toolspeak.wire`, error responses, the log.
- `guard.py`: who may send requests, and how large they may be; `cross_origin.py`: answers to browsers.
- `mounted.py`: other apps behind the same guard, such as an MCP server.
- `run_routes.py`: durable runs over HTTP; `run_events.py`: their events.
- `catalog.py`: which model a client means, and the list of models.
- `passthrough.py`: which fields, tools and vendor data are forwarded between client and model; `notices.py`: what was
  left out, for the client; `arrangement.py`: where system messages stand, and what stands first.
- `tool_list.py`: the tools as the model is shown them, cut to a budget, and help about them; `tool_size_hint.py`.
- `exchange.py`: asks the model, and asks again if a call is malformed or an answer is not in the format asked for.
- `attempt.py`: reads one message of the model, in its dialect.
- `verbatim.py`: answers in which no call is allowed, and none is looked for.
- `gate.py`: which events of an answer may be sent, because they cannot be taken back; `sent_text.py`: which text was.
- `held_format.py`: answers in a format, with `answer_text.py` (their JSON, while it arrives) and `answer_schema.py`
  (the check of every keyword).
- `responses.py`: sends the answer, as long as the client is connected.
- `exchange_report.py`: all that happened in an exchange, for people who watch; `exchange_history.py`: the last ones.
- `errors.py`: what a client is told of an exception; `token_count.py`: the tokens of a request; `context_check.py`:
  whether it fits into the context of the model.
- `figures.py`: what is counted for `/metrics`.
"""

from toolspeak.gateway.app import app
from toolspeak.gateway.exchange import ServedModel
from toolspeak.gateway.guard import AccessRules

__all__ = ["AccessRules", "ServedModel", "app"]
