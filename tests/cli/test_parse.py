"""`toolspeak parse`, as a real process."""

import json
import os
from pathlib import Path

import pytest

from tests.cli.commands import Done, run_command
from toolspeak import discover
from toolspeak.dialects import JSON, PYTHON, TYPESCRIPT

ROOT = Path(__file__).parent.parent.parent
WEATHER = str(ROOT / "examples" / "weather.py")
GIVEN = ROOT / "tests" / "reading" / "spoken" / "given.jsonl"


def run(*arguments: str, given: str = "", cwd: Path = ROOT, timeout_s: float = 25) -> Done:
    return run_command(*arguments, cwd=cwd, env=os.environ, stdin=given, timeout=timeout_s)


def test_calls_references_and_malformed_calls_are_printed():
    text = 'Let me see.\n```python\na = get_weather(city="Oslo")\nlist_cities(containing=a["city"])\nget_weather(city=town)\n```'
    done = run("parse", "--tools", WEATHER, given=text)
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        'call  call_1  get_weather(city="Oslo")',
        'call  call_2  list_cities(containing=call_1["city"])',
        "malformed  get_weather: the name town is not bound to anything",
        "           Write values out, texts in quotes, or use results of earlier calls in the same block.",
        "text  Let me see.",
    ]


def test_a_file_is_read_and_printed_as_json(tmp_path: Path):
    (tmp_path / "said.txt").write_text("{'name': 'get_weather', 'arguments': {'city': 'Oslo'}}", encoding="utf-8")
    (tmp_path / "tools.json").write_text(
        json.dumps([{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}]),
        encoding="utf-8",
    )
    done = run("parse", "--json", "--tools", "tools.json", "said.txt", cwd=tmp_path)
    assert json.loads(done.stdout) == {
        "calls": [{"name": "get_weather", "arguments": {"city": "Oslo"}, "repair": "syntax"}],
        "malformed": [],
        "text": "",
        "thinking": "",
    }


def test_a_batch_prints_one_line_for_each_record_with_references_by_number():
    done = run("parse", "--batch", str(GIVEN))
    records = [json.loads(line) for line in GIVEN.read_text(encoding="utf-8").splitlines()]
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(line["id"], line["calls"]) for line in lines] == [(each["id"], each["expected"]) for each in records]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("parse",), "--tools is missing"),
        (("parse", "--dialect", "klingon", "--tools", WEATHER), "there is no dialect 'klingon'"),
        (("parse", "--tools", WEATHER, "nowhere.txt"), "cannot read nowhere.txt"),
        (("parse", "--tools", "nowhere.json"), "cannot read nowhere.json"),
        (("parse", "--batch", "nowhere.jsonl"), "cannot read nowhere.jsonl"),
        (("parse", "--why", "--dialect", "native", "--tools", WEATHER), "--why explains one text in a text dialect"),
        (("parse", "--why", "--batch", str(GIVEN)), "--why explains one text in a text dialect"),
    ],
)
def test_wrong_input_is_one_line_and_exit_code_2(arguments: tuple[str, ...], message: str):
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"toolspeak: {message}")
    assert done.stderr.count("\n") == 1


def test_tools_are_printed_in_every_dialect():
    specs = discover(WEATHER).specs
    for each in (JSON, TYPESCRIPT, PYTHON):
        [prompt] = each.render(specs, ()).messages
        assert run("tools", WEATHER, "--as", each.name).stdout == prompt.text + "\n"


MIXED = """\
Sure. <tool_call>{'name': "get_weather", "arguments": {"city": "Oslo"}}</tool_call>
<tool_call>{"name": "get_wether", "arguments": {}}</tool_call>
Observation: -3
get_weather(city="Rome")
"""


def test_why_prints_the_text_with_marks_that_need_no_colours():
    done = run("parse", "--why", "--tools", WEATHER, given=MIXED)
    assert done.returncode == 0
    assert [line.rstrip() for line in done.stdout.splitlines()] == [
        "prose      │ Sure.",
        "skipped    │ <tool_call>",
        'call       │ {\'name\': "get_weather", "arguments": {"city": "Oslo"}}',
        "           │   ^ syntax",
        '           └ get_weather(city="Oslo"), after the token <tool_call> of hermes, qwen',
        "           └ repaired: syntax errors were repaired",
        "skipped    │ </tool_call>",
        "           │ <tool_call>",
        'malformed  │ {"name": "get_wether", "arguments": {}}',
        "           └ get_wether, after the token <tool_call> of hermes, qwen: there is no tool 'get_wether'",
        "           └ hint to the model: The tools are: get_weather, list_cities.",
        "           └ did you mean get_weather?",
        "skipped    │ </tool_call>",
        "prose      │ Observation:",
        "made up    │  -3",
        "           └ a result that the model made up: no call after it counts",
        'dropped    │ get_weather(city="Rome")',
        "           └ get_weather, at the beginning of a line: it follows a result that the model made up",
    ]


def test_why_prints_the_same_as_json():
    done = run("parse", "--why", "--json", "--tools", WEATHER, given=MIXED)
    data = json.loads(done.stdout)
    spans = data["spans"]
    assert data["text"] == MIXED == "".join(MIXED[span["start"] : span["end"]] for span in spans)
    [call] = [span for span in spans if span["kind"] == "call"]
    assert call == {
        "start": 17,
        "end": 71,
        "kind": "call",
        "rule": "token",
        "detail": "<tool_call>",
        "family": "hermes, qwen",
        "calls": [{"place": 0, "name": "get_weather", "arguments": {"city": "Oslo"}}],
        "repairs": [{"repair": "syntax", "at": 19}],
    }


def test_why_names_what_the_tools_do_not_take():
    text = '{"name": "get_weather", "arguments": {"cty": "Oslo"}}\n{"name": "list_city", "arguments": {}}\n'
    done = run("parse", "--why", "--tools", WEATHER, given=text)
    assert [line.strip() for line in done.stdout.splitlines()] == [
        'call       │ {"name": "get_weather", "arguments": {"cty": "Oslo"}}',
        '└ get_weather(cty="Oslo"), at the beginning of a line',
        "└ not valid: get_weather: city: missing; needs string",
        "└ not valid: get_weather: cty: no such key; did you mean city?",
        'prose      │ {"name": "list_city", "arguments": {}}',
        "└ there is no tool 'list_city'",
        "└ did you mean list_cities?",
    ]
    spans = json.loads(run("parse", "--why", "--json", "--tools", WEATHER, given=text).stdout)["spans"]
    assert [span.get("problems") for span in spans if span["kind"] == "call"] == [
        ["get_weather: city: missing; needs string", "get_weather: cty: no such key; did you mean city?"]
    ]
    assert [span["near_tools"] for span in spans if "near_tools" in span] == [["list_cities"]]


def test_why_shows_no_control_characters():
    done = run(
        "parse", "--why", "--tools", WEATHER, given='\x1b[2Jhi\x07 \u202e\n{"name": "\x1b[2J", "arguments": {}}\n'
    )
    assert "\x1b" not in done.stdout
    assert "\x07" not in done.stdout
    assert "\u202e" not in done.stdout
    assert "prose      │ \\x1b[2Jhi\\x07 \\u202e" in done.stdout


def test_why_of_an_empty_text_says_so():
    assert run("parse", "--why", "--tools", WEATHER).stdout == "the text is empty\n"
