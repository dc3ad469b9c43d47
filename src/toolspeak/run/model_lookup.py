"""Finding a model by its name, with what the user has configured."""

from collections.abc import Mapping
from pathlib import Path

from toolspeak.errors import UsageError
from toolspeak.models import SERVERS, EmbeddedModel, Endpoint, HttpModel, Model, resolve_model
from toolspeak.models.profiles import UNKNOWN_SERVER, choose_dialect
from toolspeak.models.weights import QWEN_CODER, find_weights
from toolspeak.settings import EndpointSettings, Settings, cache_folder, remembered_dialect, settings


def find_model(name: str | None = None, *, configured: Settings | None = None) -> Model:
    """The model of that name, or the configured one if none is given.

    An endpoint that the user configured comes before one of the same name that is known here.
    """
    if name is not None and name.startswith(("http://", "https://")):
        return _calibrated(resolve_model(name))  # an address says all there is to say
    configured = configured or settings()
    name = configured.model if name is None else name
    where, _, rest = name.partition(":")
    if where == "local":
        return _embedded(rest, configured)
    if where in configured.endpoints:
        return _configured(configured.endpoints[where], rest)
    return _calibrated(resolve_model(name, other_endpoints=configured.endpoints))


def _embedded(path: str, configured: Settings) -> EmbeddedModel:
    local = configured.local
    if path:
        weights, name = Path(path).expanduser(), None
        if not weights.is_file():
            raise UsageError(f"local:{path}: there is no such file; give the path of a GGUF file")
    else:
        kept = find_weights(QWEN_CODER, weights_folder())
        if kept is None:
            raise UsageError("the weights of the embedded model are not on this machine; get them: toolspeak pull")
        weights, name = kept, "local"
    remembered = remembered_dialect("local", weights.name)
    return EmbeddedModel(
        weights, name=name, dialect=remembered, threads=local.threads, context=local.context, slots=local.slots
    )


def weights_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Where weights are kept."""
    return cache_folder(environ) / "models"


def _configured(told: EndpointSettings, model: str) -> HttpModel:
    name = told.name
    model = model or told.model or ""
    if not model:
        raise UsageError(f"{name!r} names an endpoint and no model; write {name}:MODEL, or set endpoints.{name}.model")
    server = next((each for each in SERVERS.values() if each.base_url == told.base_url), UNKNOWN_SERVER)
    endpoint = Endpoint(
        name=name,
        base_url=told.base_url,
        api=told.api,
        key=(told.key() or "").strip() or None,
        key_variable=told.key_env,
        quirks=server.quirks,
        rules=server.rules,
        vendor=name,
    )
    if told.dialect:  # what somebody decided comes before what was measured
        return HttpModel(endpoint, model, told.dialect)
    return _calibrated(HttpModel(endpoint, model, choose_dialect(server, model)))


def _calibrated(found: HttpModel) -> HttpModel:
    remembered = remembered_dialect(found.endpoint.base_url, found.model)
    return found if remembered is None else HttpModel(found.endpoint, found.model, remembered)
