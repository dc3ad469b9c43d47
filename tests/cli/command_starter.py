"""The program that starts commands for `commands.py`: it has imported what they need, and forks a process for each.

It is run as a file, and imports nothing of the tests: a command finds there what it would find in a process of its own.
"""

import fcntl
import gc
import importlib
import io
import json
import os
import pkgutil
import runpy
import socket
import sys
import termios
from pathlib import Path
from typing import Any

LAZY_IMPORTS = (
    "griffe",
    "mcp",
    "prompt_toolkit.shortcuts",
    "pydantic",
    "rich.console",
    "toolspeak",
    "toolspeak.lab",
    "toolspeak.dialects",
    "toolspeak.durable",
    "toolspeak.durable.log",
    "toolspeak.mcp.transports",
    "toolspeak.models.transport",
    "toolspeak.run",
    "toolspeak.settings",
    "toolspeak.testing",
    "toolspeak.tools",
)
"""What commands import when they are called, besides the modules of the command line."""

TERMINAL_SECONDS = 60


def import_all() -> None:
    for name in LAZY_IMPORTS:
        importlib.import_module(name)
    package = importlib.import_module("toolspeak.cli")
    for module in pkgutil.iter_modules(package.__path__, "toolspeak.cli."):
        if module.name != "toolspeak.cli.__main__":
            importlib.import_module(module.name)
    wait_for_terminals()


def wait_for_terminals() -> None:
    """Let prompts wait for a terminal that is slow to say where its cursor is: on a busy machine, the tests play one.

    After two seconds a prompt would warn that the terminal does not answer, and an answer that comes a second after its
    end would be taken for keys.
    """
    renderer = importlib.import_module("prompt_toolkit.renderer").Renderer
    renderer.CPR_TIMEOUT = TERMINAL_SECONDS
    renderer.wait_for_cpr_responses.__defaults__ = (TERMINAL_SECONDS,)


def receive(requests: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """Return the next request and its files: standard input, output and error, and the pipe for the answer."""
    head, files, _, _ = socket.recv_fds(requests, 8, 4)
    if not head:
        return None
    size = int.from_bytes(head, "big")
    data = b""
    while len(data) < size:
        data += requests.recv(size - len(data))
    return json.loads(data), files


def become_command(request: dict[str, Any], files: list[int]) -> None:
    """Make this process what `python -m toolspeak.cli ARGUMENTS` would be."""
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    if request["in_terminal"]:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.path.insert(0, os.getcwd())  # noqa: PTH109 (as Python writes it)
    sys.argv = ["-m", *request["arguments"]]
    encoding, _, errors = os.environ.get("PYTHONIOENCODING", "utf-8").partition(":")
    for name, number, mode in (("stdin", 0, "rb"), ("stdout", 1, "wb"), ("stderr", 2, "wb")):
        own_errors = "backslashreplace" if name == "stderr" else errors or "strict"
        binary = os.fdopen(number, mode)
        stream = io.TextIOWrapper(binary, encoding, own_errors, line_buffering=name == "stderr")
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def serve(requests: socket.socket) -> None:
    """Start a command for each request. It also returns in the process of a command, when the command has ended."""
    while True:
        while _reap():
            pass
        if (received := receive(requests)) is None:
            return
        request, (*files, answer) = received
        if os.fork() == 0:  # the parent of the command, which waits for its end
            requests.close()
            if (command := os.fork()) == 0:
                os.close(answer)
                become_command(request, files)
                runpy.run_module("toolspeak.cli", run_name="__main__", alter_sys=True)
                return
            for file in files:
                os.close(file)
            os.write(answer, command.to_bytes(8, "big"))
            _, status = os.waitpid(command, 0)
            os.write(answer, os.waitstatus_to_exitcode(status).to_bytes(8, "big", signed=True))
            os._exit(0)
        for file in (*files, answer):
            os.close(file)


def _reap() -> bool:
    try:
        return os.waitpid(-1, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return False


if __name__ == "__main__":
    assert Path(sys.path[0]) == Path(__file__).parent
    del sys.path[0]
    import_all()
    gc.freeze()  # the pages of what is imported stay shared
    serve(socket.socket(fileno=int(sys.argv[1])))
