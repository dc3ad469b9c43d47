"""What it costs to start: `python bench/startup.py` prints seconds of CPU of a fresh process, beside a bare import.

`toolspeak --help` stands for the time that a user waits before any work is done. Both sides run right after each other,
in random order; the ratio is taken within a round, and the table shows medians. The first round is thrown away.
"""

import random
import subprocess
import sys
from resource import RUSAGE_CHILDREN, getrusage

from harness.environments import versions_here
from harness.figures import compare
from harness.report import parse_options, report

BARE_IMPORT = [sys.executable, "-c", "import click, rich"]
ROWS = {"toolspeak --help": (["--help"], 2.0), "toolspeak chat --help": (["chat", "--help"], None)}


def cpu_seconds(command):
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure_pair(arguments):
    commands = {"ours": [sys.executable, "-m", "toolspeak.cli", *arguments], "beside": BARE_IMPORT}
    names = random.sample(list(commands), 2)
    times = {name: cpu_seconds(commands[name]) for name in names}
    return times["ours"], times["beside"]


def main() -> int:
    options = parse_options("Measure what it costs to start.", full=15, short=7)
    figures = []
    for title, (arguments, bar) in ROWS.items():
        pairs = [measure_pair(arguments) for _ in range(options.reps + 1)][1:]
        figures.append(compare(title, pairs, "import click, rich", bar))
    return report(figures, versions_here("toolspeak", "typer", "click", "rich"), options.json)


if __name__ == "__main__":
    sys.exit(main())
