"""What it costs to start: `python bench/startup.py` prints seconds of CPU of a fresh process, beside a bare import.

`toolspeak --help` stands for the time that a user waits before any work is done. Both sides run right after each other,
in random order; the ratio is taken within a round, and the table shows medians. The first round is thrown away.
"""

import os
import subprocess
import sys
from functools import partial
from resource import RUSAGE_CHILDREN, getrusage

from harness.environments import versions_here
from harness.figures import compare, measure_in_turn
from harness.report import parse_options, report

BARE_IMPORT = [sys.executable, "-c", "import click, rich"]
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""Without that variable, so that no round but the first compiles."""

ROWS = {"toolspeak --help": (["--help"], 2.0), "toolspeak chat --help": (["chat", "--help"], None)}


def cpu_seconds(command):
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True, env=ENVIRONMENT)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    options = parse_options("Measure what it costs to start.", full=15, short=7)
    figures = []
    for title, (arguments, bar) in ROWS.items():
        ours = [sys.executable, "-m", "toolspeak.cli", *arguments]
        sides = {"ours": partial(cpu_seconds, ours), "beside": partial(cpu_seconds, BARE_IMPORT)}
        taken = measure_in_turn(sides, options.reps + 1)[1:]
        figures.append(compare(title, [(each["ours"], each["beside"]) for each in taken], "import click, rich", bar))
    return report(figures, versions_here("toolspeak", "typer", "click", "rich"), options.json)


if __name__ == "__main__":
    sys.exit(main())
