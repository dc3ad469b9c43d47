"""The process of the embedded model: started once, reused, seen to crash, gone with the program.

A small program stands in for the server; `tests/local/` has the real one.
"""

import importlib.util
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cases import each_case
from toolspeak.models import EmbeddedModel
from toolspeak.models.adapters import Adapter
from toolspeak.models.local import (
    Child,
    LocalServer,
    ServerOptions,
    choose_threads,
    count_usable_cores,
    find_devices,
    get_shared_server,
    is_read,
    start_server,
    stop_all,
)
from toolspeak.values.errors import ModelError, UsageError
from toolspeak.values.pieces import Answer

from .asking import collect_pieces, run_within
from .server import Server, streams

READY = """
import json, sys
options = json.loads(sys.stdin.readline())
print(json.dumps({"address": "http://127.0.0.1:1", "options": options}), flush=True)
"""
SERVES = READY + "sys.stdin.read()\n"


def program(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", code, *arguments]


def exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def gone(pid: int, within: float = 60.0) -> bool:
    end = time.monotonic() + within
    while exists(pid) and time.monotonic() < end:
        time.sleep(0.02)
    return not exists(pid)


@pytest.fixture(autouse=True)
def _none_left() -> Generator[None]:
    yield
    stop_all()


OLD = "0 a"
"""A note that is not the last one."""


@each_case("notes, note, one_file, two_files", {
    "nothing": ([], OLD, False, False),
    "the last": ([OLD], OLD, True, True),
    "an earlier one": ([OLD, "0 b"], OLD, True, False),
    "another place went on": ([OLD, "1 b"], OLD, True, True),
    "the same key in another place": (["1 a"], OLD, False, False),
    "without the adapter since": ([OLD, "0 -"], OLD, False, False),
    "with the adapter again": (["0 -", OLD], OLD, True, True),
    "another place without the adapter": ([OLD, "1 -"], OLD, True, True),
    "a prompt without tools": (["0 -", "1 a"], "0 -", True, True),
    "with the adapter since": (["0 -", OLD], "0 -", False, False),
})  # fmt: skip
def test_notes_say_what_is_still_in_memory(notes: list[str], note: str, one_file: bool, two_files: bool):
    adapter = Adapter(path=Path("calls.gguf"))
    both = replace(adapter, after_results=adapter)
    found = [is_read(note, notes, ServerOptions(weights=Path(), adapter=each)) for each in (None, adapter, both)]
    assert found == [one_file, one_file, two_files]


# Starting


def test_it_is_ready_when_it_says_its_address(weights: Path):
    server = start_server(ServerOptions(weights=weights), command=program(SERVES))
    assert server.is_alive
    assert server.base_url == "http://127.0.0.1:1/v1"
    assert server.weights == weights
    server.stop()
    assert not server.is_alive
    assert gone(server.pid, 0)


def test_it_is_told_how_to_run(weights: Path):
    child = Child(program(SERVES), {"weights": "x", "threads": 3})
    assert child.wait_until_ready(timeout=60, on_progress=None)["options"] == {"weights": "x", "threads": 3}
    child.stop()


def test_its_key_is_its_own_and_is_not_shown(weights: Path):
    one, two = (start_server(ServerOptions(weights=weights), command=program(SERVES)) for _ in range(2))
    assert len(one.key) >= 32
    assert one.key != two.key
    assert one.key not in repr(one)
    assert one.key not in Path(f"/proc/{one.pid}/cmdline").read_text() if Path("/proc/self").exists() else True
    one.stop()
    two.stop()


def test_waiting_is_told(weights: Path):
    waited: list[float] = []
    start_server(
        ServerOptions(weights=weights),
        command=program("import time; time.sleep(0.7)\n" + SERVES),
        on_progress=waited.append,
    ).stop()
    assert len(waited) >= 2
    assert waited == sorted(waited)


def test_whoever_waits_may_give_up(weights: Path, tmp_path: Path):
    note = tmp_path / "pid"
    code = f"import os, pathlib, time; pathlib.Path({str(note)!r}).write_text(str(os.getpid())); import sys; sys.stdin.read()"

    def enough(seconds: float) -> None:
        if note.exists() and note.read_text():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        start_server(ServerOptions(weights=weights), command=program(code), on_progress=enough)
    assert gone(int(note.read_text()))


def test_what_takes_too_long_is_stopped():
    child = Child(program("import sys; sys.stdin.read()"), {})
    with pytest.raises(ModelError, match=r"the embedded model was not ready within 0\.3 seconds, and was stopped"):
        child.wait_until_ready(timeout=0.3, on_progress=None)
    assert gone(child.pid, 0)


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("import sys; sys.stderr.write('one\\ntwo\\n'); sys.exit(3)", "ended with exit code 3; .*log:\none\ntwo$"),
        ("import os; os.abort()", "ended with signal SIGABRT"),
        ("print('hello')", "ended with exit code 0"),
        ("print('[]')", "ended with exit code 0"),
        ("import sys; sys.stderr.write('x' * 3_000_000 + '\\nlast'); sys.exit(1)", "(?s)exit code 1.*\nlast$"),
        ("raise RuntimeError('no memory')", "(?s)exit code 1.*Traceback.*RuntimeError: no memory$"),
    ],
)
def test_what_ends_before_it_is_ready_is_told_with_its_log(weights: Path, code: str, says: str):
    with pytest.raises(ModelError, match=says) as caught:
        start_server(ServerOptions(weights=weights), command=program(code))
    assert len(str(caught.value)) < 6000


def test_a_program_that_is_not_there_is_told(weights: Path):
    with pytest.raises(ModelError, match="the embedded model could not be started: No such file"):
        start_server(ServerOptions(weights=weights), command=["/nowhere/at/all"])


def test_weights_that_cannot_be_are_told(tmp_path: Path):
    (tmp_path / "text.gguf").write_text("hello")
    for name, says in [
        ("nothing.gguf", r"cannot read .*nothing\.gguf: No such file"),
        (".", "is a folder; name the GGUF file in it"),
        ("text.gguf", "is not a GGUF file"),
    ]:
        with pytest.raises(UsageError, match=says):
            start_server(ServerOptions(weights=tmp_path / name), command=program(SERVES))


@pytest.mark.parametrize("setting", ["threads", "context", "slots"])
def test_settings_that_cannot_be_are_told(weights: Path, setting: str):
    with pytest.raises(UsageError, match=f"local.{setting} is 0; it takes a whole number, at least 1"):
        start_server(ServerOptions(weights=weights, **{setting: 0}), command=program(SERVES))


def test_without_the_extra_it_says_what_to_install(weights: Path):
    code = (
        "import sys\nfrom pathlib import Path\nsys.modules['xllamacpp'] = None\n"
        "from toolspeak.values.errors import UsageError\nfrom toolspeak.models.local import ServerOptions, start_server\n"
        "try:\n    start_server(ServerOptions(weights=Path(sys.argv[1])))\nexcept UsageError as error:\n    print(error)"
    )
    done = subprocess.run(program(code, str(weights)), capture_output=True, text=True, check=True)
    assert done.stdout == "the embedded model needs xllamacpp; install it with: pip install 'toolspeak[local]'\n"


# Running


def test_it_may_talk_without_end(tmp_path: Path):
    """What it prints is read to the end: a full pipe would block it before it has told that it goes on."""
    talks = "for _ in range(200):\n    sys.stderr.write('x' * 5000 + '\\n'); print('y' * 5000)\n"
    child = Child(program(f"{READY}{talks}open({str(tmp_path / 'on')!r}, 'w')\nsys.stdin.read()"), {})
    child.wait_until_ready(timeout=60, on_progress=None)
    end = time.monotonic() + 60
    while not (tmp_path / "on").exists() and time.monotonic() < end:
        time.sleep(0.01)
    assert (tmp_path / "on").exists()
    assert child.is_alive
    child.stop()


def test_one_server_serves_all_who_want_the_same(weights: Path):
    command = program(SERVES)
    found: list[LocalServer] = []
    threads = [
        threading.Thread(
            target=lambda: found.append(get_shared_server(ServerOptions(weights=weights), command=command))
        )
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len({id(server) for server in found}) == 1
    assert get_shared_server(ServerOptions(weights=weights.parent / "." / weights.name), command=command) is found[0]
    assert get_shared_server(ServerOptions(weights=weights, context=100), command=command) is not found[0]


def test_a_crash_is_told_and_the_next_use_starts_anew(weights: Path):
    command = program("import sys; sys.stderr.write('out of luck\\n'); sys.stderr.flush()\n" + SERVES)
    server = get_shared_server(ServerOptions(weights=weights), command=command)
    os.kill(server.pid, signal.SIGSEGV)
    assert gone_as_seen_by(server)
    assert (
        server.describe_exit()
        == "the embedded model ended with signal SIGSEGV; the last lines of its log:\nout of luck"
    )
    again = get_shared_server(ServerOptions(weights=weights), command=command)
    assert again.is_alive
    assert again.pid != server.pid


def gone_as_seen_by(server: LocalServer) -> bool:
    end = time.monotonic() + 60
    while server.is_alive and time.monotonic() < end:
        time.sleep(0.02)
    return not server.is_alive


def test_a_start_that_failed_can_be_tried_again(weights: Path, tmp_path: Path):
    code = (
        f"import pathlib, sys\nif not pathlib.Path({str(tmp_path / 'go')!r}).exists(): sys.exit('not yet')\n" + SERVES
    )
    with pytest.raises(ModelError, match="not yet"):
        get_shared_server(ServerOptions(weights=weights), command=program(code))
    (tmp_path / "go").touch()
    assert get_shared_server(ServerOptions(weights=weights), command=program(code)).is_alive


# Ending


def test_stopping_twice_is_stopping_once(weights: Path):
    server = start_server(ServerOptions(weights=weights), command=program(SERVES))
    server.stop()
    server.stop()
    assert server.describe_exit() == "the embedded model was stopped"


def test_what_will_not_end_is_killed():
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + READY + "time.sleep(60)"
    child = Child(program(stubborn), {}, grace=0.2)
    child.wait_until_ready(timeout=60, on_progress=None)
    child.stop()
    assert gone(child.pid, 0)


PROGRAM = f"""
import os, signal, sys
from pathlib import Path
from toolspeak.models.local import ServerOptions, get_shared_server
server = get_shared_server(ServerOptions(weights=Path(sys.argv[1])), command=[sys.executable, "-c", {SERVES!r}])
print(server.pid, flush=True)
"""


@pytest.mark.parametrize(
    "end",
    [
        "pass",
        "os.kill(os.getpid(), signal.SIGKILL)",
        *(pytest.param(end, marks=pytest.mark.slow) for end in ("sys.exit(3)", "1 / 0", "os._exit(1)")),
    ],
)
def test_it_is_gone_with_the_program(weights: Path, end: str):
    done = subprocess.run(program(PROGRAM + end, str(weights)), capture_output=True, text=True, timeout=80)
    assert gone(int(done.stdout))


def test_a_fork_leaves_it_alone(weights: Path):
    fork = """
child = os.fork()
if child == 0:
    from toolspeak.models.local import stop_all
    server.stop()
    stop_all()
    os._exit(0)
os.waitpid(child, 0)
print(server.is_alive)
"""
    done = subprocess.run(program(PROGRAM + fork, str(weights)), capture_output=True, text=True, timeout=80)
    pid, alive = done.stdout.split()
    assert alive == "True"
    assert gone(int(pid))


def test_ctrl_c_in_the_terminal_is_not_for_it(weights: Path):
    server = start_server(ServerOptions(weights=weights), command=program(SERVES))
    assert os.getpgid(server.pid) != os.getpgid(0)
    server.stop()


# Cores


def system(folder: Path, *, siblings: str = "", files: dict[str, str] | None = None) -> Path:
    for number in os.sched_getaffinity(0):
        path = folder / f"devices/system/cpu/cpu{number}/topology/thread_siblings_list"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(siblings or f"{number}\n")
    for name, text in (files or {}).items():
        path = folder / "fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_one_core_is_left_to_the_others_where_there_are_some():
    assert [choose_threads(cores) for cores in (1, 2, 3, 8)] == [1, 2, 2, 7]


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system does not say")
def test_cores_that_may_be_used(tmp_path: Path):
    mine = len(os.sched_getaffinity(0))
    assert count_usable_cores(tmp_path / "silent") == mine
    assert count_usable_cores(system(tmp_path / "a")) == mine
    assert count_usable_cores(system(tmp_path / "b", siblings="0-99\n")) == 1
    assert count_usable_cores(system(tmp_path / "c", files={"cpu.max": "max 100000\n"})) == mine
    assert count_usable_cores(system(tmp_path / "d", files={"cpu.max": "50000 100000\n"})) == 1
    assert (
        count_usable_cores(system(tmp_path / "e", files={"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "1"}))
        == mine
    )
    assert (
        count_usable_cores(system(tmp_path / "f", files={"cpu/cpu.cfs_quota_us": "9", "cpu/cpu.cfs_period_us": "10"}))
        == 1
    )
    assert count_usable_cores(system(tmp_path / "g", files={"cpu.max": "nonsense"})) == mine


def test_how_far_a_prompt_is_read_is_reported(server: Server, weights: Path):
    delta = '"choices":[{"index":0,"delta":{"role":"assistant","content":%s},"finish_reason":%s}]'
    progress = ',"prompt_progress":{"total":1832,"cache":12,"processed":%d,"time_ms":5}'
    chunks = [delta % ("null", "null") + progress % done for done in (12, 524, 1832)]
    chunks += [delta % (r'"\"prompt_progress\":{\"total\":1"', "null"), delta % ("null", '"stop"')]
    server.plays(streams(*(f"data: {{{each}}}\n\n".encode() for each in chunks)))
    command = program(SERVES.replace("http://127.0.0.1:1", server.url))

    class SmallModel(EmbeddedModel):
        def load(self, on_progress: Callable[[float], None] | None = None) -> LocalServer:
            return get_shared_server(ServerOptions(weights=self.weights), on_progress=on_progress, command=command)

    model = SmallModel(weights)
    reports: list[tuple[int, int]] = []
    run_within(collect_pieces(model))
    assert "return_progress" not in server.posts[-1].body
    model.on_prompt_read = lambda done, total: reports.append((done, total))
    answer = run_within(collect_pieces(model))[-1]
    assert server.posts[-1].body["return_progress"] is True
    assert reports == [(12, 1832), (524, 1832), (1832, 1832)]
    assert isinstance(answer, Answer)
    assert answer.finish == "stop"


def test_what_it_can_compute_on_is_listed():
    listed = (
        "import json, sys; assert json.loads(sys.stdin.readline()) == {'lists_devices': True}; "
        "print(json.dumps([{'name': 'Some GPU', 'is_cpu': False}, {'name': 'Some CPU', 'is_cpu': True}]))"
    )
    assert find_devices(program(listed)) == (["Some GPU"], ["Some CPU"])
    for other in ("print('[')", "raise SystemExit(3)"):
        assert find_devices(program(other)) == ([], [])
    assert find_devices(["/nowhere/at/all"]) == ([], [])


@pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="xllamacpp is not installed")
def test_llama_cpp_names_the_processor():
    _, processors = find_devices()
    assert len(processors) == 1
    assert processors[0]
