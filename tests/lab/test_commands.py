"""`toolspeak eval` and `toolspeak calibrate`, with a model that knows its answers."""

import gzip
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncGenerator, Collection, Sequence
from pathlib import Path
from typing import Any

import pytest

from toolspeak.cli.eval import EvalOptions, calibrate, evaluate, forget_saved, show_saved
from toolspeak.dialects import PYTHON
from toolspeak.lab.suites import load_suite
from toolspeak.models import Endpoint, HttpModel, Request
from toolspeak.settings import load_calibrated_dialect, save_calibrated_dialect
from toolspeak.testing import ScriptedModel, ScriptedReply
from toolspeak.values.errors import ProviderError, UsageError
from toolspeak.values.pieces import Piece

from .scripted_models import answering, right_calls, slipping

QUICK = load_suite("quick")
IDS = [each.id for each in QUICK.questions]
FIRST = {
    category: next(each.id for each in QUICK.questions if each.category == category) for category in QUICK.categories
}
TEXTS = ("json", "typescript", "python")

SINGLE, SEVERAL, NONE = (f"{category}/python/{FIRST[category]}" for category in ("single", "several", "none"))
SECOND = next(
    f"several/python/{each.id}" for each in QUICK.questions if each.category == "several" and each.id not in SEVERAL
)


def right_lines(trial: str) -> list[str]:
    """The right calls of a question, each as a line of Python."""
    [found] = [each for each in QUICK.questions if each.id == trial.split("/")[-1]]
    return [PYTHON.format_call(call) for call in right_calls(found)]


def malform(line: str) -> str:
    """The call with a name in place of its values, which stands for nothing."""
    return f"{line.partition('(')[0]}(a=b)"


def asked(model: ScriptedModel, path: Path, **options: Any) -> None:
    evaluate(EvalOptions(results=path, **options), find=lambda _: model)


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_every_answer_is_kept_and_told_in_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "results.jsonl"
    wrong = [f"json/{each}" for each in (FIRST["single"], FIRST["none"])]
    asked(answering(QUICK, wrong=wrong), path, dialects="json,python", failures=tmp_path / "failures.txt")
    told = capsys.readouterr()
    table = [line.split("\t") for line in told.out.splitlines()]
    assert table[0] == ["percent right", "json", "python"]
    assert table[1] == ["single", "88.9 (56–98)", "100.0 (70–100)"]
    assert [row[0] for row in table[-5:]] == ["mean", "questions", "prompt tokens", "answer tokens", "seconds"]
    assert table[-3:-1] == [["prompt tokens", "100", "100"], ["answer tokens", "10", "10"]]
    assert "120 of 120, 98% right" in told.err
    assert re.search(r"^120 questions, 98 % right, in \d+\.?\d* s$", told.err, re.MULTILINE)
    assert [row["id"] for row in rows(path) if not row["right"]] == [
        f"quick/single/json/{FIRST['single']}",
        f"quick/none/json/{FIRST['none']}",
    ]
    assert len(rows(path)) == 120
    assert (tmp_path / "results.svg").read_text("utf-8").startswith("<svg ")
    assert (tmp_path / "failures.txt").read_text("utf-8").count("=== ") == 2


def test_what_was_answered_is_not_asked_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "results.jsonl"
    count = 0

    class Tiring(ScriptedModel):
        async def ask(self, request: Request) -> AsyncGenerator[Sequence[Piece]]:
            nonlocal count
            count += 1
            if count > 20:
                raise KeyboardInterrupt
            async for pieces in answering(QUICK).ask(request):
                yield pieces

    with pytest.raises(KeyboardInterrupt):
        asked(Tiring([], name="sage"), path, dialects="python")
    assert len(rows(path)) == 20
    with path.open("a") as file:
        file.write('{"id": "quick/sing')  # ended in the middle of a line
    again = answering(QUICK)
    asked(again, path, dialects="python")
    assert len(again.requests) == 40
    assert "already: 20" in capsys.readouterr().err
    asked(nobody := answering(QUICK), path, dialects="python")
    assert nobody.requests == []
    assert "mean\t100.0" in capsys.readouterr().out
    asked(more := answering(QUICK), path, dialects="python,json")
    assert len(more.requests) == 60


SLIPS = {FIRST[category]: category for category in ("single", "several", "none")}
"""Questions, with their categories."""


def test_questions_are_asked_again_where_a_call_was_malformed(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "results.jsonl"
    model = slipping(QUICK, SLIPS)
    asked(model, path, dialects="json,python", again=1, failures=tmp_path / "failures.txt")
    told = capsys.readouterr()
    table = {line.split("\t")[0]: line.split("\t")[1:] for line in told.out.splitlines()}
    sizes = Counter(each.category for each in QUICK.questions)
    single, several = (
        100 / sizes[category] for category in ("single", "several")
    )  # in `none`, a slip calls nothing and is right
    mean = 100 - (single + several) / len(sizes)
    for title, first in (("single", 100 - single), ("mean", mean)):
        assert [table[each][1].split()[0] for each in (title, f"{title}, asked again")] == [f"{first:.1f}", "100.0"]
    assert (table["questions"], table["asked again"]) == (["60", "60"], ["3", "3"])
    assert table["prompt tokens"] == ["105", "105"]
    assert "parallel, asked again" not in table
    assert "questions asked again: 6" in told.err
    assert len(model.requests) == 126
    assert [row["id"] for row in rows(path)[120:]] == [
        f"quick/{category}/{name}/{each}#2" for name in ("json", "python") for each, category in SLIPS.items()
    ]
    assert "the first answers alone" in (tmp_path / "results.svg").read_text("utf-8")
    assert (tmp_path / "failures.txt").read_text("utf-8") == ""


def test_only_the_answers_that_are_missing_are_asked_again_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "results.jsonl"
    asked(slipping(QUICK, SLIPS), path, dialects="python")
    alone = capsys.readouterr().out
    asked(second := slipping(QUICK, SLIPS), path, dialects="python", again=1)
    told = capsys.readouterr()
    assert len(second.requests) == 3
    assert "already: 60" in told.err
    assert "mean, asked again\t100.0" in told.out
    asked(nobody := slipping(QUICK, SLIPS), path, dialects="python", again=1)
    assert nobody.requests == []
    assert capsys.readouterr().out == told.out
    asked(nobody, path, dialects="python")
    assert capsys.readouterr().out == alone
    evaluate(EvalOptions(answers=(path,)))
    without = capsys.readouterr()
    assert without.out == alone
    assert "answers to questions asked again, left out: 3; a higher --again counts them" in without.err
    evaluate(EvalOptions(answers=(path,), again=1))
    assert capsys.readouterr() == (told.out, "")


def test_another_first_answer_is_another_second_question(tmp_path: Path):
    path = tmp_path / "results.jsonl"
    asked(slipping(QUICK, SLIPS), path, dialects="python", again=1)
    first, *rest = rows(path)
    assert first["id"] == f"quick/{SINGLE}"
    path.write_text("".join(json.dumps(row) + "\n" for row in ({**first, "text": f"{first['text']}\nx"}, *rest)))
    asked(model := slipping(QUICK, SLIPS), path, dialects="python", again=1)
    assert len(model.requests) == 1


def test_asking_ends_where_it_may_not_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "results.jsonl"
    model = slipping(QUICK, SLIPS, times=3)
    asked(model, path, dialects="python", again=2)
    assert len(model.requests) == 60 + 3 + 3
    asked(last := slipping(QUICK, SLIPS, times=3), path, dialects="python", again=3)
    assert len(last.requests) == 3
    assert {row["id"].partition("#")[2] for row in rows(path)} == {"", "2", "3", "4"}
    assert "mean, asked again\t100.0" in capsys.readouterr().out


def test_answers_of_two_models_are_not_mixed(tmp_path: Path):
    path = tmp_path / "results.jsonl"
    asked(answering(QUICK), path, dialects="python", limit=1)
    with pytest.raises(UsageError, match="has answers of sage; choose another file with --results"):
        asked(answering(QUICK, name="fool"), path, dialects="python", limit=1)


def test_prompts_out_and_answers_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """As it is done with a model elsewhere: prompts, answers in another order, a table."""
    prompts, answers = tmp_path / "prompts.jsonl.gz", tmp_path / "answers.jsonl.gz"
    evaluate(EvalOptions(prompts_out=prompts, limit=3))
    assert f"{4 * 3 * len(FIRST)} prompts written" in capsys.readouterr().err
    with gzip.open(prompts, "rt", encoding="utf-8") as file:
        written = [json.loads(line) for line in file]
    with gzip.open(answers, "wt", encoding="utf-8") as file:
        for row in sorted(written, key=lambda row: len(row["prompt"])):
            row["text"] = answer_to(row["id"], row.pop("prompt"))
            file.write(json.dumps({**row, "prompt_tokens": 50, "answer_tokens": 5}) + "\n")
    results = tmp_path / "results.jsonl"
    evaluate(EvalOptions(answers=(answers,), results=results))
    told = capsys.readouterr()
    table = {line.split("\t")[0]: line.split("\t")[1:] for line in told.out.splitlines()}
    assert table["percent right"] == ["native", "json", "typescript", "python"]
    assert {cell.split()[0] for cell in table["mean"]} == {"100.0"}
    assert table["answer tokens"] == ["5", "5", "5", "5"]
    assert "other prompts" not in told.err
    assert [row["id"] for row in rows(results)] == [row["id"] for row in written]
    evaluate(EvalOptions(answers=(results,), dialects="python"))
    assert capsys.readouterr().out.startswith("percent right\tpython\n")


def answer_to(trial: str, prompt: str) -> str:
    from toolspeak.dialects import JSON, dialect
    from toolspeak.dialects.text import TextDialect

    _, _, spoken, question = trial.split("/")
    [found] = [each for each in QUICK.questions if each.id == question]
    assert found.messages[-1].text in prompt
    speaking = dialect(spoken)
    calls = right_calls(found)
    return (
        (speaking if isinstance(speaking, TextDialect) else JSON).format_calls(calls)
        if calls
        else "Nothing serves that."
    )


def test_answers_to_other_prompts_or_to_no_question_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "answers.jsonl"
    lines = [
        {"id": f"quick/{SINGLE}", "text": "No.", "shown": "of old"},
        {"id": f"quick/{NONE}", "text": "No."},
        {"id": f"quick/{NONE}3", "text": "No."},
        {"id": f"other/{NONE}", "text": "No."},
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    evaluate(EvalOptions(answers=(path,)))
    told = capsys.readouterr()
    assert "answers given to other prompts than today's: 1" in told.err
    assert "answers to no question that is scored, left out: 2" in told.err
    assert "questions\t2" in told.out
    evaluate(EvalOptions(answers=(path,), categories=("none",)))
    assert "questions\t1" in capsys.readouterr().out
    with pytest.raises(UsageError, match="there is no answer to a question of quick in "):
        evaluate(EvalOptions(answers=(path,), dialects="json"))


def written(path: Path, *answers: tuple[str, str], **more: Any) -> Path:
    lines = [json.dumps({"id": f"quick/{each}", "text": text, **more}) for each, text in answers]
    path.write_text("\n".join(lines))
    return path


def test_a_second_round_elsewhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    *good, last = right_lines(SEVERAL)
    first = written(
        tmp_path / "first.jsonl",
        (SEVERAL, "\n".join((*good, malform(last)))),
        (SINGLE, "\n".join(right_lines(SINGLE))),
        prompt_tokens=50,
    )
    prompts = tmp_path / "prompts.jsonl.gz"
    evaluate(EvalOptions(answers=(first,), again=1, prompts_out=prompts))
    assert "1 prompt written" in capsys.readouterr().err
    [prompt] = (json.loads(line) for line in gzip.decompress(prompts.read_bytes()).splitlines())
    assert prompt["id"] == f"quick/{SEVERAL}#2"
    goes_on = f"{malform(last)}<|im_end|>\n<|im_start|>user\nResults of your calls:\n"
    assert goes_on in prompt["prompt"]
    evaluate(EvalOptions(answers=(first,), again=1))
    assert "questions asked again that lack an answer: 1" in capsys.readouterr().err
    second = written(
        tmp_path / "second.jsonl",
        (f"{SEVERAL}#2", last),
        prompt_tokens=70,
        shown=prompt["shown"],
    )
    results = tmp_path / "results.jsonl"
    evaluate(EvalOptions(answers=(first, second), again=1, results=results))
    told = capsys.readouterr()
    assert "mean\t50.0" in told.out
    assert "mean, asked again\t100.0" in told.out
    assert "prompt tokens\t85\n" in told.out
    assert told.err == f"every answer is in {results}, and a picture in {tmp_path / 'results.svg'}\n"
    assert [row["id"].removeprefix("quick/") for row in rows(results)] == [SINGLE, SEVERAL, f"{SEVERAL}#2"]
    evaluate(EvalOptions(answers=(results,), again=1, prompts_out=prompts))
    assert "0 prompts written" in capsys.readouterr().err


def test_second_answers_without_a_question_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = written(
        tmp_path / "answers.jsonl",
        (SINGLE, "\n".join(right_lines(SINGLE))),
        (f"{SINGLE}#2", "It was understood at once."),
        (f"{SEVERAL}#2", "There is no first answer."),
        (SECOND, malform(right_lines(SECOND)[0])),
        (f"{SECOND}#3", "There is no second answer."),
    )
    evaluate(EvalOptions(answers=(path,), again=2))
    told = capsys.readouterr()
    assert "answers to no question that is scored, left out: 3" in told.err
    assert "asked again\t0" in told.out
    stale = written(tmp_path / "stale.jsonl", (f"{SECOND}#2", "No."), shown="of old")
    evaluate(EvalOptions(answers=(path, stale), again=1))
    told = capsys.readouterr()
    assert "answers given to other prompts than today's: 1" in told.err
    assert "asked again\t1" in told.out


def test_prompts_of_a_second_round_need_to_be_wanted(tmp_path: Path):
    first = written(tmp_path / "first.jsonl", (SINGLE, "No."))
    with pytest.raises(UsageError, match="writes the prompts of questions asked again; add --again 1"):
        evaluate(EvalOptions(answers=(first,), prompts_out=tmp_path / "prompts.jsonl"))


def test_a_dialect_that_is_not_there():
    with pytest.raises(UsageError, match="there is no dialect 'cobol'"):
        evaluate(EvalOptions(prompts_out=Path("x"), dialects="json,cobol"))


def test_an_endpoint_that_answers_nothing_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    model = ScriptedModel([lambda _: ScriptedReply(error=ProviderError("nobody is there"))], name="sage")
    with pytest.raises(ProviderError, match="nobody is there"):
        asked(model, tmp_path / "results.jsonl", dialects="json,python")
    assert "json was given up: nobody is there" in capsys.readouterr().err


class Behind(HttpModel):
    """A model behind an endpoint, whose answers are played."""

    def __init__(self, wrong: Collection[str]) -> None:
        super().__init__(Endpoint(name="near", base_url="http://127.0.0.1:9/v1"), "small")
        self._played = answering(QUICK, wrong=wrong)

    def ask(self, request: Request) -> AsyncGenerator[Sequence[Piece]]:
        return self._played.ask(request)


def test_calibrate_remembers_the_winner_and_says_how_sure_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    environ = {"TOOLSPEAK_CONFIG_FOLDER": str(tmp_path)}
    wrong = [f"{name}/{each}" for name in ("json", "native") for each in IDS]
    wrong += [f"python/{each}" for each in IDS[:4]]
    calibrate("near:small", minutes=5, find=lambda _: Behind(wrong), environ=environ)
    told = capsys.readouterr()
    assert load_calibrated_dialect("http://127.0.0.1:9/v1", "small", environ=environ) == "typescript"
    head, first, second, *_, verdict = told.out.splitlines()
    assert head.split("\t") == ["dialect", "percent right", "questions", "prompt tokens", "answer tokens", "seconds"]
    assert first.split("\t")[:5] == ["typescript", "100.0 (94–100)", "60", "100", "10"]
    assert second.split("\t")[:3] == ["python", "93.3 (84–97)", "60"]
    assert verdict == (
        "typescript is best: 100 percent right (95 % certain: 94 to 100). That it is better than python is 97% sure: "
        "of the questions that both were asked, it alone was right in 4, and python alone in 0."
    )
    assert "dialect='auto' is typescript for near:small from now on" in told.err
    assert re.search(r"^\d+ of 240 questions, \d+ % right, in \d+\.?\d* s$", told.err, re.MULTILINE)


def test_calibrate_saves_nothing_that_is_not_certain(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    environ = {"TOOLSPEAK_CONFIG_FOLDER": str(tmp_path)}
    wrong = [f"{name}/{each}" for name in ("json", "native") for each in IDS] + [f"python/{each}" for each in IDS[:2]]
    calibrate("near:small", minutes=5, find=lambda _: Behind(wrong), environ=environ)
    told = capsys.readouterr()
    assert "better than python is 88% sure" in told.out
    assert "nothing is saved below 90% certainty" in told.err
    assert load_calibrated_dialect("http://127.0.0.1:9/v1", "small", environ=environ) is None


def test_a_saved_dialect_is_shown_and_forgotten(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    environ = {"TOOLSPEAK_CONFIG_FOLDER": str(tmp_path)}
    save_calibrated_dialect("http://127.0.0.1:9/v1", "small", "json", environ=environ)
    for command in (show_saved, forget_saved, show_saved, forget_saved):
        command("near:small", find=lambda _: Behind([]), environ=environ)
    assert capsys.readouterr().out.splitlines() == [
        "near:small: json",
        "near:small: the saved dialect is forgotten",
        "near:small: no dialect is saved",
        "near:small: no dialect was saved",
    ]


def test_calibrate_needs_a_model_that_can_be_found_again():
    with pytest.raises(UsageError, match="sage cannot be found again by its name"):
        calibrate("sage", minutes=1, find=lambda _: answering(QUICK))


def test_the_command_line_takes_it_all(tmp_path: Path):
    command = [sys.executable, "-m", "toolspeak.cli", "eval", "--suite", "quick", "--dialect", "python,json"]
    options = ["--limit", "1", "--seed", "3", "--prompts-out", "p.jsonl", "--template", "chatml", "--category", "none"]
    env = {**os.environ, "HOME": str(tmp_path)}
    done = subprocess.run([*command, *options], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=80)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert [row["id"].split("/")[:3] for row in rows(tmp_path / "p.jsonl")] == [
        ["quick", "none", "python"],
        ["quick", "none", "json"],
    ]


def test_the_command_line_takes_several_answers(tmp_path: Path):
    [call] = right_lines(SINGLE)
    written(tmp_path / "1.jsonl", (SINGLE, malform(call)))
    written(tmp_path / "2.jsonl", (f"{SINGLE}#2", call))
    command = [sys.executable, "-m", "toolspeak.cli", "eval", "--answers", "1.jsonl", "--answers", "2.jsonl"]
    env = {**os.environ, "HOME": str(tmp_path)}
    done = subprocess.run([*command, "--again", "1"], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=80)
    assert done.stdout.splitlines() == [
        "percent right\tpython",
        "single\t0.0 (0–79)",
        "single, asked again\t100.0 (21–100)",
        "questions\t1",
        "asked again\t1",
    ], done.stderr
