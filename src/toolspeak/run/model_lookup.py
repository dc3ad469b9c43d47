"""Finds a model by its name, with the settings of the user."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from toolspeak import settings
from toolspeak.models import SERVERS, Endpoint, HttpModel, Model, resolve_model
from toolspeak.models.model import DialectChoice
from toolspeak.models.profiles import UNKNOWN_SERVER, choose_dialect
from toolspeak.run.inputs import check_model, check_settings
from toolspeak.settings.files import find_foreign_way
from toolspeak.settings.plugins import Plugin, find_plugin, list_plugin_names
from toolspeak.values.errors import ToolspeakError, UsageError

if TYPE_CHECKING:
    from toolspeak.models import EmbeddedModel
    from toolspeak.settings import EndpointSettings, Settings

Models: TypeAlias = str | Model | Sequence[str | Model] | None
"""A model, by its name or as an object, or several of them in the order in which they are asked; None stands for the
model in the settings."""


def find_model(name: str | None = None, *, configured: "Settings | None" = None, keep_warm: bool = False) -> Model:
    """Return the model of that name; without a name, the one in the settings.

    An endpoint in the settings wins over a known one of the same name. An endpoint that an installed package offers
    (`settings/plugins.py`) is used only if no other has its name.

    Args:
        name: The name, in one of the forms of `Agent`.
        configured: The settings; by default those of the user's file and the environment, without any project.
        keep_warm: Whether the embedded model stays loaded after the program ends, as long as the settings say.
    """
    if name is not None and name.startswith(("http://", "https://")):
        return _with_measured_dialect(resolve_model(name))  # an address needs no settings
    configured = configured or settings.load()
    name = configured.model if name is None else name
    where, _, rest = name.partition(":")
    if where == "local":
        return _embedded_model(rest, configured, keep_warm=keep_warm)
    if where in configured.endpoints:
        return _http_model(configured.endpoints[where], rest, configured.origin(f"endpoints.{where}"))
    if where not in SERVERS and (plugin := find_plugin("toolspeak.endpoints", where)):
        return _plugin_model(plugin, rest)
    offered = () if where in SERVERS else list_plugin_names("toolspeak.endpoints")
    return _with_measured_dialect(resolve_model(name, other_endpoints=(*configured.endpoints, *offered)))


def _plugin_model(plugin: Plugin, name: str) -> Model:
    if not name:
        raise UsageError(f"{plugin.name!r} names an endpoint but no model; write {plugin.name}:NAME")
    connect = plugin.load()
    if not callable(connect):
        raise plugin.refuse("it is not a function that takes the name of a model")
    try:
        model = connect(name)
    except ToolspeakError:  # it says itself what is wrong, with a key for example
        raise
    except Exception as error:
        raise plugin.refuse(f"it failed for the model {name!r}: {type(error).__name__}: {error}") from error
    if not isinstance(model, Model):
        raise plugin.refuse(f"it returned no model, but an object of type {type(model).__name__}")
    return model


def find_models(given: Models, configured: "Settings | None") -> tuple[Model, ...]:
    """Return the models that a user gave, by their names or as objects; without any, the one in the settings."""
    configured = check_settings(configured)
    if given is None or isinstance(given, str):
        return (find_model(given, configured=configured),)
    if not isinstance(given, Sequence):
        return (check_model(given),)
    if not given:
        raise UsageError("model is an empty list; name at least one model")
    return tuple(
        find_model(each, configured=configured) if isinstance(each, str) else check_model(each) for each in given
    )


def _embedded_model(path: str, configured: "Settings", *, keep_warm: bool) -> "EmbeddedModel":
    from toolspeak.models.adapters import find_adapter
    from toolspeak.models.embedded import EmbeddedModel, name_for_calibration
    from toolspeak.models.prompt_store import PromptStore
    from toolspeak.models.warm import WarmOptions, is_supported
    from toolspeak.models.weights import QWEN_CODER
    from toolspeak.models.weights_download import find_weights

    local = configured.local
    if path:
        weights, name = Path(path).expanduser(), None
        if not weights.is_file():
            raise UsageError(f"local:{path}: there is no such file; give the path of a GGUF file")
    else:
        downloaded = find_weights(QWEN_CODER, weights_folder())
        if downloaded is None:
            file = weights_folder() / QWEN_CODER.filename
            if file.exists() and (reason := find_foreign_way(file)) is not None:
                raise UsageError(
                    f"the weights of the embedded model are not used, since another user could change them: {reason}. "
                    "Change that, or choose another folder with TOOLSPEAK_CACHE_FOLDER, and get them: toolspeak pull"
                )
            raise UsageError(
                "the weights of the embedded model are not on this machine; get them with toolspeak pull, or name "
                "another model, such as openai:NAME or ollama:NAME"
            )
        weights, name = downloaded, "local"
    warm: WarmOptions | None = None
    if keep_warm and is_supported and local.keep_minutes is not None:
        warm = WarmOptions(folder=warm_folder(), idle_seconds=60 * local.keep_minutes)
    prompts: PromptStore | None = None
    if local.keep_prompts_mb is not None:
        prompts = PromptStore(prompt_folder(), int(1e6 * local.keep_prompts_mb))
    adapter = find_adapter(local.adapter, weights)
    calibrated = settings.load_calibrated_dialect("local", name_for_calibration(weights, adapter))
    return EmbeddedModel(
        weights,
        name=name,
        dialect=None if calibrated is None else _measured(calibrated),
        threads=local.threads,
        context=local.context,
        slots=local.slots,
        adapter=adapter,
        warm=warm,
        prompts=prompts,
    )


def weights_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder in which weights are kept."""
    return settings.cache_folder(environ) / "models"


def warm_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder with the files of the user's warm servers."""
    return _own_folder("servers", environ)


def prompt_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder with what embedded models have read of the user's prompts."""
    return _own_folder("prompts", environ)


def _own_folder(name: str, environ: Mapping[str, str] | None) -> Path:
    """Return a folder of this user. Several users may share a cache folder."""
    user = f"-{os.geteuid()}" if hasattr(os, "geteuid") else ""
    return settings.cache_folder(environ) / f"{name}{user}"


def _http_model(configured: "EndpointSettings", model: str, origin: str) -> HttpModel:
    name = configured.name
    model = model or configured.model or ""
    if not model:
        raise UsageError(f"{name!r} names an endpoint but no model; write {name}:MODEL, or set endpoints.{name}.model")
    server = next((each for each in SERVERS.values() if each.base_url == configured.base_url), UNKNOWN_SERVER)
    server = SERVERS["ollama"] if configured.api == "ollama" else server
    endpoint = Endpoint(
        name=name,
        base_url=configured.base_url,
        api=configured.api,
        key=(configured.key() or "").strip() or None,
        key_variable=configured.key_env,
        quirks=server.quirks,
        rules=server.rules,
        reads_control_tokens=server.reads_control_tokens,
        vendor=name,
        leaks_calls=server.leaks_calls,
        ability_apis=server.ability_apis,
        cuts_silently=server.cuts_silently,
        extra={
            option: value
            for option, value in (("num_ctx", configured.num_ctx), ("think", configured.think))
            if value is not None
        },
        origin=f"the setting endpoints.{name}.base_url ({origin})",
    )
    if configured.dialect:  # the user's choice wins over what was measured
        choice = DialectChoice(name=configured.dialect, reason=f"the setting endpoints.{name}.dialect ({origin})")
        return HttpModel(endpoint, model, choice)
    return _with_measured_dialect(HttpModel(endpoint, model, choose_dialect(server, model)))


def _with_measured_dialect(model: HttpModel) -> HttpModel:
    """Return the model with the dialect that `toolspeak calibrate` measured to be its best, if it has."""
    calibrated = settings.load_calibrated_dialect(model.endpoint.base_url, model.model)
    return model if calibrated is None else HttpModel(model.endpoint, model.model, _measured(calibrated))


def _measured(dialect: str) -> DialectChoice:
    return DialectChoice(name=dialect, reason="measured by toolspeak calibrate")
