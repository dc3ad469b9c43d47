"""The first thing that the child runs: read the plan, put up the walls, run the code, tell the result.

The plan comes as JSON on standard input. Results go, one JSON object a line, to what was standard error when the child
began: `refused` (a wall could not be put up; nothing ran), `ready` (from here the clock runs), what `evaluate` gave.
What the code prints, on either stream, goes to standard output. The code could write to the results too; it would fool
nobody but whoever asked it.
"""

import ctypes
import json
import os
import signal
import sys
from io import TextIOWrapper
from typing import Any

from . import library, limits, seccomp
from .evaluate import evaluate

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Be the child."""
    with open(0, encoding="utf-8", closefd=False) as stdin:
        plan: dict[str, Any] = json.load(stdin)
    results = _streams()
    try:
        _confine(plan)
    except Exception as error:
        _tell(results, {"refused": f"{type(error).__name__}: {error}"})
        return
    _tell(results, {"ready": True})
    done = evaluate(plan["code"], plan["output"])
    try:
        sys.stdout.flush()
    finally:
        _tell(results, done)


def _streams() -> int:
    results = os.dup(2)
    os.dup2(1, 2)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.close(nothing)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # By lines, so that what was printed is there when a limit ends it.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    os.environ.clear()  # Python sets a locale for itself
    sys.argv = [""]
    return results


def _confine(plan: dict[str, Any]) -> None:
    os.umask(0o077)
    strictly = bool(plan["landlock"] or plan["bubblewrap"])
    limits.limit(plan["seconds"], plan["memory"], plan["file_size"], strictly=strictly)
    rules = library.ruleset() if plan["landlock"] else None  # opens what the user below may not be able to
    if plan["user"] is not None:
        folders = library.opened()
        limits.become(plan["user"])
        library.keep_reachable(folders)
    if sys.platform.startswith("linux"):
        _die_with_parent()
    if rules is not None:
        rules.enforce()
    if plan["seccomp"] is not None:
        seccomp.install(plan["seccomp"])


def _die_with_parent() -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "cannot ask to end with the parent")


def _tell(results: int, what: dict[str, Any]) -> None:
    rest = json.dumps(what).encode() + b"\n"
    while rest:
        rest = rest[os.write(results, rest) :]
