"""OAuth for MCP servers over HTTP, as the SDK does it: how a user logs in, and how requests get their tokens.

A login begins only where somebody asked for it (`ServerConfig.on_login`): a run uses the tokens that were saved, gets
new ones with the refresh token, and otherwise fails with the command that logs in. The SDK keeps no more than tokens
and the registration of the client. The time at which a token ends and the addresses of the authorization server are
saved here besides: without them a program that was started later could not refresh its tokens. The answer of a login
comes from the user's browser to an address of this machine (`RedirectReceiver`).
"""

import asyncio
import shlex
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, BaseModel, ValidationError

from toolspeak.mcp.config import LoginStore, ServerConfig
from toolspeak.mcp.failure import ServerFailure
from toolspeak.values.errors import ServerFailed, UsageError
from toolspeak.values.escaping import escape_controls

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
        answer = {name: values[0] for name, values in parse_qs(target.query).items()}
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
async def open_login(config: ServerConfig, failure: ServerFailure) -> AsyncGenerator[httpx2.Auth | None]:
    """Yield what gives requests to a server their tokens; None if there are none, and nobody wants to log in."""
    store = config.logins
    if store is None or has_own_key(config):
        yield None
    elif config.on_login is None:
        saved = store.load() or {}
        yield _SavedLogin(config, store, saved, failure) if saved.get("tokens") else None
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


class _Tokens:
    """Saves the tokens of a provider, with what a later one needs to refresh them. The SDK calls the four methods."""

    def __init__(self, config: ServerConfig, store: LoginStore, saved: Mapping[str, Any]) -> None:
        self._config = config
        self._store = store
        self._saved = saved
        self.provider: OAuthClientProvider | None = None

    async def get_tokens(self) -> OAuthToken | None:
        saved = self._store.load() if self._saved else None  # another process may have refreshed them
        if saved is None:
            return None
        if self.provider is not None:
            context = self.provider.context
            context.token_expiry_time = saved.get("expires_at")
            context.oauth_metadata = _read_model(OAuthMetadata, saved.get("authorization_server"))
            context.protected_resource_metadata = _read_model(ProtectedResourceMetadata, saved.get("resource"))
        return _read_model(OAuthToken, saved.get("tokens"))

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        if (client := self._config.oauth).client_id:
            method = "client_secret_post" if client.client_secret else "none"
            return OAuthClientInformationFull(
                client_id=client.client_id,
                client_secret=client.client_secret or None,
                token_endpoint_auth_method=method,
                redirect_uris=None,
            )
        return _read_model(OAuthClientInformationFull, self._saved.get("client"))

    async def set_tokens(self, tokens: OAuthToken) -> None:
        assert self.provider is not None  # noqa: S101 (it is the caller)
        context = self.provider.context
        is_registered = context.client_info is not None and not self._config.oauth.client_id
        self._saved = {
            "tokens": _write_model(tokens),
            "expires_at": context.token_expiry_time,
            "client": _write_model(context.client_info) if is_registered else None,
            "authorization_server": _write_model(context.oauth_metadata),
            "resource": _write_model(context.protected_resource_metadata),
        }
        self._store.save(self._saved)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Do nothing: the registration is saved with the first tokens, and is of no use without them."""


class _SavedLogin(OAuthClientProvider):
    """Gives requests the tokens that were saved, and refreshes them."""

    def __init__(
        self, config: ServerConfig, store: LoginStore, saved: Mapping[str, Any], failure: ServerFailure
    ) -> None:
        tokens = _Tokens(config, store, saved)

        async def refuse(url: str) -> None:
            failure.reason = ask_for_login(config)
            raise ServerFailed(f"the MCP server {config.name} gave no answer: {failure.reason}")

        metadata = _describe_client(f"http://{LOOPBACK}{REDIRECT_PATH}")
        super().__init__(config.url, metadata, tokens, redirect_handler=refuse, callback_handler=_never)
        tokens.provider = self


class _NewLogin(OAuthClientProvider):
    """Registers this program, and lets the user log in."""

    def __init__(self, config: ServerConfig, store: LoginStore, receiver: RedirectReceiver) -> None:
        tokens = _Tokens(config, store, {})

        async def show(url: str) -> None:
            assert config.on_login is not None  # noqa: S101 (else nobody could log in)
            receiver.expect(parse_qs(urlsplit(url).query)["state"][0])
            await asyncio.to_thread(config.on_login, url)  # a browser in a terminal returns when the user leaves it

        async def wait() -> AuthorizationCodeResult:
            answer = await receiver.wait()
            return AuthorizationCodeResult(code=answer["code"], state=answer["state"], iss=answer.get("iss"))

        super().__init__(config.url, _describe_client(receiver.url), tokens, show, wait)
        tokens.provider = self


async def _never() -> AuthorizationCodeResult:
    raise AssertionError("the login was refused before")


def _describe_client(redirect: str) -> OAuthClientMetadata:
    return OAuthClientMetadata(client_name="toolspeak", redirect_uris=[AnyUrl(redirect)])


def _write_model(model: BaseModel | None) -> dict[str, Any] | None:
    return None if model is None else model.model_dump(mode="json", exclude_none=True)


def _read_model(kind: type[M], data: object) -> M | None:
    try:
        return None if data is None else kind.model_validate(data)
    except ValidationError:  # it was saved by another version, or edited
        return None
