"""A trial: what is shown, what is read, and which questions are drawn."""

import pytest

from toolspeak.lab.questions import ExpectedCall, Verdict
from toolspeak.lab.suites import load_suite
from toolspeak.lab.trials import RecordedAnswer, RecordedCall, Trial, make_trials, parse_trial_id
from toolspeak.values.errors import UsageError

from .scripted_models import question, suite_of, tool

DOTTED = [tool("a.b"), tool("a_b", x={"type": "integer"}), tool("müll eimer"), tool("long" * 30)]


def trial(dialect: str) -> Trial:
    asked = question("q", "Do a.b.", DOTTED, ExpectedCall(name="a.b", arguments={}, optional={}))
    return Trial(suite=suite_of(asked), question=asked, dialect=dialect)


def test_the_id_says_what_it_is():
    assert trial("json").id == "own/single/json/q"
    assert parse_trial_id("own/single/json/q/with/slashes") == ("own", "single", "json", "q/with/slashes")


@pytest.mark.parametrize("wrong", ["q", "own/single/json", "own//json/q"])
def test_what_is_no_id(wrong: str):
    with pytest.raises(UsageError, match="is not the id of a trial"):
        parse_trial_id(wrong)


def test_apis_are_told_names_that_they_take():
    names = [spec.name for spec in trial("native").render().tools]
    assert names == ["a_b", "a_b_2", "m_ll_eimer", "long" * 16]
    assert [spec.name for spec in trial("python").tools] == [spec.name for spec in DOTTED]


def test_calls_come_back_to_the_true_name():
    spoken = (RecordedCall(name="a_b", arguments="{}"), RecordedCall(name="a_b_2", arguments='{"x": 1}'))
    read = trial("native").read(RecordedAnswer(id="…", text="", api_calls=spoken, finish="tool_calls"))
    assert [(each.call.name, each.call.arguments) for each in read.calls] == [("a.b", {}), ("a_b", {"x": 1})]
    assert trial("native").judge(RecordedAnswer(id="…", text="", api_calls=spoken[:1])).verdict.right


def test_a_call_that_was_cut_is_none():
    whole = RecordedAnswer(id="…", text="a_b(x=1)")
    assert [each.call.name for each in trial("python").read(whole).calls] == ["a_b"]
    cut = RecordedAnswer(id="…", text="a_b(x=1", finish="length")
    result = trial("python").judge(cut)
    assert result.calls == ()
    assert len(result.malformed) == 1


def test_an_endpoint_that_failed_is_wrong_even_where_silence_is_right():
    asked = question("q", "Sing.", [tool("f")])
    silent = Trial(suite=suite_of(asked), question=asked, dialect="python")
    assert silent.judge(RecordedAnswer(id="…", text="")).verdict.right
    failed = silent.judge(RecordedAnswer(id="…", text="", finish="error"))
    assert failed.verdict == Verdict(right=False, why="the endpoint failed")


def test_the_mark_changes_with_what_is_shown():
    marks = {name: trial(name).prompt_hash() for name in ("native", "json", "typescript", "python")}
    assert len(set(marks.values())) == 4
    assert trial("json").prompt_hash() == marks["json"]
    other = question("q", "Do a.b.", DOTTED[:1])
    assert Trial(suite=suite_of(other), question=other, dialect="native").prompt_hash() != marks["native"]


def test_each_dialect_is_asked_the_same_questions():
    quick = load_suite("quick")
    drawn = make_trials(quick, ["json", "python"], limit=2, seed=7)
    asked = [each.question.id for each in drawn if each.dialect == "json"]
    assert len(drawn) == 2 * 2 * len(quick.categories)
    assert asked == [each.question.id for each in drawn if each.dialect == "python"]
    assert asked == [each.id for each in quick.questions if each.id in asked]
    assert drawn == make_trials(quick, ["json", "python"], limit=2, seed=7)
    assert drawn != make_trials(quick, ["json", "python"], limit=2, seed=8)
    assert len(make_trials(quick, ["json"], limit=1000)) == len(quick.questions)
