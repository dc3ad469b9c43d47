"""After every test of a run: nothing is left running."""

import threading
from collections.abc import Iterator

import pytest

from .playing import nothing_left


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    before = threading.enumerate()
    yield
    nothing_left(before)
