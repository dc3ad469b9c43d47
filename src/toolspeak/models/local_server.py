"""The program of the process that runs llama.cpp. It is started by its path, and imports no toolspeak.

It reads its options as one line of JSON from standard input. There are three ways to run it:

- As a child of a program (`local.py`): it writes its address as one line of JSON to standard output, and ends when
  standard input is closed, and so with its parent, however that ends.
- As a warm server (`warm.py`), if the options have `warm`: it leaves its parent, writes its address to a file, and ends
  by itself when no program has used it for a while.
- With `lists_devices` in its options: it writes what llama.cpp can compute on as one line of JSON, and ends.
"""

import contextlib
import importlib
import json
import os
import signal
import sys
import threading
import time
from types import FrameType
from typing import IO, Any

GPU_BATCH = 512


def main() -> None:
    """Serve until the parent ends, or until a warm server is idle."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C stops the answer, not the server
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what llama.cpp prints goes to the log
    line = sys.stdin.readline()
    if not line:
        return
    options = json.loads(line)
    if options.get("lists_devices"):
        output.write(json.dumps(_list_devices()) + "\n")
        output.close()
    elif "warm" in options:
        output.close()
        _serve_warm(options, options["warm"])
    else:
        _serve_parent(options, output)


def _serve_parent(options: dict[str, Any], output: IO[str]) -> None:
    parent = os.getppid()
    closed = threading.Event()
    threading.Thread(target=_wait_for_close, args=(closed,), daemon=True).start()
    server = _start_server(options)
    output.write(json.dumps({"address": server.listening_address}) + "\n")
    output.close()
    # The pipe outlives the parent if another process inherited its other end.
    while not closed.wait(2.0) and os.getppid() == parent:
        pass
    os._exit(0)  # nothing needs to be cleaned up, and llama.cpp may still be generating


def _wait_for_close(closed: threading.Event) -> None:
    try:
        while sys.stdin.read(4096):
            pass
    finally:
        closed.set()
        os._exit(0)  # also while weights are being loaded


def _serve_warm(options: dict[str, Any], warm: dict[str, Any]) -> None:
    """Serve until no program has held the lock of `warm["use"]` for `warm["idle_seconds"]`."""
    import fcntl  # not on Windows, where there are no warm servers

    folder: int = warm["folder"]  # a descriptor, which was checked: only the user may enter that folder
    running = _open(warm["running"], folder)  # held until the process ends
    # A program that looks whether a server runs holds its lock for a moment.
    if not any(_try_lock(running) or time.sleep(0.05) for _ in range(40)):
        sys.exit("another server is running for the same model")
    if os.fork():
        os._exit(0)  # the lock stays with the fork
    running.truncate(0)
    running.write(str(os.getpid()).encode())
    running.flush()
    server = _start_server(options)
    state: str = warm["state"]

    def end(number: int, frame: FrameType | None) -> None:
        _end_warm(state, folder)

    signal.signal(signal.SIGTERM, end)
    _write_state(state, folder, {"address": server.listening_address, "key": options["key"], "pid": os.getpid()})
    idle_since = time.monotonic()
    with _open(warm["use"], folder) as use:
        while time.monotonic() - idle_since < warm["idle_seconds"] or not _try_lock(use):
            time.sleep(min(1.0, warm["idle_seconds"]))
            if _try_lock(use):
                fcntl.flock(use, fcntl.LOCK_UN)
            else:  # programs that use the server hold a shared lock
                idle_since = time.monotonic()
                os.utime(use.fileno())
        _end_warm(state, folder)  # with the lock: whoever comes now waits, and then finds no server


def _try_lock(file: IO[bytes]) -> bool:
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _open(name: str, folder: int) -> IO[bytes]:
    return os.fdopen(os.open(name, os.O_RDWR | os.O_NOFOLLOW, dir_fd=folder), "r+b")


def _write_state(name: str, folder: int, state: dict[str, Any]) -> None:
    """Write the address and the key, readable by this user alone, in one step."""
    new = f"{name}.new"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(new, dir_fd=folder)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(state, file)
    os.replace(new, name, src_dir_fd=folder, dst_dir_fd=folder)


def _end_warm(state: str, folder: int) -> None:
    with contextlib.suppress(OSError):
        os.unlink(state, dir_fd=folder)
    os._exit(0)


def _list_devices() -> list[dict[str, Any]]:
    xllamacpp: Any = importlib.import_module("xllamacpp")
    return [
        {"name": each["description"].strip(), "is_cpu": each["type"].name.endswith("_CPU")}
        for each in xllamacpp.get_device_info()
    ]


def _start_server(options: dict[str, Any]) -> Any:
    try:
        return _start_llama(options)
    except Exception as error:  # llama.cpp has logged the cause; a traceback would only hide it
        sys.exit(f"{type(error).__name__}: {error}")


def _start_llama(options: dict[str, Any]) -> Any:
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
    if options["prompts"] is not None:
        params.slot_save_path = options["prompts"] + os.sep  # the name of a file is put right behind it
    adapters: list[Any] = []
    for path in options["adapters"]:
        adapter = xllamacpp.CommonAdapterLoraInfo()
        adapter.path = path
        adapter.scale = 0.0  # of requests that name no scale
        adapters.append(adapter)
    params.lora_adapters = adapters
    _set_engine(xllamacpp, params, options["engine"])
    params.verbosity = 2  # warnings and errors
    return xllamacpp.Server(params)


def _set_engine(xllamacpp: Any, params: Any, engine: dict[str, Any]) -> None:
    """Set how llama.cpp computes. The answers do not depend on it."""
    has_gpu = not all(each["is_cpu"] for each in _list_devices())
    # What is computed at once. After each batch, the server says how far a prompt is read, and can be stopped. A
    # processor reads small batches as fast as large ones, a GPU does not.
    params.n_batch = params.n_ubatch = max(engine["batch"], GPU_BATCH) if has_gpu else engine["batch"]
    params.n_gpu_layers = -1  # as many as fit, if there is a GPU that this build of llama.cpp can use
    params.fit_params = has_gpu  # to see what fits, it loads the model twice
    params.warmup = False  # a run without a question: the first question would wait for it
    params.flash_attn_type = xllamacpp.llama_flash_attn_type[f"LLAMA_FLASH_ATTN_TYPE_{engine['flash_attention']}"]
    params.cache_type_k = params.cache_type_v = xllamacpp.ggml_type[f"GGML_TYPE_{engine['states']}"]
    params.load_mode = xllamacpp.llama_load_mode[f"LLAMA_LOAD_MODE_{engine['load']}"]
    params.no_extra_bufts = not engine["repack"]
    if (guess := engine["guess"]) is not None:
        kind: str = guess["kind"]
        speculative = params.speculative
        speculative.types = [xllamacpp.common_speculative_type[f"COMMON_SPECULATIVE_TYPE_{kind.upper()}"]]
        for name, value in guess["sizes"].items():
            setattr(getattr(speculative, kind), name, value)
        params.speculative = speculative


if __name__ == "__main__":
    main()
