"""Ratios as a picture: bars to the left of 1 where we take less than the other, to the right where we take more.

The scale is logarithmic, so that half as much and twice as much are equally far from 1. A picture is an SVG drawn with
the helpers of `toolspeak.lab.plot`, in the look of all our pictures.
"""

from collections.abc import Sequence
from math import log

from harness.figures import Figure
from toolspeak.lab.plot import AMBER, BLUE, FONT, GREEN, GREY, INK, PURPLE, RED, STYLE, draw_ground, svg_rect, svg_text

LEFT, WIDTH, RIGHT = 310, 380, 290
"""Room for the titles, for the bars, and for the figures."""

TOP = 74
BAR, THIN, GAP = 16, 7, 10

NO_BAR, HELD, MISSED = GREY, BLUE, RED
OTHERS = (AMBER, GREEN, PURPLE, "#2f98a5", "#9a6a4f")
"""Colours of the peers; the last two are teal and brown."""


class Scale:
    """Places ratios on the logarithmic axis."""

    def __init__(self, values: Sequence[float]) -> None:
        self._low = min(*values, 1) / 1.25
        self._high = max(*values, 1) * 1.25

    def x(self, ratio: float) -> float:
        return LEFT + WIDTH * log(ratio / self._low) / log(self._high / self._low)

    def ticks(self) -> list[float]:
        """Return round values for the axis, no more than fit."""
        decades = [10.0**power for power in range(-4, 5)]
        for steps in ((1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1,)):
            ticks = [step * size for size in decades for step in steps if self._low <= step * size <= self._high]
            if len(ticks) <= 10:
                break
        return ticks


def draw(title: str, figures: Sequence[Figure]) -> str | None:
    """Draw the rows that have a ratio as an SVG; None if fewer than two rows have one."""
    figures = [figure for figure in figures if figure.ratio]
    if len(figures) < 2:
        return None
    scale = Scale(
        [value for figure in figures for value in (figure.ratio, figure.bar, *figure.others.values()) if value]
    )
    names = list(dict.fromkeys(name for figure in figures for name in figure.others))
    rows: list[str] = []
    y = TOP + GAP
    for figure in figures:
        rows += _row(figure, names, scale, y)
        y += BAR + THIN * len(figure.others) + GAP
    height, width = y + 30, LEFT + WIDTH + RIGHT
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
            f' font-family="{FONT}" font-size="12" fill="{INK}">',
            STYLE,
            draw_ground(width, height),
            svg_text(16, 24, title, size=15),
            *_legend(figures, names),
            *_grid(scale, y),
            *rows,
            "</svg>\n",
        )
    )


def _legend(figures: Sequence[Figure], names: Sequence[str]) -> list[str]:
    verdicts = {figure.held for figure in figures}
    entries = [("toolspeak", HELD)] if True in verdicts else []
    entries += [("toolspeak, bar missed", MISSED)] if False in verdicts else []
    entries += [("toolspeak, no bar", NO_BAR)] if None in verdicts else []
    entries += zip(names, OTHERS, strict=False)
    parts: list[str] = []
    x = 16.0
    for name, color in entries:
        parts += [svg_rect(x, 36, 10, 10, color), svg_text(x + 15, 45, name)]
        x += 15 + 6.5 * len(name) + 18
    return [*parts, _line(x + 2, 34, x + 2, 48, width=2), svg_text(x + 10, 45, "bar: at most")]


def _grid(scale: Scale, bottom: float) -> list[str]:
    one = scale.x(1)
    parts = [svg_text(one - 6, TOP - 4, "← less", anchor="end", size=11), svg_text(one + 6, TOP - 4, "more →", size=11)]
    for tick in scale.ticks():
        x = scale.x(tick)
        parts.append(_line(x, TOP, x, bottom, opacity=0.6 if tick == 1 else 0.15))
        parts.append(svg_text(x, bottom + 15, f"{tick:g}", anchor="middle", size=11))
    return parts


def _row(figure: Figure, names: Sequence[str], scale: Scale, y: float) -> list[str]:
    assert figure.ratio is not None
    color = {None: NO_BAR, True: HELD, False: MISSED}[figure.held]
    *_, ratio, bar, verdict = figure.cells()
    label = f"{ratio} of {figure.beside}" + (f", bar {bar}" if bar else "") + (" missed" if verdict == "MISSED" else "")
    parts = [
        svg_text(LEFT - 10, y + BAR - 4, figure.title, anchor="end"),
        _bar(scale, figure.ratio, y, BAR, color),
        svg_text(LEFT + WIDTH + 10, y + BAR - 4, label),
    ]
    if figure.bar is not None:
        x = scale.x(figure.bar)
        parts.append(_line(x, y - 3, x, y + BAR + 3, width=2))
    for place, (name, other) in enumerate(figure.others.items()):
        color = OTHERS[names.index(name) % len(OTHERS)]
        parts.append(_bar(scale, other, y + BAR + THIN * place + 1, THIN - 1, color))
    return parts


def _bar(scale: Scale, ratio: float, y: float, height: float, color: str) -> str:
    left, right = sorted((scale.x(1), scale.x(ratio)))
    return svg_rect(left, y, max(right - left, 1), height, color)


def _line(x1: float, y1: float, x2: float, y2: float, *, width: float = 1, opacity: float = 1) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="currentColor"'
        f' stroke-width="{width:g}" stroke-opacity="{opacity:g}"/>'
    )
