"""`WarmServer`: the server of an embedded model that outlives the program that started it.

A command that lasts seconds should not load weights for seconds. A warm server belongs to the user: there is one for
each model and set of options, every program of the user may use it, and it ends by itself when it is idle. Three files
in a folder that only the user may enter describe it:

- `NAME.running`: locked by the server while it runs; holds its process id.
- `NAME.use`: locked, shared, by each program that uses the server. The server is idle while nobody holds the lock, so a
  program that crashes cannot keep it alive.
- `NAME.json`: its address and key, mode 0600, written when the weights are loaded.

Locks find it, and not process ids: the system releases the lock of a process that died, and gives its id to another.
They are locks of POSIX systems; `is_supported` tells.

All prompts go to the address in these files, so nobody else may have written them. The folder may be in a cache that
several users share: it is opened once, the descriptor is asked whose it is, and all files are opened from there. Their
names may mean something else a moment later; the descriptor does not.

A program with `Agent("local")` does not use the warm server of
commands: it neither waits for somebody's commands nor depends on what they left running.
"""

import contextlib
import hashlib
import json
import os
import secrets
import signal
import stat
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from toolspeak.models.local import (
    MAX_LOG_LINES,
    STARTUP_TIMEOUT_SECONDS,
    ServerOptions,
    check_options,
    child_options,
    is_read,
    server_command,
)
from toolspeak.models.weights import exclusive_lock
from toolspeak.settings.files import create_folder
from toolspeak.values.errors import EndpointDown, UsageError
from toolspeak.values.frozen import frozen
from toolspeak.values.package import __version__

STOP_TIMEOUT_SECONDS = 5.0
"""Time that a server has to end after it was asked to, before it is killed."""

POLL_SECONDS = 0.1

is_supported = sys.platform != "win32"


@frozen
class WarmOptions:
    """How long a server is kept warm, and where its files are."""

    folder: Path  # it is created for this user alone
    idle_seconds: float = 300.0  # the time after the last use at which the server ends


@frozen
class WarmStatus:
    """What is known of a warm server."""

    weights: Path
    pid: int
    phase: Literal["loading", "in use", "idle"]
    idle_seconds: float  # the time since its last use
    ends_after: float  # the time without use at which it ends
    started: float  # in seconds since 1970


class WarmServer:
    """A running warm server, from `get_warm_server`. The server is in use as long as this object exists.

    It has the attributes of a `LocalServer`. `was_started` says whether this program started it, and `idle_seconds` the
    time after its last use at which it ends.
    """

    def __init__(
        self, options: ServerOptions, files: "_Files", use: int, state: dict[str, Any], *, was_started: bool
    ) -> None:
        self.weights = options.weights
        self.options = options
        self.idle_seconds: float = files.read_options()["idle_seconds"]
        self.was_started = was_started
        self.base_url = f"{state['address']}/v1"
        self.key: str = state["key"]
        self.pid: int = state["pid"]
        self._files = files
        self._close_use = weakref.finalize(self, os.close, use)

    def __repr__(self) -> str:
        return f"WarmServer({self.weights.name!r}, {self.base_url!r}, alive={self.is_alive})"

    @property
    def is_alive(self) -> bool:
        """Whether the process is running."""
        return self._files.is_running()

    def has_read(self, note: str) -> bool:
        """Whether it has read the beginning of a prompt for any program, and has not forgotten it since."""
        try:
            return is_read(note, self._files.folder.read(self._files.prompts).splitlines(), self.options)
        except (OSError, UsageError):
            return False

    def note_read(self, note: str) -> None:
        """Remember that it has read the beginning of a prompt."""
        with contextlib.suppress(OSError, UsageError):
            self._files.folder.append(self._files.prompts, f"{note}\n")

    def release(self) -> None:
        """Declare that this program does not use the server any more."""
        self._close_use()


def get_warm_server(
    options: ServerOptions,
    warm: WarmOptions,
    *,
    on_progress: Callable[[float], None] | None = None,
    command: Sequence[str] | None = None,
) -> WarmServer:
    """Return the warm server with these options, or start one and wait until its weights are loaded.

    Arguments and errors are those of `start_server` in `local.py`; `warm` says how long the server is kept, if it must
    be started, and where its files are. If `on_progress` raises, the server goes on loading.
    """
    import fcntl

    options = check_options(options)
    files = _Files.create(warm.folder, options, command)
    started = time.monotonic()

    def report() -> None:
        if on_progress is not None:
            on_progress(time.monotonic() - started)

    use = files.folder.open(files.use)  # closing it releases the lock
    try:
        fcntl.flock(use, fcntl.LOCK_SH)
        with exclusive_lock(os.fdopen(files.folder.open(files.start), "r+b"), report, interval=POLL_SECONDS):
            was_started = not files.is_running()
            if was_started:
                _launch(files, options, warm, command)
            state = _wait_until_loaded(files, report)
    except BaseException:
        os.close(use)
        raise
    return WarmServer(options, files, use, state, was_started=was_started)


def list_warm_servers(folder: Path) -> list[WarmStatus]:
    """Return the warm servers that run."""
    return [files.status() for files in _Files.find_running(folder)]


def stop_warm_servers(folder: Path) -> list[WarmStatus]:
    """End all warm servers, wait until they have ended, and return what they were."""
    stopped: list[WarmStatus] = []
    for files in _Files.find_running(folder):
        stopped.append(files.status())
        _stop(files)
    return stopped


class _Folder:
    """A folder that belongs to the user alone, held open."""

    def __init__(self, path: Path) -> None:
        """Open a folder, or raise `FileNotFoundError`. Raises `UsageError` if it belongs to somebody else."""
        try:
            self.descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise UsageError(f"cannot use {path} for warm servers: {error.strerror}") from None
        weakref.finalize(self, os.close, self.descriptor)
        self._path = path
        status = os.fstat(self.descriptor)
        if status.st_uid != os.geteuid():
            raise self._refuse("the folder")
        if status.st_mode & 0o077:
            os.fchmod(self.descriptor, 0o700)  # what others have put there meanwhile does not belong to the user

    @staticmethod
    def create(path: Path) -> "_Folder":
        """Open a folder, and create it if there is none."""
        try:
            create_folder(path, 0o700)
        except OSError as error:
            raise UsageError(f"cannot create {path} for warm servers: {error.strerror}") from None
        return _Folder(path)

    def open(self, name: str, flags: int = os.O_RDWR) -> int:
        """Open a file, which only the user may read if it is created. Raises `UsageError` if it is somebody else's."""
        safe = os.O_NOFOLLOW | os.O_NONBLOCK  # no link, and no pipe that would wait for a writer
        descriptor = os.open(name, flags | safe, 0o600, dir_fd=self.descriptor)
        status = os.fstat(descriptor)
        if status.st_uid != os.geteuid() or not stat.S_ISREG(status.st_mode):
            os.close(descriptor)
            raise self._refuse(f"the file {name} in the folder")
        return descriptor

    def read(self, name: str) -> str:
        """Return the text of a file. Raises `FileNotFoundError` if there is none."""
        with os.fdopen(self.open(name, os.O_RDONLY), encoding="utf-8", errors="replace") as file:
            return file.read()

    def write(self, name: str, text: str) -> None:
        """Write a file."""
        with os.fdopen(self.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w", encoding="utf-8") as file:
            file.write(text)

    def append(self, name: str, text: str) -> None:
        """Write to the end of a file."""
        with os.fdopen(self.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "a", encoding="utf-8") as file:
            file.write(text)

    def remove(self, name: str) -> None:
        """Remove a file, if there is one."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self.descriptor)

    def modified(self, name: str) -> float:
        """Return when a file was last written, in seconds since 1970."""
        return os.stat(name, dir_fd=self.descriptor, follow_symlinks=False).st_mtime

    def list_names(self) -> list[str]:
        """Return the names of the files."""
        return sorted(os.listdir(self.descriptor))  # noqa: PTH208 (a descriptor is no path)

    def is_locked(self, name: str, *, shared: bool) -> bool:
        """Whether somebody holds the lock of a file, which its holders share or not.

        Whoever looks has the lock for a moment. One that is not shared is tried with a shared one, so that two programs
        that look at once do not take each other for its holder.
        """
        import fcntl

        with os.fdopen(self.open(name), "r+b") as file:
            try:
                fcntl.flock(file, (fcntl.LOCK_EX if shared else fcntl.LOCK_SH) | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    def _refuse(self, what: str) -> UsageError:
        return UsageError(
            f"{what} {self._path} belongs to another user, who could answer in place of the embedded model; remove it, "
            "choose another cache folder with TOOLSPEAK_CACHE_FOLDER, or set local.keep_minutes to none"
        )


class _Files:
    """The files of one warm server: their names in a folder."""

    def __init__(self, folder: _Folder, name: str) -> None:
        self.folder = folder
        names = (f"{name}.{suffix}" for suffix in ("running", "use", "start", "json", "options", "log", "prompts"))
        self.running, self.use, self.start, self.state, self.options, self.log, self.prompts = names

    @staticmethod
    def create(path: Path, options: ServerOptions, command: Sequence[str] | None) -> "_Files":
        """Return the files of the server with these options. The lock files are created."""
        # Another version of toolspeak may serve in another way.
        identity = [str(options.weights), options.threads, options.context, options.slots, list(command or ())]
        identity.append(None if options.prompts is None else str(options.prompts))
        adapters: list[str | int] = []
        for file in () if options.adapter is None else options.adapter.paths:
            try:
                status = file.stat()
            except OSError as error:
                raise UsageError(f"cannot read the adapter {file}: {error.strerror}") from None
            adapters += [str(file), status.st_size, status.st_mtime_ns]  # it may be trained anew
        digest = hashlib.sha256(json.dumps([__version__, sys.executable, *identity, adapters]).encode()).hexdigest()
        files = _Files(_Folder.create(path), digest[:16])
        for name in (files.running, files.use, files.start):
            os.close(files.folder.open(name, os.O_CREAT | os.O_RDWR))
        return files

    @staticmethod
    def find_running(path: Path) -> "Iterator[_Files]":
        try:
            folder = _Folder(path)
        except FileNotFoundError:
            return
        for name in folder.list_names():
            if name.endswith(".running") and (files := _Files(folder, name.removesuffix(".running"))).is_running():
                yield files

    def is_running(self) -> bool:
        """Whether a server holds its lock."""
        return self.folder.is_locked(self.running, shared=False)

    def pid(self) -> int | None:
        """Return the process id that the server wrote; None before it has."""
        text = self.folder.read(self.running)
        return int(text) if text.isdecimal() else None

    def read_options(self) -> dict[str, Any]:
        """Return the weights and the time at which the server ends without use."""
        return json.loads(self.folder.read(self.options))

    def status(self) -> WarmStatus:
        """Return what is known of the server, which must be running."""
        options = self.read_options()
        loaded = self.state in self.folder.list_names()
        return WarmStatus(
            weights=Path(options["weights"]),
            pid=self.pid() or 0,
            phase="loading" if not loaded else "in use" if self.folder.is_locked(self.use, shared=True) else "idle",
            idle_seconds=max(0.0, time.time() - self.folder.modified(self.use)),
            ends_after=options["idle_seconds"],
            started=self.folder.modified(self.options),
        )


def _launch(files: _Files, options: ServerOptions, warm: WarmOptions, command: Sequence[str] | None) -> None:
    folder = files.folder
    for name in (files.state, files.prompts):  # of a server that was killed, or has ended
        folder.remove(name)
    folder.write(files.options, json.dumps({"weights": str(options.weights), "idle_seconds": warm.idle_seconds}))
    os.utime(files.use, dir_fd=folder.descriptor, follow_symlinks=False)
    line = child_options(options, secrets.token_urlsafe(24)) | {
        "warm": {
            "folder": folder.descriptor,
            "running": files.running,
            "use": files.use,
            "state": files.state,
            "idle_seconds": warm.idle_seconds,
        }
    }
    with os.fdopen(folder.open(files.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as log:
        # In a session of its own, so that closing the terminal does not end it. In the root folder: libraries that it
        # loads may look for others in the current folder, and no folder should be kept from being removed.
        finished = subprocess.run(  # noqa: S603 (no shell, and the command is ours)
            server_command() if command is None else command,
            cwd=os.sep,
            input=json.dumps(line).encode() + b"\n",
            stdout=log,
            stderr=log,
            pass_fds=(folder.descriptor,),
            start_new_session=True,
            check=False,
        )
    if finished.returncode != 0:
        raise EndpointDown(_describe_failure(files))


def _wait_until_loaded(files: _Files, report: Callable[[], None]) -> dict[str, Any]:
    end = time.monotonic() + STARTUP_TIMEOUT_SECONDS
    while True:
        with contextlib.suppress(FileNotFoundError):
            return json.loads(files.folder.read(files.state))
        if not files.is_running():
            raise EndpointDown(_describe_failure(files))
        if time.monotonic() > end:
            _stop(files)
            raise EndpointDown(
                f"the embedded model was not ready within {STARTUP_TIMEOUT_SECONDS:g} seconds, and was stopped"
            )
        time.sleep(POLL_SECONDS)
        report()


def _describe_failure(files: _Files) -> str:
    log = ""
    with contextlib.suppress(OSError):
        log = "\n".join(files.folder.read(files.log).splitlines()[-MAX_LOG_LINES:])
    return "the embedded model did not start" + (f"; the last lines of its log:\n{log}" if log else "")


def _stop(files: _Files) -> None:
    for signal_number in (signal.SIGTERM, signal.SIGKILL):
        pid = files.pid()
        if pid is None or not files.is_running():
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal_number)
        end = time.monotonic() + STOP_TIMEOUT_SECONDS
        while files.is_running() and time.monotonic() < end:
            time.sleep(POLL_SECONDS)
    files.folder.remove(files.state)
