"""The shell tool: it asks first, ends what it started, and keeps what is printed within bounds."""

import os
from pathlib import Path

import pytest

from tests.execution.sandbox.processes import has_ended
from toolspeak.builtin.shell import ShellTool, run_shell
from toolspeak.errors import ToolError, UsageError
from toolspeak.tools import discover

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a shell")


def test_it_is_discovered_and_asks_first():
    assert discover("toolspeak.builtin.shell").names == ("run_shell",)
    assert run_shell.spec.approve
    assert run_shell.spec.effect == "once"
    assert run_shell.spec.sequential


def test_it_gives_what_is_printed_on_both_streams(tmp_path: Path):
    shell = ShellTool(tmp_path)
    assert shell("echo one; echo two >&2; pwd -P") == f"one\ntwo\n{tmp_path.resolve()}"
    assert shell("true") == "(done; nothing was printed)"


def test_a_command_that_fails_is_an_error_with_its_output():
    with pytest.raises(ToolError, match=r"^broken\nthe command ended with code 3$"):
        run_shell("echo broken; exit 3")
    with pytest.raises(ToolError, match="not found"):
        run_shell("no-such-command-at-all")
    with pytest.raises(ToolError, match="zero bytes"):
        run_shell("echo \0")
    with pytest.raises(ToolError, match="could not be started"):
        ShellTool("/no/such/folder")("true")


def test_time_ends_it_with_all_its_processes(tmp_path: Path):
    with pytest.raises(ToolError, match=r"^\d+\nstopped: it took longer than 2 seconds$") as caught:
        ShellTool(tmp_path, seconds=2)("sleep 300 & echo $!; sleep 300")
    assert has_ended(int(str(caught.value).partition("\n")[0]))


def test_what_stays_in_the_background_is_ended_too(tmp_path: Path):
    assert has_ended(int(ShellTool(tmp_path)("sleep 300 & echo $!")))


def test_a_flood_in_the_background_ends_with_the_command():
    assert "done" in ShellTool(seconds=20, output=1000)("echo done; yes & sleep 0.1")


def test_a_flood_keeps_its_beginning_and_its_end():
    text = ShellTool(output=1000)("echo first; seq 1 200000; echo last")
    assert text.startswith("first\n1\n2\n")
    assert text.endswith("200000\nlast")
    assert "bytes left out" in text
    assert len(text) < 1100


def test_it_reads_no_input_and_has_no_secrets(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "very secret")
    monkeypatch.setenv("GITHUB_TOKEN", "very secret")
    monkeypatch.setenv("HARMLESS", "seen")
    printed = run_shell("cat; env")
    assert "very secret" not in printed
    assert "HARMLESS=seen" in printed
    assert ShellTool(env={"ONLY": "this"})("echo $ONLY$HARMLESS") == "this"


def test_a_time_that_is_none_is_refused():
    with pytest.raises(UsageError, match="seconds is a number above 0, not 0"):
        ShellTool(seconds=0)
