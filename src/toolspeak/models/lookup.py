"""From what a user writes to a model behind an endpoint: `openai:NAME`, `ollama:NAME`, an address, a client object."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, cast
from urllib.parse import SplitResult, urlsplit

from toolspeak.errors import UsageError
from toolspeak.models.endpoint import Api, Endpoint, RetryPolicy
from toolspeak.models.http import HttpModel
from toolspeak.models.profiles import ELSEWHERE, SERVERS, ServerProfile, best_dialect
from toolspeak.validation import nearest

FORMS = "openai:NAME, anthropic:NAME, lmstudio:NAME, ollama:NAME, llamacpp:NAME, vllm:NAME, https://…/v1#NAME, or local"

ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 (where a server listens is not where it is asked)

NOT_THE_USERS = ("x-stainless-", "accept", "content-type", "user-agent", "anthropic-version")
"""Headers of a client object that are about the client, or about the API as that client speaks it."""

KEY_HEADERS = {"authorization", "x-api-key"}


def named(
    name: str,
    *,
    environ: Mapping[str, str] | None = None,
    patience: RetryPolicy | None = None,
    others: Iterable[str] = (),
) -> HttpModel:
    """The model of that name. Nothing is asked of it yet, and no key is shown.

    Args:
        name: In one of the forms that `Agent` takes.
        environ: Where addresses and keys are looked up.
        patience: How long the endpoint is waited for.
        others: Endpoints that there are too, to be named in an error.

    Example:
        >>> named("ollama:gemma3", environ={})
        HttpModel('ollama:gemma3', 'http://127.0.0.1:11434/v1')
    """
    environ = os.environ if environ is None else environ
    if name.startswith(("http://", "https://")):
        return _at_address(name, environ, patience)
    where, colon, model = name.partition(":")
    if where in SERVERS and model:
        return _on_server(where, SERVERS[where], model, environ, patience)
    if where in SERVERS:
        raise UsageError(f"{name!r} names an endpoint and no model; write {where}:NAME")
    similar = nearest(where, (*SERVERS, *others)) if colon else None
    cure = f"did you mean {similar}:{model or 'NAME'}?" if similar else f"write {FORMS}"
    raise UsageError(f"{name!r} names no endpoint that is known; {cure}")


def connect(
    name: str,
    *,
    at: Any = None,
    api: Api | None = None,
    key: str | None = None,
    headers: Mapping[str, str] | None = None,
    dialect: str | None = None,
    patience: RetryPolicy | None = None,
) -> HttpModel:
    """A model behind an endpoint, said in full.

    Args:
        name: As `Agent` takes it; with `at`, the model's own name alone.
        at: An address that ends in `/v1`, or an `openai` or `anthropic` client whose address, key and headers are used.
        api: The API that is spoken there, where it is not the one that the name or the address says.
        key: The key, instead of the one in the environment.
        headers: Headers to send with each request.
        dialect: The dialect that `"auto"` stands for.
        patience: How long the endpoint is waited for.

    Example:
        >>> connect("gemma3", at="http://127.0.0.1:9000/v1", dialect="typescript")
        HttpModel('127.0.0.1:9000:gemma3', 'http://127.0.0.1:9000/v1')
    """
    if at is None:
        made = named(name, patience=patience)
    elif isinstance(at, str):
        made = named(f"{at}#{name}", patience=patience)
    else:
        made = _of_client(at, name, key, patience)
    endpoint = made.endpoint
    if key is not None or headers is not None or api is not None:
        endpoint = replace(
            endpoint,
            api=api or endpoint.api,
            key=(key or "").strip() or endpoint.key,
            headers={**endpoint.headers, **(headers or {})},
        )
    return HttpModel(endpoint, made.model, dialect or made.dialect)


def _on_server(
    where: str, server: ServerProfile, model: str, environ: Mapping[str, str], patience: RetryPolicy | None
) -> HttpModel:
    endpoint = Endpoint(
        name=where,
        base_url=_base_url(server, environ),
        api=server.api,
        key=_key(server.key_variable, environ),
        key_variable=server.key_variable,
        quirks=server.quirks,
        rules=server.rules,
        patience=patience or RetryPolicy(),
        vendor=where,
    )
    return HttpModel(endpoint, model, best_dialect(server, model))


def _key(variable: str | None, environ: Mapping[str, str]) -> str | None:
    return environ.get(variable, "").strip() or None if variable else None


def _base_url(server: ServerProfile, environ: Mapping[str, str]) -> str:
    """Where the environment says that a server is, in any of the forms in which such variables are written."""
    variable = server.url_variable
    said = environ.get(variable, "").strip().rstrip("/") if variable else ""
    if not said:
        return server.base_url
    usual = urlsplit(server.base_url)
    bare = "://" not in said  # a host, a port, or both
    if bare and said.count(":") > 1 and not said.startswith("["):
        said = f"[{said}]"
    parts = _parts(f"{usual.scheme}://{said}" if bare else said, f"{variable}={said}")
    host = ANY_ADDRESS.get(parts.hostname or "", parts.hostname) or usual.hostname or ""
    port = parts.port or (usual.port if bare else None)
    netloc = (f"[{host}]" if ":" in host else host) + (f":{port}" if port else "")
    path = parts.path.rstrip("/")
    if not path or (server.url_has_no_version and not path.endswith("/v1")):
        path += "/v1"
    return f"{parts.scheme}://{netloc}{path}"


def _parts(address: str, said: str) -> SplitResult:
    try:
        parts = urlsplit(address)
        known = parts.scheme in ("http", "https") and (parts.port is None or parts.port)
    except ValueError:  # half an IPv6 address, or a port that is none
        known = False
    else:
        if parts.username or parts.password or parts.query:  # which would be told in errors
            raise UsageError(
                "the address holds a password or a query; give the key with connect(…, key=…) or in the environment"
            )
        if known:
            return parts
    raise UsageError(f"{said!r} is not an address; write https://HOST/v1")


def _at_address(name: str, environ: Mapping[str, str], patience: RetryPolicy | None) -> HttpModel:
    address, _, model = name.partition("#")
    parts = _parts(address, address)
    if not parts.hostname:
        raise UsageError(f"{name!r} is not an address; write https://HOST/v1#MODEL")
    base_url = address.rstrip("/") if parts.path.rstrip("/") else f"{parts.scheme}://{parts.netloc}/v1"
    # Scheme and all: a key that is meant for https is not sent in the clear.
    where, server = next(
        ((where, each) for where, each in SERVERS.items() if _origin(each.base_url) == _origin(address)),
        (parts.netloc, ELSEWHERE),
    )
    variable = server.key_variable or "TOOLSPEAK_API_KEY"
    endpoint = Endpoint(
        name=parts.netloc,
        base_url=base_url,
        api=server.api,
        key=_key(variable, environ),
        key_variable=variable,
        quirks=server.quirks,
        rules=server.rules,
        patience=patience or RetryPolicy(),
        vendor=where,
    )
    return HttpModel(endpoint, model or "default", best_dialect(server, model))


def _origin(address: str) -> tuple[str, str]:
    parts = urlsplit(address)
    return parts.scheme, parts.netloc.lower()


def _of_client(client: Any, model: str, key: str | None, patience: RetryPolicy | None) -> HttpModel:
    """A model behind a client of another library. The library itself is not loaded: the client tells what it knows."""
    library = _library(client)
    address = str(client.base_url).rstrip("/")
    if library == "anthropic" and not address.endswith("/v1"):
        address += "/v1"
    if getattr(client, "default_query", None):
        raise UsageError("the client adds a query to its addresses, which cannot be kept; give the address with at=…")
    # The user's own headers, the organisation, and whatever says who asks.
    headers = {
        name.lower(): value
        for name, value in {**client.auth_headers, **client.default_headers}.items()
        if isinstance(value, str) and not name.lower().startswith(NOT_THE_USERS)
    }
    if key:
        headers = {name: value for name, value in headers.items() if name not in KEY_HEADERS}
    elif not headers.keys() & KEY_HEADERS:
        raise UsageError("the client does not hold its key itself; give the key with key=…")
    server = next((each for each in SERVERS.values() if (each.base_url, each.api) == (address, library)), None)
    server = server or (SERVERS["anthropic"] if library == "anthropic" else ELSEWHERE)
    endpoint = Endpoint(
        name=library,
        base_url=address,
        api=library,
        headers=headers,
        quirks=server.quirks,
        rules=server.rules,
        patience=patience or RetryPolicy(),
    )
    return HttpModel(endpoint, model, best_dialect(server, model))


def _library(client: Any) -> Api:
    """Whose client it is, or whose a class of the user's is made from."""
    for each in cast("type[Any]", type(client)).__mro__:
        library, _, room = each.__module__.partition(".")
        if library in ("openai", "anthropic"):
            if room not in ("", "_client"):
                raise UsageError(
                    f"{each.__name__} asks its cloud in a way of its own; give an address that speaks the API of "
                    f"{library} as it is, with at=… and key=…"
                )
            return library
    raise UsageError(f"at={type(client).__name__} is no address and no openai or anthropic client")
