"""`toolspeak graph`: an agent or a recorded run, drawn in mermaid and as an SVG picture.

A recorded run becomes a sequence diagram: the user, the model and the tools, and the arrows between them. A record may
end early: what is missing is not drawn. An agent that is a tool is one participant, and its own tools are further ones,
named `agent/tool`. The pictures are drawn without a library, and load nothing: no font, no script, no style sheet.
"""

import itertools
import json
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Literal, TypeAlias

from toolspeak.cli.agent_config import discover_targets
from toolspeak.cli.format import format_call_line, format_compaction, format_quotation, format_result, format_seconds
from toolspeak.cli.record import TimedFact, read_record
from toolspeak.cli.safe_text import escape_controls, escape_line
from toolspeak.lab.plot import AMBER, BLUE, CODE_FONT, GREEN, GREY, STYLE, draw_ground
from toolspeak.run.graph import GraphStep, draw_flowchart
from toolspeak.settings.files import read_text, write_text
from toolspeak.values import events
from toolspeak.values.errors import UsageError
from toolspeak.values.frozen import frozen

MAX_LABEL_CHARS = 80

USER, MODEL = 0, 1
"""The indexes of the first two participants."""

ArrowKind: TypeAlias = Literal["request", "response", "note"]


@frozen
class Arrow:
    """An arrow from one participant to another, given by their indexes, or a note at one of them."""

    source: int
    target: int
    text: str
    kind: ArrowKind = "request"


@frozen
class SequenceDiagram:
    """The participants of a run, and the arrows between them in order."""

    participants: tuple[str, ...]
    arrows: tuple[Arrow, ...]


def build_diagram(facts: Sequence[TimedFact]) -> SequenceDiagram:
    """Build the diagram of a recorded run. Raises `UsageError` if the facts do not contain its start."""
    started = next((timed.fact for timed in facts if isinstance(timed.fact, events.RunStarted)), None)
    if started is None:
        raise UsageError("these facts do not contain the start of a run: there is nothing to draw")
    builder = _DiagramBuilder(started)
    for timed in facts:
        builder.add_fact(timed)
    return SequenceDiagram(participants=tuple(builder.participants), arrows=tuple(builder.arrows))


class _DiagramBuilder:
    """Collects the participants and the arrows of a run and of its inner runs."""

    def __init__(self, started: events.RunStarted) -> None:
        self.participants = ["you", escape_controls(started.model)]
        self.arrows: list[Arrow] = []
        self._runs: dict[tuple[str, ...], _RunDrawer] = {(): _RunDrawer(self, MODEL)}

    def add_fact(self, timed: TimedFact) -> None:
        path: tuple[str, ...] = ()
        fact = timed.fact
        if isinstance(fact, events.NestedFact):
            path, fact = fact.path, fact.event
        if path and path not in self._runs:
            outer = self._runs.get(path[:-1])
            agent = None if outer is None else outer.tools.get(path[-1])
            if agent is None:  # the record lacks the call
                return
            self._runs[path] = _RunDrawer(self, agent, prefix=f"{self.participants[agent]}/")
        self._runs[path].add_fact(fact, timed.at)

    def find_participant(self, name: str) -> int:
        """Return the index of a participant, and add it if it is new."""
        if name not in self.participants[MODEL + 1 :]:
            self.participants.append(name)
        return self.participants.index(name, MODEL + 1)


class _RunDrawer:
    """Draws the facts of one run: of the recorded one, or of an agent that one of its calls asks."""

    def __init__(self, builder: _DiagramBuilder, model: int, *, prefix: str = "") -> None:
        """Begin to draw a run: `model` is the participant that makes its calls, `prefix` stands before its tools."""
        self._builder = builder
        self._model = model
        self._prefix = prefix
        self.tools: dict[str, int] = {}  # the index of a tool among the participants, by the id of a call
        self._call_started: dict[str, float] = {}
        self._turn_started: float | None = None

    def add_fact(self, fact: events.Fact, at: float | None) -> None:
        model = self._model
        match fact:
            case events.RunStarted(messages=messages) if model == MODEL:
                prompts = (message.text for message in reversed(messages) if message.role == "user")
                self._add_arrow(USER, MODEL, next(prompts, ""))
            case events.RunStarted(model=name):  # the prompt is the argument of the call
                self._add_arrow(model, model, f"asks {name}", "note")
            case events.TurnStarted():
                self._turn_started = at
            case events.TurnRestarted(failed=failed, model=name, reason=reason):
                self._add_arrow(model, model, f"asking {name}, since {failed} failed: {reason}", "note")
            case events.Compacted():
                self._add_arrow(model, model, format_compaction(fact), "note")
            case events.CallReady(call=call):
                tool = self._builder.find_participant(f"{self._prefix}{escape_controls(call.name)}")
                self.tools[call.id] = tool
                self._add_arrow(model, tool, format_call_line(call))
            case events.CallQuoted():
                self._add_arrow(model, model, format_quotation(fact), "note")
            case events.CallMalformed(name=name, reason=reason):
                self._add_arrow(model, model, f"{name or 'a call'} could not be read: {reason}", "note")
            case events.TurnEnded(message=message, usage=usage):
                duration = _duration(self._turn_started, at)
                if message.calls:
                    tokens = f"{usage.input_tokens} + {usage.output_tokens} tokens"
                    self._add_arrow(model, model, f"turn: {tokens}", "note", duration)
                elif message.text.strip() and model == MODEL:  # the answer of an inner run is the result of its call
                    self._add_arrow(MODEL, USER, message.text, "response", duration)
            case events.ApprovalNeeded(call=call, doubts=doubts):
                reasons = f" ({'; '.join(each.summary for each in doubts)})" if doubts else ""
                self._add_arrow(model, USER, f"may I call {call.name}?{reasons}")
            case events.ApprovalGiven(approved=approved, reason=reason):
                text = "yes" if approved else f"no: {reason}" if reason else "no"
                self._add_arrow(USER, model, text, "response")
            case events.ToolStarted(call_id=call_id):
                if at is not None:
                    self._call_started[call_id] = at
            case (
                events.ToolSuspended(call_id=call_id, summary=summary)
                | events.WaitOver(call_id=call_id, summary=summary)
            ):
                if call_id in self.tools:
                    self._add_arrow(self.tools[call_id], self.tools[call_id], summary, "note")
            case events.ToolFinished(result=result):
                duration = _duration(self._call_started.get(result.call_id), at)
                text = format_result(result) if result.error is None else f"error: {format_result(result)}"
                if result.call_id in self.tools:
                    self._add_arrow(self.tools[result.call_id], model, text, "response", duration)
            case events.Guided():
                self._add_arrow(model, model, fact.summary, "note")
            case events.HandedOver(agent=agent):
                self._add_arrow(model, model, f"handed over to {agent}", "note")
            case events.RunEnded(reason=reason, detail=detail) if reason != "answered":
                self._add_arrow(model, model, f"stopped ({reason}): {detail}".removesuffix(": "), "note")
            case _:
                pass

    def _add_arrow(
        self, source: int, target: int, text: str, kind: ArrowKind = "request", duration: float | None = None
    ) -> None:
        line = " ".join(escape_controls(text).split())
        label = line if len(line) <= MAX_LABEL_CHARS else f"{line[: MAX_LABEL_CHARS - 1]}…"
        if duration is not None:
            label = f"{label} ({format_seconds(duration)})"
        self._builder.arrows.append(Arrow(source=source, target=target, text=label, kind=kind))


def _duration(start: float | None, end: float | None) -> float | None:
    return None if start is None or end is None else max(end - start, 0.0)


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
    return len(text) * 7.2 + 2 * PADDING  # a character is so wide; the font has a fixed width


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


def draw(target: str, find_model_name: Callable[[], str], svg: Path | None) -> str:
    """Draw a target's agent or a recorded run, write a picture if a file for it is given, and return the mermaid text.

    `find_model_name` returns the name to draw for the agent's model; it is not called for a record.
    """
    if is_record(target):
        diagram = build_diagram(read_record(read_text(target), target))
        text, picture = format_mermaid(diagram), draw_run(diagram)
    else:
        tools = discover_targets(target).names
        name = escape_line(find_model_name())
        text = draw_flowchart([GraphStep(shape="model", label=name, tools=tools)])
        picture = draw_agent(name, tools)
    if svg is not None:
        write_text(svg, picture)
    return text


def is_record(target: str) -> bool:
    """Whether a target is a file of facts: it is named as JSON, or its first line is a JSON object."""
    path = Path(target)
    if path.suffix in (".jsonl", ".json"):
        return True
    try:
        with path.open("rb") as file:
            start = file.readline(1_000_000)  # a longer line is no record
        return path.suffix != ".py" and isinstance(json.loads(start), dict)
    except (OSError, ValueError, RecursionError):
        return False


def format_mermaid(diagram: SequenceDiagram) -> str:
    """Format a sequence diagram in mermaid."""
    lines = ["sequenceDiagram"]
    for number, name in enumerate(diagram.participants):
        lines.append(f"    {'actor' if number == 0 else 'participant'} p{number} as {_escape(name)}")
    for arrow in diagram.arrows:
        if arrow.kind == "note":
            lines.append(f"    Note over p{arrow.source}: {_escape(arrow.text)}")
        else:
            head = "->>" if arrow.kind == "request" else "-->>"
            lines.append(f"    p{arrow.source}{head}p{arrow.target}: {_escape(arrow.text)}")
    return "\n".join([*lines, ""])


def _escape(text: str) -> str:
    """Replace the characters that mermaid would take for the end of a label or for markup by their codes."""
    special = {"#": "#35;", ";": "#59;", "<": "#lt;", ">": "#gt;", "%": "#37;"}
    return "".join(special.get(letter, letter) for letter in text) or " "
