"""A line that says what is being waited for, and for how long. It is drawn in a terminal only, and leaves no trace."""

import threading
import time

from rich.cells import cell_len, set_cell_size
from rich.console import Console

PATIENCE = 0.4
"""Seconds before it shows: what comes at once needs no word."""

STEP = 0.2


class Ticker:
    """Shows `label, 3 s` where the cursor stands, at the beginning of an empty line, until it is stopped."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._label = ""
        self._stop: threading.Event | None = None
        self._thread: threading.Thread | None = None

    def start(self, label: str) -> None:
        """Show it from now on. What is shown already goes on."""
        if not self._console.is_terminal or self._console.is_dumb_terminal or (self._thread and label == self._label):
            return
        self.stop()
        self._label = label
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._draw, args=(label, self._stop), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Take it away; the line is empty again."""
        if self._thread is not None and self._stop is not None:
            self._stop.set()
            self._thread.join()
            self._thread = None

    def _draw(self, label: str, stop: threading.Event) -> None:
        begun, shown, file = time.monotonic(), False, self._console.file
        wait = PATIENCE
        while not stop.wait(wait):
            wait = STEP
            line = f"{label}, {time.monotonic() - begun:.0f} s"
            room = self._console.width - 1  # a full line would move the cursor to the next one
            line = line if cell_len(line) <= room else set_cell_size(label, room)
            file.write(f"\r\x1b[2m{line}\x1b[0m\x1b[K")
            file.flush()
            shown = True
        if shown:
            file.write("\r\x1b[K")
            file.flush()
