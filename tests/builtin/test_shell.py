"""The shell tool: it asks first, ends what it started, and keeps what is printed within bounds."""

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.execution.sandbox.processes import has_ended
from toolspeak.builtin import shell
from toolspeak.builtin.shell import ShellTool, run_shell
from toolspeak.tools import discover
from toolspeak.values.errors import ToolError, UsageError

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a shell")


def test_it_is_discovered_and_asks_first():
    assert discover("toolspeak.builtin.shell").names == ("run_shell",)
    assert run_shell.spec.approve
    assert run_shell.spec.effect == "once"
    assert run_shell.spec.sequential


def test_it_gives_what_is_printed_on_both_streams(tmp_path: Path):
    run = ShellTool(tmp_path)
    assert run("echo one; echo two >&2; pwd -P") == f"one\ntwo\n{tmp_path.resolve()}"
    assert run("true") == "(done; nothing was printed)"


def test_a_command_that_fails_is_an_error_with_its_output():
    with pytest.raises(ToolError, match=r"^broken\nthe command ended with code 3$"):
        run_shell("echo broken; exit 3")
    with pytest.raises(ToolError, match="not found"):
        run_shell("no-such-command-at-all")
    with pytest.raises(ToolError, match="zero bytes"):
        run_shell("echo \0")
    with pytest.raises(ToolError, match="half characters"):
        run_shell("echo \ud800")
    with pytest.raises(ToolError, match="could not be started"):
        ShellTool("/no/such/folder")("true")
    with pytest.raises(ToolError, match=r"could not be started: .*Argument list too long: '/bin/sh'$"):
        run_shell("echo " + "a" * 3_000_000)


@pytest.fixture
def _time_is_over_when_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of a command is over when it has made the file `started`, and what it printed before has been read."""
    looks = 0

    def tell_time() -> float:
        nonlocal looks
        looks += (tmp_path / "started").exists()
        return 1000.0 if looks > 1 else 0.0

    monkeypatch.setattr(shell, "time", SimpleNamespace(monotonic=tell_time))


@pytest.mark.usefixtures("_time_is_over_when_started")
def test_time_ends_it_with_all_its_processes(tmp_path: Path):
    with pytest.raises(ToolError, match=r"^\d+\nstopped: it took longer than 60 s$") as caught:
        ShellTool(tmp_path, seconds=60)("sleep 300 & echo $!; touch started; sleep 300")
    assert has_ended(int(str(caught.value).partition("\n")[0]))


def test_what_stays_in_the_background_is_ended_too(tmp_path: Path):
    assert has_ended(int(ShellTool(tmp_path)("sleep 300 & echo $!")))


WAIT_FOR_START = "until [ -s started ]; do sleep 0.01; done; cat started"

needs_keeper = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a Linux kernel")


@needs_keeper
@pytest.mark.parametrize(
    "command",
    [
        "setsid sleep 300 & echo $!",
        f"setsid sh -c 'echo $$ > started; exec sleep 300' & {WAIT_FOR_START}",
        f"(setsid setsid --fork sh -c 'echo $$ > started; exec env -i sleep 300' &); {WAIT_FOR_START}",
        f"nohup setsid --fork sh -c 'echo $$ > started; exec sleep 300 >/dev/null 2>&1 </dev/null'; {WAIT_FOR_START}",
    ],
)
def test_a_process_in_a_session_of_its_own_is_ended_too(tmp_path: Path, command: str):
    assert has_ended(int(ShellTool(tmp_path)(command)))


@needs_keeper
@pytest.mark.usefixtures("_time_is_over_when_started")
def test_time_ends_a_process_in_a_session_of_its_own(tmp_path: Path):
    with pytest.raises(ToolError, match=r"^\d+\nstopped: it took longer than 60 s$") as caught:
        ShellTool(tmp_path, seconds=60)("setsid --fork sh -c 'echo $$; touch started; exec sleep 300'; sleep 300")
    assert has_ended(int(str(caught.value).partition("\n")[0]))


@needs_keeper
def test_processes_that_keep_starting_others_are_ended(tmp_path: Path):
    (tmp_path / "again.sh").write_text("echo $$ >> started; sleep 0.01; setsid --fork sh again.sh\n")
    ShellTool(tmp_path)(
        "touch started; setsid --fork sh again.sh; until [ $(wc -l < started) -gt 3 ]; do sleep 0.01; done"
    )
    started = (tmp_path / "started").read_text().split()
    assert len(started) > 3
    assert all(has_ended(int(process)) for process in started)
    assert (tmp_path / "started").read_text().split() == started


def test_a_command_that_a_signal_ends_is_reported_with_the_signal():
    with pytest.raises(ToolError, match=r"the command ended with code -9$"):
        run_shell("kill -9 $$")
    with pytest.raises(ToolError, match=r"the command ended with code -15$"):
        run_shell("kill $$")


@needs_keeper
def test_a_signal_for_the_parent_of_the_shell_does_not_end_the_command():
    assert run_shell("kill $PPID; sleep 0.2; echo done") == "done"


def test_a_flood_in_the_background_ends_with_the_command():
    assert "done" in ShellTool(seconds=20, output=1000)("echo done; yes & sleep 0.1")


def test_a_flood_keeps_its_beginning_and_its_end():
    text = ShellTool(output=1000)("echo first; seq 1 200000; echo last")
    assert text.startswith("first\n1\n2\n")
    assert text.endswith("200000\nlast")
    assert "bytes left out" in text
    assert len(text) < 1100


@pytest.mark.parametrize(
    "name", ["OPENAI_API_KEY", "GITHUB_TOKEN", "DATABASE_URL", "WORK_AUTH", "MY_PAT", "AWS_SESSION", "https_proxy"]
)
def test_it_reads_no_input_and_has_no_secrets(monkeypatch: pytest.MonkeyPatch, name: str):
    monkeypatch.setenv(name, "very secret")
    assert "very secret" not in run_shell("cat; env")
    assert f"{name}=very secret" in ShellTool(keep=[name])("env")


def test_it_has_the_ordinary_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LC_TIME", "C")
    monkeypatch.setenv("VIRTUAL_ENV", "/venv")
    assert {f"PATH={os.environ['PATH']}", "LC_TIME=C", "VIRTUAL_ENV=/venv"} <= set(run_shell("env").splitlines())
    assert ShellTool(env={"ONLY": "this"})("echo $ONLY$VIRTUAL_ENV") == "this"
    names = {line.partition("=")[0] for line in ShellTool(env={"ONLY": "this"})("env").splitlines()}
    assert names - {"PWD", "SHLVL", "_", "OLDPWD"} == {"ONLY"}
    with pytest.raises(UsageError, match="keep is a list of names"):
        ShellTool(keep="PATH")


def test_a_time_that_is_none_is_refused():
    with pytest.raises(UsageError, match="seconds is a number above 0, not 0"):
        ShellTool(seconds=0)
