"""The models that answer: behind an HTTP endpoint, hosted or on this machine, or embedded.

    Request ─► HttpModel ─► ChatRequest ─► request_body ─► transport.post ─► endpoint
                                                                                │ bytes
                                                  pieces ◄── AnswerReader ◄─────┘

Three things are kept apart: the API (`toolspeak.wire`, which does no I/O), the endpoint (address, key, retries) and
what is known of its server (data). Start with `model.py` and `http.py`.

- `model.py`: `Model`, the protocol of all models, `Request`, one question to it, and `DialectChoice`, a model's dialect
  and why it was chosen.
- `lookup.py`: finds the model that a user names; `connect` and `resolve_model`. `endpoint.py`: `Endpoint` and
  `RetryPolicy`. `profiles.py`: what is known of servers and model families, as data.
- `http.py`: `HttpModel` writes a request with `request_encoder.py`, sends it with `transport.py` (retries, errors)
  through a `Sender` (`sender.py`; the network is `connections.py`), and reads the answer with `answer_reader.py`
  (bytes → pieces).
- `cassettes/`: records and replays what a sender does.
- `abilities.py` asks a server what a model can do, `prices.py` says what tokens cost, `request_size.py` estimates how
  many a request has.
- `embedded.py`: `EmbeddedModel`, a model on this machine. `local.py` starts its server in a child process, `warm.py`
  one that outlives the program; `local_server.py` is the program of both. `prompt_store.py` keeps what it has read of
  instructions and tools. `weights.py` and `weights_download.py` have the weights, `adapters.py` the adapter.

This room imports `wire`, `dialects`, `reading` and `values`; `transport.py` is imported with the first request,
xllamacpp in the child process only. To add:

- a server: `SERVERS` in `profiles.py`, a few lines; one that cuts long conversations without notice: `cuts_silently`;
- the dialect that suits a family of models best: `DIALECTS_BY_NAME` there; a model that takes text only:
  `TEXT_ONLY_NAMES`;
- an API in which servers say what their models can do: `ABILITY_APIS` in `abilities.py`;
- what counts as an outage: the class of the error, in `transport.py`; a price for one model: `connect(cost=…)`;
- how the embedded model computes: `ENGINE` in `local.py`, after `bench/embedded.py` has shown that it is faster;
- an API: see `wire/__init__.py`; the adapter of the package: its hash in `adapters.py`,
  its file in `packages/toolspeak-trained`.
"""

from typing import TYPE_CHECKING

from toolspeak.models.endpoint import Endpoint, RetryPolicy
from toolspeak.models.http import HttpModel
from toolspeak.models.lookup import connect, resolve_model
from toolspeak.models.model import (
    DialectChoice,
    Model,
    Request,
    Sampling,
    check_attachments,
    find_model_cost,
    match_dialect,
)
from toolspeak.models.profiles import DIALECTS_BY_NAME, SERVERS
from toolspeak.values.package import export_lazily

if TYPE_CHECKING:
    from toolspeak.models.embedded import EmbeddedModel
else:
    __getattr__ = export_lazily(__name__, embedded=("EmbeddedModel",))

__all__ = [
    "DIALECTS_BY_NAME",
    "SERVERS",
    "DialectChoice",
    "EmbeddedModel",
    "Endpoint",
    "HttpModel",
    "Model",
    "Request",
    "RetryPolicy",
    "Sampling",
    "check_attachments",
    "connect",
    "find_model_cost",
    "match_dialect",
    "resolve_model",
]
