"""An MCP server that wants tokens, and the authorization server that gives them, each on a port of its own."""

import secrets
import socket
import threading
import time
import urllib.request
from contextlib import contextmanager
from functools import partial
from urllib.parse import urlencode

import uvicorn
from mcp.server.auth.provider import AccessToken, AuthorizationCode, RefreshToken
from mcp.server.auth.routes import create_auth_routes
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthToken
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

TOKEN_SECONDS = 3600


class Authority:
    """Gives tokens to every registered client; the methods are those that the SDK asks for.

    Attributes:
        lifetime: Seconds that a token is said to be valid.
        refuses: Whether users refuse to log in.
        challenges: The challenges of the logins.
        refreshed: How often a token was refreshed.
        issuer_sent: The name of itself that it sends back with the user; empty if it sends none.
    """

    def __init__(self):
        self.clients, self.codes, self.tokens, self.refreshing = {}, {}, {}, {}
        self.lifetime = TOKEN_SECONDS
        self.refuses = False
        self.challenges = []
        self.refreshed = 0
        self.issuer_sent = ""

    async def get_client(self, client_id):
        return self.clients.get(client_id)

    async def register_client(self, client_info):
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client, params):
        self.challenges.append(params.code_challenge)
        if self.refuses:
            answer = {"error": "access_denied", "error_description": "not today", "state": params.state}
            return f"{params.redirect_uri}?{urlencode(answer)}"
        code = AuthorizationCode(
            code=secrets.token_urlsafe(),
            scopes=[],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=True,
            resource=params.resource,
        )
        self.codes[code.code] = code
        answer = {"code": code.code, "state": params.state}
        if self.issuer_sent:
            answer["iss"] = self.issuer_sent
        return f"{params.redirect_uri}?{urlencode(answer)}"

    async def load_authorization_code(self, client, authorization_code):
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client, authorization_code):
        del self.codes[authorization_code.code]
        return self.give_token(client.client_id, authorization_code.resource)

    async def load_refresh_token(self, client, refresh_token):
        return self.refreshing.get(refresh_token)

    async def exchange_refresh_token(self, client, refresh_token, scopes):
        del self.refreshing[refresh_token.token]
        self.refreshed += 1
        return self.give_token(client.client_id, refresh_token.resource)

    async def load_access_token(self, token):
        return self.tokens.get(token)

    def give_token(self, client_id, resource):
        access, refresh = secrets.token_urlsafe(), secrets.token_urlsafe()
        self.tokens[access] = AccessToken(token=access, client_id=client_id, scopes=[], resource=resource)
        self.refreshing[refresh] = RefreshToken(token=refresh, client_id=client_id, scopes=[], resource=resource)
        return OAuthToken(access_token=access, refresh_token=refresh, expires_in=self.lifetime)


@contextmanager
def serve(build):
    """Serve the app that `build` returns for its address, and yield the address."""
    listener = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    server = uvicorn.Server(uvicorn.Config(build(address), log_level="critical", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield address
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


def build_server(authority, issuer, address):
    """Return the app of an MCP server that takes the tokens of an authority."""
    settings = AuthSettings(
        issuer_url=AnyHttpUrl(issuer), resource_server_url=AnyHttpUrl(f"{address}/mcp"), validate_token_resource=True
    )
    server = MCPServer("notes", auth=settings, token_verifier=Verifier(authority))

    @server.tool()
    def greet(name: str) -> str:
        "Greet somebody."
        return f"hello {name}"

    return server.streamable_http_app()


class Verifier:
    def __init__(self, authority):
        self._authority = authority

    async def verify_token(self, token):
        return await self._authority.load_access_token(token)


def build_authority(authority, address):
    options = ClientRegistrationOptions(enabled=True)
    return Starlette(routes=create_auth_routes(authority, AnyHttpUrl(address), client_registration_options=options))


@contextmanager
def serve_notes(authority):
    """Serve both, and yield the address of the MCP server."""
    with (
        serve(partial(build_authority, authority)) as issuer,
        serve(partial(build_server, authority, issuer)) as address,
    ):
        yield f"{address}/mcp"


class Trap:
    """A server that gives out whatever it is made to, and keeps what it was sent.

    Attributes:
        documents: What it answers, by path; other paths are not found.
        redirects: Where it sends whoever asks for a path.
        metadata: The address that it names to whoever has no token, for the metadata of the resource.
        received: The method, the path, the headers and the body of each request, as text.
    """

    def __init__(self):
        self.documents, self.redirects, self.metadata, self.received = {}, {}, "", []

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        body = await request.body()
        self.received.append(f"{request.method} {request.url.path} {dict(request.headers)} {body.decode()}")
        if request.url.path in self.documents:
            response = JSONResponse(self.documents[request.url.path])
        elif request.url.path in self.redirects:
            response = Response(status_code=307, headers={"location": self.redirects[request.url.path]})
        elif request.url.path == "/mcp" and self.metadata:
            response = Response(
                status_code=401, headers={"www-authenticate": f'Bearer resource_metadata="{self.metadata}"'}
            )
        else:
            response = Response(status_code=404)
        await response(scope, receive, send)


def browse(url):
    """Do what a browser does that shows an address: follow the redirects, and return the page."""
    with urllib.request.urlopen(url, timeout=20) as response:
        return response.read().decode()
