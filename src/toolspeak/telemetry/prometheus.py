"""Figures in the text format of Prometheus.

Written by hand: three sorts of lines and two ways to count are too little for a dependency (`prometheus_client`).
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

FigureKind: TypeAlias = Literal["gauge", "counter", "histogram"]


class Sample(NamedTuple):
    """One value of a figure, and the labels that tell it from others.

    Attributes:
        value: The value.
        labels: The labels.
        suffix: What its name has at the end: `_bucket`, `_sum` or `_count` in a histogram.
    """

    value: float
    labels: dict[str, str]
    suffix: str = ""


class LabelledCounter:
    """Counts, for each combination of labels."""

    def __init__(self, *labels: str) -> None:
        self._labels = labels
        self._counts: Counter[tuple[str, ...]] = Counter()

    def add(self, *values: str, count: int = 1) -> None:
        """Count something; `values` are those of the labels."""
        self._counts[values] += count

    def list_samples(self) -> list[Sample]:
        """Return the counts, in the order of their labels."""
        return [
            Sample(count, dict(zip(self._labels, values, strict=True)))
            for values, count in sorted(self._counts.items())
        ]


class LabelledHistogram:
    """How often a value was at most this or that, for each combination of labels."""

    def __init__(self, bounds: Sequence[float], *labels: str) -> None:
        self._bounds = bounds
        self._labels = labels
        self._counts: dict[tuple[str, ...], list[int]] = {}
        self._sums: dict[tuple[str, ...], float] = {}

    def add(self, number: float, *values: str) -> None:
        """Count a number; `values` are those of the labels."""
        counts = self._counts.setdefault(values, [0] * (len(self._bounds) + 1))
        counts[bisect_left(self._bounds, number)] += 1
        self._sums[values] = self._sums.get(values, 0.0) + number

    def list_samples(self) -> list[Sample]:
        """Return the counts up to each bound, the sum and the count of all."""
        samples: list[Sample] = []
        for values, counts in sorted(self._counts.items()):
            labels, total = dict(zip(self._labels, values, strict=True)), 0
            for bound, count in zip((*map(_format_number, self._bounds), "+Inf"), counts, strict=True):
                total += count
                samples.append(Sample(total, {**labels, "le": bound}, "_bucket"))
            samples.append(Sample(self._sums[values], labels, "_sum"))
            samples.append(Sample(total, labels, "_count"))
        return samples


def format_figure(name: str, help_text: str, samples: Iterable[Sample], kind: FigureKind = "gauge") -> str:
    """Return the lines of a figure. Its name begins with `toolspeak_`."""
    lines = [f"# HELP toolspeak_{name} {help_text}", f"# TYPE toolspeak_{name} {kind}"]
    for value, labels, suffix in samples:
        shown = ",".join(f'{label}="{text.translate(_ESCAPES)}"' for label, text in labels.items())
        lines.append(f"toolspeak_{name}{suffix}{f'{{{shown}}}' if shown else ''} {_format_number(value)}")
    return "\n".join(lines) + "\n"


def _format_number(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:.9g}"


_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
