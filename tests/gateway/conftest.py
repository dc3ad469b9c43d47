"""A gateway in front of a model that knows no tools."""

from collections.abc import Iterator

import pytest

from toolspeak.dialects import TYPESCRIPT

from .conversing import scripted
from .hosting import gateway, serve_model


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Where the model is served that speaks TypeScript."""
    with gateway(serve_model(scripted(), TYPESCRIPT)) as address:
        yield address
