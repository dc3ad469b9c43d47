"""Results in figures: how many were right, how sure that is, and what they took."""

from collections.abc import Iterable, Sequence
from math import comb, sqrt
from statistics import fmean

from toolspeak._frozen import frozen
from toolspeak.evaluation.records import TrialResult
from toolspeak.evaluation.trials import parted

SURE = 1.96
"""Standard deviations within which 95 of 100 lie."""

MEAN = "mean"
"""The row that stands for all categories, each counting the same."""


@frozen
class Interval:
    """Where a share lies, with 95 percent certainty."""

    low: float
    high: float


@frozen
class Tally:
    """Some answers in figures.

    Attributes:
        count: How many.
        share: The share of them that is right.
        interval: Where the true share lies.
        prompt_tokens: Tokens of the prompts of a question, on average.
        answer_tokens: Tokens of the answers to a question, on average.
        seconds: Seconds a question took, on average.
        asked_again: How many were asked again, for a call was malformed.
    """

    count: int
    share: float
    interval: Interval
    prompt_tokens: float | None
    answer_tokens: float | None
    seconds: float | None
    asked_again: int = 0


@frozen
class Summary:
    """All of it: a tally for each dialect and category, and one for the mean of the categories."""

    dialects: tuple[str, ...]
    categories: tuple[str, ...]
    tallies: dict[tuple[str, str], Tally]

    def tally(self, dialect: str, category: str = MEAN) -> Tally | None:
        return self.tallies.get((dialect, category))

    def asked_again(self, category: str = MEAN) -> bool:
        """Whether a question of the category was asked again, in any dialect."""
        return any((tally := self.tally(dialect, category)) and tally.asked_again for dialect in self.dialects)


def wilson(right: int, count: int) -> Interval:
    """Wilson's interval of a share: sound for few answers, and for shares near none or all.

    Example:
        >>> found = wilson(9, 10)
        >>> round(found.low, 2), round(found.high, 2)
        (0.6, 0.98)
    """
    if not count:
        return Interval(low=0.0, high=1.0)
    share, spread = right / count, SURE**2 / count
    middle = (share + spread / 2) / (1 + spread)
    reach = SURE * sqrt(share * (1 - share) / count + spread / (4 * count)) / (1 + spread)
    return Interval(low=max(0.0, middle - reach), high=min(1.0, middle + reach))


def sureness(better: int, worse: int) -> float:
    """How sure it is that one is better than another which was asked the same.

    Args:
        better: In how many questions only the first was right.
        worse: In how many only the second was.

    Example:
        >>> round(sureness(9, 2), 2), sureness(0, 0)
        (0.98, 0.5)
    """
    # With nothing known beforehand, the share of questions that the first wins is distributed as
    # Beta(better + 1, worse + 1), whose part above one half is a sum of binomials.
    tosses = better + worse + 1
    return sum(comb(tosses, heads) for heads in range(better + 1)) / 2**tosses


def summarized(results: Iterable[TrialResult]) -> Summary:
    """The figures of results, by dialect and category, both in the order in which they come."""
    groups: dict[tuple[str, str], list[TrialResult]] = {}
    for result in results:
        _, category, dialect, _ = parted(result.answered.id)
        groups.setdefault((dialect, category), []).append(result)
    dialects = tuple(dict.fromkeys(dialect for dialect, _ in groups))
    categories = tuple(dict.fromkeys(category for _, category in groups))
    tallies = {key: tallied(found) for key, found in groups.items()}
    for dialect in dialects:
        each = [tallies[dialect, category] for category in categories if (dialect, category) in tallies]
        tallies[dialect, MEAN] = _mean(each)
    return Summary(dialects=dialects, categories=categories, tallies=tallies)


def tallied(results: Sequence[TrialResult]) -> Tally:
    """Some results in figures."""
    right = sum(result.verdict.right for result in results)
    answers = [[each.answered for each in result.series] for result in results]
    return Tally(
        count=len(results),
        share=right / len(results) if results else 0.0,
        interval=wilson(right, len(results)),
        prompt_tokens=_average([_sum([answer.prompt_tokens for answer in each]) for each in answers]),
        answer_tokens=_average([_sum([answer.answer_tokens for answer in each]) for each in answers]),
        seconds=_average([_sum([answer.seconds for answer in each]) for each in answers]),
        asked_again=sum(len(each) > 1 for each in answers),
    )


def _mean(tallies: Sequence[Tally]) -> Tally:
    """The mean of categories. Tokens and seconds are those of a question, whatever its category."""
    share = fmean(tally.share for tally in tallies)
    # The reach of a mean from the reaches of what it is made of: their squares add up.
    below = sqrt(sum((tally.share - tally.interval.low) ** 2 for tally in tallies)) / len(tallies)
    above = sqrt(sum((tally.interval.high - tally.share) ** 2 for tally in tallies)) / len(tallies)
    return Tally(
        count=sum(tally.count for tally in tallies),
        share=share,
        interval=Interval(low=share - below, high=share + above),
        prompt_tokens=_weighted([(tally.prompt_tokens, tally.count) for tally in tallies]),
        answer_tokens=_weighted([(tally.answer_tokens, tally.count) for tally in tallies]),
        seconds=_weighted([(tally.seconds, tally.count) for tally in tallies]),
        asked_again=sum(tally.asked_again for tally in tallies),
    )


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _average(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _weighted(pairs: Sequence[tuple[float | None, int]]) -> float | None:
    known = [(value, count) for value, count in pairs if value is not None]
    total = sum(count for _, count in known)
    return sum(value * count for value, count in known) / total if total else None
