"""Runs of agents that are tools, in the transcript and as JSON. The terminal is where foreign text must be harmless."""

import io
import json

from rich.console import Console

from toolspeak.cli.record import CallTimer
from toolspeak.cli.run import encode_event
from toolspeak.cli.transcript import Transcript
from toolspeak.run import Agent
from toolspeak.testing import ScriptedModel, calls, says
from toolspeak.values.codec import load_facts
from toolspeak.values.events import NestedDelta, NestedFact


def look(what: str) -> str:
    "Look."
    return f"seen {what}"


def build_agent() -> Agent:
    inner = Agent(ScriptedModel([calls(("look", {"what": "a"})), says("Two\nlines, and \x1b[31mred.")]), [look])
    model = ScriptedModel([calls(("expert", {"prompt": "Look."})), says("Done.")])
    return Agent(model, [inner.as_tool("expert", "Looks.")])


def test_the_transcript_indents_what_happens_inside():
    file = io.StringIO()
    transcript = Transcript(Console(file=file, width=80), CallTimer())
    for event in build_agent().stream("Go."):
        transcript.show(event)
    lines = file.getvalue().splitlines()
    assert lines[0].startswith("tool: expert(")
    assert lines[1].startswith("  │ tool: look(")
    assert lines[2] == '  │   → "seen a"' or lines[2] == "  │   → seen a"
    assert lines[3] == "  │ assistant: Two"
    assert lines[4].startswith("  │ lines, and ")
    assert "\x1b[31m" not in file.getvalue()
    assert lines[-1] == "assistant: Done."


def test_the_json_of_an_event_has_its_path():
    events = list(build_agent().stream("Go."))
    lines = [json.dumps(encode_event(event)) for event in events]
    data = [json.loads(line) for line in lines]
    assert [each["path"] for each in data if "path" in each] == [
        list(event.path) for event in events if isinstance(event, NestedDelta | NestedFact)
    ]
    assert {each["event"]["kind"] for each in data if each["kind"] == "nested_delta"} >= {"text_delta"}
    facts = [event for event in events if not event.kind.endswith("_delta")]
    kept = [line for line, each in zip(lines, data, strict=True) if not each["kind"].endswith("_delta")]
    assert load_facts("\n".join(kept) + "\n") == tuple(facts)
