"""`Child`: a child process that gets options on its standard input, prints one line when it is ready, and writes a log.

Its standard input stays open as long as this program runs. Closing it asks the child to end.
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

from toolspeak.errors import EndpointDown

MAX_LOG_LINES = 12
"""The last lines of the log that are kept for error messages."""

MAX_LOG_LINE_CHARS = 400


class Child:
    """A child process.

    Args:
        command: The program and its arguments.
        options: Written to its standard input as one line of JSON.
        grace: Seconds that it has to end by itself, before it is terminated.
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

        Args:
            timeout: Seconds to wait.
            on_progress: Called a few times a second while waiting, with the seconds so far.

        Raises:
            EndpointDown: It ended, printed something else, or took too long.
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
            self._readers[0].join(1.0)
        ended = (
            "did not start"
            if code is None
            else "was stopped"
            if self._stopped
            else f"ended with {_describe_exit_code(code)}"
        )
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
                    self._log.append(text[:MAX_LOG_LINE_CHARS])

    @staticmethod
    def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
        assert pipe is not None  # noqa: S101 (all three are pipes)
        return pipe


def _describe_exit_code(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"
