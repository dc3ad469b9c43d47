"""The process of a reader: loads it, and answers each line of standard input with a line of JSON.

The reader runs apart from whoever asks it, so that it may print, hang, raise or end the process.
"""

import importlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from toolspeak.dialects import read
from toolspeak.reading.emitter import encode_calls
from toolspeak.tools.discovery import import_file, is_installed
from toolspeak.values.errors import UsageError
from toolspeak.values.spec import read_definition


def read_calls(text: str, tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the calls in a text, as JSON data: our reader, as the function that `toolspeak conformance` asks."""
    return encode_calls(read(text, [read_definition(tool) for tool in tools]))["calls"]


ReadFunction = Callable[[str, list[dict[str, Any]]], Any]


def load_reader(target: str) -> ReadFunction:
    """Return the function of `module:function` or `file.py:function`."""
    module_name, _, function_name = target.rpartition(":")
    place = Path.cwd().joinpath(*module_name.split("."))
    file = Path(module_name)
    if not module_name.endswith(".py"):
        package = place / "__init__.py"
        file = package if package.is_file() else place.with_name(f"{place.name}.py")
    if module_name.endswith(".py") or (not is_installed(module_name.partition(".")[0]) and file.is_file()):
        if not file.is_file():
            raise FileNotFoundError(f"there is no file {file}")
        try:
            module = import_file(file)
        except UsageError as error:
            raise error.__cause__ or error from None
    else:
        module = importlib.import_module(module_name)
    return getattr(module, function_name)


def main(target: str) -> None:
    """Load a reader and answer until standard input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="surrogatepass")
    os.dup2(2, 1)  # what the reader prints is no answer
    try:
        reader = load_reader(target)
    except BaseException as error:  # the module may do anything
        _answer(answers, {"failed": _describe(error)})
        return
    _answer(answers, {"ready": True})
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            _answer(answers, {"calls": reader(asked["text"], asked["tools"])})
        except BaseException as error:  # SystemExit as well: one text must not end the reading of the others
            _answer(answers, {"error": _describe(error)})


def _answer(answers: TextIO, data: dict[str, Any]) -> None:
    text = json.dumps(data)  # before anything is written: what a reader returns may be no JSON
    answers.write(f"{text}\n")
    answers.flush()


def _describe(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"[:500]
    except Exception:  # an error whose text cannot be made
        return type(error).__name__


if __name__ == "__main__":
    main(sys.argv[1])
