"""Finds the best dialect for a model: the same questions in each, until one is ahead with confidence or time is up.

Questions come in rounds of a few that share their tools, each round in one dialect after the other: a server that
caches only the last prompt still reads the tools once a round, and after every round all dialects have been asked the
same questions. A dialect that is behind the leader with confidence is asked no more, so that time is spent on those
that may still win.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import aclosing
from itertools import zip_longest

from toolspeak.lab.questions import Question, Suite
from toolspeak.lab.summary import Tally, compute_confidence, tally_results
from toolspeak.lab.trial_runner import TrialRunner
from toolspeak.lab.trials import Trial, TrialResult
from toolspeak.values.frozen import frozen

QUESTIONS_PER_ROUND = 5

OVERTIME_FACTOR = 1.2
"""A round that runs longer than the allowed time multiplied by this is broken off, and not counted."""

ELIMINATION_CONFIDENCE = 0.98
"""The confidence that a dialect is behind the leader at which it is asked no more."""


@frozen
class Lead:
    """How far the leader is ahead of another dialect.

    Attributes:
        other: The other dialect.
        better: In how many questions only the leader was right.
        worse: In how many questions only the other dialect was right.
        confidence: The probability that the leader is better.
    """

    other: str
    better: int
    worse: int
    confidence: float


class DialectComparison:
    """The results of dialects that were asked the same questions.

    Attributes:
        results: For each dialect, its results by the id of the question.
    """

    def __init__(self, dialects: Sequence[str]) -> None:
        self.results: dict[str, dict[str, TrialResult]] = {name: {} for name in dialects}

    def add(self, trial: Trial, result: TrialResult) -> None:
        self.results[trial.dialect][trial.question.id] = result

    def tally(self, dialect: str) -> Tally:
        return tally_results(tuple(self.results[dialect].values()))

    @property
    def ranking(self) -> tuple[str, ...]:
        """The dialects that were asked, the best first. Of two that are right equally often, that with fewer tokens."""
        asked = [name for name, results in self.results.items() if results]
        tallies = {name: self.tally(name) for name in asked}
        most = max((tally.count for tally in tallies.values()), default=0)

        def rank(name: str) -> tuple[bool, float, float]:
            tally = tallies[name]  # a dialect that was asked fewer questions may have been lucky with them
            return tally.count < most, -tally.share, (tally.prompt_tokens or 0) + (tally.answer_tokens or 0)

        return tuple(sorted(asked, key=rank))

    def lead_over(self, other: str) -> Lead:
        """Return how far the leader is ahead of another dialect, by the questions that both were asked."""
        first, second = self.results[self.ranking[0]], self.results[other]
        pairs = [(first[each].verdict.right, second[each].verdict.right) for each in first if each in second]
        better, worse = pairs.count((True, False)), pairs.count((False, True))
        return Lead(other=other, better=better, worse=worse, confidence=compute_confidence(better, worse))

    @property
    def smallest_lead(self) -> Lead | None:
        """The lead with the lowest confidence; None if there is only one dialect."""
        return min((self.lead_over(name) for name in self.ranking[1:]), key=lambda lead: lead.confidence, default=None)

    @property
    def contenders(self) -> tuple[str, ...]:
        """The dialects that may still win."""
        ranking = self.ranking
        return (
            *ranking[:1],
            *(name for name in ranking[1:] if self.lead_over(name).confidence < ELIMINATION_CONFIDENCE),
        )


def split_rounds(questions: Sequence[Question], size: int = QUESTIONS_PER_ROUND) -> list[list[Question]]:
    """Split questions into rounds that share their tools: one round of each set of tools, then a second of each."""
    by_tools: dict[tuple[str, ...], list[Question]] = {}
    for question in questions:
        by_tools.setdefault(tuple(spec.name for spec in question.tools), []).append(question)
    by_set = [[each[place : place + size] for place in range(0, len(each), size)] for each in by_tools.values()]
    return [part for parts in zip_longest(*by_set) for part in parts if part]


async def calibrate(
    runner: TrialRunner,
    suite: Suite,
    dialects: Sequence[str],
    *,
    seconds: float,
    on_result: Callable[[Trial, TrialResult], None] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> DialectComparison:
    """Compare the dialects of a model for about so many seconds.

    Args:
        runner: Sends the trials to the model.
        suite: The questions.
        dialects: The names of the dialects.
        seconds: The time allowed. After the first round, none is started that would probably not end in time.
        on_result: Called after each answer.
        clock: Returns the time in seconds.
    """
    comparison = DialectComparison(dialects)
    remaining, took = list(dialects), dict.fromkeys(dialects, 0.0)
    began = clock()
    for questions in split_rounds(suite.questions):
        if comparison.ranking:
            remaining = [name for name in remaining if name in comparison.contenders and name not in runner.dropped]
            if len(remaining) < 2 or clock() - began + sum(took[name] for name in remaining) > seconds:
                break
        round_results: list[tuple[Trial, TrialResult]] = []
        for name in remaining:
            start = clock()
            chosen = [Trial(suite=suite, question=question, dialect=name) for question in questions]
            async with aclosing(runner.run(chosen)) as answers:
                async for trial, answer in answers:
                    round_results.append((trial, result := trial.judge(answer)))
                    if on_result is not None:
                        on_result(trial, result)
                    if comparison.ranking and clock() - began > seconds * OVERTIME_FACTOR:
                        return comparison
            took[name] = clock() - start
        runner.raise_if_unreachable()
        for trial, result in round_results:
            comparison.add(trial, result)
    return comparison
