"""OAuth for MCP servers over HTTP: how a user logs in, and how requests get their tokens.

A login begins only where somebody asked for it (`ServerConfig.on_login`): a run uses the tokens that were saved, gets
new ones with the refresh token, and otherwise fails with the command that logs in. The SDK performs a login; what comes
after it is done here, because the SDK asks the server anew, at each refusal, where tokens come from. A server could
then have the refresh token and the client's secret sent to an address of its own.

Every credential is for one place:

- A login is saved with the authorization server that it was made at and with the address of the MCP server. The access
  token goes to that address only, and the refresh token to that authorization server only, whatever the MCP server says
  later.
- A client that the user registered by hand is for the `issuer` that its configuration names. Without one, its secret
  goes to the origin of the MCP server only.
- A client that registered itself is saved with the login, and is used nowhere else.

The answer of a login comes from the user's browser to an address of this machine (`RedirectReceiver`).
"""

import asyncio
import json
import shlex
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from dataclasses import replace
from hashlib import sha256
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.oauth2 import OAuthContext
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from mcp.shared.auth_utils import calculate_token_expiry
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from pydantic import AnyUrl, BaseModel, ValidationError

from toolspeak.mcp.config import LoginStore, ServerConfig
from toolspeak.values.address import hide_secrets
from toolspeak.values.errors import ServerFailed, UsageError
from toolspeak.values.escaping import escape_controls
from toolspeak.values.frozen import frozen

LOOPBACK, REDIRECT_PATH = "127.0.0.1", "/callback"
MAX_REQUEST_BYTES = 16_384
REQUEST_TIMEOUT_SECONDS = 10.0  # for a browser to send its request
MAX_REASON_CHARS = 200


class RedirectReceiver:
    """A server on the loopback interface that waits for one redirect.

    A request with another `state` than that of the login is refused, and the receiver goes on waiting: any page that
    the user has open could send one.

    Attributes:
        url: The address that the browser is sent to.
    """

    def __init__(self) -> None:
        self.url = ""
        self._state = ""
        self._answer: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def listen(self, port: int) -> AsyncGenerator[None]:
        """Accept requests at a port; 0 for any free one. Raises `UsageError` if another program has the port."""
        try:
            server = await asyncio.start_server(self._accept, LOOPBACK, port, limit=MAX_REQUEST_BYTES)
        except OSError as error:
            raise UsageError(f"the port {port} for the answer of the login cannot be used: {error.strerror}") from None
        self.url = f"http://{LOOPBACK}:{server.sockets[0].getsockname()[1]}{REDIRECT_PATH}"
        try:
            yield
        finally:
            server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            self._answer.cancel()

    def expect(self, state: str) -> None:
        """Wait for the redirect of the login that has this `state`, and for no other any more."""
        self._state = state
        self._answer.cancel()
        self._answer = asyncio.get_running_loop().create_future()

    async def wait(self) -> dict[str, str]:
        """Return the parameters of the redirect, once it has come. Raises `ServerFailed` if the login was refused."""
        answer = await asyncio.shield(self._answer)
        if "code" in answer:
            return answer
        words = ": ".join(answer[key] for key in ("error", "error_description") if answer.get(key))
        raise ServerFailed(f"the login was refused: {escape_controls(words)[:MAX_REASON_CHARS] or 'without a reason'}")

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 (a coroutine runs in a task)
        self._tasks.add(task)
        try:
            # Browsers open connections that they do not use.
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
                async with asyncio.timeout(REQUEST_TIMEOUT_SECONDS):
                    request = await reader.readuntil(b"\r\n\r\n")
                    status, text = self._answer_request(request)
                    writer.write(_write_response(status, text))
                    await writer.drain()
        finally:
            writer.close()
            self._tasks.discard(task)

    def _answer_request(self, request: bytes) -> tuple[HTTPStatus, str]:
        words = request.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
        if len(words) != 3 or words[0] != "GET":
            return HTTPStatus.BAD_REQUEST, "This address takes the answer of a login."
        target = urlsplit(words[1])
        if target.path != REDIRECT_PATH:
            return HTTPStatus.NOT_FOUND, "There is nothing here."
        answer = {name: values[0] for name, values in parse_qs(target.query).items() if len(values) == 1}
        if not self._state or answer.get("state") != self._state:
            return HTTPStatus.BAD_REQUEST, "This is not the answer of the login that is waited for."
        if not self._answer.done():
            self._answer.set_result(answer)
        said = "You are logged in." if "code" in answer else "The login was refused."
        return HTTPStatus.OK, f"{said} You can close this page and go back to the terminal."


def _write_response(status: HTTPStatus, text: str) -> bytes:
    body = f"{text}\n".encode()
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: text/plain; charset=utf-8\r\n"
        f"content-length: {len(body)}\r\ncache-control: no-store\r\nreferrer-policy: no-referrer\r\n"
        "connection: close\r\n\r\n"
    )
    return head.encode() + body


M = TypeVar("M", bound=BaseModel)


@asynccontextmanager
async def open_login(config: ServerConfig) -> AsyncGenerator[httpx2.Auth | None]:
    """Yield what gives requests to a server their tokens; None if there are none, and nobody wants to log in."""
    store = config.logins
    if store is None or has_own_key(config):
        yield None
    elif config.on_login is None:
        login = _read_login(config, store)
        yield None if login is None else _SavedLogin(config, store, login)
    else:
        receiver = RedirectReceiver()
        async with receiver.listen(config.oauth.callback_port):
            yield _NewLogin(config, store, receiver)


def has_own_key(config: ServerConfig) -> bool:
    """Whether the configuration has a key of its own, so that no login is needed."""
    return any(name.lower() == "authorization" for name in config.headers)


def ask_for_login(config: ServerConfig) -> str:
    """Note that a server needs a login, so that the command finds the server, and return that in words."""
    if config.logins is None:
        return "it needs a key, or another one"
    if config.logins.load() is None:
        with suppress(UsageError):  # the folder cannot be written
            config.logins.save({})
    return f"it needs a login: toolspeak mcp login {shlex.quote(config.name)}"


@frozen
class _Login:
    """A login as it was saved, with the places that its credentials are for.

    Attributes:
        tokens: The tokens.
        expires_at: When the access token ends, in seconds since the epoch; None if that is not known.
        client: How this program is known to the authorization server; None if that is not known any more.
        token_endpoint: Where the authorization server gives tokens.
        resource: What the MCP server said of itself when the user logged in.
        saved: All of it, as it is in the file.
    """

    tokens: OAuthToken
    expires_at: float | None
    client: OAuthClientInformationFull | None
    token_endpoint: str
    resource: ProtectedResourceMetadata | None
    saved: Mapping[str, Any]

    @property
    def has_expired(self) -> bool:
        return self.expires_at is not None and time.time() > self.expires_at


def _read_login(config: ServerConfig, store: LoginStore) -> _Login | None:
    """Return the login that was saved; None if there is none, or if it is not for this server and this client."""
    saved = store.load() or {}
    tokens = _read_model(OAuthToken, saved.get("tokens"))
    authority = _read_model(OAuthMetadata, saved.get("authorization_server"))
    resource = _read_model(ProtectedResourceMetadata, saved.get("resource"))
    registered = _read_model(OAuthClientInformationFull, saved.get("client"))
    issuer = _find_origin(config.url) if authority is None else str(authority.issuer)
    if tokens is None or not _is_for_server(config, saved, resource):
        return None
    if config.oauth.issuer and not _is_same_issuer(config.oauth.issuer, issuer):
        return None
    client = _describe_own_client(config)
    if client is None:
        client = registered
    elif registered is not None or saved.get("client_id", client.client_id) != client.client_id:
        return None  # another client logged in; what this one is trusted with is not for that authorization server
    endpoint = urljoin(config.url, "/token") if authority is None else str(authority.token_endpoint)
    return _Login(
        tokens=tokens,
        expires_at=expires_at if isinstance(expires_at := saved.get("expires_at"), int | float) else None,
        client=client,
        token_endpoint=endpoint,
        resource=resource,
        saved=saved,
    )


def _is_for_server(config: ServerConfig, saved: Mapping[str, Any], resource: ProtectedResourceMetadata | None) -> bool:
    """Whether a login was made at this address: the same configuration may name another one with `${NAME}`."""
    if "address_hash" in saved:
        return saved["address_hash"] == _hash_address(config)
    if resource is not None:  # a login that was saved without a hash
        return _find_origin(str(resource.resource)) == _find_origin(config.url)
    return saved.get("url") == config.url


def _hash_address(config: ServerConfig) -> str:
    return sha256(config.url.encode()).hexdigest()  # the address itself may hold a key


class _SavedLogin(httpx2.Auth):
    """Gives the requests to a server their tokens, and refreshes them at the authorization server of the login.

    Nothing that the MCP server answers changes where anything is sent. If it refuses a token, the token is refreshed;
    if it refuses the new one, too, the user has to log in again.
    """

    def __init__(self, config: ServerConfig, store: LoginStore, login: _Login | None) -> None:
        self._config = config
        self._store = store
        self._login = login
        self._lock = asyncio.Lock()
        self._refuses_fresh_tokens = False
        self._ended = ""  # the access token of a login that cannot be refreshed any more

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send a request with the access token, and once more with another one if the token is refused."""
        if not _is_for_origin(str(request.url), self._config.url):
            yield request
            return
        refused = ""
        for is_retry in (False, True):
            if self._needs_other_token(refused):
                async with self._lock:
                    self._login = self._load()  # another program may have refreshed it, or the user have logged in
                    if self._login is not None and self._needs_other_token(refused):
                        refresh = self._build_refresh(self._login, request)
                        answer = None if refresh is None else (yield refresh)
                        self._login = await self._take_tokens(self._login, answer)
            login = self._login
            if login is not None:
                request.headers["authorization"] = f"Bearer {login.tokens.access_token}"
            elif is_retry:
                return
            response = yield request
            if response.status_code != HTTPStatus.UNAUTHORIZED or login is None:
                return
            if is_retry or self._refuses_fresh_tokens:
                self._refuses_fresh_tokens = True
                return
            refused = login.tokens.access_token

    def _needs_other_token(self, refused: str) -> bool:
        login = self._login
        return login is None or login.has_expired or login.tokens.access_token == refused

    def _load(self) -> _Login | None:
        login = _read_login(self._config, self._store)
        return None if login is not None and login.tokens.access_token == self._ended else login

    def _build_refresh(self, login: _Login, request: httpx2.Request) -> httpx2.Request | None:
        """Build the request for new tokens; None if there is nothing to get them with."""
        if login.client is None or not login.tokens.refresh_token:
            return None
        context = OAuthContext(
            server_url=self._config.url,
            client_metadata=_describe_client(f"http://{LOOPBACK}{REDIRECT_PATH}"),
            storage=_Storage(login.client),
            redirect_handler=None,
            callback_handler=None,
            protected_resource_metadata=login.resource,
            client_info=login.client,
        )
        data = {
            "grant_type": "refresh_token",
            "refresh_token": login.tokens.refresh_token,
            "client_id": login.client.client_id,
        }
        if context.should_include_resource_param(request.headers.get(MCP_PROTOCOL_VERSION_HEADER)):
            data["resource"] = context.get_resource_url()
        data, headers = context.prepare_token_auth(data, {"content-type": "application/x-www-form-urlencoded"})
        return httpx2.Request("POST", login.token_endpoint, data=data, headers=headers)

    async def _take_tokens(self, login: _Login, answer: httpx2.Response | None) -> _Login | None:
        """Save the tokens of a refresh, and return the login with them; None if there are none."""
        tokens = None
        if answer is not None and answer.status_code == HTTPStatus.OK:
            tokens = _read_model(OAuthToken, _read_json(await answer.aread()))
        if tokens is None:
            if answer is None or answer.status_code < HTTPStatus.INTERNAL_SERVER_ERROR:
                self._ended = login.tokens.access_token
            return None
        update = {"scope": tokens.scope or login.tokens.scope}  # what an answer leaves out stays as it was
        update["refresh_token"] = tokens.refresh_token or login.tokens.refresh_token
        tokens = tokens.model_copy(update=update)
        expires_at = calculate_token_expiry(tokens.expires_in)
        saved = {**login.saved, "tokens": _write_model(tokens), "expires_at": expires_at}
        self._store.save(saved)
        return replace(login, tokens=tokens, expires_at=expires_at, saved=saved)


class _NewLogin(_SavedLogin):
    """Lets the user log in when the server asks for it, and then uses that login."""

    def __init__(self, config: ServerConfig, store: LoginStore, receiver: RedirectReceiver) -> None:
        super().__init__(config, store, None)
        self._receiver = receiver

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send a request with the access token of the login, which comes first."""
        async with AsyncExitStack() as stack:
            if self._login is None:
                await stack.enter_async_context(self._lock)
            if self._login is None:
                flow = self._build_provider().async_auth_flow(request)  # with nothing that was said at another attempt
            else:
                await stack.aclose()
                flow = super().async_auth_flow(request)
            await stack.enter_async_context(aclosing(flow))
            with suppress(StopAsyncIteration):
                outgoing = await anext(flow)
                while True:
                    self._check_address(outgoing.url)
                    outgoing = await flow.asend((yield outgoing))

    def _check_address(self, url: httpx2.URL) -> None:
        """Refuse to ask an address without https for a login at a server with https, such as one of this network."""
        if self._config.url.startswith("https:") and url.scheme != "https":
            place = hide_secrets(str(url))
            raise ServerFailed(f"the MCP server {self._config.name} names {place} for its logins, which is no https")

    def _build_provider(self) -> OAuthClientProvider:
        config, receiver = self._config, self._receiver
        provider: OAuthClientProvider | None = None

        async def show(url: str) -> None:
            assert config.on_login is not None  # noqa: S101 (else nobody could log in)
            assert provider is not None  # noqa: S101 (it is the caller)
            _check_authority(config, provider.context)
            receiver.expect(parse_qs(urlsplit(url).query)["state"][0])
            await asyncio.to_thread(config.on_login, url)  # a browser in a terminal returns when the user leaves it

        async def wait() -> AuthorizationCodeResult:
            answer = await receiver.wait()
            return AuthorizationCodeResult(code=answer["code"], state=answer["state"], iss=answer.get("iss"))

        def save(tokens: OAuthToken) -> None:
            assert provider is not None  # noqa: S101 (it is the caller)
            self._save(tokens, provider.context)

        storage = _Storage(_describe_own_client(config), save)
        provider = OAuthClientProvider(config.url, _describe_client(receiver.url), storage, show, wait)
        return provider

    def _save(self, tokens: OAuthToken, context: OAuthContext) -> None:
        client = context.client_info
        is_registered = client is not None and not self._config.oauth.client_id
        self._store.save(
            {
                "tokens": _write_model(tokens),
                "expires_at": context.token_expiry_time,
                "client": _write_model(client) if is_registered else None,
                "client_id": None if client is None else client.client_id,
                "authorization_server": _write_model(context.oauth_metadata),
                "resource": _write_model(context.protected_resource_metadata),
                "address_hash": _hash_address(self._config),
            }
        )
        self._login = _read_login(self._config, self._store)


def _check_authority(config: ServerConfig, context: OAuthContext) -> None:
    """Check where a login is about to be made, before the user is sent there.

    The SDK has checked that the authorization server describes itself under its own name, and that the resource is the
    MCP server; it checks the name that comes back with the user (RFC 9207).

    Raises:
        ServerFailed: A credential would go to a place that it is not for.
    """
    authority, client = context.oauth_metadata, config.oauth
    own = _find_origin(config.url)
    issuer = context.auth_server_url or own if authority is None else str(authority.issuer)
    where = f"the MCP server {config.name} names the authorization server {escape_controls(issuer)}"
    if client.issuer and not _is_same_issuer(client.issuer, issuer):
        raise ServerFailed(f"{where}, and its configuration names {client.issuer}; nothing was sent there")
    if authority is None:
        if context.auth_server_url is not None:  # the SDK would ask the MCP server itself for tokens
            raise ServerFailed(f"{where}, which does not say where it gives tokens; nothing was sent there")
        return
    places = [issuer, str(authority.token_endpoint), str(authority.authorization_endpoint)]
    issued, token, page = map(_find_origin, places)
    if own.startswith("https:") and not all(place.startswith("https:") for place in places):
        raise ServerFailed(f"{where}, which does not use https; nothing was sent there")
    if client.issuer:
        return
    cure = f'if that is right, add "issuer": {json.dumps(issuer)} to "oauth" of the server in its mcp.json'
    if client.client_secret and {issued, token} != {own}:
        raise ServerFailed(f"{where}, and your client secret may be for another one; {cure}")
    if page not in (issued, token) and not authority.authorization_response_iss_parameter_supported:
        # The login would be made at one authorization server, and its code be sent to another one.
        raise ServerFailed(f"{where}, whose logins are made at {page}, and whose tokens come from {token}; {cure}")


class _Storage:
    """What the SDK asks for credentials: it gets the client that the user registered, and hands over new tokens."""

    def __init__(
        self, client: OAuthClientInformationFull | None, on_tokens: Callable[[OAuthToken], None] | None = None
    ) -> None:
        self._client = client
        self._on_tokens = on_tokens

    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        if self._on_tokens is not None:
            self._on_tokens(tokens)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Do nothing: the registration is saved with the first tokens, and is of no use without them."""


def _describe_own_client(config: ServerConfig) -> OAuthClientInformationFull | None:
    """Return the client that the user registered by hand; None if the program registers itself."""
    client = config.oauth
    if not client.client_id:
        return None
    return OAuthClientInformationFull(
        client_id=client.client_id,
        client_secret=client.client_secret or None,
        token_endpoint_auth_method="client_secret_post" if client.client_secret else "none",
        redirect_uris=None,
    )


def _describe_client(redirect: str) -> OAuthClientMetadata:
    return OAuthClientMetadata(client_name="toolspeak", redirect_uris=[AnyUrl(redirect)])


def _is_same_issuer(one: str, other: str) -> bool:
    """Whether two names mean the same authorization server; a slash at the end of an origin is none of the name."""
    return one == other or one.rstrip("/") == other.rstrip("/") == _find_origin(one)


def _is_for_origin(url: str, server: str) -> bool:
    """Whether an address is at the origin of a server, or at the same one with https instead of http."""
    origin, own = _find_origin(url), _find_origin(server)
    is_safer = own.startswith("http://") and origin == f"https://{own.removeprefix('http://')}"
    return origin == own or (is_safer and httpx2.URL(server).port is None)


def _find_origin(url: str) -> str:
    parts = httpx2.URL(url)
    return f"{parts.scheme}://{parts.netloc.decode('ascii')}"


def _write_model(model: BaseModel | None) -> dict[str, Any] | None:
    return None if model is None else model.model_dump(mode="json", exclude_none=True)


def _read_model(kind: type[M], data: object) -> M | None:
    try:
        return None if data is None else kind.model_validate(data)
    except ValidationError:  # it was saved by another version, or edited
        return None


def _read_json(content: bytes) -> object:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None
