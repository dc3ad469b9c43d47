"""Draws the charts of README and site from the tables in `bench/` and `training/`.

    $ python scripts/draw_charts.py

A chart is an SVG in `docs/images` that loads nothing and follows the reader's choice of light or dark. Every figure is
read from a table of this repository, so run this after a table has changed; a test fails until it has been run.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from toolspeak.lab.plot import BLUE, FONT, GREY, INK, STYLE, draw_ground, svg_rect, svg_text

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs/images"

WIDTH, LEFT, RIGHT = 640, 208, 62
BAR, GAP, TOP = 22, 10, 58


@dataclass(frozen=True)
class Bar:
    """A bar of a chart.

    Attributes:
        name: What stands to the left of it.
        value: Its length.
        shown: What stands to the right of it.
        is_ours: Whether it is drawn in colour.
        pale: The part at its end that is drawn pale, in the unit of the value.
    """

    name: str
    value: float
    shown: str
    is_ours: bool = False
    pale: float = 0


def read_table(path: str, first_cell: str) -> list[str]:
    """Return the cells of the first row of a page's tables that begins with a cell."""
    for line in (ROOT / path).read_text(encoding="utf-8").splitlines():
        cells = [cell.strip().replace("*", "") for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and cells[0] == first_cell:
            return cells
    raise SystemExit(f"{path} has no row {first_cell!r}")


def number(cell: str) -> float:
    """Return the number at the beginning of a cell: of `83.3 (81–85)` it is 83.3."""
    return float(re.match(r"[\d.,]+", cell)[0].replace(",", ""))  # pyright: ignore[reportOptionalSubscript] (a figure)


def draw(title: str, note: str, parts: Sequence[tuple[str, Sequence[Bar], float | None]]) -> str:
    """Draw groups of bars, each with its heading. A bar beyond the group's highest value is cut, and drawn as cut."""
    drawn: list[str] = []
    y = TOP
    for heading, bars, highest in parts:
        drawn.append(f'<g font-weight="600">{svg_text(20, y, heading, size=14)}</g>')
        y += 14
        scale = (WIDTH - LEFT - RIGHT) / (highest or max(bar.value for bar in bars))
        for bar in bars:
            color = BLUE if bar.is_ours else GREY
            long = min(bar.value, highest or bar.value) * scale
            drawn += [
                svg_text(LEFT - 10, y + 16, bar.name, anchor="end", size=14),
                svg_rect(LEFT, y, long - bar.pale * scale, BAR, color),
            ]
            if bar.pale:
                drawn.append(svg_rect(LEFT + long - bar.pale * scale, y, bar.pale * scale, BAR, color, pale=True))
            if highest and bar.value > highest:
                x = LEFT + long - 22
                drawn.append(f'<path class="ground" d="M{x:g} {y + BAR}l8 -{BAR}h6l-8 {BAR}z"/>')
            drawn.append(svg_text(LEFT + long + 8, y + 16, bar.shown, size=14))
            y += BAR + GAP
        y += 22
    height = y + 8
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
            f' font-family="{FONT}" fill="{INK}" role="img">',
            f"<title>{title}</title>",
            STYLE,
            draw_ground(WIDTH, height),
            f'<g font-weight="600">{svg_text(20, 28, title, size=17)}</g>',
            *drawn,
            f'<g fill-opacity="0.75">{svg_text(20, height - 12, note, size=12)}</g>',
            "</svg>\n",
        )
    )


def draw_accuracy() -> str:
    """Percent right and tokens: the model's own template, the best dialect, and that with the adapter."""
    alone, adapter = "bench/accuracy/README.md", "training/results.md"
    means, taught = read_table(alone, "mean"), read_table(adapter, "mean")
    prompts, answers = read_table(alone, "prompt tokens"), read_table(alone, "answer tokens")
    taught_prompt, taught_answer = read_table(adapter, "prompt tokens"), read_table(adapter, "answer tokens")
    right = [
        Bar("its own chat template", number(means[1]), means[1].split()[0] + " %"),
        Bar("toolspeak", number(means[4]), means[4].split()[0] + " %", is_ours=True),
        Bar("toolspeak + adapter", number(taught[1]), taught[1].split()[0] + " %", is_ours=True),
    ]

    def tokens(name: str, prompt: str, answer: str, is_ours: bool) -> Bar:
        total = number(prompt) + number(answer)
        return Bar(name, total, f"{total:.0f}", is_ours, number(answer))

    cost = [
        tokens("its own chat template", prompts[1], answers[1], False),
        tokens("toolspeak", prompts[4], answers[4], True),
        tokens("toolspeak + adapter", taught_prompt[1], taught_answer[1], True),
    ]
    return draw(
        "A 1.5B model makes better calls with fewer tokens",
        "Qwen2.5-Coder-1.5B Q4_K_M · BFCL, five categories, 1,240 questions · python dialect · 2026-11",
        [
            ("Percent right", right, 100),
            ("Tokens per question: prompt + answer", cost, None),
        ],
    )


PEERS = ("pydantic-ai", "langchain", "openai-agents", "strands", "llm")


def draw_round() -> str:
    """CPU time of a run with one call: ours, the loop on httpx, and frameworks."""
    row = read_table("bench/speed.md", "one round of one call")
    ours, httpx = number(row[1]), number(row[2].removeprefix("httpx: "))
    others = {name: httpx * number(cell) for name, cell in zip(PEERS, row[7:12], strict=True)}
    bars = [
        Bar("toolspeak", ours, f"{ours:.1f} ms", is_ours=True),
        Bar("a hand-written httpx loop", httpx, f"{httpx:.1f} ms"),
        *(Bar(name, value, f"{value:.0f} ms") for name, value in sorted(others.items(), key=lambda pair: pair[1])),
    ]
    return draw(
        "CPU time of a run with one tool call",
        "An endpoint on loopback that answers at once · 2 cores · Python 3.11 · 2026-11-16",
        [("Milliseconds in the client: medians of 11 runs, frameworks of 3", bars, 22)],
    )


def draw_import() -> str:
    """CPU time to import and define an agent."""
    row = read_table("bench/speed.md", "import and define one agent")
    ours, pydantic_ai = number(row[1]), 1000 * number(row[2].removeprefix("pydantic-ai: "))
    ratios = dict(zip(("langchain", "openai-agents", "strands"), row[7:10], strict=True))
    others = {"pydantic-ai": pydantic_ai} | {name: pydantic_ai * number(cell) for name, cell in ratios.items()}
    bars = [
        Bar("toolspeak", ours, f"{ours:.0f} ms", is_ours=True),
        *(
            Bar(name, value, f"{value / 1000:.1f} s")
            for name, value in sorted(others.items(), key=lambda pair: pair[1])
        ),
    ]
    return draw(
        "CPU time to import and define an agent",
        "A fresh interpreter each time · 2 cores · Python 3.11 · 2026-11-16",
        [("Milliseconds, median of 11", bars, None)],
    )


CHARTS = {"chart-accuracy": draw_accuracy, "chart-round": draw_round, "chart-import": draw_import}


def main() -> None:
    """Draw all charts."""
    for name, chart in CHARTS.items():
        path = IMAGES / f"{name}.svg"
        path.write_text(chart(), encoding="utf-8")
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
