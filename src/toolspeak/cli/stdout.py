"""Keeps standard output for the answer of a command: what modules, tools and their children print goes elsewhere."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import TextIO


@contextmanager
def reserve_stdout() -> Generator[TextIO]:
    """Redirect everything that is printed to standard error, and yield a file that writes to standard output."""
    sys.stdout.flush()
    original = os.dup(1)
    os.dup2(2, 1)
    answer = open(original, "w", encoding=sys.stdout.encoding, errors="backslashreplace", closefd=False)  # noqa: SIM115 (closed below, where a reader that has gone away is no error)
    try:
        with redirect_stdout(sys.stderr):
            yield answer
        answer.flush()
    finally:
        sys.stderr.flush()
        os.dup2(original, 1)
        with suppress(OSError):  # the reader has gone away; the flush above has raised that error
            answer.close()
        os.close(original)
