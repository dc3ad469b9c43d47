"""`make bench`: toolspeak beside its peers, each in an environment of its own; README.md says what the rows mean.

The two sides of a row are measured right after each other, in random order, and the ratio is taken between these two.
A machine that is slow for a while is then slow for both, and the median over the repetitions forgets it.
"""

import argparse
import random
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TypeAlias

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / "bench" / "peers"
VENVS = ROOT / "bench" / ".venvs"
HEAD = ("CPU time", "toolspeak", "beside", "ratio", "bar", "")

Pair: TypeAlias = tuple[float, float | None]
"""Seconds of our side and of theirs, measured together."""


@dataclass(frozen=True)
class Job:
    """A measurement: what to ask of `measure.py`, and in whose environment."""

    peer: str
    what: str


@dataclass(frozen=True)
class Row:
    """What is compared. The bar is a ratio, or seconds where nobody stands beside us; None: only to be seen."""

    title: str
    ours: Job
    theirs: Job | None
    bar: float | None


def versus(title: str, what: str, peer: str, bar: float | None) -> Row:
    return Row(title, Job("toolspeak", what), Job(peer, what), bar)


def alone(title: str, what: str, seconds: float | None) -> Row:
    return Row(title, Job("toolspeak", what), None, seconds)


ROWS = (
    versus("schema, 8 parameters, warm", "warm", "pydantic-ai", 0.5),
    versus("the same, cold", "cold", "pydantic-ai", 1.0),
    versus("the same, with all imports", "from nothing", "pydantic-ai", 1.0),
    versus("the same, types never met", "unmet", "pydantic-ai", None),
    alone("1,000 tools", "many", 1.0),
    alone("1,000 tools, 1,000 models", "many models", 1.0),
    alone("1,000 tools, 1,000 dataclasses", "many dataclasses", None),
    Row("import", Job("toolspeak", "import"), Job("toolspeak", "import asyncio"), 1.5),
    Row("import and define one tool", Job("toolspeak", "from nothing"), Job("smolagents", "import"), 0.5),
    versus("check a call, 8 arguments", "call", "pydantic-ai", None),
)


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure toolspeak beside its peers.")
    parser.add_argument("--reps", type=int, default=7, help="repetitions (default: %(default)s)")
    reps = parser.parse_args().reps
    for peer in sorted({job.peer for row in ROWS for job in (row.ours, row.theirs) if job}):
        prepare(PEERS / f"{peer}.txt")
    pairs: dict[Row, list[Pair]] = {row: [] for row in ROWS}
    for repetition in range(reps + 1):
        print(f"repetition {repetition} of {reps}", file=sys.stderr)
        for row in random.sample(ROWS, len(ROWS)):
            pair = measured(row)
            if repetition:  # the first round only writes .pyc files and fills the disk cache
                pairs[row].append(pair)
    lines = [line(row, pairs[row]) for row in ROWS]
    print_table([HEAD, *lines])
    return int(any("MISSED" in line for line in lines))


def prepare(requirements: Path) -> None:
    """Make the environment of a peer, unless it is there and up to date."""
    name = requirements.stem
    sources = [requirements, ROOT / "constraints.txt"]
    if name == "toolspeak":
        sources.append(ROOT / "pyproject.toml")
    wanted = "\n".join([sys.version, *(source.read_text() for source in sources)])
    stamp = VENVS / name / "stamp"
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    print(f"installing {name} …", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", "--clear", VENVS / name], check=True)
    # One set of constraints for all: nobody is measured with another pydantic.
    pip = [python(name), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-c", "constraints.txt", "-r", requirements], cwd=ROOT, check=True)
    stamp.write_text(wanted)


def python(name: str) -> Path:
    return VENVS / name / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def measured(row: Row) -> Pair:
    """Both sides of a row, in random order."""
    jobs = [job for job in (row.ours, row.theirs) if job]
    seconds = {job: cpu(job) for job in random.sample(jobs, len(jobs))}
    return seconds[row.ours], seconds[row.theirs] if row.theirs else None


def cpu(job: Job) -> float:
    command = [python(job.peer), "-I", ROOT / "bench" / "measure.py", job.peer, job.what]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout)


def line(row: Row, pairs: list[Pair]) -> tuple[str, ...]:
    ours = median(mine for mine, _ in pairs)
    if row.theirs is None:
        theirs, ratio, value, unit = "", "", ours, " s"
    else:
        peer = row.theirs.peer if row.theirs.peer != "toolspeak" else row.theirs.what
        theirs = f"{peer} {shown(median(their for _, their in pairs if their))}"
        value, unit = median(mine / their for mine, their in pairs if their), ""
        ratio = f"{value:.2f}"
    if row.bar is None:
        return row.title, shown(ours), theirs, ratio, "", ""
    return row.title, shown(ours), theirs, ratio, f"≤ {row.bar}{unit}", "ok" if value <= row.bar else "MISSED"


def shown(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"


def print_table(lines: list[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for cells in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip())


if __name__ == "__main__":
    sys.exit(main())
