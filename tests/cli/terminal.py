"""A program in a real pseudo-terminal: tests type keys, and read the screen that the program draws."""

import fcntl
import os
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pyte

from tests.cli.commands import StartedCommand, can_fork

ENTER, CTRL_C, CTRL_D, CTRL_Z, ESCAPE = "\r", "\x03", "\x04", "\x1a", "\x1b"
UP, LEFT, BACKSPACE = "\x1b[A", "\x1b[D", "\x7f"

# Makes the pseudo-terminal the controlling terminal of the program, so that Ctrl-C reaches it.
LAUNCHER = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"


class _Screen(pyte.HistoryScreen):
    """A screen that answers a program's requests, such as that for the position of the cursor."""

    def __init__(self, columns: int, lines: int, answer: Any) -> None:
        super().__init__(columns, lines, history=1000, ratio=0.5)
        self._answer = answer

    def write_process_input(self, data: str) -> None:
        self._answer(data)


class Terminal:
    """A program in a terminal.

    Attributes:
        raw: Everything that the program has written.
    """

    def __init__(self, start: "StartProgram", columns: int, lines: int) -> None:
        self._master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self._process = start(slave)
        self.raw = ""
        self._screen = _Screen(columns, lines, self.type)
        self._stream = pyte.ByteStream(self._screen)

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    @property
    def echoes(self) -> bool:
        """Whether the terminal shows what is typed by itself."""
        flags: int = termios.tcgetattr(self._master)[3]
        return bool(flags & termios.ECHO)

    @property
    def text(self) -> str:
        """The text on the screen, without spaces at the ends of lines."""
        return "\n".join(line.rstrip() for line in self._screen.display).rstrip()

    @property
    def all_text(self) -> str:
        """The text that was scrolled out of the screen, and the text on it."""
        gone = [
            "".join(line[column].data for column in range(self._screen.columns)) for line in self._screen.history.top
        ]
        return "\n".join([*(line.rstrip() for line in gone), self.text])

    def style_of(self, text: str) -> tuple[str, bool]:
        """The colour of a text on the screen, and whether it is bold."""
        for number, line in enumerate(self._screen.display):
            if (column := line.find(text)) >= 0:
                letter = self._screen.buffer[number][column]
                return letter.fg, letter.bold
        raise AssertionError(f"{text!r} is not on the screen:\n{self.text}")

    def wait_for(self, text: str, seconds: float = 60) -> str:
        """Wait until a text is on the screen, and return all text."""
        deadline = time.monotonic() + seconds
        while text not in self.all_text:
            if not self._read(deadline - time.monotonic()):
                raise AssertionError(f"{text!r} did not come; there is:\n{self.all_text}")
        return self.all_text

    def wait_for_match(self, pattern: str, seconds: float = 60) -> None:
        """Wait until the last line matches a pattern as a whole."""
        deadline = time.monotonic() + seconds
        while not re.fullmatch(pattern, self.text.rpartition("\n")[2]):
            if not self._read(deadline - time.monotonic()):
                raise AssertionError(f"the last line does not match {pattern!r}; there is:\n{self.all_text}")

    def wait_for_prompt(self, prompt: str, seconds: float = 60) -> None:
        """Wait until the last line is a prompt, with nothing behind it."""
        deadline = time.monotonic() + seconds
        while self.text.rpartition("\n")[2].strip() != prompt.strip():
            if not self._read(deadline - time.monotonic()):
                raise AssertionError(f"the last line is not {prompt!r}; there is:\n{self.all_text}")

    def wait_for_no_echo(self, seconds: float = 60) -> None:
        """Wait until the terminal no longer shows what is typed by itself."""
        deadline = time.monotonic() + seconds
        while self.echoes:
            assert time.monotonic() < deadline, "the terminal still echoes"
            time.sleep(0.01)

    def reply(self, line: str, prompt: str = "You:") -> None:
        """Wait for a prompt, and type a line."""
        self.wait_for_prompt(prompt)
        self.type(line)
        if line:
            self.wait_for(f"{prompt} {line}"[: self._screen.columns].rstrip())
        self.type(ENTER)

    def wait_for_exit(self, seconds: float = 60) -> int:
        """Wait until the program ends, and return its exit code."""
        deadline = time.monotonic() + seconds
        while self._read(deadline - time.monotonic()):
            pass
        return self._process.wait(max(deadline - time.monotonic(), 0.1))

    def _read(self, seconds: float) -> bool:
        """Read what the program has written; return False if nothing came in time."""
        if not select.select([self._master], [], [], max(seconds, 0))[0]:
            return False
        try:
            data = os.read(self._master, 65536)
        except OSError:  # the program has ended
            return False
        self.raw += data.decode("utf-8", "replace")
        self._stream.feed(data)
        return bool(data)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._master)


StartProgram: TypeAlias = Callable[[int], StartedCommand | subprocess.Popen[bytes]]
"""Starts a program in the terminal with this file descriptor."""


def _start_program(program: Sequence[str], folder: Path, env: Mapping[str, str], slave: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", LAUNCHER, *program]
    quiet = {**env, "PROMPT_TOOLKIT_NO_CPR": "1"}  # a prompt would warn if a busy machine answers after two seconds
    process = subprocess.Popen(
        command, cwd=folder, env=quiet, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
    )
    os.close(slave)
    return process


@contextmanager
def terminal(
    folder: Path, *arguments: str, env: Mapping[str, str] | None = None, columns: int = 80, lines: int = 40
) -> Iterator[Terminal]:
    """Run `toolspeak` with these arguments in a terminal of this size."""
    variables = environment(folder) if env is None else env

    def start(slave: int) -> StartedCommand | subprocess.Popen[bytes]:
        if can_fork(variables):
            return StartedCommand(arguments, [slave] * 3, folder, variables, in_terminal=True)
        return _start_program([sys.executable, "-m", "toolspeak.cli", *arguments], folder, variables, slave)

    program = Terminal(start, columns, lines)
    try:
        yield program
    finally:
        program.close()


@contextmanager
def shell(folder: Path) -> Iterator[Terminal]:
    """Run an interactive shell in a terminal, with `$ ` as its prompt."""
    command = ["/bin/bash", "--norc", "--noediting", "-i"]
    program = Terminal(lambda slave: _start_program(command, folder, environment(folder, PS1="$ "), slave), 80, 40)
    try:
        program.wait_for_prompt("$")
        yield program
    finally:
        program.close()


def environment(home: Path, **variables: str) -> dict[str, str]:
    """Return environment variables without settings, with `home` as the home folder."""
    dropped = ("TOOLSPEAK_", "XDG_", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "TERM")
    own = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    more = {"HOME": str(home), "TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8", "PYTHONDONTWRITEBYTECODE": "1"}
    return {**own, **more, **variables}
