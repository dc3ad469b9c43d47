"""A run as one HTML file that needs nothing else: to send it to somebody, to keep it, to open it without a network.

All that the file shows stands in it as text. Rows are `<details>` elements, which unfold without a script; the one
script adds buttons and a filter. The policy at the top of the file allows this script and this style sheet, by their
hashes, and images that are part of the file: nothing is loaded, whatever a model or a tool has written.

Keys and hidden fields are removed from the facts (`redaction.py`) before anything is drawn. HTML is built as text:
whatever is not made by `element` is text, and is escaped. The short texts of a row are the same that `row.js` draws.
"""

import base64
import hashlib
import html
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from importlib import resources
from itertools import count
from typing import Any, NamedTuple, NewType

from toolspeak.models.cassettes.redaction import collect_environment_secrets
from toolspeak.page.conversation import describe_answer
from toolspeak.page.details import DRAWN_TYPES, DetailSection, find_end, list_sections, render_turn
from toolspeak.page.document import RunDocument
from toolspeak.page.redaction import HIDDEN, redact_document
from toolspeak.page.rows import OutlineRow, find_faults
from toolspeak.values.escaping import UNSAFE_CHARS, escape_match

Markup = NewType("Markup", str)
"""HTML that was built here."""

VOID_ELEMENTS = frozenset({"img", "meta"})
"""Elements without content and without an end tag."""

STYLES = ("theme.css", "parts.css", "export.css")
SCRIPT = "export.js"

LANE_HEIGHT = 14
MAX_TOOL_LANES = 5

MAX_WORD_CHARS = 2000
"""A browser takes minutes to break a longer word in a font with kerning."""

ROLES = {"system": "System", "user": "You", "assistant": "Model", "tool": "Results"}

STOP_WORDS = {
    "answered": "Answered",
    "empty": "No answer",
    "length": "Cut off",
    "refused": "Refused",
    "limit": "Limit reached",
    "loop": "Stuck in a loop",
    "cancelled": "Cancelled",
    "error": "Failed",
}

STAGES = {
    "writing": "unfinished",
    "ready": "not run here",
    "asking": "needs approval",
    "approved": "approved",
    "refused": "refused",
    "running": "unfinished",
    "suspended": "waits",
    "done": "",
    "failed": "error",
    "malformed": "unreadable",
}

SPAN_KINDS = {
    "thinking": "reasoning",
    "malformed": "unreadable",
    "made_up": "made up",
    "dropped": "ignored",
    "retraction": "end of reasoning",
}
"""What a part of a model's text was read as, where the word differs from that of the reader."""

_UNSAFE = re.compile(f"[{UNSAFE_CHARS}]")


def export_run(document: RunDocument, *, hidden: Collection[str] = (), secrets: Iterable[str] | None = None) -> str:
    """Return a run as one HTML file, without keys.

    Args:
        document: The run.
        hidden: The names of fields of arguments and results whose values are left out.
        secrets: Keys that must not stand in the file; by default those of the environment.
    """
    keys = collect_environment_secrets() if secrets is None else secrets
    return _ExportedRun(redact_document(document, keys, hidden)).draw()


class _ExportedRun:
    """Draws a run that holds nothing secret any more."""

    def __init__(self, document: RunDocument) -> None:
        self._document = document
        self._rows = document.fold.rows
        self._children: dict[int | None, list[OutlineRow]] = {}
        for row in self._rows:
            self._children.setdefault(row.parent, []).append(row)
        names = ("at", "start", "ready", "end", "answered")
        times = [row.fields.get(name) for row in self._rows for name in names]
        self._duration = max((time for time in times if time is not None), default=0.0)  # 0 if times are not known

    def draw(self) -> str:
        """Return the whole file."""
        style = "\n".join(_read_static(name) for name in STYLES)
        script = _read_static(SCRIPT)
        title = self._document.fold.summary.get("title") or "A run"
        policy = "; ".join(
            (
                "default-src 'none'",
                f"style-src '{_hash(style)}'",
                f"script-src '{_hash(script)}'",
                "img-src data:",
                "base-uri 'none'",
                "form-action 'none'",
                "require-trusted-types-for 'script'",
                "trusted-types 'none'",
            )
        )
        lines = (
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            element("meta", {"charset": "utf-8"}),
            element("meta", {"http-equiv": "Content-Security-Policy", "content": policy}),
            element("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
            element("meta", {"name": "referrer", "content": "no-referrer"}),
            element("meta", {"name": "color-scheme", "content": "light dark"}),
            element("title", {}, escape_title(f"{title} · toolspeak")),
            f"<style>{style}</style>",
            "</head>",
            "<body>",
            self._draw_head(title),
            element("main", {"id": "rows", "aria-label": "Turns and calls"}, *self._draw_rows(None)),
            element("footer", {}, escape_text("A toolspeak run in one file. It loads nothing from the network.")),
            f"<script>{script}</script>",
            "</body>",
            "</html>",
            "",
        )
        return "\n".join(lines)

    def _draw_head(self, title: str) -> Markup:
        document, summary = self._document, self._document.fold.summary
        turns: int = summary["turns"]
        is_done, reason = summary["status"] == "done", summary.get("reason", "")
        has_faults = summary["errors"] + summary["refusals"] > 0
        tone = ("bad" if reason != "answered" else "warn" if has_faults else "good") if is_done else "open"
        tokens = _describe_tokens(summary["input_tokens"], summary["output_tokens"])
        facts = [
            summary.get("model", ""),
            summary.get("dialect", ""),
            f"{turns} {'turn' if turns == 1 else 'turns'}",
            f"{tokens} tokens" if summary["input_tokens"] or summary["output_tokens"] else "",
            _describe_cost(summary["cost"]) if summary["cost"] else "",
            _describe_seconds(self._duration) if self._duration else "",
        ]
        words = text_element("span", f"state state-{tone}", _describe_end(reason) if is_done else "Unfinished")
        return element(
            "header",
            {"class": "run-head"},
            text_element("h1", "", title),
            element(
                "p",
                {"class": "run-facts"},
                words,
                *_draw_counts(summary),
                *(text_element("span", "", fact) for fact in facts if fact),
            ),
            text_element("p", "remark remark-bad", summary["detail"]) if is_done and summary.get("detail") else None,
            text_element("p", "remark remark-bad", document.failure) if document.failure else None,
            self._draw_answer(),
            self._draw_lanes(),
            self._draw_shown(),
        )

    def _draw_answer(self) -> Markup | None:
        """Draw the answer, which whoever opens the file wants to see first."""
        answer: str = describe_answer(self._document)["answer"]
        if not answer.strip() or self._document.fold.summary.get("reason") != "answered":
            return None
        section = {"class": "part part-text answer", "aria-label": "Answer"}
        return element("section", section, text_element("h2", "answer-label", "Answer"), _draw_pre(answer))

    def _draw_lanes(self) -> Markup | None:
        """Draw the whole run over its time: a lane for the model and for each tool, with what failed in red."""
        lanes = list(_list_lanes(self._rows)) if self._duration > 0 else []
        if not lanes:
            return None
        drawn: list[Markup] = []
        for place, lane in enumerate(lanes):
            for kind, bars in ((f"lane lane-{lane.kind}", lane.bars), ("lane-fault", lane.faults)):
                if path := _draw_path(bars, place * LANE_HEIGHT, self._duration):
                    drawn.append(element("path", {"class": kind, "d": path}))
        height = str(len(lanes) * LANE_HEIGHT)
        faults = sum(len(lane.faults) for lane in lanes)
        label = f"lanes: {len(lanes)}, over {_describe_seconds(self._duration)}, {faults} failed, in red"
        frame = {
            "class": "lanes",
            "viewBox": f"0 0 1000 {height}",
            "height": f"{len(lanes) * 0.9:.1f}rem",
            "preserveAspectRatio": "none",
        }
        names = (text_element("span", "", lane.name) for lane in lanes)
        scale = (text_element("span", "", words) for words in ("0", _describe_seconds(self._duration)))
        return element(
            "div",
            {"class": "overview"},
            element("div", {"class": "lane-labels", "aria-hidden": "true"}, *names),
            element(
                "div", {"class": "lanes-box"}, element("svg", {**frame, "role": "img", "aria-label": label}, *drawn)
            ),
            element("div", {"class": "lanes-scale", "aria-hidden": "true"}, *scale),
        )

    def _draw_shown(self) -> Markup | None:
        """Draw what the model was shown in the first turn: the tools in their dialect, and the conversation."""
        first = next((row for row in self._rows if row.kind == "turn" and not row.path), None)
        if first is None:
            return None
        shown: dict[str, Any] = render_turn(self._document, first.index, first=0)
        blocks = [_draw_block(each["role"], each["text"]) for each in shown["messages"]]
        if tools := shown.get("tools"):
            blocks.append(_draw_block("tools", tools))
        label = f"What the model saw first, in the dialect {shown['dialect']}"
        return element("details", {"class": "shown"}, text_element("summary", "", label), *blocks)

    def _draw_rows(self, parent: int | None) -> Iterator[Markup]:
        for row in self._children.get(parent, ()):
            inner = element("div", {"class": "inner"}, *self._draw_rows(row.index))
            yield element(
                "section",
                {"class": f"node node-{row.kind}", "id": f"fact-{row.facts[0]}"},
                self._draw_row(row),
                inner if row.index in self._children else None,
            )

    def _draw_row(self, row: OutlineRow) -> Markup:
        head = _describe_row_head(row)
        tone = f" tone-{head.tone}" if head.tone else ""
        void = " is-void" if row.fields.get("void") else ""
        summary = element(
            "summary",
            {"class": f"row row-{row.kind}{tone}{void}"},
            text_element("span", "row-label", head.label),
            text_element("span", "row-text", head.text),
            *(text_element("span", f"badge badge-{tone}", words) for words, tone in head.badges),
            text_element("span", "row-meta", head.meta) if head.meta else None,
            self._draw_bar(row),
        )
        sections = [_draw_section(each) for each in self._list_sections(row)]
        body = element("div", {"class": "details"}, *sections)
        return element("details", {"class": "fold", "open": self._is_open(row)}, summary, body)

    def _is_open(self, row: OutlineRow) -> bool:
        """Whether a row is unfolded at first: what was asked, and the answer."""
        is_prompt = row.kind == "message" and row.fields.get("role") == "user" and not row.path
        is_answer = row.kind == "turn" and not row.path and not row.fields.get("calls") and "finish" in row.fields
        return is_prompt or is_answer

    def _list_sections(self, row: OutlineRow) -> Iterator[DetailSection]:
        is_hidden = False
        for section in list_sections(self._document, row.index):
            is_hidden = is_hidden or (section.label == "Arguments" and HIDDEN in section.text)
            if is_hidden and section.type == "remark" and section.text.startswith("Does not fit the schema"):
                continue  # what was left out does not fit; the value itself did or did not
            yield section
            if section.type == "raw" and section.data is not None and section.data.get("rest"):
                ended = find_end(self._document, row)
                raw = "" if ended is None or ended.message.raw is None else ended.message.raw.text
                yield DetailSection(
                    type="json", label="The rest, without annotations", text=raw[-section.data["rest"] :]
                )

    def _draw_bar(self, row: OutlineRow) -> Markup | None:
        """Draw when a turn or a call ran, as a bar in the whole time of the run."""
        start, end = row.fields.get("start", row.fields.get("ready")), row.fields.get("end")
        if row.kind not in ("turn", "call") or start is None or end is None or self._duration <= 0:
            return None
        left, width = 100 * start / self._duration, 100 * (end - start) / self._duration
        bar = element("rect", {"x": f"{left:.2f}", "width": f"{max(width, 1):.2f}", "height": "6", "rx": "1"})
        frame = {"class": f"bar bar-{row.kind}", "viewBox": "0 0 100 6", "preserveAspectRatio": "none"}
        return element("svg", {**frame, "aria-hidden": "true"}, bar)


class Lane(NamedTuple):
    """When the model, a tool or an approval was busy: bars from one time to another, and those in which it failed."""

    name: str
    kind: str
    bars: list[tuple[float, float]]
    faults: list[tuple[float, float]]


def _list_lanes(rows: Iterable[OutlineRow]) -> Iterator[Lane]:
    """Yield the lanes of a run, as `overview.js` draws them."""
    lanes = {name: Lane(name, "model", [], []) for name in ("model", "sub-agents")}
    tools: dict[str, Lane] = {}
    approvals = Lane("approval", "approval", [], [])
    for row in rows:
        fields = row.fields
        if fields.get("void") or row.kind not in ("turn", "call"):
            continue
        is_bad = any(fault in ("error", "refusal") for fault in find_faults(row))
        lane = lanes["sub-agents" if row.path else "model"]
        if row.kind == "call":
            if (asked := fields.get("asked")) is not None:
                (approvals.faults if is_bad else approvals.bars).append((asked, fields.get("answered") or asked))
            if fields["stage"] != "malformed":
                name = fields["name"] if fields["name"] in tools or len(tools) < MAX_TOOL_LANES else "other tools"
                lane = tools.setdefault(name, Lane(name, "tool", [], []))
        start = fields.get("ready" if fields.get("stage") == "malformed" else "start")
        if start is not None:
            (lane.faults if is_bad else lane.bars).append((start, fields.get("end") or start))
    yield from (each for each in (*lanes.values(), *tools.values(), approvals) if each.bars or each.faults)


def _draw_path(bars: Iterable[tuple[float, float]], top: int, duration: float) -> str:
    """Return bars as the path of a drawing that is a thousand wide. What nobody could see is left out."""
    path: list[str] = []
    last = -1.0
    for start, end in bars:
        width = max(2.0, 1000 * (end - start) / duration)
        left = min(1000 * start / duration, 1000 - width)
        if left + width - last >= 0.5:
            last = left + width
            path.append(f"M{left:.1f} {top + 3}h{width:.1f}v8h{-width:.1f}z")
    return "".join(path)


class RowHead(NamedTuple):
    """What stands in the one line of a row."""

    label: str  # what the row is
    text: str  # the beginning of its text
    meta: str = ""  # its tokens, cost and time
    tone: str = ""  # whether it is good or bad news; "" for neither
    badges: tuple[tuple[str, str], ...] = ()  # what is remarkable, each with its tone


def _describe_row_head(row: OutlineRow) -> RowHead:
    """Return what stands in the one line of a row."""
    fields = row.fields
    match row.kind:
        case "message":
            role: str = fields["role"]
            label = "Task" if role == "user" and row.path else ROLES.get(role, role)
            return RowHead(label, fields["text"])
        case "turn":
            is_usual = fields.get("finish") in (None, "stop", "tool_calls", "closed")
            badges = (("void", "plain"),) if fields.get("void") else () if is_usual else ((fields["finish"], "bad"),)
            return RowHead(f"Turn {fields['turn']}", fields.get("text", ""), _describe_turn(row), badges=badges)
        case "call":
            outcome = fields.get("error", fields.get("result"))
            written = fields.get("arguments", "")
            arguments = written if fields.get("is_program") else f"({written})"
            text = arguments if outcome is None else f"{arguments}  →  {outcome}"
            is_bad = fields["stage"] in ("failed", "malformed", "refused")
            badges = tuple(_list_call_badges(row, is_bad=is_bad))
            return RowHead(fields["name"] or "a call", text, _describe_duration(row), "bad" if is_bad else "", badges)
        case "end":
            tone = "good" if fields["reason"] == "answered" else "bad"
            seconds = fields.get("seconds", fields.get("at"))
            at = "" if seconds is None else _describe_seconds(seconds)
            return RowHead(_describe_end(fields["reason"]), fields.get("text", ""), at, tone)
        case "note":
            return RowHead("Note", fields.get("text", ""))


def _draw_counts(summary: Mapping[str, Any]) -> Iterator[Markup]:
    """Draw how much went wrong in a run."""
    for name, tone in (("errors", "bad"), ("refusals", "bad"), ("repairs", "warn"), ("repeats", "warn")):
        if count := summary[name]:
            noun = "repeated calls" if name == "repeats" else name
            words = f"{count} {noun if count > 1 else noun[:-1]}"
            yield text_element("span", f"fault-count fault-{tone}", words)


def _describe_end(reason: str) -> str:
    return STOP_WORDS.get(reason, reason)


def _describe_seconds(seconds: float) -> str:
    if seconds < 0.1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 60 else f"{seconds // 60:.0f} min {seconds % 60:.0f} s"


def _describe_tokens(read: int, written: int) -> str:
    """Return input and output tokens. Some endpoints do not count those of the input."""
    return f"{read:,} in / {written:,} out" if read else f"{written:,} out"


def _describe_cost(dollars: float) -> str:
    if dollars < 0.00001:
        return "<$0.00001"
    return f"${dollars:.2f}" if dollars >= 0.01 else f"${dollars:.5f}".rstrip("0")


def _describe_turn(row: OutlineRow) -> str:
    fields = row.fields
    parts: list[str] = []
    if fields.get("input_tokens") or fields.get("output_tokens"):
        parts.append(f"{_describe_tokens(fields['input_tokens'], fields['output_tokens'])} tokens")
    if fields.get("cost"):
        parts.append(_describe_cost(fields["cost"]))
    return " · ".join((*parts, *filter(None, [_describe_duration(row)])))


def _describe_duration(row: OutlineRow) -> str:
    start, end = row.fields.get("start", row.fields.get("ready")), row.fields.get("end")
    return "" if start is None or end is None else _describe_seconds(end - start)


def _list_call_badges(row: OutlineRow, *, is_bad: bool) -> Iterator[tuple[str, str]]:
    fields = row.fields
    if fields.get("repair"):
        yield "repaired", "warn"
    if fields.get("quoted"):
        yield "quoted", "warn"
    if "repeat_of" in fields:
        yield "same call again", "warn"
    if stage := STAGES.get(fields["stage"], fields["stage"]):
        yield stage, "bad" if is_bad else "plain"
    if fields.get("void"):
        yield "void", "plain"


def _draw_section(section: DetailSection) -> Markup:
    data = section.data or {}
    match section.type:
        case "remark":
            return text_element("p", f"remark remark-{section.tone or 'plain'}", section.text)
        case "changes":
            return _draw_part(section, _draw_changes(data["changes"]))
        case "figures":
            pairs = (
                Markup(text_element("dt", "", name) + text_element("dd", "", value)) for name, value in data["figures"]
            )
            return element("dl", {"class": "figures"}, *pairs)
        case "media":
            return _draw_part(section, *_draw_media(section))
        case "raw":
            return _draw_raw(section, data["spans"])
        case _:
            return _draw_part(section, _draw_pre(section.text))


def _draw_part(section: DetailSection, *content: Markup) -> Markup:
    heading = text_element("h3", "", section.label) if section.label else None
    return element("div", {"class": f"part part-{section.type}"}, heading, *content)


def _draw_pre(text: str) -> Markup:
    """Draw a text as it stands."""
    is_unbroken = max(map(len, text.split()), default=0) >= MAX_WORD_CHARS
    return text_element("pre", "block is-unbroken" if is_unbroken else "block", text)


def _draw_block(label: str, text: str) -> Markup:
    return element("div", {"class": "part"}, text_element("h3", "", label), _draw_pre(text))


def _draw_changes(changes: Iterable[dict[str, str]]) -> Markup:
    rows = (
        element(
            "tr",
            {},
            element("th", {"scope": "row"}, escape_text(change["path"] or "(all)")),
            element("td", {}, text_element("del", "", change["before"] or "missing")),
            element("td", {"class": "arrow", "aria-label": "became"}, escape_text("→")),
            element("td", {}, text_element("ins", "", change["after"] or "removed")),
        )
        for change in changes
    )
    return element("table", {"class": "changes"}, element("tbody", {}, *rows))


def _draw_media(section: DetailSection) -> Iterator[Markup]:
    media = section.media
    if media is None:
        return
    size = "" if media.data is None else f"{len(media.data):,} byte{'s' * (len(media.data) != 1)}"
    if media.data is not None and media.mime in DRAWN_TYPES:
        source = f"data:{media.mime};base64,{base64.b64encode(media.data).decode()}"
        yield element("img", {"alt": media.name or "An attachment", "src": source})
    yield text_element("p", "quiet", " · ".join(filter(None, (media.name, media.mime, size, media.url))))


def _draw_raw(section: DetailSection, spans: Sequence[dict[str, Any]]) -> Markup:
    """Draw what a model wrote: an answer in words like any text, calls with marks."""
    if all(span["kind"] == "prose" and not span["notes"] for span in spans):
        words = "".join(span["text"] for span in spans)
        return element("div", {"class": "part part-text"}, _draw_pre(words))
    return _draw_part(section, *_draw_marked(spans))


def _draw_marked(spans: Iterable[dict[str, Any]]) -> Iterator[Markup]:
    """Draw a text with what each part of it was read as; the notes below are numbered."""
    text: list[Markup] = []
    notes: list[Markup] = []
    numbers = count(1)
    for span in spans:
        words = [*(["quoted from a text that the model was shown"] if span.get("quoted") else []), *span["notes"]]
        if span["kind"] == "prose" and not words:
            text.append(escape_text(span["text"]))
            continue
        tone = "quoted" if span.get("quoted") else "repaired" if span.get("repaired") else span["kind"]
        number = text_element("sup", "mark-number", str(next(numbers))) if words else None
        text.append(element("span", {"class": f"mark mark-{tone}"}, *_draw_repairs(span), number))
        if words:
            notes.append(
                element(
                    "li",
                    {"class": "note"},
                    text_element("span", f"tag tag-{tone}", SPAN_KINDS.get(tone, tone)),
                    escape_text("; ".join(words)),
                )
            )
    yield element("pre", {"class": "block marked"}, *text)
    if notes:
        yield element("ol", {"class": "notes"}, *notes)


def _draw_repairs(span: dict[str, Any]) -> Iterator[Markup]:
    """Draw the text of a part, and mark the characters at which it was repaired."""
    text: str = span["text"]
    start = 0
    for place in span.get("repairs", ()):
        yield escape_text(text[start:place])
        yield text_element("span", "repair", text[place : place + 1])
        start = place + 1
    yield escape_text(text[start:])


def _read_static(name: str) -> str:
    return resources.files("toolspeak.page").joinpath("static", name).read_text(encoding="utf-8").strip()


def _hash(content: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"


# HTML as text


def element(tag: str, attributes: Mapping[str, str | bool | None], *children: Markup | None) -> Markup:
    """Return an element with these children and attributes; one that is None or False is left out."""
    named = "".join(
        f" {name}" if value is True else f' {name}="{escape_title(value)}"'
        for name, value in attributes.items()
        if value is not None and value is not False
    )
    if tag in VOID_ELEMENTS:
        return Markup(f"<{tag}{named}>")
    return Markup(f"<{tag}{named}>{''.join(child for child in children if child)}</{tag}>")


def text_element(tag: str, kind: str, text: str) -> Markup:
    """Return an element of one class with a text in it."""
    return element(tag, {"class": kind or None}, escape_text(text))


def escape_text(text: str) -> Markup:
    """Return a text as HTML. Characters that are obeyed or hidden instead of shown become marked escapes."""
    escaped = html.escape(text.replace("\r\n", "\n"))
    return Markup(_UNSAFE.sub(lambda found: f'<span class="control">{_escape(found)}</span>', escaped))


def escape_title(text: str) -> Markup:
    """Return a text as HTML for a place that cannot hold elements, such as a title."""
    return Markup(html.escape(_UNSAFE.sub(_escape, text)))


def _escape(found: re.Match[str]) -> str:
    return escape_match(found) or r"\r"
