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
from statistics import median

from environments import ROOT, prepare, python, versions
from figures import Figure, asked, told, versus

US, BASE = "toolspeak", "httpx"
FRAMEWORKS = ("pydantic-ai", "langchain")
SHARE = 5
ENOUGH = 3
"""Frameworks make that many times fewer runs in a measurement, and no more repetitions: that is enough to see them."""

QUIET = {"NO_PROXY": "127.0.0.1", "LANGSMITH_TRACING": "false", "OTEL_SDK_DISABLED": "true"}


@dataclass(frozen=True)
class Task:
    """A measurement: what `http_client.py` is asked for."""

    model: str
    calls: int
    runs: int
    tool: str = "sync"
    stream: bool = False
    at_once: int = 1


@dataclass(frozen=True)
class Row:
    """What is compared: a task of both sides or, with `beside`, of ours with another of ours.

    Attributes:
        bar: The highest ratio.
        parts: What one run is divided into: tokens, or thousands of letters.
        fresh: Whether each measurement wants a process of its own, without a connection.
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
    Row("one round of one call", Task("rounds1", 1, 50), 0.6),
    Row("one round of one call, streamed", Task("rounds1", 1, 50, stream=True), 0.6),
    Row("five rounds", Task("rounds5", 5, 20), 0.6),
    Row("five rounds, streamed", Task("rounds5", 5, 20, stream=True), 0.6),
    Row("eight calls at once, async", Task("parallel8", 8, 50, tool="async"), 0.6),
    Row("eight calls at once, async, streamed", Task("parallel8", 8, 50, tool="async", stream=True), 0.6),
    Row("eight calls at once, sync", Task("parallel8", 8, 50), 0.9),
    Row("eight calls at once, sync, streamed", Task("parallel8", 8, 50, stream=True), 0.9),
    Row("a token, back to back", Task("tokens2000", 0, 5, stream=True), 0.45, parts=2000),
    Row("a token, one each millisecond", Task("paced400", 0, 1, stream=True), 0.7, parts=400),
    Row("a run, 500 at once", Task("rounds1", 1, 1, at_once=500), 0.3, fresh=True, peers=False),
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
    options = asked("Measure runs over HTTP beside a loop written by hand.", full=11, short=5, peers=True)
    names = (US, BASE, *(FRAMEWORKS if options.peers else ()))
    prepare(names)
    seconds: dict[Row, list[dict[str, float]]] = {row: [] for row in ROWS}
    with Endpoint() as endpoint:
        sides = {name: Side(name, endpoint.url) for name in names}
        try:
            for repetition in range(options.reps + 1):
                print(f"repetition {repetition} of {options.reps}", file=sys.stderr)
                present = {name: sides[name] for name in names if name in (US, BASE) or repetition <= ENOUGH}
                for row in random.sample(ROWS, len(ROWS)):
                    taken = measured(row, present)
                    if repetition:  # the first round only warms up
                        seconds[row].append(taken)
        finally:
            for side in sides.values():
                side.end()
    return told([figure(row, seconds[row]) for row in ROWS], versions(names), options.json)


def measured(row: Row, sides: "dict[str, Side]") -> dict[str, float]:
    """Seconds by side, for one part of a run."""
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
    """The mock endpoint, in its process."""

    def __enter__(self) -> "Endpoint":
        command = [sys.executable, "-I", ROOT / "bench" / "http_server.py"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout
        self.url = f"http://127.0.0.1:{self._process.stdout.readline().strip()}/v1"
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()


class Side:
    """One of those compared, in its process, which is started when something is asked of it."""

    def __init__(self, name: str, url: str) -> None:
        self._name = name
        self._url = url
        self._process: subprocess.Popen[str] | None = None

    def seconds(self, task: Task, *, fresh: bool) -> float:
        runs = task.runs if self._name in (US, BASE) else max(task.runs // SHARE, 1)
        if fresh:
            self.end()
        answer = self._answer(json.dumps({**asdict(task), "runs": runs}))
        if fresh:
            self.end()
        return answer

    def _answer(self, line: str) -> float:
        if self._process is None:
            command = [python(self._name), "-I", ROOT / "bench" / "http_client.py", self._name, self._url]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            self._process = subprocess.Popen(command, text=True, env={**os.environ, **QUIET}, **pipes)
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


def figure(row: Row, seconds: list[dict[str, float]]) -> Figure:
    base = row.beside[0] if row.beside is not None else BASE
    ratios: dict[str, list[float]] = {}
    for taken in seconds:
        for name in taken.keys() - {US, base}:
            ratios.setdefault(name, []).append(taken[name] / taken[base])
    others = {name: median(ratios[name]) for name in FRAMEWORKS if name in ratios}
    return versus(row.title, [(taken[US], taken[base]) for taken in seconds], base, row.bar, others=others)


if __name__ == "__main__":
    sys.exit(main())
