"""The options that all benchmark scripts take, and what they print and write."""

import argparse
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path

from harness.figures import Figure, build_table


def parse_options(description: str, *, full: int, short: int, peers: bool = False) -> argparse.Namespace:
    """Parse the command line of a script: `reps`, `json` and, with `peers`, `peers`.

    Args:
        description: what the script measures
        full: repetitions in the full form
        short: repetitions in the short form
        peers: whether there are peers that the short form leaves out
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--short", action="store_true", help="the short form: fewer repetitions" + ", fewer peers" * peers
    )
    parser.add_argument("--reps", type=int, help=f"repetitions (default: {full}, in the short form {short})")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows to this file, too")
    if peers:
        parser.add_argument("--peers", action=argparse.BooleanOptionalAction, help="whether to measure all peers")
    options = parser.parse_args()
    options.reps = options.reps or (short if options.short else full)
    if peers and options.peers is None:
        options.peers = not options.short
    return options


def report(figures: Iterable[Figure], versions: Mapping[str, str], file: Path | None) -> int:
    """Print the table, write the JSON file if there is to be one, and return the exit code: 1 if a bar was missed.

    Args:
        figures: the rows
        versions: the versions of the measured packages, by name
        file: where the rows are written as JSON
    """
    figures = list(figures)
    lines = build_table(figures)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for cells in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip())
    if file is not None:
        rows = [{**asdict(figure), "held": figure.held} for figure in figures]
        write_atomically(
            file, json.dumps({"versions": dict(versions), "rows": rows}, ensure_ascii=False, indent=1) + "\n"
        )
    return int(any(figure.held is False for figure in figures))


def read_report(file: Path) -> tuple[list[Figure], dict[str, str]]:
    """Read the rows and the versions that `report` wrote."""
    content = json.loads(file.read_text("utf-8"))
    names = Figure.__dataclass_fields__
    return [Figure(**{name: row[name] for name in names}) for row in content["rows"]], content["versions"]


def write_atomically(file: Path, text: str) -> None:
    """Write a file as a whole or not at all."""
    aside = file.with_name(f"{file.name}.{os.getpid()}.tmp")
    try:
        aside.write_text(text, "utf-8")
        aside.replace(file)
    finally:
        aside.unlink(missing_ok=True)
