"""`make audit` passes only when every pin was looked up: pip-audit alone succeeds for packages that it skipped."""

import importlib.util
import json
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
SPEC = importlib.util.spec_from_file_location("audit", ROOT / "scripts" / "audit.py")
assert SPEC
assert SPEC.loader
audit = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(audit)

PINS = {"aiohttp": "3.1", "ruamel-yaml": "0.5"}
CLEAN = {"name": "aiohttp", "version": "3.1", "vulns": []}
OTHER = {"name": "ruamel.yaml", "version": "0.5", "vulns": []}


def test_the_pins_are_read_by_their_normalised_names():
    assert audit.read_pins("aiohttp==3.1\n# a comment\n\nRuamel_YAML==0.5  # why\n") == PINS
    assert len(audit.read_pins((ROOT / "constraints.txt").read_text())) > 100


@pytest.mark.parametrize(
    ("entries", "faults"),
    [
        ([CLEAN, OTHER], []),
        ([CLEAN], ["ruamel-yaml 0.5: not audited: it is not in the report"]),
        ([CLEAN, OTHER | {"version": "0.6"}], ["ruamel-yaml 0.5: not audited: it is not in the report"]),
        (
            [CLEAN, {"name": "ruamel.yaml", "skip_reason": "not found on PyPI"}],
            ["ruamel-yaml 0.5: not audited: not found on PyPI"],
        ),
        (
            [CLEAN | {"vulns": [{"id": "PYSEC-1", "fix_versions": ["3.2"]}, {"id": "PYSEC-2"}]}, OTHER],
            ["aiohttp 3.1: PYSEC-1, fixed in 3.2", "aiohttp 3.1: PYSEC-2, fixed in no version"],
        ),
    ],
)
def test_a_pin_is_clean_only_if_it_was_looked_up(entries: list[Any], faults: list[str]):
    assert audit.find_faults(PINS, {"dependencies": entries}) == faults


def report(tmp_path: Path, output: str, status: int) -> str:
    """A stand-in for a Python that has pip-audit."""
    file = tmp_path / "python"
    (tmp_path / "output").write_text(output)
    file.write_text(f"#!/bin/sh\ncat {tmp_path}/output\nexit {status}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return str(file)


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a shell script")
@pytest.mark.parametrize(
    ("output", "status", "code", "words"),
    [
        (json.dumps({"dependencies": [CLEAN, OTHER]}), 0, 0, "2 pins audited, no known advisories"),
        (json.dumps({"dependencies": [CLEAN, OTHER]}), 1, 1, ""),
        (json.dumps({"dependencies": [CLEAN]}), 0, 1, "1 of 2 pins were not audited"),
        (json.dumps({"dependencies": []}), 0, 1, "2 of 2 pins were not audited"),
        ("", 0, 1, "nothing was audited"),
        ("[]", 0, 1, "nothing was audited"),
        ('{"dependencies": [1]}', 0, 1, "nothing was audited"),
        ("", 1, 1, "exit status 1"),
    ],
)
def test_whatever_was_not_earned_fails(
    output: str,
    status: int,
    code: int,
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    pins = tmp_path / "constraints.txt"
    pins.write_text("aiohttp==3.1\nruamel.yaml==0.5\n")
    monkeypatch.setattr(audit, "PINS", pins)
    assert audit.main(report(tmp_path, output, status)) == code
    assert words in capsys.readouterr().out
