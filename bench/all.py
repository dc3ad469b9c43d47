"""`make bench`: run every benchmark script in turn, and write their figures into `bench/speed.md`.

A script in which a bar is missed is run once more, after the machine has become quiet or two minutes have passed. A bar
that is missed twice in a row, or a failed script, makes the exit code 1; a bar that is missed once is told. Neither
stops the other scripts. Nothing is written before all scripts have run, and each file is replaced as a whole.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from datetime import date
from pathlib import Path
from time import monotonic, sleep

from harness import page
from harness.drawing import draw
from harness.environments import ROOT
from harness.figures import Figure
from harness.page import Bench, BenchRun, Measurements
from harness.report import read_report, write_atomically

MAX_WAIT_SECONDS = 120
"""How long a second measurement waits for the machine to become quiet."""

BENCHES = (
    Bench("run", "Schemas and imports", "A function becomes a tool; a package is imported; arguments are checked."),
    Bench(
        "reading",
        "Parsers",
        "Calls are read out of text that arrives in pieces of four characters. In the full form, what others have for"
        " that stands beside us; most of it knows one form of call, or wants the whole text.",
    ),
    Bench("loop", "The loop alone", "What deciding costs: no model, no HTTP, no tool."),
    Bench(
        "over_http",
        "Whole runs and streaming, over HTTP",
        "An endpoint on the same machine answers at once; only the CPU of the client counts. Beside us stands a loop"
        " written by hand on httpx; in the full form the last columns show the same ratio for frameworks, from three"
        " repetitions.",
    ),
    Bench(
        "idle_runs",
        "Memory",
        "Runs that wait for a model, in a fresh process, beside a loop written by hand on httpx, and beside requests of"
        " aiohttp alone, which is the least there is.",
    ),
    Bench(
        "gateway",
        "The gateway",
        "Beside us stands a relay that passes bytes on and reads nothing. First tokens are in time that passes, not in"
        " CPU. The answers begin with a capital, as answers do; a first word in small letters may be a variable before"
        " a call, and waits for one token more.",
    ),
    Bench("startup", "The command", "A fresh process, from nothing to its end."),
)


def main() -> int:
    parser = argparse.ArgumentParser(description="Run all benchmarks, and write bench/speed.md.")
    parser.add_argument("--short", action="store_true", help="the short form: fewer repetitions, fewer peers")
    short = parser.parse_args().short
    page.read_page()  # fail now if the page is broken, not after all is measured
    before, start = page.load_average(), monotonic()
    results = {bench: measure(bench, short=short) for bench in BENCHES}
    minutes = (monotonic() - start) / 60
    form, command = ("short", "make bench") if short else ("full", "make bench-full")
    run = BenchRun(form, command, date.today(), minutes, before, page.load_average())
    text = page.replace_section(page.read_page(), results, run)
    for bench, found in results.items():
        if found and found.picture:
            write_atomically(bench.picture, found.picture)
    write_atomically(page.PAGE, text)
    print(f"\nwritten: {page.PAGE.relative_to(ROOT)}")
    bad = [
        bench.name for bench, found in results.items() if not found or any(row.held is False for row in found.figures)
    ]
    if bad:
        print(f"with missed bars, or failed: {', '.join(bad)}")
    return int(bool(bad))


def measure(bench: Bench, *, short: bool) -> Measurements | None:
    """Run a script, and once more if a bar is missed. Of each row that missed its bar, the second figure counts."""
    found = run_script(bench, short=short)
    if found is None or not any(row.held is False for row in found.figures):
        return found
    print(f"{bench.name}.py: a bar was missed; measuring again", flush=True)
    wait_for_quiet()
    again = run_script(bench, short=short)
    if again is None:
        return found
    figures = merge_figures(found.figures, again.figures)
    return Measurements(figures, again.versions, draw_rows(bench, figures))


def merge_figures(first: list[Figure], second: list[Figure]) -> list[Figure]:
    """Return the first figures, and instead of one that missed its bar the second, which says what was missed."""
    anew = {figure.title: figure for figure in second}
    return [
        replace(anew[figure.title], missed_at=figure.value) if figure.held is False and figure.title in anew else figure
        for figure in first
    ]


def wait_for_quiet() -> None:
    """Wait until fewer processes want to run than there are cores, at most two minutes."""
    end = monotonic() + MAX_WAIT_SECONDS
    while hasattr(os, "getloadavg") and os.getloadavg()[0] >= (os.cpu_count() or 1) and monotonic() < end:
        sleep(5)


def run_script(bench: Bench, *, short: bool) -> Measurements | None:
    """Run a script and return its measurements; None if it fails."""
    print(f"\n{bench.title} ({bench.name}.py)", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.json"
        command = [sys.executable, ROOT / "bench" / f"{bench.name}.py", "--json", file, *(["--short"] if short else [])]
        code = subprocess.run(command).returncode
        if not file.is_file():
            print(f"{bench.name}.py failed with exit code {code}", file=sys.stderr)
            return None
        figures, versions = read_report(file)
    return Measurements(figures, versions, draw_rows(bench, figures))


def draw_rows(bench: Bench, figures: list[Figure]) -> str | None:
    """Return the picture of the rows of a script."""
    return draw(f"{bench.title}: our figure by the other's", figures)


if __name__ == "__main__":
    sys.exit(main())
