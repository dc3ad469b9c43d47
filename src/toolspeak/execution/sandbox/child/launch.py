"""The entry point of the child: read the plan, confine this process, run the code, report the result.

The plan comes as JSON on standard input. Reports go, one JSON object a line, to what was standard error when the child
started: `refused` (a part of the confinement could not be set up; nothing ran), `ready` (the time of the code starts
now), and what `run_code` returned. What the code prints, on either stream, goes to standard output. The code could
write reports too, and falsify its own result; that deceives only whoever asked for the result.
"""

import ctypes
import json
import os
import signal
import sys
from io import TextIOWrapper
from typing import Any

from . import library, limits, seccomp
from .interpreter import run_code

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4


def main() -> None:
    """Run the child."""
    with open(0, encoding="utf-8", closefd=False) as stdin:
        plan: dict[str, Any] = json.load(stdin)
    reports = _redirect_streams()
    try:
        _confine(plan)
    except Exception as error:
        _report(reports, {"refused": f"{type(error).__name__}: {error}"})
        return
    _report(reports, {"ready": True})
    result = run_code(plan["code"], plan["output"])
    try:
        sys.stdout.flush()
    finally:
        _report(reports, result)


def _redirect_streams() -> int:
    """Join standard error to standard output, and open `/dev/null` as standard input; return the old standard error."""
    reports = os.dup(2)
    os.dup2(1, 2)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.close(nothing)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # Flushed at each line, so that what was printed is there when a limit ends the process.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    os.environ.clear()  # Python has set a locale for itself
    sys.argv = [""]
    return reports


def _confine(plan: dict[str, Any]) -> None:
    os.umask(0o077)
    is_confined = bool(plan["landlock"] or plan["bubblewrap"])
    limits.set_limits(plan["seconds"], plan["memory"], plan["file_size"], required=is_confined)
    # Before the change of the user id: the rules open files that the other user may not be able to open.
    rules = library.build_ruleset() if plan["landlock"] else None
    if plan["user"] is not None:
        folders = library.open_folders()
        limits.switch_user(plan["user"])
        library.keep_reachable(folders)
    if sys.platform.startswith("linux"):
        _set_process_option(_PR_SET_PDEATHSIG, int(signal.SIGKILL))  # end with the parent
        # The change of the user id hid the open files and mappings of this process, which the parent measures.
        _set_process_option(_PR_SET_DUMPABLE, 1)
    if rules is not None:
        rules.enforce()
    if plan["seccomp"] is not None:
        seccomp.install(plan["seccomp"])


def _set_process_option(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"the kernel refused option {option} of the process")


def _report(reports: int, content: dict[str, Any]) -> None:
    rest = json.dumps(content).encode() + b"\n"
    while rest:
        rest = rest[os.write(reports, rest) :]
