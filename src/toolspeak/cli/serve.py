"""`toolspeak serve`: the gateway, from what is configured to a server that runs until Ctrl-C."""

import logging
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress

from toolspeak._frozen import frozen
from toolspeak.dialects import dialect
from toolspeak.errors import UsageError
from toolspeak.gateway import AccessRules, ServedModel, app
from toolspeak.gateway.server import build_server, check_exposure
from toolspeak.models import Model
from toolspeak.run.model_lookup import find_model
from toolspeak.settings import Settings, settings


@frozen
class ServeOptions:
    """What was asked for on the command line.

    Attributes:
        models: Their names; none at all stands for what is configured.
        dialect: The dialect of all of them.
        host: Where to listen.
        port: Where to listen; 0 is any that is free.
        key_env: The environment variable with the key that clients must send.
        mends: How often a malformed call is asked for again.
        thinks: Whether the models may begin in the middle of reasoning.
    """

    models: tuple[str, ...] = ()
    dialect: str | None = None
    host: str = "127.0.0.1"
    port: int = 8765
    key_env: str | None = None
    mends: int = 2
    thinks: bool = False


def serve(wishes: ServeOptions) -> None:
    """Serve until somebody says stop."""
    key = _key(wishes.key_env, os.environ)
    check_exposure(wishes.host, key)
    served = served_models(wishes, settings())
    rules = AccessRules(key=key, hosts=AccessRules().hosts | {wishes.host.lower()})
    with _bound(wishes.host, wishes.port) as listening:
        port = listening.getsockname()[1]
        running = build_server(app(served, rules), host=wishes.host, port=port)
        _log_to_standard_error()
        what = ", ".join(f"{each.name} ({each.dialect.name})" for each in served)
        host = f"[{wishes.host}]" if ":" in wishes.host else wishes.host
        sys.stdout.write(f"http://{host}:{port}/v1 serves {what}; Ctrl-C stops it\n")
        sys.stdout.flush()
        with suppress(KeyboardInterrupt):
            running.run(sockets=[listening])


def served_models(wishes: ServeOptions, configured: Settings) -> list[ServedModel]:
    """The models that were named; else all endpoints that were given a name and a model, and the default model."""
    if wishes.models:
        found = {name: find_model(name, configured=configured) for name in wishes.models}
    else:
        names = [name for name, endpoint in configured.endpoints.items() if endpoint.model]
        found = {name: find_model(name, configured=configured) for name in names}
        try:
            found.setdefault(configured.model, find_model(configured=configured))
        except UsageError:  # nobody asked for the embedded model, and it is not here
            if not found or configured.origin("model") != "default":
                raise
    return [
        ServedModel(
            name=name,
            model=model,
            dialect=dialect(wishes.dialect or _dialect(name, model, configured)),
            max_repairs=wishes.mends,
            thinks=wishes.thinks,
        )
        for name, model in found.items()
    ]


def _dialect(name: str, model: Model, configured: Settings) -> str:
    endpoint = configured.endpoints.get(name.partition(":")[0])
    return (endpoint.dialect if endpoint else None) or configured.dialect or model.dialect


def _key(variable: str | None, environ: Mapping[str, str]) -> str | None:
    if variable is None:
        return None
    if key := environ.get(variable, "").strip():
        return key
    raise UsageError(f"--key-env {variable}: this environment variable is not set")


def _bound(host: str, port: int) -> socket.socket:
    try:
        found: Sequence[tuple[socket.AddressFamily, object, object, object, tuple[object, ...]]]
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        family, *_, address = found[0]
        return socket.create_server(address[:2], family=family, backlog=2048)
    except OSError as error:
        raise UsageError(f"cannot listen on {host}:{port}: {error.strerror or error}") from None


def _log_to_standard_error() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    log = logging.getLogger("toolspeak.gateway")
    log.addHandler(handler)
    log.setLevel(logging.INFO)
