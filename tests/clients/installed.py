"""Where `make test-clients` installed the clients, and how they are run: in a home of their own, without a network."""

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
NODE_FOLDER = HERE / "node_modules"
PYTHON = HERE.parents[1] / ".venv-clients" / "bin" / "python"
NODE = shutil.which("node")

OUTSIDERS = ("google-genai", "instructor", "litellm")
"""Python packages that need other versions of what the rest needs, and so have an environment of their own."""

NOWHERE = "http://127.0.0.1:9"  # clients that ask for updates or report usage find no proxy here
INSTALL = "`make test-clients` installs it, or says why that failed"
STAMP = ".stamp"  # is there after everything was installed

needs_node = [
    pytest.mark.skipif(NODE is None, reason="there is no Node: install Node 20 or later, for example `apt install nodejs npm`"),
    pytest.mark.skipif(not (NODE_FOLDER / STAMP).exists(), reason=f"there are no clients in Node: {INSTALL}"),
]  # fmt: skip
needs_python = pytest.mark.skipif(not (PYTHON.parents[1] / STAMP).exists(), reason=f"it is not installed: {INSTALL}")


def find_program(name: str) -> str:
    """Return the path of a program of the npm packages; the test is skipped if there is none for this platform."""
    path = NODE_FOLDER / ".bin" / name
    if not path.exists():
        pytest.skip(f"{name} is not installed, or has no program for this platform: {INSTALL}")
    return str(path)


def find_version(package: str) -> str:
    """Return the version of an installed package, of which the first part says where it is from: `npm:ai`."""
    origin, _, name = package.partition(":")
    if origin == "npm":
        return json.loads((NODE_FOLDER / name / "package.json").read_text())["version"]
    if name not in OUTSIDERS:
        return importlib.metadata.version(name)
    folders = (PYTHON.parents[1] / "lib").glob("python3*/site-packages")
    return next(iter(importlib.metadata.distributions(name=name, path=[str(folder) for folder in folders]))).version


def find_interpreter(package: str) -> str:
    """Return the program that runs programs of a client: Node, the Python of the tests, or that of `.venv-clients`."""
    origin, _, name = package.partition(":")
    return (NODE or "node") if origin == "npm" else str(PYTHON) if name in OUTSIDERS else sys.executable


def find_marks(package: str) -> list[pytest.MarkDecorator]:
    """Return the marks that skip the tests of a client that is not installed."""
    origin, _, name = package.partition(":")
    return needs_node if origin == "npm" else [needs_python] if name in OUTSIDERS else []


def run_program(
    command: list[str], home: Path, work: Path, environment: dict[str, str], seconds: float
) -> subprocess.CompletedProcess[str]:
    """Run a client to its end. It has a home of its own, no keys, and reaches the loopback only."""
    clean = {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "TMPDIR": str(home),
        "LANG": "C.UTF-8",
        "NO_PROXY": "127.0.0.1,localhost",
        **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), NOWHERE),
    }
    return subprocess.run(
        command,
        cwd=work,
        env=clean | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
