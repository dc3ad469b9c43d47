"""A server for every test that asks for one; it lives as long as its module's tests."""

from collections.abc import Iterator

import pytest

from .server import Server, serving


@pytest.fixture(scope="module")
def _server() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def server(_server: Server) -> Server:
    _server.plays()
    return _server
