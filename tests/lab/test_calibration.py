"""Dialects that compete: rounds, who is left out, when it ends, and how sure it is."""

import asyncio
from collections.abc import Collection

import pytest

from toolspeak.lab.calibration import DialectComparison, calibrate, split_rounds
from toolspeak.lab.suites import load_suite
from toolspeak.lab.trial_runner import TrialRunner
from toolspeak.models import Request
from toolspeak.testing import ScriptedModel, ScriptedReply, says
from toolspeak.values.errors import ProviderError

from .scripted_models import answering

QUICK = load_suite("quick")
IDS = [each.id for each in QUICK.questions]


def held(wrong: Collection[str], *dialects: str, seconds: float = 1e9, slower_after: int = 10_000) -> DialectComparison:
    """A calibration in which each answer takes a second; after so many, a hundred."""
    model = answering(QUICK, wrong=wrong)

    def clock() -> float:
        asked = len(model.requests)
        return asked + 99 * max(0, asked - slower_after)

    return asyncio.run(calibrate(TrialRunner(model), QUICK, dialects, seconds=seconds, clock=clock))


def test_rounds_share_their_tools_and_mix_what_is_asked():
    found = split_rounds(QUICK.questions)
    assert sorted(each.id for part in found for each in part) == sorted(IDS)
    assert [len(part) for part in found] == [5] * 12
    for part in found:
        assert all(each.tools == part[0].tools for each in part)
    assert len({part[0].tools[0].name for part in found[:6]}) == 6
    early = {each.category for part in found[:3] for each in part}
    assert early == set(QUICK.categories)


def test_the_best_wins_and_it_is_said_how_sure_that_is():
    contest = held([f"json/{each}" for each in IDS[:3]], "json", "python")
    assert contest.ranking == ("python", "json")
    lead = contest.smallest_lead
    assert lead is not None
    assert (lead.other, lead.better, lead.worse, lead.confidence) == ("json", 3, 0, 0.9375)
    assert contest.tally("python").count == 60
    assert round(contest.tally("python").interval.low, 2) == 0.94


def test_who_is_surely_behind_is_asked_no_more():
    contest = held([f"json/{each}" for each in IDS], "json", "python", "typescript")
    assert {name: len(found) for name, found in contest.results.items()} == {"json": 5, "python": 60, "typescript": 60}
    assert contest.ranking[-1] == "json"
    assert contest.contenders == ("python", "typescript")


def test_it_ends_when_one_is_left():
    contest = held([f"json/{each}" for each in IDS], "json", "python")
    assert len(contest.results["python"]) == 5
    assert contest.contenders == ("python",)


def test_of_equals_the_one_that_takes_less_wins():
    contest = held([], "json", "python", seconds=0)
    for trial_id, result in contest.results["json"].items():
        answered = type(result.answer)(id=result.answer.id, text="", prompt_tokens=500, answer_tokens=1)
        contest.results["json"][trial_id] = type(result)(
            answer=answered, calls=result.calls, malformed=(), verdict=result.verdict
        )
    assert contest.ranking == ("python", "json")
    assert contest.smallest_lead.confidence == 0.5


@pytest.mark.parametrize(("seconds", "questions"), [(29, 10), (30, 15), (0, 5)])
def test_no_round_is_begun_that_time_is_too_short_for(seconds: float, questions: int):
    contest = held([], "json", "python", seconds=seconds)
    assert {name: len(found) for name, found in contest.results.items()} == {"json": questions, "python": questions}


def test_a_round_that_drags_on_is_broken_off_and_not_counted():
    contest = held([], "json", "python", seconds=100, slower_after=23)
    assert {name: len(found) for name, found in contest.results.items()} == {"json": 10, "python": 10}


def test_a_dialect_that_the_endpoint_does_not_take_cannot_win():
    def answer(request: Request) -> ScriptedReply:
        return ScriptedReply(error=ProviderError("no tools here")) if request.dialect == "native" else says("No.")

    runner = TrialRunner(ScriptedModel([answer]))
    contest = asyncio.run(calibrate(runner, QUICK, ["native", "json", "python"], seconds=1e9))
    assert list(runner.dropped) == ["native"]
    assert contest.ranking[-1] == "native"
    assert len(contest.results["json"]) == 60


def test_an_endpoint_that_is_gone_is_told():
    runner = TrialRunner(ScriptedModel([lambda _: ScriptedReply(error=ProviderError("nobody is there"))]))
    with pytest.raises(ProviderError, match="nobody is there"):
        asyncio.run(calibrate(runner, QUICK, ["native", "json"], seconds=1e9))
