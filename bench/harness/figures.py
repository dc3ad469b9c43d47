"""A row of a benchmark's table, and the table as text.

Each script measures in its own way and ends in rows of this one shape. A bar is the highest value that a row may have:
the highest ratio where the row compares us with somebody else, else the highest value of our own figure.
"""

import random
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, TypeVar

Table = list[tuple[str, ...]]
Name = TypeVar("Name", bound=Hashable)


@dataclass(frozen=True, kw_only=True)
class Figure:
    """What was measured for one row.

    Attributes:
        title: The name of the row.
        ours: Our figure, in `unit`; seconds are shown as s, ms or µs.
        times: How often the row was measured.
        unit: The unit of `ours` and `theirs`.
        beside: With whom we are compared; empty if with nobody.
        theirs: The figure of whom we are compared with.
        ratio: Our figure divided by theirs, taken pair by pair; None where a ratio means nothing.
        bar: The highest `ratio` allowed, or the highest `ours` where there is no ratio; None: no limit.
        others: The ratios of more peers to the same `theirs`.
        missed_at: The value of a first measurement that missed the bar; None if there was none.
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
    missed_at: float | None = None

    @property
    def value(self) -> float:
        """What the bar bounds: the ratio, or our figure where there is no ratio."""
        return self.ours if self.ratio is None else self.ratio

    @property
    def held(self) -> bool | None:
        """Whether the row stays within its bar; None if it has no bar."""
        if self.bar is None:
            return None
        return self.value <= self.bar

    def cells(self) -> tuple[str, str, str, str, str, str]:
        """Return the row as texts: title, our figure, the other's, ratio, bar, verdict."""
        beside = "" if self.theirs is None else f"{self.beside}: {format_value(self.theirs, self.unit)}"
        ratio = "" if self.ratio is None else self._format_ratio(self.ratio)
        bar = "" if self.bar is None else f"≤ {self._format_bar(self.bar)}"
        verdict = {None: "", True: "ok", False: "MISSED"}[self.held]
        if self.missed_at is not None:
            verdict = "ok the second time" if self.held else "MISSED twice"
        return self.title, format_value(self.ours, self.unit), beside, ratio, bar, verdict

    def format_missed(self) -> str:
        """Return the value of the first measurement, which missed the bar."""
        if self.missed_at is None:
            return ""
        return format_value(self.missed_at, self.unit) if self.ratio is None else f"{self.missed_at:.2f}"

    def _format_bar(self, bar: float) -> str:
        return format_value(bar, self.unit) if self.ratio is None else f"{bar:g}"

    def _format_ratio(self, ratio: float) -> str:
        """Format a ratio with two decimals, or with more where two would hide it or by how little a bar was missed."""
        if ratio < 0.1:
            return f"{ratio:.2g}"
        return f"{ratio:.2f}" if self.held is not False or round(ratio, 2) > (self.bar or 0) else f"{ratio:.4f}"


def measure_in_turn(sides: Mapping[Name, Callable[[], float]], times: int) -> list[dict[Name, float]]:
    """Measure sides right after each other, in random order, so many times."""
    return [{name: sides[name]() for name in random.sample(list(sides), len(sides))} for _ in range(times)]


def compare(title: str, pairs: Sequence[tuple[float, float]], beside: str, bar: float | None, **more: Any) -> Figure:
    """Build the row of a comparison from pairs (ours, theirs), each measured together. Medians count."""
    ours, theirs = (median(side) for side in zip(*pairs, strict=True))
    ratio = median(mine / other for mine, other in pairs)
    return Figure(title=title, ours=ours, beside=beside, theirs=theirs, ratio=ratio, bar=bar, times=len(pairs), **more)


def format_value(value: float, unit: str = "s") -> str:
    if unit != "s":
        return f"{value:.3g} {unit}"
    for name, size in (("s", 1.0), ("ms", 1e-3)):
        if value >= size:
            return f"{value / size:.3g} {name}"
    return f"{value / 1e-6:.3g} µs"


def build_table(figures: Sequence[Figure], *, times: bool = False) -> Table:
    """Return the rows as texts, below a row of headings."""
    others = list(dict.fromkeys(name for figure in figures for name in figure.others))
    lines: Table = [("", "toolspeak", "beside", "ratio", "bar", "", *(["times"] if times else []), *others)]
    for figure in figures:
        counted = [str(figure.times)] if times else []
        ratios = [f"{figure.others[name]:.2f}" if name in figure.others else "" for name in others]
        lines.append((*figure.cells(), *counted, *ratios))
    return lines
