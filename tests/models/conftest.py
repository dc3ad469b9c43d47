"""A server for every test that asks for one; it lives as long as its module's tests."""

from collections.abc import Iterator

import pytest

from toolspeak.models import abilities

from .server import Server, serving


@pytest.fixture(autouse=True)
def _time_to_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may take longer to say what a model can do than a run waits for it."""
    monkeypatch.setattr(abilities, "MAX_ASKING_SECONDS", 30.0)


@pytest.fixture(scope="module")
def _server() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def server(_server: Server) -> Server:
    _server.plays()
    return _server
