"""User programs under two type checkers, both strict: `programs/` and `examples/` pass, `wrong/` fails where it says so.

A line of a wrong program that ends with `# error:` must be reported by both checkers, and no other line may be. The
right programs are also run: what their types promise holds.
"""

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
RIGHT = sorted((HERE / "programs").glob("*.py"))
WRONG = sorted((HERE / "wrong").glob("*.py"))
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
FILES = [*RIGHT, *WRONG, *EXAMPLES]

Place = tuple[str, int]
"""A file and a line."""


def run(*command: str) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1000, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


def basedpyright(folder: Path) -> dict[Place, str]:
    """Check all files; the message for each line that has an error."""
    settings = {
        "include": [str(path) for path in FILES],
        "typeCheckingMode": "strict",
        "pythonVersion": "3.11",
        "extraPaths": [str(ROOT / "src")],
        "reportUnusedExpression": False,  # a wrong program reads a field that is not there, and does nothing with it
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = ("basedpyright", "--project", str(folder), "--pythonpath", sys.executable, "--outputjson")
    report = json.loads(run(sys.executable, "-m", *command))
    assert report["summary"]["filesAnalyzed"] == len(FILES)
    found = [each for each in report["generalDiagnostics"] if each["severity"] == "error"]
    return {
        (str(Path(each["file"]).relative_to(ROOT)), each["range"]["start"]["line"] + 1): each["message"]
        for each in found
    }


def mypy(folder: Path) -> dict[Place, str]:
    """Check all files; the message for each line that has an error."""
    settings = [
        "[mypy]",
        "strict = True",
        "python_version = 3.11",
        f"mypy_path = {ROOT / 'src'}",
        "explicit_package_bases = True",  # files of one name in several folders are several modules
        "follow_imports = silent",  # the package itself is checked by basedpyright alone
        f"cache_dir = {folder / 'cache'}",
    ]
    (folder / "mypy.ini").write_text("\n".join(settings))
    command = ("mypy", "--config-file", str(folder / "mypy.ini"), "--no-error-summary")
    report = run(sys.executable, "-m", *command, *(str(path.relative_to(ROOT)) for path in FILES))
    matches = (re.match(r"(\S+?):(\d+): error: (.*)", line) for line in report.splitlines())
    return {(match[1], int(match[2])): match[3] for match in matches if match}


def expected() -> set[Place]:
    return {
        (str(path.relative_to(ROOT)), number)
        for path in WRONG
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if line.endswith("# error:")
    }


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("checker", [basedpyright, mypy], ids=lambda checker: checker.__name__)
def test_the_programs_of_users_have_the_types_that_they_say(checker, tmp_path: Path):
    found = checker(tmp_path)
    surprising = {place: message for place, message in found.items() if place not in expected()}
    assert surprising == {}
    assert expected() - found.keys() == set()


@pytest.mark.parametrize("program", RIGHT, ids=lambda path: path.stem)
def test_what_the_types_of_a_program_say_is_true(program: Path):
    runpy.run_path(str(program), run_name="__main__")
