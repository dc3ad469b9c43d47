"""`toolspeak parse`, as a real process."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from toolspeak import discover
from toolspeak.dialects import JSON, PYTHON, TYPESCRIPT

ROOT = Path(__file__).parent.parent.parent
WEATHER = str(ROOT / "examples" / "weather.py")
GIVEN = ROOT / "tests" / "reading" / "spoken" / "given.jsonl"


def run(*arguments: str, given: str = "", cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "toolspeak.cli", *arguments]
    return subprocess.run(command, input=given, capture_output=True, text=True, cwd=cwd, timeout=25, encoding="utf-8")


def test_calls_references_and_malformed_calls_are_printed():
    text = 'Let me see.\n```python\na = get_weather(city="Oslo")\nlist_cities(containing=a["city"])\nget_weather(city=town)\n```'
    done = run("parse", "--tools", WEATHER, given=text)
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        'call  call_1  get_weather(city="Oslo")',
        'call  call_2  list_cities(containing=call_1["city"])',
        "malformed  get_weather: the name town is not bound to anything",
        "           Use literal values, or results of earlier calls in the same block.",
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
