"""The programs of README and the guides pass basedpyright and mypy in strict mode."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages import PAGES, ROOT, read_programs


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with each program as a module; a line has the number that it has in its page."""
    folder = tmp_path_factory.mktemp("pages")
    for page in PAGES:
        for program in read_programs(page):
            name = re.sub(r"\W+", "_", program.name.removeprefix("docs/").replace(".md", ""))
            (folder / f"{name}.py").write_text(program.source, encoding="utf-8")
    return folder


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_basedpyright_accepts_all_programs(folder: Path):
    options = {
        "include": ["."],
        "typeCheckingMode": "strict",
        "pythonVersion": "3.11",
        "extraPaths": [str(ROOT / "src")],
        "reportUnusedExpression": False,  # an expression that stands alone shows its value
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(options), encoding="utf-8")
    check([sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable], folder)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_mypy_accepts_all_programs(folder: Path):
    # The package itself is checked with basedpyright; here its types are only used, as if it were installed.
    options = ["--strict", "--python-version", "3.11", "--follow-imports", "silent", "--cache-dir", "/dev/null"]
    check([sys.executable, "-m", "mypy", *options, "."], folder)


def check(command: list[str], folder: Path) -> None:
    environment = {"PATH": "/usr/bin:/bin", "MYPYPATH": str(ROOT / "src"), "HOME": str(folder)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
