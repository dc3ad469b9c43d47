"""Pictures, written by hand: they need no network, no font and no library."""

from collections.abc import Sequence
from html import escape

from toolspeak.cli.lanes import Lanes

LETTER = 7.2
"""The width of a letter: what is drawn is set in a font whose letters are all as wide."""

LINE, PAD, GAP = 18, 12, 40
STYLE = """<style>
text { font: 12px ui-monospace, Menlo, Consolas, monospace; fill: #1f2933 }
.box { fill: #eef2f7; stroke: #52606d; rx: 6 }
.model { fill: #fff3d6; stroke: #b7791f }
.tool { fill: #e3f6e8; stroke: #2f855a }
.end { fill: #e1ecff; stroke: #2b6cb0 }
.line { stroke: #52606d; fill: none }
.back { stroke-dasharray: 5 4 }
.lane { stroke: #cbd2d9; stroke-dasharray: 2 4 }
.note { fill: #fffbe6; stroke: #d9c97c }
</style>
<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8"
orient="auto-start-reverse"><path d="M0 0 L8 4 L0 8 z" fill="#52606d"/></marker></defs>"""


def agent_picture(model: str, tools: Sequence[str]) -> str:
    """An agent: a model between the start and the answer, with its tools below."""
    widths = [_wide(name) for name in tools]
    below = sum(widths) + GAP / 2 * max(len(tools) - 1, 0)
    row = _wide("start") + GAP + _wide(model) + GAP + _wide("answer")
    width = max(below, row) + 2 * PAD
    x, y = (width - row) / 2, PAD
    middle = x + _wide("start") + GAP + _wide(model) / 2
    shapes = [
        _box(x, y, "start", "end"),
        _box(x + _wide("start") + GAP, y, model, "model"),
        _box(x + row - _wide("answer"), y, "answer", "end"),
        _arrow(x + _wide("start"), y + 16, x + _wide("start") + GAP, y + 16),
        _arrow(x + row - _wide("answer") - GAP, y + 16, x + row - _wide("answer"), y + 16),
    ]
    left, low = (width - below) / 2, y + 32 + 2 * GAP
    for name, wide in zip(tools, widths, strict=True):
        shapes.append(_box(left, low, name, "tool"))
        shapes.append(_arrow(middle, y + 32, left + wide / 2, low, "line back", both=True))
        left += wide + GAP / 2
    return _picture(width, (low + 32 if tools else y + 32) + PAD, f"{model} and its tools", shapes)


def run_picture(lanes: Lanes) -> str:
    """A run: a lane for each who takes part, and time from top to bottom."""
    at = _places(lanes)
    bottom = PAD + 32 + GAP
    shapes: list[str] = []
    right = max(place + _wide(name) / 2 for place, name in zip(at, lanes.names, strict=True))
    for arrow in lanes.arrows:
        here, there = at[arrow.source], at[arrow.target]
        if arrow.sort == "note":
            shapes.append(_note(here, bottom - LINE + 3, arrow.text))
            right = max(right, here + _wide(arrow.text) / 2)
        else:
            shapes.append(_label((here + there) / 2, bottom - 5, arrow.text))
            shapes.append(_arrow(here, bottom, there, bottom, "line" if arrow.sort == "asks" else "line back"))
        bottom += 2 * LINE
    kinds = ["end", "model", *["tool"] * (len(lanes.names) - 2)]
    for place, name, kind in zip(at, lanes.names, kinds, strict=True):
        shapes.insert(0, f'<path class="lane" d="M{place:g} {PAD + 32} V{bottom:g}"/>')
        shapes.append(_box(place - _wide(name) / 2, PAD, name, kind))
    return _picture(right + PAD, bottom + PAD, f"a run of {lanes.names[1]}", shapes)


def _places(lanes: Lanes) -> list[float]:
    """Where the lanes are: so far apart that what is written between two of them fits."""
    count = len(lanes.names)
    apart = [(_wide(one) + _wide(other)) / 2 + GAP for one, other in zip(lanes.names, lanes.names[1:], strict=False)]
    first = _wide(lanes.names[0]) / 2
    for arrow in lanes.arrows:
        left, right = sorted((arrow.source, arrow.target))
        if arrow.sort == "note":  # half on either side
            half = _wide(arrow.text) / 2
            if left > 0:
                apart[left - 1] = max(apart[left - 1], half + PAD)
            if left < count - 1:
                apart[left] = max(apart[left], half + PAD)
            first = max(first, half) if left == 0 else first
        elif missing := max(_wide(arrow.text) - sum(apart[left:right]), 0):
            apart[right - 1] += missing
    places = [PAD + first]
    for each in apart:
        places.append(places[-1] + each)
    return places


def _wide(text: str) -> float:
    return len(text) * LETTER + 2 * PAD


def _box(x: float, y: float, text: str, kind: str) -> str:
    wide = _wide(text)
    box = f'<rect class="box {kind}" x="{x:g}" y="{y:g}" width="{wide:g}" height="32" rx="6"/>'
    return box + _label(x + wide / 2, y + 20, text)


def _note(middle: float, y: float, text: str) -> str:
    wide = _wide(text)
    box = f'<rect class="note" x="{middle - wide / 2:g}" y="{y:g}" width="{wide:g}" height="{LINE + 4}"/>'
    return box + _label(middle, y + 15, text)


def _label(x: float, y: float, text: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="middle">{escape(text)}</text>'


def _arrow(x1: float, y1: float, x2: float, y2: float, kind: str = "line", *, both: bool = False) -> str:
    start = ' marker-start="url(#head)"' if both else ""
    return f'<path class="{kind}" d="M{x1:g} {y1:g} L{x2:g} {y2:g}"{start} marker-end="url(#head)"/>'


def _picture(width: float, height: float, title: str, shapes: Sequence[str]) -> str:
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>'
    return "\n".join([head, f"<title>{escape(title)}</title>", STYLE, *shapes, "</svg>", ""])
