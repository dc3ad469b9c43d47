"""The HTTP APIs of models, each as a client and as a server. No I/O and no clock: bytes and JSON in, values out.

An API is a package with these modules and the same exports, which `api.Wire` lists and the type checker demands:

    client_request.py   ChatRequest → path, headers and body of a request
    client_answer.py    stream or body of an answer → pieces and an `Answer`
    server_request.py   path and body of a request → ChatRequest
    server_answer.py    events of a turn → stream or body of an answer
    names.py            names and values that both sides share, three of the exports among them

`chat_request.py` has the request that all APIs share, `answer_format.py` the form of an answer that a request asks for,
`quirks.py` and `schemas.py` what an endpoint may not support of its API. The rest is shared work: `sse.py` (server-sent
events), `framing.py` (how a stream is split into events), `fields.py` (reads requests and reports wrong fields),
`json_data.py` (JSON of unknown shape), `failures.py` (how a server reports what went wrong), `api_errors.py` (what an
endpoint reports), `vendor_tools.py` (tools that a vendor defines), `media.py`, `piece_buffer.py`.

An API that is only called has the client side alone, as `ollama_chat` has: it exports what `api.ClientWire` lists, and
is in `CLIENT_WIRES`, but not in `WIRES`.

To add an API:

1. Make a package beside `openai_chat`, with these modules and an `__init__.py` that exports what `Wire` lists.
2. Add its name to `ApiName`, its package to `_SERVED`, which the type checker reads, and both to `_SERVED_PACKAGES`,
   all in `api.py`. Clients (`models/`) and the gateway take it from there: the route, the ids and the headers follow
   from what the package exports.
3. Add the name to `settings/values.py` (`EndpointSettings.api`) and `settings/schema.py` (`ENDPOINT_SETTINGS`), and the
   servers that use the API to `models/profiles.py`. If the API has an SDK whose clients `connect` should take, teach
   `models/lookup.py` to recognise them (`_library`, `_from_client`).
4. Add what the gateway's list of models must have for clients of the API (`models` in `gateway/app.py`), and the form
   of tool definitions to `toolspeak tools --as` (`Form` in `cli/options.py`, `as_form` in `cli/tools.py`).
5. Add a recorded stream to `tests/wire/streams/` and its end to `ENDS` in `tests/wire/test_broken_streams.py`.
   `tests/wire/test_joined.py` joins the client side and the server side of every API in `WIRES`.
"""
