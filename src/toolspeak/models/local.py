"""`LocalServer`: llama.cpp in a child process, with an OpenAI-compatible endpoint on the loopback interface.

In a process of its own, a crash is only an error here. The process is started on first use, shared by all models with
the same weights and options, started again if it died, and ends with the program, because the pipe to it is closed. All
functions may be called from any thread, and block: weights take seconds to load.
"""

import atexit
import importlib.util
import os
import secrets
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from toolspeak._frozen import frozen
from toolspeak.errors import UsageError
from toolspeak.models.adapters import Adapter, check_adapter
from toolspeak.models.child import Child
from toolspeak.models.cores import choose_threads, count_usable_cores

CONTEXT_TOKENS = 8192
SLOTS = 1
CACHE_MIB = 1024
"""Memory for earlier conversations: one that is continued need not be read again."""

STARTUP_TIMEOUT_SECONDS = 600.0
"""Time to load weights: a large file on a slow disk takes minutes."""


@frozen
class ServerOptions:
    """The options of a server. Models with equal options share one."""

    weights: Path
    threads: int
    context: int
    slots: int
    adapter: Adapter | None = None


class LocalServer:
    """A server process, from `start_server` or `get_shared_server`.

    Attributes:
        weights: The GGUF file that it serves.
        base_url: Its address, with `/v1`.
        key: The API key that clients must send: every program and web page on this machine can reach the loopback.
    """

    was_started = True
    """Whether this program started it: of a warm server, another program may have."""

    def __init__(self, child: Child, options: ServerOptions, address: str, key: str) -> None:
        self._child = child
        self.weights = options.weights
        self.base_url = f"{address}/v1"
        self.key = key

    def __repr__(self) -> str:
        return f"LocalServer({self.weights.name!r}, {self.base_url!r}, alive={self.is_alive})"

    @property
    def is_alive(self) -> bool:
        """Whether the process is running."""
        return self._child.is_alive

    @property
    def pid(self) -> int:
        """The process id."""
        return self._child.pid

    def failure(self) -> str | None:
        """Return why it ended, with the last lines of its log; None while it runs."""
        return None if self.is_alive else self._child.describe_exit()

    def stop(self) -> None:
        """End the process, and wait until it has ended. Stopping it twice does nothing."""
        self._child.stop()


def start_server(
    weights: Path,
    *,
    threads: int | None = None,
    context: int = CONTEXT_TOKENS,
    slots: int = SLOTS,
    adapter: Adapter | None = None,
    on_progress: Callable[[float], None] | None = None,
    command: Sequence[str] | None = None,
) -> LocalServer:
    """Start a server for a GGUF file, and wait until its weights are loaded.

    Args:
        weights: The file.
        threads: Threads that compute; by default about one for each usable core.
        context: The most tokens of one conversation.
        slots: The most conversations that are answered at the same time.
        adapter: An adapter for the weights. A request uses it if it has the field `lora` with the scale 1.
        on_progress: Called a few times a second while weights load, with the seconds so far. An exception stops the
            server.
        command: Another program to start in place of the server, for tests.

    Raises:
        UsageError: A file does not exist or is not GGUF, the adapter does not have its hash, or the extra `local` is
            not installed.
        ModelError: The server did not start. The message has the last lines of its log.
    """
    return _launch(build_options(weights, threads, context, slots, adapter), on_progress, command)


def get_shared_server(
    weights: Path,
    *,
    threads: int | None = None,
    context: int = CONTEXT_TOKENS,
    slots: int = SLOTS,
    adapter: Adapter | None = None,
    on_progress: Callable[[float], None] | None = None,
    command: Sequence[str] | None = None,
) -> LocalServer:
    """Return the running server for a GGUF file, or start one. It ends with the program.

    Arguments and errors are those of `start_server`.
    """
    options = build_options(weights, threads, context, slots, adapter)
    with _registry.lock:
        shared = _registry.servers.setdefault((os.getpid(), options, tuple(command or ())), _SharedServer())
    with shared.lock:  # while one thread loads the weights, others wait here
        if shared.server is None or not shared.server.is_alive:
            if shared.server is not None:
                shared.server.stop()
            shared.server = _launch(options, on_progress, command)
        return shared.server


def stop_all() -> None:
    """End every server that `get_shared_server` started in this process."""
    with _registry.lock:
        own = [key for key in _registry.servers if key[0] == os.getpid()]  # a fork must not stop its parent's
        stopped = [_registry.servers.pop(key) for key in own]
    for shared in stopped:
        if shared.server is not None:
            shared.server.stop()


class _SharedServer:
    """A server that is started at most once at a time, and the lock for that."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.server: LocalServer | None = None


class _ServerRegistry:
    """All shared servers, by process id, options and command."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.servers: dict[tuple[int, ServerOptions, tuple[str, ...]], _SharedServer] = {}


_registry = _ServerRegistry()
atexit.register(stop_all)


def build_options(
    weights: Path, threads: int | None, context: int, slots: int, adapter: Adapter | None = None
) -> ServerOptions:
    """Return the options of a server, checked. Raises `UsageError`."""
    for name, value in (("threads", threads), ("context", context), ("slots", slots)):
        if value is not None and value < 1:
            raise UsageError(f"local.{name} is {value}; it takes a whole number, at least 1")
    return ServerOptions(
        weights=_check_weights(weights),
        threads=threads or choose_threads(count_usable_cores()),
        context=context,
        slots=slots,
        adapter=adapter,
    )


def _check_weights(weights: Path) -> Path:
    try:
        with weights.expanduser().open("rb") as file:
            magic = file.read(4)
    except IsADirectoryError:
        raise UsageError(f"{weights} is a folder; name the GGUF file in it") from None
    except OSError as error:
        raise UsageError(f"cannot read {weights}: {error.strerror}") from None
    if magic != b"GGUF":
        raise UsageError(f"{weights} is not a GGUF file, the one format that llama.cpp reads")
    return weights.expanduser().resolve()


def _launch(
    options: ServerOptions, on_progress: Callable[[float], None] | None, command: Sequence[str] | None
) -> LocalServer:
    key = secrets.token_urlsafe(24)
    child = Child(server_command() if command is None else command, child_options(options, key))
    ready = child.wait_until_ready(timeout=STARTUP_TIMEOUT_SECONDS, on_progress=on_progress)
    return LocalServer(child, options, ready["address"], key)


def child_options(options: ServerOptions, key: str) -> dict[str, Any]:
    """Return the options as the process of the server reads them. Raises `UsageError` for a wrong adapter."""
    if options.adapter is not None:
        check_adapter(options.adapter)
    return {
        "weights": str(options.weights),
        "adapter": None if options.adapter is None else str(options.adapter.path),
        "threads": options.threads,
        "context": options.context,
        "slots": options.slots,
        "cache_mib": CACHE_MIB,
        "key": key,
    }


def server_command() -> list[str]:
    """Return the command that starts the process. Raises `UsageError` if the extra `local` is not installed."""
    if importlib.util.find_spec("xllamacpp") is None:
        raise UsageError("the embedded model needs xllamacpp; install it with: pip install 'toolspeak[local]'")
    # By path and isolated: toolspeak is not imported, and neither files beside the program nor variables of the
    # environment can shadow modules.
    return [sys.executable, "-I", str(Path(__file__).with_name("local_server.py"))]
