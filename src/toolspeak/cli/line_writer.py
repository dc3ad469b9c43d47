"""`LineWriter`: writes lines in a thread of its own, so that whoever reads them slowly holds up nobody else."""

import logging
import queue
import threading
from typing import Self, TextIO

MAX_WAITING_LINES = 1_000
"""Lines that wait for a slow reader. Further ones are dropped."""

MAX_CLOSING_SECONDS = 2.0
"""How long the lines that wait may take to be written at the end."""

log = logging.getLogger("toolspeak.gateway")


class LineWriter:
    """A context in which lines are written to a stream. A reader who has gone away is no error."""

    def __init__(self, stream: TextIO, max_waiting: int = MAX_WAITING_LINES) -> None:
        self._stream = stream
        self._waiting: queue.Queue[str | None] = queue.Queue(max_waiting)
        self._has_dropped = False
        self._thread = threading.Thread(target=self._run, name="toolspeak-lines", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        try:
            self._waiting.put(None, timeout=MAX_CLOSING_SECONDS)
        except queue.Full:
            return
        self._thread.join(MAX_CLOSING_SECONDS)

    def write(self, line: str) -> None:
        """Write a line, given without its end, soon."""
        try:
            self._waiting.put_nowait(line)
        except queue.Full:
            if not self._has_dropped:
                log.warning("exchanges are not shown any more: whoever reads them is too slow")
            self._has_dropped = True
        else:
            self._has_dropped = False

    def _run(self) -> None:
        is_read = True
        while (line := self._waiting.get()) is not None:
            try:
                if is_read:
                    self._stream.write(f"{line}\n")
                    self._stream.flush()
            except (OSError, ValueError):  # the reader has gone away
                is_read = False
