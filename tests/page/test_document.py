"""A run that is still arriving: what those who watch it are told."""

import json
from typing import Any

from toolspeak.page.details import list_sections
from toolspeak.page.document import MAX_QUEUED_CHANGES, RunDocument
from toolspeak.page.routes import stream_changes
from toolspeak.page.saved_run import write_test
from toolspeak.values.events import (
    ArgsDelta,
    CallReady,
    CallStarted,
    Fact,
    NestedDelta,
    RunEnded,
    RunResumed,
    RunStarted,
    TextDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    ToolSuspended,
    TurnEnded,
    TurnRestarted,
    TurnStarted,
    WaitOver,
)
from toolspeak.values.messages import Call, Message, ToolCall, ToolResult, assistant, user

from .loops import run_in_loop

STARTED = RunStarted(run_id="run", model="m", dialect="python", messages=(user("Hi."),))


def begin() -> RunDocument:
    document = RunDocument()
    document.is_live = True
    document.add(STARTED, 0.0)
    document.add(TurnStarted(turn=1, model="m"), 0.1)
    return document


def read_event(data: bytes) -> tuple[str, str, Any]:
    """Return the id, the kind and the data of a server-sent event."""
    fields = dict(line.split(": ", 1) for line in data.decode().strip().split("\n"))
    return fields.get("id", ""), fields["event"], json.loads(fields["data"])


def test_whoever_begins_to_watch_gets_the_text_so_far_and_then_what_follows() -> None:
    async def watch() -> None:
        document = begin()
        document.add(TextDelta(text="Hel"))
        events = stream_changes(document, 0)
        number, kind, outline = read_event(await anext(events))
        assert (number, kind, len(outline["rows"])) == ("2", "outline", 2)
        assert outline["drafts"] == [{"row": 1, "part": "text", "text": "Hel"}]
        document.add(TextDelta(text="lo."))
        document.add(TurnEnded(message=assistant("Hello."), finish="stop"), 0.4)
        document.add(RunEnded(reason="answered"), 0.5)
        document.finish()
        number, kind, changes = read_event(await anext(events))
        assert (number, kind) == ("4", "changes")
        assert [each["type"] for each in changes] == ["draft", "rows", "rows", "end"]
        assert read_event(await anext(events))[1] == "end"
        assert document.encode_outline()["drafts"] == []
        assert document.fold.rows[1].fields["text"] == "Hello."

    run_in_loop(watch())


def test_how_far_a_call_is_stands_beside_its_row_until_it_has_ended() -> None:
    async def watch() -> None:
        document = begin()
        call = ToolCall(id="call_1", name="look", arguments={})
        for fact in (CallReady(call=call), ToolStarted(call_id="call_1")):
            document.add(fact, 0.2)
        document.add(ToolProgress(call_id="call_1", done=1, total=4))
        document.add(ToolProgress(call_id="unknown", done=1))
        events = stream_changes(document, 0)
        _, _, outline = read_event(await anext(events))
        assert outline["progress"] == [{"row": 2, "text": "1 of 4"}]
        document.add(ToolProgress(call_id="call_1", done=2.5, total=4, text="the second page"))
        document.add(ToolFinished(result=ToolResult(call_id="call_1", output="seen")), 0.9)
        _, _, changes = read_event(await anext(events))
        assert changes[0] == {"type": "progress", "row": 2, "text": "2.5 of 4, the second page"}
        assert document.encode_outline()["progress"] == []

    run_in_loop(watch())


def test_a_call_that_waits_says_what_for() -> None:
    document = begin()
    for call_id in ("a", "b"):
        document.add(CallReady(call=ToolCall(id=call_id, name="ship", arguments={})), 0.2)
        document.add(ToolStarted(call_id=call_id), 0.3)
    document.add(ToolSuspended(call_id="a", number=1, signal="paid", seconds=60), 0.4)
    assert (document.fold.rows[2].fields["stage"], document.fold.summary["status"]) == ("suspended", "running")
    document.add(ToolSuspended(call_id="b", number=1, seconds=5), 0.5)
    assert document.fold.summary["status"] == "paused"
    document.add(RunResumed(), 2.0)
    document.add(WaitOver(call_id="a", number=1, signal="paid", came=True), 2.0)
    assert (document.fold.rows[2].fields["stage"], document.fold.summary["status"]) == ("ready", "running")
    texts = [section.text for section in list_sections(document, 2)]
    assert texts[-2:] == ["It waits for paid, at most 60 s.", "Resumed: paid came."]


def test_whoever_connects_again_gets_only_the_rows_that_have_changed() -> None:
    async def watch() -> None:
        document = begin()
        document.add(CallStarted(call_id="call_1", name="look"), 0.2)
        _, _, outline = read_event(await anext(stream_changes(document, 2)))
        assert [row["kind"] for row in outline["rows"]] == ["call"]

    run_in_loop(watch())


def test_a_takeover_takes_back_the_text_of_the_open_turn() -> None:
    document = begin()
    document.add(TextDelta(text="Once upon"))
    document.add(ArgsDelta(call_id="unknown", text="{"))
    document.add(NestedDelta(path=("unknown",), event=TextDelta(text="inner")))
    document.add(RunResumed(), 2.0)
    document.add(TurnStarted(turn=1, model="m"), 2.1)
    outline = document.encode_outline()
    assert outline["drafts"] == []
    assert [row.get("void") for row in outline["rows"]] == [None, True, None, None]


def test_whoever_does_not_read_is_cut_off_and_can_connect_again() -> None:
    async def watch() -> None:
        document = begin()
        events = stream_changes(document, 0)
        await anext(events)
        for _ in range(MAX_QUEUED_CHANGES + 10):
            document.add(TextDelta(text="x"))
        kinds = [read_event(event)[1] async for event in events]
        assert "end" not in kinds
        assert not document.is_watched
        _, _, outline = read_event(await anext(stream_changes(document, 2)))
        assert len(outline["drafts"][0]["text"]) == MAX_QUEUED_CHANGES + 10

    run_in_loop(watch())


def test_a_saved_test_has_the_answers_of_all_turns_beside_a_turn_that_began_anew() -> None:
    document = RunDocument()
    call = Call(call=ToolCall(id="1", name="look", arguments={}))
    answer = Message(role="assistant", parts=(call,))
    facts: list[Fact] = [
        STARTED,
        TurnStarted(turn=1, model="m"),
        TurnEnded(message=answer, finish="stop"),
        TurnStarted(turn=2, model="m"),
        TurnRestarted(turn=2, failed="m", reason="down", model="n"),
        TurnStarted(turn=2, model="n"),
        TurnEnded(message=assistant("Done."), finish="stop"),
        RunEnded(reason="answered"),
    ]
    for time, fact in enumerate(facts):
        document.add(fact, float(time))
    written = write_test(document)
    assert "calls(('look', {}))" in written
    assert "says('Done.')" in written
