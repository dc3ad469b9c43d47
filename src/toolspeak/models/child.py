"""A process that serves us: orders in on its standard input, one line of readiness out, and its log kept for a crash.

It is held by its standard input, which stays open for as long as we live. Closing it is how we ask it to end.
"""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any, cast

from toolspeak.errors import ModelError

LINES = 12
"""Lines of its log that are kept to be told."""

LINE = 400
"""Characters of such a line."""


class Child:
    """A child process.

    Args:
        command: The program.
        orders: What it is told, as one line of JSON.
        grace: Seconds it has to end by itself.
    """

    def __init__(self, command: Sequence[str], orders: Mapping[str, Any], *, grace: float = 3.0) -> None:
        try:
            # A group of its own: Ctrl-C in the terminal is not meant for it.
            self._process = subprocess.Popen(  # noqa: S603 (no shell, and the command is ours)
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                process_group=0 if sys.platform != "win32" else None,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            )
        except OSError as error:
            raise ModelError(f"the embedded model could not be started: {error.strerror or error}") from None
        self._grace = grace
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._stopped = False
        self._last: deque[str] = deque(maxlen=LINES)
        self._said: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._readers = [
            threading.Thread(target=self._keep_log, name="toolspeak-local-log", daemon=True),
            threading.Thread(target=self._hear, name="toolspeak-local-ready", daemon=True),
        ]
        for reader in self._readers:
            reader.start()
        with contextlib.suppress(OSError):  # dead already: then nothing will be said, and the log says why
            stdin = self._pipe(self._process.stdin)
            stdin.write(json.dumps(dict(orders)).encode() + b"\n")
            stdin.flush()

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it is running."""
        return self._process.poll() is None

    def ready(self, *, within: float, on_progress: Callable[[float], None] | None) -> dict[str, Any]:
        """Wait for what it says when it can be asked; it is stopped if that does not come.

        Raises:
            ModelError: It ended, or took too long.
        """
        try:
            line = self._line(within, on_progress)
            said = json.loads(line) if line.strip() else None
        except ValueError:
            said = None
        except BaseException:
            self.stop()
            raise
        if not isinstance(said, dict):
            with contextlib.suppress(subprocess.TimeoutExpired):  # it closed its output: it is about to end by itself
                self._process.wait(self._grace)
            ended = self.obituary()
            self.stop()
            raise ModelError(ended)
        return cast("dict[str, Any]", said)

    def obituary(self) -> str:
        """How it ended, and the last lines it wrote."""
        code = self._process.poll()
        if code is not None:
            self._readers[0].join(1.0)
        ended = "did not start" if code is None else "was stopped" if self._stopped else f"ended with {_exit(code)}"
        log = "\n".join(self._last)
        return f"the embedded model {ended}" + (f"; the last lines of its log:\n{log}" if log else "")

    def stop(self) -> None:
        """End it, and wait until it is gone."""
        if os.getpid() != self._owner:  # a fork: the child is our parent's
            return
        with self._lock:
            self._stopped = self._stopped or self._process.poll() is None
            with contextlib.suppress(OSError):
                self._pipe(self._process.stdin).close()
            self._end()
        for reader in self._readers:
            reader.join(1.0)

    def _end(self) -> None:
        for push in (self._process.terminate, self._process.kill):
            try:
                self._process.wait(self._grace)
                return
            except subprocess.TimeoutExpired:
                push()
        self._process.wait()

    def _line(self, within: float, on_progress: Callable[[float], None] | None) -> bytes:
        began = time.monotonic()
        while True:
            try:
                return self._said.get(timeout=0.2)
            except queue.Empty:
                passed = time.monotonic() - began
            if passed > within:
                raise ModelError(f"the embedded model was not ready within {within:g} seconds, and was stopped")
            if on_progress is not None:
                on_progress(passed)

    def _hear(self) -> None:
        with self._pipe(self._process.stdout) as output:
            self._said.put(output.readline(65536))
            while output.read(65536):  # what else it may print must not stop it
                pass

    def _keep_log(self) -> None:
        with self._pipe(self._process.stderr) as log:
            while line := log.readline(65536):
                if text := line.decode("utf-8", "replace").rstrip():
                    self._last.append(text[:LINE])

    @staticmethod
    def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
        assert pipe is not None  # noqa: S101 (all three were asked for)
        return pipe


def _exit(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"
