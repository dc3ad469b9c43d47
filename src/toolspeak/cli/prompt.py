"""The prompt of `toolspeak run`: the argument, followed by the text that is piped in.

A pipe may also be one that nobody writes to: some programs leave one open. Its text cannot be told from the text of a
slow command, so the run waits for it, as other commands do, and after a few seconds says so on standard error.
"""

import os
import queue
import sys
import threading

from toolspeak.cli.safe_text import print_error
from toolspeak.errors import UsageError

FIRST_BYTE_SECONDS = 3.0
"""How long a pipe beside a prompt may stay silent before the user is told that the run waits for it."""

CHUNK_BYTES = 65_536


def read_prompt(argument: str | None, *, takes_input: bool = True, template: str | None = None) -> str:
    """Return the prompt: the argument, a blank line and the piped text; without an argument or with `-`, that text.

    Args:
        argument: The argument of the command.
        takes_input: Whether standard input belongs to the prompt. Otherwise it is an attachment.
        template: The name of the template that the prompt is put into.

    Raises:
        UsageError: There is no prompt.
    """
    if not takes_input and argument in (None, "-"):
        raise UsageError("standard input is an attachment here, so give the prompt as an argument")
    is_piped = takes_input and sys.stdin is not None and not sys.stdin.isatty()
    if argument is None or argument == "-":
        if argument is None and not is_piped:
            raise UsageError(
                _explain_missing_input(template)
                if template
                else 'there is no prompt; write toolspeak run "PROMPT", or - to read the prompt from standard input'
            )
        parts = [_decode(PipeReader().read())]
    else:
        parts = [argument, _decode(_read_beside_prompt()) if is_piped else ""]
    prompt = "\n\n".join(part for part in parts if part.strip())
    if not prompt:
        raise UsageError(_explain_missing_input(template) if template else "the prompt is empty")
    return prompt


def _explain_missing_input(template: str) -> str:
    return f"the template {template} needs input; give it as the prompt, or pipe it into the command"


def _read_beside_prompt() -> bytes:
    """Return the piped bytes. Say that the run waits for them, if they are late."""
    reader = PipeReader()
    if not reader.wait(FIRST_BYTE_SECONDS):
        print_error("waiting for standard input, which belongs to the prompt; < /dev/null avoids it")
    return reader.read()


def _decode(data: bytes) -> str:
    """Return the piped text without the line ends at its end."""
    try:
        return data.decode().rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise UsageError(f"standard input is not UTF-8 text (byte {error.start:,})") from None


class PipeReader:
    """Reads standard input in a thread, so that the caller can stop waiting for it.

    The thread reads the descriptor itself: a thread that waits in `sys.stdin` would hold a lock that Python needs in
    order to exit.
    """

    def __init__(self) -> None:
        self._chunks: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._first: bytes | None = None
        threading.Thread(target=self._work, daemon=True).start()

    def wait(self, seconds: float) -> bool:
        """Return whether the first byte, or the end, arrived within so many seconds."""
        try:
            self._first = self._chunks.get(timeout=seconds)
        except queue.Empty:
            return False
        return True

    def read(self) -> bytes:
        """Return everything up to the end."""
        chunks: list[bytes] = []
        chunk = self._chunks.get() if self._first is None else self._first
        while chunk:
            chunks.append(chunk)
            chunk = self._chunks.get()
        return b"".join(chunks)

    def _work(self) -> None:
        while True:
            try:
                chunk = os.read(0, CHUNK_BYTES)
            except OSError:  # standard input is closed, or cannot be read by a process in the background
                chunk = b""
            self._chunks.put(chunk)
            if not chunk:
                return
