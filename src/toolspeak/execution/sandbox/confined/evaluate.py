"""Runs code as a Python shell would: what it prints is printed, and the value of a last expression is shown."""

import ast
import builtins
import linecache
import sys
import traceback
from types import CodeType, ModuleType, TracebackType
from typing import Any

NAME = "<code>"


def evaluate(code: str, most: int) -> dict[str, str | None]:
    """Run code; its `value` (as text) and its `error`, both cut to `most` characters."""
    linecache.cache[NAME] = (len(code), None, code.splitlines(keepends=True), NAME)
    try:
        value = _run(code)
        shown = None if value is None else repr(value)[:most]
        return {"value": shown, "error": None}
    except SystemExit as end:  # to leave is no mistake, unless the code says so
        return {"value": None, "error": None if end.code in (None, 0) else f"SystemExit: {end.code}"[:most]}
    except BaseException as error:
        return {"value": None, "error": _told(error)[-most:]}


def _run(code: str) -> Any:
    module = ModuleType("__main__")
    module.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = module  # dataclasses and pickle look for the home of a class here
    body, last = _compiled(code)
    exec(body, module.__dict__)  # noqa: S102 (this is the sandbox)
    return None if last is None else eval(last, module.__dict__)  # noqa: S307 (as above)


def _compiled(code: str) -> tuple[CodeType, CodeType | None]:
    tree = ast.parse(code, NAME)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    body = compile(tree, NAME, "exec")
    if not isinstance(last, ast.Expr):
        return body, None
    return body, compile(ast.Expression(last.value), NAME, "eval")


def _told(error: BaseException) -> str:
    """The traceback, from the first frame of the code on."""
    place: TracebackType | None = error.__traceback__
    while place is not None and place.tb_frame.f_code.co_filename != NAME:
        place = place.tb_next
    try:
        return "".join(traceback.format_exception(type(error), error, place)).rstrip()
    except BaseException:  # an error whose text is an error
        return type(error).__name__
