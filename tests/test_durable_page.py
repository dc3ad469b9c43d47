"""The guide on durable runs names a test for each guarantee, and its deployments name options that exist."""

import re

from typer.main import get_command

from tests.pages import ROOT
from toolspeak.cli.app import app

PAGE = ROOT / "docs" / "guides" / "durable-runs.md"
DEPLOYMENTS = ROOT / "examples" / "durable"


def test_each_guarantee_is_shown_by_a_test_that_exists() -> None:
    table = PAGE.read_text().partition("## What is guaranteed")[2].partition("Not guaranteed")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 10
    for row in rows:
        named = re.findall(r"`([\w/]+\.py)::(\w+)`", row)
        assert named, f"no test shows: {row}"
        for path, name in named:
            assert f"def {name}(" in (ROOT / "tests" / path).read_text(), f"there is no {path}::{name}"


def test_deployments_use_options_that_exist() -> None:
    for path in (DEPLOYMENTS / "compose.yaml", DEPLOYMENTS / "toolspeak-worker@.service"):
        commands = re.findall(r"exec toolspeak ([^\"\n]+)|/bin/toolspeak ([^\n]+)", path.read_text())
        assert commands
        for words in (("".join(each)).split() for each in commands):
            command = get_command(app).commands[words[0]]  # type: ignore[attr-defined]  # it is a group
            known = {option for each in command.params for option in each.opts}
            assert {word for word in words if word.startswith("--")} <= known
