"""Prompts, answers and results survive their files."""

import gzip
import json
from pathlib import Path

import pytest

from toolspeak.lab.files import ResultsFile, read_answers, read_rows, render_qwen, write_failures, write_prompts
from toolspeak.lab.questions import ExpectedCall
from toolspeak.lab.trials import RecordedAnswer, RecordedCall, Trial, make_trials
from toolspeak.values.errors import UsageError

from .scripted_models import question, suite_of, tool

FIRST = question("é", "Do f.", [tool("f")], ExpectedCall(name="f", arguments={}, optional={}))
SUITE = suite_of(FIRST, question("b", "Do nothing.", [tool("f")], category="none"))
TRIAL = Trial(suite=SUITE, question=FIRST, dialect="python")

WHOLE = RecordedAnswer(
    id=TRIAL.id,
    text="ü",
    api_calls=(RecordedCall(name="f", arguments="{}"),),
    finish="tool_calls",
    prompt_tokens=10,
    answer_tokens=256,
    seconds=1.5,
    prompt_hash="abc",
    model="m",
)


@pytest.mark.parametrize("name", ["prompts.jsonl", "prompts.jsonl.gz"])
def test_prompts(tmp_path: Path, name: str):
    path = tmp_path / name
    assert write_prompts(path, make_trials(SUITE, ["python", "json"]), render_qwen) == 4
    text = gzip.decompress(path.read_bytes()).decode() if name.endswith(".gz") else path.read_text("utf-8")
    written = [json.loads(line) for line in text.splitlines()]
    assert [row["id"] for row in written] == [
        "own/single/python/é", "own/none/python/b", "own/single/json/é", "own/none/json/b",
    ]  # fmt: skip
    prompt = {"id": TRIAL.id, "prompt": render_qwen(TRIAL.render()), "shown": TRIAL.prompt_hash()}
    assert written[0] == prompt | {"adapter_file": 0}


def test_a_folder_is_not_made_unasked(tmp_path: Path):
    path = tmp_path / "new" / "prompts.jsonl"
    with pytest.raises(UsageError, match=r"prompts\.jsonl: there is no folder "):
        write_prompts(path, make_trials(SUITE, ["python"]), render_qwen)
    assert not path.parent.exists()


def test_answers_made_elsewhere(tmp_path: Path):
    path = tmp_path / "answers.jsonl.gz"
    lines = [
        {"id": "a/b/python/1", "text": "x", "prompt_tokens": 5, "answer_tokens": 255},
        {"id": "a/b/python/2", "text": "x", "answer_tokens": 256, "shown": "abc"},
        {"id": "a/b/python/1", "text": "y", "finish": "length", "extra": [1]},
    ]
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))
    assert read_answers(path) == [
        RecordedAnswer(id="a/b/python/1", text="y", finish="length"),
        RecordedAnswer(id="a/b/python/2", text="x", finish="length", answer_tokens=256, prompt_hash="abc"),
    ]


def test_results_are_answers_that_can_be_read_again(tmp_path: Path):
    path = tmp_path / "results.jsonl"
    plain = RecordedAnswer(id="own/none/python/b", text="f()")
    with ResultsFile(path) as file:
        file.add(TRIAL.judge(WHOLE))
        assert len(path.read_text("utf-8").splitlines()) == 1  # there at once, whatever happens next
    with ResultsFile(path) as file:
        file.add(Trial(suite=SUITE, question=SUITE.questions[1], dialect="python").judge(plain))
    assert read_answers(path) == [WHOLE, plain]
    first, second = (row for _, row in read_rows(path))
    assert (first["right"], first["read"]) == (True, [{"name": "f", "arguments": {}}])
    assert second == {
        "id": "own/none/python/b",
        "right": False,
        "why": "nothing was to be called, and f was",
        "read": [{"name": "f", "arguments": {}}],
        "text": "f()",
        "finish": "stop",
        "prompt_tokens": None,
        "answer_tokens": None,
    }
    with ResultsFile(path, overwrite=True):
        pass
    assert read_answers(path) == []


def test_a_question_that_was_asked_again_has_a_line_for_each_answer(tmp_path: Path):
    path = tmp_path / "results.jsonl"
    slip = RecordedAnswer(id=TRIAL.id, text="f(x=y)")
    again = TRIAL.follow_up(slip)
    assert again is not None
    mended = again.judge(RecordedAnswer(id=again.id, text="f()"))
    with ResultsFile(path) as file:
        for each in mended.series:
            file.add(each)
    assert [(row["id"], row["right"], row["read"]) for _, row in read_rows(path)] == [
        ("own/single/python/é", False, []),
        ("own/single/python/é#2", True, [{"name": "f", "arguments": {}}]),
    ]
    assert read_answers(path) == [slip, mended.answer]


def test_failures_tell_the_whole_conversation(tmp_path: Path):
    path = tmp_path / "failures.txt"
    native = Trial(suite=SUITE, question=FIRST, dialect="native")
    spoken = (RecordedCall(name="f", arguments="{}"), RecordedCall(name="h", arguments="{}"))
    again = native.follow_up(RecordedAnswer(id=native.id, text="So:", api_calls=spoken))
    assert again is not None
    write_failures(path, [(again, again.judge(RecordedAnswer(id=again.id, text="", api_calls=spoken[:1])))], None)
    told = path.read_text("utf-8")
    assert told.startswith("=== own/single/native/é#2\n")
    assert "user: Do f.\nassistant: So:\nf({})\nh({})\ntool: done\ntool: there is no tool 'h'. " in told
    assert '--- read\n{"name": "f", "arguments": {}}\n{"name": "f", "arguments": {}}\n--- why\n' in told
    assert told.endswith("f was not to be called again\n\n")


def test_failures_are_there_to_be_read(tmp_path: Path):
    path = tmp_path / "failures.txt"
    wrong = TRIAL.judge(RecordedAnswer(id=TRIAL.id, text="f(", finish="length"))
    assert write_failures(path, [(TRIAL, wrong)], render_qwen) == 1
    told = path.read_text("utf-8")
    assert told.startswith(f"=== {TRIAL.id}\n--- question\n<|im_start|>system\n")
    assert "\n--- answer\nf(\n--- expected\n" in told
    assert '\n--- expected\n{"name": "f", "arguments": {}, "optional": {}}\n--- read\nno call\nmalformed: ' in told
    assert told.endswith("\n--- why\nnothing was called\n\n")
    write_failures(path, [(TRIAL, wrong)], None)
    assert "\nuser: Do f.\n--- answer" in path.read_text("utf-8")
    native = Trial(suite=SUITE, question=FIRST, dialect="native")
    write_failures(path, [(native, native.judge(RecordedAnswer(id="…", text="No.")))], None)
    assert '--- question\n{"type": "function", "function": {"name": "f", ' in path.read_text("utf-8")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"id": 1, "text": ""}', "line 1 has no 'id'; an answer is {'id': …, 'text': …}"),
        ('{"id": "a/b/c/d"}', "line 1 has no 'text'; an answer is {'id': …, 'text': …}"),
        ("7", "line 1 is not an object"),
    ],
)
def test_what_is_no_answer(tmp_path: Path, line: str, says: str):
    path = tmp_path / "answers.jsonl"
    path.write_text(line)
    with pytest.raises(UsageError) as caught:
        read_answers(path)
    assert str(caught.value) == f"{path}, {says}"


def test_a_file_that_cannot_be_read(tmp_path: Path):
    with pytest.raises(UsageError, match=r"cannot read .*: No such file or directory"):
        read_answers(tmp_path / "none.jsonl")
    (tmp_path / "plain.jsonl.gz").write_text("{}")
    with pytest.raises(UsageError, match=r"cannot read .*plain"):
        read_answers(tmp_path / "plain.jsonl.gz")
    with pytest.raises(UsageError, match="cannot write"):
        write_prompts(tmp_path, [], render_qwen)
