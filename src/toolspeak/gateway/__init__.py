"""The gateway: an HTTP server that gives any OpenAI, Anthropic or Gemini client native tool calls from any model.

A request goes through these modules, in this order:

- `server.py`: uvicorn, with timeouts for slow clients.
- `app.py`: the ASGI app: a route for each API in `toolspeak.wire`, the models by name. Start reading here.
- `routing.py`: puts each route behind `guard.py` (who may send requests, how large they may be, and their JSON: tools
  that many requests share are parsed once), gives requests an id, answers browsers and errors (`errors.py`), mounts
  other apps. `run_routes.py`: durable runs over HTTP.
- `stored_responses.py`: answers of the responses API that later requests refer to; `response_store.py` keeps them.
- `passthrough.py`: which fields, tools and vendor data are forwarded, how effort is, and where system messages stand.
- `tool_list.py`: the tools as the model is shown them, cut to a budget, and help about them.
- `exchange.py`: asks the model, reads its message, and asks again if a call is malformed or does not fit its schema, or
  an answer is not in the format asked for. `context_check.py`: whether a request fits into the context of the model.
- `gate.py`: which events of an answer may be sent, because they cannot be taken back; whether the arguments of calls
  fit. `held_format.py`: answers in a format, with `answer_text.py` (their JSON, while it arrives), `answer_schema.py`
  (the check of every keyword) and `answer_patterns.py` (how large patterns may be).
- `provenance.py`: values of calls that nobody said who may, for clients that ask.
- `responses.py`: sends the answer, as long as the client is connected, and pings while the model is silent.
- `exchange_report.py`: all that happened, for people who watch; `figures.py`: what is counted for `/metrics`.

The room may import all rooms but `cli`, `page` and `testing`; `cli/serve.py` puts it together with MCP and a store.

To add

- an API: `wire/__init__.py` says how; a failure that clients are told of: a row of `FAILURES` in `wire/errors.py`, and
  its exception in `errors.py`;
- a field that may be ignored without a word: `IGNORABLE_FIELDS` in `passthrough.py`; one that asks for an answer in a
  format: `FORMAT_FIELDS`; a value at the top of a system prompt that changes: `_CHANGING_VALUE`;
- a part of messages that only a vendor can read: `find_unread_parts` in `passthrough.py` names it for the client;
- what counts as a wrong call: `CallCheck` in `gate.py`; a token that begins reasoning: `THOUGHT_TOKENS` in
  `exchange.py`; an API's field for effort: `read_effort` and `write_effort` in `passthrough.py`;
- how much is stored: `MEMORY_LIMITS` and `FILE_LIMITS` in `response_store.py`, and the table in the guide;
- a keyword of schemas that answers are held to: `answer_schema.py`;
- a figure: `figures.py` and `docs/guides/traces.md`; something that people who watch should see: a key in
  `exchange_report.py`, its docstring and the guide;
- a route: `app` in `app.py`; of durable runs: `run_routes.py`; an app behind the same rules: `mounted=` of `app`.
"""

from toolspeak.gateway.app import app
from toolspeak.gateway.exchange import ServedModel
from toolspeak.gateway.guard import AccessRules
from toolspeak.gateway.response_store import ResponseStore, StoreLimits

__all__ = ["AccessRules", "ResponseStore", "ServedModel", "StoreLimits", "app"]
