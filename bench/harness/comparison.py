"""Rows that compare us with peers, each peer in an environment of its own.

The sides of a row are measured right after each other, in random order, and the ratio is taken between these. A machine
that is slow for a while is then slow for all sides, and the median over the repetitions drops it.
"""

import random
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from harness.environments import prepare, python_of
from harness.figures import Figure, compare

US = "toolspeak"
MEASURE = Path(__file__).with_name("measure.py")


@dataclass(frozen=True)
class Job:
    """One measurement: what `measure.py` measures, and in whose environment."""

    peer: str
    what: str


@dataclass(frozen=True)
class Row:
    """What is compared.

    Attributes:
        title: The name of the row.
        ours: Our measurement.
        theirs: The measurement that ours is compared with.
        beside: The name shown for `theirs`.
        bar: The highest ratio allowed, or the most seconds where there is no `theirs`; None: no limit.
        others: Measurements of more peers, which the short form leaves out.
    """

    title: str
    ours: Job
    theirs: Job | None
    beside: str
    bar: float | None
    others: tuple[Job, ...] = ()

    @property
    def jobs(self) -> list[Job]:
        return [self.ours, *([self.theirs] if self.theirs else []), *self.others]


def row_beside(title: str, what: str, peer: str, bar: float | None, *others: str) -> Row:
    """A row in which a peer does the same as we do."""
    return Row(title, Job(US, what), Job(peer, what), peer, bar, tuple(Job(other, what) for other in others))


def row_alone(title: str, what: str, seconds: float | None) -> Row:
    """A row in which we are compared with nobody."""
    return Row(title, Job(US, what), None, "", seconds)


def peers_of(rows: Sequence[Row]) -> list[str]:
    """Return the peers in whose environments something is measured."""
    return sorted({job.peer for row in rows for job in row.jobs})


def measure_rows(rows: Sequence[Row], reps: int) -> list[Figure]:
    """Measure the rows; environments that are missing are made first."""
    prepare(peers_of(rows))
    seconds: dict[Row, list[dict[Job, float]]] = {row: [] for row in rows}
    for repetition in range(reps + 1):
        print(f"repetition {repetition} of {reps}", file=sys.stderr)
        for row in random.sample(rows, len(rows)):
            taken = {job: cpu_seconds(job) for job in random.sample(row.jobs, len(row.jobs))}
            if repetition:  # the first round only writes .pyc files and fills the disk cache
                seconds[row].append(taken)
    return [build_figure(row, seconds[row]) for row in rows]


def cpu_seconds(job: Job) -> float:
    command = [python_of(job.peer), "-I", MEASURE, job.peer, job.what]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout)


def build_figure(row: Row, seconds: list[dict[Job, float]]) -> Figure:
    theirs = row.theirs
    if theirs is None:
        ours = median(taken[row.ours] for taken in seconds)
        return Figure(title=row.title, ours=ours, bar=row.bar, times=len(seconds))
    pairs = [(taken[row.ours], taken[theirs]) for taken in seconds]
    others = {other.peer: median(taken[other] / taken[theirs] for taken in seconds) for other in row.others}
    return compare(row.title, pairs, row.beside, row.bar, others=others)
