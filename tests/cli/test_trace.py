"""`toolspeak trace`: a recorded run as a tree of spans, and sent to a collector."""

import json
import os
import re
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cases import each_case
from tests.cli.commands import run_command
from tests.cli.terminal import environment
from tests.gateway.hosting import ask, serve_model
from tests.telemetry.receiver import receive_spans
from toolspeak import Agent, codec
from toolspeak.cli.graph import build_diagram, draw_run
from toolspeak.cli.page import write_export
from toolspeak.cli.record import RecordFile, read_record
from toolspeak.cli.tools import draw_spans, load_spans
from toolspeak.dialects import TYPESCRIPT
from toolspeak.gateway import app
from toolspeak.testing import ScriptedModel, calls, says
from toolspeak.values.errors import UsageError
from toolspeak.values.events import RunEnded, RunStarted, TurnStarted
from toolspeak.values.limits import Usage
from toolspeak.values.messages import user


def double(x: int) -> int:
    "Double a number."
    return 2 * x


def write_record(path: Path) -> None:
    """Record a run with an inner run, by a clock that goes on by a second with each fact."""
    expert = Agent(ScriptedModel([calls(("double", {"x": 4})), says("8.")], name="local:qwen"), [double])
    lines = [
        calls(("expert", {"prompt": "Twice 4?"}), ("double", {"x": "many"})),
        says("Secret.", usage=Usage(input_tokens=50, output_tokens=3)),
    ]
    ticks = iter(range(1000))
    with RecordFile(path, now=lambda: float(next(ticks)), time_of_day=lambda: 1_700_000_000.25) as file:
        agent = Agent(ScriptedModel(lines, name="openai:gpt"), [expert.as_tool("expert", "Knows."), double])
        agent.run("Secret?", record=file.record, limits=agent.limits)


def test_the_tree_shows_times_tokens_and_errors(tmp_path: Path):
    write_record(tmp_path / "run.jsonl")
    done = run_command("trace", "run.jsonl", "--agent", "desk", cwd=tmp_path, env=environment(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    lines = [re.split(r"  +\d", line)[0] for line in done.stdout.splitlines()]
    assert lines == [
        "invoke_agent desk",
        "├─ chat gpt",
        "├─ execute_tool expert",
        "│  └─ invoke_agent expert",
        "│     ├─ chat qwen",
        "│     ├─ execute_tool double",
        "│     └─ chat qwen",
        "├─ execute_tool double",
        "└─ chat gpt",
    ]
    assert "error: not_run" in done.stdout.splitlines()[-2]
    assert done.stdout.splitlines()[-1].endswith("1.00 s, 50 + 3 tokens")


@pytest.mark.parametrize("content", [False, True])
def test_spans_are_sent_with_the_times_of_the_record(tmp_path: Path, content: bool):
    write_record(tmp_path / "run.jsonl")
    options = ("--content",) if content else ()
    with receive_spans() as receiver:
        done = run_command(
            "trace", "run.jsonl", "--otlp", receiver.url, *options, cwd=tmp_path, env=environment(tmp_path)
        )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(receiver.spans) == 9
    root = min(receiver.spans, key=lambda span: span.start_time_unix_nano)
    assert root.start_time_unix_nano == 1_700_000_000_250_000_000
    assert (root.end_time_unix_nano - root.start_time_unix_nano) % 1_000_000_000 == 0
    assert done.stdout == f"sent 9 spans of trace {root.trace_id.hex()} to {receiver.url}/v1/traces\n"
    assert ("Secret?" in str(receiver.requests)) is content


def test_a_collector_that_is_away_is_said(tmp_path: Path):
    write_record(tmp_path / "run.jsonl")
    with receive_spans() as receiver:
        url = receiver.url
    done = run_command("trace", "run.jsonl", "--otlp", url, cwd=tmp_path, env=environment(tmp_path))
    assert done.returncode == 1
    assert "could not be sent" in done.stderr


def test_content_without_a_collector_is_refused(tmp_path: Path):
    done = run_command("trace", "run.jsonl", "--content", cwd=tmp_path, env=environment(tmp_path))
    assert done.returncode == 2
    assert "--otlp" in done.stderr


def test_a_record_without_the_time_of_day_ended_when_its_file_was_changed(tmp_path: Path):
    facts = [
        RunStarted(run_id="r", model="m", dialect="json", messages=(user("?"),)),
        TurnStarted(turn=1),
        RunEnded(reason="answered"),
    ]
    timed = tmp_path / "timed.jsonl"
    timed.write_text("".join(json.dumps({"t": at, "fact": codec.encode(fact)}) + "\n" for at, fact in enumerate(facts)))
    plain = tmp_path / "plain.jsonl"
    plain.write_text(codec.dump_facts(facts))
    for path in (timed, plain):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    spans = load_spans(str(timed), content=False, agent="")
    assert [(span.start / 1e9, (span.end or 0) / 1e9) for span in spans] == [
        (1.699999998e9, 1.7e9),
        (1.699999999e9, 1.7e9),
    ]
    assert {span.seconds for span in load_spans(str(plain), content=False, agent="")} == {0.0}


def test_a_file_without_a_run_is_refused(tmp_path: Path):
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    with pytest.raises(UsageError, match="nothing to trace"):
        load_spans(str(empty), content=False, agent="")


@each_case("number", ["NaN", "Infinity", "-Infinity", "1e308", "-1e308", "1" + "0" * 400, "true", '"1"'])
@each_case("field", ["t", "at", "input_tokens", "turn"])
def test_numbers_that_no_clock_shows_are_no_traceback(tmp_path: Path, field: str, number: str):
    path = tmp_path / "run.jsonl"
    write_record(path)
    path.write_text(re.sub(rf'"{field}": [0-9.]+', f'"{field}": {number}', path.read_text()))

    for use in (
        lambda: draw_spans(load_spans(str(path), content=True, agent="a")),
        lambda: draw_run(build_diagram(read_record(path.read_text(), "run.jsonl"))),
        lambda: write_export(path, tmp_path / "run.html", ()),
    ):
        with suppress(UsageError):
            use()


def test_a_time_that_is_none_is_refused_with_its_line(tmp_path: Path):
    path = tmp_path / "run.jsonl"
    write_record(path)
    path.write_text(path.read_text().replace('"t": 1.0', '"t": NaN'))
    with pytest.raises(UsageError, match=r"run.jsonl, line 2: t is the time in seconds"):
        load_spans(str(path), content=True, agent="a")


def test_a_report_of_an_exchange_that_cannot_be_read_is_refused(tmp_path: Path):
    path = tmp_path / "shown.jsonl"
    path.write_text('{"api": "openai", "turns": [1], "started": NaN}\n')
    with pytest.raises(UsageError, match="has a report of an exchange that cannot be read"):
        load_spans(str(path), content=True, agent="a")


def test_names_are_drawn_as_text(tmp_path: Path):
    path = tmp_path / "run.jsonl"
    started = RunStarted(run_id="r", model="m", dialect="json", messages=(user("?"),))
    path.write_text(codec.dump_facts([started, TurnStarted(turn=1, model="a:\x1b[31mred\n")]))
    assert "\x1b" not in draw_spans(load_spans(str(path), content=False, agent=""))


def test_exchanges_of_a_gateway_are_drawn_too(tmp_path: Path):
    lines: list[str] = []
    application = app([serve_model(ScriptedModel([says("Yes.")]), TYPESCRIPT)], on_exchange=lines.append)
    for _ in range(2):
        ask(application, {"model": "m", "messages": [{"role": "user", "content": "Hi"}]})
    path = tmp_path / "exchanges.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines))
    drawn = draw_spans(load_spans(str(path), content=False, agent=""))
    assert [re.split(r"  +\d", line)[0] for line in drawn.splitlines()] == 2 * [
        "POST /v1/chat/completions",
        "└─ chat scripted",
    ]
