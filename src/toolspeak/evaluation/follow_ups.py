"""Follow-ups: where a call in an answer was malformed, the question is asked again."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count

from toolspeak.evaluation.answers import RecordedAnswer, TrialResult
from toolspeak.evaluation.trials import Trial


def iterate_series(trial: Trial, answers: Mapping[str, RecordedAnswer], limit: int | None = None) -> Iterator[Trial]:
    """Yield a trial and its follow-ups, as far as there are answers. The last trial may have no answer yet.

    Args:
        trial: The first trial of the question.
        answers: The answers, by the id of their trial.
        limit: The most follow-ups; if None, as many as the answers call for.
    """
    for number in count():
        yield trial
        answer = answers.get(trial.id)
        following = None if answer is None or number == limit else trial.follow_up(answer)
        if following is None:
            return
        trial = following


def find_follow_ups(trials: Iterable[Trial], answers: Mapping[str, RecordedAnswer]) -> list[Trial]:
    """Return the follow-ups that these answers to the trials call for."""
    answered = ((trial, answers[trial.id]) for trial in trials if trial.id in answers)
    return [following for trial, answer in answered if (following := trial.follow_up(answer)) is not None]


def score(
    all_series: Iterable[Sequence[Trial]], answers: Mapping[str, RecordedAnswer]
) -> list[tuple[Trial, TrialResult]]:
    """Return the result of each series of trials, with the last trial that has an answer."""
    last = (next((trial for trial in reversed(series) if trial.id in answers), None) for series in all_series)
    return [(trial, trial.judge(answers[trial.id])) for trial in last if trial is not None]
