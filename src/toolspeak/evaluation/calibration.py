"""Which dialect is the best for a model: they are asked the same questions until one is surely ahead, or time is up.

Questions come in rounds of a few that share their tools, each round in one dialect after the other: a server that keeps
only the last prompt still reads the tools once a round, and every round ends with all dialects having been asked the
same. A dialect that is surely behind the leader is asked no more, so that time goes to those that may still win.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import aclosing
from itertools import zip_longest

from toolspeak._frozen import frozen
from toolspeak.evaluation.asker import Asker
from toolspeak.evaluation.records import Question, Suite, TrialResult
from toolspeak.evaluation.summary import Tally, sureness, tallied
from toolspeak.evaluation.trials import Trial

ROUND = 5
"""Questions of a round."""

LATE = 1.2
"""How much longer than allowed it may take before a round that drags on is broken off, and not counted."""

SURELY = 0.98
"""How sure it must be that a dialect is behind the leader, for it to be asked no more."""


@frozen
class Lead:
    """How far the winner is ahead of another dialect.

    Attributes:
        other: The other dialect.
        better: Questions in which only the winner was right.
        worse: Questions in which only the other was.
        sureness: How sure it is that the winner is better.
    """

    other: str
    better: int
    worse: int
    sureness: float


class Contest:
    """Dialects that are asked the same questions, and how they stand.

    Attributes:
        results: The results of each dialect, by question.
    """

    def __init__(self, dialects: Sequence[str]) -> None:
        self.results: dict[str, dict[str, TrialResult]] = {name: {} for name in dialects}

    def note(self, trial: Trial, result: TrialResult) -> None:
        self.results[trial.dialect][trial.question.id] = result

    def tally(self, dialect: str) -> Tally:
        return tallied(tuple(self.results[dialect].values()))

    @property
    def order(self) -> tuple[str, ...]:
        """The dialects that were asked, the best first. Of two that are right as often, the one that took less."""
        asked = [name for name, results in self.results.items() if results]
        most = max((len(self.results[name]) for name in asked), default=0)
        # A dialect that was given up early may have been lucky in what it was asked.
        return tuple(sorted(asked, key=lambda name: (len(self.results[name]) < most, *self._rank(self.tally(name)))))

    def _rank(self, tally: Tally) -> tuple[float, float]:
        return -tally.share, (tally.prompt_tokens or 0) + (tally.answer_tokens or 0)

    def lead(self, other: str) -> Lead:
        """How far the leader is ahead of another, by the questions that both were asked."""
        first, second = self.results[self.order[0]], self.results[other]
        pairs = [(first[each].verdict.right, second[each].verdict.right) for each in first if each in second]
        better, worse = pairs.count((True, False)), pairs.count((False, True))
        return Lead(other=other, better=better, worse=worse, sureness=sureness(better, worse))

    @property
    def narrowest(self) -> Lead | None:
        """The lead that is least sure; None if there is but one dialect."""
        return min((self.lead(name) for name in self.order[1:]), key=lambda lead: lead.sureness, default=None)

    @property
    def contenders(self) -> tuple[str, ...]:
        """The dialects that may still win."""
        order = self.order
        return (*order[:1], *(name for name in order[1:] if self.lead(name).sureness < SURELY))


def rounds(questions: Sequence[Question], size: int = ROUND) -> list[list[Question]]:
    """Questions in rounds that share their tools: first one round of each set of tools, then a second of each."""
    by_tools: dict[tuple[str, ...], list[Question]] = {}
    for question in questions:
        by_tools.setdefault(tuple(spec.name for spec in question.tools), []).append(question)
    cut = [[each[place : place + size] for place in range(0, len(each), size)] for each in by_tools.values()]
    return [part for parts in zip_longest(*cut) for part in parts if part]


async def calibrate(
    asker: Asker,
    suite: Suite,
    dialects: Sequence[str],
    *,
    seconds: float,
    on_result: Callable[[Trial, TrialResult], None] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Contest:
    """Ask a model in each dialect, for about so many seconds; how they stand then.

    Args:
        asker: Who asks the model, and knows which dialects it does not take.
        suite: The questions.
        dialects: The dialects.
        seconds: How long it may take. No round is begun for which time is too short, but for the first.
        on_result: Called after each answer.
        clock: Tells the time.
    """
    contest = Contest(dialects)
    asked, took = list(dialects), dict.fromkeys(dialects, 0.0)
    began = clock()
    for questions in rounds(suite.questions):
        if contest.order:
            asked = [name for name in asked if name in contest.contenders and name not in asker.lost]
            if len(asked) < 2 or clock() - began + sum(took[name] for name in asked) > seconds:
                break
        held: list[tuple[Trial, TrialResult]] = []
        for name in asked:
            start = clock()
            chosen = [Trial(suite=suite, question=question, dialect=name) for question in questions]
            async with aclosing(asker.ask_all(chosen)) as answers:
                async for trial, answered in answers:
                    held.append((trial, result := trial.judged(answered)))
                    if on_result is not None:
                        on_result(trial, result)
                    if contest.order and clock() - began > seconds * LATE:
                        return contest
            took[name] = clock() - start
        asker.check()
        for trial, result in held:
            contest.note(trial, result)
    return contest
