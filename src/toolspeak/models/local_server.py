"""The program of the child process that runs llama.cpp. `local.py` starts it by its path; it imports no toolspeak.

It reads its options as one line of JSON from standard input, and writes its address as one line of JSON to standard
output. It ends when standard input is closed, and so with its parent, however that ends.
"""

import importlib
import json
import os
import signal
import sys
import threading
from typing import Any

PARENT_CHECK_SECONDS = 2.0
"""Time between two checks whether the parent still runs."""


def main() -> None:
    """Serve until the parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C stops the answer, not the server
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what llama.cpp prints goes to the log
    parent = os.getppid()
    line = sys.stdin.readline()
    if not line:
        return
    closed = threading.Event()
    threading.Thread(target=_wait_for_close, args=(closed,), daemon=True).start()
    try:
        server = _start_server(json.loads(line))
    except Exception as error:  # llama.cpp has logged the cause; a traceback would only hide it
        sys.exit(f"{type(error).__name__}: {error}")
    output.write(json.dumps({"address": server.listening_address}) + "\n")
    output.close()
    # The pipe outlives the parent if another process inherited its other end.
    while not closed.wait(PARENT_CHECK_SECONDS) and os.getppid() == parent:
        pass
    os._exit(0)  # nothing needs to be cleaned up, and llama.cpp may still be generating


def _wait_for_close(closed: threading.Event) -> None:
    try:
        while sys.stdin.read(4096):
            pass
    finally:
        closed.set()
        os._exit(0)  # also while weights are being loaded


def _start_server(options: dict[str, Any]) -> Any:
    xllamacpp: Any = importlib.import_module("xllamacpp")  # it has no types
    params = xllamacpp.CommonParams()
    params.model.path = options["weights"]
    params.model_alias = {"local"}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [options["key"]]
    params.cors_origins = "null"  # no web page may use it
    params.ui = False
    params.endpoint_slots = False  # it would show the prompts of other clients
    params.n_parallel = options["slots"]
    params.n_ctx = options["context"] * options["slots"]
    params.cpuparams.n_threads = options["threads"]
    params.cpuparams_batch.n_threads = options["threads"]
    params.cache_ram_mib = options["cache_mib"]
    params.verbosity = 2  # warnings and errors
    return xllamacpp.Server(params)


if __name__ == "__main__":
    main()
