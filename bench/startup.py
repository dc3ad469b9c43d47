"""What it costs to start: `python bench/startup.py` prints seconds of CPU of a fresh process, beside a bare import.

`toolspeak --help` stands for what a person waits for before anything is done. Both sides run right after each other, in
random order; the ratio is taken within a round, and the table shows medians. The first round is thrown away.
"""

import argparse
import random
import subprocess
import sys
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median

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
    options = argparse.ArgumentParser()
    options.add_argument("--reps", type=int, default=15)
    reps = options.parse_args().reps
    missed = False
    for title, (arguments, bar) in ROWS.items():
        pairs = [pair(arguments) for _ in range(reps + 1)][1:]
        ours, beside = (median(side) for side in zip(*pairs, strict=True))
        ratio = median(mine / other for mine, other in pairs)
        missed |= bar is not None and ratio > bar
        value = f"{ratio:.2f} of import click, rich ({ours * 1000:.0f} and {beside * 1000:.0f} ms)"
        held = "" if bar is None else f"≤ {bar:g}  {'ok' if ratio <= bar else 'MISSED'}"
        print(f"{title:24} {value:50} {held}".rstrip())
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
