"""Finds the model that a user names: as `openai:NAME` or `ollama:NAME`, by an address, or through a client object."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, cast
from urllib.parse import SplitResult, urlsplit

from toolspeak.models.endpoint import KEY_HEADERS, Endpoint, RetryPolicy
from toolspeak.models.http import CostFunction, HttpModel
from toolspeak.models.model import DialectChoice
from toolspeak.models.profiles import SERVERS, UNKNOWN_SERVER, ServerProfile, choose_dialect
from toolspeak.values.address import hide_secrets
from toolspeak.values.errors import UsageError
from toolspeak.values.validation import nearest
from toolspeak.wire.api import CLIENT_WIRES, ApiName

NAME_FORMS = (
    "openai:NAME, openai-responses:NAME, anthropic:NAME, gemini:NAME, lmstudio:NAME, ollama:NAME, llamacpp:NAME, "
    "vllm:NAME, https://…/v1#NAME, or local"
)

CLIENT_HOSTS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 (nothing listens here)
"""The host to connect to, where a variable has the one that the server listens on."""

CLIENT_HEADERS = ("x-stainless-", "accept", "content-type", "user-agent", "anthropic-version")
"""Prefixes of the headers that a client object sends about itself or the API. They are not taken over."""

REQUEST_PATHS = ("/chat/completions", "/responses", "/messages", "/api/chat")
"""What requests add to the base address. An address that is copied from a manual may end in it."""

FAMILY_ENDPOINTS = {
    "gpt": "openai", "o1": "openai", "o3": "openai", "o4": "openai", "claude": "anthropic", "gemini": "gemini",
    "grok": "xai", "deepseek": "deepseek", "mistral": "mistral", "codestral": "mistral", "qwen": "ollama",
    "llama": "ollama", "gemma": "ollama", "phi": "ollama",
}  # fmt: skip
"""Where a model is likely to be meant whose name has no endpoint, by how the name begins."""


def resolve_model(
    name: str,
    *,
    environ: Mapping[str, str] | None = None,
    retry: RetryPolicy | None = None,
    other_endpoints: Iterable[str] = (),
) -> HttpModel:
    """Return the model of that name. No request is sent.

    Args:
        name: The name, in one of the forms of `Agent`.
        environ: The environment with addresses and keys; by default the program's.
        retry: Timeouts and retries.
        other_endpoints: Further names of endpoints that an error may suggest.

    Examples:
        >>> resolve_model("ollama:gemma3", environ={})
        HttpModel('ollama:gemma3', 'http://127.0.0.1:11434/v1')
    """
    environ = os.environ if environ is None else environ
    if name.startswith(("http://", "https://")):
        return _at_address(name, environ, retry)
    where, colon, model = name.partition(":")
    if model.startswith("//"):
        raise UsageError(f"{hide_secrets(name)!r} is not an address of a model; write https://HOST/v1#MODEL")
    if where in SERVERS and model:
        return _on_known_server(where, SERVERS[where], model, environ, retry)
    if where in SERVERS:
        raise UsageError(f"{name!r} names an endpoint but no model; write {where}:NAME")
    known = (*SERVERS, *other_endpoints)
    family = next((each for each in FAMILY_ENDPOINTS if where.lower().startswith(each)), None)
    if not colon and family is not None:
        cure = f"did you mean {FAMILY_ENDPOINTS[family]}:{name}?"
    elif not colon and (similar := nearest(name, (*known, "local"), likeness=0.7)):
        cure = f"did you mean {similar}{'' if similar == 'local' else ':NAME'}?"
    elif "/v1" in name or model.partition("/")[0].isdigit():
        cure = "an address begins with http:// or https://, as in http://HOST:PORT/v1#MODEL"
    elif not colon:
        cure = f"write {NAME_FORMS}"
    elif similar := nearest(where, known, likeness=0.7):
        cure = f"did you mean {similar}:{model or 'NAME'}?"
    else:
        cure = f"there are {', '.join(known)}; write openai:NAME for example, https://…/v1#NAME, or local"
    raise UsageError(f"{name!r} has no known endpoint; {cure}")


def connect(
    name: str,
    *,
    at: Any = None,
    api: ApiName | None = None,
    key: str | None = None,
    headers: Mapping[str, str] | None = None,
    dialect: str | None = None,
    retry: RetryPolicy | None = None,
    extra: Mapping[str, Any] | None = None,
    cost: CostFunction | None = None,
) -> HttpModel:
    """Return a model behind an endpoint of your choice. No request is sent.

    Args:
        name: The name, in one of the forms of `Agent`. With `at` it may be just the model's own name;
            `anthropic:NAME` also sets the API of the address, and the key to send.
        at: An address that ends in `/v1`, or an `openai` or `anthropic` client whose address, key and headers are used.
        api: The API of the endpoint, if it differs from the one that the name or the address implies.
        key: The API key, instead of the one in the environment.
        headers: Headers to send with each request.
        dialect: The dialect to use for `"auto"`.
        retry: Timeouts and retries.
        extra: Fields to send with each request, such as `{"num_ctx": 32768, "think": False}` for Ollama.
            `Sampling.extra` overrides them.
        cost: A function that returns the cost of a `Usage` in US dollars, instead of the price list.

    Examples:
        >>> connect("gemma3", at="http://127.0.0.1:9000/v1", dialect="typescript")
        HttpModel('127.0.0.1:9000:gemma3', 'http://127.0.0.1:9000/v1')
    """
    if not isinstance(cast("object", name), str):
        raise UsageError(f"a model name must be a string, not {type(name).__name__}")
    if key is not None and not isinstance(cast("object", key), str):
        raise UsageError(f"key must be a string, not {type(key).__name__}")  # its value is not shown
    if headers is not None:
        _check_headers(headers)
    if cost is not None and not callable(cast("object", cost)):
        raise UsageError(f"cost must be a function that takes a Usage, not {type(cost).__name__}")
    if retry is not None and not isinstance(cast("object", retry), RetryPolicy):
        raise UsageError(f"retry is RetryPolicy(attempts=…, read_timeout=…, …), not {retry!r}")
    if api is not None and api not in CLIENT_WIRES:
        raise UsageError(f"api is one of {', '.join(CLIENT_WIRES)}, not {api!r}")
    if at is None:
        found = resolve_model(name, retry=retry)
    elif isinstance(at, str):
        found = _at_given_address(name, at, retry)
    else:
        found = _from_client(at, name, key, retry)
    endpoint = found.endpoint
    if key is not None or headers is not None or api is not None or extra is not None:
        endpoint = replace(
            endpoint,
            api=api or endpoint.api,
            key=(key or "").strip() or endpoint.key,
            headers={**endpoint.headers, **(headers or {})},
            extra={**endpoint.extra, **(extra or {})},
        )
    choice = DialectChoice(name=dialect, reason="given to connect(dialect=…)") if dialect else found.dialect_choice
    return HttpModel(endpoint, found.model, choice, cost=cost)


def _check_headers(headers: object) -> None:
    if not isinstance(headers, Mapping):
        raise UsageError(f"headers must be a dict of strings, not {type(headers).__name__}")
    for name, value in cast("Mapping[object, object]", headers).items():
        if not isinstance(name, str) or not isinstance(value, str):  # the value may be a secret, and is not shown
            raise UsageError(
                f"headers: the header {name!r} is of type {type(value).__name__}; names and values must be strings"
            )


def _at_given_address(name: str, address: str, retry: RetryPolicy | None) -> HttpModel:
    where, _, model = name.partition(":")
    if where not in SERVERS or not model:
        return resolve_model(f"{address}#{name}", retry=retry)
    found = _at_address(address, os.environ, retry).endpoint  # which checks the address
    return _on_known_server(where, SERVERS[where], model, os.environ, retry, at=found.base_url)


def _on_known_server(
    where: str,
    server: ServerProfile,
    model: str,
    environ: Mapping[str, str],
    retry: RetryPolicy | None,
    *,
    at: str | None = None,
) -> HttpModel:
    base_url = at or _base_url(server, environ)
    is_usual = base_url == server.base_url
    if at:
        origin = "the address that was given"
    else:
        origin = f"the profile of {where}" if is_usual else f"the environment variable {server.url_variable}"
    endpoint = _make_endpoint(
        server,
        retry,
        name=where,
        base_url=base_url,
        api=server.api,
        key=_key(server.key_variable, environ) or _key(server.other_key_variable, environ),
        key_variable=server.key_variable,
        vendor=where,
        leaks_calls=server.leaks_calls or not is_usual,  # at another address, any server may answer
        needs_key=is_usual and base_url.startswith("https:"),
        origin=origin,
    )
    return HttpModel(endpoint, model, choose_dialect(server, model))


def _make_endpoint(server: ServerProfile, retry: RetryPolicy | None, **fields: Any) -> Endpoint:
    """Return an endpoint with what the profile of its server says, and these fields."""
    return Endpoint(
        quirks=server.quirks,
        rules=server.rules,
        reads_control_tokens=server.reads_control_tokens,
        ability_apis=server.ability_apis,
        cuts_silently=server.cuts_silently,
        retry=retry or RetryPolicy(),
        **fields,
    )


def _key(variable: str | None, environ: Mapping[str, str]) -> str | None:
    return environ.get(variable, "").strip() or None if variable else None


def _base_url(server: ServerProfile, environ: Mapping[str, str]) -> str:
    """Return the address of a server. The environment variable for it may be written in many forms."""
    variable = server.url_variable
    given = environ.get(variable, "").strip().rstrip("/") if variable else ""
    if not given:
        return server.base_url
    usual = urlsplit(server.base_url)
    bare = "://" not in given  # a host, a port, or both
    if bare and given.count(":") > 1 and not given.startswith("["):
        given = f"[{given}]"
    parts = _split_address(f"{usual.scheme}://{given}" if bare else given, f"{variable}={hide_secrets(given)}")
    host = CLIENT_HOSTS.get(parts.hostname or "", parts.hostname) or usual.hostname or ""
    port = parts.port or (usual.port if bare else None)
    netloc = (f"[{host}]" if ":" in host else host) + (f":{port}" if port else "")
    path = parts.path.rstrip("/")
    if not path or (server.url_has_no_version and not path.endswith(usual.path)):
        path += usual.path
    return f"{parts.scheme}://{netloc}{path}"


def _split_address(address: str, given: str) -> SplitResult:
    """Split an http address. Errors quote `given`, which holds no secret."""
    try:
        parts = urlsplit(address)
        is_valid = parts.scheme in ("http", "https") and (parts.port is None or parts.port)
    except ValueError:  # half an IPv6 address, or a port that is not a number
        is_valid = False
    else:
        if parts.username or parts.password or parts.query:  # which errors would show
            raise UsageError(
                "the address contains a password or a query; give the key with connect(…, key=…) or in the environment"
            )
        if is_valid:
            ending = next((each for each in REQUEST_PATHS if parts.path.rstrip("/").endswith(each)), None)
            if ending is not None:
                raise UsageError(
                    f"the address ends in {ending}, which toolspeak adds to each request; leave it out: https://HOST/v1"
                )
            return parts
    raise UsageError(f"{given!r} is not an address; write https://HOST/v1")


def _at_address(name: str, environ: Mapping[str, str], retry: RetryPolicy | None) -> HttpModel:
    address, _, model = name.partition("#")
    parts = _split_address(address, hide_secrets(address))
    if not parts.hostname:
        raise UsageError(f"{hide_secrets(address)!r} is not an address; write https://HOST/v1#MODEL")
    base_url = address.rstrip("/") if parts.path.rstrip("/") else f"{parts.scheme}://{parts.netloc}/v1"
    where, server = _find_server(base_url) or (parts.netloc, UNKNOWN_SERVER)
    variable = server.key_variable or "TOOLSPEAK_API_KEY"
    endpoint = _make_endpoint(
        server,
        retry,
        name=parts.netloc,
        base_url=base_url,
        api="openai" if server.api == "ollama" and parts.path.rstrip("/") else server.api,  # Ollama has both
        key=_key(variable, environ) or _key(server.other_key_variable, environ),
        key_variable=variable,
        vendor=where,
        leaks_calls=server.leaks_calls,
        needs_key=base_url == server.base_url and base_url.startswith("https:"),
        origin="the name; an unknown server" if server is UNKNOWN_SERVER else f"the name; the profile of {where}",
    )
    return HttpModel(endpoint, model or "default", choose_dialect(server, model))


def _find_server(base_url: str) -> tuple[str, ServerProfile] | None:
    """Return the known server at an address: the one of exactly this address, else one of the same host."""
    # The scheme is compared, too: a key for https must not be sent unencrypted.
    origin = _origin(base_url)
    same_host = [each for each in SERVERS.items() if _origin(each[1].base_url) == origin]
    return next((each for each in same_host if each[1].base_url == base_url), next(iter(same_host), None))


def _origin(address: str) -> tuple[str, str]:
    parts = urlsplit(address)
    return parts.scheme, parts.netloc.lower()


def _from_client(client: Any, model: str, key: str | None, retry: RetryPolicy | None) -> HttpModel:
    """Return a model with the address, key and headers of an SDK client. The SDK itself is not imported."""
    library = _library(client)
    address = str(client.base_url).rstrip("/")
    if library == "anthropic" and not address.endswith("/v1"):
        address += "/v1"
    if "@" in urlsplit(address).netloc:  # which errors would show
        raise UsageError("the address of the client contains a user or a password; give the key with key=…")
    if getattr(client, "default_query", None):
        raise UsageError("the client adds a query to its addresses, which is not supported; give the address with at=…")
    # The user's own headers, the organisation, and the key.
    headers = {
        name.lower(): value
        for name, value in {**client.auth_headers, **client.default_headers}.items()
        if isinstance(value, str) and not name.lower().startswith(CLIENT_HEADERS)
    }
    if key:
        headers = {name: value for name, value in headers.items() if name not in KEY_HEADERS}
    elif not headers.keys() & KEY_HEADERS:
        raise UsageError("the client has no key of its own; give the key with key=…")
    offered = {"ollama": "openai"}  # Ollama has OpenAI's API as well, at the address of its profile
    server = next(
        (each for each in SERVERS.values() if (each.base_url, offered.get(each.api, each.api)) == (address, library)),
        None,
    )
    server = server or (SERVERS["anthropic"] if library == "anthropic" else UNKNOWN_SERVER)
    endpoint = _make_endpoint(
        server,
        retry,
        name=library,
        base_url=address,
        api=library,
        headers=headers,
        leaks_calls=server.leaks_calls or address != server.base_url,
        origin=f"a client of {library}",
    )
    return HttpModel(endpoint, model, choose_dialect(server, model))


def _library(client: Any) -> ApiName:
    """Return the SDK of a client, which may be an instance of a subclass."""
    for each in cast("type[Any]", type(client)).__mro__:
        library, _, module = each.__module__.partition(".")
        if library in ("openai", "anthropic"):
            if module not in ("", "_client"):
                raise UsageError(
                    f"{each.__name__} uses a protocol of its own; give an address that serves the API "
                    f"of {library} unchanged, with at=… and key=…"
                )
            return library
    raise UsageError(f"at={type(client).__name__}: give an address (https://HOST/v1), or an openai or anthropic client")
