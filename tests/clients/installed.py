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
NODE = shutil.which("node")

ENVIRONMENTS = {
    ".venv-clients": ("google-genai", "instructor", "litellm"),
    ".venv-frameworks": ("ag2", "agent-framework-openai", "agno", "openai-agents", "semantic-kernel"),
}
"""Python packages that need other versions of what the rest needs, by the environments that have them."""

NOWHERE = "http://127.0.0.1:9"  # clients that ask for updates or report usage find no proxy here
INSTALL = "`make test-clients` installs it, or says why that failed"
STAMP = ".stamp"  # is there after everything was installed

needs_node = [
    pytest.mark.skipif(NODE is None, reason="there is no Node: install Node 20 or later, for example `apt install nodejs npm`"),
    pytest.mark.skipif(not (NODE_FOLDER / STAMP).exists(), reason=f"there are no clients in Node: {INSTALL}"),
]  # fmt: skip


def find_environment(name: str) -> Path | None:
    """Return the folder of the environment that has a Python package; None if it is that of the tests."""
    found = (folder for folder, packages in ENVIRONMENTS.items() if name in packages)
    return next((HERE.parents[1] / folder for folder in found), None)


def find_program(name: str) -> str:
    """Return the path of a program of the npm packages; the test is skipped if there is none for this platform."""
    path = NODE_FOLDER / ".bin" / name
    if not path.exists():
        pytest.skip(f"{name} is not installed, or has no program for this platform: {INSTALL}")
    return str(path)


def find_version(package: str) -> str:
    """Return the version of a package, of which the first part says where it is from: `npm:ai`. Skip without it."""
    origin, _, name = package.partition(":")
    if origin == "npm":
        if not (described := NODE_FOLDER / name / "package.json").exists():
            pytest.skip(f"{name} is not installed, or has no program for this platform: {INSTALL}")
        return json.loads(described.read_text())["version"]
    environment = find_environment(name)
    if environment is None:
        return importlib.metadata.version(name)
    folders = (environment / "lib").glob("python3*/site-packages")
    return next(iter(importlib.metadata.distributions(name=name, path=[str(folder) for folder in folders]))).version


def find_interpreter(package: str) -> str:
    """Return the program that runs programs of a client: Node, the Python of the tests, or one of its own."""
    origin, _, name = package.partition(":")
    if origin == "npm":
        return NODE or "node"
    environment = find_environment(name)
    return sys.executable if environment is None else str(environment / "bin" / "python")


def find_marks(package: str) -> list[pytest.MarkDecorator]:
    """Return the marks that skip the tests of a client that is not installed."""
    origin, _, name = package.partition(":")
    if origin == "npm":
        return needs_node
    environment = find_environment(name)
    is_missing = environment is not None and not (environment / STAMP).exists()
    return [pytest.mark.skipif(is_missing, reason=f"it is not installed: {INSTALL}")]


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
