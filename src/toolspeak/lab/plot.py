"""Draws the figures as an SVG, without a plotting library.

The upper part has a group of bars for each category with a bar for each dialect, and a whisker for the confidence
interval. Where questions had follow-ups, the bar includes them, and a dashed line across it marks the share of the
first answers alone. The lower part has the tokens of prompts and of answers for each dialect.

The look is that of all pictures: of agents and runs (`toolspeak graph`), of evaluations, of benchmarks. A picture
follows the reader's choice of light or dark. It loads nothing. Colours also stand in attributes, or are plain in the
style: programs that draw an SVG without all of CSS show the light picture.
"""

from html import escape

from toolspeak.lab.summary import MEAN, Summary, Tally

COLORS = ("#7f8c9b", "#c98a2b", "#2f6db5", "#3a8f5c", "#8d5aa5", "#b5483a")
"""Grey, amber, blue, green, purple, red: readable on light and on dark ground."""

GREY, AMBER, BLUE, GREEN, PURPLE, RED = COLORS

INK, GROUND = "#24292f", "#ffffff"
DARK_INK, DARK_GROUND = "#e6edf3", "#0d1117"

FONT = "system-ui, sans-serif"
CODE_FONT = "ui-monospace, Menlo, Consolas, monospace"

STYLE = f"""<style>
svg {{ color: {INK}; fill: currentColor; }}
.ground {{ fill: {GROUND}; }}
@media (prefers-color-scheme: dark) {{ svg {{ color: {DARK_INK}; }} .ground {{ fill: {DARK_GROUND}; }} }}
</style>"""
"""Lines and texts that have no colour of their own are drawn in `currentColor`."""


def draw_ground(width: float, height: float) -> str:
    """Return the ground of a picture."""
    return f'<rect class="ground" width="{width:g}" height="{height:g}" fill="{GROUND}"/>'


LEFT, TOP, WIDTH, HEIGHT = 48, 64, 760, 240
"""The place and the size of the upper part."""

BAR_HEIGHT = 16
"""The height of a bar in the lower part."""


def plot(first: Summary, title: str, with_follow_ups: Summary | None = None) -> str:
    """Draw the figures.

    Args:
        first: The figures of the first answers alone.
        title: The title.
        with_follow_ups: The figures with the answers to follow-ups, if there were to be any.
    """
    summary = with_follow_ups or first
    below = _tokens(summary, TOP + HEIGHT + 74)
    height = TOP + HEIGHT + 60 + (len(summary.dialects) * (BAR_HEIGHT + 8) + 40 if below else 0)
    total = LEFT + WIDTH + 24
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total} {height}" width="{total}" height="{height}"'
            f' font-family="{FONT}" font-size="12" fill="{INK}">',
            STYLE,
            draw_ground(total, height),
            svg_text(LEFT, 24, title, size=15),
            *_legend(summary),
            *_scale(),
            *_bar_groups(summary, first),
            *below,
            "</svg>\n",
        )
    )


def _legend(summary: Summary) -> list[str]:
    drawn: list[str] = []
    for number, dialect in enumerate(summary.dialects):
        x = LEFT + 110 * number
        drawn += [svg_rect(x, 36, 10, 10, _color(number)), svg_text(x + 15, 45, dialect)]
    if summary.has_follow_ups():
        x = LEFT + 110 * len(summary.dialects)
        drawn += [_dashed_line(x, x + 20, 41), svg_text(x + 26, 45, "the first answers alone")]
    return drawn


def _scale() -> list[str]:
    drawn: list[str] = []
    for percent in range(0, 101, 20):
        y = _y(percent / 100)
        drawn.append(
            f'<line x1="{LEFT}" y1="{y:.1f}" x2="{LEFT + WIDTH}" y2="{y:.1f}"'
            ' stroke="currentColor" stroke-opacity="0.15"/>'
        )
        drawn.append(svg_text(LEFT - 8, y + 4, f"{percent}", anchor="end"))
    return drawn


def _bar_groups(summary: Summary, first: Summary) -> list[str]:
    shown = [*summary.categories, *([MEAN] if len(summary.categories) > 1 else [])]
    room = WIDTH / len(shown)
    wide = room * 0.8 / max(len(summary.dialects), 1)
    drawn: list[str] = []
    for place, category in enumerate(shown):
        left = LEFT + room * place
        drawn.append(svg_text(left + room / 2, TOP + HEIGHT + 18, category.replace("_", " "), anchor="middle"))
        for number, dialect in enumerate(summary.dialects):
            tally, alone = summary.tally(dialect, category), first.tally(dialect, category)
            x = left + room * 0.1 + wide * number
            if tally is not None:
                drawn += _bar(x, wide * 0.86, tally, _color(number))
            if tally is not None and alone is not None and tally.follow_ups:
                drawn.append(_dashed_line(x, x + wide * 0.86, _y(alone.share)))
    return drawn


def _bar(x: float, wide: float, tally: Tally, color: str) -> list[str]:
    top, middle = _y(tally.share), x + wide / 2
    low, high = _y(tally.interval.low), _y(tally.interval.high)
    return [
        svg_rect(x, top, wide, TOP + HEIGHT - top, color),
        f'<line x1="{middle:.1f}" y1="{low:.1f}" x2="{middle:.1f}" y2="{high:.1f}" stroke="currentColor"/>',
        svg_text(middle, high - 4, f"{100 * tally.share:.0f}", anchor="middle", size=10),
    ]


def _tokens(summary: Summary, top: float) -> list[str]:
    tallies = [(name, summary.tally(name)) for name in summary.dialects]
    known = [(tally.prompt_tokens or 0, tally.answer_tokens or 0) for _, tally in tallies if tally is not None]
    most = max((prompt + answer for prompt, answer in known), default=0)
    if not most:
        return []
    drawn = [svg_text(LEFT, top - 12, "tokens: prompt (full), answer (pale)")]
    scale = (WIDTH - 200) / most
    for number, (name, tally) in enumerate(tallies):
        if tally is None:
            continue
        y, prompt, answer = top + number * (BAR_HEIGHT + 8), tally.prompt_tokens or 0, tally.answer_tokens or 0
        left = LEFT + 80
        drawn += [
            svg_text(LEFT, y + BAR_HEIGHT - 4, name),
            svg_rect(left, y, prompt * scale, BAR_HEIGHT, _color(number)),
            svg_rect(left + prompt * scale, y, answer * scale, BAR_HEIGHT, _color(number), pale=True),
            svg_text(left + (prompt + answer) * scale + 8, y + BAR_HEIGHT - 4, f"{prompt:,.0f} + {answer:,.0f}"),
        ]
    return drawn


def _y(share: float) -> float:
    return TOP + HEIGHT * (1 - share)


def _color(number: int) -> str:
    return COLORS[number % len(COLORS)]


def svg_rect(x: float, y: float, width: float, height: float, color: str, *, pale: bool = False) -> str:
    opacity = ' fill-opacity="0.45"' if pale else ""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{color}"{opacity}/>'


def _dashed_line(left: float, right: float, y: float) -> str:
    return (
        f'<line x1="{left:.1f}" y1="{y:.1f}" x2="{right:.1f}" y2="{y:.1f}" stroke="currentColor" stroke-width="1.5"'
        ' stroke-dasharray="4 2"/>'
    )


def svg_text(x: float, y: float, text: str, *, anchor: str = "start", size: int = 12) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{escape(text)}</text>'
