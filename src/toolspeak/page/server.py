"""Serves the page on the loopback until it is stopped."""

import asyncio
import gc
import socket

import uvicorn
from starlette.applications import Starlette

from toolspeak.page.library import RunLibrary


def build_page_server(app: Starlette) -> uvicorn.Server:
    """Return a server for the page, not yet running."""
    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        lifespan="off",
        access_log=False,
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    return uvicorn.Server(config)


def run_page(app: Starlette, library: RunLibrary, listener: socket.socket) -> None:
    """Serve until Ctrl-C or SIGTERM, and close the sources. The process is taken to do nothing else."""
    gc.set_threshold(100_000, 20, 20)  # a run is many objects that stay; the default makes reading a third slower
    asyncio.run(serve_page(build_page_server(app), library, listener))


async def serve_page(server: uvicorn.Server, library: RunLibrary, listener: socket.socket) -> None:
    """Serve until the server is told to exit, and close the sources."""
    try:
        await server.serve(sockets=[listener])
    finally:
        await library.close()
