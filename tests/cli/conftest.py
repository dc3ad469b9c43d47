"""A scripted model behind a real HTTP endpoint, and a folder with functions."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.models.server import Server, serving

TOOLS = '''
import time

from toolspeak import tool

TEMPERATURES = {"Oslo": -3.5, "Paris": 11.0}


def weather(city: str, unit: str = "celsius") -> dict:
    """Get the weather.

    Args:
        city: Where.
    """
    print("asking the sky")
    return {"city": city, "temperature": TEMPERATURES[city]}


@tool(approve=True)
def launch(rocket: str, plan: str = "") -> str:
    """Launch a rocket."""
    return f"{rocket} is flying"


def wait(seconds: float) -> str:
    """Wait."""
    time.sleep(seconds)
    return "waited"


def escape() -> str:
    """Return control characters of a terminal."""
    return "\\x1b[2J\\x1b[31mred\\x07 \\u202eright to left"
'''


@pytest.fixture(scope="module")
def _server() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def server(_server: Server) -> Server:
    _server.plays()
    return _server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sky.py").write_text(TOOLS)
    return tmp_path
