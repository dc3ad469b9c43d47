"""What it costs to start: `python bench/startup.py` prints seconds of CPU of a fresh process, beside a bare import.

`toolspeak --help` stands for what a person waits for before anything is done. Both sides run right after each other, in
random order; the ratio is taken within a round, and the table shows medians. The first round is thrown away.
"""

import random
import subprocess
import sys
from resource import RUSAGE_CHILDREN, getrusage

from environments import versions_here
from figures import asked, told, versus

BESIDE = [sys.executable, "-c", "import click, rich"]
ROWS = {"toolspeak --help": (["--help"], 2.0), "toolspeak chat --help": (["chat", "--help"], None)}


def cpu(command):
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def pair(arguments):
    commands = {"ours": [sys.executable, "-m", "toolspeak.cli", *arguments], "beside": BESIDE}
    names = random.sample(list(commands), 2)
    times = {name: cpu(commands[name]) for name in names}
    return times["ours"], times["beside"]


def main() -> int:
    options = asked("Measure what it costs to start.", full=15, short=7)
    figures = []
    for title, (arguments, bar) in ROWS.items():
        pairs = [pair(arguments) for _ in range(options.reps + 1)][1:]
        figures.append(versus(title, pairs, "import click, rich", bar))
    return told(figures, versions_here("toolspeak", "typer", "click", "rich"), options.json)


if __name__ == "__main__":
    sys.exit(main())
