"""Rounds: a question is asked, and where a call was malformed it is asked again."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count

from toolspeak.evaluation.records import RecordedAnswer, TrialResult
from toolspeak.evaluation.trials import Trial


def asked(trial: Trial, answers: Mapping[str, RecordedAnswer], again: int | None = None) -> Iterator[Trial]:
    """A trial, and those in which it is asked again after these answers. The last of them may have no answer yet.

    Args:
        trial: The trial as it is asked first.
        answers: The answers, by what they answer.
        again: How often it is asked again at most; as often as the answers have it if None.
    """
    for number in count():
        yield trial
        answered = answers.get(trial.id)
        further = None if answered is None or number == again else trial.again(answered)
        if further is None:
            return
        trial = further


def asked_again(trials: Iterable[Trial], answers: Mapping[str, RecordedAnswer]) -> list[Trial]:
    """The next round: those of the trials that are asked again after these answers."""
    answered = ((trial, answers[trial.id]) for trial in trials if trial.id in answers)
    return [further for trial, answer in answered if (further := trial.again(answer)) is not None]


def scored(
    questions: Iterable[Sequence[Trial]], answers: Mapping[str, RecordedAnswer]
) -> list[tuple[Trial, TrialResult]]:
    """The result of each question, from its rounds, with the trial whose answer was the last."""
    last = (next((trial for trial in reversed(rounds) if trial.id in answers), None) for rounds in questions)
    return [(trial, trial.judged(answers[trial.id])) for trial in last if trial is not None]
