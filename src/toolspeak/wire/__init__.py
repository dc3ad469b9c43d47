"""The HTTP APIs of models, as a client and, but for Ollama's, as a server. No I/O: bytes and JSON in, values out.

This room imports `values/` and nothing else of toolspeak. Begin with `api.py`, then read `openai_chat/`. Three things
are kept apart: the API (here), the endpoint (`models/endpoint.py`: address, key, retries) and what is known of its
server (`models/profiles.py`). An API is a package with these modules, which exports what `api.Wire` lists:

    client.py   ChatRequest → path, headers and body of a request; stream or body of an answer → pieces and an `Answer`;
                names and values that both sides share
    server.py   path and body of a request → ChatRequest; events of a turn → stream or body of an answer

`openai_responses` has its server in two modules, and its names in a third: its tools may be grouped, or take raw text.

All APIs share `chat_request.py` (the request, the form of an answer that it asks for, and the quirks of an endpoint),
`answers.py` (what decoders and encoders have in common), `framing.py` (how a stream is split into events), `fields.py`
(reads requests and reports wrong fields), `json_data.py` (JSON of unknown shape, vendor data), `errors.py` (what an
endpoint reports, and `FAILURES`, how a server reports), `schemas.py` (schemas in the form that an endpoint accepts),
`vendor_tools.py` (tools that a vendor defines), `raw_text.py` (tools that take one raw text) and `media.py`.

An API that is only called has the client side alone, as `ollama_chat` has: it exports what `api.ClientWire` lists, and
is in `CLIENT_WIRES`, but not in `WIRES`.

To add an API:

1. Make a package beside `openai_chat`, with these modules and an `__init__.py` that exports what `Wire` lists. Its
   decoder derives `AnswerDecoder`, its encoder `AnswerEncoder`.
2. In `api.py`, add its name to `ServedApiName`, its package to `_SERVED` (so that the type checker compares it with
   `Wire`), and name and package to `_SERVED_PACKAGES`. Clients (`models/`) and the gateway take it from there: the
   route, the ids and the headers follow from what the package exports. The name of an API that is only called goes into
   `ApiName`, and its package into `CLIENT_WIRES`.
3. Add the name to `settings/values.py` (`EndpointSettings.api`) and `settings/schema.py` (`ENDPOINT_SETTINGS`), and the
   servers that use the API to `models/profiles.py`. If the API has an SDK whose clients `connect` should take, teach
   `models/lookup.py` to recognise them (`_library`, `_from_client`).
4. Add what the gateway's list of models must have for clients of the API (`models` in `gateway/app.py`), and the form
   of tool definitions to `toolspeak tools --as` (`Form` in `cli/options.py`, `as_form` in `cli/tools.py`).
5. Add a recorded stream to `tests/wire/streams/` and its end to `ENDS` in `tests/wire/test_broken_streams.py`.
   `tests/wire/test_joined.py` joins the client side and the server side of every API in `WIRES`.

To add a field of an API: its package, both sides; if all APIs have it, `ChatRequest` first. How an API asks for an
answer in a format: `read_answer_format`, and the field in `FORMAT_FIELDS` of `gateway/passthrough.py`. A failure that
clients of the gateway are told of: a row of `FAILURES`, and the exception for it in `gateway/errors.py`. Words in which
a server says that a conversation is too long: `_OVERFLOW` in `errors.py`. A tool that a vendor defines and clients run:
`_CLIENT_TOOLS` or `RAW_TOOLS` in `vendor_tools.py`. An option of Ollama: `OPTIONS` in `ollama_chat/client.py`.
"""
