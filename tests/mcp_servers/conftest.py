"""Where `make test-mcp` installed the servers; after each test, no thread and no child process is left."""

import shutil
from pathlib import Path

import pytest

from tests.mcp.conftest import connect, nothing_left

__all__ = ["connect", "nothing_left"]

NODE_FOLDER = Path(__file__).parent / "node_modules" / ".bin"
PYTHON_FOLDER = Path(__file__).parents[2] / ".venv-mcp-servers" / "bin"


def find_server(name):
    """Return the path of a server's program; the test is skipped if it is not installed."""
    for folder in (NODE_FOLDER, PYTHON_FOLDER):
        if (folder / name).exists():
            if folder == NODE_FOLDER and shutil.which("node") is None:
                pytest.skip("there is no Node: install Node 20 or later, for example `apt install nodejs npm`")
            return str(folder / name)
    pytest.skip(f"{name} is not installed: `make test-mcp` installs it, or says why that failed")


@pytest.fixture
def folder(tmp_path):
    """Return a folder with a file and an empty repository of git, for the servers."""
    path = tmp_path / "data"
    path.mkdir()
    (path / "note.txt").write_text("remember the milk")
    return path


@pytest.fixture
def filesystem(folder):
    return [find_server("mcp-server-filesystem"), str(folder)]


@pytest.fixture
def everything():
    return [find_server("mcp-server-everything"), "stdio"]


@pytest.fixture
def git(folder):
    return [find_server("mcp-server-git"), "--repository", str(folder)]


@pytest.fixture
def clock():
    return [find_server("mcp-server-time"), "--local-timezone", "UTC"]
