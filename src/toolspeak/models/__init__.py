"""Endpoints that answer: hosted, on this machine, embedded.

`model.py` is the contract. `http.py` asks an endpoint (`endpoint.py`) in the API that it speaks, over `transport.py`,
and `hearing.py` hears what it answers; `profiles.py` has what is known of servers and families as data, and `naming.py`
finds a model by its name. The embedded model is a child process that serves an endpoint (`embedded.py`, `local.py`);
its weights come by `weights/`.
"""

from toolspeak.models.embedded import EmbeddedModel
from toolspeak.models.endpoint import Endpoint, RetryPolicy
from toolspeak.models.http import HttpModel
from toolspeak.models.lookup import connect, named
from toolspeak.models.model import Model, Request, Sampling
from toolspeak.models.profiles import FAMILIES, SERVERS

__all__ = [
    "FAMILIES",
    "SERVERS",
    "EmbeddedModel",
    "Endpoint",
    "HttpModel",
    "Model",
    "Request",
    "RetryPolicy",
    "Sampling",
    "connect",
    "named",
]
