"""The entry point of the child: read the plan, confine this process, run the code, report the result.

The plan comes as JSON on standard input. Reports go, one JSON object a line, to what was standard error when the child
started: `refused` (a part of the confinement could not be set up; nothing ran), `ready` (the time of the code starts
now), and what `run_code` returned. What the code prints, on either stream, goes to standard output. The code could
write reports too, and falsify its own result; that deceives only whoever asked for the result.
"""

import ast
import builtins
import json
import linecache
import os
import sys
import traceback
from io import TextIOWrapper
from types import ModuleType, TracebackType
from typing import Any

from .confine import confine

FILE_NAME = "<code>"


def main() -> None:
    """Run the child."""
    with open(0, encoding="utf-8", closefd=False) as stdin:
        plan: dict[str, Any] = json.load(stdin)
    reports = _redirect_streams()
    try:
        confine(plan)
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


def _report(reports: int, content: dict[str, Any]) -> None:
    rest = json.dumps(content).encode() + b"\n"
    while rest:
        rest = rest[os.write(reports, rest) :]


def run_code(code: str, max_chars: int) -> dict[str, str | None]:
    """Run code; return its `value` (as text) and its `error`, both cut to `max_chars` characters."""
    linecache.cache[FILE_NAME] = (len(code), None, code.splitlines(keepends=True), FILE_NAME)
    try:
        value = _run(code)
        shown = None if value is None else repr(value)[:max_chars]
        return {"value": shown, "error": None}
    except SystemExit as end:  # leaving is an error only with an exit code other than 0
        return {"value": None, "error": None if end.code in (None, 0) else f"SystemExit: {end.code}"[:max_chars]}
    except BaseException as error:
        return {"value": None, "error": _format_error(error)[-max_chars:]}


def _run(code: str) -> Any:
    module = ModuleType("__main__")
    module.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = module  # dataclasses and pickle look up the module of a class here
    tree = ast.parse(code, FILE_NAME)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    body = compile(tree, FILE_NAME, "exec")
    value = compile(ast.Expression(last.value), FILE_NAME, "eval") if isinstance(last, ast.Expr) else None
    exec(body, module.__dict__)  # noqa: S102 (this is the sandbox)
    return None if value is None else eval(value, module.__dict__)  # noqa: S307 (as above)


def _format_error(error: BaseException) -> str:
    """Return the traceback, from the first frame of the code on."""
    place: TracebackType | None = error.__traceback__
    while place is not None and place.tb_frame.f_code.co_filename != FILE_NAME:
        place = place.tb_next
    try:
        return "".join(traceback.format_exception(type(error), error, place)).rstrip()
    except BaseException:  # formatting the error raised another one
        return type(error).__name__
