"""Runs code as a Python shell would: what it prints is printed, and the value of its last expression is returned."""

import ast
import builtins
import linecache
import sys
import traceback
from types import CodeType, ModuleType, TracebackType
from typing import Any

FILE_NAME = "<code>"


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
    body, last = _compile(code)
    exec(body, module.__dict__)  # noqa: S102 (this is the sandbox)
    return None if last is None else eval(last, module.__dict__)  # noqa: S307 (as above)


def _compile(code: str) -> tuple[CodeType, CodeType | None]:
    """Compile the code, and separately its last expression, if it ends with one."""
    tree = ast.parse(code, FILE_NAME)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    body = compile(tree, FILE_NAME, "exec")
    if not isinstance(last, ast.Expr):
        return body, None
    return body, compile(ast.Expression(last.value), FILE_NAME, "eval")


def _format_error(error: BaseException) -> str:
    """Return the traceback, from the first frame of the code on."""
    place: TracebackType | None = error.__traceback__
    while place is not None and place.tb_frame.f_code.co_filename != FILE_NAME:
        place = place.tb_next
    try:
        return "".join(traceback.format_exception(type(error), error, place)).rstrip()
    except BaseException:  # formatting the error raised another one
        return type(error).__name__
