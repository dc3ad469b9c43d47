"""Warm servers: one for each user and model, shared by programs, gone when idle.

The real program of the server runs, with a module that stands in for llama.cpp; `tests/local/` has the real one.
"""

import errno
import fcntl
import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from toolspeak.models import warm
from toolspeak.models.local import ServerOptions
from toolspeak.models.warm import WarmOptions, WarmServer, get_warm_server, list_warm_servers, stop_warm_servers
from toolspeak.values.errors import ModelError, UsageError

if not warm.is_supported:
    pytest.skip("there are no warm servers on Windows", allow_module_level=True)


@pytest.fixture
def folder(tmp_path: Path) -> Generator[Path]:
    path = tmp_path / "servers"
    yield path
    stop_warm_servers(path)


def get(weights: Path, folder: Path, command: list[str], *, idle_seconds: float = 60.0) -> WarmServer:
    return get_warm_server(
        ServerOptions(weights=weights, context=512, slots=1),
        WarmOptions(folder=folder, idle_seconds=idle_seconds),
        command=command,
    )


def wait_for(condition: Callable[[], bool], within: float = 60.0) -> bool:
    end = time.monotonic() + within
    while not (met := condition()) and time.monotonic() < end:
        time.sleep(0.05)
    return met


def test_a_second_program_finds_the_server_of_the_first(weights: Path, folder: Path, command: list[str]) -> None:
    one, two = get(weights, folder, command), get(weights, folder, command)
    assert one.was_started
    assert not two.was_started
    assert (one.pid, one.base_url, one.key) == (two.pid, two.base_url, two.key)
    assert one.pid != os.getpid()


def test_what_it_has_read_is_known_to_all_programs_until_it_ends(
    weights: Path, folder: Path, command: list[str]
) -> None:
    one, two = get(weights, folder, command), get(weights, folder, command)
    assert not two.has_read("0 a")
    one.note_read("0 a")
    two.note_read("0 b")
    assert [one.has_read(note) for note in ("0 a", "0 b", "0 c", "1 a")] == [True, True, False, False]
    assert two.has_read("0 a")
    (kept,) = folder.glob("*.prompts")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    stop_warm_servers(folder)
    assert not get(weights, folder, command).has_read("0 a")


def test_other_options_have_a_server_of_their_own(weights: Path, folder: Path, command: list[str]) -> None:
    one = get(weights, folder, command)
    two = get_warm_server(
        ServerOptions(weights=weights, context=1024, slots=1), WarmOptions(folder=folder), command=command
    )
    assert one.pid != two.pid
    assert len(list_warm_servers(folder)) == 2


@pytest.mark.slow
def test_programs_that_start_at_once_share_one_server(weights: Path, folder: Path, command: list[str]) -> None:
    weights.write_text("GGUF slow")
    code = (
        "import json, sys; from pathlib import Path; from toolspeak.models.local import ServerOptions\n"
        "from toolspeak.models.warm import WarmOptions, get_warm_server\n"
        "server = get_warm_server(ServerOptions(weights=Path(sys.argv[1]), context=512, slots=1), "
        "WarmOptions(folder=Path(sys.argv[2]), idle_seconds=60.0), command=json.loads(sys.argv[3]))\n"
        "print(server.pid, server.was_started)"
    )
    arguments = [sys.executable, "-c", code, str(weights), str(folder), json.dumps(command)]
    programs = [subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    lines = [program.communicate(timeout=80)[0].split() for program in programs]
    assert len({pid for pid, _ in lines}) == 1
    assert sorted(started for _, started in lines) == ["False", "False", "False", "True"]


def test_it_ends_by_itself_when_idle_and_not_before(weights: Path, folder: Path, command: list[str]) -> None:
    server = get(weights, folder, command, idle_seconds=0.2)
    time.sleep(0.8)  # longer than the server may be idle
    assert server.is_alive
    assert [each.phase for each in list_warm_servers(folder)] == ["in use"]
    server.release()
    assert wait_for(lambda: not server.is_alive)
    assert list_warm_servers(folder) == []
    assert get(weights, folder, command).pid != server.pid


@pytest.mark.slow
def test_it_survives_the_program_that_started_it(weights: Path, folder: Path, command: list[str]) -> None:
    code = (
        "import json, os, signal, sys; from pathlib import Path; from toolspeak.models.local import ServerOptions\n"
        "from toolspeak.models.warm import WarmOptions, get_warm_server\n"
        "server = get_warm_server(ServerOptions(weights=Path(sys.argv[1]), context=512, slots=1), "
        "WarmOptions(folder=Path(sys.argv[2]), idle_seconds=5.0), command=json.loads(sys.argv[3]))\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    crashed = subprocess.run(
        [sys.executable, "-c", code, str(weights), str(folder), json.dumps(command)], timeout=80, check=False
    )
    assert crashed.returncode == -signal.SIGKILL
    (running,) = list_warm_servers(folder)
    server = get(weights, folder, command)
    assert (server.pid, server.was_started) == (running.pid, False)
    server.release()
    assert wait_for(lambda: not server.is_alive)  # the program that crashed does not count as a user


def test_a_server_that_was_killed_is_replaced(weights: Path, folder: Path, command: list[str]) -> None:
    server = get(weights, folder, command)
    os.kill(server.pid, signal.SIGKILL)
    assert wait_for(lambda: not server.is_alive)
    again = get(weights, folder, command)
    assert again.was_started
    assert again.pid != server.pid


def test_a_failure_to_start_has_the_log(weights: Path, folder: Path, command: list[str]) -> None:
    weights.write_text("GGUF bad")
    with pytest.raises(ModelError, match=r"did not start.*\n.*these weights are bad"):
        get(weights, folder, command)
    assert list_warm_servers(folder) == []


def test_stopping_ends_it_also_while_it_loads(weights: Path, folder: Path, command: list[str]) -> None:
    server = get(weights, folder, command)
    assert [each.pid for each in stop_warm_servers(folder)] == [server.pid]
    assert not server.is_alive
    assert stop_warm_servers(folder) == []


def test_no_other_user_can_read_the_key(weights: Path, folder: Path, command: list[str]) -> None:
    server = get(weights, folder, command)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    holders = [path for path in folder.iterdir() if server.key in path.read_text(errors="replace")]
    assert [path.suffix for path in holders] == [".json"]
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in holders)


STRANGER = 41002

as_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can give files to another user: run the tests as root"
)


def plant_server(folder: Path, name: str, owner: int) -> None:
    """Write the files of a server that another user runs. The lock is taken by the test."""
    texts = {"running": "4242", "use": "", "start": "", "options": json.dumps({"weights": "w", "idle_seconds": 300})}
    texts["json"] = json.dumps({"address": "http://127.0.0.1:6666", "key": "k", "pid": 4242})
    for ending, text in texts.items():
        path = folder / f"{name}.{ending}"
        path.write_text(text)
        path.chmod(0o666)
        os.chown(path, owner, owner)


def find_name(folder: Path) -> str:
    return next(path.stem for path in folder.glob("*.running"))


@as_root
@pytest.mark.parametrize("is_folder", [True, False])
def test_a_server_that_another_user_planted_is_not_used(
    weights: Path, folder: Path, command: list[str], tmp_path: Path, is_folder: bool
) -> None:
    import fcntl  # Windows does not have it

    server = get(weights, folder, command)
    name = find_name(folder)
    stop_warm_servers(folder)
    shared = tmp_path / "shared"
    shared.mkdir()
    plant_server(shared, name, STRANGER)
    if is_folder:
        os.chown(shared, STRANGER, STRANGER)
    shared.chmod(0o777)
    with (shared / f"{name}.running").open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        for use in (lambda: get(weights, shared, command), lambda: list_warm_servers(shared)):
            with pytest.raises(UsageError, match="belongs to another user, who could answer"):
                use()
    assert not server.is_alive


def test_a_folder_or_a_file_that_is_a_link_is_not_used(
    weights: Path, folder: Path, command: list[str], tmp_path: Path
) -> None:
    get(weights, folder, command).release()
    link = tmp_path / "link"
    link.symlink_to(folder)
    with pytest.raises(UsageError, match="cannot use"):
        get(weights, link, command)
    name = find_name(folder)
    stop_warm_servers(folder)
    for ending in ("use", "log"):
        (folder / f"{name}.{ending}").unlink()
        (folder / f"{name}.{ending}").symlink_to(weights)
        with pytest.raises(OSError, match=os.strerror(errno.ELOOP)):
            get(weights, folder, command)
        (folder / f"{name}.{ending}").unlink()
    assert weights.read_text() == "GGUF"


def test_the_folder_is_closed_to_others_again(weights: Path, folder: Path, command: list[str]) -> None:
    folder.mkdir()
    folder.chmod(0o777)
    get(weights, folder, command)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_server_keeps_to_the_folder_that_was_checked(weights: Path, folder: Path, command: list[str]) -> None:
    """Also if its name means another folder later."""
    server = get(weights, folder, command, idle_seconds=0.2)
    moved = folder.rename(folder.with_name("moved"))
    folder.mkdir()
    plant_server(folder, find_name(moved), os.geteuid())
    assert server.is_alive
    server.release()
    assert wait_for(lambda: not server.is_alive)
    assert (folder / f"{find_name(moved)}.json").exists()
    assert not (moved / f"{find_name(moved)}.json").exists()


def test_the_status_says_what_the_server_does(weights: Path, folder: Path, command: list[str]) -> None:
    server = get(weights, folder, command)
    (used,) = list_warm_servers(folder)
    assert (used.weights, used.pid, used.phase, used.ends_after) == (weights, server.pid, "in use", 60.0)
    server.release()
    assert wait_for(lambda: [each.phase for each in list_warm_servers(folder)] == ["idle"])


def test_programs_that_look_at_once_do_not_take_each_other_for_a_server(
    weights: Path, folder: Path, command: list[str]
) -> None:
    server = get(weights, folder, command)
    stop_warm_servers(folder)
    with (folder / f"{find_name(folder)}.running").open("rb") as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)  # as another program does for a moment
        assert not server.is_alive
        assert list_warm_servers(folder) == []
