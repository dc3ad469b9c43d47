"""The child process in which the embedded model lives: `local.py` starts it by its path, and it knows no toolspeak.

Orders come as one line of JSON on standard input; the address goes out as one line of JSON on standard output. It ends
when standard input does: so it is gone when the program is, however that came to an end.
"""

import importlib
import json
import os
import signal
import sys
import threading
from typing import Any

PATIENCE = 2.0
"""Seconds between looks at whether the parent is still the parent."""


def main() -> None:
    """Serve until the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the answer, not for the model
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever llama.cpp prints belongs to the log
    parent = os.getppid()
    line = sys.stdin.readline()
    if not line:
        return
    gone = threading.Event()
    threading.Thread(target=_until_closed, args=(gone,), daemon=True).start()
    try:
        server = _serving(json.loads(line))
    except Exception as error:  # llama.cpp has said why; a traceback would only push that out of sight
        sys.exit(f"{type(error).__name__}: {error}")
    answer.write(json.dumps({"address": server.listening_address}) + "\n")
    answer.close()
    # A pipe can outlive the parent, where somebody else inherited its other end.
    while not gone.wait(PATIENCE) and os.getppid() == parent:
        pass
    os._exit(0)  # nothing here needs tidying, and llama.cpp may still be in the middle of an answer


def _until_closed(gone: threading.Event) -> None:
    try:
        while sys.stdin.read(4096):
            pass
    finally:
        gone.set()
        os._exit(0)  # also while weights are being loaded


def _serving(orders: dict[str, Any]) -> Any:
    xllamacpp: Any = importlib.import_module("xllamacpp")  # it has no types
    params = xllamacpp.CommonParams()
    params.model.path = orders["weights"]
    params.model_alias = {"local"}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [orders["key"]]
    params.cors_origins = "null"  # no page in a browser has any business here
    params.ui = False
    params.endpoint_slots = False  # it would tell what others asked
    params.n_parallel = orders["slots"]
    params.n_ctx = orders["context"] * orders["slots"]
    params.cpuparams.n_threads = orders["threads"]
    params.cpuparams_batch.n_threads = orders["threads"]
    params.cache_ram_mib = orders["cache_mib"]
    params.verbosity = 2  # warnings and errors
    return xllamacpp.Server(params)


if __name__ == "__main__":
    main()
