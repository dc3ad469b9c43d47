"""Schemas, imports and checks beside peers, each in an environment of its own; README.md says what the rows mean.

The sides of a row are measured right after each other, in random order, and the ratio is taken between these. A machine
that is slow for a while is then slow for all, and the median over the repetitions forgets it.
"""

import random
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from environments import ROOT, prepare, python, versions
from figures import Figure, asked, told, versus

US = "toolspeak"


@dataclass(frozen=True)
class Job:
    """A measurement: what to ask of `measure.py`, and in whose environment."""

    peer: str
    what: str


@dataclass(frozen=True)
class Row:
    """What is compared.

    Attributes:
        theirs: Who stands beside us, under the name `beside`.
        bar: The highest ratio, or seconds where nobody stands beside us; None: only to be seen.
        others: More peers, which the short form leaves out.
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


def beside(title: str, what: str, peer: str, bar: float | None, *others: str) -> Row:
    return Row(title, Job(US, what), Job(peer, what), peer, bar, tuple(Job(other, what) for other in others))


def alone(title: str, what: str, seconds: float | None) -> Row:
    return Row(title, Job(US, what), None, "", seconds)


ROWS = (
    beside("schema, 8 parameters, warm", "warm", "pydantic-ai", 0.5, "langchain"),
    beside("schema, 8 parameters, cold", "cold", "pydantic-ai", 1.0, "langchain"),
    beside("schema, 8 parameters, with all imports", "from nothing", "pydantic-ai", 1.0, "langchain"),
    beside("schema, 8 parameters, types never met", "unmet", "pydantic-ai", None, "langchain"),
    alone("1,000 tools", "many", 1.0),
    alone("1,000 tools, 1,000 models", "many models", 1.0),
    alone("1,000 tools, 1,000 dataclasses", "many dataclasses", None),
    Row("import", Job(US, "import"), Job(US, "import asyncio"), "import asyncio", 1.5),
    Row("import and define one tool", Job(US, "from nothing"), Job("smolagents", "import"), "import smolagents", 0.5),
    beside("check a call, 8 arguments", "call", "pydantic-ai", None),
)


def main() -> int:
    options = asked("Measure schemas, imports and checks beside peers.", full=11, short=5, peers=True)
    rows = ROWS if options.peers else tuple(replace(row, others=()) for row in ROWS)
    return told(measured(rows, options.reps), versions(peers(rows)), options.json)


def peers(rows: Sequence[Row]) -> list[str]:
    """Those in whose environments something is measured."""
    return sorted({job.peer for row in rows for job in row.jobs})


def measured(rows: Sequence[Row], reps: int) -> list[Figure]:
    """What rows come to; the environments are made before."""
    prepare(peers(rows))
    seconds: dict[Row, list[dict[Job, float]]] = {row: [] for row in rows}
    for repetition in range(reps + 1):
        print(f"repetition {repetition} of {reps}", file=sys.stderr)
        for row in random.sample(rows, len(rows)):
            taken = {job: cpu(job) for job in random.sample(row.jobs, len(row.jobs))}
            if repetition:  # the first round only writes .pyc files and fills the disk cache
                seconds[row].append(taken)
    return [figure(row, seconds[row]) for row in rows]


def cpu(job: Job) -> float:
    command = [python(job.peer), "-I", ROOT / "bench" / "measure.py", job.peer, job.what]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout)


def figure(row: Row, seconds: list[dict[Job, float]]) -> Figure:
    theirs = row.theirs
    if theirs is None:
        ours = median(taken[row.ours] for taken in seconds)
        return Figure(title=row.title, ours=ours, bar=row.bar, times=len(seconds))
    pairs = [(taken[row.ours], taken[theirs]) for taken in seconds]
    others = {other.peer: median(taken[other] / taken[theirs] for taken in seconds) for other in row.others}
    return versus(row.title, pairs, row.beside, row.bar, others=others)


if __name__ == "__main__":
    sys.exit(main())
