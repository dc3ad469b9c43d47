"""The environments of the peers, `.venvs/NAME`, each made from `peers/NAME.txt` when it is first needed."""

import re
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PEERS = ROOT / "bench" / "peers"
VENVS = ROOT / "bench" / ".venvs"

PACKAGES = {
    "toolspeak": ("toolspeak", "pydantic", "aiohttp"),
    "pydantic-ai": ("pydantic-ai-slim", "openai"),
    "langchain": ("langchain", "langchain-core", "langchain-openai", "openai"),
    "strands": ("strands-agents",),
}
"""The packages whose versions are reported, where it is not the one package that the environment is named for."""

PRINT_VERSIONS = "import sys; from importlib.metadata import version; print(*map(version, sys.argv[1:]))"


def prepare(names: Iterable[str]) -> None:
    """Make the environments of these peers, unless they exist and are up to date."""
    for name in sorted(names):
        requirements = PEERS / f"{name}.txt"
        sources = [requirements, ROOT / "constraints.txt"]
        if name == "toolspeak":
            sources.append(ROOT / "pyproject.toml")
        wanted = "\n".join([sys.version, *(source.read_text() for source in sources)])
        stamp = VENVS / name / "stamp"
        if stamp.is_file() and stamp.read_text() == wanted:
            continue
        print(f"installing {name} …", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", VENVS / name], check=True)
        shared = VENVS / name / "constraints.txt"
        shared.write_text(select_constraints(requirements.read_text()))
        pip = [python_of(name), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "-c", shared, "-r", requirements], cwd=ROOT, check=True)
        stamp.write_text(wanted)


def select_constraints(requirements: str) -> str:
    """Return our constraints, so that every peer is measured with the same pydantic, but for its own pins."""
    own = {normalize_name(line) for line in requirements.splitlines() if "==" in line}
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return "".join(f"{line}\n" for line in lines if normalize_name(line) not in own)


def normalize_name(pin: str) -> str:
    """Return the name of a pinned package in the one form that counts: `PyYAML==6` is `pyyaml`."""
    return re.sub(r"[-_.]+", "-", re.split(r"[=\[]", pin)[0]).lower()


def python_of(name: str) -> Path:
    """Return the interpreter of a peer's environment."""
    return VENVS / name / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def versions_of(names: Iterable[str]) -> dict[str, str]:
    """Return the versions of the packages that are measured in these environments."""
    found: dict[str, str] = {}
    for name in names:
        packages = PACKAGES.get(name, (name,))
        command = [python_of(name), "-I", "-c", PRINT_VERSIONS, *packages]
        printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
        found |= zip(packages, printed.split(), strict=True)
    return found


def versions_here(*packages: str) -> dict[str, str]:
    """Return the versions of packages in the environment of this process."""
    return {package: version(package) for package in packages}
