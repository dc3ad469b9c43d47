"""`LocalServer`: llama.cpp in a child process, with an OpenAI-compatible endpoint on the loopback interface.

In a process of its own, a crash is only an error here. The process is started on first use, shared by all models with
the same weights and options, and started again if it died. Its standard input stays open as long as this program runs;
closing it asks the process to end, so it ends with the program. All functions may be called from any thread, and block:
weights take seconds to load. The program of the process is `local_server.py`.

One thread too many costs more than one too few. The threads of llama.cpp wait for each other hundreds of times for each
token, and wait by spinning: if another program takes one of their cores, all of them stand still. Two threads on two
busy cores were measured at a sixth of the speed of one.
"""

import atexit
import contextlib
import importlib.util
import json
import math
import os
import queue
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import IO, Any, cast

from toolspeak.models.adapters import Adapter, check_adapter
from toolspeak.values.errors import EndpointDown, UsageError
from toolspeak.values.frozen import frozen
from toolspeak.values.package import suggest_install

MAX_LOG_LINES = 12
"""The last lines of the log that are kept for error messages."""

CONTEXT_TOKENS = 8192
SLOTS = 1

ENGINE: Mapping[str, Any] = {
    "batch": 64,  # the tokens of a prompt that are read at once; more on a GPU
    "flash_attention": "AUTO",
    "states": "F16",  # the type of the numbers in the states of tokens
    "load": "AUTO",  # how the weights come into memory
    "repack": True,  # whether weights are laid out anew for the processor
    "guess": None,
}
"""How llama.cpp computes; `bench/embedded.py` compares."""

STARTUP_TIMEOUT_SECONDS = 600.0
"""Time to load weights: a large file on a slow disk takes minutes."""

LIST_DEVICES_SECONDS = 60.0
"""How long to wait for the list of devices. Drivers of GPUs may take seconds to load."""

READ_LOG_SECONDS = 5.0
"""How long to wait for the end of the log of a process that has ended. A process that it started may hold it open."""


def choose_threads(cores: int) -> int:
    """Return one thread for each core. With more than two cores, one is left to other programs."""
    return cores - 1 if cores > 2 else cores


def count_usable_cores(system: Path = Path("/sys")) -> int:
    """Return how many physical cores this process may use: within its CPU affinity and the quota of its container."""
    logical = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))
    folder = system / "devices" / "system" / "cpu"
    try:
        physical = len({(folder / f"cpu{each}/topology/thread_siblings_list").read_text() for each in logical})
    except OSError:  # the system does not say
        physical = len(logical)
    return max(1, min(physical, _quota(system / "fs" / "cgroup") or physical))


def _quota(folder: Path) -> int | None:
    """Return the cores that the quota of the container is worth, from control groups of version 2 or 1."""
    try:
        allowed, period = (folder / "cpu.max").read_text().split()
    except (OSError, ValueError):
        try:
            allowed = (folder / "cpu" / "cpu.cfs_quota_us").read_text().strip()
            period = (folder / "cpu" / "cpu.cfs_period_us").read_text().strip()
        except OSError:
            return None
    try:
        share = int(allowed) / int(period)
    except (ValueError, ZeroDivisionError):
        return None
    return math.ceil(share) if share > 0 else None


class Child:
    """A child process, which gets `options` as a line of JSON, prints a line when it is ready, and writes a log.

    When it is stopped, it has `grace` seconds to end by itself before it is terminated, and as many before it is
    killed.
    """

    def __init__(self, command: Sequence[str], options: Mapping[str, Any], *, grace: float = 3.0) -> None:
        try:
            # A process group of its own, so that Ctrl-C in the terminal does not reach it.
            # In the root folder: libraries that the child loads may look for others in the current folder.
            self._process = subprocess.Popen(  # noqa: S603 (no shell, and the command is ours)
                command,
                cwd=os.sep,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                process_group=0 if sys.platform != "win32" else None,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            )
        except OSError as error:
            raise EndpointDown(f"the embedded model could not be started: {error.strerror or error}") from None
        self._grace = grace
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._stopped = False
        self._log: deque[str] = deque(maxlen=MAX_LOG_LINES)
        self._first_line: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._readers = [
            threading.Thread(target=self._read_log, name="toolspeak-local-log", daemon=True),
            threading.Thread(target=self._read_output, name="toolspeak-local-ready", daemon=True),
        ]
        for reader in self._readers:
            reader.start()
        with contextlib.suppress(OSError):  # it has died already: the log has the cause
            stdin = self._pipe(self._process.stdin)
            stdin.write(json.dumps(dict(options)).encode() + b"\n")
            stdin.flush()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it is running."""
        return self._process.poll() is None

    def wait_until_ready(self, *, timeout: float, on_progress: Callable[[float], None] | None) -> dict[str, Any]:
        """Wait for its first line of output, which must be a JSON object, and return it. If it fails, stop the child.

        `on_progress` is called a few times a second while waiting, with the seconds so far. Raises `EndpointDown` if
        the child ended, printed something else, or took too long.
        """
        try:
            line = self._wait_for_line(timeout, on_progress)
            ready = json.loads(line) if line.strip() else None
        except ValueError:
            ready = None
        except BaseException:
            self.stop()
            raise
        if not isinstance(ready, dict):
            with contextlib.suppress(subprocess.TimeoutExpired):  # it closed its output, so it is about to end
                self._process.wait(self._grace)
            failure = self.describe_exit()
            self.stop()
            raise EndpointDown(failure)
        return cast("dict[str, Any]", ready)

    def describe_exit(self) -> str:
        """Return how it ended, with the last lines of its log."""
        code = self._process.poll()
        if code is not None:
            self._readers[0].join(READ_LOG_SECONDS)
        if code is None:
            ended = "did not start"
        else:
            known = {-each.value: f"signal {each.name}" for each in signal.Signals}
            cause = f"exit code {code}" if code >= 0 else known.get(code, f"signal {-code}")
            ended = "was stopped" if self._stopped else f"ended with {cause}"
        log = "\n".join(self._log)
        return f"the embedded model {ended}" + (f"; the last lines of its log:\n{log}" if log else "")

    def stop(self) -> None:
        """End it, and wait until it has ended."""
        if os.getpid() != self._owner:  # in a fork: the child belongs to the parent
            return
        with self._lock:
            self._stopped = self._stopped or self._process.poll() is None
            with contextlib.suppress(OSError):
                self._pipe(self._process.stdin).close()
            self._terminate()
        for reader in self._readers:
            reader.join(1.0)

    def _terminate(self) -> None:
        for escalate in (self._process.terminate, self._process.kill):
            try:
                self._process.wait(self._grace)
                return
            except subprocess.TimeoutExpired:
                escalate()
        self._process.wait()

    def _wait_for_line(self, timeout: float, on_progress: Callable[[float], None] | None) -> bytes:
        start = time.monotonic()
        while True:
            try:
                return self._first_line.get(timeout=0.2)
            except queue.Empty:
                passed = time.monotonic() - start
            if passed > timeout:
                raise EndpointDown(f"the embedded model was not ready within {timeout:g} seconds, and was stopped")
            if on_progress is not None:
                on_progress(passed)

    def _read_output(self) -> None:
        with self._pipe(self._process.stdout) as output:
            self._first_line.put(output.readline(65536))
            while output.read(65536):  # a full pipe would block it
                pass

    def _read_log(self) -> None:
        with self._pipe(self._process.stderr) as log:
            while line := log.readline(65536):
                if text := line.decode("utf-8", "replace").rstrip():
                    self._log.append(text[:400])

    @staticmethod
    def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
        assert pipe is not None  # noqa: S101 (all three are pipes)
        return pipe


@frozen
class ServerOptions:
    """The options of a server. Models with equal options share one."""

    weights: Path  # the GGUF file
    threads: int | None = None  # that compute; None: about one for each usable core
    context: int = CONTEXT_TOKENS  # the most tokens of one conversation
    slots: int = SLOTS  # the most conversations that are answered at the same time
    adapter: Adapter | None = None  # a request uses a file of it if its field `lora` names it with the scale 1
    prompts: Path | None = None  # the folder for what was read of prompts (`prompt_store.py`); None to keep nothing

    @property
    def keeps_earlier(self) -> bool:
        """Whether it keeps earlier conversations, so that one that is continued need not be read again.

        With what one adapter has read, another one must not go on, and llama.cpp does not tell them apart.
        """
        return self.adapter is None or self.adapter.after_results is None


class LocalServer(Child):
    """A server process, from `start_server` or `get_shared_server`.

    Attributes:
        weights: The GGUF file that it serves.
        base_url: Its address, with `/v1`.
        key: The API key that clients must send: every program and web page on this machine can reach the loopback.
    """

    was_started = True
    """Whether this program started it: of a warm server, another program may have."""

    def __init__(
        self, options: ServerOptions, on_progress: Callable[[float], None] | None, command: Sequence[str] | None
    ) -> None:
        self.weights = options.weights
        self.options = options
        self.key = secrets.token_urlsafe(24)
        self._notes: list[str] = []
        super().__init__(server_command() if command is None else command, child_options(options, self.key))
        ready = self.wait_until_ready(timeout=STARTUP_TIMEOUT_SECONDS, on_progress=on_progress)
        self.base_url = f"{ready['address']}/v1"

    def __repr__(self) -> str:
        return f"LocalServer({self.weights.name!r}, {self.base_url!r}, alive={self.is_alive})"

    def has_read(self, note: str) -> bool:
        """Whether it has read the beginning of a prompt, and has not forgotten it since."""
        return is_read(note, self._notes, self.options)

    def note_read(self, note: str) -> None:
        """Remember that it has read the beginning of a prompt."""
        self._notes.append(note)


def is_read(note: str, notes: Sequence[str], options: ServerOptions) -> bool:
    """Whether a server still has the prompt of a note in its memory, by all its notes, the last one at the end.

    A note is the number of a place of the server, and the key of what the place has read. The key `-` is a prompt
    without tools: it is read without the adapter, and the place forgets what it has read with it. If the server keeps
    no earlier conversations, a place has only what it has read last.
    """
    place = note.partition(" ")[0]
    without = f"{place} -"
    own = (each for each in reversed(notes) if each.startswith(f"{place} "))
    if note == without or not options.keeps_earlier:
        return next(own, None) == note
    return note in takewhile(lambda each: each != without, own)


def start_server(
    options: ServerOptions,
    *,
    on_progress: Callable[[float], None] | None = None,
    command: Sequence[str] | None = None,
) -> LocalServer:
    """Start a server, and wait until its weights are loaded.

    Args:
        options: The options.
        on_progress: Called a few times a second while weights load, with the seconds so far. An exception stops the
            server.
        command: Another program to start in place of the server, for tests.

    Raises:
        UsageError: A file does not exist or is not GGUF, the adapter does not have its hash, or the extra `local` is
            not installed.
        ModelError: The server did not start. The message has the last lines of its log.
    """
    return LocalServer(check_options(options), on_progress, command)


def get_shared_server(
    options: ServerOptions,
    *,
    on_progress: Callable[[float], None] | None = None,
    command: Sequence[str] | None = None,
) -> LocalServer:
    """Return the running server with these options, or start one as `start_server` does. It ends with the program."""
    options = check_options(options)
    with _servers_lock:
        shared = _servers.setdefault((os.getpid(), options, tuple(command or ())), _SharedServer())
    with shared.lock:  # while one thread loads the weights, others wait here
        if shared.server is None or not shared.server.is_alive:
            if shared.server is not None:
                shared.server.stop()
            shared.server = LocalServer(options, on_progress, command)
        return shared.server


def stop_all() -> None:
    """End every server that `get_shared_server` started in this process."""
    with _servers_lock:
        own = [key for key in _servers if key[0] == os.getpid()]  # a fork must not stop its parent's
        stopped = [_servers.pop(key) for key in own]
    for shared in stopped:
        if shared.server is not None:
            shared.server.stop()


class _SharedServer:
    """A server that is started at most once at a time, and the lock for that."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.server: LocalServer | None = None


_servers: dict[tuple[int, ServerOptions, tuple[str, ...]], _SharedServer] = {}  # by process id, options and command
_servers_lock = threading.Lock()
atexit.register(stop_all)


def check_options(options: ServerOptions) -> ServerOptions:
    """Return options with the full path of the weights and the number of threads. Raises `UsageError`."""
    for name in ("threads", "context", "slots"):
        if (value := getattr(options, name)) is not None and value < 1:
            raise UsageError(f"local.{name} is {value}; it takes a whole number, at least 1")
    threads = options.threads or choose_threads(count_usable_cores())
    return replace(options, weights=_check_weights(options.weights), threads=threads)


def _check_weights(weights: Path) -> Path:
    try:
        with weights.expanduser().open("rb") as file:
            magic = file.read(4)
    except IsADirectoryError:
        raise UsageError(f"{weights} is a folder; name the GGUF file in it") from None
    except OSError as error:
        raise UsageError(f"cannot read {weights}: {error.strerror}") from None
    if magic != b"GGUF":
        raise UsageError(f"{weights} is not a GGUF file, the only format that llama.cpp reads")
    return weights.expanduser().resolve()


def child_options(options: ServerOptions, key: str) -> dict[str, Any]:
    """Return the options as the process of the server reads them. Raises `UsageError` for a wrong adapter."""
    if options.adapter is not None:
        check_adapter(options.adapter)
    adapters = [] if options.adapter is None else list(map(str, options.adapter.paths))
    return {
        "weights": str(options.weights),
        "adapters": adapters,
        "threads": options.threads,
        "context": options.context,
        "slots": max(options.slots, len(adapters)),  # a conversation has a place for each adapter
        "prompts": None if options.prompts is None else str(options.prompts),
        "engine": dict(ENGINE),
        "cache_mib": 1024 if options.keeps_earlier else 0,
        "key": key,
    }


def find_devices(command: Sequence[str] | None = None) -> tuple[list[str], list[str]]:
    """Return the names of the GPUs and the processors that llama.cpp can compute on; none if it cannot be asked.

    It uses GPUs if there are any. `command` is another program to start in place of the server, for tests.
    """
    line = json.dumps({"lists_devices": True}).encode() + b"\n"
    try:
        done = subprocess.run(  # noqa: S603 (no shell, and the command is ours)
            server_command() if command is None else command,
            cwd=os.sep,
            input=line,
            capture_output=True,
            timeout=LIST_DEVICES_SECONDS,
            check=True,
        )
        found = json.loads(done.stdout)
    except (OSError, ValueError, UsageError, subprocess.SubprocessError):
        return [], []
    return [each["name"] for each in found if not each["is_cpu"]], [each["name"] for each in found if each["is_cpu"]]


def server_command() -> list[str]:
    """Return the command that starts the process. Raises `UsageError` if the extra `local` is not installed."""
    if importlib.util.find_spec("xllamacpp") is None:
        raise UsageError(f"the embedded model needs xllamacpp; install it with: {suggest_install('local')}")
    # By path and isolated: toolspeak is not imported, and neither files beside the program nor variables of the
    # environment can shadow modules.
    return [sys.executable, "-I", str(Path(__file__).with_name("local_server.py"))]
