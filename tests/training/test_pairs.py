"""What an adapter is trained on: prompts as the dialects render them, and answers that the judge finds right."""

import gzip
import json
import os
import random
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.cases import each_case, sample
from tests.lab.test_field import find_problems
from toolspeak.dialects import DIALECTS
from toolspeak.lab.files import render_qwen
from toolspeak.lab.questions import ExpectedCall, Question, Suite
from toolspeak.lab.suites import load_suite
from toolspeak.lab.trials import RecordedAnswer, Trial, make_trials
from toolspeak.values.errors import UsageError
from toolspeak.values.messages import user
from toolspeak.values.spec import ToolSpec

TRAINING = Path(__file__).parent.parent.parent / "training"
SAMPLE = 8
"""One question in so many is looked at."""


sys.path.insert(0, str(TRAINING))  # the scripts import each other


make_pairs: Any = import_module("make_pairs")
own_answers: Any = import_module("own_answers")
many_tools: Any = import_module("many_tools")
SUITE = load_suite("field-train")
PROGRAMS = load_suite(str(TRAINING / "programs.jsonl"))
PRINTING = set("p_run p_builtin p_mathdesk p_werkbank p_python p_sidekick p_tutor p_taller p_dicebox".split())
"""Sets of tools with a tool that runs Python and returns what is printed."""


def compose_suite(name: str, folder: Path, seed: int = 7) -> Suite:
    """Write what a composer composes, and load it as a suite."""
    path = folder / f"{name}.jsonl"
    make_pairs.write_lines(path, make_pairs.COMPOSERS[name](seed))
    return load_suite(str(path))


def by_toolset() -> list[list[Question]]:
    return make_pairs.split_toolsets(SUITE.questions)


def is_right(suite: Suite, question: Question, dialect: str, text: str) -> bool:
    trial = Trial(suite=suite, question=question, dialect=dialect)
    return trial.judge(RecordedAnswer(id=trial.id, text=text)).verdict.right


@each_case("dialect", list(DIALECTS))
def test_the_answers_are_right_as_they_are_written(dialect: str):
    wrong = [
        each.id
        for each in sample(SUITE.questions[::SAMPLE], 60)
        if not is_right(SUITE, each, dialect, make_pairs.make_target(each, dialect))
    ]
    assert wrong == []


@each_case("dialect", list(DIALECTS))
def test_a_group_shares_its_system_message(dialect: str):
    for questions in sample(by_toolset()[::SAMPLE], 8):
        trials = [Trial(suite=SUITE, question=each, dialect=dialect) for each in questions]
        prompts = [render_qwen(trial.render()) for trial in trials]
        group = make_pairs.make_group(zip(prompts, questions, strict=True), dialect, 0, "field", questions[0].tools)
        for prompt, example in zip(prompts, group["examples"], strict=True):
            assert group["system"] + example["rest"] == prompt
            assert example["rest"].startswith("<|im_start|>user\n")
            assert "<|im_end|>" not in example["target"]


def test_with_other_tools_the_right_answers_stay_right():
    offers = [questions[0].tools for questions in by_toolset()]
    sizes: list[tuple[int, int]] = []
    for number, questions in enumerate(sample(by_toolset()[::SAMPLE], 20)):
        groups = list(make_pairs.vary_groups(questions, offers, random.Random(number)))
        assert sorted(each.id for group in groups for each in group) == sorted(each.id for each in questions)
        for group in groups:
            for each in group:
                sizes.append((len(each.tools), len(questions[0].tools)))
                names = {spec.name for spec in each.tools}
                assert make_pairs.called_names(each) <= names
                assert len(names) == len(each.tools)
                assert is_right(SUITE, each, "python", make_pairs.make_target(each, "python"))
    assert any(now < before for now, before in sizes)
    assert any(now > before for now, before in sizes)


def test_each_epoch_shows_the_tools_in_another_order():
    questions = [replace(each, id=f"{each.id}") for each in max(by_toolset(), key=lambda found: len(found[0].tools))]
    suite = replace(SUITE, questions=tuple(questions))
    settings = {"plain_epochs": 2, "varied_epochs": 0, "dialects": ["python"], "group_size": len(questions), "turns": 1}
    first, second = make_pairs.make_groups(suite, settings, random.Random(7))
    assert (first["epoch"], second["epoch"]) == (0, 1)
    assert first["system"] != second["system"]
    assert sorted(first["system"].splitlines()) == sorted(second["system"].splitlines())
    assert first["toolset_rank"] == second["toolset_rank"]
    again = list(make_pairs.make_groups(suite, settings, random.Random(7)))
    assert json.dumps(again) == json.dumps([first, second])


def test_a_question_without_an_answer_is_refused():
    silent = replace(SUITE.questions[0], expected=(), reply="")
    settings = {"plain_epochs": 1, "varied_epochs": 0, "dialects": ["python"], "group_size": 1, "turns": 1}
    with pytest.raises(UsageError, match="nothing is expected, and no reply is given"):
        list(make_pairs.make_groups(replace(SUITE, questions=(silent,)), settings, random.Random(7)))


def test_composed_questions_have_right_answers(tmp_path: Path):
    suite = compose_suite("composed", tmp_path)
    for dialect in ("python", "json"):
        chosen = suite.questions[::40]
        assert [
            each.id for each in chosen if not is_right(suite, each, dialect, make_pairs.make_target(each, dialect))
        ] == []
    shared = [each for each in suite.questions if each.category == "parallel" and len(each.expected) > 1]
    assert any(len({json.dumps(dict(call.arguments)) for call in each.expected}) > 1 for each in shared)


@pytest.mark.slow
@each_case("name", list(make_pairs.COMPOSERS))
def test_a_seed_gives_the_same_questions(name: str):
    first, again, other = (list(make_pairs.COMPOSERS[name](seed)) for seed in (7, 7, 8))
    assert json.dumps(first) == json.dumps(again)
    assert first != other


@each_case("dialect", list(DIALECTS))
def test_programs_are_written_line_for_line(dialect: str):
    for question in sample(PROGRAMS.questions, 40):
        assert find_problems(question) == []
        text = make_pairs.make_target(question, dialect)
        trial = Trial(suite=PROGRAMS, question=question, dialect=dialect)
        result = trial.judge(RecordedAnswer(id=trial.id, text=text))
        assert result.verdict.right, question.id
        for call, expected in zip(result.calls, question.expected, strict=True):
            assert all(call.arguments[key] == values[0] for key, values in expected.arguments.items()), question.id


def python_programs() -> list[tuple[str, str]]:
    return [
        (question.id, call.arguments[key][0])
        for question in PROGRAMS.questions
        for call in question.expected
        for key in ("code", "script", "program", "programm", "codigo")
        if question.id.rpartition("-")[0] in PRINTING and key in call.arguments
    ]


@each_case("name, program", sample(python_programs(), 40), ids=lambda case: case[0])
def test_a_program_prints_its_result(name: str, program: str, capsys: pytest.CaptureFixture[str]):
    exec(compile(program, "program", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out.strip(), name


def test_programs_are_shown_with_tools_of_another_suite():
    settings = {"plain_epochs": 0, "varied_epochs": 1, "dialects": ["python"], "group_size": 6, "turns": 1}
    groups = list(make_pairs.make_groups(PROGRAMS, settings, random.Random(7), offering=SUITE))
    assert {group["source"] for group in groups} == {"programs"}
    assert {each["id"] for group in groups for each in group["examples"]} == {each.id for each in PROGRAMS.questions}
    alone = [group for group in groups if group["examples"][0]["id"].startswith("p_run-")]
    assert any(group["system"].count("\ndef ") > 1 for group in alone)
    assert all(group["system"].count("def run_python(") == 1 for group in alone)
    runners = ("def execute(", "def run_script(", "def python_repl(")
    assert not any(runner in group["system"] for group in alone for runner in runners)


def test_a_default_is_given_where_the_request_says_it():
    question = next(each for each in SUITE.questions if each.expected and "service" in each.expected[0].optional)
    call = question.expected[0]
    assert call.optional["service"] == ["standard"]
    silent = replace(question, messages=(user("Send it."),))
    saying = replace(question, messages=(user("Send it by Standard service."),))
    assert "service" not in make_pairs.choose_arguments(call, silent)
    assert make_pairs.choose_arguments(call, saying)["service"] == "standard"
    assert make_pairs.choose_value(["the nucleus", "nucleus"], "q") == "nucleus"
    assert make_pairs.choose_value(["a song"], "q") == "a song"


def test_plain_questions_take_the_answers_of_the_model_or_are_left_out():
    examples = [{"id": name, "rest": "", "target": "written"} for name in ("plain-001", "plain-002", "desk-1")]
    answers = [
        {"id": "plain-001", "text": " its own ", "answer_tokens": 3},
        {"id": "plain-002", "text": "cut", "answer_tokens": own_answers.MAX_OWN_TOKENS},
    ]
    [group] = own_answers.use_own([{"system": "", "examples": examples}], own_answers.choose_own(answers))
    assert {each["id"]: each["target"] for each in group["examples"]} == {"plain-001": "its own", "desk-1": "written"}
    assert own_answers.use_own([{"system": "", "examples": examples[:2]}], {}) == []


@pytest.mark.slow
@each_case("dialect", list(DIALECTS))
def test_of_many_tools_those_that_are_called_are_shown_or_searched(dialect: str):
    settings = {"plain_epochs": 0, "varied_epochs": 1, "many_tools": 30}
    kinds: set[str] = set()
    for epoch, question in many_tools.draw_questions(SUITE, settings, random.Random(1)):
        assert (epoch, len(question.tools) > 30) == (0, True)
        for prompt, shown in many_tools.show_turns(question, dialect, 400):
            assert prompt.endswith("<|im_end|>\n<|im_start|>assistant\n")
            assert sum(spec.name in prompt for spec in question.tools) < len(question.tools)
            if shown is question:
                assert all(each.name in prompt for each in question.expected)
                kinds.add("called" if question.expected else question.category)
            else:
                assert {each.name for each in shown.expected} == {"find_tools"}
                kinds.add("searched")
    assert kinds == {"called", "searched", "none", "missing"}


@each_case("dialect", list(DIALECTS))
def test_a_tool_that_is_not_shown_is_searched_and_then_called(dialect: str):
    weather = ToolSpec(
        name="get_weather", description="The weather in a city.", parameters={"properties": {"city": {}}}
    )
    others = [
        ToolSpec(name=f"thing_{number}", description=f"Does the thing number {number}.", parameters={})
        for number in range(60)
    ]
    question = Question(
        id="sun-1",
        category="single",
        messages=(user("Any thing for my zither?"),),
        tools=(*others, weather),
        expected=(ExpectedCall(name="get_weather", arguments={"city": ["Oslo"]}, optional={}),),
    )

    (first, searching), (second, calling) = many_tools.show_turns(question, dialect, 400)

    assert [each.arguments for each in searching.expected] == [{"query": ["the weather in a city"]}]
    assert ("The weather in a city." in first, "The weather in a city." in second) == (False, True)
    assert calling is question


def test_no_other_tool_serves_a_question_with_many_tools():
    names = ("find_trains", "searchTrain", "buy_ticket")
    abouts = ("Find trains between two cities.", "Search a train between two cities.", "Buy a ticket.")
    pool = {
        name: ToolSpec(name=name, description=about, parameters={}) for name, about in zip(names, abouts, strict=True)
    }
    request = (user("Which trains are there?"),)
    expected = (ExpectedCall(name="find_trains", arguments={}, optional={}),)
    asked = Question(id="x", category="single", messages=request, tools=(pool["find_trains"],), expected=expected)
    refused = Question(id="y", category="none", messages=request, tools=(pool["buy_ticket"],), reply="I can't.")

    words = {name: many_tools.list_words(spec) for name, spec in pool.items()}
    assert many_tools.find_twins(asked, words) == {"find_trains", "searchTrain"}
    assert many_tools.leave_out_better(refused, [pool["find_trains"]]) == []


def test_a_refusal_beside_many_tools_does_not_say_what_there_is_instead():
    reply = "I can't post reviews. I can look up menus."
    refused = Question(id="y", category="none", messages=(user("Praise them"),), tools=(), reply=reply)

    assert many_tools.shorten_reply(refused).reply == "I can't post reviews."
    asking = replace(refused, category="missing")
    assert many_tools.shorten_reply(asking) is asking


def test_the_questions_of_one_file_are_trained_on_and_those_of_another_measure(tmp_path: Path):
    for name in ("train.jsonl", "measure.jsonl"):
        lines = (TRAINING.parent / "examples" / "depot" / name).read_text("utf-8").splitlines(keepends=True)
        questions = sample((line for line in lines if "id" in json.loads(line)), 12)
        (tmp_path / name).write_text(
            "".join(line for line in lines if line in questions or "id" not in json.loads(line))
        )
    make_pairs.make_yours(tmp_path, tmp_path / "train.jsonl", tmp_path / "measure.jsonl")
    groups = read_lines(tmp_path / "pairs.jsonl.gz")
    prompts = read_lines(tmp_path / "prompts.jsonl.gz")
    trained = {example["id"] for group in groups for example in group["examples"]}
    assert trained == {each.id for each in load_suite(str(tmp_path / "train.jsonl")).questions}
    measured = load_suite(str(tmp_path / "measure.jsonl"))
    assert {each["id"] for each in prompts} == {trial.id for trial in make_trials(measured, DIALECTS)}
    assert {each["part"] for each in prompts} == {"yours"}
    assert read_lines(tmp_path / "own_prompts.jsonl.gz") == []
    for name, path in make_pairs.BUILT_IN.items():
        assert (tmp_path / name).read_bytes() == path.read_bytes()


def read_lines(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


RING = {
    "name": "ring",
    "description": "Ring a bell.",
    "parameters": {"type": "object", "properties": {"bell": {"type": "string"}}, "required": ["bell"]},
}
ASKED = {"id": "q1", "category": "single", "tools": [RING], "messages": "Ring."}


@each_case(
    "question, told",
    [
        (ASKED | {"expected": []}, "q1: nothing is expected, and no reply is given"),
        (
            ASKED | {"expected": [{"name": "ring", "arguments": {"bell": [{"$any": True}]}}]},
            "q1, ring, bell: nothing can be taught by {'$any': True}; write a value that is right before it",
        ),
    ],
)
def test_a_question_that_teaches_nothing_is_refused_before_anything_is_written(
    tmp_path: Path, question: dict[str, Any], told: str
):
    taught, measured, folder = tmp_path / "taught.jsonl", tmp_path / "measured.jsonl", tmp_path / "out"
    taught.write_text(json.dumps(question))
    measured.write_text(json.dumps(question))
    with pytest.raises(UsageError) as caught:
        make_pairs.make_yours(folder, taught, measured)
    assert str(caught.value) == told
    assert not folder.exists()


def test_a_value_is_taught_rather_than_the_rule_before_it():
    values = [{"$contains": ["noon"]}, "at noon"]
    assert make_pairs.choose_value(values, "q") == "at noon"


def test_files_that_cannot_be_used_and_folders_with_adapters_are_refused(tmp_path: Path):
    depot = TRAINING.parent / "examples" / "depot"
    taught, measured = depot / "train.jsonl", depot / "measure.jsonl"
    with pytest.raises(UsageError, match="there is no file nowhere"):
        make_pairs.make_yours(tmp_path, taught, Path("nowhere.jsonl"))
    with pytest.raises(UsageError, match=r"train\.jsonl is to be trained on and to measure with"):
        make_pairs.make_yours(tmp_path, taught, depot / "." / "train.jsonl")
    (tmp_path / "your-tools.gguf").write_bytes(b"")
    with pytest.raises(UsageError, match=r"has your-tools\.gguf of an earlier training; take another folder"):
        make_pairs.make_yours(tmp_path, taught, measured)


def run_without_packages(*command: str) -> str:
    """Run a command in a Python that finds the standard library, the source of toolspeak and its adapter alone."""
    sources = (TRAINING.parent / "src", TRAINING.parent / "packages" / "toolspeak-trained" / "src")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, sources))}
    return subprocess.run(
        [sys.executable, "-S", str(TRAINING), *command], env=environment, capture_output=True, text=True, check=True
    ).stdout


@each_case("command", ["pairs", "train", "ask", "play", "score", "beside-gpu"])
def test_each_command_shows_its_help_without_torch(command: str):
    assert f"usage: training {command}" in run_without_packages(command, "--help")
    assert command in run_without_packages("--help")


def test_pairs_need_no_other_packages(tmp_path: Path):
    depot = TRAINING.parent / "examples" / "depot"
    questions = ["--questions", str(depot / "train.jsonl"), "--measure", str(depot / "measure.jsonl")]
    assert "320 prompts to measure with" in run_without_packages("pairs", str(tmp_path), *questions)


def test_make_installs_nothing_for_them(tmp_path: Path):
    command = ["make", "--no-print-directory", "-n", "adapter-data", f"VENV={tmp_path}", "PYTHON=python3", "OUT=out"]
    planned = subprocess.run(command, cwd=TRAINING.parent, capture_output=True, text=True, check=True).stdout
    assert planned.startswith("PYTHONPATH=src:packages/toolspeak-trained/src python3 training pairs out")
    assert "pip" not in planned
