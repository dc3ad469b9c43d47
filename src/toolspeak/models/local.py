"""The embedded model: llama.cpp in a child process, which serves an OpenAI-compatible endpoint on the loopback.

A process of its own, so that a crash there is an error here and no more. It is started when it is first needed, reused
by whoever needs the same weights in the same way, started anew if it died, and gone with the program: it ends when the
pipe to it is closed. Everything here may be called from any thread, and blocks: weights take seconds to load.
"""

import atexit
import importlib.util
import os
import secrets
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from toolspeak._frozen import frozen
from toolspeak.errors import UsageError
from toolspeak.models.child import Child
from toolspeak.models.cores import usable_cores, worthwhile_threads

CONTEXT = 8192
SLOTS = 1
CACHE_MIB = 1024
"""Memory for conversations that wait: one that comes back need not be read again."""

LOADING = 600.0
"""Seconds that weights may take to load: a large file on a slow disk takes minutes."""


@frozen
class Orders:
    """How a server is to be run; two that ask for the same share one."""

    weights: Path
    threads: int
    context: int
    slots: int


class LocalServer:
    """A running server. Made by `start` or `local_server`.

    Attributes:
        weights: The file it serves.
        base_url: Its address, with `/v1`.
        key: What a client must send as its key: the loopback is open to every program and web page on the machine.
    """

    def __init__(self, child: Child, orders: Orders, address: str, key: str) -> None:
        self._child = child
        self.weights = orders.weights
        self.base_url = f"{address}/v1"
        self.key = key

    def __repr__(self) -> str:
        return f"LocalServer({self.weights.name!r}, {self.base_url!r}, alive={self.alive})"

    @property
    def alive(self) -> bool:
        """Whether the process is running."""
        return self._child.alive

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._child.pid

    def failure(self) -> str | None:
        """Why it is no longer running, with the last lines it wrote; None while it runs."""
        return None if self.alive else self._child.obituary()

    def stop(self) -> None:
        """End the process, and wait until it is gone. To stop what is stopped does nothing."""
        self._child.stop()


def start(
    weights: Path,
    *,
    threads: int | None = None,
    context: int = CONTEXT,
    slots: int = SLOTS,
    on_progress: Callable[[float], None] | None = None,
    command: Sequence[str] | None = None,
) -> LocalServer:
    """Start a server for a GGUF file, and come back when it can be asked.

    Args:
        weights: The file.
        threads: Threads that compute; by default about one for each core that may be used.
        context: Tokens that fit into one conversation.
        slots: Conversations that are answered at the same time.
        on_progress: Called a few times a second while weights load, with the seconds so far. What it raises ends it.
        command: Another program to start in place of the server, for tests.

    Raises:
        UsageError: There is no such file, it is not GGUF, or the extra is not installed.
        ModelError: The server did not start; the message has the last lines it wrote.
    """
    orders = _orders(weights, threads, context, slots)
    return _started(orders, on_progress, command)


def local_server(
    weights: Path,
    *,
    threads: int | None = None,
    context: int = CONTEXT,
    slots: int = SLOTS,
    on_progress: Callable[[float], None] | None = None,
    command: Sequence[str] | None = None,
) -> LocalServer:
    """The server for a GGUF file: the one that runs, or a new one. It ends with the program.

    Takes what `start` takes, and raises what it raises.
    """
    orders = _orders(weights, threads, context, slots)
    with _SHARED.lock:
        place = _SHARED.places.setdefault((os.getpid(), orders, tuple(command or ())), _ServerPlace())
    with place.lock:  # the second to ask for a model that is loading waits for the first
        if place.server is None or not place.server.alive:
            if place.server is not None:
                place.server.stop()
            place.server = _started(orders, on_progress, command)
        return place.server


def stop_all() -> None:
    """End every server that `local_server` gave to this process."""
    with _SHARED.lock:
        mine = [key for key in _SHARED.places if key[0] == os.getpid()]  # a fork has its parent's, and must let them be
        places = [_SHARED.places.pop(key) for key in mine]
    for place in places:
        if place.server is not None:
            place.server.stop()


class _ServerPlace:
    """Room for one server, and a lock so that only one is started."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.server: LocalServer | None = None


class _Shared:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.places: dict[tuple[int, Orders, tuple[str, ...]], _ServerPlace] = {}


_SHARED = _Shared()
atexit.register(stop_all)


def _orders(weights: Path, threads: int | None, context: int, slots: int) -> Orders:
    for name, value in (("threads", threads), ("context", context), ("slots", slots)):
        if value is not None and value < 1:
            raise UsageError(f"local.{name} is {value}; it takes a whole number, at least 1")
    return Orders(
        weights=_checked(weights), threads=threads or worthwhile_threads(usable_cores()), context=context, slots=slots
    )


def _checked(weights: Path) -> Path:
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


def _started(orders: Orders, on_progress: Callable[[float], None] | None, command: Sequence[str] | None) -> LocalServer:
    key = secrets.token_urlsafe(24)
    child = Child(
        _own_command() if command is None else command,
        {
            "weights": str(orders.weights),
            "threads": orders.threads,
            "context": orders.context,
            "slots": orders.slots,
            "cache_mib": CACHE_MIB,
            "key": key,
        },
    )
    said = child.ready(within=LOADING, on_progress=on_progress)
    return LocalServer(child, orders, said["address"], key)


def _own_command() -> list[str]:
    if importlib.util.find_spec("xllamacpp") is None:
        raise UsageError("the embedded model needs xllamacpp; install it with: pip install 'toolspeak[local]'")
    # By path and with -P: nothing of toolspeak is loaded, and no file beside it is taken for a module.
    return [sys.executable, "-P", str(Path(__file__).with_name("local_server.py"))]
