"""Counts results: how many were right, with what confidence, and at what cost; lays the figures out as a table."""

from collections.abc import Callable, Iterable, Sequence
from math import comb, sqrt
from statistics import fmean

from toolspeak.lab.trials import TrialResult, parse_trial_id
from toolspeak.values.frozen import frozen

Z_95 = 1.96
"""How many standard deviations to either side cover 95 percent of a normal distribution."""

MEAN = "mean"
"""The name of the row for the mean of all categories, each with the same weight."""


@frozen
class Interval:
    """The 95 percent confidence interval of a share."""

    low: float
    high: float


@frozen
class Tally:
    """The figures of some questions.

    Attributes:
        count: How many questions there are.
        share: The share of them that was answered right.
        interval: The confidence interval of `share`.
        prompt_tokens: The mean number of tokens in the prompts of a question, if known.
        answer_tokens: The mean number of tokens in the answers to a question, if known.
        seconds: The mean time of a question in seconds, if known.
        follow_ups: How many questions had follow-ups.
    """

    count: int
    share: float
    interval: Interval
    prompt_tokens: float | None
    answer_tokens: float | None
    seconds: float | None
    follow_ups: int = 0


@frozen
class Summary:
    """A tally for each dialect and category, and for each dialect the mean of the categories."""

    dialects: tuple[str, ...]
    categories: tuple[str, ...]
    tallies: dict[tuple[str, str], Tally]

    def tally(self, dialect: str, category: str = MEAN) -> Tally | None:
        return self.tallies.get((dialect, category))

    def has_follow_ups(self, category: str = MEAN) -> bool:
        """Whether a question of the category had a follow-up in any dialect."""
        return any((tally := self.tally(dialect, category)) and tally.follow_ups for dialect in self.dialects)


def wilson_interval(right: int, count: int) -> Interval:
    """Return Wilson's interval of a share: valid for few answers too, and for shares near 0 or 1.

    Examples:
        >>> found = wilson_interval(9, 10)
        >>> round(found.low, 2), round(found.high, 2)
        (0.6, 0.98)
    """
    if not count:
        return Interval(low=0.0, high=1.0)
    share, spread = right / count, Z_95**2 / count
    middle = (share + spread / 2) / (1 + spread)
    reach = Z_95 * sqrt(share * (1 - share) / count + spread / (4 * count)) / (1 + spread)
    return Interval(low=max(0.0, middle - reach), high=min(1.0, middle + reach))


def compute_confidence(better: int, worse: int) -> float:
    """Return the probability that one dialect is better than another that was asked the same questions.

    Args:
        better: In how many questions only the first was right.
        worse: In how many questions only the second was right.

    Examples:
        >>> round(compute_confidence(9, 2), 2), compute_confidence(0, 0)
        (0.98, 0.5)
    """
    # With a uniform prior, the share of questions that the first wins is distributed as Beta(better + 1, worse + 1).
    # Its probability above one half is a sum of binomials.
    tosses = better + worse + 1
    return sum(comb(tosses, heads) for heads in range(better + 1)) / 2**tosses


def summarize(results: Iterable[TrialResult]) -> Summary:
    """Count results by dialect and category, both in the order of their first result."""
    groups: dict[tuple[str, str], list[TrialResult]] = {}
    for result in results:
        _, category, dialect, _ = parse_trial_id(result.answer.id)
        groups.setdefault((dialect, category), []).append(result)
    dialects = tuple(dict.fromkeys(dialect for dialect, _ in groups))
    categories = tuple(dict.fromkeys(category for _, category in groups))
    tallies = {key: tally_results(found) for key, found in groups.items()}
    for dialect in dialects:
        each = [tallies[dialect, category] for category in categories if (dialect, category) in tallies]
        tallies[dialect, MEAN] = _average_tallies(each)
    return Summary(dialects=dialects, categories=categories, tallies=tallies)


def tally_results(results: Sequence[TrialResult]) -> Tally:
    """Count some results."""
    right = sum(result.verdict.right for result in results)
    answers = [[each.answer for each in result.series] for result in results]
    return Tally(
        count=len(results),
        share=right / len(results) if results else 0.0,
        interval=wilson_interval(right, len(results)),
        prompt_tokens=_mean_of_sums([[answer.prompt_tokens for answer in each] for each in answers]),
        answer_tokens=_mean_of_sums([[answer.answer_tokens for answer in each] for each in answers]),
        seconds=_mean_of_sums([[answer.seconds for answer in each] for each in answers]),
        follow_ups=sum(len(each) > 1 for each in answers),
    )


def _average_tallies(tallies: Sequence[Tally]) -> Tally:
    """Return the mean of categories. Tokens and seconds are means over all questions, whatever their category."""
    share = fmean(tally.share for tally in tallies)
    # The half-width of the interval of a mean: the squares of the half-widths of its parts add up.
    below = sqrt(sum((tally.share - tally.interval.low) ** 2 for tally in tallies)) / len(tallies)
    above = sqrt(sum((tally.interval.high - tally.share) ** 2 for tally in tallies)) / len(tallies)
    return Tally(
        count=sum(tally.count for tally in tallies),
        share=share,
        interval=Interval(low=share - below, high=share + above),
        prompt_tokens=_weighted_mean([(tally.prompt_tokens, tally.count) for tally in tallies]),
        answer_tokens=_weighted_mean([(tally.answer_tokens, tally.count) for tally in tallies]),
        seconds=_weighted_mean([(tally.seconds, tally.count) for tally in tallies]),
        follow_ups=sum(tally.follow_ups for tally in tallies),
    )


def _mean_of_sums(series: Sequence[Sequence[float | None]]) -> float | None:
    """Return the mean of the sums of those series in which all is known; None if there is none."""
    known = [[value for value in values if value is not None] for values in series]
    sums = [sum(found) for found, values in zip(known, series, strict=True) if len(found) == len(values)]
    return fmean(sums) if sums else None


def _weighted_mean(pairs: Sequence[tuple[float | None, int]]) -> float | None:
    known = [(value, count) for value, count in pairs if value is not None]
    total = sum(count for _, count in known)
    return sum(value * count for value, count in known) / total if total else None


Cell = Callable[[Tally], str]

FOLLOW_UP_TITLE = "asked again"


def build_table(first: Summary, with_follow_ups: Summary | None = None) -> list[list[str]]:
    """Return the heading and the rows: percent right with its interval, then the costs.

    Args:
        first: The figures of the first answers alone.
        with_follow_ups: The figures with the answers to follow-ups; None if there were to be no follow-ups.
    """
    head = ["percent right", *first.dialects]
    body: list[list[str]] = []
    for category in (*first.categories, MEAN) if len(first.categories) > 1 else first.categories:
        body.append(_build_row(first, category, category, format_share))
        if with_follow_ups is not None and with_follow_ups.has_follow_ups(category):
            body.append(_build_row(with_follow_ups, category, f"{category}, {FOLLOW_UP_TITLE}", format_share))
    summary = with_follow_ups or first
    body.append(_build_row(summary, MEAN, "questions", lambda tally: str(tally.count)))
    if with_follow_ups is not None:
        body.append(_build_row(summary, MEAN, FOLLOW_UP_TITLE, lambda tally: str(tally.follow_ups)))
    costs: Sequence[tuple[str, Callable[[Tally], float | None], int]] = (
        ("prompt tokens", lambda tally: tally.prompt_tokens, 0),
        ("answer tokens", lambda tally: tally.answer_tokens, 0),
        ("seconds", lambda tally: tally.seconds, 1),
    )
    for title, of, digits in costs:
        if any(of(tally) is not None for tally in summary.tallies.values()):
            body.append(
                _build_row(summary, MEAN, title, lambda tally, of=of, digits=digits: _format_number(of(tally), digits))
            )
    return [head, *body]


def format_lines(rows: Sequence[Sequence[str]]) -> str:
    """Format a table for other programs: a line for each row, with tabs between the cells."""
    return "\n".join("\t".join(row) for row in rows)


def _build_row(summary: Summary, category: str, title: str, cell: Cell) -> list[str]:
    tallies = [summary.tally(dialect, category) for dialect in summary.dialects]
    return [title, *("" if tally is None else cell(tally) for tally in tallies)]


def format_share(tally: Tally) -> str:
    """Format the percentage that is right, and its interval."""
    return f"{100 * tally.share:.1f} ({100 * tally.interval.low:.0f}–{100 * tally.interval.high:.0f})"


def _format_number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:,.{digits}f}"
