"""The suite of our own is sound, and a file of the user's is read or told what is wrong with it."""

import asyncio
import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest

from toolspeak.dialects import DIALECTS
from toolspeak.lab.questions import Question
from toolspeak.lab.suites import load_suite, read_suite
from toolspeak.lab.trial_runner import TrialRunner
from toolspeak.lab.trials import make_trials
from toolspeak.values.errors import UsageError
from toolspeak.values.validation import is_valid

from .scripted_models import answering, meant, right_calls

ROOT = Path(__file__).parent.parent.parent
QUICK = load_suite("quick")
TOOL = {"name": "f", "description": "F.", "parameters": {"type": "object", "properties": {"x": {"type": "integer"}}}}


def test_quick_is_varied():
    assert len(QUICK.questions) == 60
    assert set(QUICK.categories) == {"single", "several", "parallel", "nested", "messy", "none", "missing"}
    assert {sum(each.category == name for each in QUICK.questions) for name in QUICK.categories} == {8, 9}
    assert min(len(each.tools) for each in QUICK.questions) >= 4


def test_quick_is_the_draw_of_field():
    spec = importlib.util.spec_from_file_location("draw_quick", ROOT / "scripts" / "draw_quick.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    drawn = "".join(script.format_lines())
    assert script.QUICK.read_text("utf-8") == drawn, "field has changed: run python scripts/draw_quick.py"


@pytest.mark.parametrize("asked", QUICK.questions, ids=lambda asked: asked.id)
def test_what_quick_expects_fits_its_tools(asked: Question):
    schemas = {spec.name: spec.parameters for spec in asked.tools}
    for call in asked.expected:
        given = {**call.arguments, **call.optional}
        assert set(schemas[call.name]["required"]) <= set(call.arguments)
        for key, values in given.items():
            for value in values:
                assert is_valid(meant(value), schemas[call.name]["properties"][key], schemas[call.name])
    assert bool(asked.expected) is (asked.category not in ("none", "missing"))


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("knows", [True, False])
def test_who_knows_the_answers_to_quick_is_right_in_every_dialect(dialect: str, knows: bool):
    model = answering(QUICK, wrong=() if knows else [each.id for each in QUICK.questions])

    async def verdicts() -> list[str]:
        runner = TrialRunner(model, concurrency=4)
        return [
            trial.id
            async for trial, answered in runner.run(make_trials(QUICK, [dialect]))
            if trial.judge(answered).verdict.right is not knows
        ]

    assert asyncio.run(verdicts()) == []


def test_nothing_of_a_file_is_lost(tmp_path: Path):
    path = tmp_path / "mine.jsonl"
    lines = [
        {"toolset": "t", "tools": [{**TOOL, "returns": {"type": "integer"}}]},
        {
            "id": "a",
            "category": "one",
            "tools": "t",
            "messages": "Do f.",
            "expected": [{"name": "f", "arguments": {"x": [1, 2]}}],
        },
        {
            "id": "b",
            "category": "two",
            "tools": [TOOL],
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello."}],
            "expected": [],
        },
    ]
    path.write_text("\n\n".join(map(json.dumps, lines)))
    mine = read_suite(path)
    assert (mine.name, mine.categories) == ("mine", ("one", "two"))
    first, second = mine.questions
    assert first.tools[0].returns == {"type": "integer"}
    assert [call.arguments for call in right_calls(first)] == [{"x": 1}]
    assert [message.role for message in second.messages] == ["system", "user"]
    assert load_suite(str(path), ["two"]).questions == (second,)


def test_the_file_in_the_docs_is_a_suite(tmp_path: Path):
    [example] = re.findall(r"```jsonl\n(.*?)```", (ROOT / "docs" / "guides" / "measuring.md").read_text("utf-8"), re.S)
    path = tmp_path / "desk.jsonl"
    path.write_text(example)
    assert [(each.id, len(each.expected)) for each in read_suite(path).questions] == [("friday", 1), ("lunch", 0)]


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"id": ""}, "a question needs 'id', a text"),
        ({"category": None}, "a question needs 'category', a text"),
        ({"category": "a/b"}, "a category has no '/' in it"),
        ({"tools": "nowhere"}, "there is no toolset 'nowhere' above this line"),
        ({"tools": [{"name": "f"}]}, "a tool has a 'name', a 'description' and 'parameters', a JSON schema"),
        ({"messages": []}, "a question needs 'messages'"),
        (
            {"messages": [{"role": "tool", "content": ""}]},
            "a message has a 'role' (system, user, assistant) and a 'content', a text",
        ),
        ({"expected": None}, "'expected' is a list"),
        ({"reply": 1}, "'reply' is a text"),
        (
            {"reply": "Done.", "expected": [{"name": "f"}]},
            "a question has a 'reply' only where nothing is 'expected'",
        ),
        ({"turns": [{"user": "Do f."}]}, "a question has 'messages' or 'turns', not both"),
        ({"id": "a#2"}, "an 'id' does not end in '#' and a number: such are those of questions asked again"),
        ({"expected": ["f"]}, "an expected call is an object"),
        ({"expected": [{"name": "g"}]}, "'g' is expected, and is none of the tools"),
        ({"expected": [{"name": "f", "arguments": {"y": [1]}}]}, "f has no argument 'y'"),
        (
            {"expected": [{"name": "f", "arguments": {"x": 1}}]},
            "arguments of f: 'x' is a list of the values that are right",
        ),
        (
            {"expected": [{"name": "f", "after": [0]}]},
            "'after' names calls by their place, from 0, and only earlier ones",
        ),
        (
            {"expected": [{"name": "f", "agruments": {}}]},
            "'agruments' means nothing here; what does: after, arguments, name, optional, returns",
        ),
        (
            {"expcted": []},
            "'expcted' means nothing here; what does: category, claims, expected, id, messages, reply, tools, turns",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_told_with_its_line(tmp_path: Path, changed: dict[str, Any], says: str):
    path = tmp_path / "mine.jsonl"
    row = {"id": "a", "category": "one", "tools": [TOOL], "messages": "Do f.", "expected": []}
    path.write_text("\n" + json.dumps({**row, **changed}))
    with pytest.raises(UsageError) as caught:
        read_suite(path)
    assert str(caught.value) == f"{path}, line 2: {says}"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "{path} holds no questions"),
        ("[]", "{path}, line 1 is not an object"),
        ("{", "{path}, line 1 is not JSON: "),
    ],
)
def test_a_file_that_is_none(tmp_path: Path, text: str, says: str):
    path = tmp_path / "mine.jsonl"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        read_suite(path)
    assert str(caught.value).startswith(says.format(path=path))


def test_two_questions_of_one_name(tmp_path: Path):
    path = tmp_path / "mine.jsonl"
    row = json.dumps({"id": "a", "category": "one", "tools": [TOOL], "messages": "Do f.", "expected": []})
    path.write_text(f"{row}\n{row}\n")
    with pytest.raises(UsageError, match="line 2: there is already a question 'a'"):
        read_suite(path)


def test_a_suite_or_a_category_that_is_not_there():
    with pytest.raises(
        UsageError, match="there is no suite 'quik'; write quick, field, answers, bfcl or the path of a file"
    ):
        load_suite("quik")
    with pytest.raises(UsageError, match="quick has no category 'hard'; it has: single, "):
        load_suite("quick", ["hard"])
