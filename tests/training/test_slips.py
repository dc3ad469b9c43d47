"""Calls that went wrong: what the model is shown of them, and that the right answer follows."""

import random
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.cases import RUNS_ALL, each_case
from tests.training.test_pairs import SUITE
from toolspeak.dialects import DIALECTS
from toolspeak.lab.files import render_qwen
from toolspeak.lab.questions import ExpectedCall, Question
from toolspeak.lab.trials import RecordedAnswer, Trial
from toolspeak.values.messages import Call, Message, Result, Text, ToolCall, user
from toolspeak.values.spec import ToolSpec

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "training"))  # the scripts import each other

make_pairs: Any = import_module("make_pairs")
slips: Any = import_module("slips")

SETTINGS = {"plain_epochs": 0, "varied_epochs": 1, "dialects": list(DIALECTS), "slips": 240 if RUNS_ALL else 60}

MOVE = ToolSpec(
    name="move",
    description="Moves a file.",
    parameters={
        "type": "object",
        "properties": {"file_name": {"type": "string"}, "folder": {"type": "string"}},
        "required": ["file_name", "folder"],
    },
)
QUESTION = Question(
    id="q-1",
    category="single",
    messages=(user("Move notes.txt to old."),),
    tools=(MOVE,),
    expected=(ExpectedCall(name="move", arguments={"file_name": ["notes.txt"], "folder": ["old"]}, optional={}),),
)


def answered(*results: Result, reply: str) -> Question:
    """Return a conversation in which the call was made and had these results."""
    call = ToolCall(id="call_1", name="move", arguments={"file_name": "notes.txt", "folder": "old"})
    asked = Message(role="assistant", parts=(Call(call=call),))
    messages = (*QUESTION.messages, asked, Message(role="tool", parts=results))
    return replace(QUESTION, messages=messages, expected=(), reply=reply)


def show(question: Question, dialect: str) -> str:
    return render_qwen(Trial(suite=SUITE, question=question, dialect=dialect).render())


def slip_with(kind: str, dialect: str) -> list[str]:
    """Return all different prompts after a slip that contain a text."""
    found = (slips.slip_call(QUESTION, dialect, random.Random(seed)) for seed in range(80))
    return sorted({shown for each in found if each is not None and kind in (shown := show(each, dialect))})


def test_a_text_without_quotes_is_answered_in_the_words_of_the_loop():
    [once, *_] = slip_with("move(file_name=notes.txt, folder=old)", "python")
    assert once.endswith(
        "<|im_start|>user\nResults of your calls:\nmove() → Error: the name old is not bound to anything. Write values out, "
        "texts in quotes, or use results of earlier calls in the same block.<|im_end|>\n<|im_start|>assistant\n"
    )


@each_case("dialect", list(DIALECTS))
def test_an_argument_that_is_missing_is_named(dialect: str):
    assert slip_with("folder: missing; needs string", dialect)


@each_case("dialect", ["python", "typescript"])
def test_a_call_under_a_condition_is_refused(dialect: str):
    assert slip_with("it stands under a condition", dialect)


def test_a_call_that_is_made_again_has_the_same_result_and_a_warning_the_third_time():
    question = answered(Result(call_id="call_1", content=(Text(text="moved"),)), reply="It is moved.")
    shown = {show(slips.repeat_call(question, "python", random.Random(seed)), "python") for seed in range(20)}
    assert [each.count("→ moved") for each in sorted(shown, key=len)] == [2, 3]
    assert ["You have called move 3 times" in each for each in sorted(shown, key=len)] == [False, True]


def test_a_call_that_is_right_with_other_values_is_not_repeated():
    failed = answered(Result(call_id="call_1", content=(Text(text="no folder old"),), is_error=True), reply="")
    assert slips.repeat_call(replace(failed, expected=QUESTION.expected), "python", random.Random(1)) is None


def test_an_error_is_returned_as_a_value():
    failed = answered(
        Result(call_id="call_1", content=(Text(text="no folder old"),), is_error=True), reply="There is none."
    )
    shown = {show(slips.return_error(failed, "python", random.Random(seed)), "python") for seed in range(20)}
    ends = {each.rpartition(" → ")[2].removesuffix("<|im_end|>\n<|im_start|>assistant\n") for each in shown}
    assert ends == {
        '{"error": "no folder old"}',
        '{"status": "error", "message": "no folder old"}',
        "Failed: no folder old",
    }


def test_the_answers_after_a_slip_are_right():
    """In the conversation as it went on, the answer that is taught is the right one, and it is no slip itself."""
    seen: set[str] = set()
    for _, dialect, question in slips.make_slips(SUITE, SETTINGS, random.Random(3)):
        assert question.messages[-1].role == "tool"
        trial = Trial(suite=SUITE, question=question, dialect=dialect)
        if {call.name for message in question.messages for call in message.calls} <= {
            spec.name for spec in trial.tools
        }:
            seen.add(dialect)
            text = make_pairs.make_target(question, dialect)
            assert trial.judge(RecordedAnswer(id=trial.id, text=text)).verdict.right, (dialect, question.id)
    assert seen == set(DIALECTS)


def test_the_groups_are_of_all_dialects_and_have_one_question():
    groups = list(make_pairs.make_slip_groups(SUITE, SETTINGS, random.Random(3)))
    assert {group["dialect"] for group in groups} == set(DIALECTS)
    assert {group["source"] for group in groups} == {"slips"}
    assert all(len(group["examples"]) == 1 for group in groups)
