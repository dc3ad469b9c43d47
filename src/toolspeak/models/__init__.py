"""The models that answer: behind an HTTP endpoint, hosted or on this machine, or embedded.

- `model.py`: `Model`, the protocol of all models, and `Request`, one question to it.
- `lookup.py`: finds the model that a user names; `connect` and `resolve_model`.
- `endpoint.py`: `Endpoint`, an address with its API and key, and `RetryPolicy`. `profiles.py`: what is known of servers
  and model families, as data.
- `prices.py`: what tokens cost.
- `dialect_choice.py`: `DialectChoice`, a model's dialect and why it was chosen. `abilities.py` asks a server whether a
  model supports native tool calls.
- `http.py`: `HttpModel`, which writes a request in the API of its endpoint (`toolspeak.wire`), sends it with
  `transport.py` (connections, retries, errors) and reads the answer with `answer_reader.py` (bytes → pieces).
- `sender.py`: `Sender`, what sends a request: the network, or what `cassettes/` puts in its place to record or replay.
- `embedded.py`: `EmbeddedModel`, a model on this machine. `local.py` starts its server in a child process (`child.py`
  controls the process, `local_server.py` is its program), `cores.py` chooses the threads, `weights/` has the weights.
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
