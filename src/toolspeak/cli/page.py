"""`toolspeak page`: serves the page to the browser of this machine, until Ctrl-C, or exports one run.

The socket is opened and the address printed before anything heavy is imported: a browser that connects early waits in
the queue of the socket for a moment.
"""

import asyncio
import os
import sys
import threading
import webbrowser
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from toolspeak.cli.http_server import listen, read_key
from toolspeak.cli.safe_text import write_output
from toolspeak.cli.server_options import PageOptions
from toolspeak.settings.files import log_path, require_folder, write_text
from toolspeak.values.errors import UsageError

if TYPE_CHECKING:
    from toolspeak.models import Model
    from toolspeak.page.document import RunDocument
    from toolspeak.page.library import RunSource
    from toolspeak.page.playground import Playground

HOST = "127.0.0.1"


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
        if options.open_browser:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        from toolspeak.page.app import page_app, run_page
        from toolspeak.page.library import RunLibrary

        library = RunLibrary(sources)
        with suppress(KeyboardInterrupt):
            run_page(page_app(library, access, start="#chat" if options.chat else ""), library, listener)


def find_sources(options: PageOptions, key: str | None = None) -> "list[RunSource]":
    """Return the places whose runs are shown: those of the options; without any, the log.

    Raises:
        UsageError: One of them cannot be used.
    """
    sources: list[RunSource] = []
    if options.target is not None:
        from toolspeak.page.record_files import RecordFiles

        sources.append(RecordFiles(options.target))
    if options.store is not None:
        from toolspeak.cli.runs import require_store
        from toolspeak.page.sources import DurableStore

        require_store(options.store)
        sources.append(DurableStore(options.store))
    if options.url is not None:
        from toolspeak.page.sources import GatewayExchanges

        if key is None:
            raise UsageError("--url needs the key of the gateway: name its environment variable with --key-env")
        sources.append(GatewayExchanges(options.url, key))
    if not sources:
        from toolspeak.page.sources import LoggedRuns

        if log_path().exists():
            sources.append(LoggedRuns(log_path()))
    if options.tools or options.models or options.chat:
        sources.append(build_playground(options.models, options.tools, options.keep, is_logged=options.chat))
    return sources


def build_playground(
    models: Sequence[str], targets: Sequence[str], folder: Path | None, *, is_logged: bool = False
) -> "Playground":
    """Build the playground, which keeps its runs in a folder: without one, in the user's data folder.

    The models of the settings and `local` are added to those given. Without targets, those of the settings count. If
    what is asked is logged, the settings can still say that there is no log.
    """
    from toolspeak.cli.agent_config import discover_configured, discover_targets
    from toolspeak.cli.trust import load_settings
    from toolspeak.page.playground import Playground, RunLog
    from toolspeak.run.model_lookup import find_model
    from toolspeak.settings.files import data_folder
    from toolspeak.settings.values import hide_password

    settings = load_settings(quiet=True)
    toolbox = discover_targets(*targets) if targets else discover_configured(settings)
    endpoints = [f"{name}:{endpoint.model}" for name, endpoint in settings.endpoints.items() if endpoint.model]
    names = {hide_password(name): name for name in dict.fromkeys((*models, settings.model, *endpoints, "local"))}

    def find(shown_name: str) -> "Model":
        return find_model(names[shown_name], configured=settings, keep_warm=True)

    log = RunLog(log_path()) if is_logged and settings.log else None
    return Playground(folder or data_folder() / "playground", [*names], find, toolbox, targets or settings.tools, log)


def write_export(target: Path | None, file: Path, hidden: Collection[str]) -> None:
    """Write the run in a file of facts as one HTML file, without the values of hidden fields, and serve nothing."""
    from toolspeak.page.export import export_run
    from toolspeak.page.record_files import RecordFiles

    if target is None or target.is_dir():
        raise UsageError("--export writes one run; name its file: toolspeak page run.jsonl --export run.html")
    require_folder(file)
    source = RecordFiles(target)

    async def read() -> "RunDocument":
        document = await source.open(source.only_id)
        await document.wait_until_read()
        return document

    document = asyncio.run(read())
    if document.failure:
        raise UsageError(f"{target}, {document.failure}")
    if not document.facts:
        raise UsageError(f"{target} has no facts; record a run with toolspeak run --record FILE")
    write_text(file, export_run(document, hidden=hidden))
    write_output(f"{file}\n")
