"""`toolspeak trace`: the spans of a recorded run or of exchanges, as a tree or sent to a collector of OpenTelemetry."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from toolspeak.cli.files import read_text
from toolspeak.cli.format import format_seconds
from toolspeak.cli.record import find_time_of_day, read_record
from toolspeak.cli.safe_text import escape_line
from toolspeak.errors import UsageError
from toolspeak.telemetry import TraceSpan, build_spans, names
from toolspeak.telemetry.exchange_spans import build_exchange_spans, is_exchange
from toolspeak.telemetry.exporter import SpanSender


def load_spans(path: str, *, content: bool, agent: str) -> list[TraceSpan]:
    """Return the spans of a recorded run, or of exchanges as `toolspeak serve --show` writes them.

    A record without the time of day is taken to have ended when its file was last changed.

    Raises:
        UsageError: The file cannot be read, or has no facts of a run.
    """
    text = read_text(path)
    if is_exchange(text.partition("\n")[0]):
        reports = (json.loads(line) for line in text.split("\n") if is_exchange(line))
        return [span for report in reports for span in build_exchange_spans(report, content=content)]
    facts = read_record(text, path)
    last = max((each.at for each in facts if each.at is not None), default=0.0)
    start = find_time_of_day(text)
    began = Path(path).stat().st_mtime - last if start is None else start
    times: list[int] = []
    for each in facts:  # records count microseconds: a float of today has no more digits
        times.append(times[-1] if each.at is None and times else 1000 * round((began + (each.at or 0.0)) * 1e6))
    spans = build_spans(((each.fact, at) for each, at in zip(facts, times, strict=True)), content=content, agent=agent)
    if not spans:
        raise UsageError(f"{path} does not contain the start of a run: there is nothing to trace")
    return spans


def send_spans(spans: Sequence[TraceSpan], url: str, environment: Mapping[str, str]) -> str:
    """Send spans to a collector, and return what was done, in words."""
    sender = SpanSender(url, environment)
    sender.send(spans)
    traces = list(dict.fromkeys(span.trace_id for span in spans))
    which = f"trace {traces[0]}" if len(traces) == 1 else f"{len(traces)} traces"
    return f"{len(spans)} spans of {which} were sent to {sender.url}\n"


def draw_spans(spans: Sequence[TraceSpan]) -> str:
    """Draw spans as a tree, each with its time, its tokens and what went wrong."""
    below: dict[str | None, list[TraceSpan]] = {}
    known = {span.id for span in spans}
    for span in spans:
        below.setdefault(span.parent_id if span.parent_id in known else None, []).append(span)
    rows: list[tuple[str, TraceSpan]] = []

    def add(span: TraceSpan, lead: str, branch: str, indent: str) -> None:
        rows.append((f"{lead}{branch}{escape_line(span.name)}", span))
        inner = below.get(span.id, [])
        for number, each in enumerate(inner, 1):
            is_last = number == len(inner)
            add(each, lead + indent, "└─ " if is_last else "├─ ", "   " if is_last else "│  ")

    for root in below.get(None, []):
        add(root, "", "", "")
    width = max(len(text) for text, _ in rows)
    return "".join(f"{text:<{width}}  {_describe(span)}".rstrip() + "\n" for text, span in rows)


def _describe(span: TraceSpan) -> str:
    attributes = span.attributes
    words = [f"{format_seconds(span.seconds or 0.0):>7}"]
    if names.INPUT_TOKENS in attributes:
        words.append(f"{attributes[names.INPUT_TOKENS]} + {attributes[names.OUTPUT_TOKENS]} tokens")
    for event in span.events:
        reason = event.attributes.get(names.REFUSAL) or event.attributes.get(names.REASON)
        name = event.name.removeprefix("toolspeak.").replace("_", " ")
        words.append(f"{name} ({reason})" if reason else name)
    if attributes.get(names.UNFINISHED):
        words.append("unfinished")
    if span.is_error:
        words.append(f"error: {attributes.get(names.ERROR_TYPE)}")
    return escape_line(", ".join(words))
