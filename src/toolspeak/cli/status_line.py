"""A line that shows what the program waits for, and for how long. Only terminals show it, and it leaves no trace."""

import threading
import time

from rich.cells import cell_len, set_cell_size
from rich.console import Console

from toolspeak.cli.safe_text import escape_line

START_DELAY_SECONDS = 0.4
"""How long a wait must last before the line is drawn."""

REFRESH_SECONDS = 0.2


class StatusLine:
    """Shows `label, 3 s` on an empty line, with the cursor at its beginning, until it is stopped."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._label = ""
        self._stop: threading.Event | None = None
        self._thread: threading.Thread | None = None

    def start(self, label: str) -> None:
        """Show a label from now on. If the line is shown already, its label changes, and its seconds keep counting."""
        self._label = escape_line(label)
        if not self._console.is_terminal or self._console.is_dumb_terminal or self._thread is not None:
            return
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._draw, args=(self._stop,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Clear the line."""
        if self._thread is not None and self._stop is not None:
            self._stop.set()
            self._thread.join()
            self._thread = None

    def _draw(self, stop: threading.Event) -> None:
        started, is_drawn, file = time.monotonic(), False, self._console.file
        delay = START_DELAY_SECONDS
        while not stop.wait(delay):
            delay, label = REFRESH_SECONDS, self._label
            line = f"{label}, {time.monotonic() - started:.0f} s"
            room = self._console.width - 1  # a full line would move the cursor to the next one
            line = line if cell_len(line) <= room else set_cell_size(label, room)
            file.write(f"\r\x1b[2m{line}\x1b[0m\x1b[K")
            file.flush()
            is_drawn = True
        if is_drawn:
            file.write("\r\x1b[K")
            file.flush()
