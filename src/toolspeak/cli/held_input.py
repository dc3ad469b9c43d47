"""Holds back what the user types while nobody reads it, so that it is not echoed into what the program draws.

A terminal echoes each key at once, wherever the cursor stands. `HeldInput` turns the echo off; the keys wait in the
terminal until `take` reads them. Ctrl-C and Ctrl-Z work as ever, and whatever ends or stops the program, the terminal
first gets its own modes back.
"""

import os
import re
import select
import signal
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, TypeAlias

IS_SUPPORTED = sys.platform != "win32"
"""Elsewhere than on POSIX nothing is held back: the terminal echoes, and the next prompt reads what was typed."""

TerminalModes: TypeAlias = list[Any]
"""What `termios.tcgetattr` returns."""

_ESCAPE_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|.)?", re.DOTALL)
_BACKSPACES, _CLEAR_LINE = "\x7f\b", "\x15"
_LOCAL_MODES, _CONTROL_CHARACTERS = 3, 6  # places in the list of modes
READ_BYTES = 65536


class HeldInput:
    """The keys that are typed at a terminal while the program does not read them.

    Args:
        terminal: The file descriptor of the terminal.
    """

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal

    @contextmanager
    def hold(self) -> Generator[None]:
        """Turn the echo off within this context, except while the program is stopped by Ctrl-Z."""
        if not IS_SUPPORTED or threading.current_thread() is not threading.main_thread():
            yield
            return
        import termios

        modes: TerminalModes = termios.tcgetattr(self._terminal)

        def stop(number: int, frame: FrameType | None) -> None:
            self._set_modes(modes)
            signal.signal(signal.SIGTSTP, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGTSTP)  # the program stops here, and continues here
            signal.signal(signal.SIGTSTP, stop)
            if os.tcgetpgrp(self._terminal) == os.getpgrp():  # a background program may not change the terminal
                self._set_modes(_without_echo(modes))

        def end(number: int, frame: FrameType | None) -> None:
            self._set_modes(modes)
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

        handlers = {
            signal.SIGTSTP: stop,
            signal.SIGTERM: end,
            signal.SIGHUP: end,
            signal.SIGQUIT: end,
        }
        previous = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        self._set_modes(_without_echo(modes))
        try:
            yield
        finally:
            self._set_modes(modes)
            for number, handler in previous.items():
                signal.signal(number, handler)

    def take(self) -> str:
        """Return what has been typed and not been read, as text. The caller has the terminal's input for itself."""
        typed = b""
        while IS_SUPPORTED and select.select([self._terminal], [], [], 0)[0]:
            if not (data := os.read(self._terminal, READ_BYTES)):
                break
            typed += data
        return typed.decode("utf-8", "replace")

    def _set_modes(self, modes: TerminalModes) -> None:
        import termios

        with suppress(termios.error):  # the terminal may be gone
            termios.tcsetattr(self._terminal, termios.TCSANOW, modes)


def _without_echo(modes: TerminalModes) -> TerminalModes:
    """Return modes in which keys are neither echoed nor collected to lines. Ctrl-C and Ctrl-Z still send signals."""
    import termios

    quiet = [*modes]
    quiet[_LOCAL_MODES] = modes[_LOCAL_MODES] & ~(termios.ECHO | termios.ICANON) | termios.NOFLSH  # Ctrl-C drops no key
    quiet[_CONTROL_CHARACTERS] = characters = [*modes[_CONTROL_CHARACTERS]]
    characters[termios.VMIN], characters[termios.VTIME] = 1, 0
    return quiet


def read_keys(keys: str) -> str:
    """Return the text that keys leave in a line editor. Enter is a line break, and the ones at the end are left out.

    Keys that edit the text before them are followed; arrows and other control keys are passed over.
    """
    text = ""
    for key in _ESCAPE_SEQUENCE.sub("", keys).replace("\r", "\n"):
        if key in _BACKSPACES:
            text = text[:-1]
        elif key == _CLEAR_LINE:
            text = ""
        elif key.isprintable() or key in "\n\t":
            text += key
    return text.strip("\n")
