"""What all benchmarks share: their options, what a row comes to, the table that is printed, the file that is written.

Each script measures in its own way and ends in rows of one shape. A bar is the highest that a row may come to: its
ratio where somebody stands beside us, else our own figure.
"""

import argparse
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

Table = list[tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """What a row came to.

    Attributes:
        ours: Our figure, in `unit`; seconds are shown as s, ms or µs.
        beside: Who stands beside us, with `theirs` as their figure. Empty if we stand alone.
        ratio: Ours by theirs, taken pair by pair. None if there is no sense in one.
        bar: The highest that `ratio` may be, or `ours` where there is none; None: only to be seen.
        times: How often it was measured.
        others: The ratios of others to the same `theirs`.
    """

    title: str
    ours: float
    times: int
    unit: str = "s"
    beside: str = ""
    theirs: float | None = None
    ratio: float | None = None
    bar: float | None = None
    others: Mapping[str, float] = field(default_factory=dict)

    @property
    def held(self) -> bool | None:
        if self.bar is None:
            return None
        return (self.ours if self.ratio is None else self.ratio) <= self.bar

    def cells(self) -> tuple[str, str, str, str, str, str]:
        """Title, ours, beside whom, ratio, bar, and whether it was held, as they are shown."""
        beside = "" if self.theirs is None else f"{self.beside}: {shown(self.theirs, self.unit)}"
        ratio = "" if self.ratio is None else self._exactly(self.ratio)
        bar = "" if self.bar is None else f"≤ {shown(self.bar, self.unit) if self.ratio is None else f'{self.bar:g}'}"
        verdict = {None: "", True: "ok", False: "MISSED"}[self.held]
        return self.title, shown(self.ours, self.unit), beside, ratio, bar, verdict

    def _exactly(self, ratio: float) -> str:
        """With two decimals, or more where these would hide all of it, or by how little a bar was missed."""
        if ratio < 0.1:
            return f"{ratio:.2g}"
        return f"{ratio:.2f}" if self.held is not False or round(ratio, 2) > (self.bar or 0) else f"{ratio:.4f}"


def versus(title: str, pairs: Sequence[tuple[float, float]], beside: str, bar: float | None, **more: Any) -> Figure:
    """A row of pairs, ours and theirs, each pair measured together: the medians count."""
    ours, theirs = (median(side) for side in zip(*pairs, strict=True))
    ratio = median(mine / other for mine, other in pairs)
    return Figure(title=title, ours=ours, beside=beside, theirs=theirs, ratio=ratio, bar=bar, times=len(pairs), **more)


def shown(value: float, unit: str = "s") -> str:
    if unit != "s":
        return f"{value:.3g} {unit}"
    for name, size in (("s", 1.0), ("ms", 1e-3)):
        if value >= size:
            return f"{value / size:.3g} {name}"
    return f"{value / 1e-6:.3g} µs"


def table(figures: Sequence[Figure], *, times: bool = False) -> Table:
    """The rows as texts, below their heads."""
    others = list(dict.fromkeys(name for figure in figures for name in figure.others))
    lines: Table = [("", "toolspeak", "beside", "ratio", "bar", "", *(["times"] if times else []), *others)]
    for figure in figures:
        counted = [str(figure.times)] if times else []
        ratios = [f"{figure.others[name]:.2f}" if name in figure.others else "" for name in others]
        lines.append((*figure.cells(), *counted, *ratios))
    return lines


# What a script is asked for, and what it tells


def asked(description: str, *, full: int, short: int, peers: bool = False) -> argparse.Namespace:
    """The options of a script.

    Args:
        description: what it measures
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
    found = parser.parse_args()
    found.reps = found.reps or (short if found.short else full)
    if peers and found.peers is None:
        found.peers = not found.short
    return found


def told(figures: Iterable[Figure], versions: Mapping[str, str], file: Path | None) -> int:
    """Print the table, write the file that was asked for, and give the exit code: 1 if a bar was missed.

    Args:
        figures: the rows
        versions: of what stood beside us, by the names of the packages
        file: for the rows as JSON
    """
    figures = list(figures)
    lines = table(figures)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for cells in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip())
    if file is not None:
        rows = [{**asdict(figure), "held": figure.held} for figure in figures]
        replace(file, json.dumps({"versions": dict(versions), "rows": rows}, ensure_ascii=False, indent=1) + "\n")
    return int(any(figure.held is False for figure in figures))


def heard(file: Path) -> tuple[list[Figure], dict[str, str]]:
    """The rows and the versions that a script has written."""
    said = json.loads(file.read_text("utf-8"))
    names = Figure.__dataclass_fields__
    return [Figure(**{name: row[name] for name in names}) for row in said["rows"]], said["versions"]


def replace(file: Path, text: str) -> None:
    """Write a file as a whole or not at all."""
    aside = file.with_name(f"{file.name}.{os.getpid()}.tmp")
    try:
        aside.write_text(text, "utf-8")
        aside.replace(file)
    finally:
        aside.unlink(missing_ok=True)
