"""What a run costs over HTTP, beside a loop written by hand with httpx, and peers; README.md says what the rows mean.

The mock endpoint is a process of its own, and so is each side: only the CPU time of the side counts. A repetition goes
through all rows in random order; in a row the sides run right after each other, again in random order, and the ratio is
taken between these two.
"""

import json
import os
import random
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from harness.environments import prepare, python_of, versions_of
from harness.figures import Figure, compare
from harness.report import parse_options, report

HARNESS = Path(__file__).resolve().parent / "harness"
US, BASE = "toolspeak", "httpx"
FRAMEWORKS = ("pydantic-ai", "langchain", "openai-agents", "strands", "llm")
FRAMEWORK_SHARE = 5
"""How many times fewer runs a framework makes in one measurement."""
FRAMEWORK_REPETITIONS = 3
"""The most repetitions for frameworks: enough to see where they stand."""

ENVIRONMENT = {"NO_PROXY": "127.0.0.1", "LANGSMITH_TRACING": "false", "OTEL_SDK_DISABLED": "true"}


@dataclass(frozen=True)
class Task:
    """One measurement: a line of the input of `http_client.py`."""

    model: str
    calls: int
    runs: int
    tool: str = "sync"
    stream: bool = False
    at_once: int = 1


@dataclass(frozen=True)
class Row:
    """What is compared: one task on both sides or, with `beside`, a task of ours with another task of ours.

    Attributes:
        title: The name of the row.
        task: The task.
        bar: The highest ratio allowed.
        parts: How many parts one run has: tokens, or thousands of letters.
        beside: The name, the task and the parts of what ours is compared with, if that is ours too.
        fresh: Whether each measurement needs a new process without an open connection.
        peers: Whether frameworks are measured too; some would take minutes.
    """

    title: str
    task: Task
    bar: float
    parts: int = 1
    beside: tuple[str, Task, int] | None = None
    fresh: bool = False
    peers: bool = True


ROWS = (
    Row("one round of one call", Task("rounds1", 1, 50), 0.45),
    Row("one round of one call, streamed", Task("rounds1", 1, 50, stream=True), 0.4),
    Row("five rounds", Task("rounds5", 5, 20), 0.45),
    Row("five rounds, streamed", Task("rounds5", 5, 20, stream=True), 0.4),
    Row("eight calls at once, async", Task("parallel8", 8, 50, tool="async"), 0.5),
    Row("eight calls at once, async, streamed", Task("parallel8", 8, 50, tool="async", stream=True), 0.5),
    Row("eight calls at once, sync", Task("parallel8", 8, 50), 0.65),
    Row("eight calls at once, sync, streamed", Task("parallel8", 8, 50, stream=True), 0.55),
    Row("a token, back to back", Task("tokens2000", 0, 5, stream=True), 0.25, parts=2000),
    Row("a token, one each millisecond", Task("paced400", 0, 1, stream=True), 0.6, parts=400),
    Row("a run, 500 at once", Task("rounds1", 1, 1, at_once=500), 0.12, fresh=True, peers=False),
    Row(
        "1,000 letters of 400,000",
        Task("letters400", 1, 1, tool="keep", stream=True),
        1.3,
        parts=400,
        beside=("a call of 100,000", Task("letters100", 1, 3, tool="keep", stream=True), 100),
        peers=False,
    ),
)


def main() -> int:
    options = parse_options("Measure runs over HTTP beside a loop written by hand.", full=11, short=7, peers=True)
    names = (US, BASE, *(FRAMEWORKS if options.peers else ()))
    prepare(names)
    seconds: dict[Row, list[dict[str, float]]] = {row: [] for row in ROWS}
    with Endpoint() as endpoint:
        sides = {name: Side(name, endpoint.url) for name in names}
        try:
            for repetition in range(options.reps + 1):
                print(f"repetition {repetition} of {options.reps}", file=sys.stderr)
                present = {
                    name: sides[name] for name in names if name in (US, BASE) or repetition <= FRAMEWORK_REPETITIONS
                }
                for row in random.sample(ROWS, len(ROWS)):
                    taken = measure_row(row, present)
                    if repetition:  # the first round only warms up
                        seconds[row].append(taken)
        finally:
            for side in sides.values():
                side.end()
    return report([build_figure(row, seconds[row]) for row in ROWS], versions_of(names), options.json)


def measure_row(row: Row, sides: "dict[str, Side]") -> dict[str, float]:
    """Return the CPU seconds of each side for one part of a run."""
    if row.beside is not None:
        title, task, parts = row.beside
        jobs = [(US, US, row.task, row.parts), (title, US, task, parts)]
    else:
        names = sides if row.peers else (US, BASE)
        jobs = [(name, name, row.task, row.parts) for name in names]
    return {
        name: sides[side].seconds(task, fresh=row.fresh) / parts
        for name, side, task, parts in random.sample(jobs, len(jobs))
    }


class Endpoint:
    """The process of the mock endpoint."""

    def __enter__(self) -> "Endpoint":
        command = [sys.executable, "-I", HARNESS / "http_server.py"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout
        self.url = f"http://127.0.0.1:{self._process.stdout.readline().strip()}/v1"
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()


class Side:
    """The process of one client under comparison, started for its first task."""

    def __init__(self, name: str, url: str) -> None:
        self._name = name
        self._url = url
        self._process: subprocess.Popen[str] | None = None

    def seconds(self, task: Task, *, fresh: bool) -> float:
        runs = task.runs if self._name in (US, BASE) else max(task.runs // FRAMEWORK_SHARE, 1)
        if fresh:
            self.end()
        answer = self._send(json.dumps({**asdict(task), "runs": runs}))
        if fresh:
            self.end()
        return answer

    def _send(self, line: str) -> float:
        if self._process is None:
            command = [python_of(self._name), "-I", HARNESS / "http_client.py", self._name, self._url]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            self._process = subprocess.Popen(command, text=True, env={**os.environ, **ENVIRONMENT}, **pipes)
        process = self._process
        assert process.stdin
        assert process.stdout
        process.stdin.write(line + "\n")
        process.stdin.flush()
        if not (answer := process.stdout.readline()):
            raise SystemExit(f"{self._name} failed at {line}")
        return float(answer)

    def end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def build_figure(row: Row, seconds: list[dict[str, float]]) -> Figure:
    base = row.beside[0] if row.beside is not None else BASE
    ratios: dict[str, list[float]] = {}
    for taken in seconds:
        for name in taken.keys() - {US, base}:
            ratios.setdefault(name, []).append(taken[name] / taken[base])
    others = {name: median(ratios[name]) for name in FRAMEWORKS if name in ratios}
    return compare(row.title, [(taken[US], taken[base]) for taken in seconds], base, row.bar, others=others)


if __name__ == "__main__":
    sys.exit(main())
