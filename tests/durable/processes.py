"""Worker processes for tests: a nursery that has imported everything forks them, so that a new one works in a moment.

The nursery is a process of its own without threads or connections. It reads a line for each worker that it is to fork
(its settings as JSON), and answers with the process id.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class WorkerSettings:
    """How a worker process is set up.

    Attributes:
        store: The address of the store.
        effects: The file to which tools append.
        seconds: What calls and messages take, about.
        lease: After so many seconds without a heartbeat, the runs of the worker are taken over.
        slots: How many runs it drives at a time.
        dispatcher: `claim` or `dbos`.
        shift: A file with the seconds that are added to the clock of an SQLite store; "" for none.
        stops: Whether the process stops itself, once, when it has committed that a call is started.
    """

    store: str
    effects: str
    seconds: float = 0.05
    lease: float = 1.0
    slots: int = 4
    dispatcher: str = "claim"
    shift: str = ""
    stops: bool = False


class WorkerProcess:
    """A worker process that the nursery forked."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def send(self, which: signal.Signals) -> None:
        """Send a signal, if the process is still there."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, which)

    def kill(self) -> None:
        self.send(signal.SIGKILL)

    @property
    def is_alive(self) -> bool:
        """Whether the process is there."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        return True

    @property
    def is_stopped(self) -> bool:
        """Whether the process was stopped by a signal."""
        status = Path(f"/proc/{self.pid}/status")
        return status.exists() and "\nState:\tT" in status.read_text()


class Nursery:
    """Forks workers. As a context manager it kills those that are left when it is left."""

    def __init__(self, log: Path) -> None:
        self._workers: list[WorkerProcess] = []
        self._log = log.open("ab")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.durable.processes"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            cwd=ROOT,
        )

    def start_worker(self, settings: WorkerSettings) -> WorkerProcess:
        """Fork a worker."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asdict(settings)).encode() + b"\n")
        self._process.stdin.flush()
        worker = WorkerProcess(int(self._process.stdout.readline()))
        self._workers.append(worker)
        return worker

    def __enter__(self) -> "Nursery":
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.send(signal.SIGCONT)
            worker.kill()
        self._process.communicate()
        self._log.close()


def main() -> None:
    """Fork a worker for each line of the standard input."""
    from . import worker_program  # imports all that a worker needs, before the fork

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how workers ended
    for line in sys.stdin:
        if pid := os.fork():
            print(pid, flush=True)
            continue
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for handle in (0, 1):
            os.dup2(os.open(os.devnull, os.O_RDWR), handle)
        asyncio.run(worker_program.serve(WorkerSettings(**json.loads(line))))
        os._exit(0)


if __name__ == "__main__":
    main()
