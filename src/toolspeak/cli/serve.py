"""`toolspeak serve`: starts the gateway with the models of the options or the settings, until Ctrl-C."""

import logging
import os
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from toolspeak._frozen import frozen
from toolspeak.cli.agent_config import find_chosen_dialect
from toolspeak.cli.safe_text import escape_controls, write_output
from toolspeak.dialects import dialect
from toolspeak.errors import UsageError
from toolspeak.gateway import AccessRules, ServedModel, app
from toolspeak.gateway.server import build_server, check_exposure
from toolspeak.models import Model
from toolspeak.models.dialect_choice import choose_model_dialect
from toolspeak.run import portal
from toolspeak.run.model_lookup import find_model
from toolspeak.settings import Settings


@frozen
class ServeOptions:
    """The options of `toolspeak serve`.

    Attributes:
        models: The names of the models to serve; if there are none, those in the settings.
        dialect: The dialect of every model; None for the best one of each.
        host: The address to listen on.
        port: The port to listen on; 0 for any free port.
        key_env: The environment variable with the key that clients must send.
        mends: How often the model is asked again for a malformed call.
        thinks: Whether an answer may begin inside its reasoning, without an opening tag.
    """

    models: tuple[str, ...] = ()
    dialect: str | None = None
    host: str = "127.0.0.1"
    port: int = 8765
    key_env: str | None = None
    mends: int = 2
    thinks: bool = False


def serve(options: ServeOptions, load_settings: Callable[[], Settings]) -> None:
    """Serve until Ctrl-C. The settings are loaded after the options were checked."""
    key = _read_key(options.key_env, os.environ)
    check_exposure(options.host, key)
    served = find_served_models(options, load_settings())
    rules = AccessRules(key=key, hosts=AccessRules().hosts | {options.host.lower()})
    with _listen(options.host, options.port) as listener:
        port = listener.getsockname()[1]
        gateway = build_server(app(served, rules), host=options.host, port=port)
        _log_to_standard_error()
        names = ", ".join(f"{each.name} ({each.dialect.name})" for each in served)
        host = f"[{options.host}]" if ":" in options.host else options.host
        write_output(f"http://{host}:{port}/v1 serves {names}; Ctrl-C stops it\n")
        sys.stdout.flush()
        with suppress(KeyboardInterrupt):
            gateway.run(sockets=[listener])


def find_served_models(options: ServeOptions, settings: Settings) -> list[ServedModel]:
    """Find the models of the options; without any, the settings' model and each of their endpoints that names one."""
    if options.models:
        found = {name: find_model(name, configured=settings) for name in options.models}
    else:
        names = [name for name, endpoint in settings.endpoints.items() if endpoint.model]
        found = {name: find_model(name, configured=settings) for name in names}
        try:
            found.setdefault(settings.model, find_model(configured=settings))
        except UsageError:  # the weights of the embedded model are missing, which matters only if it was chosen
            if not found or settings.origin("model") != "default":
                raise
    return [
        ServedModel(
            name=name,
            model=model,
            dialect=dialect(_choose_dialect(options, name, model, settings)),
            max_repairs=options.mends,
            thinks=options.thinks,
        )
        for name, model in found.items()
    ]


def _choose_dialect(options: ServeOptions, name: str, model: Model, settings: Settings) -> str:
    chosen = find_chosen_dialect(options.dialect, name, settings)
    return (chosen or portal.call(choose_model_dialect(model))).name


def _read_key(variable: str | None, environ: Mapping[str, str]) -> str | None:
    if variable is None:
        return None
    if key := environ.get(variable, "").strip():
        return key
    raise UsageError(f"--key-env {variable}: this environment variable is not set")


def _listen(host: str, port: int) -> socket.socket:
    try:
        addresses: Sequence[tuple[socket.AddressFamily, object, object, object, tuple[object, ...]]]
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        family, *_, address = addresses[0]
        return socket.create_server(address[:2], family=family, backlog=2048)
    except OSError as error:
        raise UsageError(f"cannot listen on {host}:{port}: {error.strerror or error}") from None


class _SafeFormatter(logging.Formatter):
    """Formats log records so that paths and errors of clients cannot write to the terminal what it obeys."""

    def format(self, record: logging.LogRecord) -> str:
        return escape_controls(super().format(record))


def _log_to_standard_error() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(_SafeFormatter("%(asctime)s %(message)s"))
    log = logging.getLogger("toolspeak.gateway")
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    for existing in logging.getLogger("uvicorn").handlers:
        existing.setFormatter(_SafeFormatter("%(asctime)s %(message)s"))
