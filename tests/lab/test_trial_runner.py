"""Asking a model: each question once, and what becomes of an endpoint that fails."""

import asyncio
import json
from collections.abc import Sequence

import pytest

from toolspeak.lab.suites import load_suite
from toolspeak.lab.trial_runner import TrialRunner, find_unanswered, run_trial
from toolspeak.lab.trials import RecordedAnswer, RecordedCall, Trial, make_trials
from toolspeak.models import Model, Request, Sampling
from toolspeak.testing import ScriptedModel, ScriptedReply, says
from toolspeak.values.errors import ModelError, ProviderError, UsageError

from .scripted_models import answering, right_calls

QUICK = load_suite("quick")


def asked(runner: TrialRunner, chosen: Sequence[Trial]) -> list[RecordedAnswer]:
    async def collected() -> list[RecordedAnswer]:
        return [answered async for _, answered in runner.run(chosen)]

    return asyncio.run(collected())


def test_the_likeliest_answer_is_asked_for_and_kept_as_it_came():
    # One call of a tool whose name an API takes as it is.
    single = [each for each in make_trials(QUICK, ["native"]) if len(right_calls(each.question)) == 1]
    trial = next(each for each in single if "." not in right_calls(each.question)[0].name)
    model = answering(QUICK)
    answered = asyncio.run(run_trial(model, trial))
    [call] = right_calls(trial.question)
    assert answered.api_calls == (RecordedCall(name=call.name, arguments=json.dumps(call.arguments)),)
    assert (answered.text, answered.finish, answered.model) == ("", "tool_calls", "sage")
    assert (answered.prompt_tokens, answered.answer_tokens, answered.prompt_hash) == (100, 10, trial.prompt_hash())
    [request] = model.requests
    assert request.sampling == Sampling(temperature=0, max_tokens=256)
    assert (request.dialect, request.stream, len(request.shown.tools)) == ("native", False, len(trial.tools))


@pytest.mark.parametrize("concurrency", [1, 3, 100])
def test_each_question_is_asked_once(concurrency: int):
    chosen = make_trials(QUICK, ["python", "json"], limit=2)
    model = answering(QUICK)
    answers = asked(TrialRunner(model, concurrency=concurrency), chosen)
    assert sorted(each.id for each in answers) == sorted(trial.id for trial in chosen)
    assert len(model.requests) == len(chosen)


def test_no_more_are_asked_at_a_time_than_may_be():
    running = most = 0

    class Slow(ScriptedModel):
        async def ask(self, request: Request):
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.001)
            running -= 1
            async for pieces in super().ask(request):
                yield pieces

    asked(TrialRunner(Slow([says("No.")]), concurrency=3), make_trials(QUICK, ["json"], limit=2))
    assert most == 3


def failing_in(*dialects: str, error: Exception) -> Model:
    def answer(request: Request) -> ScriptedReply:
        return ScriptedReply(error=error) if request.dialect in dialects else says("No.")

    return ScriptedModel([answer])


def test_a_dialect_that_the_endpoint_does_not_take_is_given_up():
    runner = TrialRunner(failing_in("native", error=ProviderError("no tools here")))
    answers = asked(runner, make_trials(QUICK, ["native", "json"], limit=1))
    assert [each.finish for each in answers] == ["error"] * 2 + ["stop"] * len(QUICK.categories)
    assert {name: str(error) for name, error in runner.dropped.items()} == {"native": "no tools here"}
    runner.raise_if_unreachable()


def test_an_endpoint_that_answers_nothing_is_told():
    runner = TrialRunner(failing_in("native", "json", error=ProviderError("nobody is there")))
    assert len(asked(runner, make_trials(QUICK, ["native", "json"], limit=1))) == 4
    with pytest.raises(ProviderError, match="nobody is there"):
        runner.raise_if_unreachable()


def test_a_failure_now_and_then_is_a_wrong_answer():
    count = 0

    def answer(request: Request) -> ScriptedReply:
        nonlocal count
        count += 1
        return ScriptedReply(error=ModelError("busy")) if count % 2 else says("No.")

    runner = TrialRunner(ScriptedModel([answer]))
    answers = asked(runner, make_trials(QUICK, ["json"], limit=1))
    assert [each.finish for each in answers] == (["error", "stop"] * 4)[: len(QUICK.categories)]
    assert not runner.dropped


def test_what_is_no_fault_of_the_endpoint_ends_it():
    with pytest.raises(UsageError, match="install it"):
        asked(TrialRunner(failing_in("json", error=UsageError("install it"))), make_trials(QUICK, ["json"], limit=1))


def test_what_was_answered_is_not_asked_again():
    first, second, third, fourth = make_trials(QUICK, ["json"])[:4]
    kept = [
        RecordedAnswer(id=first.id, text="", prompt_hash=first.prompt_hash()),
        RecordedAnswer(id=second.id, text="", prompt_hash="another prompt"),
        RecordedAnswer(id=third.id, text="", prompt_hash=third.prompt_hash(), finish="error"),
    ]
    assert find_unanswered([first, second, third, fourth], kept) == [second, third, fourth]
