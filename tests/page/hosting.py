"""Serves the page over real HTTP on the loopback, in a thread."""

import asyncio
import http.client
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import BrowserContext

from toolspeak.cli.http_server import listen
from toolspeak.page.access import PageAccess
from toolspeak.page.app import build_page_server, page_app, serve_page
from toolspeak.page.library import RunLibrary, RunSource

open_contexts: set[BrowserContext] = set()
"""Browser profiles that are closed before a page is stopped: its tabs ask for the list of runs every few seconds, and
complain if nobody answers."""


@dataclass
class Answer:
    """An answer of the server."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass
class HostedPage:
    """A page that is served."""

    port: int
    access: PageAccess
    policy_reports: list[str]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def opening_url(self) -> str:
        return f"{self.url}/open?token={self.access.token}"

    @property
    def own_headers(self) -> dict[str, str]:
        """The headers of the page's own requests."""
        cookie = self.access.cookie.partition(";")[0]
        return {"host": f"127.0.0.1:{self.port}", "cookie": cookie, "origin": self.url}

    def give_cookie(self, context: BrowserContext) -> None:
        """Let a browser in without the address that counts once."""
        name, _, value = self.own_headers["cookie"].partition("=")
        context.add_cookies([{"name": name, "value": value, "url": self.url}])

    def ask(
        self, path: str, *, method: str = "GET", headers: Mapping[str, str] | None = None, body: Any = None
    ) -> Answer:
        """Send a request with just these headers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in (headers if headers is not None else self.own_headers).items():
                connection.putheader(name, value)
            if body is not None:
                connection.putheader("content-length", str(len(body)))
            connection.endheaders(body)
            response = connection.getresponse()
            return Answer(response.status, dict(response.getheaders()), response.read())
        finally:
            connection.close()


@contextmanager
def hosted_page(*sources: RunSource, further_routes: Sequence[Any] = ()) -> Generator[HostedPage]:
    """Serve these sources."""
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        access = PageAccess(port)
        library = RunLibrary(sources)
        app = page_app(library, access, further_routes)
        server = build_page_server(app)
        thread = threading.Thread(target=lambda: asyncio.run(serve_page(server, library, listener)), daemon=True)
        thread.start()
        try:
            yield HostedPage(port, access, app.state.policy_reports)
        finally:
            while open_contexts:
                open_contexts.pop().close()
            server.should_exit = True
            thread.join(60)
