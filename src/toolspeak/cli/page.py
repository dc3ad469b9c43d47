"""`toolspeak page`: serves the page to the browser of this machine, until Ctrl-C.

The socket is opened and the address printed before anything heavy is imported: a browser that connects early waits in
the queue of the socket for a moment.
"""

import os
import sys
import threading
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from toolspeak._frozen import frozen
from toolspeak.cli.http_server import listen, read_key
from toolspeak.cli.safe_text import write_output
from toolspeak.errors import UsageError

if TYPE_CHECKING:
    from toolspeak.page.sources.source import RunSource

HOST = "127.0.0.1"


@frozen
class PageOptions:
    """The options of `toolspeak page`.

    Attributes:
        target: A file of facts, or a folder of such files.
        store: The store of durable runs.
        url: The address of a gateway that is watched.
        key_env: The environment variable with the key of the gateway.
        tools: Where the tools of the playground are.
        models: The models of the playground, beside those of the settings.
        keep: The folder that keeps the runs of the playground.
        port: The port to listen on; 0 for any free one.
        opens_browser: Whether the browser is opened.
    """

    target: Path | None = None
    store: str | None = None
    url: str | None = None
    key_env: str | None = None
    tools: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    keep: Path | None = None
    port: int = 0
    opens_browser: bool = True


def show_page(options: PageOptions) -> None:
    """Serve the page until Ctrl-C."""
    key = read_key(options.key_env, os.environ)
    sources = find_sources(options, key)
    from toolspeak.page.access import PageAccess

    with listen(HOST, options.port) as listener:
        port = listener.getsockname()[1]
        access = PageAccess(port)
        address = f"http://{HOST}:{port}/open?token={access.token}"
        write_output(f"{address}\nThe address opens the page once, on this machine; Ctrl-C stops it\n")
        sys.stdout.flush()
        if options.opens_browser:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        from toolspeak.page.app import page_app
        from toolspeak.page.library import RunLibrary
        from toolspeak.page.server import run_page

        library = RunLibrary(sources)
        with suppress(KeyboardInterrupt):
            run_page(page_app(library, access), library, listener)


def find_sources(options: PageOptions, key: str | None = None) -> "list[RunSource]":
    """Return the places whose runs are shown: those of the options; without any, the log.

    Raises:
        UsageError: One of them cannot be used.
    """
    sources: list[RunSource] = []
    if options.target is not None:
        from toolspeak.page.sources.record_files import RecordFiles

        sources.append(RecordFiles(options.target))
    if options.store is not None:
        from toolspeak.cli.stores import require_store
        from toolspeak.page.sources.durable_store import DurableStore

        require_store(options.store)
        sources.append(DurableStore(options.store))
    if options.url is not None:
        from toolspeak.page.sources.gateway_exchanges import GatewayExchanges

        if key is None:
            raise UsageError("--url needs the key of the gateway: name its environment variable with --key-env")
        sources.append(GatewayExchanges(options.url, key))
    if not sources:
        from toolspeak.cli.user_files import log_path
        from toolspeak.page.sources.logged_runs import LoggedRuns

        if log_path().exists():
            sources.append(LoggedRuns(log_path()))
    if options.tools or options.models:
        from toolspeak.cli.page_playground import build_playground

        sources.append(build_playground(options.models, options.tools, options.keep))
    return sources
