"""`toolspeak graph`: an agent, and a run that was recorded."""

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.commands import run_command
from tests.cli.terminal import environment
from tests.models.server import Server, plays
from toolspeak import codec
from toolspeak.cli.graph import build_diagram, draw, draw_agent, draw_run, format_mermaid, is_record
from toolspeak.cli.record import RecordFile, TimedFact, read_record
from toolspeak.run import Agent
from toolspeak.testing import ScriptedModel, calls, says
from toolspeak.values.errors import UsageError
from toolspeak.values.events import (
    ApprovalGiven,
    ApprovalNeeded,
    CallMalformed,
    CallReady,
    Fact,
    Guided,
    HandedOver,
    NestedFact,
    RunEnded,
    RunStarted,
    ToolFinished,
    ToolStarted,
    ToolSuspended,
    TurnEnded,
    TurnRestarted,
    TurnStarted,
    WaitOver,
)
from toolspeak.values.messages import Call, Message, ToolCall, ToolResult, assistant, user
from toolspeak.values.spec import ToolSpec

CALL = ToolCall(id="c1", name="launch", arguments={"rocket": "A;#<b>"})
FACTS: list[tuple[float, Fact]] = [
    (0.0, RunStarted(run_id="r", model="scripted", dialect="native", messages=(user("Fly\nthere!"),))),
    (0.1, TurnStarted(turn=1)),
    (0.5, CallReady(call=CALL)),
    (0.6, CallMalformed(call_id="c2", name=None, raw="{", reason="it is cut")),
    (1.1, TurnEnded(message=Message(role="assistant", parts=(Call(call=CALL),)), finish="tool_calls")),
    (1.2, ApprovalNeeded(call=CALL)),
    (3.0, ApprovalGiven(call_id="c1", approved=True)),
    (3.0, ToolStarted(call_id="c1")),
    (3.25, ToolFinished(result=ToolResult(call_id="c1", output="up"))),
    (3.3, TurnStarted(turn=2)),
    (4.3, TurnEnded(message=assistant("It flies."), finish="stop")),
    (4.3, RunEnded(reason="answered")),
]


def test_a_picture_makes_no_folder(folder: Path):
    with pytest.raises(UsageError, match=r"agent\.svg: there is no folder "):
        draw(str(folder / "sky.py"), lambda: "local", folder / "new" / "agent.svg")
    assert not (folder / "new").exists()
    draw(str(folder / "sky.py"), lambda: "local", folder / "agent.svg")
    assert (folder / "agent.svg").exists()


def test_a_run_as_a_sequence_diagram():
    assert format_mermaid(build_diagram([TimedFact(fact, at) for at, fact in FACTS])).splitlines() == [
        "sequenceDiagram",
        "    actor p0 as you",
        "    participant p1 as scripted",
        "    participant p2 as launch",
        "    p0->>p1: Fly there!",
        '    p1->>p2: launch(rocket="A#59;#35;#lt;b#gt;")',
        "    Note over p1: a call could not be read: it is cut",
        "    Note over p1: turn: 0 + 0 tokens (1.00 s)",
        "    p1->>p0: may I call launch?",
        "    p0-->>p1: yes",
        "    p2-->>p1: up (0.25 s)",
        "    p1-->>p0: It flies. (1.00 s)",
    ]


def test_a_model_that_was_replaced_is_a_note():
    restarted = TurnRestarted(turn=1, failed="a:m", reason="it is down", model="b:m")
    diagram = build_diagram([TimedFact(fact) for fact in (FACTS[0][1], TurnStarted(turn=1), restarted)])
    assert diagram.arrows[-1].text == "asking b:m, since a:m failed: it is down"


def test_a_model_that_is_lost_is_a_note():
    guided = Guided(cause="failing", step="withheld", tools=("launch",))
    diagram = build_diagram([TimedFact(fact) for fact in (FACTS[0][1], guided)])
    assert diagram.arrows[-1].text == "the model failed to call launch and may not call it in the next message"


def test_a_call_that_waits_says_so():
    waits = ToolSuspended(call_id="c1", number=1, signal="go"), WaitOver(call_id="c1", number=1, signal="go")
    diagram = build_diagram([TimedFact(fact) for fact in (FACTS[0][1], CallReady(call=CALL), *waits)])
    assert [arrow.text for arrow in diagram.arrows[-2:]] == ["waits for go", "go did not come"]


def test_inner_runs_are_drawn_with_the_tools_of_their_agents():
    def look(city: str) -> str:
        "Look at a city."
        return f"{city} is cold"

    scout = Agent(ScriptedModel([calls(("look", {"city": "Oslo"})), says("Cold.")], name="small"), [look])
    guide = Agent(
        ScriptedModel([calls(("scout", {"prompt": "Oslo?"})), says("It is cold.")], name="middle"),
        [scout.as_tool("scout", "Looks at cities.")],
    )
    desk = Agent(
        ScriptedModel([calls(("guide", {"prompt": "How is Oslo?"}), ("look", {"city": "Rome"})), says("Cold, both.")]),
        [guide.as_tool("guide", "Knows cities."), look],
    )
    facts = desk.run("How are Oslo and Rome?").facts
    diagram = build_diagram([TimedFact(fact) for fact in facts])
    assert set(diagram.participants) == {"you", "scripted", "guide", "look", "guide/scout", "guide/scout/look"}
    names = diagram.participants
    drawn = [(names[arrow.source], names[arrow.target], arrow.text) for arrow in diagram.arrows]
    inner = [arrow for arrow in drawn if arrow[0].startswith("guide") and "tokens" not in arrow[2]]
    assert inner == [
        ("guide", "guide", "asks middle"),
        ("guide", "guide/scout", 'scout(prompt="Oslo?")'),
        ("guide/scout", "guide/scout", "asks small"),
        ("guide/scout", "guide/scout/look", 'look(city="Oslo")'),
        ("guide/scout/look", "guide/scout", "Oslo is cold"),
        ("guide/scout", "guide", "Cold."),
        ("guide", "scripted", "It is cold."),
    ]
    assert ("scripted", "look", 'look(city="Rome")') in drawn
    for count in range(1, len(facts) + 1):
        ET.fromstring(draw_run(build_diagram([TimedFact(fact) for fact in facts[:count]])))


def test_an_inner_run_without_its_call_is_not_drawn():
    nested = NestedFact(path=("nowhere", "deeper"), event=TurnStarted(turn=1))
    assert len(build_diagram([TimedFact(FACTS[0][1]), TimedFact(nested)]).arrows) == 1


def test_a_conversation_that_is_handed_over_is_a_note():
    handed = HandedOver(call_id="c1", agent="billing", model="m", dialect="native")
    assert build_diagram([TimedFact(FACTS[0][1]), TimedFact(handed)]).arrows[-1].text == "handed over to billing"


def test_plain_facts_have_no_times(tmp_path: Path):
    path = tmp_path / "facts.jsonl"
    path.write_text(codec.dump_facts(fact for _, fact in FACTS))
    text = draw(str(path), lambda: "", tmp_path / "run.svg")
    assert "p2-->>p1: up\n" in text
    assert "launch" in (tmp_path / "run.svg").read_text()


@pytest.mark.parametrize("count", range(1, len(FACTS) + 1))
def test_an_incomplete_run_is_drawn_as_far_as_it_goes(count: int):
    diagram = build_diagram([TimedFact(fact, at) for at, fact in FACTS[:count]])
    assert format_mermaid(diagram)
    ET.fromstring(draw_run(diagram))


def test_pictures_are_svg_in_which_every_text_fits():
    for picture in (
        draw_run(build_diagram([TimedFact(fact, at) for at, fact in FACTS])),
        draw_agent("a <model>", ["one", "two & three"]),
        draw_agent("alone", []),
    ):
        root = ET.fromstring(picture)
        wide, high = float(root.attrib["width"]), float(root.attrib["height"])
        for text in root.iter("{http://www.w3.org/2000/svg}text"):
            half = len(text.text or "") * 7.2 / 2
            assert half <= float(text.attrib["x"]) <= wide - half
            assert 0 < float(text.attrib["y"]) < high


def test_a_record_is_read_back(tmp_path: Path):
    times = iter([10.0, 10.5])
    with RecordFile(tmp_path / "r.jsonl", lambda: next(times)) as record:
        record.record(TurnStarted(turn=1))
        record.record(RunEnded(reason="answered"))
    text = (tmp_path / "r.jsonl").read_text()
    assert json.loads(text.splitlines()[1]) == {"t": 0.5, "fact": codec.encode(RunEnded(reason="answered"))}
    assert read_record(text, "r") == [TimedFact(TurnStarted(turn=1), 0.0), TimedFact(RunEnded(reason="answered"), 0.5)]
    # A crash may cut the last line.
    assert read_record(text[:-20], "r") == [TimedFact(TurnStarted(turn=1), 0.0)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{\n", "line 1: not JSON"),
        ('{"t": "x", "fact": {}}', "line 1: t is the time in seconds"),
        (codec.dump_messages([user("hi")]), "line 1: this is a message"),
        (codec.dump_facts([TurnStarted(turn=1)]), "do not contain the start of a run"),
        ("", "do not contain the start of a run"),
    ],
)
def test_a_file_without_a_run_is_an_error(tmp_path: Path, text: str, message: str):
    (tmp_path / "x.jsonl").write_text(text)
    with pytest.raises(UsageError, match=message):
        draw(str(tmp_path / "x.jsonl"), lambda: "", None)


def test_records_are_distinguished_from_targets(folder: Path):
    (folder / "facts").write_text(codec.dump_facts([TurnStarted(turn=1)]))
    assert is_record(str(folder / "facts"))
    assert is_record("nowhere.jsonl")
    assert not is_record(str(folder / "sky.py"))
    assert not is_record(str(folder))
    assert not is_record("package.module")


def test_a_run_is_recorded_and_drawn(folder: Path, server: Server):
    server.plays(plays([calls(("weather", {"city": "Oslo"})), says("Cold.")]))
    asking = ["run", "Oslo?", "--tools", "sky.py", "--model", f"{server.url}/v1#m", "--record", "run.jsonl"]
    for arguments in (asking, ["graph", "run.jsonl", "--svg", "run.svg"], ["graph", "sky.py", "--model", "a:b"]):
        done = run_command(*arguments, cwd=folder, env=environment(folder))
        assert done.returncode == 0
        if arguments[0] == "graph" and "run.svg" in arguments:
            assert done.stdout.startswith("sequenceDiagram\n")
            assert "weather" in (folder / "run.svg").read_text()
    assert done.stdout.startswith("flowchart TD\n")
    assert '"a:b"' in done.stdout
    assert '"weather"' in done.stdout


def test_a_record_is_drawn_without_the_program_of_its_run(tmp_path: Path):
    spec = ToolSpec(name="launch", description="Launch.", parameters={"type": "object", "properties": {}})
    started, *others = [fact for _, fact in FACTS]
    assert isinstance(started, RunStarted)
    (tmp_path / "run.jsonl").write_text(codec.dump_facts([replace(started, tools=(spec,)), *others]))
    assert "participant p2 as launch" in draw(str(tmp_path / "run.jsonl"), lambda: "local", None)


def test_the_help_loads_nothing_but_typer():
    code = (
        "import sys\nfrom toolspeak.cli.app import app\napp(['--help'], standalone_mode=False)\n"
        "print('LOADED', *{name.partition('.')[0] for name in sys.modules} & {'rich', 'pydantic', 'prompt_toolkit', 'asyncio', 'griffe'})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=80, check=True)
    assert done.stdout.splitlines()[-1].strip() == "LOADED"


def test_all_pictures_follow_the_choice_of_light_or_dark():
    for picture in (draw_agent("m", ["a"]), draw_run(build_diagram([TimedFact(fact, at) for at, fact in FACTS]))):
        assert "prefers-color-scheme: dark" in picture
        assert '<rect class="ground"' in picture
