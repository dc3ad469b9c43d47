"""`make bench`: every benchmark after the other, and what they came to written into `docs/benchmarks.md`.

A bar that is missed, or a script that fails, holds up none of the others; either makes the exit code 1. Nothing is
written before all have run, and each file is replaced as a whole.
"""

import argparse
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path
from time import monotonic

import page
from drawing import drawn
from environments import ROOT
from figures import heard, replace
from page import Bench, Occasion, Taken

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
        "gateway",
        "The gateway",
        "Beside us stands a relay that passes bytes on and reads nothing. First tokens are in time that passes, not in"
        " CPU, and ours wait for one token more: a word at the beginning of a line may begin a call.",
    ),
    Bench("startup", "The command", "A fresh process, from nothing to its end."),
)


def main() -> int:
    parser = argparse.ArgumentParser(description="Run all benchmarks, and write docs/benchmarks.md.")
    parser.add_argument("--short", action="store_true", help="the short form: fewer repetitions, fewer peers")
    short = parser.parse_args().short
    page.read()  # better now than when all is measured
    before, start = page.load(), monotonic()
    results = {bench: measured(bench, short=short) for bench in BENCHES}
    minutes = (monotonic() - start) / 60
    form, command = ("short", "make bench") if short else ("full", "make bench-full")
    occasion = Occasion(form, command, date.today(), minutes, before, page.load())
    text = page.written(page.read(), results, occasion)
    for bench, taken in results.items():
        if taken and taken.picture:
            replace(bench.picture, taken.picture)
    replace(page.PAGE, text)
    print(f"\nwritten: {page.PAGE.relative_to(ROOT)}")
    bad = [
        bench.name for bench, taken in results.items() if not taken or any(row.held is False for row in taken.figures)
    ]
    if bad:
        print(f"with bars missed, or failed: {', '.join(bad)}")
    return int(bool(bad))


def measured(bench: Bench, *, short: bool) -> Taken | None:
    """What a script measures; None if it fails."""
    print(f"\n{bench.title} ({bench.name}.py)", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.json"
        command = [sys.executable, ROOT / "bench" / f"{bench.name}.py", "--json", file, *(["--short"] if short else [])]
        code = subprocess.run(command).returncode
        if not file.is_file():
            print(f"{bench.name}.py failed with exit code {code}", file=sys.stderr)
            return None
        figures, versions = heard(file)
    return Taken(figures, versions, drawn(f"{bench.title}: our figure by the other's", figures))


if __name__ == "__main__":
    sys.exit(main())
