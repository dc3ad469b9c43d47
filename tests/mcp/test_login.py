"""Logins at MCP servers: an authorization server of the tests, with PKCE and refresh."""

import asyncio
import json
import socket
import stat
import urllib.error
from contextlib import aclosing, suppress
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from mcp.shared.auth import OAuthClientInformationFull
from pydantic import AnyUrl

from tests.cases import each_case
from tests.mcp.authorization import Authority, Trap, browse, serve, serve_notes
from toolspeak.mcp.config import ServerConfig, read_target
from toolspeak.mcp.login import RedirectReceiver, open_login
from toolspeak.mcp.user_servers import find_servers, log_in
from toolspeak.settings.user_files import list_logins, login_file, save_login
from toolspeak.values.errors import ServerFailed


@pytest.fixture
def authority():
    return Authority()


@pytest.fixture
def notes(authority):
    """Return the address of the MCP server."""
    with serve_notes(authority) as address:
        yield address


def find_status(url):
    """Return the HTTP status of an address that refuses."""
    with pytest.raises(urllib.error.HTTPError) as raised:
        browse(url)
    raised.value.close()
    return raised.value.code


def find_saved():
    ((identity, login),) = list_logins().items()
    return login_file(identity), login


def call(tools, **arguments):
    return asyncio.run(tools.load()["greet"](**arguments))


def test_a_run_without_a_login_says_the_command(connect, notes, authority, capfd):
    with pytest.raises(ServerFailed, match=r"HTTP 401: it needs a login: toolspeak mcp login 127\.0\.0\.1$"):
        connect(notes).load()
    assert not authority.clients  # nothing was registered, nobody was asked
    assert [config.url for config in find_servers("127.0.0.1")] == [notes]
    assert capfd.readouterr().err == ""


def test_a_login_serves_later_runs(connect, notes, authority):
    (config,) = read_target(f"mcp:{notes}")
    pages = []
    assert log_in(config, lambda url: pages.append(browse(url)))
    assert pages == ["You are logged in. You can close this page and go back to the terminal.\n"]
    assert len(authority.challenges[0]) == 43  # the hash of the verifier, which the server compared
    file, login = find_saved()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert login["tokens"]["access_token"] in authority.tokens
    assert call(connect(notes), name="Ada") == {"result": "hello Ada"}
    assert len(authority.challenges) == 1


def test_a_token_is_refreshed_by_a_program_that_starts_later(connect, notes, authority):
    (config,) = read_target(f"mcp:{notes}")
    log_in(config, browse)
    authority.tokens.clear()
    before = find_saved()[1]["tokens"]
    save_login(config.identity, {**find_saved()[1], "expires_at": 1.0})
    assert call(connect(notes), name="Ada") == {"result": "hello Ada"}
    after = find_saved()[1]["tokens"]
    assert authority.refreshed == 1
    assert before["access_token"] != after["access_token"]
    assert before["refresh_token"] != after["refresh_token"]
    assert call(connect(notes), name="Bob") == {"result": "hello Bob"}
    assert authority.refreshed == 1


def test_a_login_that_is_not_valid_any_more_is_asked_for_again(connect, notes, authority, capfd):
    (config,) = read_target(f"mcp:{notes}")
    log_in(config, browse)
    authority.tokens.clear()
    authority.refreshing.clear()
    with pytest.raises(ServerFailed, match="it needs a login: toolspeak mcp login"):
        connect(notes).load()
    assert len(authority.challenges) == 1
    assert capfd.readouterr().err == ""


def test_a_refused_login_is_an_error_in_words(notes, authority):
    authority.refuses = True
    (config,) = read_target(f"mcp:{notes}")
    with pytest.raises(ServerFailed, match="the login was refused: access_denied: not today"):
        log_in(config, browse)
    assert not list_logins()


def test_a_key_of_the_user_is_used_instead_of_a_login(connect, notes, authority):
    with pytest.raises(ServerFailed, match="HTTP 401: it needs a key, or another one"):
        connect(notes, headers={"authorization": "Bearer old"}).load()
    token = authority.give_token("somebody", notes).access_token
    assert call(connect(notes, headers={"authorization": f"Bearer {token}"}), name="Ada") == {"result": "hello Ada"}


def test_a_client_that_was_registered_by_hand(notes, authority, tmp_path, monkeypatch):
    monkeypatch.setenv("TEST_MCP_SECRET", "hush")
    oauth = {
        "clientId": "by-hand",
        "clientSecret": "${TEST_MCP_SECRET}",
        "callbackPort": find_free_port(),
        "issuer": find_issuer(notes),
    }
    authority.clients["by-hand"] = OAuthClientInformationFull(
        client_id="by-hand",
        client_secret="hush",
        redirect_uris=[AnyUrl(f"http://127.0.0.1:{oauth['callbackPort']}/callback")],
        token_endpoint_auth_method="client_secret_post",
    )
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"notes": {"url": notes, "oauth": oauth}}}))
    (config,) = find_servers("notes", file)
    assert log_in(config, browse)
    assert list(authority.clients) == ["by-hand"]
    assert "hush" not in find_saved()[0].read_text()


def find_issuer(server):
    """Return the authorization server that an MCP server names."""
    parts = urlsplit(server)
    document = json.loads(browse(f"{parts.scheme}://{parts.netloc}/.well-known/oauth-protected-resource{parts.path}"))
    return document["authorization_servers"][0]


def find_free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def test_only_the_answer_of_the_login_ends_the_waiting():
    async def receive():
        receiver = RedirectReceiver()
        async with receiver.listen(0):
            receiver.expect("right")
            waiting = asyncio.create_task(receiver.wait())
            for address in ("?state=wrong&code=1", "?code=1", "/favicon.ico"):
                assert await asyncio.to_thread(find_status, receiver.url + address) in (400, 404)
            _, idle = await asyncio.open_connection(*receiver.url.split("/")[2].split(":"))  # as browsers do
            assert not waiting.done()
            await asyncio.to_thread(browse, f"{receiver.url}?state=right&code=2")
            found = await waiting
        idle.close()
        return found

    assert asyncio.run(receive()) == {"state": "right", "code": "2"}


def test_a_token_that_is_refused_is_refreshed(connect, notes, authority):
    (config,) = read_target(f"mcp:{notes}")
    log_in(config, browse)
    authority.tokens.clear()  # and the client was told that they last an hour
    assert call(connect(notes), name="Ada") == {"result": "hello Ada"}
    assert authority.refreshed == 1


def test_a_login_of_an_earlier_version_still_serves(connect, notes, authority):
    (config,) = read_target(f"mcp:{notes}")
    log_in(config, browse)
    kept = {key: value for key, value in find_saved()[1].items() if key not in ("client_id", "address_hash")}
    save_login(config.identity, {**kept, "expires_at": 1.0})
    assert call(connect(notes), name="Ada") == {"result": "hello Ada"}
    assert authority.refreshed == 1


def test_the_name_that_comes_back_with_the_user_is_that_of_the_authorization_server(notes, authority):
    authority.issuer_sent = "https://other.example"
    (config,) = read_target(f"mcp:{notes}")
    with pytest.raises(ServerFailed, match="iss mismatch"):
        log_in(config, browse)
    assert not authority.tokens


@pytest.fixture
def trap():
    """Return an MCP server that is also an authorization server, and its address."""
    trap = Trap()
    with serve(lambda address: trap) as address:
        yield trap, address


SECRETS = ("REFRESH-SECRET", "CLIENT-SECRET", "ACCESS-SECRET")


def describe_authority(address, **changes):
    endpoints = {f"{name}_endpoint": f"{address}/{name}" for name in ("authorization", "token", "registration")}
    return {"issuer": address, **endpoints, **changes}


def test_a_run_sends_nothing_to_an_authorization_server_that_the_server_names_later(connect, trap, tmp_path):
    server, address = trap
    real = Trap()
    with serve(lambda issuer: real) as issuer:
        server.metadata = f"{address}/resource"
        server.documents = {
            "/resource": {"resource": f"{address}/mcp", "authorization_servers": [address]},
            "/.well-known/oauth-authorization-server": describe_authority(address),
        }
        file = tmp_path / "mcp.json"
        oauth = {"clientId": "mine", "clientSecret": "CLIENT-SECRET"}
        file.write_text(json.dumps({"mcpServers": {"notes": {"url": f"{address}/mcp", "oauth": oauth}}}))
        (config,) = read_target(file)
        tokens = {"access_token": "a", "token_type": "Bearer", "refresh_token": "REFRESH-SECRET", "expires_in": 3600}
        login = {
            "name": "notes",
            "url": config.url,
            "tokens": tokens,
            "authorization_server": describe_authority(issuer),
        }
        save_login(config.identity, login)
        with pytest.raises(ServerFailed, match="it needs a login: toolspeak mcp login notes"):
            connect(file).load()
    assert {each.split(" ")[1] for each in server.received} == {"/mcp"}  # it named other addresses in vain
    assert not any(secret in each for each in server.received for secret in SECRETS)
    assert {each.split(" ")[1] for each in real.received} == {"/token"}


OTHER = "http://127.0.0.1:9"
HAND_MADE = {"clientId": "mine", "clientSecret": "CLIENT-SECRET"}
PUBLIC = {"clientId": "mine"}


def refuse_page(url):
    raise AssertionError(f"the user was sent to {url}")


@each_case(
    "oauth, changes, words",
    {
        "a secret for nobody that was named": (
            {**HAND_MADE},
            {"token_endpoint": f"{OTHER}/token"},
            "may be for another",
        ),
        "a secret for another issuer": ({**HAND_MADE, "issuer": OTHER}, {}, f"its configuration names {OTHER}"),
        "another name in the metadata": ({**HAND_MADE, "issuer": OTHER}, {"issuer": OTHER}, "issuer mismatch"),
        "no metadata": ({**HAND_MADE, "issuer": "{address}"}, None, "does not say where it gives tokens"),
        "a login elsewhere": (PUBLIC, {"authorization_endpoint": f"{OTHER}/login"}, f"logins are made at {OTHER}"),
        "a registered client, a login elsewhere": (
            {},
            {"authorization_endpoint": f"{OTHER}/login"},
            f"logins are made at {OTHER}",
        ),
    },
)
def test_a_login_at_a_place_that_a_credential_is_not_for_is_refused(trap, tmp_path, oauth, changes, words):
    server, address = trap
    server.received.clear()
    server.metadata = f"{address}/resource"
    server.documents = {
        "/resource": {"resource": f"{address}/mcp", "authorization_servers": [address]},
        "/registration": {"client_id": "registered"},
    }
    if changes is not None:
        server.documents["/.well-known/oauth-authorization-server"] = describe_authority(address, **changes)
    oauth = {key: value.replace("{address}", address) for key, value in oauth.items()}
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"notes": {"url": f"{address}/mcp", "oauth": oauth}}}))
    with pytest.raises(ServerFailed, match=words):
        log_in(find_servers("notes", file)[0], refuse_page)
    assert not any(secret in each for each in server.received for secret in SECRETS)


def save_expired(config, trap_address, **more):
    tokens = {"access_token": "ACCESS-SECRET", "token_type": "Bearer", "refresh_token": "REFRESH-SECRET"}
    login = {"name": config.name, "url": config.url, "tokens": tokens, "expires_at": 1.0}
    save_login(config.identity, {**login, "authorization_server": describe_authority(trap_address), **more})


def test_a_client_of_the_user_is_not_used_where_another_client_logged_in(connect, trap, tmp_path):
    server, address = trap
    server.metadata = f"{address}/resource"
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"notes": {"url": f"{address}/mcp", "oauth": HAND_MADE}}}))
    (config,) = read_target(file)
    for more in ({"client": {"client_id": "registered"}}, {"client_id": "another"}):
        save_expired(config, address, **more)
        with pytest.raises(ServerFailed, match="it needs a login"):
            connect(file).load()
    assert server.received
    assert not any(secret in each for each in server.received for secret in SECRETS)


def test_a_token_is_for_the_address_that_the_user_logged_in_at(connect, trap, tmp_path, monkeypatch):
    server, address = trap
    server.metadata = f"{address}/resource"
    monkeypatch.setenv("TEST_MCP_ADDRESS", f"{address}/mcp")
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"notes": {"type": "http", "url": "${TEST_MCP_ADDRESS}"}}}))
    (config,) = read_target(file)
    for more in (
        {"resource": {"resource": f"{OTHER}/mcp", "authorization_servers": [OTHER]}},
        {"address_hash": "0"},
        {},
    ):
        save_expired(config, address, **more, client={"client_id": "x"})
        with pytest.raises(ServerFailed, match="it needs a login"):
            connect(file).load()
    assert server.received
    assert not any(secret in each for each in server.received for secret in SECRETS)


def test_a_redirect_takes_no_secret_to_another_origin(connect, trap):
    server, address = trap
    other = Trap()
    with serve(lambda issuer: other) as elsewhere:
        server.redirects = {"/token": f"{elsewhere}/token", "/mcp": f"{elsewhere}/mcp"}
        (config,) = read_target(f"mcp:{address}/mcp")
        save_expired(config, address, client={"client_id": "x"})
        for expires_at in (1.0, None):
            save_login(config.identity, {**find_saved()[1], "expires_at": expires_at})
            with pytest.raises(ServerFailed):
                connect(f"{address}/mcp").load()
    assert {each.split(" ")[1] for each in server.received} == {"/token", "/mcp"}
    assert not other.received


def test_a_login_at_a_server_with_https_uses_https_only():
    async def log_in_at_server():
        config = ServerConfig(name="notes", url="https://notes.example/mcp", logins=Logins(), on_login=refuse_page)
        request = httpx2.Request("POST", config.url)
        headers = {"www-authenticate": 'Bearer resource_metadata="http://169.254.169.254/latest?key=1"'}
        async with open_login(config) as login, aclosing(login.async_auth_flow(request)) as flow:
            assert await anext(flow) is request
            await flow.asend(httpx2.Response(401, headers=headers, request=request))

    with pytest.raises(
        ServerFailed, match=r"notes names http://169\.254\.169\.254/latest for its logins, which is no https"
    ):
        asyncio.run(log_in_at_server())


class Logins:
    """Keeps a login in memory."""

    def __init__(self):
        self.saved = None

    def load(self):
        return self.saved

    def save(self, login, /):
        self.saved = login


async def drive(login, request, answer):
    """Send a request as an HTTP client does, with `answer` for a network; return the addresses that were asked."""
    asked = []
    with suppress(StopAsyncIteration):
        async with aclosing(login.async_auth_flow(request)) as flow:
            outgoing = await anext(flow)
            while True:
                asked.append(str(outgoing.url))
                response = answer(outgoing)
                response.request = outgoing
                outgoing = await flow.asend(response)
    return asked


def test_after_a_login_the_server_cannot_name_another_authorization_server():
    server, real, evil = "https://notes.example/mcp", "https://real.example", "https://evil.example"
    named = real

    def answer(request):
        url = str(request.url)
        if url == server:
            return httpx2.Response(401, headers={"www-authenticate": f'Bearer resource_metadata="{named}/resource"'})
        if url == f"{named}/resource":
            return httpx2.Response(200, json={"resource": server, "authorization_servers": [named]})
        if url.endswith("/registration"):
            return httpx2.Response(201, json={"client_id": "x", "client_secret": "s"})
        if url.endswith("/token"):
            tokens = {"access_token": "a", "token_type": "Bearer", "expires_in": -1, "refresh_token": "r"}
            return httpx2.Response(200, json=tokens)
        return httpx2.Response(200, json=describe_authority(named))

    def log_in_at_page(url):
        query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        browse(f"{query['redirect_uri']}?code=c&state={query['state']}")

    async def use():
        nonlocal named
        config = ServerConfig(name="notes", url=server, logins=Logins(), on_login=log_in_at_page)
        async with open_login(config) as login:
            first = await drive(login, httpx2.Request("POST", server), answer)
            named = evil
            return first, await drive(login, httpx2.Request("GET", server), answer)

    first, later = asyncio.run(use())
    assert first[-2:] == [f"{real}/token", server]
    assert later[:2] == [f"{real}/token", server]  # the token had expired
    assert set(later) == {f"{real}/token", server}
