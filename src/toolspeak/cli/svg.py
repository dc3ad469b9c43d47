"""Draws agents and runs as SVG, without a library. The pictures load nothing: no font, no script, no style sheet."""

import itertools
from collections.abc import Sequence
from html import escape

from toolspeak.cli.sequence_diagram import SequenceDiagram
from toolspeak.picture_style import AMBER, BLUE, CODE_FONT, GREEN, GREY, STYLE, draw_ground

CHAR_WIDTH = 7.2
"""The width of a character in pixels; the font has a fixed width."""

LINE_HEIGHT, PADDING, GAP = 18, 12, 40
"""In pixels."""

RUN_STYLE = f"""<style>
text {{ font: 12px {CODE_FONT} }}
.box {{ fill: {GREY}; stroke: {GREY}; fill-opacity: 0.15 }}
.model {{ fill: {AMBER}; stroke: {AMBER} }}
.tool {{ fill: {GREEN}; stroke: {GREEN} }}
.end {{ fill: {BLUE}; stroke: {BLUE} }}
.line {{ stroke: currentColor; stroke-opacity: 0.7; fill: none }}
.back {{ stroke-dasharray: 5 4 }}
.lane {{ stroke: {GREY}; stroke-dasharray: 2 4 }}
.note {{ fill: {AMBER}; fill-opacity: 0.1; stroke: {AMBER}; stroke-opacity: 0.5 }}
</style>
<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8"
orient="auto-start-reverse"><path d="M0 0 L8 4 L0 8 z"/></marker></defs>"""


def draw_agent(model: str, tools: Sequence[str]) -> str:
    """Draw an agent: its model between the start and the answer, and its tools below."""
    widths = [_width(name) for name in tools]
    below = sum(widths) + GAP / 2 * max(len(tools) - 1, 0)
    row = _width("start") + GAP + _width(model) + GAP + _width("answer")
    width = max(below, row) + 2 * PADDING
    x, y = (width - row) / 2, PADDING
    middle = x + _width("start") + GAP + _width(model) / 2
    shapes = [
        _box(x, y, "start", "end"),
        _box(x + _width("start") + GAP, y, model, "model"),
        _box(x + row - _width("answer"), y, "answer", "end"),
        _arrow(x + _width("start"), y + 16, x + _width("start") + GAP, y + 16),
        _arrow(x + row - _width("answer") - GAP, y + 16, x + row - _width("answer"), y + 16),
    ]
    left, low = (width - below) / 2, y + 32 + 2 * GAP
    for name, tool_width in zip(tools, widths, strict=True):
        shapes.append(_box(left, low, name, "tool"))
        shapes.append(_arrow(middle, y + 32, left + tool_width / 2, low, "line back", both_ends=True))
        left += tool_width + GAP / 2
    return _picture(width, (low + 32 if tools else y + 32) + PADDING, f"{model} and its tools", shapes)


def draw_run(diagram: SequenceDiagram) -> str:
    """Draw a run: a vertical line for each participant, and time from top to bottom."""
    xs = _line_positions(diagram)
    bottom = PADDING + 32 + GAP
    shapes: list[str] = []
    right = max(x + _width(name) / 2 for x, name in zip(xs, diagram.participants, strict=True))
    for arrow in diagram.arrows:
        source, target = xs[arrow.source], xs[arrow.target]
        if arrow.kind == "note":
            shapes.append(_note(source, bottom - LINE_HEIGHT + 3, arrow.text))
            right = max(right, source + _width(arrow.text) / 2)
        else:
            shapes.append(_label((source + target) / 2, bottom - 5, arrow.text))
            shapes.append(_arrow(source, bottom, target, bottom, "line" if arrow.kind == "request" else "line back"))
        bottom += 2 * LINE_HEIGHT
    classes = ["end", "model", *["tool"] * (len(diagram.participants) - 2)]
    for x, name, css_class in zip(xs, diagram.participants, classes, strict=True):
        shapes.insert(0, f'<path class="lane" d="M{x:g} {PADDING + 32} V{bottom:g}"/>')
        shapes.append(_box(x - _width(name) / 2, PADDING, name, css_class))
    return _picture(right + PADDING, bottom + PADDING, f"a run of {diagram.participants[1]}", shapes)


def _line_positions(diagram: SequenceDiagram) -> list[float]:
    """Return the x of each participant's line, so far apart that every label between two of them fits."""
    widths = [_width(name) for name in diagram.participants]
    gaps = [(left + right) / 2 + GAP for left, right in itertools.pairwise(widths)]
    first = widths[0] / 2
    for arrow in diagram.arrows:
        left, right = sorted((arrow.source, arrow.target))
        if arrow.kind == "note":  # half of it on either side of the line
            half = _width(arrow.text) / 2
            if left > 0:
                gaps[left - 1] = max(gaps[left - 1], half + PADDING)
            if left < len(gaps):
                gaps[left] = max(gaps[left], half + PADDING)
            first = max(first, half) if left == 0 else first
        elif missing := max(_width(arrow.text) - sum(gaps[left:right]), 0):
            gaps[right - 1] += missing
    positions = [PADDING + first]
    for each in gaps:
        positions.append(positions[-1] + each)
    return positions


def _width(text: str) -> float:
    return len(text) * CHAR_WIDTH + 2 * PADDING


def _box(x: float, y: float, text: str, css_class: str) -> str:
    width = _width(text)
    box = f'<rect class="box {css_class}" x="{x:g}" y="{y:g}" width="{width:g}" height="32" rx="6"/>'
    return box + _label(x + width / 2, y + 20, text)


def _note(middle: float, y: float, text: str) -> str:
    width = _width(text)
    place = f'x="{middle - width / 2:g}" y="{y:g}" width="{width:g}" height="{LINE_HEIGHT + 4}"'
    box = f'<rect class="ground" {place}/><rect class="note" {place}/>'  # the line behind it must not show
    return box + _label(middle, y + 15, text)


def _label(x: float, y: float, text: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="middle">{escape(text)}</text>'


def _arrow(x1: float, y1: float, x2: float, y2: float, css_class: str = "line", *, both_ends: bool = False) -> str:
    start = ' marker-start="url(#head)"' if both_ends else ""
    return f'<path class="{css_class}" d="M{x1:g} {y1:g} L{x2:g} {y2:g}"{start} marker-end="url(#head)"/>'


def _picture(width: float, height: float, title: str, shapes: Sequence[str]) -> str:
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>'
    ground = draw_ground(width, height)
    return "\n".join([head, f"<title>{escape(title)}</title>", STYLE, RUN_STYLE, ground, *shapes, "</svg>", ""])
