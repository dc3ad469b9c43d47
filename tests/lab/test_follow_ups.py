"""Asking again after a malformed call: as the loop would, and with what was said before in what is judged."""

import pytest

from toolspeak.lab.files import render_qwen
from toolspeak.lab.questions import ExpectedCall
from toolspeak.lab.trial_runner import find_follow_ups, iterate_series, score
from toolspeak.lab.trials import RecordedAnswer, RecordedCall, Trial
from toolspeak.run import Agent
from toolspeak.testing import ScriptedModel, ScriptedReply, says
from toolspeak.values.messages import Text
from toolspeak.values.pieces import ApiCall

from .scripted_models import question, suite_of, tool

INTEGER = {"type": "integer"}
BOTH = [ExpectedCall(name=name, arguments={"x": [1]}, optional={}) for name in ("f", "g")]
ASKED = question("q", "Do f and g.", [tool("f", x=INTEGER), tool("g", x=INTEGER)], *BOTH)
TRIAL = Trial(suite=suite_of(ASKED), question=ASKED, dialect="python")

HALF = RecordedAnswer(id=TRIAL.id, text="f(x=1)\ng(x=one)", prompt_tokens=10, answer_tokens=5, seconds=1.0)
REST = RecordedAnswer(id=f"{TRIAL.id}#2", text="g(x=1)", prompt_tokens=20, answer_tokens=3, seconds=0.5)
WORSE = RecordedAnswer(id=f"{TRIAL.id}#2", text="g(x=eins)")
LAST = RecordedAnswer(id=f"{TRIAL.id}#3", text="g(x=1)")


def by_id(*answers: RecordedAnswer) -> dict[str, RecordedAnswer]:
    return {each.id: each for each in answers}


def f(x: int) -> str:
    return "done"


SLIPS = {
    "native": ScriptedReply(
        calls=(
            ApiCall(index=0, id="", name="f", arguments='{"x": 1}'),
            ApiCall(index=1, id="", name="h", arguments='{"x": 1}'),
        )
    ),
    "json": says('{"name": "f", "arguments": {"x": 1}}\n{"name": "f", "arguments": {"x": }}'),
    "typescript": says("f({x: 1});\nf({x: one});"),
    "python": says("So:\n```python\nf(x=1)\nf(x=one)\n```"),
}


@pytest.mark.parametrize("dialect", SLIPS)
def test_it_is_asked_as_the_loop_asks(dialect: str):
    slip = SLIPS[dialect]
    model = ScriptedModel([slip, says("I see.")], dialect=dialect)
    agent = Agent(model, [f])
    agent.run("Do f.")
    asked = question("q", "Do f.", tuple(agent.toolbox.specs))
    trial = Trial(suite=suite_of(asked), question=asked, dialect=dialect)
    spoken = [
        RecordedCall(name=call.name, arguments=call.arguments) for call in slip.calls if isinstance(call, ApiCall)
    ]
    again = trial.follow_up(RecordedAnswer(id=trial.id, text=slip.text, api_calls=tuple(spoken)))
    assert again is not None
    first, second = model.requests
    assert (render_qwen(trial.render()), render_qwen(again.render())) == (
        render_qwen(first.shown),
        render_qwen(second.shown),
    )
    assert "done" in render_qwen(again.render())


def test_an_answer_stands_in_the_conversation_as_it_was_given():
    again = TRIAL.follow_up(HALF)
    assert again is not None
    assert again.id == "own/single/python/q#2"
    said, results = again.render().messages[-2:]
    assert said.parts == (Text(text=HALF.text),)
    assert results.text == (
        "Results of your calls:\nf(x=1) → done\ng() → Error: the name one is not bound to anything. Write values out, texts "
        "in quotes, or use results of earlier calls in the same block."
    )


@pytest.mark.parametrize(
    "answered",
    [
        RecordedAnswer(id=TRIAL.id, text="f(x=1)"),
        RecordedAnswer(id=TRIAL.id, text="No."),
        RecordedAnswer(id=TRIAL.id, text="", finish="error"),
        RecordedAnswer(id=TRIAL.id, text="f(x=1)\ng(x=o", finish="length"),  # the loop ends with a message that was cut
    ],
    ids=["right", "prose", "failed", "cut"],
)
def test_what_is_not_asked_again(answered: RecordedAnswer):
    assert TRIAL.follow_up(answered) is None


def test_the_mark_is_of_the_whole_conversation():
    native = Trial(suite=suite_of(ASKED), question=ASKED, dialect="native")
    slips = [
        RecordedAnswer(id=native.id, text="", api_calls=(RecordedCall(name=name, arguments="{}"),))
        for name in ("h", "i")
    ]
    one, other = (native.follow_up(slip) for slip in slips)
    assert one is not None
    assert other is not None
    assert len({native.prompt_hash(), one.prompt_hash(), other.prompt_hash()}) == 3
    assert one.prompt_hash() == replayed(native, slips[0]).prompt_hash()


def replayed(trial: Trial, answered: RecordedAnswer) -> Trial:
    return Trial(suite=trial.suite, question=trial.question, dialect=trial.dialect, earlier=(answered,))


def test_the_calls_of_all_answers_are_judged_together():
    [(trial, result)] = score([list(iterate_series(TRIAL, by_id(HALF, REST), 1))], by_id(HALF, REST))
    assert trial.id == result.answer.id == REST.id
    assert result.verdict.right
    assert [call.name for call in result.calls] == ["g"]
    assert result.first == TRIAL.judge(HALF)
    assert result.first.verdict.why == "g was not called"
    twice = RecordedAnswer(id=REST.id, text="f(x=1)\ng(x=1)")
    [(_, wrong)] = score([list(iterate_series(TRIAL, by_id(HALF, twice)))], by_id(HALF, twice))
    assert wrong.verdict.why == "f was not to be called again"


def test_an_endpoint_that_fails_when_it_is_asked_again_is_wrong():
    again = replayed(TRIAL, RecordedAnswer(id=TRIAL.id, text="f(x=1)\ng(x=1)\ng(x=one)"))
    assert again.judge(RecordedAnswer(id=again.id, text="No.")).verdict.right
    assert again.judge(RecordedAnswer(id=again.id, text="", finish="error")).verdict.why == "the endpoint failed"


def test_calls_of_later_answers_have_names_of_their_own():
    """A reference is to a call of its own answer, whatever was said before."""
    expected = (
        ExpectedCall(name="f", arguments={"x": [1]}, optional={}, returns=7),
        ExpectedCall(name="g", arguments={"x": [7]}, optional={}, after=(0,)),
    )
    steps = question("q", "Do f, and g with what it gives.", ASKED.tools, *expected)
    trial = Trial(
        suite=suite_of(steps), question=steps, dialect="python", earlier=(RecordedAnswer(id="…", text="g(x=y)"),)
    )
    assert trial.judge(RecordedAnswer(id=trial.id, text="y = f(x=1)\ng(x=y)")).verdict.right


def test_rounds_go_as_far_as_the_answers_and_no_further_than_they_may():
    answers = by_id(HALF, WORSE, LAST)
    assert [trial.id for trial in iterate_series(TRIAL, answers, 0)] == [HALF.id]
    assert [trial.id for trial in iterate_series(TRIAL, answers, 1)] == [HALF.id, WORSE.id]
    assert [trial.id for trial in iterate_series(TRIAL, answers)] == [HALF.id, WORSE.id, LAST.id]
    assert [trial.id for trial in iterate_series(TRIAL, by_id(HALF), 2)] == [HALF.id, WORSE.id]
    assert [trial.id for trial in iterate_series(TRIAL, by_id(HALF, LAST), 2)] == [HALF.id, WORSE.id]
    assert [result.verdict.right for _, result in score([list(iterate_series(TRIAL, answers, 1))], answers)] == [False]
    assert [result.verdict.right for _, result in score([list(iterate_series(TRIAL, answers, 2))], answers)] == [True]


def test_the_next_round():
    [again] = find_follow_ups([TRIAL], by_id(HALF))
    assert again.earlier == (HALF,)
    assert find_follow_ups([again], by_id(HALF)) == []
    assert find_follow_ups([again], by_id(REST)) == []
    assert [trial.id for trial in find_follow_ups([again], by_id(WORSE))] == [LAST.id]


def test_the_loop_does_not_ask_for_ever():
    trial, count = TRIAL, 0
    while further := trial.follow_up(RecordedAnswer(id=trial.id, text="g(x=one)")):
        trial, count = further, count + 1
    assert count == 3
