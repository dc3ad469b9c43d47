"""Asks a reader in a process of its own, so that every run ends, whatever the reader does.

A reader that raises has answered. One that takes too long, or ends its process, is started again for the next text. If
that happens for `MAX_FAILURES_IN_A_ROW` texts in a row, the reader is not asked any more.
"""

import json
import queue
import subprocess
import sys
from contextlib import suppress
from threading import Thread
from types import TracebackType
from typing import IO, Any, Self

from toolspeak.conformance.records import SpokenRecord
from toolspeak.errors import UsageError

OURS = "toolspeak"
"""The name of our reader, where others are given as `module:function`."""

OUR_TARGET = "toolspeak.conformance.ours:read_calls"

START_SECONDS = 60.0
"""How long a reader may take to be imported."""

MAX_FAILURES_IN_A_ROW = 5
"""Texts in a row without an answer, after which a reader is not asked any more."""


class ReaderProcess:
    """A reader in a process of its own.

    Attributes:
        name: A short name for tables.
        target: Where the reader is: `module:function`, `file.py:function`, or `toolspeak` for ours.
    """

    def __init__(self, target: str, *, timeout_s: float = 5.0) -> None:
        """Name a reader; its process starts when it is first asked.

        Args:
            target: Where the reader is.
            timeout_s: How long it may take for one text.

        Raises:
            UsageError: The target has no colon.
        """
        if target != OURS and not all(target.rpartition(":")):
            raise UsageError(f"{target!r} is no reader: write module:function, file.py:function, or {OURS} for ours")
        self.name = target.rpartition(":")[2]
        self.target = target
        self._timeout_s = timeout_s
        self._failures_in_a_row = 0
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.Queue[str | None] = queue.Queue()

    def __enter__(self) -> Self:
        """Start the reader, so that one that cannot be imported is noticed at once."""
        self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the process."""
        self._stop()

    def ask(self, record: SpokenRecord) -> dict[str, Any]:
        """Ask the reader for the calls in the text of a record.

        Returns:
            `{"calls": …}` with what it returned, or `{"error": …}` with what went wrong.
        """
        if self._failures_in_a_row >= MAX_FAILURES_IN_A_ROW:
            return {"error": f"not asked: it did not answer for {MAX_FAILURES_IN_A_ROW} texts in a row"}
        process = self._process or self._start()
        question = json.dumps({"text": record.text, "tools": record.tools})
        with suppress(OSError):  # the process has ended, which the missing answer tells
            if process.stdin is not None:
                process.stdin.write(question + "\n")
                process.stdin.flush()
        answer = self._next_line(self._timeout_s)
        if isinstance(answer, str):
            self._failures_in_a_row = 0
            return _decode_answer(answer)
        self._failures_in_a_row += 1
        self._stop()
        return {"error": f"no answer after {self._timeout_s:g} s" if answer is None else "its process ended"}

    def _start(self) -> subprocess.Popen[str]:
        target = OUR_TARGET if self.target == OURS else self.target
        # -P keeps the working directory from shadowing modules; the child appends it behind what is installed.
        command = [sys.executable, "-P", "-m", "toolspeak.conformance.child", target]
        process = subprocess.Popen(  # noqa: S603 - the user named the reader
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            errors="surrogatepass",
        )
        self._process = process
        self._lines = queue.Queue()
        if process.stdout is not None:
            Thread(target=_read_lines, args=(process.stdout, self._lines), daemon=True).start()
        answer = self._next_line(START_SECONDS)
        ready = _decode_answer(answer) if isinstance(answer, str) else {}
        if "ready" not in ready:
            self._stop()
            why = ready.get("failed", "its process ended" if answer is not None else "it takes too long to import")
            raise UsageError(f"cannot load the reader {self.target}: {why}")
        return process

    def _next_line(self, timeout_s: float) -> str | bool | None:
        """Return the next line of the process, None if it takes too long, False if the process has ended."""
        try:
            line = self._lines.get(timeout=timeout_s)
        except queue.Empty:
            return None
        return False if line is None else line

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        with suppress(OSError):
            if process.stdin is not None:
                process.stdin.close()


def _read_lines(stream: IO[str], lines: queue.Queue[str | None]) -> None:
    with stream, suppress(OSError, ValueError):
        for line in stream:
            lines.put(line)
    lines.put(None)


def _decode_answer(line: str) -> dict[str, Any]:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return {"error": "what it returned cannot be read as JSON"}
