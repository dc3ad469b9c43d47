"""Every attack in `attacks.toml` is stopped: in both modes, as the user who runs the tests and as another user."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.cases import sample
from tests.execution.sandbox.attacks import ATTACKS, FAMILIES, IN_ENVIRONMENT, SECRET, run_attack
from toolspeak.execution.sandbox import Confinement, detect_confinement, has_monty

ROOT = Path(__file__).parents[3]
NOBODY = 65534

needs_monty = pytest.mark.skipif(not has_monty(), reason="pydantic-monty is not installed")
needs_confinement = pytest.mark.skipif(
    not detect_confinement().is_sufficient, reason="this machine cannot confine a process"
)

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")

BARE = [name for name in ATTACKS if ATTACKS[name].get("bare")]


def attacks_of(family: str, names: Any = ATTACKS) -> list[str]:
    """The attacks of a family: all of them in `make test-all`, else some."""
    return sample([name for name in names if name.startswith(f"{family}/")], 3)


SOME_FAMILIES = [pytest.param(each, marks=() if each == "files" else pytest.mark.slow) for each in FAMILIES]
"""Families of which one is enough in `make test`, since each of their tests starts further processes."""


def test_there_are_many_attacks():
    assert len(ATTACKS) >= 100
    assert len(BARE) >= 60


@needs_monty
@pytest.mark.parametrize("family", FAMILIES)
def test_monty_stops(family: str, subtests: pytest.Subtests):
    for name in attacks_of(family):
        with subtests.test(name):
            assert run_attack(name, "monty") is None


@needs_confinement
@pytest.mark.parametrize("family", FAMILIES)
def test_a_confined_process_stops(family: str, subtests: pytest.Subtests):
    for name in attacks_of(family):
        with subtests.test(name):
            assert run_attack(name, "full") is None


@needs_root
@needs_monty
@pytest.mark.parametrize("family", SOME_FAMILIES)
def test_monty_of_another_user_stops(family: str):
    assert run_as_nobody("monty", attacks_of(family)) == dict.fromkeys(attacks_of(family))


@needs_root
@needs_confinement
@pytest.mark.parametrize("family", SOME_FAMILIES)
def test_a_confined_process_of_another_user_stops(family: str):
    assert run_as_nobody("full", attacks_of(family)) == dict.fromkeys(attacks_of(family))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the attacks are for Linux")
@pytest.mark.parametrize("family", [each for each in SOME_FAMILIES if attacks_of(str(each.values[0]), BARE)])
def test_without_confinement_the_attacks_succeed(family: str):
    """Otherwise the tests above would not show that the confinement works."""
    names = attacks_of(family, BARE)
    achieved = run_as_nobody("bare", names) if os.geteuid() == 0 else run_in_process(sys.executable, "bare", names)
    assert [name for name, what in achieved.items() if what is None] == []


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
@pytest.mark.parametrize("family", FAMILIES)
def test_bubblewrap_stops(family: str):
    confinement = Confinement(seccomp=detect_confinement().seccomp, bubblewrap=shutil.which("bwrap"))
    names = [
        name for name in attacks_of(family) if name != "limits/disk-full-of-names"
    ]  # in memory that is gone with it
    assert {name: run_attack(name, "full", confinement) for name in names} == dict.fromkeys(names)


def run_as_nobody(mode: str, names: list[str]) -> dict[str, str | None]:
    python = python_for_nobody()
    if python is None:
        pytest.skip("another user has no way to a Python of this version")
    return run_in_process(python, mode, names, user=NOBODY, group=NOBODY, extra_groups=[])


def run_in_process(python: str, mode: str, names: list[str], **user: Any) -> dict[str, str | None]:
    """Run attacks in a process that has the secret in its environment from the start, where /proc shows it."""
    command = [python, "-B", "-m", "tests.execution.sandbox.attacks", mode, *names]
    done = subprocess.run(command, cwd=ROOT, env=environment(), **user, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def environment() -> dict[str, str]:
    packages = Path(pytest.__file__).parents[1]
    return {
        "PYTHONPATH": f"{ROOT / 'src'}:{packages}",
        "PATH": f"{sysconfig.get_path('scripts')}:/usr/bin:/bin",
        SECRET: IN_ENVIRONMENT,
    }


@cache
def python_for_nobody() -> str | None:
    """A Python of this version that anybody may start: this one, unless it lies in somebody's home."""
    named = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for python in (
        os.path.realpath(sys.executable),
        *(f"{folder}/{named}" for folder in ("/usr/bin", "/usr/local/bin")),
    ):
        try:
            command = [python, "-B", "-c", "import tests.execution.sandbox.attacks"]
            options: dict[str, Any] = {"cwd": ROOT, "env": environment(), "user": NOBODY, "group": NOBODY}
            if subprocess.run(command, **options, extra_groups=[], capture_output=True, timeout=60).returncode == 0:
                return python
        except OSError:
            continue
    return None
