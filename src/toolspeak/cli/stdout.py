"""A standard output that holds the answer alone: what modules, tools and their children print goes beside it."""

import os
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path
from typing import TextIO

from toolspeak.tools import Toolbox, discover


@contextmanager
def answer_alone() -> Generator[TextIO]:
    """Send all that is printed to standard error, and give what writes to standard output all the same."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    answer = open(kept, "w", encoding=sys.stdout.encoding, errors="backslashreplace", closefd=False)  # noqa: SIM115
    try:
        with redirect_stdout(sys.stderr):
            yield answer
        answer.flush()
    finally:
        sys.stderr.flush()
        os.dup2(kept, 1)
        with suppress(OSError):  # whoever read it has gone, which was told already
            answer.close()
        os.close(kept)


def found(*targets: str) -> Toolbox:
    """The tools of all targets. As `python -m` has it, modules of the folder one stands in can be named."""
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    with answer_alone():
        boxes: Sequence[Toolbox] = [discover(target) for target in targets]
    if len(boxes) == 1:
        return boxes[0]
    return Toolbox([tool for box in boxes for tool in box], skipped=[each for box in boxes for each in box.skipped])
